//! The document model for search and display: a title, and blocks of text in sections under headings.

use std::ops::Range;

/// Maximum bytes of a heading, because all sections below repeat it.
const MAX_HEADING_BYTES: usize = 400;

/// One document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProseDocument {
    /// Display title.
    pub title: String,
    /// In order. Only the first may have no heading.
    pub sections: Vec<DocumentSection>,
    /// The documented version, if stated.
    pub version: Option<String>,
    /// Its generator, such as `Sphinx`, if detected.
    pub generator: Option<&'static str>,
    /// Whether it is an index, a redirect or a search page, excluded from search.
    pub is_boilerplate: bool,
    /// Problems while reading it, as messages for the user.
    pub problems: Vec<String>,
}

/// The content under one heading, up to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentSection {
    /// The headings above it and its own, outermost first; empty before the first heading.
    pub path: Vec<String>,
    /// 1 to 6; 0 before the first heading.
    pub level: u8,
    /// The link anchor.
    pub anchor: Option<String>,
    /// The page of its heading, counted from 1, for paged formats.
    pub page: Option<u32>,
    /// Its blocks in order, without the heading.
    pub blocks: Vec<DocumentBlock>,
}

/// The kind of a block. Only paragraphs and quotations may be separated from what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockKind {
    /// Running text.
    #[default]
    Paragraph,
    /// Code, with its fence.
    Code,
    /// A Markdown table.
    Table,
    /// A list, one or more lines per item, marked `- ` or `1. `; also terms with definitions.
    List,
    /// A note or a quotation.
    Quote,
    /// A table of contents, one item per line, with links to other documents. Displayed, but not indexed.
    Contents,
}

/// A block of Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DocumentBlock {
    /// Its kind.
    pub kind: BlockKind,
    /// Its text.
    pub text: LinkedText,
    /// The page that it begins on, for paged formats.
    pub page: Option<u32>,
}

/// Text with links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkedText {
    /// Markdown, without the links.
    pub plain: String,
    /// Its links, in order, not nested.
    pub links: Vec<TextLink>,
}

/// A link in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLink {
    /// The byte range of its label.
    pub label: Range<usize>,
    /// The target as written: a relative path, an anchor or a URL.
    pub target: String,
}

impl LinkedText {
    /// Text without links.
    pub fn new(plain: impl Into<String>) -> Self {
        Self { plain: plain.into(), links: Vec::new() }
    }

    /// Adds a link with a label.
    pub fn link(&mut self, label: &str, target: impl Into<String>) {
        let start = self.plain.len();
        self.plain.push_str(label);
        if !label.trim().is_empty() {
            self.links.push(TextLink { label: start..self.plain.len(), target: target.into() });
        }
    }

    /// The text as Markdown with links, each target mapped by `resolve`; links mapped to `None` are dropped.
    pub fn to_markdown(&self, resolve: &dyn Fn(&str) -> Option<String>) -> String {
        let mut text = String::with_capacity(self.plain.len());
        let mut from = 0;
        for link in &self.links {
            let (Some(before), Some(label)) =
                (self.plain.get(from..link.label.start), self.plain.get(link.label.clone()))
            else {
                continue;
            };
            let Some(target) = resolve(&link.target) else { continue };
            text.push_str(before);
            text.push('[');
            text.push_str(label);
            text.push_str("](");
            text.push_str(&target);
            text.push(')');
            from = link.label.end;
        }
        text.push_str(self.plain.get(from..).unwrap_or_default());
        text
    }
}

impl DocumentSection {
    /// Its own heading, if any.
    pub fn heading(&self) -> Option<&str> {
        self.path.last().map(String::as_str)
    }

    /// The heading and the text as Markdown.
    pub fn markdown(&self, resolve: &dyn Fn(&str) -> Option<String>) -> String {
        let heading =
            self.heading().map(|heading| format!("{} {heading}", "#".repeat(self.level.into())));
        let blocks = self.blocks.iter().map(|block| block.text.to_markdown(resolve));
        heading.into_iter().chain(blocks).collect::<Vec<_>>().join("\n\n")
    }
}

impl ProseDocument {
    /// The document as Markdown.
    pub fn markdown(&self, resolve: &dyn Fn(&str) -> Option<String>) -> String {
        join_sections(&self.sections, resolve)
    }

    /// Finds a section by heading, path (`A > B`) or anchor: the range of it and its subsections.
    pub fn section(&self, name: &str) -> Option<Range<usize>> {
        let wanted = name.trim().trim_start_matches('#');
        let is = |known: &str| {
            !wanted.is_empty() && (known == wanted || known.to_lowercase() == wanted.to_lowercase())
        };
        let named = |section: &DocumentSection| {
            section.heading().is_some_and(is)
                || section.anchor.as_deref() == Some(wanted)
                || is(&section.path.join(" > "))
        };
        let at = self.sections.iter().position(|section| section.level > 0 && named(section))?;
        let level = self.sections[at].level;
        let below = self.sections[at + 1..].iter().take_while(|section| section.level > level);
        Some(at..at + 1 + below.count())
    }
}

/// Joins sections as Markdown.
pub(crate) fn join_sections(
    sections: &[DocumentSection],
    resolve: &dyn Fn(&str) -> Option<String>,
) -> String {
    let all = sections.iter().map(|section| section.markdown(resolve));
    all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Maximum headings and blocks of one document. A book of a thousand pages has thirty thousand; each takes hundreds of
/// bytes, for as few as four in the source.
pub(crate) const MAX_PIECES: usize = 500_000;

/// Builds a document while its source is read from top to bottom.
#[derive(Debug, Default)]
pub struct DocumentWriter {
    sections: Vec<DocumentSection>,
    pieces: usize,
    open: Vec<(u8, String)>,
    page: Option<u32>,
}

impl DocumentWriter {
    /// Sets the page of the following text.
    pub fn page(&mut self, number: u32) {
        self.page = Some(number);
    }

    /// Starts the section of a heading, 1 to 6. An empty heading is ignored; one that is too long is truncated, and its
    /// full text becomes the first paragraph of its section.
    pub fn heading(&mut self, level: u8, heading: &str, anchor: Option<String>) {
        let whole = squeeze(heading);
        if whole.is_empty() || !self.has_room() {
            return;
        }
        let is_long = whole.len() > MAX_HEADING_BYTES;
        let heading = if is_long { shorten_heading(&whole) } else { whole.clone() };
        let level = level.clamp(1, 6);
        self.open.retain(|(outer, _)| *outer < level);
        self.open.push((level, heading));
        let path = self.open.iter().map(|(_, heading)| heading.clone()).collect();
        self.sections.push(DocumentSection {
            path,
            level,
            anchor,
            page: self.page,
            blocks: Vec::new(),
        });
        if is_long {
            self.plain(BlockKind::Paragraph, whole);
        }
    }

    /// Adds a block to the open section. Blank ones are skipped.
    pub fn block(&mut self, kind: BlockKind, text: LinkedText) {
        if text.plain.trim().is_empty() || !self.has_room() {
            return;
        }
        if self.sections.is_empty() {
            self.sections.push(DocumentSection { page: self.page, ..DocumentSection::default() });
        }
        if let Some(section) = self.sections.last_mut() {
            section.blocks.push(DocumentBlock { kind, text: trim_text(text), page: self.page });
        }
    }

    /// Counts one more piece, if the limit allows it.
    fn has_room(&mut self) -> bool {
        self.pieces += 1;
        self.pieces <= MAX_PIECES
    }

    /// Adds a block without links.
    pub fn plain(&mut self, kind: BlockKind, text: impl Into<String>) {
        self.block(kind, LinkedText::new(text));
    }

    /// Adds code in a fence that is longer than any in it.
    pub fn code(&mut self, language: &str, code: &str) {
        let code = code.trim_matches('\n').trim_end();
        if code.is_empty() {
            return;
        }
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        self.plain(BlockKind::Code, format!("{fence}{language}\n{code}\n{fence}"));
    }

    /// The first heading, if there is one.
    pub fn first_heading(&self) -> Option<&str> {
        self.sections.iter().find_map(DocumentSection::heading)
    }

    /// Finishes the document. Without a title it uses its first heading, or else its file name.
    pub fn finish(self, title: Option<String>, path: &str) -> ProseDocument {
        let title = title.map(|title| squeeze(&title)).filter(|title| !title.is_empty());
        let title = title.or_else(|| self.first_heading().map(str::to_owned));
        let name = || path.rsplit('/').next().unwrap_or(path).to_owned();
        let title = title.unwrap_or_else(name);
        let problems = (self.pieces > MAX_PIECES).then(left_out).into_iter().collect();
        ProseDocument { title, sections: self.sections, problems, ..ProseDocument::default() }
    }
}

/// The problem reported for a document with too many pieces.
pub(crate) fn left_out() -> String {
    format!("content after its first {MAX_PIECES} paragraphs is skipped")
}

/// Truncates a heading to its first words.
fn shorten_heading(heading: &str) -> String {
    let (start, _) = heading.split_at(heading.floor_char_boundary(MAX_HEADING_BYTES));
    let words = start.rsplit_once(' ').map_or(start, |(words, _)| words);
    format!("{words} …")
}

/// Trims blank lines, including the indentation of the first line.
fn trim_text(text: LinkedText) -> LinkedText {
    let end = text.plain.trim_end().len();
    let start = text.plain.len() - text.plain.trim_start().len();
    let within = |at: usize| at.clamp(start, end) - start;
    let links = text.links.into_iter().map(|link| {
        let label = within(link.label.start)..within(link.label.end);
        TextLink { label, target: link.target }
    });
    let links = links.filter(|link| !link.label.is_empty()).collect();
    LinkedText { plain: text.plain.get(start..end).unwrap_or_default().to_owned(), links }
}

/// Collapses white space to single spaces, and trims.
pub(crate) fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_nest_by_level() {
        let mut writer = DocumentWriter::default();
        writer.plain(BlockKind::Paragraph, "before");
        for (level, heading) in [(1, "A"), (3, "B"), (2, "C"), (2, " D\n d"), (1, "E"), (2, " ")] {
            writer.heading(level, heading, None);
        }
        writer.page(7);
        writer.plain(BlockKind::Paragraph, "end");
        let document = writer.finish(None, "x/f.md");
        let paths: Vec<String> =
            document.sections.iter().map(|section| section.path.join(" > ")).collect();
        assert_eq!(paths, ["", "A", "A > B", "A > C", "A > D d", "E"]);
        assert_eq!(document.sections[5].blocks[0].page, Some(7));
        assert_eq!(document.title, "A");
        assert_eq!(DocumentWriter::default().finish(None, "x/f.md").title, "f.md");
        assert_eq!(DocumentWriter::default().finish(Some(" T\n t ".into()), "f.md").title, "T t");
    }

    #[test]
    fn a_document_has_a_maximum_of_pieces() {
        let mut writer = DocumentWriter::default();
        for _ in 0..MAX_PIECES {
            writer.heading(1, "a", None);
            writer.plain(BlockKind::Paragraph, "b");
        }
        let document = writer.finish(None, "f.md");
        assert_eq!(document.sections.len(), MAX_PIECES / 2);
        assert_eq!(document.problems, [left_out()]);
        let mut writer = DocumentWriter::default();
        writer.plain(BlockKind::Paragraph, "b");
        assert!(writer.finish(None, "f.md").problems.is_empty());
    }

    #[test]
    fn a_heading_without_end_is_cut_and_its_text_kept() {
        let mut writer = DocumentWriter::default();
        let long = "größe ".repeat(1000);
        writer.heading(1, &long, None);
        writer.heading(2, &"ß".repeat(1000), None);
        writer.heading(3, "Short", None);
        let document = writer.finish(None, "f");
        let lengths: Vec<usize> = document.sections[2].path.iter().map(String::len).collect();
        assert!(lengths.iter().all(|length| *length <= MAX_HEADING_BYTES + 4), "{lengths:?}");
        assert!(document.sections[0].path[0].ends_with("größe …"));
        assert_eq!(document.sections[0].blocks[0].text.plain, long.trim());
        assert!(document.sections[2].blocks.is_empty());
    }

    #[test]
    fn a_section_is_found_by_heading_path_and_anchor_with_all_below() {
        let mut writer = DocumentWriter::default();
        writer.heading(1, "Top", None);
        writer.heading(2, "Größe", Some("size".into()));
        writer.heading(3, "Units", None);
        writer.heading(2, "After", None);
        let document = writer.finish(None, "f");
        for name in ["Größe", "größe", " #size ", "size", "Top > Größe"] {
            assert_eq!(document.section(name), Some(1..3), "{name}");
        }
        assert_eq!(document.section("none"), None);
        assert_eq!(document.section(""), None);
    }

    #[test]
    fn links_stand_beside_the_text_and_come_back_as_markdown() {
        let mut text = LinkedText::new("  See ");
        text.link("Größe", "size.html#a");
        text.plain.push_str(" and ");
        text.link("that", "gone.html");
        text.plain.push('.');
        let mut writer = DocumentWriter::default();
        writer.block(BlockKind::Paragraph, text);
        let document = writer.finish(None, "f");
        let resolve = |target: &str| (target != "gone.html").then(|| format!("docs/{target}"));
        assert_eq!(document.markdown(&resolve), "See [Größe](docs/size.html#a) and that.");
        assert_eq!(document.sections[0].blocks[0].text.plain, "See Größe and that.");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        let mut writer = DocumentWriter::default();
        writer.code("md", "\n```\nx\n```\n");
        writer.code("", "\n");
        let document = writer.finish(None, "f");
        assert_eq!(document.markdown(&|_| None), "````md\n```\nx\n```\n````");
    }
}
