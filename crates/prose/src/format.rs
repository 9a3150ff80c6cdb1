//! Which formats there are, how they are told apart, and what can go wrong.

use crate::{document::ProseDocument, encoding, read};

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProseFormat {
    /// HTML.
    Html,
    /// Markdown and MDX.
    Markdown,
    /// Text without marks.
    Plain,
    /// reStructuredText.
    Rst,
    /// `AsciiDoc`.
    AsciiDoc,
    /// Manual pages in roff, packed or not.
    Man,
    /// Jupyter notebooks.
    Notebook,
    /// Descriptions of HTTP interfaces.
    OpenApi,
    /// PDF.
    Pdf,
    /// EPUB.
    Epub,
    /// Word documents.
    Docx,
    /// Texts of `LibreOffice` and others.
    Odt,
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
    /// The caller stopped the work, or its time was up.
    #[error("reading it took too long and was stopped")]
    Stopped,
}

impl ProseFormat {
    /// Told by a file's name.
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

    /// Told by more of the name than its ending.
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

    /// Whether a file of this name may be a document, which [`ProseFormat::guess`] tells.
    pub fn may_be(path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self::from_path(path).is_some() || is_data(name) || read::man::may_be_named(name)
    }

    /// Told by a file's name and how it begins, where the name alone does not tell.
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

    /// For people, and to tell one from another.
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

    /// Whether its files are text as they lie there.
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

    /// A larger file is data, and is not read.
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

    /// Reads a document. The path tells its name, and what its links are relative to.
    pub fn read(self, path: &str, bytes: &[u8]) -> Result<ProseDocument, Unreadable> {
        self.read_until(path, bytes, &|| false)
    }

    /// Reads a document, and asks `stopped` at each page, chapter or cell of the formats that may be large.
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

/// Whether many things have such a name, and a description of an HTTP interface among them.
fn is_data(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(ending.as_deref(), Some("json" | "yaml" | "yml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_name() {
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
            assert_eq!(Format::of(path), want, "{path}");
        }
    }

    #[test]
    fn descriptions_of_interfaces_are_told_by_their_first_key() {
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
            assert_eq!(Format::guess(path, text.as_bytes()), want, "{text}");
        }
        assert_eq!(Format::guess("a.md", b"openapi: 3"), Some(Format::Markdown));
    }

    #[test]
    fn nothing_and_no_text_are_told() {
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
