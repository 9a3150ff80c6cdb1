//! Blocks of a document: sections, paragraphs, code, notes and tables, each with the lines above that describe it.

use super::{
    attributes::{AsciidocAttributes, entry},
    inline::{convert_marks, macro_at},
    inline_macro::alternative,
    lines::underlines,
    list, table,
};
use crate::read::{
    marks,
    tree::{MAX_TREE_DEPTH, PageNode},
};
use std::collections::HashMap;

/// Maximum bytes of a multi-line value.
const MAX_VALUE_BYTES: usize = 4_000;
/// Stands for the end of a line until marks are read.
const BREAK: &str = "\u{b}";
/// Paragraphs that begin with one of these are notes.
const NOTES: [&str; 5] = ["NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"];

/// Block metadata from the lines above it.
#[derive(Debug, Default, Clone)]
pub(super) struct AsciidocBlockMetadata {
    /// The first word in brackets, such as `source` or `NOTE`.
    pub(super) style: String,
    /// The second, such as the language.
    pub(super) second: String,
    /// The link anchor.
    pub(super) id: Option<String>,
    /// The title.
    pub(super) title: Option<String>,
    /// Named attributes: `cols`, `options` and others.
    pub(super) named: HashMap<String, String>,
}

/// Reads lines from top to bottom.
#[derive(Debug)]
pub(super) struct AsciidocLineCursor<'a> {
    lines: &'a [&'a str],
    at: usize,
}

impl<'a> AsciidocLineCursor<'a> {
    /// From the first line.
    pub(super) const fn new(lines: &'a [&'a str]) -> Self {
        Self { lines, at: 0 }
    }

    /// The line that is next.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// The line after that.
    pub(super) fn peek_after(&self) -> Option<&'a str> {
        self.lines.get(self.at + 1).copied()
    }

    /// Takes the next line.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.at += 1;
        Some(line)
    }

    /// Skips blank lines; returns whether there were any.
    pub(super) fn skip_blank(&mut self) -> bool {
        let from = self.at;
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
        self.at > from
    }

    /// Where it is, to come back to.
    pub(super) const fn place(&self) -> usize {
        self.at
    }

    /// Comes back.
    pub(super) const fn back(&mut self, place: usize) {
        self.at = place;
    }

    /// The lines up to one that ends a block; without one, all that are left.
    fn until(&mut self, ends: impl Fn(&str) -> bool) -> &'a [&'a str] {
        let rest = self.lines.get(self.at..).unwrap_or_default();
        let count = rest.iter().position(|line| ends(line)).unwrap_or(rest.len());
        self.at = (self.at + count + 1).min(self.lines.len());
        rest.get(..count).unwrap_or_default()
    }
}

/// Reads blocks.
#[derive(Debug, Default)]
pub(super) struct AsciidocReader {
    /// Attributes set so far.
    pub(super) attributes: AsciidocAttributes,
    /// How deep blocks are nested.
    pub(super) depth: usize,
    ids: HashMap<String, u32>,
    /// Whether the open section is a synopsis.
    synopsis: bool,
}

impl AsciidocReader {
    /// All blocks of some lines.
    pub(super) fn blocks(&mut self, lines: &[&str]) -> Vec<PageNode> {
        let mut nodes = Vec::new();
        let mut lines = AsciidocLineCursor::new(lines);
        while lines.peek().is_some() {
            nodes.extend(self.block(&mut lines));
        }
        nodes
    }

    /// Running text.
    pub(super) fn inline(&mut self, text: &str) -> String {
        let text = self.attributes.expand(text);
        let text = text.strip_suffix(" +").unwrap_or(&text);
        // Lines of a paragraph are one; only breaks that are asked for stay.
        let text = text.replace(" +\n", BREAK).replace('\n', " ");
        marks::squeeze_marked(&convert_marks(&text).replace(BREAK, "\n"))
    }

    /// The next block. Takes at least one line, if there is one.
    pub(super) fn block(&mut self, lines: &mut AsciidocLineCursor<'_>) -> Vec<PageNode> {
        let mut about = AsciidocBlockMetadata::default();
        loop {
            lines.skip_blank();
            let Some(line) = lines.peek() else { return Vec::new() };
            if !self.describes(line, &mut about, lines) {
                break;
            }
        }
        let Some(line) = lines.peek() else { return Vec::new() };
        if let Some(node) = self.heading(lines, &about) {
            return vec![node];
        }
        let mut nodes = Vec::new();
        if let Some(title) = &about.title {
            nodes.push(PageNode::Text(self.inline(title)));
        }
        if let Some(body) = self.delimited(lines, &about) {
            nodes.extend(body);
        } else if self.depth < MAX_TREE_DEPTH && list::marker(line).is_some() {
            nodes.extend(self.list(lines, &mut Vec::new(), &about));
        } else if let Some(node) = self.line_block(line) {
            lines.next();
            nodes.extend(node);
        } else {
            nodes.extend(self.paragraph(lines, &about));
        }
        nodes
    }

    /// Takes a line that describes the block below it.
    fn describes(
        &mut self,
        line: &str,
        about: &mut AsciidocBlockMetadata,
        lines: &mut AsciidocLineCursor<'_>,
    ) -> bool {
        if let Some((name, value)) = entry(line) {
            lines.next();
            let mut value = value.map(str::to_owned);
            while let Some(text) = &mut value
                && let Some(before) = text.strip_suffix('\\')
                && text.len() < MAX_VALUE_BYTES
            {
                let before = before.trim_end().trim_end_matches(" +").to_owned();
                *text = format!("{before} {}", lines.next().unwrap_or_default().trim());
            }
            self.attributes.set(name, value.as_deref());
            return true;
        }
        if let Some(id) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            about.id = Some(id.split(',').next().unwrap_or(id).to_owned());
        } else if let Some(inner) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if inner.contains(']') {
                return false;
            }
            let inner = self.attributes.expand(inner);
            describe(about, &inner);
        } else if let Some(title) = line.strip_prefix('.')
            && title.starts_with(|c: char| !c.is_whitespace() && c != '.')
        {
            about.title = Some(title.to_owned());
        } else if !(line == "+" || line.starts_with("toc::")) {
            return false;
        }
        lines.next();
        true
    }

    /// A heading, on one line or underlined.
    fn heading(
        &mut self,
        lines: &mut AsciidocLineCursor<'_>,
        about: &AsciidocBlockMetadata,
    ) -> Option<PageNode> {
        let line = lines.peek()?;
        let (level, text, taken) = heading_of(line, lines.peek_after())?;
        for _ in 0..taken {
            lines.next();
        }
        let (inner_id, text) = split_anchor(text);
        let text = self.inline(text.trim());
        if self.depth > 0 || matches!(about.style.as_str(), "discrete" | "float") {
            return Some(PageNode::Text(text));
        }
        let heading = marks::plain(&text);
        self.synopsis = heading.eq_ignore_ascii_case("SYNOPSIS");
        let id = about.id.clone().or(inner_id.map(str::to_owned));
        let anchor = id.or_else(|| self.auto_id(&heading));
        Some(PageNode::Heading { level, text, anchor })
    }

    /// The id that a heading has without being given one.
    fn auto_id(&mut self, heading: &str) -> Option<String> {
        let prefix = self.attributes.get("idprefix").unwrap_or("_").to_owned();
        let separator = self.attributes.get("idseparator").unwrap_or("_").to_owned();
        let mut id = String::new();
        for c in heading.chars().flat_map(char::to_lowercase) {
            if c.is_alphanumeric() || c == '_' {
                id.push(c);
            } else if matches!(c, ' ' | '-' | '.') && !id.ends_with(&separator) {
                id.push_str(&separator);
            }
        }
        let id = id.trim_end_matches(separator.as_str());
        if id.is_empty() {
            return None;
        }
        let id = format!("{prefix}{id}");
        let count = self.ids.entry(id.clone()).or_default();
        *count += 1;
        Some(if *count == 1 { id } else { format!("{id}{separator}{count}") })
    }

    /// A block between two lines that are the same.
    fn delimited(
        &mut self,
        lines: &mut AsciidocLineCursor<'_>,
        about: &AsciidocBlockMetadata,
    ) -> Option<Vec<PageNode>> {
        let line = lines.peek()?;
        let fence = fence(line)?;
        lines.next();
        let body = lines.until(|other| other == line || (fence == '`' && other == "```"));
        let style = about.style.as_str();
        Some(match fence {
            '|' => table::read(self, line, body, about),
            '`' => vec![code(line.trim_start_matches('`').trim(), body)],
            '-' | '.' | '+' if style == "stem" || fence != '+' => {
                vec![code(language(about, fence), body)]
            }
            '+' => vec![PageNode::Text(marks::squeeze_marked(&strip_tags(&body.join("\n"))))],
            _ if matches!(style, "source" | "listing" | "literal") => {
                vec![code(language(about, '-'), body)]
            }
            _ if self.depth >= MAX_TREE_DEPTH => {
                vec![PageNode::Text(self.inline(&body.join("\n")))]
            }
            _ if style == "verse" => vec![self.verse(body)],
            _ => self.compound(fence, body, about),
        })
    }

    /// A block that holds blocks.
    fn compound(
        &mut self,
        fence: char,
        body: &[&str],
        about: &AsciidocBlockMetadata,
    ) -> Vec<PageNode> {
        self.depth += 1;
        let mut nodes = self.blocks(body);
        self.depth -= 1;
        let style = about.style.as_str();
        if let Some(note) = NOTES.iter().find(|note| **note == style) {
            prepend(&mut nodes, &format!("{note}: "));
            return vec![PageNode::Quote(nodes)];
        }
        if fence == '_' || style == "quote" {
            if !about.second.is_empty() {
                nodes.push(PageNode::Text(format!("— {}", about.second)));
            }
            return vec![PageNode::Quote(nodes)];
        }
        nodes
    }

    /// Verbatim lines; in a synopsis they are code.
    fn verse(&mut self, body: &[&str]) -> PageNode {
        if self.synopsis {
            let lines: Vec<String> = body
                .iter()
                .map(|line| {
                    let indent = line.len() - line.trim_start().len();
                    let text = marks::plain(&self.inline(line)).replace('\'', "");
                    format!("{}{text}", line.get(..indent).unwrap_or_default())
                })
                .collect();
            return PageNode::Code { language: String::new(), code: lines.join("\n") };
        }
        let lines: Vec<String> = body.iter().map(|line| self.inline(line)).collect();
        PageNode::Quote(vec![PageNode::Text(lines.join("\n"))])
    }

    /// A line that is a block by itself: breaks, pictures, files put in.
    fn line_block(&mut self, line: &str) -> Option<Vec<PageNode>> {
        if matches!(line, "'''" | "---" | "***" | "- - -" | "* * *" | "<<<") {
            return Some(Vec::new());
        }
        let (name, rest) = line.split_once("::")?;
        let (target, label) = rest.strip_suffix(']')?.split_once('[')?;
        let target = self.attributes.expand(target);
        match name {
            "include" => Some(vec![PageNode::Text(marks::link(&target, &target))]),
            "image" | "video" | "audio" => {
                let text = alternative(&target, &self.attributes.expand(label));
                Some(vec![PageNode::Text(text)])
            }
            _ => None,
        }
    }

    /// Lines up to a blank one.
    fn paragraph(
        &mut self,
        lines: &mut AsciidocLineCursor<'_>,
        about: &AsciidocBlockMetadata,
    ) -> Option<PageNode> {
        let first = lines.next()?;
        let mut all = vec![first];
        while let Some(line) = lines.peek() {
            if line.trim().is_empty() || line == "+" || interrupts(line) {
                break;
            }
            all.push(line);
            lines.next();
        }
        let style = about.style.as_str();
        let indented = first.starts_with([' ', '\t']) && style != "normal";
        if indented || matches!(style, "source" | "listing" | "literal") {
            return Some(code(language(about, '-'), &all));
        }
        if style == "verse" || style == "synopsis" {
            return Some(self.verse(&all));
        }
        let text = self.inline(&all.join("\n"));
        let note = NOTES.iter().find(|note| **note == style);
        let is_note = NOTES
            .iter()
            .any(|note| text.strip_prefix(note).is_some_and(|rest| rest.starts_with(": ")));
        Some(match note {
            Some(note) => PageNode::Quote(vec![PageNode::Text(format!("{note}: {text}"))]),
            None if is_note || style == "quote" => PageNode::Quote(vec![PageNode::Text(text)]),
            None => PageNode::Text(text),
        })
    }
}

fn prepend(nodes: &mut Vec<PageNode>, label: &str) {
    match nodes.first_mut() {
        Some(PageNode::Text(text)) => text.insert_str(0, label),
        _ => nodes.insert(0, PageNode::Text(label.trim_end().to_owned())),
    }
}

/// Parses the brackets above a block.
fn describe(about: &mut AsciidocBlockMetadata, inner: &str) {
    for (at, part) in parts(inner).into_iter().enumerate() {
        if let Some((name, value)) = part.split_once('=')
            && !name.is_empty()
            && name.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        {
            let value = value.trim().trim_matches(['"', '\'']).to_owned();
            match name.trim() {
                "id" => about.id = Some(value),
                name => {
                    about.named.insert(name.to_owned(), value);
                }
            }
            continue;
        }
        if at > 0 {
            if at == 1 {
                part.trim_matches(['"', '\'']).clone_into(&mut about.second);
            }
            continue;
        }
        let end = part.find(['#', '.', '%']).unwrap_or(part.len());
        let (style, short) = part.split_at(end);
        if !style.is_empty() {
            style.clone_into(&mut about.style);
        }
        for option in short.split('%').skip(1) {
            let option = option.split(['#', '.']).next().unwrap_or_default();
            let options = about.named.entry("options".into()).or_default();
            options.push(',');
            options.push_str(option);
        }
        if let Some((_, id)) = short.split_once('#') {
            let id = id.split(['.', '%']).next().unwrap_or_default();
            about.id = Some(id.to_owned());
        }
    }
}

/// Splits at commas outside of quotes.
fn parts(inner: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut quoted) = (0, false);
    for (at, c) in inner.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(inner.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inner.get(from..).unwrap_or_default().trim());
    parts
}

/// The level and the text of a heading, and how many lines it takes.
pub(super) fn heading_of<'a>(line: &'a str, below: Option<&str>) -> Option<(u8, &'a str, usize)> {
    for mark in ['=', '#'] {
        let text = line.trim_start_matches(mark);
        let level = line.len() - text.len();
        if (1..=6).contains(&level) && text.starts_with([' ', '\t']) && !text.trim().is_empty() {
            let text = text.trim().trim_end_matches(mark).trim_end();
            return Some((u8::try_from(level).unwrap_or(6), text, 1));
        }
    }
    let below = below?;
    if !underlines(Some(line), below) {
        return None;
    }
    let level = match below.chars().next()? {
        '=' => 1,
        '-' => 2,
        '~' => 3,
        '^' => 4,
        _ => 5,
    };
    Some((level, line, 2))
}

/// An anchor that a text starts with, and the text.
pub(super) fn split_anchor(text: &str) -> (Option<&str>, &str) {
    let inner = text.trim_start().strip_prefix("[[").and_then(|rest| rest.split_once("]]"));
    match inner {
        Some((id, rest)) => (Some(id.split(',').next().unwrap_or(id)), rest),
        None => (None, text),
    }
}

/// What kind of block a line starts: the character that it is made of.
pub(super) fn fence(line: &str) -> Option<char> {
    if line == "--" {
        return Some('~');
    }
    if line.starts_with("```") {
        return Some('`');
    }
    let first = line.chars().next()?;
    if matches!(first, '|' | ',' | ':' | '!') {
        let rest = line.get(1..)?;
        return (rest.len() >= 3 && rest.chars().all(|c| c == '=')).then_some('|');
    }
    let is_fence = matches!(first, '-' | '.' | '=' | '*' | '_' | '+')
        && line.len() >= 4
        && line.chars().all(|c| c == first);
    is_fence.then_some(first)
}

/// Whether a line ends the paragraph above it.
pub(super) fn interrupts(line: &str) -> bool {
    let described = line.starts_with('[')
        && line.ends_with(']')
        && !line.contains("](")
        && (line.starts_with("[[") || !line.contains(' ') || line.contains('='))
        && macro_at(line).is_none();
    fence(line).is_some() || described || line.starts_with("include::")
}

fn language(about: &AsciidocBlockMetadata, fence: char) -> &str {
    let given = about.named.get("language").map(String::as_str);
    let is_source = about.style == "source" || (about.style.is_empty() && fence == '-');
    let language = given.or(is_source.then_some(about.second.as_str())).unwrap_or_default();
    language.split([' ', ',']).next().unwrap_or_default()
}

/// Code without the numbers that refer to remarks below it.
fn code(language: &str, lines: &[&str]) -> PageNode {
    let lines: Vec<&str> = lines.iter().map(|line| strip_callouts(line)).collect();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = |line: &&&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = filled.map(|line| indent(&line)).min().unwrap_or_default();
    let lines: Vec<&str> =
        lines.iter().map(|line| line.get(shared..).unwrap_or_default()).collect();
    let code = lines.join("\n").trim_matches('\n').to_owned();
    PageNode::Code { language: language.to_owned(), code }
}

fn strip_callouts(line: &str) -> &str {
    let mut line = line;
    loop {
        let Some((before, number)) = line.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'))
        else {
            return line;
        };
        let number = number.trim_matches(['!', '-']);
        let is_number = number == "."
            || (!number.is_empty()
                && number.len() < 4
                && number.chars().all(|c| c.is_ascii_digit()));
        if !is_number || !before.ends_with([' ', '!', '<', '#', '/', ';']) {
            return line;
        }
        let before = before.trim_end();
        line = ["//", "#", "--", ";;", "<!--"]
            .iter()
            .find_map(|comment| before.strip_suffix(comment))
            .unwrap_or(before)
            .trim_end();
    }
}

fn strip_tags(text: &str) -> String {
    let mut out = String::new();
    for (at, piece) in text.split('<').enumerate() {
        out.push_str(if at == 0 {
            piece
        } else {
            piece.split_once('>').map_or(piece, |(_, text)| text)
        });
    }
    out
}
