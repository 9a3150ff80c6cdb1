//! Document formats, their detection, and reading errors.

use crate::{document::ProseDocument, encoding, read};

/// A document format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProseFormat {
    /// HTML.
    Html,
    /// Markdown and MDX.
    Markdown,
    /// Plain text.
    Plain,
    /// reStructuredText.
    Rst,
    /// `AsciiDoc`.
    AsciiDoc,
    /// Manual pages in roff, compressed or not.
    Man,
    /// Jupyter notebooks.
    Notebook,
    /// `OpenAPI` descriptions.
    OpenApi,
    /// PDF.
    Pdf,
    /// EPUB.
    Epub,
    /// Word documents.
    Docx,
    /// `OpenDocument` texts of `LibreOffice` and others.
    Odt,
}

/// Why a file could not be read. Messages say what to do, if anything can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The file is binary.
    #[error("it is not text: it contains NUL bytes")]
    Binary,
    /// The file is encrypted.
    #[error("it is encrypted; save a copy without a password")]
    Encrypted,
    /// All pages are images without text.
    #[error("its {pages} pages are images without text; run OCR on it first")]
    Scanned {
        /// Number of pages.
        pages: usize,
    },
    /// The content does not match the format.
    #[error("it can't be read as {format}: {reason}")]
    Damaged {
        /// The expected format.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The content exceeds the size limit.
    #[error("it unpacks to more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The caller cancelled, or the time limit was reached.
    #[error("reading it took too long and was stopped")]
    Stopped,
}

impl ProseFormat {
    /// Detects the format by file name.
    pub fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(known) = Self::by_whole_name(name) {
            return Some(known);
        }
        if read::man::is_named(path) {
            return Some(Self::Man);
        }
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "md" | "markdown" | "mdx" => Some(Self::Markdown),
            "txt" | "text" => Some(Self::Plain),
            "rst" | "rest" => Some(Self::Rst),
            "adoc" | "asciidoc" | "asc" => Some(Self::AsciiDoc),
            "ipynb" => Some(Self::Notebook),
            "pdf" => Some(Self::Pdf),
            "epub" => Some(Self::Epub),
            "docx" => Some(Self::Docx),
            "odt" => Some(Self::Odt),
            _ => None,
        }
    }

    /// Detects the format by more than the extension.
    fn by_whole_name(name: &str) -> Option<Self> {
        const TEXTS: [&str; 9] = [
            "AUTHORS",
            "CHANGELOG",
            "CHANGES",
            "COPYING",
            "ChangeLog",
            "INSTALL",
            "NEWS",
            "README",
            "README.Debian",
        ];
        if TEXTS.contains(&name) {
            return Some(Self::Plain);
        }
        let lower = name.to_ascii_lowercase();
        if lower == "llms.txt" || lower == "llms-full.txt" || lower.ends_with(".md.txt") {
            return Some(Self::Markdown);
        }
        // Sphinx publishes its sources so.
        if lower.ends_with(".rst.txt") {
            return Some(Self::Rst);
        }
        let (stem, ending) = lower.rsplit_once('.')?;
        let described = matches!(stem.rsplit('.').next(), Some("openapi" | "swagger"));
        (described && matches!(ending, "json" | "yaml" | "yml")).then_some(Self::OpenApi)
    }

    /// Whether a file of this name may be a document, to be decided by [`ProseFormat::guess`].
    pub fn may_be(path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self::from_path(path).is_some() || is_data(name) || read::man::may_be_named(name)
    }

    /// Detects the format by file name and, if that is ambiguous, by the first bytes.
    pub fn guess(path: &str, bytes: &[u8]) -> Option<Self> {
        if read::man::man_page(path, bytes) {
            return Some(Self::Man);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        match Self::from_path(path) {
            Some(Self::Plain) if read::asciidoc::is_head(bytes) => Some(Self::AsciiDoc),
            // Keys and signatures go by the same ending.
            Some(Self::AsciiDoc) if bytes.starts_with(b"-----BEGIN PGP") => None,
            None if is_data(name) && read::openapi::is_one(bytes) => Some(Self::OpenApi),
            known => known,
        }
    }

    /// Display name, unique per format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Html => "HTML",
            Self::Markdown => "Markdown",
            Self::Plain => "text",
            Self::Rst => "reStructuredText",
            Self::AsciiDoc => "AsciiDoc",
            Self::Man => "man page",
            Self::Notebook => "Jupyter notebook",
            Self::OpenApi => "OpenAPI",
            Self::Pdf => "PDF",
            Self::Epub => "EPUB",
            Self::Docx => "DOCX",
            Self::Odt => "ODT",
        }
    }

    /// Whether its files are plain text on disk.
    pub const fn is_text(self) -> bool {
        match self {
            Self::Html
            | Self::Markdown
            | Self::Plain
            | Self::Rst
            | Self::AsciiDoc
            | Self::Notebook
            | Self::OpenApi => true,
            // Most manual pages are packed.
            Self::Man | Self::Pdf | Self::Epub | Self::Docx | Self::Odt => false,
        }
    }

    /// Maximum bytes of a file; a larger one is data and is not read.
    pub const fn largest(self) -> u64 {
        match self {
            Self::Html | Self::Markdown | Self::Plain | Self::Rst | Self::AsciiDoc | Self::Man => {
                8 << 20
            }
            // Pictures make notebooks large; what is kept of them is not.
            Self::Notebook => 32 << 20,
            Self::OpenApi => 16 << 20,
            // Most of these files is pictures, which are not read.
            Self::Pdf | Self::Epub | Self::Docx | Self::Odt => 100 << 20,
        }
    }

    /// Reads a document. The path gives its name and the base of relative links.
    pub fn read(self, path: &str, bytes: &[u8]) -> Result<ProseDocument, Unreadable> {
        self.read_until(path, bytes, &|| false)
    }

    /// Reads a document, and polls `stopped` at each page, chapter or cell of formats that may be large.
    pub fn read_until(
        self,
        path: &str,
        bytes: &[u8],
        stopped: &dyn Fn() -> bool,
    ) -> Result<ProseDocument, Unreadable> {
        if stopped() {
            return Err(Unreadable::Stopped);
        }
        match self {
            Self::Html => Ok(read::html::read(path, &encoding::marked_up(bytes)?)),
            Self::Markdown => Ok(read::markdown::read(path, &encoding::text(bytes)?)),
            Self::Plain => Ok(read::plain::read(path, &encoding::text(bytes)?)),
            Self::Rst => Ok(read::rst::read(path, &encoding::text(bytes)?)),
            Self::AsciiDoc => Ok(read::asciidoc::read(path, &encoding::text(bytes)?)),
            Self::Man => read::man::read(path, bytes),
            Self::Notebook => read::notebook::read(path, &encoding::text(bytes)?, stopped),
            Self::OpenApi => read::openapi::read(path, &encoding::text(bytes)?),
            Self::Pdf => read::pdf::read(path, bytes, stopped),
            Self::Epub => read::epub::read(path, bytes, stopped),
            Self::Docx => read::docx::read(path, bytes),
            Self::Odt => read::odt::read(path, bytes),
        }
    }
}

/// Whether the name is generic, but may be an `OpenAPI` description.
fn is_data(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("json" | "yaml" | "yml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected_by_name() {
        let cases = [
            ("a/index.html", Some(ProseFormat::Html)),
            ("A.HTM", Some(ProseFormat::Html)),
            ("readme.md", Some(ProseFormat::Markdown)),
            ("a.mdx", Some(ProseFormat::Markdown)),
            ("notes.txt", Some(ProseFormat::Plain)),
            ("a.md/LICENSE", None),
            ("photo.png", None),
            ("docs/llms.txt", Some(ProseFormat::Markdown)),
            ("src/README", Some(ProseFormat::Plain)),
            ("ChangeLog", Some(ProseFormat::Plain)),
            ("install", None),
            ("_sources/a.rst.txt", Some(ProseFormat::Rst)),
            ("a.rst", Some(ProseFormat::Rst)),
            ("a.ipynb", Some(ProseFormat::Notebook)),
            ("api/openapi.yaml", Some(ProseFormat::OpenApi)),
            ("Swagger.JSON", Some(ProseFormat::OpenApi)),
            ("pets.openapi.yml", Some(ProseFormat::OpenApi)),
            ("openapi.rs", None),
            ("package.json", None),
        ];
        for (path, want) in cases {
            assert_eq!(ProseFormat::from_path(path), want, "{path}");
        }
    }

    #[test]
    fn openapi_descriptions_are_detected_by_their_first_key() {
        let cases = [
            ("api.yaml", "# x\nopenapi: 3.0.0\n", true),
            ("api.yml", "info:\n  openapi: 3\n", false),
            ("a.json", "{\"info\": {\"a\": \"}\"}, \"swagger\" : \"2.0\"}", true),
            ("a.json", "{\"x\": {\"swagger\": \"2.0\"}, \"y\": \"openapi\"}", false),
            ("a.json", "{\"openapi", false),
            ("a.toml", "openapi: 3.0.0\n", false),
        ];
        for (path, text, want) in cases {
            let want = want.then_some(ProseFormat::OpenApi);
            assert_eq!(ProseFormat::guess(path, text.as_bytes()), want, "{text}");
        }
        assert_eq!(ProseFormat::guess("a.md", b"openapi: 3"), Some(ProseFormat::Markdown));
    }

    #[test]
    fn empty_and_binary_files_are_reported() {
        let formats = [
            ProseFormat::Html,
            ProseFormat::Markdown,
            ProseFormat::Plain,
            ProseFormat::Rst,
            ProseFormat::Notebook,
            ProseFormat::OpenApi,
        ];
        for format in formats {
            assert_eq!(format.read("a", b" \n"), Err(Unreadable::Empty));
            assert_eq!(format.read("a", b"a\0b"), Err(Unreadable::Binary));
        }
    }
}
