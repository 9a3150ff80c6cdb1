//! Which formats there are, how they are told apart, and what can go wrong.

use crate::{document::Document, read};

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// HTML.
    Html,
    /// Markdown and MDX.
    Markdown,
    /// Text without marks.
    Plain,
}

/// Why a file gives no document. Each says what to do about it where something can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// There is something in it that is no text.
    #[error("it is no text: it holds NUL bytes")]
    Binary,
    /// Nobody but its owner can read it.
    #[error("it is encrypted; save a copy without a password")]
    Encrypted,
    /// There is no text to find.
    #[error("its {pages} pages are pictures without text; run text recognition on it first")]
    Scanned {
        /// How many.
        pages: usize,
    },
    /// It is not what its name says.
    #[error("it can't be read as {format}: {reason}")]
    Damaged {
        /// What it should be.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// It is made to fill the memory.
    #[error("it unpacks to more than {limit} bytes")]
    TooLarge {
        /// How many it may have.
        limit: u64,
    },
}

impl Format {
    /// Told by a file's name.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "md" | "markdown" | "mdx" => Some(Self::Markdown),
            "txt" | "text" => Some(Self::Plain),
            _ => None,
        }
    }

    /// For people, and to tell one from another.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Html => "HTML",
            Self::Markdown => "Markdown",
            Self::Plain => "text",
        }
    }

    /// A larger file is data, and is not read.
    pub const fn largest(self) -> u64 {
        match self {
            Self::Html | Self::Markdown | Self::Plain => 8 << 20,
        }
    }

    /// Reads a document. The path tells its name, and what its links are relative to.
    pub fn read(self, path: &str, bytes: &[u8]) -> Result<Document, Unreadable> {
        match self {
            Self::Html => read::html::read(path, &text(bytes)?),
            Self::Markdown => read::markdown::read(path, &text(bytes)?),
            Self::Plain => read::plain::read(path, &text(bytes)?),
        }
    }
}

/// The text of a file, whatever its encoding.
fn text(bytes: &[u8]) -> Result<String, Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Unreadable::Empty);
    }
    if bytes.contains(&0) {
        return Err(Unreadable::Binary);
    }
    let text = String::from_utf8_lossy(bytes);
    Ok(text.trim_start_matches('\u{feff}').replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_name() {
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
    fn nothing_and_no_text_are_told() {
        for format in [Format::Html, Format::Markdown, Format::Plain] {
            assert_eq!(format.read("a", b" \n"), Err(Unreadable::Empty));
            assert_eq!(format.read("a", b"a\0b"), Err(Unreadable::Binary));
        }
    }
}
