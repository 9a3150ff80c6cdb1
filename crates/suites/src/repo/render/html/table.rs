//! Tables that scroll in their own box, and that the script can sort and filter.

use super::markup::{MarkupBuffer, path, prose, put, text};
use crate::repo::{
    render::{
        figures::{bounded, count, percent, to_u64},
        wording,
    },
    report::Severity,
};

/// Contents of a cell.
#[derive(Debug, Clone)]
pub(super) enum Cell<'a> {
    /// Sentences.
    Prose(&'a str),
    /// A word.
    Word(&'a str),
    /// A name with a description below.
    Titled(&'a str, &'a str),
    /// A command or code name.
    Code(&'a str),
    /// A file, with an optional line.
    Place(&'a str, Option<u64>),
    /// Several files.
    Places(&'a [String]),
    /// A number.
    Number(u64),
    /// A percentage with a bar.
    Share(f64),
    /// A score out of 100 with a bar.
    Score(f64),
    /// A severity.
    Cost(Severity),
    /// An empty cell.
    Nothing,
}

impl<'a> Cell<'a> {
    /// Creates a code cell, or an empty one.
    pub(super) fn code(value: Option<&'a str>) -> Self {
        value.filter(|value| !value.is_empty()).map_or(Self::Nothing, Self::Code)
    }

    /// Creates a word cell, or an empty one.
    pub(super) fn word(value: Option<&'a str>) -> Self {
        value.filter(|value| !value.is_empty()).map_or(Self::Nothing, Self::Word)
    }

    /// Creates a file cell, or an empty one.
    pub(super) fn place(value: Option<&'a str>) -> Self {
        value.map_or(Self::Nothing, |path| Self::Place(path, None))
    }

    fn write(&self, out: &mut MarkupBuffer) {
        match self {
            Self::Prose(value) => put!(out, "<td class=\"prose\">{}</td>", prose(value)),
            Self::Word(value) => {
                let class = if value.chars().count() <= MAX_UNBROKEN_CHARS {
                    " class=\"short\""
                } else {
                    ""
                };
                put!(out, "<td{class}>{}</td>", text(value));
            }
            Self::Titled(name, about) => {
                put!(out, "<td>{}<span class=\"about\">{}</span></td>", text(name), text(about));
            }
            Self::Code(value) => put!(out, "<td><code>{}</code></td>", path(value)),
            Self::Place(file, None) => {
                put!(out, "<td class=\"path\"><code>{}</code></td>", path(file));
            }
            Self::Place(file, Some(line)) => put!(
                out,
                "<td class=\"path\" data-sort=\"{}:{line:09}\"><code>{}<span class=\"line\">:{line}</span></code></td>",
                text(file),
                path(file)
            ),
            Self::Places(files) => {
                put!(out, "<td class=\"path\">");
                for file in *files {
                    put!(out, "<code>{}</code><br>", path(file));
                }
                put!(out, "</td>");
            }
            Self::Number(value) => {
                put!(out, "<td class=\"number\" data-sort=\"{value}\">{}</td>", count(*value));
            }
            Self::Share(value) => with_bar(out, *value, &percent(*value)),
            Self::Score(value) => with_bar(out, *value, &format!("{:.1}", bounded(*value))),
            Self::Cost(severity) => {
                put!(out, "<td data-sort=\"{}\">", *severity as u8);
                mark(out, *severity);
                put!(out, "</td>");
            }
            Self::Nothing => put!(out, "<td class=\"nothing\">–</td>"),
        }
    }
}

/// Maximum length of unbroken words.
const MAX_UNBROKEN_CHARS: usize = 16;

fn with_bar(out: &mut MarkupBuffer, share: f64, shown: &str) {
    let share = bounded(share);
    put!(
        out,
        "<td class=\"number share\" data-sort=\"{share:.3}\"><svg aria-hidden=\"true\"><rect class=\"track\" width=\"100%\" height=\"100%\"/>\
         <rect class=\"a1\" width=\"{share:.1}%\" height=\"100%\"/></svg><span>{shown}</span></td>"
    );
}

/// Writes a severity: a word, and strokes by weight.
pub(super) fn mark(out: &mut MarkupBuffer, severity: Severity) {
    let (strokes, class) = match severity {
        Severity::High => (3, "high"),
        Severity::Medium => (2, "medium"),
        Severity::Low => (1, "low"),
    };
    put!(
        out,
        "<span class=\"mark {class}\"><svg viewBox=\"0 0 14 10\" width=\"14\" height=\"10\" aria-hidden=\"true\">"
    );
    for stroke in 0..3 {
        let class = if stroke < strokes { "on" } else { "off" };
        put!(
            out,
            "<rect class=\"{class}\" x=\"{}\" width=\"3\" height=\"10\" rx=\"1\"/>",
            stroke * 5
        );
    }
    put!(out, "</svg>{}</span>", wording::severity(severity));
}

/// A table with header cells; numbers are right-aligned.
#[derive(Debug)]
pub(super) struct HtmlTable<'a> {
    /// Label for screen readers.
    pub(super) label: &'a str,
    /// Column titles.
    pub(super) columns: &'a [&'a str],
    /// The rows.
    pub(super) rows: Vec<Vec<Cell<'a>>>,
    /// Total number of rows; omitted ones are counted below.
    pub(super) all: u64,
}

impl<'a> HtmlTable<'a> {
    /// Creates a table with all rows.
    pub(super) fn new(label: &'a str, columns: &'a [&'a str], rows: Vec<Vec<Cell<'a>>>) -> Self {
        Self { label, columns, all: to_u64(rows.len()), rows }
    }

    /// Sets the total number of rows.
    pub(super) fn with_total(self, all: u64) -> Self {
        Self { all: all.max(to_u64(self.rows.len())), ..self }
    }

    /// Writes the table without empty columns; nothing if it has no rows.
    pub(super) fn write(&self, out: &mut MarkupBuffer) {
        if self.rows.is_empty() {
            return;
        }
        put!(
            out,
            "<div class=\"box\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\"><table><caption class=\"unseen\">{label}</caption><thead><tr>",
            label = text(self.label)
        );
        let mut filled = Vec::with_capacity(self.columns.len());
        for (at, title) in self.columns.iter().enumerate() {
            let mut cells = self.rows.iter().filter_map(|row| row.get(at));
            let first = cells.find(|cell| !matches!(cell, Cell::Nothing));
            filled.push(first.is_some());
            let class = match first {
                None => continue,
                Some(Cell::Number(_) | Cell::Share(_) | Cell::Score(_)) => " class=\"number\"",
                Some(_) => "",
            };
            put!(out, "<th scope=\"col\"{class}>{}</th>", text(title));
        }
        put!(out, "</tr></thead><tbody>");
        for row in &self.rows {
            put!(out, "<tr>");
            for (cell, _) in row.iter().zip(&filled).filter(|(_, filled)| **filled) {
                cell.write(out);
            }
            put!(out, "</tr>");
        }
        put!(out, "</tbody></table></div>");
        more(out, self.all, to_u64(self.rows.len()));
    }
}

/// Writes how many rows are not shown.
pub(super) fn more(out: &mut MarkupBuffer, all: u64, shown: u64) {
    if let Some(left @ 1..) = all.checked_sub(shown) {
        put!(out, "<p class=\"more\">and {} more</p>", count(left));
    }
}
