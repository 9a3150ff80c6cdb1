//! Escaping of report text for GitHub Markdown, also in tables.

use crate::repo::render::{
    characters::deceives,
    figures::{count, to_u64},
    markup::{MarkupBuffer, put},
};

/// Maximum number of table rows and list items.
pub(super) const MAX_ROWS: usize = 50;

/// Returns text on one line, without deceptive characters.
fn flat(value: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        other if deceives(other) => '\u{fffd}',
        other => other,
    };
    value.chars().map(shown).collect::<String>().trim().to_owned()
}

/// Escapes running text.
pub(super) fn words(value: &str) -> String {
    let value = flat(value);
    if calls_someone(&value) {
        return code(&value);
    }
    let mut out = String::with_capacity(value.len() + 8);
    let numbered = value.trim_start_matches(|character: char| character.is_ascii_digit());
    let number_ends =
        if numbered.len() < value.len() { value.len() - numbered.len() } else { usize::MAX };
    for (at, character) in value.char_indices() {
        let opens = at == 0 && matches!(character, '#' | '>' | '-' | '+' | '=' | ':');
        let counts = at == number_ends && matches!(character, '.' | ')');
        if opens
            || counts
            || matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '|' | '~' | '&' | '$')
        {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Whether GitHub would notify a mentioned user.
fn calls_someone(value: &str) -> bool {
    let mut before = ' ';
    let mut characters = value.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().is_some_and(char::is_ascii_alphanumeric);
        if character == '@' && next && !before.is_alphanumeric() {
            return true;
        }
        before = character;
    }
    false
}

/// Formats inline code, also in tables.
pub(super) fn code(value: &str) -> String {
    let value = flat(value);
    if value.is_empty() {
        return String::new();
    }
    if value.contains('|') {
        // A pipe ends a cell even inside code, and a backslash before it may itself be escaped.
        let escaped = value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('\\', "&#92;")
            .replace('|', "&#124;")
            .replace('`', "&#96;")
            .replace('*', "&#42;")
            .replace('_', "&#95;")
            .replace('[', "&#91;")
            .replace('~', "&#126;");
        return format!("<code>{escaped}</code>");
    }
    let longest = value.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad = if value.starts_with('`') || value.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{value}{pad}{fence}")
}

/// Escapes sentences with code between backticks.
pub(super) fn prose(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, inner, after)) = code_span(rest) {
        out += &spaced(before);
        out += &code(inner);
        rest = after;
    }
    out + &spaced(rest)
}

fn code_span(value: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = value.split_once('`')?;
    let (inner, after) = rest.split_once('`')?;
    (!inner.trim().is_empty()).then_some((before, inner, after))
}

/// Escapes text and keeps spaces at both ends.
fn spaced(value: &str) -> String {
    let lead = if value.starts_with(char::is_whitespace) { " " } else { "" };
    let trail = if value.trim_start().ends_with(char::is_whitespace) { " " } else { "" };
    format!("{lead}{}{trail}", words(value))
}

/// Formats a file, with an optional line.
pub(super) fn place(path: &str, line: Option<u64>) -> String {
    match line {
        Some(line) => code(&format!("{path}:{line}")),
        None => code(path),
    }
}

/// Formats a few files or names in one cell or line.
pub(super) fn places(paths: &[String]) -> String {
    const MAX_INLINE_ITEMS: usize = 12;
    let mut shown: Vec<String> =
        paths.iter().take(MAX_INLINE_ITEMS).map(|path| code(path)).collect();
    if let Some(more @ 1..) = paths.len().checked_sub(MAX_INLINE_ITEMS) {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

/// Appends a table without empty columns: a limited number of rows, then the number of others. Columns that start with
/// `#` contain numbers.
pub(super) fn table(
    out: &mut MarkupBuffer,
    columns: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    all: u64,
) {
    let rows: Vec<Vec<String>> = rows.take(MAX_ROWS).collect();
    if rows.is_empty() {
        return;
    }
    let is_filled =
        |at: usize| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()));
    let filled: Vec<usize> = (0..columns.len()).filter(|at| is_filled(*at)).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| cells.collect::<Vec<_>>().join(" | ");
    let titles = || filled.iter().filter_map(|at| columns.get(*at));
    put!(out, "| {} |\n", line(&mut titles().map(|title| title.trim_start_matches('#'))));
    let ruler = |title: &&str| if title.starts_with('#') { "---:" } else { "---" };
    put!(out, "| {} |\n", line(&mut titles().map(ruler)));
    for row in &rows {
        let cells = filled.iter().filter_map(|at| row.get(*at));
        put!(
            out,
            "| {} |\n",
            line(&mut cells.map(|cell| if cell.is_empty() { "–" } else { cell }))
        );
    }
    put!(out, "\n");
    more(out, all, to_u64(rows.len()));
}

/// Appends a list: a limited number of items, then the number of others.
pub(super) fn list(out: &mut MarkupBuffer, items: impl ExactSizeIterator<Item = String>) {
    let all = to_u64(items.len());
    let mut shown = 0;
    for item in items.take(MAX_ROWS) {
        put!(out, "- {item}\n");
        shown += 1;
    }
    put!(out, "\n");
    more(out, all, shown);
}

fn more(out: &mut MarkupBuffer, all: u64, shown: u64) {
    if let Some(left @ 1..) = all.checked_sub(shown) {
        put!(out, "and {} more\n\n", count(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reads_as_markup() {
        let cases = [
            (words("a|b*c_d"), "a\\|b\\*c\\_d"),
            (words("<b>\nx"), "\\<b> x"),
            (words("# not a heading"), "\\# not a heading"),
            (words("1. Rust"), "1\\. Rust"),
            (words("1.95"), "1\\.95"),
            (words("ask @octocat"), "`ask @octocat`"),
            (words("a@b.c"), "a@b.c"),
            (words("x\u{202e}y"), "x\u{fffd}y"),
            (code("a b"), "`a b`"),
            (code("a`b"), "``a`b``"),
            (code("`a`"), "`` `a` ``"),
            (code("a|<b>"), "<code>a&#124;&lt;b&gt;</code>"),
            (code(""), ""),
            (prose("Run `a|b` and *go*."), "Run <code>a&#124;b</code> and \\*go\\*."),
            (prose("one ` alone"), "one \\` alone"),
            (place("a.md", Some(3)), "`a.md:3`"),
        ];
        for (got, want) in cases {
            assert_eq!(got, want);
        }
    }

    #[test]
    fn long_tables_are_cut() {
        let mut out = MarkupBuffer::default();
        table(
            &mut out,
            &["Name", "#Count"],
            (0..60).map(|at| vec![format!("n{at}"), at.to_string()]),
            1_060,
        );
        let out = out.finish();
        assert!(out.starts_with("| Name | Count |\n| --- | ---: |\n| n0 | 0 |\n"), "{out}");
        assert!(out.ends_with("| n49 | 49 |\n\nand 1,010 more\n\n"), "{out}");
        let mut narrow = MarkupBuffer::default();
        table(
            &mut narrow,
            &["Name", "Empty", "#Count"],
            std::iter::once(vec!["a".into(), String::new(), "1".into()]),
            1,
        );
        assert_eq!(narrow.finish(), "| Name | Count |\n| --- | ---: |\n| a | 1 |\n\n");
        let mut none = MarkupBuffer::default();
        table(&mut none, &["Name"], std::iter::empty(), 0);
        assert_eq!(none.finish(), "");
    }
}
