//! Splits HTML into tags and text, in a single pass that is linear for any input.
//!
//! Builds no tree, because a malicious page could make that slow. Callers track nesting as far as they need it.

use crate::text;
use std::{borrow::Cow, ops::Range};

/// Elements whose content is not markup.
const RAW_TEXT_ELEMENTS: [&str; 4] = ["script", "style", "textarea", "title"];

/// A piece of a page, other than comments and declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkupPiece<'s> {
    /// Text as written, with entities.
    Text(&'s str),
    /// Content of a script, style or title element.
    Raw(&'s str),
    /// A start tag.
    Open(StartTag<'s>),
    /// Name of an end tag, as written.
    Close(&'s str),
}

/// A start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartTag<'s> {
    name: &'s str,
    attributes: &'s str,
    start: usize,
    end: usize,
}

impl<'s> StartTag<'s> {
    pub(crate) const fn name(&self) -> &'s str {
        self.name
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Offset in the page.
    pub(crate) const fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The decoded value of an attribute; the first one counts.
    pub(crate) fn get(&self, name: &str) -> Option<Cow<'s, str>> {
        let (_, value) =
            TagAttributes(self.attributes).find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(if value.contains('&') { htmlize::unescape_attribute(value) } else { value.into() })
    }

    /// Whether it has this class.
    pub(crate) fn has_class(&self, class: &str) -> bool {
        self.any_class(|known| known == class)
    }

    /// Whether one of its classes satisfies a predicate.
    pub(crate) fn any_class(&self, passes: impl Fn(&str) -> bool) -> bool {
        self.get("class").is_some_and(|classes| classes.split_ascii_whitespace().any(passes))
    }
}

struct TagAttributes<'s>(&'s str);

impl<'s> Iterator for TagAttributes<'s> {
    type Item = (&'s str, &'s str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        // A name has at least one character, so each step advances.
        let ends = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let (_, after) = rest.split_at(first);
        let (name, rest) = rest.split_at(first + after.find(ends).unwrap_or(after.len()));
        let Some(value) = rest.trim_ascii_start().strip_prefix('=') else {
            self.0 = rest;
            return Some((name, ""));
        };
        let value = value.trim_ascii_start();
        for quote in ['"', '\''] {
            if let Some(inner) = value.strip_prefix(quote) {
                let (value, rest) = inner.split_once(quote).unwrap_or((inner, ""));
                self.0 = rest;
                return Some((name, value));
            }
        }
        let end = value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len());
        let (value, rest) = value.split_at(end);
        self.0 = rest;
        Some((name, value))
    }
}

/// The pieces of a page, in order.
pub(crate) const fn pieces(page: &str) -> MarkupPieces<'_> {
    MarkupPieces { page, at: 0, raw: None }
}

pub(crate) struct MarkupPieces<'s> {
    page: &'s str,
    at: usize,
    /// The element whose raw content comes next.
    raw: Option<&'s str>,
}

impl<'s> MarkupPieces<'s> {
    fn rest(&self) -> &'s str {
        self.page.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'s str {
        let taken = self.rest().get(..length).unwrap_or_else(|| self.rest());
        self.at += taken.len();
        taken
    }

    /// Raw content up to the end tag.
    fn raw(&mut self, name: &str) -> &'s str {
        let rest = self.rest();
        let mut from = 0;
        while let Some(found) = rest.get(from..).and_then(|rest| rest.find("</")) {
            let at = from + found;
            let after = rest.get(at + 2..).unwrap_or_default();
            let named = after.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name));
            if named && !continues(after.get(name.len()..)) {
                return self.take(at);
            }
            from = at + 2;
        }
        self.take(rest.len())
    }

    /// Skips a comment, a declaration or an instruction.
    fn skip(&mut self) {
        let rest = self.rest();
        let end = if rest.starts_with("<!--") {
            rest.get(4..).and_then(|inner| inner.find("-->")).map(|at| at + 7)
        } else {
            rest.find('>').map(|at| at + 1)
        };
        self.take(end.unwrap_or(rest.len()));
    }

    fn tag(&mut self) -> MarkupPiece<'s> {
        let start = self.at;
        let whole = self.take(tag_length(self.rest()));
        let inner = whole.trim_start_matches('<').trim_end_matches('>');
        let is_end = inner.starts_with('/');
        let inner = inner.trim_start_matches('/');
        let ends = |c: char| c.is_ascii_whitespace() || c == '/';
        let (name, attributes) = inner.split_at(inner.find(ends).unwrap_or(inner.len()));
        if is_end {
            return MarkupPiece::Close(name);
        }
        self.raw = RAW_TEXT_ELEMENTS.into_iter().find(|raw| raw.eq_ignore_ascii_case(name));
        MarkupPiece::Open(StartTag { name, attributes, start, end: self.at })
    }
}

/// Whether a character belongs to a name.
fn continues(after: Option<&str>) -> bool {
    after.and_then(|after| after.chars().next()).is_some_and(|c| c.is_alphanumeric() || c == '-')
}

/// Length of the tag at the start of the text; `>` in quotes does not end it.
fn tag_length(text: &str) -> usize {
    let mut quote = None;
    let mut last = b' ';
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            // A quote opens a value only after `=`; elsewhere it is a mistake in the page.
            (None, b'"' | b'\'') if last == b'=' => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
    }
    text.len()
}

impl<'s> Iterator for MarkupPieces<'s> {
    type Item = MarkupPiece<'s>;

    fn next(&mut self) -> Option<MarkupPiece<'s>> {
        if let Some(name) = self.raw.take() {
            let text = self.raw(name);
            if !text.is_empty() {
                return Some(MarkupPiece::Raw(text));
            }
        }
        loop {
            let rest = self.rest();
            let mut after = rest.chars();
            if after.next()? != '<' {
                return Some(MarkupPiece::Text(self.take(rest.find('<').unwrap_or(rest.len()))));
            }
            match after.next() {
                Some('!' | '?') => self.skip(),
                Some(c) if c.is_ascii_alphabetic() => return Some(self.tag()),
                Some('/') if after.next().is_some_and(|c| c.is_ascii_alphabetic()) => {
                    return Some(self.tag());
                }
                // A lone `<` is text, up to the next one.
                _ => {
                    let next = rest.get(1..).and_then(|rest| rest.find('<')).map(|at| at + 1);
                    return Some(MarkupPiece::Text(self.take(next.unwrap_or(rest.len()))));
                }
            }
        }
    }
}

/// The text of a markup fragment: tags dropped, entities decoded, white space collapsed.
pub(crate) fn text_of(markup: &str) -> String {
    let mut text = String::new();
    for piece in pieces(markup) {
        match piece {
            MarkupPiece::Text(part) => text.push_str(&htmlize::unescape(part)),
            MarkupPiece::Open(tag) if tag.is("br") => text.push(' '),
            MarkupPiece::Raw(_) | MarkupPiece::Open(_) | MarkupPiece::Close(_) => {}
        }
    }
    text::fold(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: &str) -> String {
        let show = |piece: MarkupPiece<'_>| match piece {
            MarkupPiece::Text(text) => format!("'{text}'"),
            MarkupPiece::Raw(text) => format!("[{text}]"),
            MarkupPiece::Open(tag) => {
                let pairs =
                    TagAttributes(tag.attributes).map(|(name, value)| format!(" {name}={value}"));
                format!("<{}{}>", tag.name(), pairs.collect::<String>())
            }
            MarkupPiece::Close(name) => format!("</{name}>"),
        };
        pieces(page).map(show).collect()
    }

    #[test]
    fn pages_are_cut_into_pieces() {
        for (page, want) in [
            ("", ""),
            ("a<b>c</b>d", "'a'<b>'c'</b>'d'"),
            ("<a href=x>", "<a href=x>"),
            ("<a  href = 'x y' class=\"b > c\" q>", "<a href=x y class=b > c q=>"),
            ("<a href=/x/y/>", "<a href=/x/y/>"),
            ("<br/>", "<br>"),
            ("<A HREF=x></A >", "<A HREF=x></A>"),
            ("a < b <3 <", "'a ''< b ''<3 ''<'"),
            ("<!doctype html><!-- <a> -->x<?y?>", "'x'"),
            ("x<!-- never", "'x'"),
            ("<script>a<b></scripty></SCRIPT>c", "<script>[a<b></scripty>]</SCRIPT>'c'"),
            ("<script>a<b>", "<script>[a<b>]"),
            ("<title>a &amp; <b></title>", "<title>[a &amp; <b>]</title>"),
            ("<a href='x", "<a href='x>"),
            ("<a \"><b>", "<a \"=><b>"),
            ("<a ==x>", "<a ==x>"),
            ("<", "'<'"),
            ("</", "'</'"),
            ("<é>", "'<é>'"),
        ] {
            let want = want.replace("<a href='x>", "<a href=x>");
            assert_eq!(shown(page), want, "{page}");
        }
    }

    #[test]
    fn attributes_are_decoded_and_classes_are_whole_words() {
        let page = "<a href='?a=1&amp;b=2' class='result__a  js' CLASS=late>";
        let Some(MarkupPiece::Open(tag)) = pieces(page).next() else { panic!("{page}") };
        assert_eq!(tag.get("HREF").as_deref(), Some("?a=1&b=2"));
        assert!(tag.has_class("js") && !tag.has_class("result") && !tag.has_class("late"));
        assert_eq!(tag.get("title"), None);
        assert_eq!(page.get(tag.range()), Some(page));
    }

    #[test]
    fn text_has_neither_marks_nor_entities() {
        assert_eq!(text_of(" a <b>b</b>c&amp;lt;\n&#x27;<br>d <i"), "a bc&lt; ' d");
    }

    /// Made-up pages: every piece is a part of the page, in order, and the reader ends.
    #[test]
    fn any_page_is_read_to_its_end() {
        const PARTS: [&str; 18] = [
            "<", ">", "/", "=", "'", "\"", " ", "a", "script", "<!--", "-->", "<a ", "</", "&amp;",
            "ß", "\u{202e}", "<title>", "\0",
        ];
        let mut state = 7_u64;
        for length in 0..3000 {
            let mut page = String::new();
            for _ in 0..length % 40 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = usize::try_from(state >> 33).unwrap() % PARTS.len();
                page.push_str(PARTS[at]);
            }
            let mut end = 0;
            for piece in pieces(&page) {
                let (MarkupPiece::Text(part) | MarkupPiece::Raw(part) | MarkupPiece::Close(part)) =
                    piece
                else {
                    let MarkupPiece::Open(tag) = piece else {
                        unreachable!("the other kinds are above")
                    };
                    assert!(
                        tag.range().start >= end && page.get(tag.range()).is_some(),
                        "{page:?}"
                    );
                    end = tag.range().end;
                    assert!(TagAttributes(tag.attributes).count() <= page.len());
                    continue;
                };
                assert!(page.contains(part), "{page:?}");
            }
        }
    }

    /// Each of these is slow where a reader looks back, or ahead, once for each piece.
    #[test]
    fn hostile_pages_are_read_in_one_pass() {
        let many = 100_000;
        for page in [
            "<".repeat(many),
            "<a ".repeat(many),
            "<div>".repeat(many),
            "<a \"".repeat(many),
            "<script></".repeat(many),
            "<!--".repeat(many),
            "<!".repeat(many),
            format!("<a {}>", "b ".repeat(many)),
            format!("<a {}>", "b='".repeat(many)),
            "&".repeat(many),
        ] {
            pieces(&page).for_each(drop);
            assert!(text_of(&page).len() <= page.len());
        }
    }
}
