//! Splits HTML into tags and text like a browser, without building a tree. Knows no element.

use std::borrow::Cow;

/// Character references common in headings and URLs; others are left as written.
const NAMED_ENTITIES: [(&str, &str); 20] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("middot", "·"),
    ("times", "×"),
    ("larr", "←"),
    ("rarr", "→"),
];

/// Maximum length of a character reference.
const MAX_ENTITY_BYTES: usize = 10;

/// A piece of HTML text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HtmlTagToken<'a> {
    /// Text between tags, as written.
    Text(&'a str),
    /// Start tag.
    Open(&'a str),
    /// End tag.
    Close(&'a str),
    /// Contents of `<!-- … -->`.
    Comment(&'a str),
}

/// Iterates over HTML text.
#[derive(Debug)]
pub(super) struct HtmlTagTokenizer<'a> {
    text: &'a str,
    at: usize,
    /// Attribute names and values of the last start tag, as written.
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> HtmlTagTokenizer<'a> {
    /// Starts at the beginning of a text.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, attributes: Vec::new() }
    }

    /// Returns the next piece and its offset.
    pub(super) fn next(&mut self) -> Option<(usize, HtmlTagToken<'a>)> {
        loop {
            let start = self.at;
            let rest = self.text.as_bytes().get(start..).filter(|rest| !rest.is_empty())?;
            if rest.first() != Some(&b'<') {
                self.at += memchr::memchr(b'<', rest).unwrap_or(rest.len());
                return Some((start, HtmlTagToken::Text(self.cut(start, self.at))));
            }
            match rest.get(1) {
                Some(b'!') if rest.starts_with(b"<!--") => {
                    return Some((start, self.comment(start)));
                }
                Some(b'!' | b'?') => self.at = self.after(start, b'>'),
                Some(b'/') if rest.get(2).is_some_and(u8::is_ascii_alphabetic) => {
                    let name = self.name(start + 2);
                    self.at = self.after(start, b'>');
                    return Some((start, HtmlTagToken::Close(name)));
                }
                Some(letter) if letter.is_ascii_alphabetic() => {
                    let name = self.name(start + 1);
                    self.at = start + 1 + name.len();
                    self.read_attributes();
                    return Some((start, HtmlTagToken::Open(name)));
                }
                _ => {
                    self.at = start + 1;
                    return Some((start, HtmlTagToken::Text(self.cut(start, self.at))));
                }
            }
        }
    }

    /// Returns the attributes of the last start tag.
    pub(super) fn attributes(&self) -> &[(&'a str, &'a str)] {
        &self.attributes
    }

    /// Returns one attribute value of the last start tag.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut all = self.attributes.iter();
        all.find(|(its, _)| its.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// Skips to the end of an element such as `script` or `style`, which contain no tags.
    pub(super) fn skip_to_end_of(&mut self, name: &str) {
        let bytes = self.text.as_bytes();
        while let Some(found) = bytes.get(self.at..).and_then(|rest| memchr::memchr(b'<', rest)) {
            self.at += found;
            let after = bytes.get(self.at + 1..).unwrap_or_default();
            let closing = after.strip_prefix(b"/").and_then(|after| after.get(..name.len()));
            if closing.is_some_and(|closing| closing.eq_ignore_ascii_case(name.as_bytes())) {
                return;
            }
            self.at += 1;
        }
        self.at = bytes.len();
    }

    fn comment(&mut self, start: usize) -> HtmlTagToken<'a> {
        let rest = self.text.as_bytes().get(start + 4..).unwrap_or_default();
        let length = memchr::memmem::find(rest, b"-->");
        let end = length.map_or(self.text.len(), |length| start + 4 + length);
        self.at = self.text.len().min(end + 3);
        HtmlTagToken::Comment(self.cut(start + 4, end))
    }

    fn read_attributes(&mut self) {
        self.attributes.clear();
        let bytes = self.text.as_bytes();
        loop {
            self.skip_while(|byte| byte.is_ascii_whitespace() || byte == b'/');
            match bytes.get(self.at) {
                None => return,
                Some(b'>') => {
                    self.at += 1;
                    return;
                }
                Some(_) => {}
            }
            let start = self.at;
            self.at += 1;
            self.skip_while(|byte| {
                !byte.is_ascii_whitespace() && !matches!(byte, b'=' | b'>' | b'/')
            });
            let name = self.cut(start, self.at);
            let end = self.at;
            self.skip_while(|byte| byte.is_ascii_whitespace());
            if bytes.get(self.at) == Some(&b'=') {
                self.at += 1;
                let value = self.value();
                self.attributes.push((name, value));
            } else {
                self.at = end;
                self.attributes.push((name, ""));
            }
        }
    }

    fn value(&mut self) -> &'a str {
        self.skip_while(|byte| byte.is_ascii_whitespace());
        let bytes = self.text.as_bytes();
        if let Some(quote @ (b'"' | b'\'')) = bytes.get(self.at) {
            let start = self.at + 1;
            let rest = bytes.get(start..).unwrap_or_default();
            let length = memchr::memchr(*quote, rest).unwrap_or(rest.len());
            self.at = bytes.len().min(start + length + 1);
            return self.cut(start, start + length);
        }
        let start = self.at;
        self.skip_while(|byte| !byte.is_ascii_whitespace() && byte != b'>');
        self.cut(start, self.at)
    }

    fn skip_while(&mut self, is: impl Fn(u8) -> bool) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| !is(*byte)).unwrap_or(rest.len());
    }

    /// Reads the element name that starts here.
    fn name(&self, start: usize) -> &'a str {
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.cut(start, start + length)
    }

    fn after(&self, start: usize, end: u8) -> usize {
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        memchr::memchr(end, rest).map_or(self.text.len(), |length| start + length + 1)
    }

    fn cut(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// Resolves the character references in a text.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    let Some((before, mut rest)) = text.split_once('&') else { return Cow::Borrowed(text) };
    let mut decoded = before.to_owned();
    loop {
        let length = rest.bytes().take(MAX_ENTITY_BYTES).position(|byte| byte == b';');
        let reference = length.and_then(|length| {
            let (name, after) = rest.split_at_checked(length)?;
            Some((character(name)?, after.strip_prefix(';')?))
        });
        match reference {
            Some((character, after)) => {
                decoded.push_str(&character);
                rest = after;
            }
            None => decoded.push('&'),
        }
        let Some((before, after)) = rest.split_once('&') else { break };
        decoded.push_str(before);
        rest = after;
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

fn character(reference: &str) -> Option<Cow<'static, str>> {
    let Some(number) = reference.strip_prefix('#') else {
        let mut all = NAMED_ENTITIES.iter();
        return all.find(|(name, _)| *name == reference).map(|(_, text)| Cow::Borrowed(*text));
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).map(|c| Cow::Owned(c.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let mut parts = HtmlTagTokenizer::new(text);
        let mut all = Vec::new();
        while let Some((at, part)) = parts.next() {
            let shown = match part {
                HtmlTagToken::Text(text) => format!("{at} {text:?}"),
                HtmlTagToken::Close(name) => format!("{at} /{name}"),
                HtmlTagToken::Comment(text) => format!("{at} !{text}"),
                HtmlTagToken::Open(name) => {
                    let pairs = parts.attributes().iter();
                    let attributes: Vec<String> =
                        pairs.map(|(name, value)| format!(" {name}={value}")).collect();
                    let shown = format!("{at} {name}{}", attributes.concat());
                    if name == "script" {
                        parts.skip_to_end_of("script");
                    }
                    shown
                }
            };
            all.push(shown);
        }
        all
    }

    #[test]
    fn parts_are_those_of_a_browser() {
        let cases: [(&str, &[&str]); 12] = [
            ("", &[]),
            ("a<b>c</b >d", &["0 \"a\"", "1 b", "4 \"c\"", "5 /b", "10 \"d\""]),
            ("<a href=x.md id='y' Z>", &["0 a href=x.md id=y Z="]),
            ("<img\n src = \"a>b\"\n/>", &["0 img src=a>b"]),
            ("<a title=it's>x", &["0 a title=it's", "14 \"x\""]),
            ("a < b <3", &["0 \"a \"", "2 \"<\"", "3 \" b \"", "6 \"<\"", "7 \"3\""]),
            ("<!-- <a href=x> -->y", &["0 ! <a href=x> ", "19 \"y\""]),
            ("<!DOCTYPE html><?php ?><p>", &["23 p"]),
            ("<script>if (a<b) '<p>'</SCRIPT>z", &["0 script", "22 /SCRIPT", "31 \"z\""]),
            ("<script>never", &["0 script"]),
            ("<a href='never", &["0 a href=never"]),
            ("<!-- never", &["0 ! never"]),
        ];
        for (text, want) in cases {
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn references_are_resolved() {
        let cases = [
            ("a", "a"),
            ("a &amp; b", "a & b"),
            ("&lt;T&gt;", "<T>"),
            ("&#65;&#x42;", "AB"),
            ("a&b=1;c", "a&b=1;c"),
            ("&unknown;", "&unknown;"),
            ("&#xffffffff;", "&#xffffffff;"),
            ("AT&T &", "AT&T &"),
        ];
        for (text, want) in cases {
            assert_eq!(decode(text), want, "{text}");
        }
    }
}
