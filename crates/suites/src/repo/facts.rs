//! Facts of one file, kept small: thousands of these are in memory at once. Filled in by `documents` and `syntax`.

/// Format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum DocumentFormat {
    /// Markdown and MDX.
    Markdown,
    /// HTML.
    Html,
    /// reStructuredText.
    Restructured,
    /// `AsciiDoc`.
    AsciiDoc,
    /// Plain text.
    Text,
}

/// Facts of one document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DocumentFacts {
    /// Path relative to the analyzed folder.
    pub(super) path: Box<str>,
    /// Format of the document.
    pub(super) format: DocumentFormat,
    /// Its first heading, or the title of its front matter or head.
    pub(super) title: Option<Box<str>>,
    /// Headings in document order.
    pub(super) headings: Vec<DocumentHeading>,
    /// Anchors as hashes by [`anchor_key`]: slugs of headings, `id`, `name`.
    pub(super) anchors: Vec<u64>,
    /// Links and images in document order; each target is kept once.
    pub(super) links: Vec<DocumentLink>,
    /// Inline code, and lines of code blocks that look like commands.
    pub(super) mentions: Vec<Mention>,
    /// Code blocks.
    pub(super) code_blocks: Vec<CodeBlock>,
    /// Number of words of prose.
    pub(super) words: u64,
    /// Hashes of eight-word shingles, sorted and deduplicated; sampled evenly by value in long documents.
    pub(super) shingles: Vec<u64>,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentHeading {
    /// Level from 1, the outermost.
    pub(super) level: u8,
    /// Text without markup.
    pub(super) text: Box<str>,
    /// Line number from 1.
    pub(super) line: u32,
}

/// A link or image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentLink {
    /// Line number from 1.
    pub(super) line: u32,
    /// Text as written.
    pub(super) target: Box<str>,
    /// Whether it is embedded: an image, a script, a style sheet.
    pub(super) image: bool,
}

/// Something that a document mentions as code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// Line number from 1.
    pub(super) line: u32,
    /// Text as written.
    pub(super) text: Box<str>,
    /// Whether it is a line of a command block (`sh`, `console` …, without its prompt), not inline code.
    pub(super) command: bool,
}

/// A code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeBlock {
    /// Line number from 1.
    pub(super) line: u32,
    /// First word of the info string, as written.
    pub(super) language: Option<Box<str>>,
}

/// Hashes an anchor for storage and lookup; ignores case and percent-encoding.
pub(super) fn anchor_key(anchor: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    let decoded = percent_encoding::percent_decode_str(anchor).decode_utf8_lossy();
    decoded.to_lowercase().hash(&mut hasher);
    hasher.finish()
}

/// Facts from the syntax tree of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SyntaxFacts {
    /// Public symbols, in source order.
    pub(super) symbols: Vec<Symbol>,
    /// Decisions in the whole file, plus one per function.
    pub(super) complexity: u32,
}

/// A public symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Qualified name.
    pub(super) name: Box<str>,
    /// `function`, `struct` …
    pub(super) kind: &'static str,
    /// Line number from 1.
    pub(super) line: u32,
    /// Whether it has a doc comment.
    pub(super) documented: bool,
}
