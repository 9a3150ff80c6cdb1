//! Edits TOML: tables with headers, at the end of the file.

use super::{EditResult, EntryChange, EntryLocation, line_end, splice, unsafe_edit};
use crate::{parse::toml_document, problem::EntryProblem};
use serde_json::Value;
use std::ops::Range;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

pub(super) fn edit(place: &EntryLocation<'_>, text: &str, change: &EntryChange<'_>) -> EditResult {
    let end = line_end(text);
    match change {
        EntryChange::Add(entry) => {
            let block = block_text(place, entry, end)?;
            if text.is_empty() {
                return Ok((block, false));
            }
            // A missing final line break stays missing.
            let added = if text.ends_with('\n') {
                format!("{text}{end}{block}")
            } else {
                format!("{text}{end}{end}{}", block.trim_end_matches(['\r', '\n']))
            };
            Ok((added, false))
        }
        EntryChange::Replace(entry) => {
            let block = block_text(place, entry, end)?;
            let mut parts = Vec::new();
            for (index, lines) in our_lines(place, text)?.into_iter().enumerate() {
                if index > 0 {
                    parts.push((with_gap(text, lines), String::new()));
                    continue;
                }
                let whole = text.get(lines.clone()).is_some_and(|lines| lines.ends_with('\n'));
                let block = if whole { &block } else { block.trim_end_matches(['\r', '\n']) };
                parts.push((lines, block.to_owned()));
            }
            Ok((splice(text, &parts)?, false))
        }
        EntryChange::Remove => {
            let lines = our_lines(place, text)?.into_iter();
            let parts: Vec<_> = lines.map(|lines| (with_gap(text, lines), String::new())).collect();
            Ok((splice(text, &parts)?, false))
        }
    }
}

/// Returns the lines of the entry's table and its subtables, in order.
fn our_lines(place: &EntryLocation<'_>, text: &str) -> Result<Vec<Range<usize>>, EntryProblem> {
    let document = toml_document(text)?;
    let block =
        document.as_table().get(place.block).and_then(Item::as_table).ok_or_else(unsafe_edit)?;
    let table = block.get(place.name).and_then(Item::as_table).ok_or_else(unsafe_edit)?;
    if table.is_dotted() {
        return Err(unsafe_edit());
    }
    let mut found = Vec::new();
    collect(table, &mut found);
    found.sort_by_key(|range| range.start);
    let lines = found.into_iter().map(|range| {
        let start = text.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
        let end = text.get(range.end..)?.find('\n').map_or(text.len(), |at| range.end + at + 1);
        Some(start..end)
    });
    let lines = lines.collect::<Option<Vec<_>>>().filter(|lines| !lines.is_empty());
    lines.ok_or_else(unsafe_edit)
}

/// Collects each table with a header, from the header to the last value.
fn collect(table: &Table, found: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        let end = last_value(table).max(header.end);
        found.push(header.start..end);
    }
    for (_, item) in table {
        match item {
            Item::Table(below) => collect(below, found),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|below| collect(below, found)),
            Item::None | Item::Value(_) => {}
        }
    }
}

fn last_value(table: &Table) -> usize {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        Item::Table(below) if below.is_dotted() => last_value(below),
        Item::None | Item::Table(_) | Item::ArrayOfTables(_) => 0,
    });
    ends.max().unwrap_or(0)
}

/// Extends lines by the blank line before them, and by the line break at the end of a file without a final one.
fn with_gap(text: &str, lines: Range<usize>) -> Range<usize> {
    let before = text.get(..lines.start).unwrap_or_default();
    let whole = text.get(lines.clone()).is_some_and(|lines| lines.ends_with('\n'));
    let Some(once) = without_line_end(before) else { return lines };
    let twice = without_line_end(once);
    let start = match twice {
        None if !once.is_empty() => before.len(),
        None => once.len(),
        Some(_) if whole => once.len(),
        Some(twice) => twice.len(),
    };
    start..lines.end
}

fn without_line_end(text: &str) -> Option<&str> {
    let text = text.strip_suffix('\n')?;
    Some(text.strip_suffix('\r').unwrap_or(text))
}

fn block_text(place: &EntryLocation<'_>, entry: &Value, end: &str) -> Result<String, EntryProblem> {
    let mut table = Table::new();
    for (key, value) in entry.as_object().ok_or_else(unsafe_edit)? {
        table.insert(key, Item::Value(toml_value(value).ok_or_else(unsafe_edit)?));
    }
    let mut block = Table::new();
    block.set_implicit(true);
    block.insert(place.name, Item::Table(table));
    let mut document = DocumentMut::new();
    document.insert(place.block, Item::Table(block));
    let text = document.to_string();
    Ok(if end == "\r\n" { text.replace('\n', end) } else { text })
}

/// Converts a value; `None` if TOML can't express it.
fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(toml_value).collect::<Option<Array>>()?.into(),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| Some((key.clone(), toml_value(value)?)));
            pairs.collect::<Option<InlineTable>>()?.into()
        }
    })
}
