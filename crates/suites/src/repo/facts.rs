//! What one file tells, kept small: thousands of these are in memory at once. Filled in by `documents` and `syntax`.

/// What a document is written in.
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
    /// Text without marks.
    Text,
}

/// What one document tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DocumentFacts {
    /// Inside the analysed folder.
    pub(super) path: Box<str>,
    /// What it is written in.
    pub(super) format: DocumentFormat,
    /// Its first heading, or the title of its front matter or head.
    pub(super) title: Option<Box<str>>,
    /// In their order.
    pub(super) headings: Vec<DocumentHeading>,
    /// Everything that a fragment may name, as hashes by [`anchor_key`]: slugs of headings, `id`, `name`.
    pub(super) anchors: Vec<u64>,
    /// Links and pictures, in their order; a target that is linked twice in one document is kept once.
    pub(super) links: Vec<DocumentLink>,
    /// What stands as code in running text, and lines of code blocks that look like commands.
    pub(super) mentions: Vec<Mention>,
    /// Blocks of code.
    pub(super) code_blocks: Vec<CodeBlock>,
    /// Words of prose.
    pub(super) words: u64,
    /// Hashes of runs of eight words of prose, sorted, each once; thinned out evenly (by value) where there are many.
    pub(super) shingles: Vec<u64>,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentHeading {
    /// From 1, the outermost.
    pub(super) level: u8,
    /// Without marks.
    pub(super) text: Box<str>,
    /// From 1.
    pub(super) line: u32,
}

/// A link or a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentLink {
    /// From 1.
    pub(super) line: u32,
    /// As written.
    pub(super) target: Box<str>,
    /// Whether it is shown in its place: a picture, a script, a style sheet.
    pub(super) image: bool,
}

/// Something that a document names as code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// From 1.
    pub(super) line: u32,
    /// As written.
    pub(super) text: Box<str>,
    /// Whether it is a line of a block of commands (`sh`, `console` …, without its prompt), and not code in running text.
    pub(super) command: bool,
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeBlock {
    /// From 1.
    pub(super) line: u32,
    /// As written, the first word of it.
    pub(super) language: Option<Box<str>>,
}

/// How anchors are kept and looked up: case and percent-encoding make no difference.
pub(super) fn anchor_key(anchor: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    let decoded = percent_encoding::percent_decode_str(anchor).decode_utf8_lossy();
    decoded.to_lowercase().hash(&mut hasher);
    hasher.finish()
}

/// What the syntax tree of one file tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SyntaxFacts {
    /// Public symbols, in their order.
    pub(super) symbols: Vec<Symbol>,
    /// Decisions in the whole file, and one for each function.
    pub(super) complexity: u32,
}

/// A public symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symbol {
    /// With what it lies in.
    pub(super) name: Box<str>,
    /// `function`, `struct` …
    pub(super) kind: &'static str,
    /// From 1.
    pub(super) line: u32,
    /// Whether it has a doc comment.
    pub(super) documented: bool,
}
