//! Edits JSON, with or without comments.

use super::{EditResult, EntryChange, EntryLocation, indent_at, line_end, splice, unsafe_edit};
use crate::{
    parse::{self, repeated_keys},
    problem::EntryProblem,
};
use jsonc_parser::{
    ast::{Object, ObjectProp},
    common::{Range, Ranged},
    tokens::Token,
};
use serde_json::{Map, Value};

/// A text and its syntax tree.
struct JsonTree<'a> {
    text: &'a str,
    root: Object<'a>,
    tokens: Vec<(Range, JsonToken)>,
    one_line: bool,
    unit: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonToken {
    Comma,
    LineComment,
    Other,
}

/// Layout of a written value.
enum JsonLayout<'a> {
    /// On one line, with or without spaces.
    Line { spaced: bool },
    /// Each member of an object on its own line, lists on one line.
    Lines { end: &'a str, unit: &'a str },
}

type TextEdits = Vec<(std::ops::Range<usize>, String)>;

pub(super) fn edit(place: &EntryLocation<'_>, text: &str, change: &EntryChange<'_>) -> EditResult {
    let Some(tree) = JsonTree::of(place, text)? else {
        return match change {
            EntryChange::Add(entry) | EntryChange::Replace(entry) => {
                Ok((new_file(place, text, entry), true))
            }
            EntryChange::Remove => Err(unsafe_edit()),
        };
    };
    let mut block =
        tree.root.properties.iter().filter(|property| property.name.as_str() == place.block);
    let found = block.next();
    if block.next().is_some() {
        return Err(unsafe_edit());
    }
    let Some(block) = found else {
        return match change {
            EntryChange::Add(entry) => {
                let block: Map<_, _> =
                    [(place.name.to_owned(), (*entry).clone())].into_iter().collect();
                let parts = tree.add(&tree.root, place.block, &Value::Object(block));
                Ok((splice(text, &parts)?, true))
            }
            EntryChange::Replace(_) | EntryChange::Remove => Err(unsafe_edit()),
        };
    };
    let object = match (block.value.as_object(), change) {
        (Some(object), _) => object,
        // `null` means the same as a missing block.
        (None, EntryChange::Add(entry)) => {
            let made: Map<_, _> = [(place.name.to_owned(), (*entry).clone())].into_iter().collect();
            let parts = vec![tree.value_of(block, &Value::Object(made))];
            return Ok((splice(text, &parts)?, false));
        }
        (None, _) => return Err(unsafe_edit()),
    };
    if repeated_keys(object).contains(&place.name) {
        return Err(unsafe_edit());
    }
    let there = object.properties.iter().position(|property| property.name.as_str() == place.name);
    let parts = match (change, there) {
        (EntryChange::Add(entry), None) => tree.add(object, place.name, entry),
        (EntryChange::Replace(entry), Some(index)) => {
            let property = object.properties.get(index).ok_or_else(unsafe_edit)?;
            vec![tree.value_of(property, entry)]
        }
        (EntryChange::Remove, Some(index)) => tree.remove(object, index)?,
        _ => return Err(unsafe_edit()),
    };
    Ok((splice(text, &parts)?, false))
}

/// Removes the empty block.
pub(super) fn drop_block(place: &EntryLocation<'_>, text: &str) -> Result<String, EntryProblem> {
    let tree = JsonTree::of(place, text)?.ok_or_else(unsafe_edit)?;
    let at = tree.root.properties.iter().position(|property| property.name.as_str() == place.block);
    let empty = at.and_then(|at| {
        let object = tree.root.properties.get(at)?.value.as_object()?;
        let inner = text.get(object.range.start + 1..object.range.end.checked_sub(1)?)?;
        inner.trim().is_empty().then_some(at)
    });
    // A block with a comment is kept.
    let Some(at) = empty else { return Ok(text.to_owned()) };
    splice(text, &tree.remove(&tree.root, at)?)
}

/// Writes a new file.
fn new_file(place: &EntryLocation<'_>, text: &str, entry: &Value) -> String {
    let end = line_end(text);
    let entry: Map<_, _> = [(place.name.to_owned(), entry.clone())].into_iter().collect();
    let root: Map<_, _> = [(place.block.to_owned(), Value::Object(entry))].into_iter().collect();
    let mut file = String::new();
    write(&mut file, &Value::Object(root), &JsonLayout::Lines { end, unit: "  " }, "");
    file + end
}

impl<'a> JsonTree<'a> {
    /// Parses a text; `None` if it is blank.
    fn of(place: &EntryLocation<'_>, text: &'a str) -> Result<Option<Self>, EntryProblem> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let parsed = parse::json(place.syntax, text)?;
        let Some(jsonc_parser::ast::Value::Object(root)) = parsed.value else {
            return Err(unsafe_edit());
        };
        let tokens = parsed.tokens.unwrap_or_default().into_iter().map(|token| {
            let what = match token.token {
                Token::Comma => JsonToken::Comma,
                Token::CommentLine(_) => JsonToken::LineComment,
                _ => JsonToken::Other,
            };
            (token.range, what)
        });
        let tokens = tokens.collect();
        let one_line = !root.properties.is_empty() && !root.text(text).contains('\n');
        let unit = unit_of(text, &root);
        Ok(Some(Self { text, root, tokens, one_line, unit }))
    }

    /// Returns the last token or comment that ends at or before an offset.
    fn before(&self, at: usize) -> Option<(Range, JsonToken)> {
        let next = self.tokens.partition_point(|(range, _)| range.end <= at);
        self.tokens.get(next.checked_sub(1)?).copied()
    }

    /// Returns the comma after an offset, skipping comments.
    fn comma_after(&self, at: usize) -> Option<Range> {
        let next = self.tokens.partition_point(|(range, _)| range.start < at);
        let mut tokens = self.tokens.iter().skip(next).filter(|(range, what)| {
            let comment = self.text.get(range.start..).is_some_and(|text| text.starts_with('/'));
            *what != JsonToken::LineComment && !comment
        });
        tokens.next().filter(|(_, what)| *what == JsonToken::Comma).map(|(range, _)| *range)
    }

    fn add(&self, object: &Object<'_>, name: &str, value: &Value) -> TextEdits {
        let inside = object.range.end.saturating_sub(1);
        let anchor = self.before(inside).map_or(inside, |(range, _)| range.end);
        let last = object.properties.last().map(|property| property.range.end);
        let comma =
            last.and_then(|last| self.comma_after(last)).filter(|comma| comma.end <= inside);
        let on_line = self.one_line || (last.is_some() && !object.text(self.text).contains('\n'));
        let end = line_end(self.text);
        let around = indent_at(self.text, object.range.start);
        let indent = self.member_indent(object, around);
        let layout = self.layout(on_line, end);
        let mut entry = String::new();
        match (&layout, last) {
            (JsonLayout::Lines { .. }, _) => entry.extend([end, &indent]),
            (JsonLayout::Line { spaced: true }, Some(_)) => entry.push(' '),
            (JsonLayout::Line { .. }, _) => {}
        }
        write_member(&mut entry, name, value, &layout, &indent);
        if comma.is_some() {
            entry.push(',');
        }
        let mut parts = TextEdits::new();
        let gap = self.text.get(anchor..inside).unwrap_or_default();
        match last {
            Some(last) if comma.is_none() => parts.push((last..last, ",".to_owned())),
            _ => {}
        }
        // Empty braces are moved to separate lines.
        if last.is_none() && !on_line && !gap.contains('\n') {
            entry.extend([end, around]);
            parts.push((anchor..inside, entry));
        } else {
            parts.push((anchor..anchor, entry));
        }
        parts
    }

    /// Replaces a member's value.
    fn value_of(
        &self,
        property: &ObjectProp<'_>,
        value: &Value,
    ) -> (std::ops::Range<usize>, String) {
        let range = property.value.range();
        let indent = indent_at(self.text, property.range.start);
        let mut text = String::new();
        write(&mut text, value, &self.layout(self.one_line, line_end(self.text)), indent);
        (range.start..range.end, text)
    }

    /// The opposite of [`Self::add`].
    fn remove(&self, object: &Object<'_>, index: usize) -> Result<TextEdits, EntryProblem> {
        let ours = object.properties.get(index).ok_or_else(unsafe_edit)?.range;
        let (before, what) = self.before(ours.start).ok_or_else(unsafe_edit)?;
        let comma = self.comma_after(ours.end).filter(|comma| comma.end < object.range.end);
        let end = comma.map_or(ours.end, |comma| comma.end);
        let text = |range: std::ops::Range<usize>| self.text.get(range).unwrap_or_default();
        let inside = object.range.start + 1..object.range.end.saturating_sub(1);
        let left = [text(inside.start..ours.start), text(end..inside.end)];
        if left.iter().all(|text| text.trim().is_empty()) {
            return Ok(vec![(inside, String::new())]);
        }
        let mut parts = TextEdits::new();
        let earlier = index.checked_sub(1).and_then(|index| object.properties.get(index));
        if let (None, Some(earlier)) = (comma, earlier)
            && let Some(comma) = self.comma_after(earlier.range.end)
        {
            parts.push((comma.start..comma.end, String::new()));
        }
        let rest = self.text.get(end..).unwrap_or_default();
        let rest_of_line = rest.split('\n').next().unwrap_or_default();
        // The rest of the line must not become part of a comment.
        let start = if what == JsonToken::LineComment && !rest_of_line.trim().is_empty() {
            ours.start
        } else {
            before.end
        };
        parts.push((start..end, String::new()));
        Ok(parts)
    }

    fn member_indent(&self, object: &Object<'_>, around: &str) -> String {
        let on_own_line = object.properties.iter().find_map(|property| {
            // Only the blanks before the member are checked: a line may be as long as the file.
            let before = self.text.get(..property.range.start)?;
            let line = before.trim_end_matches([' ', '\t']);
            line.ends_with('\n').then(|| before.get(line.len()..).unwrap_or_default().to_owned())
        });
        on_own_line.unwrap_or_else(|| format!("{around}{}", self.unit))
    }

    fn layout(&self, one_line: bool, end: &'a str) -> JsonLayout<'_> {
        if one_line {
            let spaced = self.text.contains("\": ");
            return JsonLayout::Line { spaced };
        }
        JsonLayout::Lines { end, unit: &self.unit }
    }
}

/// Returns one step of indentation: that of the first member of the file.
fn unit_of(text: &str, root: &Object<'_>) -> String {
    let first = root.properties.first().map(|property| property.range.start);
    let line = first.and_then(|at| text.get(root.range.start..at)?.rsplit_once('\n'));
    match line {
        Some((_, indent)) if !indent.is_empty() && indent.trim_matches([' ', '\t']).is_empty() => {
            let around = indent_at(text, root.range.start);
            indent.strip_prefix(around).filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned()
        }
        _ => "  ".to_owned(),
    }
}

fn write_member(
    text: &mut String,
    name: &str,
    value: &Value,
    layout: &JsonLayout<'_>,
    indent: &str,
) {
    text.push_str(&Value::from(name).to_string());
    text.push_str(if matches!(layout, JsonLayout::Line { spaced: false }) { ":" } else { ": " });
    write(text, value, layout, indent);
}

fn write(text: &mut String, value: &Value, layout: &JsonLayout<'_>, indent: &str) {
    let gap = if matches!(layout, JsonLayout::Line { spaced: false }) { "," } else { ", " };
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { gap });
                write(text, item, &JsonLayout::Line { spaced: gap == ", " }, indent);
            }
            text.push(']');
        }
        Value::Object(map) if map.is_empty() => text.push_str("{}"),
        Value::Object(map) => {
            text.push('{');
            for (index, (name, value)) in map.iter().enumerate() {
                match layout {
                    JsonLayout::Line { .. } => {
                        text.push_str(if index == 0 { "" } else { gap });
                        write_member(text, name, value, layout, indent);
                    }
                    JsonLayout::Lines { end, unit } => {
                        let inner = format!("{indent}{unit}");
                        text.push_str(if index == 0 { "" } else { "," });
                        text.extend([*end, &inner]);
                        write_member(text, name, value, layout, &inner);
                    }
                }
            }
            if let JsonLayout::Lines { end, .. } = layout {
                text.extend([*end, indent]);
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}
