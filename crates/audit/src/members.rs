//! Members of a JSON object as bytes: plain ASCII, bounded, always on one line.

use std::io::Write;

/// Maximum bytes of a string. A longer one is truncated, and says so.
pub(crate) const MAX_TEXT_BYTES: usize = 512;

/// Members that follow others: each starts with a comma.
#[derive(Debug, Default)]
pub(crate) struct LineMembers(Vec<u8>);

impl LineMembers {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(512))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn name(&mut self, name: &str) {
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    /// Writes a string, truncated to [`MAX_TEXT_BYTES`] bytes.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.0.push(b'"');
        let end = text.floor_char_boundary(MAX_TEXT_BYTES);
        for char in text.get(..end).unwrap_or_default().chars() {
            self.char(char);
        }
        if end < text.len() {
            write!(self.0, "...[{} bytes]", text.len()).unwrap_or_default();
        }
        self.0.push(b'"');
    }

    pub(crate) fn some_text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// Escapes everything but plain ASCII: some readers end lines at U+0085 and U+2028, terminals obey C1 controls, and
    /// bidirectional marks reorder text.
    fn char(&mut self, char: char) {
        match char {
            '"' => self.0.extend_from_slice(b"\\\""),
            '\\' => self.0.extend_from_slice(b"\\\\"),
            ' '..='~' => self.0.extend(u8::try_from(char)),
            _ => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    // Writing to a vector can't fail.
                    write!(self.0, "\\u{unit:04x}").unwrap_or_default();
                }
            }
        }
    }

    pub(crate) fn number(&mut self, name: &str, number: u64) {
        self.name(name);
        write!(self.0, "{number}").unwrap_or_default();
    }

    /// Writes a number with a fraction. A value that JSON cannot express becomes `null`.
    pub(crate) fn fraction(&mut self, name: &str, number: f64) {
        self.name(name);
        serde_json::to_writer(&mut self.0, &number).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(members: &LineMembers) -> Value {
        let text = String::from_utf8(members.bytes().to_vec()).unwrap();
        assert!(text.is_ascii() && !text.contains('\n'), "{text}");
        serde_json::from_str(&format!("{{\"a\":0{text}}}")).unwrap()
    }

    #[test]
    fn every_text_round_trips_through_one_ascii_line() {
        for text in [
            "",
            "plain",
            "quote \" back \\ slash /",
            "a\nb\r\n\tc\u{0}\u{1b}[2J\u{7f}",
            "\u{85}\u{2028}\u{2029}\u{202e}\u{200b}\u{feff}",
            "grüße 数 😀",
            "\",\"outcome\":\"ok",
            "\"}\n{\"seq\":1",
        ] {
            let mut members = LineMembers::new();
            members.text("t", text);
            assert_eq!(read(&members)["t"], text);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        for char in ["a", "é", "数", "😀", "\n"] {
            let text = char.repeat((1 << 20) / char.len());
            let mut members = LineMembers::new();
            members.text("t", &text);
            let value = read(&members);
            let kept = value["t"].as_str().unwrap();
            let (words, said) = kept.split_once("...[").unwrap();
            assert!(words.len() <= MAX_TEXT_BYTES && text.starts_with(words), "{}", words.len());
            assert_eq!(said, format!("{} bytes]", text.len()));
        }
    }

    #[test]
    fn numbers_are_numbers() {
        let mut members = LineMembers::new();
        members.number("n", u64::MAX);
        members.fraction("f", 1.5);
        members.fraction("odd", f64::NAN);
        let value = read(&members);
        assert_eq!((value["n"].as_u64(), value["f"].as_f64()), (Some(u64::MAX), Some(1.5)));
        assert!(value["odd"].is_null());
    }
}
