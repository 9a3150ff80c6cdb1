//! HTML inside Markdown: drops tags and comments, keeps text, links and anchors.

use crate::document::{BlockKind, LinkedText, squeeze};

/// A part of an HTML block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HtmlBlockPart {
    /// An `<a id>` outside a heading.
    Anchor(String),
    /// Level, text and anchor.
    Heading(u8, String, Option<String>),
    /// The content of `<pre>`.
    Code(String),
    /// Text.
    Block(BlockKind, LinkedText),
}

/// A tag as written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MarkupTag {
    /// In lower case.
    pub(super) name: String,
    pub(super) closes: bool,
    attributes: Vec<(String, String)>,
}

impl MarkupTag {
    /// Reads `<name …>` or `</name>`.
    pub(super) fn parse(tag: &str) -> Option<Self> {
        let inner = tag.strip_prefix('<')?;
        let (closes, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
        let (name, mut rest) = inner.split_at_checked(end)?;
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let mut attributes = Vec::new();
        while let Some((attribute, after)) = attribute(rest) {
            attributes.push(attribute);
            rest = after;
        }
        Some(Self { name: name.to_ascii_lowercase(), closes, attributes })
    }

    /// The value of an attribute, where it has one.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| decode_entities(value)).filter(|value| !value.is_empty())
    }

    /// The anchor of this element.
    pub(super) fn anchor(&self) -> Option<String> {
        let name = || self.attribute("name").filter(|_| self.name == "a");
        self.attribute("id").or_else(name)
    }
}

/// The next attribute, and the rest.
fn attribute(rest: &str) -> Option<((String, String), &str)> {
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/'));
    let (name, rest) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
    if name.is_empty() {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let Some(value) = rest.trim_start().strip_prefix('=') else {
        return Some(((name, String::new()), rest));
    };
    let value = value.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (value, rest) = if let Some(quote) = quote {
        value.get(1..)?.split_once(quote)?
    } else {
        let end = value.find(|c: char| c.is_whitespace() || c == '>');
        value.split_at_checked(end.unwrap_or(value.len()))?
    };
    Some(((name, value.to_owned()), rest))
}

/// Where a tag ends that starts here. One that has a `<` in quotes is broken, and ends at the first `>`.
pub(super) fn end_of_tag(html: &str) -> Option<usize> {
    let mut quote = None;
    let mut first = None;
    for (at, c) in html.char_indices().skip(1) {
        match (quote, c) {
            (None, '>') => return Some(at + 1),
            (Some(_), '>') => first = first.or(Some(at + 1)),
            (_, '<') => return first,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    first
}

/// HTML tokens: text and tags.
enum MarkupToken<'a> {
    Text(&'a str),
    Tag(MarkupTag),
}

struct MarkupTokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for MarkupTokens<'a> {
    type Item = MarkupToken<'a>;

    fn next(&mut self) -> Option<MarkupToken<'a>> {
        loop {
            if let Some(comment) = self.rest.strip_prefix("<!--") {
                self.rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
                continue;
            }
            let first = self.rest.chars().next()?;
            let after = self.rest.get(1..).unwrap_or_default();
            if first == '<'
                && after.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c))
            {
                let end = end_of_tag(self.rest).unwrap_or(self.rest.len());
                let (tag, rest) = self.rest.split_at_checked(end)?;
                self.rest = rest;
                let Some(tag) = MarkupTag::parse(tag) else { continue };
                if matches!(tag.name.as_str(), "script" | "style") && !tag.closes {
                    self.rest = self.rest.split_once("</").map_or("", |(_, rest)| rest);
                    self.rest = self.rest.split_once('>').map_or("", |(_, rest)| rest);
                    continue;
                }
                return Some(MarkupToken::Tag(tag));
            }
            let end = after.find('<').map_or(self.rest.len(), |at| at + 1);
            let end =
                if first == '<' { end } else { self.rest.find('<').unwrap_or(self.rest.len()) };
            let (text, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest;
            return Some(MarkupToken::Text(text));
        }
    }
}

/// The pieces of an HTML block, in order.
pub(super) fn pieces(html: &str) -> Vec<HtmlBlockPart> {
    let mut builder = MarkupBuilder::default();
    for token in (MarkupTokens { rest: html }) {
        match token {
            MarkupToken::Text(text) => builder.push(text),
            MarkupToken::Tag(tag) if tag.closes => builder.close(&tag),
            MarkupToken::Tag(tag) => builder.open(&tag),
        }
    }
    builder.end_block();
    builder.pieces
}

/// The text of a line of an HTML block, where `comment` says whether a comment is open.
pub(super) fn strip_markup(html: &str, comment: &mut bool) -> String {
    let mut rest = html;
    if *comment {
        let Some((_, after)) = html.split_once("-->") else { return String::new() };
        *comment = false;
        rest = after;
    }
    *comment = rest
        .rfind("<!--")
        .is_some_and(|at| !rest.get(at..).is_some_and(|rest| rest.contains("-->")));
    let text: String = (MarkupTokens { rest })
        .map(|token| match token {
            MarkupToken::Text(text) => decode_entities(text),
            MarkupToken::Tag(tag) if tag.name == "img" => tag.attribute("alt").unwrap_or_default(),
            MarkupToken::Tag(_) => String::new(),
        })
        .collect();
    let only_tags = text.trim().is_empty();
    if only_tags { String::new() } else { text }
}

#[derive(Default)]
struct MarkupBuilder {
    pieces: Vec<HtmlBlockPart>,
    text: LinkedText,
    heading: Option<(u8, Option<String>)>,
    link: Option<(usize, String)>,
    verbatim: bool,
    cells: usize,
    list: bool,
}

impl MarkupBuilder {
    fn push(&mut self, text: &str) {
        let text = decode_entities(text);
        if self.verbatim {
            self.text.plain.push_str(&text);
            return;
        }
        let apart = text.starts_with(char::is_whitespace);
        let squeezed = squeeze(&text);
        if apart && !self.text.plain.is_empty() && !self.text.plain.ends_with([' ', '\n']) {
            self.text.plain.push(' ');
        }
        self.text.plain.push_str(&squeezed);
        if !squeezed.is_empty() && text.ends_with(char::is_whitespace) {
            self.text.plain.push(' ');
        }
    }

    fn open(&mut self, tag: &MarkupTag) {
        match tag.name.as_str() {
            "a" => {
                self.anchor(tag);
                self.link = tag.attribute("href").map(|href| (self.text.plain.len(), href));
            }
            "img" => {
                if let Some(alt) = tag.attribute("alt") {
                    let apart = self.text.plain.ends_with(|c: char| !c.is_whitespace());
                    self.text.plain.push_str(if apart { " " } else { "" });
                    self.text.plain.push_str(&alt);
                }
            }
            "pre" => {
                self.end_block();
                self.verbatim = true;
            }
            "br" => self.line(),
            "tr" => {
                self.line();
                self.cells = 0;
            }
            "td" | "th" => {
                self.cells += 1;
                if self.cells > 1 {
                    self.trim();
                    self.text.plain.push_str(" | ");
                }
            }
            "li" => {
                self.line();
                self.list = true;
                self.text.plain.push_str("- ");
            }
            name if level(name).is_some() => {
                self.end_block();
                self.heading = level(name).map(|level| (level, tag.anchor()));
            }
            name if is_block(name) => {
                self.end_block();
                self.anchor(tag);
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: &MarkupTag) {
        match tag.name.as_str() {
            "a" => self.end_link(),
            "pre" => {
                self.verbatim = false;
                let code = std::mem::take(&mut self.text).plain;
                self.pieces.push(HtmlBlockPart::Code(code));
            }
            name if level(name).is_some() || is_block(name) => self.end_block(),
            _ => {}
        }
    }

    fn anchor(&mut self, tag: &MarkupTag) {
        let Some(found) = tag.anchor() else { return };
        match &mut self.heading {
            Some((_, anchor)) => *anchor = anchor.take().or(Some(found)),
            None => self.pieces.push(HtmlBlockPart::Anchor(found)),
        }
    }

    fn end_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        let label = self.text.plain.get(start..).unwrap_or_default();
        let label = label.trim().to_owned();
        if !label.is_empty() {
            let spaces =
                self.text.plain.get(start..).map_or(0, |text| text.len() - text.trim_start().len());
            self.text.plain.truncate(start + spaces);
            self.text.link(&label, target);
        }
    }

    fn trim(&mut self) {
        self.text.plain.truncate(self.text.plain.trim_end_matches(' ').len());
    }

    fn line(&mut self) {
        self.trim();
        if !self.text.plain.is_empty() && !self.text.plain.ends_with('\n') {
            self.text.plain.push('\n');
        }
    }

    fn end_block(&mut self) {
        self.link = None;
        self.verbatim = false;
        let text = std::mem::take(&mut self.text);
        let kind =
            if std::mem::take(&mut self.list) { BlockKind::List } else { BlockKind::Paragraph };
        match self.heading.take() {
            Some((level, anchor)) => {
                self.pieces.push(HtmlBlockPart::Heading(level, text.plain, anchor));
            }
            None if text.plain.trim().is_empty() => {}
            None => self.pieces.push(HtmlBlockPart::Block(kind, text)),
        }
    }
}

fn level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "figcaption"
            | "figure"
            | "footer"
            | "header"
            | "hr"
            | "html"
            | "main"
            | "nav"
            | "ol"
            | "p"
            | "picture"
            | "section"
            | "summary"
            | "table"
            | "ul"
    )
}

/// Decodes character references.
pub(super) fn decode_entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut pieces = text.split('&');
    let mut all = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let known = piece.split_once(';').and_then(|(name, rest)| Some((character(name)?, rest)));
        if let Some((c, rest)) = known {
            all.push(c);
            all.push_str(rest);
        } else {
            all.push('&');
            all.push_str(piece);
        }
    }
    all
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
        return code.and_then(char::from_u32).filter(|c| *c != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "bull" | "middot" => '·',
        "rarr" => '→',
        "larr" => '←',
        "times" => '×',
        "laquo" => '«',
        "raquo" => '»',
        _ => return None,
    })
}
