//! Tables: cells between bars, or values between commas.

use super::blocks::{AsciidocBlockMetadata, AsciidocReader};
use crate::read::tree::{self, PageNode};

/// Maximum cells; larger tables are data.
const MAX_CELLS: usize = 50_000;

/// Reads the lines of a table.
pub(super) fn read(
    reader: &mut AsciidocReader,
    fence: &str,
    lines: &[&str],
    about: &AsciidocBlockMetadata,
) -> Vec<PageNode> {
    let options = [about.named.get("options"), about.named.get("opts")];
    let mut options = options.into_iter().flatten().flat_map(|all| all.split([',', ' ']));
    let asked = options.any(|option| option == "header");
    let format = about.named.get("format").map(String::as_str);
    let separator = about.named.get("separator").and_then(|text| text.chars().next());
    let values = match (fence.chars().next(), format) {
        (Some(','), _) | (_, Some("csv")) => Some(separator.unwrap_or(',')),
        (Some(':'), _) | (_, Some("dsv")) => Some(separator.unwrap_or(':')),
        (_, Some("tsv")) => Some('\t'),
        _ => None,
    };
    let blank_after_first = lines.iter().skip_while(|line| line.trim().is_empty()).nth(1);
    let implied = blank_after_first.is_some_and(|line| line.trim().is_empty());
    let rows = if let Some(separator) = values {
        let filled = lines.iter().filter(|line| !line.trim().is_empty());
        filled.take(MAX_CELLS).map(|line| split_values(line, separator)).collect()
    } else {
        let bar = separator.unwrap_or(if fence.starts_with('!') { '!' } else { '|' });
        rows(&cells(lines, bar), about.named.get("cols"), lines, bar)
    };
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row: &Vec<String>| {
            row.iter().map(|cell| reader.inline(cell).replace('\n', " ")).collect()
        })
        .collect();
    let text = tree::table(&rows, asked || implied);
    if text.is_empty() { Vec::new() } else { vec![PageNode::Table(text)] }
}

/// A cell, and how many columns it takes.
type Cell = (String, usize);

fn cells(lines: &[&str], bar: char) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for line in lines {
        let mut parts = parts(line, bar).into_iter();
        let before = parts.next().unwrap_or_default();
        let parts: Vec<String> = parts.collect();
        let (before, mut spec) =
            if parts.is_empty() { (before.as_str(), "") } else { split_spec(&before) };
        if let Some((cell, _)) = cells.last_mut()
            && !before.trim().is_empty()
        {
            cell.push('\n');
            cell.push_str(before);
        }
        let last = parts.len();
        for (at, part) in parts.iter().enumerate() {
            let (text, next) = if at + 1 < last { split_spec(part) } else { (part.as_str(), "") };
            let (count, span) = repeats(spec);
            for _ in 0..count {
                cells.push((text.trim().to_owned(), span));
            }
            spec = next;
        }
        if cells.len() > MAX_CELLS {
            break;
        }
    }
    cells
}

/// A line cut at its bars, except those after a backslash.
fn parts(line: &str, bar: char) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut joins = false;
    for part in line.split(bar) {
        let escaped = part.ends_with('\\');
        let text = if escaped { part.strip_suffix('\\').unwrap_or(part) } else { part };
        match parts.last_mut() {
            Some(last) if joins => {
                last.push(bar);
                last.push_str(text);
            }
            _ => parts.push(text.to_owned()),
        }
        joins = escaped;
    }
    parts
}

/// What describes the next cell, such as `2+^s`, from the end of this one.
fn split_spec(text: &str) -> (&str, &str) {
    let start = text.rfind([' ', '\t']).map_or(0, |at| at + 1);
    let (before, spec) = text.split_at(start);
    let is_spec = !spec.is_empty()
        && spec.chars().all(|c| c.is_ascii_digit() || "+*.<>^adehlmsv".contains(c))
        && (spec.len() == 1 && !spec.starts_with(|c: char| c.is_ascii_digit())
            || spec.contains(['+', '*', '<', '^', '>', '.']));
    if is_spec { (before, spec) } else { (text, "") }
}

/// How often a cell stands there, and how many columns it takes.
fn repeats(spec: &str) -> (usize, usize) {
    let number = |text: &str| text.split('.').next().and_then(|text| text.parse::<usize>().ok());
    if let Some((count, _)) = spec.split_once('*') {
        return (number(count).unwrap_or(1).clamp(1, 100), 1);
    }
    let span = spec.split_once('+').and_then(|(span, _)| number(span));
    (1, span.unwrap_or(1).clamp(1, 100))
}

/// How many columns `cols` describes.
fn columns(cols: &str) -> usize {
    let count = |part: &str| {
        let times = part.split_once('*').and_then(|(times, _)| times.trim().parse::<usize>().ok());
        times.unwrap_or(1).clamp(1, 100)
    };
    if let Ok(count) = cols.trim().trim_end_matches('*').parse::<usize>()
        && !cols.contains(',')
        && cols.contains('*')
    {
        return count.clamp(1, 100);
    }
    cols.split([',', ';']).map(count).sum::<usize>().min(100)
}

fn rows(cells: &[Cell], cols: Option<&String>, lines: &[&str], bar: char) -> Vec<Vec<String>> {
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let in_first = || {
        first.map_or(1, |line| {
            let line = [*line];
            self::cells(&line, bar).iter().map(|(_, span)| *span).sum()
        })
    };
    let width = cols.map_or_else(in_first, |cols| columns(cols)).max(1);
    let mut rows = Vec::new();
    let mut row: Vec<String> = Vec::new();
    for (text, span) in cells {
        row.push(text.clone());
        for _ in 1..(*span).min(width) {
            row.push(String::new());
        }
        if row.len() >= width {
            rows.push(std::mem::take(&mut row));
        }
    }
    if !row.is_empty() {
        rows.push(row);
    }
    rows
}

/// Values of a line, which may be quoted.
fn split_values(line: &str, separator: char) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => push(&mut values, '"'),
            '"' => quoted = !quoted,
            c if c == separator && !quoted => values.push(String::new()),
            c => push(&mut values, c),
        }
    }
    values
}

fn push(values: &mut [String], c: char) {
    if let Some(value) = values.last_mut() {
        value.push(c);
    }
}
