//! Lays out lists and tables for a terminal or a file. Escapes all text that comes from a server.

use super::{
    connection::ServerCard,
    console::TerminalState,
    schema::{ArgumentSchema, SchemaProperty, display_value},
};
use docent_screen::{one_line, visible};
use std::fmt::Write as _;

/// Number of columns between two cells.
const COLUMN_GAP: usize = 2;
/// Maximum width of a column; longer cells run over.
const MAX_CELL_WIDTH: usize = 32;
/// Maximum number of choices shown in a line of arguments.
const MAX_SHOWN_CHOICES: usize = 6;

/// One entry of a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListRow {
    /// The name.
    pub(crate) name: String,
    /// The description.
    pub(crate) about: String,
    /// Further notes, shown on a line of their own.
    pub(crate) notes: String,
}

/// Returns the text in bold if colors are enabled.
pub(crate) fn bold(text: &str, terminal: &TerminalState) -> String {
    if terminal.colors { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

fn dim(text: &str, terminal: &TerminalState) -> String {
    if terminal.colors { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Truncates the text to the width of a terminal.
fn cut(text: &str, terminal: &TerminalState, taken: usize) -> String {
    let width = terminal.width.saturating_sub(taken).max(20);
    if terminal.stdout {
        console::truncate_str(text, width, "…").into_owned()
    } else {
        text.to_owned()
    }
}

/// Returns the first sentence or the first line, whichever is shorter.
pub(crate) fn first_sentence(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let sentence = line.find(". ").and_then(|at| line.get(..=at)).unwrap_or(line);
    one_line(sentence).into_owned()
}

/// Formats a list with up to two lines per entry.
pub(crate) fn rows(all: &[ListRow], terminal: &TerminalState) -> String {
    let mut text = String::new();
    for row in all {
        let name = one_line(&row.name).into_owned();
        let about = first_sentence(&row.about);
        let gap = if about.is_empty() { "" } else { "  " };
        let about = cut(&about, terminal, console::measure_text_width(&name) + COLUMN_GAP);
        // Writing to a string can't fail.
        let _ok = writeln!(text, "{}{gap}{about}", bold(&name, terminal));
        if !row.notes.is_empty() {
            let notes = cut(&one_line(&row.notes), terminal, 4);
            let _ok = writeln!(text, "    {}", dim(&notes, terminal));
        }
    }
    text
}

/// Formats the arguments of a schema in one line, with a star for required ones.
pub(crate) fn arguments(schema: ArgumentSchema<'_>, typed: bool) -> String {
    let one = |property: &SchemaProperty<'_>| {
        let star = if property.required { "*" } else { "" };
        let kind = if typed { format!(" {}", short_kind(property.schema)) } else { String::new() };
        format!("{}{star}{kind}", property.name)
    };
    schema.properties().iter().map(one).collect::<Vec<_>>().join(", ")
}

fn short_kind(schema: ArgumentSchema<'_>) -> String {
    let choices = schema.all_choices();
    if choices.is_empty() || choices.len() > MAX_SHOWN_CHOICES {
        return schema.kind_words();
    }
    choices.into_iter().map(display_value).collect::<Vec<_>>().join("|")
}

/// Formats a table with an unbounded last column and an optional bold header row.
pub(crate) fn table(lines: &[Vec<String>], terminal: &TerminalState) -> String {
    let lines: Vec<Vec<String>> = lines
        .iter()
        .map(|line| line.iter().map(|cell| one_line(cell).into_owned()).collect())
        .collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells
            .map(|cell| console::measure_text_width(cell))
            .filter(|width| *width <= MAX_CELL_WIDTH)
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut out = String::new();
        let mut want = 0;
        for (cell, width) in line.iter().zip(&widths) {
            let have = console::measure_text_width(&out);
            out.extend(std::iter::repeat_n(
                ' ',
                (want + COLUMN_GAP).saturating_sub(have).max(COLUMN_GAP),
            ));
            out.push_str(cell);
            want += COLUMN_GAP + width;
        }
        text.push_str(cut(out.trim_end(), terminal, 0).as_str());
        text.push('\n');
    }
    text
}

/// Returns the name of a server for messages.
pub(crate) fn server_name(card: &ServerCard) -> String {
    if card.name.is_empty() { "the server".into() } else { one_line(&card.name).into_owned() }
}

/// Indents each line of a text.
pub(crate) fn indent(text: &str) -> String {
    visible(text.trim_end())
        .lines()
        .map(|line| format!("  {line}").trim_end().to_owned() + "\n")
        .collect()
}
