//! Converts XHTML of books to the HTML that the parser reads.

/// Void elements, which have no end tag in HTML either.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// XHTML whose elements without content have an end tag: HTML takes `<title/>` for a start.
pub(super) fn expand_void_elements(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}');
    let mut to = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        to.push_str(before);
        to.push('<');
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric() && c != ':').unwrap_or(tag.len());
        let (name, after) = tag.split_at_checked(end).unwrap_or((tag, ""));
        to.push_str(name);
        rest = after;
        if name.is_empty() {
            continue;
        }
        let Some(close) = closing(after) else { continue };
        let (inner, after) = after.split_at_checked(close).unwrap_or((after, ""));
        rest = after.get(1..).unwrap_or_default();
        match inner.strip_suffix('/') {
            Some(inner) if !VOID.contains(&name.to_ascii_lowercase().as_str()) => {
                to.push_str(inner);
                to.push_str("></");
                to.push_str(name);
                to.push('>');
            }
            _ => {
                to.push_str(inner);
                to.push('>');
            }
        }
    }
    to.push_str(rest);
    to
}

/// Where a tag ends, outside of its quoted values.
fn closing(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            // A tag holds no other tag: this one is broken.
            (None, b'<') => return None,
            _ => {}
        }
    }
    None
}

/// A reference without its escapes.
pub(super) fn unescape(reference: &str) -> String {
    if !reference.contains('%') {
        return reference.to_owned();
    }
    let bytes = reference.as_bytes();
    let mut to = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(value) = value.filter(|_| *byte == b'%') {
            to.push(value);
            at += 3;
        } else {
            to.push(*byte);
            at += 1;
        }
    }
    String::from_utf8_lossy(&to).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_without_content_get_an_end() {
        let cases = [
            ("<title/><p>a</p>", "<title></title><p>a</p>"),
            ("<a id=\"x/>\" /><br/><hr />", "<a id=\"x/>\" ></a><br/><hr />"),
            ("<p>1 < 2</p><b", "<p>1 < 2</p><b"),
            ("<!-- <i/> --><p title='a", "<!-- <i></i> --><p title='a"),
            ("", ""),
        ];
        for (text, want) in cases {
            assert_eq!(expand_void_elements(text), want);
        }
    }

    #[test]
    fn escapes_are_undone() {
        for (text, want) in [("a%20b", "a b"), ("a%2", "a%2"), ("%zz%C3%A9", "%zzé")] {
            assert_eq!(unescape(text), want);
        }
    }
}
