//! Tables between `.TS` and `.TE`.

use super::escape::Fonts;
use crate::read::{
    marks,
    tree::{self, PageNode},
};

/// Maximum rows; larger tables are data.
const MAX_TABLE_ROWS: usize = 5_000;

/// Reads the lines of a table. One with a single column is a paragraph a row.
pub(super) fn read(lines: &[String]) -> Vec<PageNode> {
    let (tab, format, data) = split(lines);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut cells: Option<Vec<String>> = None;
    let mut block: Option<String> = None;
    let mut ruled = false;
    for line in data {
        if let Some(text) = &mut block {
            let Some(after) = line.strip_prefix("T}") else {
                push_block(text, line);
                continue;
            };
            let text = block.take().unwrap_or_default();
            let row = cells.get_or_insert_default();
            row.push(cell(&text));
            if let Some(rest) = after.strip_prefix(tab) {
                block = take(row, rest, tab);
            }
        } else if matches!(line.trim(), "_" | "=" | "\\_" | "") {
            ruled |= rows.len() == 1;
            continue;
        } else if line.starts_with('.') && !line.starts_with("..") {
            continue;
        } else {
            block = take(cells.get_or_insert_default(), line, tab);
        }
        if block.is_none() {
            rows.extend(cells.take());
        }
        if rows.len() >= MAX_TABLE_ROWS {
            break;
        }
    }
    rows.extend(cells);
    rows.retain(|row| row.iter().any(|cell| !cell.trim().is_empty()));
    if rows.iter().all(|row| row.len() < 2) {
        return rows.into_iter().flatten().map(PageNode::Text).collect();
    }
    let header = ruled
        || format.first().is_some_and(|line| {
            format.len() > 1 && line.chars().any(|c| matches!(c, 'b' | 'B' | 'c' | 'C'))
        });
    vec![PageNode::Table(tree::table(&rows, header))]
}

/// The character between cells, the lines of the format, and the rows.
fn split(lines: &[String]) -> (char, Vec<String>, Vec<&str>) {
    let mut lines = lines.iter().map(String::as_str).peekable();
    let mut tab = '\t';
    if let Some(options) = lines.next_if(|line| line.trim_end().ends_with(';')) {
        let given = options.split_once("tab").and_then(|(_, rest)| rest.split_once('('));
        tab = given.and_then(|(_, rest)| rest.chars().next()).unwrap_or(tab);
    }
    let mut format = Vec::new();
    for line in lines.by_ref() {
        format.extend(line.split(',').map(str::to_owned));
        if line.trim_end().ends_with('.') {
            break;
        }
    }
    let mut data = Vec::new();
    let mut in_format = false;
    for line in lines {
        if in_format {
            in_format = !line.trim_end().ends_with('.');
        } else if line.starts_with(".T&") {
            in_format = true;
        } else {
            data.push(line);
        }
    }
    (tab, format, data)
}

/// Adds the cells of a line to a row; returns the text block that starts at its end.
fn take(row: &mut Vec<String>, line: &str, tab: char) -> Option<String> {
    for part in line.split(tab) {
        if part.trim() == "T{" {
            return Some(String::new());
        }
        row.push(cell(part));
    }
    None
}

fn push_block(text: &mut String, line: &str) {
    let line = match line.strip_prefix('.') {
        // Macros in a cell: what they say, without what they do.
        Some(request) => {
            let (name, rest) = request.split_once(' ').unwrap_or((request, ""));
            let says = matches!(
                name,
                "B" | "I" | "R" | "BR" | "BI" | "IB" | "IR" | "RB" | "RI" | "SM" | "IP" | "TP"
            );
            if says { rest.replace('"', "") } else { String::new() }
        }
        None => line.to_owned(),
    };
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(&line);
}

fn cell(text: &str) -> String {
    if text.trim() == "\\^" {
        return String::new();
    }
    marks::squeeze_marked(&Fonts::default().text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &str, want: &str) {
        let lines: Vec<String> = table.lines().map(str::to_owned).collect();
        let got: Vec<String> = read(&lines)
            .into_iter()
            .map(|node| match node {
                PageNode::Table(text) | PageNode::Text(text) => marks::plain(&text),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(got.join("/"), want, "{table}");
    }

    #[test]
    fn tables_become_markdown() {
        check("lb l\nl l.\nA\tB\n_\n1\t\\fB2\\fP", "| A | B |\n| --- | --- |\n| 1 | 2 |");
        check(
            "allbox tab(:);\nlB lB.\nT{\nOne\n.B two\nT}:T{\nb\nT}\nc:d",
            "|  |  |\n| --- | --- |\n| One two | b |\n| c | d |",
        );
        check("l.\none\ntwo", "one/two");
        check("l l.\nT{\nnever closed", "");
        check("", "");
    }
}
