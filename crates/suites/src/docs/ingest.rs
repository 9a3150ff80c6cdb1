//! From the bytes of a file to a document. Pure: one module a format, none of them reads files.

mod html;
mod markdown;

use super::document::{Document, Outline};

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// HTML.
    Html,
    /// Markdown.
    Markdown,
    /// Text without marks.
    Plain,
}

impl Format {
    /// Told by the ending of a file's name.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "md" | "markdown" | "mdx" => Some(Self::Markdown),
            "txt" | "text" => Some(Self::Plain),
            _ => None,
        }
    }

    /// Reads a document. Bytes that are not UTF-8 become replacement characters.
    pub(crate) fn read(self, path: &str, bytes: &[u8]) -> Document {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}');
        let name = path.rsplit('/').next().unwrap_or(path);
        match self {
            Self::Html => html::read(name, text),
            Self::Markdown => markdown::read(name, text),
            Self::Plain => plain(name, text),
        }
    }
}

fn plain(name: &str, text: &str) -> Document {
    let mut outline = Outline::default();
    outline.text(&text.replace("\r\n", "\n"));
    Document { title: name.to_owned(), sections: outline.finish(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_ending() {
        let cases = [
            ("a/index.html", Some(Format::Html)),
            ("A.HTM", Some(Format::Html)),
            ("readme.md", Some(Format::Markdown)),
            ("a.mdx", Some(Format::Markdown)),
            ("notes.txt", Some(Format::Plain)),
            ("a.md/LICENSE", None),
            ("photo.png", None),
        ];
        for (path, want) in cases {
            assert_eq!(Format::of(path), want, "{path}");
        }
    }

    #[test]
    fn plain_text_is_one_section_under_the_file_s_name() {
        let document = Format::Plain.read("x/notes.txt", b"\xef\xbb\xbfOne.\r\n\r\nTwo \xff.\n");
        assert_eq!(document.title, "notes.txt");
        assert_eq!(document.sections.len(), 1);
        assert_eq!(document.sections[0].text, "One.\n\nTwo \u{fffd}.");
        assert_eq!(document.sections[0].heading(), None);
        assert_eq!(document.text, "One.\r\n\r\nTwo \u{fffd}.\n");
        assert_eq!(Format::Plain.read("empty.txt", b"").sections, []);
    }
}
