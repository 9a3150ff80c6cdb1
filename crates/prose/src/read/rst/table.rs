//! Tables: grid, simple, and those of the table directives.

use super::{
    RstReader,
    compose::{RstNode, append, in_cell},
    lines::{indent, is_blank},
};
use crate::document::{BlockKind, LinkedText};

/// Rows of cells, and how many of them are the head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) head: usize,
    pub(super) rows: Vec<Vec<String>>,
}

impl RstReader<'_> {
    /// Rows as a Markdown table; several rows of a head are one.
    pub(super) fn table(&mut self, table: &Rows) -> RstNode {
        let width = table.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut text = LinkedText::default();
        let head = table.rows.get(..table.head).unwrap_or_default();
        let titles: Vec<String> = (0..width)
            .map(|at| {
                let cells = head.iter().filter_map(|row| row.get(at)).map(|cell| cell.trim());
                cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" ")
            })
            .collect();
        self.row(&titles, width, &mut text);
        text.plain.push('|');
        text.plain.push_str(&" --- |".repeat(width));
        for row in table.rows.get(table.head..).unwrap_or_default() {
            text.plain.push('\n');
            self.row(row, width, &mut text);
        }
        RstNode::Block(BlockKind::Table, text)
    }

    fn row(&mut self, cells: &[String], width: usize, text: &mut LinkedText) {
        let first = text.plain.is_empty();
        text.plain.push('|');
        for at in 0..width {
            let cell = cells.get(at).map_or("", |cell| cell.trim());
            let cell = in_cell(&self.inline(cell));
            text.plain.push(' ');
            append(text, &cell);
            text.plain.push_str(" |");
        }
        if first {
            text.plain.push('\n');
        }
    }
}

/// A grid table, and where it ends.
pub(super) fn grid(lines: &[&str], at: usize) -> Option<(usize, Rows)> {
    let is_line = |line: &str| line.starts_with("+-") || line.starts_with("+=");
    lines.get(at).filter(|line| line.starts_with("+-") && line.trim_end().ends_with('+'))?;
    let rest = lines.get(at..).unwrap_or_default();
    let length = rest.iter().take_while(|line| line.starts_with(['+', '|'])).count();
    let own: Vec<Vec<char>> = rest.iter().take(length).map(|line| line.chars().collect()).collect();
    let texts = rest.get(..length).unwrap_or_default();
    // The line with the most columns: others may join some.
    let widest = texts.iter().enumerate().filter(|(_, line)| is_line(line));
    let (widest, _) = widest.max_by_key(|(_, line)| line.matches('+').count())?;
    let borders = own.get(widest)?.iter().enumerate().filter(|(_, c)| **c == '+');
    let borders: Vec<usize> = borders.map(|(at, _)| at).collect();
    let mut table = Rows::default();
    let mut row: Vec<String> = vec![String::new(); borders.len().saturating_sub(1)];
    for (line, chars) in texts.iter().zip(&own).skip(1) {
        if !is_line(line) {
            add(&mut row, chars, &borders);
            continue;
        }
        table.rows.push(std::mem::replace(
            &mut row,
            vec![String::new(); borders.len().saturating_sub(1)],
        ));
        if line.starts_with("+=") {
            table.head = table.rows.len();
        }
    }
    table.rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
    table.head = table.head.min(table.rows.len());
    Some((at + length, table))
}

/// Adds a line to the cells of a row. A cell continues where its border is missing.
fn add(row: &mut [String], chars: &[char], borders: &[usize]) {
    let mut column = 0;
    while column + 1 < borders.len() {
        let mut last = column + 1;
        let is_border = |at: usize| {
            let border = borders.get(at).and_then(|at| chars.get(*at));
            border.is_none_or(|c| matches!(c, '|' | '+'))
        };
        while last + 1 < borders.len() && !is_border(last) {
            last += 1;
        }
        let from = borders.get(column).map_or(0, |at| at + 1);
        let to = borders.get(last).map_or(chars.len(), |at| (*at).min(chars.len()));
        let part: String = chars.get(from..to).unwrap_or_default().iter().collect();
        // Lines of a cell may be marked to stay lines.
        let part = part.trim();
        let part = part.strip_prefix("| ").unwrap_or(part).trim();
        // The border of a cell that spans rows is not text.
        let is_rule = part.len() > 1 && part.chars().all(|c| matches!(c, '-' | '=' | '+'));
        if let Some(text) =
            row.get_mut(column).filter(|_| !part.is_empty() && part != "|" && !is_rule)
        {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(part);
        }
        column = last;
    }
}

/// A simple table, and where it ends.
pub(super) fn simple(lines: &[&str], at: usize) -> Option<(usize, Rows)> {
    let top = lines.get(at)?;
    let is_border =
        |line: &str| line.starts_with('=') && line.chars().all(|c| matches!(c, '=' | ' '));
    if !is_border(top) || !top.contains(' ') {
        return None;
    }
    let starts = top.char_indices().scan(' ', |before, (at, c)| {
        let starts = c == '=' && *before == ' ';
        *before = c;
        Some(starts.then_some(at))
    });
    let starts: Vec<usize> = starts.flatten().collect();
    let mut table = Rows::default();
    let mut borders = 1;
    for (n, line) in lines.iter().enumerate().skip(at + 1) {
        if is_border(line) {
            borders += 1;
            let closes = lines.get(n + 1).is_none_or(|line| is_blank(line)) || borders == 3;
            if closes && !table.rows.is_empty() {
                return Some((n + 1, table));
            }
            table.head = table.rows.len();
            continue;
        }
        let underline = line.starts_with("--") && line.chars().all(|c| matches!(c, '-' | ' '));
        if is_blank(line) || underline {
            continue;
        }
        let cells = cells(line, &starts);
        let goes_on = cells.first().is_some_and(String::is_empty)
            && indent(line) > 0
            && table.rows.len() > table.head;
        match table.rows.last_mut().filter(|_| goes_on) {
            Some(row) => {
                for (cell, more) in row.iter_mut().zip(cells).filter(|(_, more)| !more.is_empty()) {
                    cell.push_str(if cell.is_empty() { "" } else { " " });
                    cell.push_str(&more);
                }
            }
            None => table.rows.push(cells),
        }
    }
    None
}

/// The cells of a line; the last one extends to its end.
fn cells(line: &str, starts: &[usize]) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    let ends = starts.iter().skip(1).copied().chain([chars.len()]);
    let pairs = starts.iter().zip(ends);
    pairs
        .map(|(start, end)| {
            let part = chars.get(*start..end.min(chars.len()).max(*start)).unwrap_or_default();
            part.iter().collect::<String>().trim().to_owned()
        })
        .collect()
}

/// The rows of values with commas between them.
pub(super) fn csv(lines: &[&str]) -> Vec<Vec<String>> {
    let text = lines.join("\n");
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            '"' if quoted || cell.trim().is_empty() => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    row.push(cell);
    rows.push(row);
    rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
    rows
}
