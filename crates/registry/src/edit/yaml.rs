//! Edits YAML line by line: a block with indentation, each entry on its own lines.

use super::{EditResult, EntryChange, EntryLocation, line_end, splice, unsafe_edit};
use crate::problem::EntryProblem;
use serde_json::Value;
use std::{fmt::Write as _, ops::Range};

/// A line of the text.
#[derive(Debug, Clone)]
struct YamlLine<'a> {
    range: Range<usize>,
    /// Without the line break.
    text: &'a str,
    /// Spaces before the first character.
    indent: usize,
    kind: YamlLineKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum YamlLineKind {
    Blank,
    Comment,
    Content,
}

/// The block of entries.
struct YamlBlock {
    /// The line of its key.
    key: usize,
    /// Where the key's colon ends.
    colon: usize,
    /// Range of a `{}` after the colon.
    braces: Option<Range<usize>>,
    /// The lines of its entries, without comments after the last.
    entries: Range<usize>,
    indent: Option<usize>,
}

pub(super) fn edit(place: &EntryLocation<'_>, text: &str, change: &EntryChange<'_>) -> EditResult {
    let lines = lines(text);
    let end = line_end(text);
    let Some(block) = find_block(place.block, &lines)? else {
        let EntryChange::Add(entry) = change else { return Err(unsafe_edit()) };
        let mut added = vec![format!("{}:", place.block)];
        write_entry(&mut added, "  ", "  ", place.name, entry);
        return Ok((appended(text, &added, end), true));
    };
    let indent = " ".repeat(block.indent.unwrap_or(2));
    let render = |entry: &Value| {
        let mut added = Vec::new();
        write_entry(&mut added, &indent, &indent, place.name, entry);
        added
    };
    let parts = match change {
        EntryChange::Add(entry) => {
            let last = block.entries.end.checked_sub(1).filter(|_| !block.entries.is_empty());
            let after = lines.get(last.unwrap_or(block.key)).ok_or_else(unsafe_edit)?;
            let mut parts: Vec<_> =
                block.braces.into_iter().map(|braces| (braces, String::new())).collect();
            let at = after.range.end;
            parts.push((at..at, inserted(text, at, &render(entry), end)));
            parts
        }
        EntryChange::Replace(entry) => {
            let range = our_lines(place, &lines, &block)?;
            let whole = text.get(range.clone()).is_some_and(|lines| lines.ends_with('\n'));
            let added = render(entry).join(end) + if whole { end } else { "" };
            vec![(range, added)]
        }
        EntryChange::Remove => {
            let range = our_lines(place, &lines, &block)?;
            let only = lines.get(block.entries.clone()).is_some_and(|lines| {
                let outside = |line: &&YamlLine<'_>| {
                    line.kind == YamlLineKind::Content && !range.contains(&line.range.start)
                };
                lines.iter().find(outside).is_none()
            });
            let mut parts = Vec::new();
            if only {
                parts.push((block.colon..block.colon, " {}".to_owned()));
            }
            parts.push((with_break(text, range), String::new()));
            parts
        }
    };
    Ok((splice(text, &parts)?, false))
}

/// Removes the empty block.
pub(super) fn drop_block(place: &EntryLocation<'_>, text: &str) -> Result<String, EntryProblem> {
    let lines = lines(text);
    let Some(block) = find_block(place.block, &lines)? else { return Ok(text.to_owned()) };
    let line = lines.get(block.key).ok_or_else(unsafe_edit)?;
    // A key with a comment is kept.
    if block.braces.is_none_or(|braces| braces.end != line.range.start + line.text.len()) {
        return Ok(text.to_owned());
    }
    splice(text, &[(with_break(text, line.range.clone()), String::new())])
}

fn lines(text: &str) -> Vec<YamlLine<'_>> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|whole| {
        let range = start..start + whole.len();
        start = range.end;
        let text = whole.strip_suffix('\n').unwrap_or(whole);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let body = text.trim_start_matches(' ');
        let kind = match body.trim_start().chars().next() {
            None => YamlLineKind::Blank,
            Some('#') => YamlLineKind::Comment,
            Some(_) => YamlLineKind::Content,
        };
        YamlLine { range, text, indent: text.len() - body.len(), kind }
    });
    lines.collect()
}

/// Parses the key of a line, and returns it with the text after the colon.
fn key_of<'a>(line: &YamlLine<'a>) -> Option<(String, &'a str)> {
    let body = line.text.trim_start_matches(' ');
    let (key, rest) = match body.chars().next()? {
        '"' => {
            let mut escaped = false;
            let end = body.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let (key, rest) = body.split_at(end?.0 + 1);
            // The escapes written here are those of JSON.
            (serde_json::from_str(key).ok()?, rest)
        }
        '\'' => {
            let (key, rest) = body.strip_prefix('\'')?.split_once('\'')?;
            (key.to_owned(), rest)
        }
        _ => {
            let (key, _) = body.split_once(':')?;
            (key.trim_end().to_owned(), body.strip_prefix(key)?)
        }
    };
    let rest = rest.trim_start().strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some((key, rest))
}

fn find_block(name: &str, lines: &[YamlLine<'_>]) -> Result<Option<YamlBlock>, EntryProblem> {
    let top = |line: &YamlLine<'_>| line.kind == YamlLineKind::Content && line.indent == 0;
    let mut keys = lines.iter().enumerate().filter_map(|(index, line)| {
        let (key, rest) = top(line).then(|| key_of(line)).flatten()?;
        (key == name).then_some((index, line, rest))
    });
    let Some((key, line, rest)) = keys.next() else { return Ok(None) };
    if keys.next().is_some() {
        return Err(unsafe_edit());
    }
    let colon = line.range.start + line.text.len() - rest.len();
    let value = rest.trim_start();
    let gap = rest.len() - value.len();
    let after = value.strip_prefix("{}").map(str::trim_start);
    let is_note = |text: &str| text.is_empty() || text.starts_with('#');
    let braces = match after {
        Some(after) if is_note(after) => Some(colon..colon + gap + 2),
        _ if is_note(value) => None,
        _ => return Err(unsafe_edit()),
    };
    let below = lines.iter().skip(key + 1).take_while(|line| !top(line)).count();
    let inside = lines.get(key + 1..key + 1 + below).ok_or_else(unsafe_edit)?;
    let content = |line: &&YamlLine<'_>| line.kind == YamlLineKind::Content;
    let indent = inside.iter().find(content).map(|line| line.indent);
    let deep = |line: &YamlLine<'_>| {
        line.kind == YamlLineKind::Content
            || line.kind == YamlLineKind::Comment
                && indent.is_some_and(|indent| line.indent > indent)
    };
    let last = inside.iter().rposition(deep).map_or(0, |last| last + 1);
    Ok(Some(YamlBlock { key, colon, braces, entries: key + 1..key + 1 + last, indent }))
}

/// Returns the lines of the entry: its key, and everything that is indented more.
fn our_lines(
    place: &EntryLocation<'_>,
    lines: &[YamlLine<'_>],
    block: &YamlBlock,
) -> Result<Range<usize>, EntryProblem> {
    let indent = block.indent.ok_or_else(unsafe_edit)?;
    let inside = lines.get(block.entries.clone()).ok_or_else(unsafe_edit)?;
    let ours = |line: &YamlLine<'_>| {
        line.kind == YamlLineKind::Content
            && line.indent == indent
            && key_of(line).is_some_and(|(key, _)| key == place.name)
    };
    let first = inside.iter().position(ours).ok_or_else(unsafe_edit)?;
    let mut last = first;
    for (index, line) in inside.iter().enumerate().skip(first + 1) {
        match line.kind {
            YamlLineKind::Blank => {}
            YamlLineKind::Content | YamlLineKind::Comment if line.indent > indent => last = index,
            YamlLineKind::Content | YamlLineKind::Comment => break,
        }
    }
    let start = inside.get(first).ok_or_else(unsafe_edit)?.range.start;
    let end = inside.get(last).ok_or_else(unsafe_edit)?.range.end;
    Ok(start..end)
}

/// At the end of a text without a final line break, includes the break before the range.
fn with_break(text: &str, range: Range<usize>) -> Range<usize> {
    let whole = text.get(range.clone()).is_some_and(|lines| lines.ends_with('\n'));
    let before = text.get(..range.start).unwrap_or_default();
    match before.strip_suffix('\n') {
        Some(before) if !whole => before.strip_suffix('\r').unwrap_or(before).len()..range.end,
        _ => range,
    }
}

fn inserted(text: &str, at: usize, added: &[String], end: &str) -> String {
    let added = added.join(end);
    let whole = text.get(..at).is_none_or(|before| before.is_empty() || before.ends_with('\n'));
    if whole { format!("{added}{end}") } else { format!("{end}{added}") }
}

fn appended(text: &str, added: &[String], end: &str) -> String {
    format!("{text}{}", inserted(text, text.len(), added, end))
}

fn write_entry(lines: &mut Vec<String>, indent: &str, unit: &str, key: &str, value: &Value) {
    let key = scalar(key);
    match value {
        Value::Object(map) if !map.is_empty() => {
            lines.push(format!("{indent}{key}:"));
            let inner = format!("{indent}{unit}");
            for (key, value) in map {
                write_entry(lines, &inner, unit, key, value);
            }
        }
        Value::String(text) => lines.push(format!("{indent}{key}: {}", scalar(text))),
        other => lines.push(format!("{indent}{key}: {}", flow(other))),
    }
}

/// Writes JSON, which is valid YAML.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let pair =
                |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), flow(value));
            format!("{{{}}}", map.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes a string, without quotes if it is unambiguous.
fn scalar(text: &str) -> String {
    const RESERVED_SCALARS: [&str; 9] =
        ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/'))
        && !RESERVED_SCALARS.contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { quoted(text) }
}

/// Characters that are not control characters but must not occur in YAML.
const UNSAFE_CHARACTERS: [char; 5] = ['\u{feff}', '\u{2028}', '\u{2029}', '\u{fffe}', '\u{ffff}'];

/// Writes a string in double quotes, with escapes.
fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => result.extend(['\\', c]),
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            c if c.is_control() || UNSAFE_CHARACTERS.contains(&c) => {
                // Writing to a string does not fail.
                let _done = write!(result, "\\u{:04x}", u32::from(c));
            }
            c => result.push(c),
        }
    }
    result.push('"');
    result
}
