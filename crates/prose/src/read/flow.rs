//! Builds blocks from the paragraphs of an office document: items become lists, lines of code become code.

use crate::document::{BlockKind, DocumentWriter, LinkedText, ProseDocument, TextLink, squeeze};

/// Maximum list depth; deeper items are written at this depth.
const MAX_LIST_DEPTH: usize = 8;

/// The document being built.
#[derive(Default)]
pub(super) struct Flow {
    writer: DocumentWriter,
    list: LinkedText,
    list_id: String,
    numbers: Vec<usize>,
    code: String,
}

impl Flow {
    /// Starts a section.
    pub(super) fn heading(&mut self, level: u8, text: &str, anchor: Option<String>) {
        self.end();
        self.writer.heading(level, text, anchor);
    }

    /// Adds a paragraph or a quotation.
    pub(super) fn block(&mut self, kind: BlockKind, text: LinkedText) {
        if !text.plain.trim().is_empty() {
            self.end();
            self.writer.block(kind, text);
        }
    }

    /// Adds lines to the code that is open.
    pub(super) fn code(&mut self, lines: &str) {
        self.end_list();
        self.code.push_str(lines);
        self.code.push('\n');
    }

    /// Adds an item to the list that is open, or to a new one where the outermost list is another. Levels count from 0.
    pub(super) fn item(&mut self, list: &str, level: usize, numbered: bool, text: &LinkedText) {
        if text.plain.trim().is_empty() {
            return;
        }
        self.end_code();
        if level == 0 && self.list_id != list {
            self.end_list();
            list.clone_into(&mut self.list_id);
        }
        let level = level.min(MAX_LIST_DEPTH);
        self.numbers.truncate(level + 1);
        self.numbers.resize(level + 1, 0);
        let number = self.numbers.last().copied().unwrap_or_default() + 1;
        if let Some(last) = self.numbers.last_mut() {
            *last = number;
        }
        if !self.list.plain.is_empty() {
            self.list.plain.push('\n');
        }
        self.list.plain.push_str(&"   ".repeat(level));
        let mark = if numbered { format!("{number}. ") } else { "- ".to_owned() };
        self.list.plain.push_str(&mark);
        append(&mut self.list, &one_line(text));
    }

    /// Adds a table. Its first row is its head.
    pub(super) fn table(&mut self, rows: &[Vec<LinkedText>]) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let blank = rows.iter().flatten().all(|cell| cell.plain.trim().is_empty());
        if columns == 0 || blank {
            return;
        }
        self.end();
        let mut table = LinkedText::default();
        for (n, row) in rows.iter().enumerate() {
            table.plain.push('|');
            for column in 0..columns {
                table.plain.push(' ');
                if let Some(cell) = row.get(column) {
                    append(&mut table, &cell_text(cell));
                }
                table.plain.push_str(" |");
            }
            table.plain.push('\n');
            if n == 0 {
                table.plain.push('|');
                table.plain.push_str(&" --- |".repeat(columns));
                table.plain.push('\n');
            }
        }
        self.writer.block(BlockKind::Table, table);
    }

    /// The document.
    pub(super) fn finish(mut self, title: Option<String>, path: &str) -> ProseDocument {
        self.end();
        self.writer.finish(title, path)
    }

    fn end(&mut self) {
        self.end_list();
        self.end_code();
    }

    fn end_list(&mut self) {
        self.numbers.clear();
        let list = std::mem::take(&mut self.list);
        self.writer.block(BlockKind::List, list);
    }

    fn end_code(&mut self) {
        let code = std::mem::take(&mut self.code);
        self.writer.code("", &code);
    }
}

/// Adds a text with its links to another.
pub(super) fn append(to: &mut LinkedText, text: &LinkedText) {
    let start = to.plain.len();
    to.plain.push_str(&text.plain);
    let links = text.links.iter().map(|link| TextLink {
        label: start + link.label.start..start + link.label.end,
        target: link.target.clone(),
    });
    to.links.extend(links);
}

/// Adds a note.
pub(super) fn bracketed(to: &mut LinkedText, note: &str) {
    for part in [" [", note, "]"] {
        to.plain.push_str(part);
    }
}

/// A text on one line.
pub(super) fn one_line(text: &LinkedText) -> LinkedText {
    map_text(text, &squeeze)
}

fn cell_text(text: &LinkedText) -> LinkedText {
    map_text(text, &|part| squeeze(part).replace('|', "\\|"))
}

/// Maps the parts of a text, link labels and the text between them. Spaces between parts are kept.
fn map_text(text: &LinkedText, change: &dyn Fn(&str) -> String) -> LinkedText {
    let mut to = LinkedText::default();
    let mut add = |part: &str, target: Option<&str>| {
        let spaced = |c: char| c.is_whitespace();
        if part.starts_with(spaced) && !to.plain.is_empty() && !to.plain.ends_with(' ') {
            to.plain.push(' ');
        }
        let new = change(part);
        match target {
            Some(target) => to.link(&new, target),
            None => to.plain.push_str(&new),
        }
        if part.ends_with(spaced) && !new.is_empty() {
            to.plain.push(' ');
        }
    };
    let mut from = 0;
    for link in &text.links {
        add(text.plain.get(from..link.label.start).unwrap_or_default(), None);
        add(text.plain.get(link.label.clone()).unwrap_or_default(), Some(&link.target));
        from = link.label.end;
    }
    add(text.plain.get(from..).unwrap_or_default(), None);
    to.plain.truncate(to.plain.trim_end().len());
    let end = to.plain.len();
    to.links.retain(|link| link.label.end <= end);
    to
}
