//! Tags, text and comments of HTML source, in order and without copies.
//!
//! Owns the syntax; the tree owns nesting. Every source can be tokenized: invalid markup is
//! text.

use memchr::{memchr, memmem};
use std::borrow::Cow;

/// A token of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlToken<'s> {
    /// Between tags, entities not decoded.
    Text(&'s str),
    /// Content of a raw text element, such as a script, unchanged.
    Raw(&'s str),
    /// `<name attributes>`.
    Open {
        name: &'s str,
        attributes: HtmlAttributes<'s>,
        /// It ends in `/>`.
        closed: bool,
    },
    /// `</name>`.
    Close(&'s str),
    /// `<!-- text -->`, and whatever else begins with `<!` or `<?`.
    Comment(&'s str),
}

/// The tokens of a source.
#[derive(Debug, Clone)]
pub(super) struct HtmlTokenizer<'s> {
    rest: &'s str,
    /// Length of the raw text that comes next.
    raw: usize,
    /// Constructs without an end in the rest, so that no end is searched twice: a bit for each of `RAW_TEXT_ELEMENTS`, and
    /// two more.
    endless: u16,
}

const COMMENT: usize = RAW_TEXT_ELEMENTS.len();
const CDATA: usize = RAW_TEXT_ELEMENTS.len() + 1;

/// The text between a tag's name and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HtmlAttributes<'s>(&'s str);

/// The number of these without visible text.
const NON_TEXT_ELEMENTS: usize = 2;
/// Elements that contain text but no tags.
const RAW_TEXT_ELEMENTS: [&str; 7] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed"];

impl<'s> HtmlTokenizer<'s> {
    pub(super) const fn new(source: &'s str) -> Self {
        Self { rest: source, raw: 0, endless: 0 }
    }

    /// Takes this many bytes off; all of them where that is within a character.
    fn take(&mut self, bytes: usize) -> &'s str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Where the text of an element ends that has no tags.
    fn raw_end(&mut self, which: usize) -> Option<usize> {
        let name = RAW_TEXT_ELEMENTS.get(which)?;
        let bytes = self.rest.as_bytes();
        let is_end = |at: &usize| {
            let after = bytes.get(at + 2..at + 2 + name.len());
            after.is_some_and(|after| after.eq_ignore_ascii_case(name.as_bytes()))
        };
        if self.endless & (1 << which) != 0 {
            return None;
        }
        let end = memmem::find_iter(bytes, b"</").find(is_end);
        if end.is_none() {
            self.endless |= 1 << which;
        }
        end
    }

    /// Where a mark begins that ends something; it is looked for only once if there is none.
    fn end(&mut self, which: usize, inner: &str, mark: &[u8]) -> Option<usize> {
        if self.endless & (1 << which) != 0 {
            return None;
        }
        let end = memmem::find(inner.as_bytes(), mark);
        if end.is_none() {
            self.endless |= 1 << which;
        }
        end
    }

    /// The token that begins with `<`, or `None` if it is not a tag.
    fn mark(&mut self) -> Option<HtmlToken<'s>> {
        match self.rest.as_bytes().get(1)? {
            b'!' | b'?' => Some(self.comment()),
            b'/' if self.rest.as_bytes().get(2).is_some_and(u8::is_ascii_alphabetic) => {
                let tag = self.tag();
                let inner = tag.get(2..).unwrap_or_default().trim_end_matches('>');
                Some(HtmlToken::Close(name(inner)))
            }
            byte if byte.is_ascii_alphabetic() => {
                let tag = self.tag();
                let inner = tag.get(1..).unwrap_or_default();
                let inner = inner.strip_suffix('>').unwrap_or(inner);
                let name = name(inner);
                let mut closed = inner.ends_with('/');
                let rest = inner.get(name.len()..).unwrap_or_default();
                let raw = RAW_TEXT_ELEMENTS
                    .iter()
                    .position(|raw| name.eq_ignore_ascii_case(raw))
                    .filter(|_| !closed);
                if let Some(raw) = raw {
                    let end = self.raw_end(raw);
                    self.raw = end.unwrap_or_default();
                    // Without an end it must not swallow the page; only a script is surely no text.
                    closed = end.is_none() && raw >= NON_TEXT_ELEMENTS;
                }
                Some(HtmlToken::Open { name, attributes: HtmlAttributes(rest), closed })
            }
            _ => None,
        }
    }

    /// Up to the first `>` outside of quotes. An unclosed quote is ignored.
    fn tag(&mut self) -> &'s str {
        let bytes = self.rest.as_bytes();
        let mut at = 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'>' => return self.take(at + 1),
                quote @ (b'"' | b'\'') if bytes.get(at - 1) == Some(&b'=') => {
                    let rest = bytes.get(at + 1..).unwrap_or_default();
                    let Some(end) = memchr(quote, rest) else { break };
                    at += end + 1;
                }
                _ => {}
            }
            at += 1;
        }
        let end = memchr(b'>', bytes).map_or(bytes.len(), |end| end + 1);
        self.take(end)
    }

    fn comment(&mut self) -> HtmlToken<'s> {
        if let Some(inner) = self.rest.strip_prefix("<!--") {
            // One that never ends must not hide the rest of the page: only its mark is left out.
            let Some(end) = self.end(COMMENT, inner, b"-->") else {
                self.take(4);
                return HtmlToken::Comment("");
            };
            self.take(4 + end + 3);
            return HtmlToken::Comment(inner.get(..end).unwrap_or_default());
        }
        if let Some(inner) = self.rest.strip_prefix("<![CDATA[")
            && let Some(end) = self.end(CDATA, inner, b"]]>")
        {
            self.take(9 + end + 3);
            return HtmlToken::Raw(inner.get(..end).unwrap_or_default());
        }
        let end = memchr(b'>', self.rest.as_bytes()).map_or(self.rest.len(), |end| end + 1);
        HtmlToken::Comment(self.take(end))
    }
}

impl<'s> Iterator for HtmlTokenizer<'s> {
    type Item = HtmlToken<'s>;

    fn next(&mut self) -> Option<HtmlToken<'s>> {
        let raw = std::mem::take(&mut self.raw);
        if raw > 0 {
            return Some(HtmlToken::Raw(self.take(raw)));
        }
        if self.rest.is_empty() {
            return None;
        }
        if self.rest.starts_with('<')
            && let Some(piece) = self.mark()
        {
            return Some(piece);
        }
        let after = self.rest.as_bytes().get(1..).unwrap_or_default();
        let end = memchr(b'<', after).map_or(self.rest.len(), |end| end + 1);
        Some(HtmlToken::Text(self.take(end)))
    }
}

/// The name that a tag begins with.
fn name(tag: &str) -> &str {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let end = tag.as_bytes().iter().position(ends).unwrap_or(tag.len());
    tag.get(..end).unwrap_or(tag)
}

impl<'s> HtmlAttributes<'s> {
    /// The value of an attribute, entities not decoded; empty for one without a value.
    pub(super) fn raw(self, name: &str) -> Option<&'s str> {
        self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The value of an attribute.
    pub(super) fn get(self, name: &str) -> Option<Cow<'s, str>> {
        self.raw(name).map(|value| {
            if value.contains('&') { htmlize::unescape_attribute(value) } else { value.into() }
        })
    }

    /// Names and values in order.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'s str, &'s str)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'=' || *byte == b'/';
            // An attribute may begin with `=`, and has a name then all the same.
            let end = rest.bytes().skip(1).position(|byte| ends(&byte));
            let (name, after) = rest.split_at_checked(end.map_or(rest.len(), |end| end + 1))?;
            if name.is_empty() {
                return None;
            }
            let after = after.trim_ascii_start();
            let Some(value) = after.strip_prefix('=') else {
                rest = after;
                return Some((name, ""));
            };
            let value = value.trim_ascii_start();
            let quoted = match value.as_bytes().first() {
                Some(b'"') => value.get(1..).and_then(|value| value.split_once('"')),
                Some(b'\'') => value.get(1..).and_then(|value| value.split_once('\'')),
                _ => None,
            };
            let (value, after) = quoted.unwrap_or_else(|| {
                let end = value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len());
                value.split_at_checked(end).unwrap_or((value, ""))
            });
            rest = after;
            Some((name, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, want: &str) {
        let got: Vec<String> = HtmlTokenizer::new(source)
            .map(|piece| match piece {
                HtmlToken::Text(text) => format!("{text:?}"),
                HtmlToken::Raw(text) => format!("raw {text:?}"),
                HtmlToken::Open { name, attributes, closed } => {
                    let all = attributes.iter().map(|(name, value)| format!(" {name}={value}"));
                    format!("<{name}{}{}>", all.collect::<String>(), if closed { "/" } else { "" })
                }
                HtmlToken::Close(name) => format!("</{name}>"),
                HtmlToken::Comment(text) => format!("<!{text}>"),
            })
            .collect();
        assert_eq!(got.join(" "), want, "{source}");
    }

    #[test]
    fn tokens_are_distinguished() {
        let cases = [
            ("", ""),
            ("a<b>c</b >d", r#""a" <b> "c" </b> "d""#),
            (r#"<a href="x>y" CLASS=k hidden>z"#, r#"<a href=x>y CLASS=k hidden=> "z""#),
            ("<a href = 'x y'/>", "<a href=x y/>"),
            ("<br/><br />", "<br/> <br/>"),
            ("a < b <3 <é", r#""a " "< b " "<3 " "<é""#),
            (
                "<!-- a > b -->c<!DOCTYPE html><?xml?>",
                r#"<! a > b > "c" <!<!DOCTYPE html>> <!<?xml?>>"#,
            ),
            ("<!-- a<b>", r#"<!> " a" <b>"#),
            ("<script>a</b><c>'</SCRIPT>d", r#"<script> raw "a</b><c>'" </SCRIPT> "d""#),
            ("<script></script>x", r#"<script> </script> "x""#),
            ("<script>x", r#"<script> "x""#),
            ("<![CDATA[a<b]]>c", r#"raw "a<b" "c""#),
            (r#"<a title="x>y</a>z"#, r#"<a title="x> "y" </a> "z""#),
            ("<a", "<a>"),
            ("</", r#""</""#),
            ("</a", "</a>"),
            ("<a =b= c==d>", "<a =b=c==d>"),
        ];
        for (source, want) in cases {
            check(source, want);
        }
    }

    #[test]
    fn values_are_decoded() {
        let Some(HtmlToken::Open { attributes, .. }) =
            HtmlTokenizer::new("<a href='?a=1&amp;b=2&copy=3' T='&lt;'>").next()
        else {
            panic!("no tag");
        };
        assert_eq!(attributes.get("href").as_deref(), Some("?a=1&b=2&copy=3"));
        assert_eq!(attributes.get("t").as_deref(), Some("<"));
        assert_eq!(attributes.get("id"), None);
    }
}
