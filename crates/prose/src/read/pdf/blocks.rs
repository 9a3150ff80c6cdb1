//! Builds blocks from lines: paragraphs, lists, code, and tables.

use super::{
    lines::PdfLine,
    sheet::{PdfLineRole, PdfPage, Usual, bare},
};
use crate::document::{BlockKind, DocumentWriter};

/// The block being built.
#[derive(Debug, Default)]
enum OpenPdfBlock {
    #[default]
    Nothing,
    Paragraph {
        text: String,
        left: f64,
    },
    List {
        items: Vec<(usize, String)>,
        starts: Vec<f64>,
        text_start: f64,
    },
    Code(Vec<PdfLine>),
    Rows(Vec<String>),
}

/// Writes pages as blocks.
pub(super) struct PdfBlockWriter<'u> {
    pub(super) writer: DocumentWriter,
    usual: &'u Usual,
    open: OpenPdfBlock,
    last: Option<PdfLine>,
    /// The page where the open block began, and the current page.
    began: u32,
    page: u32,
    /// The usual right edge of lines on this page.
    right: f64,
}

impl<'u> PdfBlockWriter<'u> {
    pub(super) fn new(usual: &'u Usual) -> Self {
        let (writer, open) = (DocumentWriter::default(), OpenPdfBlock::Nothing);
        Self { writer, usual, open, last: None, began: 0, page: 0, right: 0.0 }
    }

    /// Writes a page. A paragraph may continue from the previous page.
    pub(super) fn page(&mut self, sheet: &PdfPage) {
        self.page = sheet.number;
        if !matches!(self.open, OpenPdfBlock::Paragraph { .. } | OpenPdfBlock::List { .. }) {
            self.end();
        }
        let mut ends: Vec<f64> = sheet.lines.iter().map(|line| line.end).collect();
        ends.sort_by(f64::total_cmp);
        self.right = ends.get(ends.len() * 9 / 10).copied().unwrap_or_default();
        let mut unseen = sheet.unseen.iter().peekable();
        for (at, (line, mark)) in sheet.lines.iter().zip(&sheet.marks).enumerate() {
            while let Some((_, level, title)) = unseen.next_if(|(before, _, _)| *before <= at) {
                self.heading(*level, title);
            }
            match mark {
                PdfLineRole::Skip => {}
                PdfLineRole::Heading(level, title) => self.heading(*level, title),
                PdfLineRole::Text => self.line(line),
            }
        }
        for (_, level, title) in unseen {
            self.heading(*level, title);
        }
    }

    /// Writes the open block.
    pub(super) fn end(&mut self) {
        self.writer.page(self.began);
        match std::mem::take(&mut self.open) {
            OpenPdfBlock::Nothing => {}
            OpenPdfBlock::Paragraph { text, .. } => self.writer.plain(BlockKind::Paragraph, text),
            OpenPdfBlock::List { items, .. } => {
                let lines =
                    items.iter().map(|(level, item)| format!("{}{item}", "   ".repeat(*level)));
                self.writer.plain(BlockKind::List, lines.collect::<Vec<_>>().join("\n"));
            }
            OpenPdfBlock::Code(lines) => self.writer.code("", &code(&lines)),
            OpenPdfBlock::Rows(rows) => match table(&rows) {
                Some(table) => self.writer.plain(BlockKind::Table, table),
                None => self.writer.plain(BlockKind::Paragraph, rows.join("\n")),
            },
        }
        self.began = self.page;
    }

    fn heading(&mut self, level: u8, title: &str) {
        self.end();
        self.writer.page(self.page);
        self.writer.heading(level, title, None);
        self.last = None;
    }

    fn line(&mut self, line: &PdfLine) {
        let breaks = self.breaks(line);
        let mark = item_mark(&line.text);
        let rows = line.cells > 1 && mark.is_none();
        match (&mut self.open, mark) {
            (_, _) if line.mono => match &mut self.open {
                OpenPdfBlock::Code(lines) => lines.push(line.clone()),
                _ => self.start(OpenPdfBlock::Code(vec![line.clone()])),
            },
            (OpenPdfBlock::List { .. }, Some((mark, text))) => self.item(line, &mark, &text),
            (_, Some((mark, text))) if breaks || is_bullet(&mark) => {
                let (items, starts) = (Vec::new(), Vec::new());
                self.start(OpenPdfBlock::List { items, starts, text_start: 0.0 });
                self.item(line, &mark, &text);
            }
            (OpenPdfBlock::Rows(all), _) if rows => all.push(line.text.clone()),
            (_, _) if rows => self.start(OpenPdfBlock::Rows(vec![line.text.clone()])),
            (OpenPdfBlock::List { items, text_start, .. }, _)
                if line.start > *text_start - line.size * 0.7 && !breaks =>
            {
                if let Some((_, item)) = items.last_mut() {
                    join(item, &line.text, self.usual);
                }
            }
            (OpenPdfBlock::Paragraph { text, left }, _) if !breaks => {
                join(text, &line.text, self.usual);
                // Another column or page has its own edge.
                let higher = self.last.as_ref().is_some_and(|last| last.height < line.height);
                *left = if higher { line.start } else { left.min(line.start) };
            }
            _ => {
                self.start(OpenPdfBlock::Paragraph { text: line.text.clone(), left: line.start });
            }
        }
        self.last = Some(line.clone());
    }

    fn start(&mut self, open: OpenPdfBlock) {
        self.end();
        self.open = open;
    }

    fn item(&mut self, line: &PdfLine, mark: &str, text: &str) {
        let OpenPdfBlock::List { items, starts, text_start } = &mut self.open else { return };
        starts.retain(|start| *start < line.start - line.size * 0.3);
        let level = starts.len().min(8);
        starts.push(line.start);
        *text_start = if line.cells > 1 { line.second } else { line.start + line.size * 0.8 };
        let mark = if is_bullet(mark) { "-" } else { mark };
        items.push((level, format!("{mark} {text}")));
    }

    /// Whether a line starts something new.
    fn breaks(&self, line: &PdfLine) -> bool {
        let Some(last) = &self.last else { return true };
        if (last.size - line.size).abs() > line.size * 0.1 || last.mono != line.mono {
            return true;
        }
        let gap = last.height - line.height;
        let text = last.text.trim_end();
        if gap < 0.0 || gap > line.size * 8.0 {
            // Another column or page: a sentence continues across anything between.
            let ends = text.ends_with(['.', '!', '?', ':']);
            let small = line.text.starts_with(|c: char| c.is_lowercase());
            return ends || !small;
        }
        if gap > self.usual.spacing * line.size * 1.3 {
            return true;
        }
        let indented = match &self.open {
            OpenPdfBlock::Paragraph { left, .. } => line.start > left + line.size * 0.8,
            OpenPdfBlock::Nothing => true,
            _ => false,
        };
        let short = last.end < self.right - (self.right - last.start) * 0.2;
        indented || short && text.ends_with(['.', '!', '?', ':'])
    }
}

/// Adds a line to a text, and undoes hyphens at its end.
fn join(text: &mut String, line: &str, usual: &Usual) {
    let line = line.trim();
    text.truncate(text.trim_end().len());
    let small = line.starts_with(|c: char| c.is_lowercase());
    let before = text.strip_suffix(['-', '\u{2010}', '\u{ad}']);
    let worded = before.is_some_and(|before| before.ends_with(char::is_alphabetic));
    if !worded {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
        return;
    }
    let soft = text.ends_with('\u{ad}');
    let head = before.and_then(|text| text.split_whitespace().next_back()).unwrap_or_default();
    let tail = line.split_whitespace().next().unwrap_or_default();
    let (head, tail) = (bare(head).to_lowercase(), bare(tail).to_lowercase());
    let known = |word: &String| usual.words.contains(word);
    let compound = known(&format!("{head}-{tail}")) && !known(&format!("{head}{tail}"));
    if soft || small && !compound {
        text.pop();
    }
    text.push_str(line);
}

const BULLETS: &str = "•◦▪●○■–∗‣·⁃";

fn is_bullet(mark: &str) -> bool {
    mark.chars().all(|c| BULLETS.contains(c) || c == '*' || c == '-')
}

/// The marker and text of an item; `None` if the line is not an item.
fn item_mark(line: &str) -> Option<(String, String)> {
    let (mark, text) = line.trim_start().split_once(char::is_whitespace)?;
    let text = text.trim_start();
    if text.is_empty() {
        return None;
    }
    let mut letters = mark.chars();
    let bullet = letters.next().is_some_and(|c| BULLETS.contains(c)) && letters.next().is_none();
    let number = mark.strip_suffix(['.', ')']).map(|number| number.trim_start_matches('('));
    let number = number.is_some_and(|number| {
        (1..=3).contains(&number.len()) && number.chars().all(|c| c.is_ascii_digit())
            || mark.ends_with(')') && number.len() == 1 && number.chars().all(char::is_alphanumeric)
    });
    (bullet || number).then(|| (mark.to_owned(), text.to_owned()))
}

/// Lines of code, indented as on their page.
fn code(lines: &[PdfLine]) -> String {
    let left = lines.iter().map(|line| line.start).min_by(f64::total_cmp).unwrap_or_default();
    let mut text = String::new();
    let mut above: Option<&PdfLine> = None;
    for line in lines {
        #[expect(clippy::cast_precision_loss, reason = "a line has few letters")]
        let width = (line.end - line.start) / line.text.chars().count().max(1) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number from 0 to 100"
        )]
        let indent = ((line.start - left) / width.max(0.1)).round().clamp(0.0, 100.0) as usize;
        if above.is_some_and(|above| above.height - line.height > line.size * 1.9) {
            text.push('\n');
        }
        text.extend(std::iter::repeat_n(' ', indent));
        text.push_str(line.text.trim());
        text.push('\n');
        above = Some(line);
    }
    text
}

/// Rows as a table, where all of them have the same number of cells.
fn table(rows: &[String]) -> Option<String> {
    let cells = |row: &String| -> Vec<String> {
        let cells = row.split("  ").map(|cell| cell.trim().replace('|', "\\|"));
        cells.filter(|cell| !cell.is_empty()).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let columns = rows.first()?.len();
    if rows.len() < 2 || columns < 2 || rows.iter().any(|row| row.len() != columns) {
        return None;
    }
    let mut lines: Vec<String> =
        rows.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
    lines.insert(1, format!("|{}", " --- |".repeat(columns)));
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_at_line_ends_are_undone_unless_the_word_has_one() {
        let words = ["user-friendly", "configuration"].map(str::to_owned).into();
        let usual = Usual { words, ..Usual::default() };
        let cases = [
            ("the con-", "figuration is", "the configuration is"),
            ("a user-", "friendly error", "a user-friendly error"),
            ("the un-", "known", "the unknown"),
            ("the Anglo-", "Saxon", "the Anglo-Saxon"),
            ("so\u{ad}", "Called", "soCalled"),
            ("give --", "all", "give -- all"),
            ("one", "two", "one two"),
            ("", "two", "two"),
        ];
        for (before, line, want) in cases {
            let mut text = before.to_owned();
            join(&mut text, line, &usual);
            assert_eq!(text, want);
        }
    }

    #[test]
    fn items_are_detected_by_their_marker() {
        let cases = [
            ("• one", Some("•")),
            ("12. twelve", Some("12.")),
            ("(3) three", Some("(3)")),
            ("a) first", Some("a)")),
            ("1996. A year", None),
            ("a. b", None),
            ("•", None),
            ("word word", None),
            ("", None),
        ];
        for (line, want) in cases {
            assert_eq!(item_mark(line).as_ref().map(|(mark, _)| mark.as_str()), want, "{line}");
        }
    }
}
