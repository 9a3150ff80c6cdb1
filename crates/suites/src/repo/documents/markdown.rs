//! Markdown and MDX, with the HTML inside them.

use super::{
    draft::{DocumentFactsBuilder, LineCounter},
    html::HtmlFactsScanner,
    places::ends_in,
    restructured::{self, DirectiveBody},
};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::{borrow::Cow, ops::Range};

/// Longer braces are not attributes.
const MAX_ATTRIBUTE_BYTES: usize = 300;

/// Parses a document; with `modules`, `import` and `export` lines are not text, as in MDX.
pub(super) fn read(draft: &mut DocumentFactsBuilder, text: &str, modules: bool) {
    let text = if modules { without_modules(draft, text) } else { Cow::Borrowed(text) };
    find_marks(draft, &text);
    let (front, body) = split_front(&text);
    if !front.is_empty() {
        draft.title(title_in(front));
        draft.link("site:", 1, false);
    }
    let before = text.len() - body.len();
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_GFM;
    let mut reader = MarkdownFactsReader {
        draft,
        text: &text,
        lines: LineCounter::of(&text),
        scanner: HtmlFactsScanner::inside_markdown(),
        nested: 0,
        inside: MarkdownContext::Text,
        picture: 0,
        pictured: false,
        heading: String::new(),
    };
    for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
        reader.take(event, before + range.start..before + range.end);
    }
    reader.draft.close_heading(true);
}

/// What the next text belongs to.
enum MarkdownContext {
    Text,
    /// Everything up to its end was read at its start.
    Html,
    Code {
        start: usize,
        info: String,
        fenced: bool,
        block: String,
    },
}

struct MarkdownFactsReader<'d, 'a> {
    draft: &'d mut DocumentFactsBuilder,
    text: &'a str,
    lines: LineCounter<'a>,
    scanner: HtmlFactsScanner,
    /// Open quotations, lists and notes: a heading in them does not belong to the document outline.
    nested: u32,
    inside: MarkdownContext,
    /// Open images: their text is not displayed.
    picture: u32,
    /// Whether the open heading contains an image.
    pictured: bool,
    /// The open heading including image alt text, which some renderers use in the slug.
    heading: String,
}

impl MarkdownFactsReader<'_, '_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                let line = self.lines.at(range.start);
                self.draft.mention(&code, line, false);
                self.text(&code);
            }
            Event::InlineHtml(html) => {
                self.scanner.take(self.draft, &html, range.start, &mut self.lines);
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule | Event::TaskListMarker(_) => {
                self.draft.gap();
            }
            Event::FootnoteReference(name) => {
                self.draft.anchor(&format!("fnref-{name}"));
                self.draft.anchor(&format!("fnref:{name}"));
            }
            Event::Html(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, id, .. } => {
                self.draft.close_heading(true);
                let line = self.lines.at(range.start);
                self.draft.open_heading(level as u8, line);
                (self.pictured, self.heading) = (false, String::new());
                self.draft.anchor(id.as_deref().unwrap_or_default());
            }
            // An autolinked email address has no scheme.
            Tag::Link { link_type: LinkType::Email, .. } => {}
            Tag::Link { dest_url, .. } => {
                let line = self.lines.at(range.start);
                self.draft.link(&dest_url, line, false);
            }
            Tag::Image { dest_url, .. } => {
                let line = self.lines.at(range.start);
                self.draft.link(&dest_url, line, true);
                self.picture += 1;
                self.pictured = true;
            }
            Tag::CodeBlock(kind) => {
                self.draft.gap();
                let (info, fenced) = match kind {
                    CodeBlockKind::Fenced(info) => (info.into_string(), true),
                    CodeBlockKind::Indented => (String::new(), false),
                };
                self.inside = MarkdownContext::Code {
                    start: range.start,
                    info,
                    fenced,
                    block: String::new(),
                };
            }
            Tag::HtmlBlock => {
                self.inside = MarkdownContext::Html;
                let html = self.text.get(range.clone()).unwrap_or_default();
                self.scanner.take(self.draft, html, range.start, &mut self.lines);
            }
            Tag::BlockQuote(_) | Tag::List(_) => self.nested += 1,
            Tag::FootnoteDefinition(name) => {
                self.nested += 1;
                self.draft.anchor(&format!("fn-{name}"));
                self.draft.anchor(&format!("fn:{name}"));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                if self.pictured {
                    self.draft.name_heading(self.heading.trim());
                }
                self.draft.close_heading(self.nested == 0);
            }
            TagEnd::Image => self.picture = self.picture.saturating_sub(1),
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::FootnoteDefinition => {
                self.nested = self.nested.saturating_sub(1);
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                let inside = std::mem::replace(&mut self.inside, MarkdownContext::Text);
                if let MarkdownContext::Code { start, info, fenced, block } = inside {
                    self.code_block(start, &info, &block, fenced);
                }
            }
            TagEnd::Link | TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => return,
            _ => {}
        }
        self.draft.gap();
    }

    fn text(&mut self, text: &str) {
        match &mut self.inside {
            MarkdownContext::Html => {}
            MarkdownContext::Code { block, .. } => block.push_str(text),
            MarkdownContext::Text => {
                if self.draft.has_open_heading() {
                    self.heading.push_str(text);
                }
                if self.picture == 0 {
                    self.draft.text(text);
                }
            }
        }
    }

    /// A code block, or a `MyST` directive, which looks like one.
    fn code_block(&mut self, start: usize, info: &str, block: &str, fenced: bool) {
        let line = self.lines.at(start);
        let first = line + u32::from(fenced);
        if info.trim() == "mdx-code-block" {
            // Docusaurus removes the fence: its contents are part of the page.
            return self.scanner.take(self.draft, block, start + info.len() + 4, &mut self.lines);
        }
        if let Some((name, argument)) =
            info.trim().strip_prefix('{').and_then(|info| info.split_once('}'))
            && !name.starts_with(['.', '#'])
            && !name.contains([' ', '='])
        {
            match restructured::directive(self.draft, name, argument.trim(), block, first) {
                DirectiveBody::Read => return,
                DirectiveBody::Prose => {
                    self.draft.text(block);
                    return self.draft.gap();
                }
                DirectiveBody::Unknown => {}
            }
        }
        self.draft.code_block(line, info, block, first);
    }
}

/// Splits front matter (YAML or TOML) from the text. The parser would accept two rules for it anywhere.
fn split_front(text: &str) -> (&str, &str) {
    for mark in ["---", "+++"] {
        let Some(after) = text.strip_prefix(mark).filter(|after| after.starts_with(['\n', '\r']))
        else {
            continue;
        };
        let mut end = 0;
        for line in after.split_inclusive('\n') {
            if line.trim_end() == mark {
                let (front, rest) = after.split_at_checked(end).unwrap_or((after, ""));
                return (front, rest.strip_prefix(mark).unwrap_or(rest));
            }
            end += line.len();
        }
    }
    ("", text)
}

/// Returns the title in the front matter (YAML or TOML).
fn title_in(front: &str) -> &str {
    let after = |line| {
        let after = str::strip_prefix(line, "title")?.trim_start();
        after.strip_prefix([':', '=']).map(str::trim)
    };
    front.lines().find_map(after).unwrap_or_default().trim_matches(['"', '\''])
}

/// Blanks out `import` and `export` lines without moving the rest.
fn without_modules<'a>(draft: &mut DocumentFactsBuilder, text: &'a str) -> Cow<'a, str> {
    let mut kept = String::new();
    let (mut blank, mut inside, mut fenced) = (true, false, false);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let trimmed = line.trim();
        fenced ^= trimmed.starts_with("```");
        let starts =
            ["import ", "export ", "import{", "export{"].iter().any(|word| line.starts_with(word));
        inside = !trimmed.is_empty() && !fenced && (inside || (blank && starts));
        if inside {
            import(draft, trimmed, number);
            kept.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        } else {
            kept.push_str(line);
        }
        blank = trimmed.is_empty();
    }
    Cow::Owned(kept)
}

/// A document included by an import.
fn import(draft: &mut DocumentFactsBuilder, line: &str, number: u32) {
    let quoted = line.trim_end_matches(';').trim_end().strip_suffix(['"', '\'']);
    let path = quoted.and_then(|line| line.rsplit(['"', '\'']).next()).unwrap_or_default();
    if ends_in(path, &["md", "mdx"]) {
        draft.include(path, number);
    }
}

/// Finds extensions to Markdown: anchors in braces, and parts generated by other tools.
fn find_marks(draft: &mut DocumentFactsBuilder, text: &str) {
    let mut lines = LineCounter::of(text);
    for at in memchr::memchr_iter(b'{', text.as_bytes()) {
        let after = text.as_bytes().get(at + 1..).unwrap_or_default();
        let near = after.get(..MAX_ATTRIBUTE_BYTES).unwrap_or(after);
        let Some(length) = memchr::memchr2(b'}', b'\n', near) else { continue };
        let mark = text.get(at + 1..at + 1 + length).unwrap_or_default();
        match mark.as_bytes() {
            [b'#' | b':' | b' ' | b'/', ..] => {
                for word in mark.split_whitespace() {
                    let id = word.trim_start_matches(':').strip_prefix('#');
                    let named = || word.strip_prefix("id=").map(|id| id.trim_matches(['"', '\'']));
                    draft.anchor(id.or_else(named).unwrap_or_default());
                }
            }
            [b'%' | b'!', ..] | [b'{', b'<' | b'%' | b'#', ..] => {
                draft.include(file_in(mark), lines.at(at));
            }
            _ => {}
        }
    }
    let mut fenced = false;
    let mut all = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = all.next() {
        let line = line.trim_start();
        fenced ^= line.starts_with("```") || line.starts_with("~~~");
        let has_options = all.peek().is_some_and(|(_, next)| next.starts_with("    "));
        if let Some(label) =
            line.strip_prefix('(').and_then(|line| line.trim_end().strip_suffix(")="))
        {
            draft.anchor(label);
        } else if let Some((_, path)) = line.split_once("--8<--") {
            draft.include(path.trim().trim_matches(['"', '\'']), number);
        } else if let Some(module) =
            line.strip_prefix("::: ").filter(|rest| has_options || is_module(rest))
        {
            draft.include(module, number);
        } else if let Some(path) = line.strip_prefix("<<< ") {
            draft.include(path, number);
        } else if let Some(name) = line.strip_prefix('<').and_then(component).filter(|_| !fenced) {
            // The parser does not treat a tag with braces in its attributes as HTML.
            draft.include(name, number);
        }
    }
}

/// Returns the name of the component that a tag opens.
fn component(tag: &str) -> Option<&str> {
    let (name, _) = tag.split_once([' ', '>', '/']).unwrap_or((tag, ""));
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.contains(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    is_name.then_some(name)
}

/// Whether a directive is a module's documentation: `::: tip` opens a box, `::: package.module` is a module.
fn is_module(rest: &str) -> bool {
    rest.trim().contains('.') && !rest.trim().contains(char::is_whitespace)
}

/// Returns the word of a directive that looks like a file.
fn file_in(mark: &str) -> &str {
    let mut words = mark.split([' ', '"', '\'', '=', '<', '>', '{', '%', '!']);
    words.find(|word| word.contains('.') && word.len() > 2).unwrap_or("a template")
}
