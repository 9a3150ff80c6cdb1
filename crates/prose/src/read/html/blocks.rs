//! Writes the blocks of a page: paragraphs, code and tables, alone, in notes and in lists, each under its section.

use super::{line::append, notes};
use crate::document::{BlockKind, DocumentWriter, LinkedText};

/// Maximum indentation of nested lists.
const MAX_LIST_DEPTH: usize = 8;

/// A section that may continue after its nested content.
#[derive(Debug, Clone, Default)]
struct OpenHtmlSection {
    level: u8,
    heading: String,
    anchor: Option<String>,
}

#[derive(Debug)]
struct OpenAdmonition {
    kind: &'static str,
    title: String,
    /// Whether nothing of it is written yet.
    is_fresh: bool,
}

/// Writes blocks into sections, notes and lists.
#[derive(Debug, Default)]
pub(super) struct HtmlBlockWriter {
    out: DocumentWriter,
    /// The next numbers of the open lists; `None` for unnumbered ones.
    lists: Vec<Option<u32>>,
    /// The outermost list.
    list: LinkedText,
    /// Whether an item's marker waits for its text.
    is_marked: bool,
    /// Whether the term already has a definition.
    is_defined: bool,
    /// Whether a term was written last.
    is_term: bool,
    notes: Vec<OpenAdmonition>,
    /// Signatures without a description.
    items: Vec<String>,
    /// The open section.
    place: OpenHtmlSection,
    /// Around each list of definitions that is open.
    around: Vec<OpenHtmlSection>,
    /// The section that continues after definitions.
    goes_on: Option<OpenHtmlSection>,
}

impl HtmlBlockWriter {
    pub(super) fn finish(mut self) -> DocumentWriter {
        self.end_list();
        self.flush_items();
        self.out
    }

    pub(super) const fn is_in_list(&self) -> bool {
        !self.lists.is_empty()
    }

    pub(super) const fn is_in_note(&self) -> bool {
        !self.notes.is_empty()
    }

    /// Starts a section.
    pub(super) fn heading(&mut self, level: u8, heading: &str, anchor: Option<String>) {
        if heading.is_empty() {
            return;
        }
        self.end_list();
        self.flush_items();
        self.goes_on = None;
        self.out.heading(level, heading, anchor.clone());
        self.place = OpenHtmlSection { level, heading: heading.to_owned(), anchor };
    }

    /// Adds running text.
    pub(super) fn paragraph(&mut self, text: LinkedText) {
        if text.plain.trim().is_empty() {
            return;
        }
        let text = match self.label() {
            Some(label) => {
                let mut labelled = LinkedText::new(label + ": ");
                append(&mut labelled, &text, "");
                labelled
            }
            None => text,
        };
        if self.is_in_list() {
            return self.put_in_list(&text, false);
        }
        let kind = if self.notes.is_empty() { BlockKind::Paragraph } else { BlockKind::Quote };
        self.block(kind, text);
    }

    /// Adds code.
    pub(super) fn code(&mut self, language: &str, code: &str) {
        let code = code.trim_matches('\n').trim_end();
        if code.is_empty() {
            return;
        }
        self.lead();
        if !self.is_in_list() {
            self.before_block();
            return self.out.code(language, code);
        }
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        self.put_in_list(&LinkedText::new(format!("{fence}{language}\n{code}\n{fence}")), true);
    }

    /// Adds a table.
    pub(super) fn table(&mut self, rows: LinkedText) {
        self.lead();
        if self.is_in_list() {
            self.put_in_list(&rows, true);
        } else {
            self.block(BlockKind::Table, rows);
        }
    }

    /// Adds a table of contents.
    pub(super) fn contents(&mut self, items: LinkedText) {
        self.block(BlockKind::Contents, items);
    }

    /// Adds a name without a description. Several become a list.
    pub(super) fn item(&mut self, signature: String) {
        if !signature.is_empty() {
            self.items.push(signature);
        }
    }

    fn flush_items(&mut self) {
        let items = std::mem::take(&mut self.items);
        if !items.is_empty() {
            let lines: Vec<String> = items.iter().map(|item| format!("- `{item}`")).collect();
            self.block(BlockKind::List, LinkedText::new(lines.join("\n")));
        }
    }

    fn block(&mut self, kind: BlockKind, text: LinkedText) {
        if !text.plain.trim().is_empty() {
            self.before_block();
            self.out.block(kind, text);
        }
    }

    /// Returns to the section around definitions, since the next content is not part of the last one.
    fn before_block(&mut self) {
        if !self.items.is_empty() {
            self.flush_items();
        }
        if let Some(OpenHtmlSection { level, heading, anchor }) = self.goes_on.take() {
            let again = if heading.is_empty() {
                "More".to_owned()
            } else {
                format!("{heading} (continued)")
            };
            self.out.heading(below(level), &again, anchor);
        }
    }

    /// Starts a list; a numbered one at a number.
    pub(super) fn open_list(&mut self, first: Option<u32>) {
        if self.lists.is_empty() {
            self.lead();
        }
        self.lists.push(first);
    }

    pub(super) fn close_list(&mut self) {
        self.lists.pop();
        if self.lists.is_empty() {
            self.end_list();
        }
    }

    fn end_list(&mut self) {
        self.is_marked = false;
        let list = std::mem::take(&mut self.list);
        self.block(BlockKind::List, list);
    }

    /// Writes the marker of an item.
    pub(super) fn mark(&mut self) {
        // A pending marker belongs to an item that begins with a list.
        if self.is_marked && self.list.plain.ends_with(": ") {
            self.list.plain.truncate(self.list.plain.len() - 2);
        }
        if !self.list.plain.is_empty() && !self.list.plain.ends_with('\n') {
            self.list.plain.push('\n');
        }
        self.is_defined = false;
        self.is_term = false;
        let indent = self.indent(self.lists.len().saturating_sub(1));
        self.list.plain.push_str(&indent);
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.list.plain.push_str(&number.to_string());
                self.list.plain.push_str(". ");
                *number = number.saturating_add(1);
            }
            _ => self.list.plain.push_str("- "),
        }
        self.is_marked = true;
    }

    /// The indentation at a nesting depth of lists.
    fn indent(&self, depth: usize) -> String {
        let outer = self.lists.iter().take(depth.min(MAX_LIST_DEPTH));
        outer.map(|number| if number.is_some() { "   " } else { "  " }).collect()
    }

    /// A term; several of them may have one definition.
    pub(super) fn term(&mut self) {
        if self.is_term && !self.is_marked && !self.list.plain.ends_with('\n') {
            self.list.plain.push_str(", ");
            self.is_marked = true;
        } else {
            self.mark();
        }
        self.is_term = true;
    }

    /// The definition of the term before it.
    pub(super) fn define(&mut self) {
        self.is_term = false;
        let is_more = std::mem::replace(&mut self.is_defined, true);
        if self.list.plain.is_empty() {
            self.mark();
        } else if !self.is_marked && !is_more {
            let colon = if self.list.plain.ends_with([':', '?', '!']) { " " } else { ": " };
            self.list.plain.push_str(colon);
            self.is_marked = true;
        }
    }

    /// Adds to the open item; anything but running text goes on separate lines.
    fn put_in_list(&mut self, text: &LinkedText, on_lines: bool) {
        let indent = self.indent(self.lists.len());
        let waits = std::mem::take(&mut self.is_marked);
        if !waits || on_lines && !self.list.plain.trim_end().ends_with(['-', '.']) {
            self.list.plain.truncate(self.list.plain.trim_end_matches(' ').len());
            if !self.list.plain.is_empty() && !self.list.plain.ends_with('\n') {
                self.list.plain.push('\n');
            }
            self.list.plain.push_str(&indent);
        }
        append(&mut self.list, text, &indent);
    }

    pub(super) fn open_note(&mut self, kind: &'static str) {
        self.notes.push(OpenAdmonition { kind, title: String::new(), is_fresh: true });
    }

    /// A quotation has no label.
    pub(super) fn open_quote(&mut self) {
        self.notes.push(OpenAdmonition { kind: "", title: String::new(), is_fresh: false });
    }

    pub(super) fn close_note(&mut self) {
        self.notes.pop();
    }

    /// Whether a title may follow: the note has none, and nothing of it is written.
    pub(super) fn awaits_title(&self) -> bool {
        self.notes.last().is_some_and(|note| note.is_fresh && note.title.is_empty())
    }

    pub(super) fn title(&mut self, title: String) {
        if let Some(note) = self.notes.last_mut() {
            note.title = title;
        }
    }

    /// The label of the open note, once.
    fn label(&mut self) -> Option<String> {
        let note = self.notes.last_mut()?;
        let label = notes::label(note.kind, &note.title);
        (std::mem::take(&mut note.is_fresh) && !label.is_empty()).then_some(label)
    }

    /// Writes the label of a note that does not begin with running text.
    fn lead(&mut self) {
        if let Some(label) = self.label() {
            let text = LinkedText::new(label + ":");
            if self.is_in_list() {
                self.put_in_list(&text, false);
            } else {
                self.block(BlockKind::Quote, text);
            }
        }
    }

    pub(super) fn open_definitions(&mut self) {
        self.around.push(self.place.clone());
    }

    pub(super) const fn is_in_definitions(&self) -> bool {
        !self.around.is_empty()
    }

    /// Starts the section of a definition, one level below the section of its list.
    pub(super) fn definition(&mut self, heading: &str, anchor: Option<String>) {
        let level = self.around.last().map_or(1, |place| below(place.level));
        self.heading(level, heading, anchor);
    }

    pub(super) fn close_definitions(&mut self) {
        self.flush_items();
        let Some(place) = self.around.pop() else { return };
        self.place = place.clone();
        self.goes_on = Some(place);
    }
}

fn below(level: u8) -> u8 {
    level.saturating_add(1).clamp(1, 6)
}
