//! A document while it is parsed: all formats write their findings here, so the size limits apply in one place.

use super::{anchors::Slugs, commands, prose::ProseFingerprint};
use crate::repo::facts::{
    CodeBlock, DocumentFacts, DocumentFormat, DocumentHeading, DocumentLink, Mention, anchor_key,
};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Shingles kept per document.
const MAX_SHINGLES: usize = 256;
/// Shingles kept per HTML page: there may be tens of thousands of pages.
const MAX_HTML_SHINGLES: usize = 64;
/// Longer targets are treated as data.
const MAX_TARGET_BYTES: usize = 500;
/// Longer inline code is not a mention.
const MAX_MENTION_BYTES: usize = 120;
/// Longer headings are truncated.
const MAX_HEADING_CHARS: usize = 200;

/// Facts of a document read so far.
#[derive(Debug)]
pub(super) struct DocumentFactsBuilder {
    facts: DocumentFacts,
    slugs: Slugs,
    prose: ProseFingerprint,
    seen: HashSet<u64>,
    /// The open heading: level, line and text.
    heading: Option<(u8, u32, String)>,
    /// Open inline code: line and text.
    code: Option<(u32, String)>,
}

impl DocumentFactsBuilder {
    /// Creates an empty draft.
    pub(super) fn new(path: &str, format: DocumentFormat) -> Self {
        let facts = DocumentFacts {
            path: path.into(),
            format,
            title: None,
            headings: Vec::new(),
            anchors: Vec::new(),
            links: Vec::new(),
            mentions: Vec::new(),
            code_blocks: Vec::new(),
            words: 0,
            shingles: Vec::new(),
        };
        let (slugs, seen) = (Slugs::default(), HashSet::new());
        Self {
            facts,
            slugs,
            prose: ProseFingerprint::with_limit(kept_runs(format)),
            seen,
            heading: None,
            code: None,
        }
    }

    /// Adds running text, continuing the previous piece.
    pub(super) fn text(&mut self, text: &str) {
        self.prose.take(text);
        // Unclosed inline code must not swallow the document.
        if let Some((_, _, heading)) =
            self.heading.as_mut().filter(|(_, _, heading)| heading.len() < 1_000)
        {
            heading.push_str(text);
        }
        if let Some((_, code)) =
            self.code.as_mut().filter(|(_, code)| code.len() <= MAX_MENTION_BYTES)
        {
            code.push_str(text);
        }
    }

    /// Whether text belongs to a heading.
    pub(super) fn has_open_heading(&self) -> bool {
        self.heading.is_some()
    }

    /// Ends a word at the end of a line, paragraph or cell.
    pub(super) fn gap(&mut self) {
        self.prose.gap();
        if let Some((_, _, heading)) = &mut self.heading
            && !heading.is_empty()
            && !heading.ends_with(' ')
        {
            heading.push(' ');
        }
    }

    /// Opens a heading; text is added to it until it is closed.
    pub(super) fn open_heading(&mut self, level: u8, line: u32) {
        self.gap();
        self.heading = Some((level, line, String::new()));
    }

    /// Closes the open heading; `listed` if it belongs to the document and not to a quotation.
    pub(super) fn close_heading(&mut self, listed: bool) {
        self.prose.gap();
        if let Some((level, line, text)) = self.heading.take() {
            self.name_heading(&text);
            if listed {
                self.list_heading(level, &text, line);
            }
        }
    }

    /// Adds a complete heading.
    pub(super) fn heading(&mut self, level: u8, text: &str, line: u32) {
        self.gap();
        self.prose.take(text);
        self.prose.gap();
        self.name_heading(text);
        self.list_heading(level, text, line);
    }

    /// Adds the slugs of a heading.
    pub(super) fn name_heading(&mut self, text: &str) {
        let anchors = &mut self.facts.anchors;
        match self.facts.format {
            DocumentFormat::Markdown => self.slugs.markdown(text, anchors),
            DocumentFormat::Restructured => self.slugs.restructured(text, anchors),
            DocumentFormat::AsciiDoc => self.slugs.asciidoc(text, anchors),
            // HTML pages have only explicit anchors.
            DocumentFormat::Html | DocumentFormat::Text => {}
        }
    }

    fn list_heading(&mut self, level: u8, text: &str, line: u32) {
        let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            return;
        }
        cut(&mut words, MAX_HEADING_CHARS);
        self.facts.headings.push(DocumentHeading { level, text: words.into(), line });
    }

    /// Sets the document title; the first one wins.
    pub(super) fn title(&mut self, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.facts.title.is_none() && !title.is_empty() {
            self.facts.title = Some(title.into());
        }
    }

    /// Adds an anchor.
    pub(super) fn anchor(&mut self, name: &str) {
        if !name.is_empty() {
            self.facts.anchors.push(anchor_key(name));
        }
    }

    /// Adds a link, or an embedded resource if `image`.
    pub(super) fn link(&mut self, target: &str, line: u32, image: bool) {
        let target = target.trim();
        let is_data = target.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"));
        if target.is_empty() || target.len() > MAX_TARGET_BYTES || is_data {
            return;
        }
        if self.is_new(&(0_u8, target, image)) {
            self.facts.links.push(DocumentLink { line, target: target.into(), image });
        }
    }

    /// Records that another file or component generates part of this document.
    pub(super) fn include(&mut self, what: &str, line: u32) {
        self.link(&format!("include:{what}"), line, false);
    }

    /// Adds a link by document name: a table of contents entry, a `:doc:`.
    pub(super) fn page(&mut self, name: &str, line: u32) {
        if !name.trim().is_empty() {
            self.link(&format!("doc:{}", name.trim()), line, false);
        }
    }

    /// Opens inline code.
    pub(super) fn open_code(&mut self, line: u32) {
        self.code = Some((line, String::new()));
    }

    /// Closes inline code.
    pub(super) fn close_code(&mut self) {
        if let Some((line, code)) = self.code.take() {
            self.mention(&code, line, false);
        }
    }

    /// Adds a code mention.
    pub(super) fn mention(&mut self, text: &str, line: u32, command: bool) {
        let text = text.trim();
        let longest = if command { MAX_TARGET_BYTES } else { MAX_MENTION_BYTES };
        if text.is_empty() || text.len() > longest {
            return;
        }
        if self.is_new(&(1_u8, text, command)) {
            self.facts.mentions.push(Mention { line, text: text.into(), command });
        }
    }

    /// Adds a code block; `first` is the line of its first line of code.
    pub(super) fn code_block(&mut self, line: u32, language: &str, block: &str, first: u32) {
        let language = language_of(language);
        if commands::may_hold(language) {
            for (number, command) in commands::of(language, block) {
                self.mention(&command, first.saturating_add(number), true);
            }
        }
        self.facts.code_blocks.push(CodeBlock { line, language: language.map(Into::into) });
    }

    /// Drops the links, whose targets cannot be determined from the text.
    pub(super) fn forget_links(&mut self) {
        self.facts.links = Vec::new();
    }

    /// Drops the details of a generated page: they have to be fixed in its source.
    pub(super) fn forget_details(&mut self) {
        self.facts.mentions = Vec::new();
        self.facts.code_blocks = Vec::new();
        self.facts.headings.retain(|heading| heading.level <= 2);
        self.prose.forget_runs();
    }

    /// Returns the document's facts.
    pub(super) fn finish(mut self) -> DocumentFacts {
        let first = self.facts.headings.first().map(|heading| heading.text.to_string());
        self.title(&first.unwrap_or_default());
        if let Some(title) = &mut self.facts.title {
            let mut words = title.to_string();
            cut(&mut words, MAX_HEADING_CHARS);
            *title = words.into();
        }
        (self.facts.words, self.facts.shingles) = self.prose.finish();
        self.facts.anchors.sort_unstable();
        self.facts.anchors.dedup();
        self.facts.anchors.shrink_to_fit();
        self.facts.headings.shrink_to_fit();
        self.facts.links.shrink_to_fit();
        self.facts.mentions.shrink_to_fit();
        self.facts.shingles.shrink_to_fit();
        self.facts
    }

    fn is_new(&mut self, thing: &impl Hash) -> bool {
        let mut hasher = DefaultHasher::new();
        thing.hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }
}

/// Number of shingles kept per document: a document with this many may have had more.
pub(in crate::repo) fn kept_runs(format: DocumentFormat) -> usize {
    if format == DocumentFormat::Html { MAX_HTML_SHINGLES } else { MAX_SHINGLES }
}

/// Returns the language in a code block's header: `rust,ignore`, `{.python}`, `js{1,3}`, `js:title`.
pub(super) fn language_of(info: &str) -> Option<&str> {
    let info = info.trim().trim_start_matches(['{', '.']);
    let end = info.find([' ', '\t', ',', '{', '}', ':', ';', '[']).unwrap_or(info.len());
    info.get(..end).filter(|language| !language.is_empty())
}

fn cut(text: &mut String, longest: usize) {
    if let Some((at, _)) = text.char_indices().nth(longest) {
        text.truncate(at);
    }
}

/// Converts byte offsets to line numbers. Increasing offsets cost each byte once.
#[derive(Debug)]
pub(super) struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    /// Creates a counter for a text.
    pub(super) fn of(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    /// Returns the line of an offset, from 1.
    pub(super) fn at(&mut self, place: usize) -> u32 {
        let (from, to) = (self.at.min(place), self.at.max(place));
        let between = self.text.get(from..to).unwrap_or_default();
        let breaks = u32::try_from(memchr::memchr_iter(b'\n', between).count()).unwrap_or(u32::MAX);
        self.line = if place < self.at {
            self.line.saturating_sub(breaks)
        } else {
            self.line.saturating_add(breaks)
        };
        self.at = place;
        self.line
    }
}
