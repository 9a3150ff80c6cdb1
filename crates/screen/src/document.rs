//! Finds the strings of a text that is a whole JSON document, each with its key.

use crate::assignment::{NameWeight, names_many, weigh};
use serde_json::value::RawValue;
use std::{borrow::Cow, ops::Range};

/// Maximum nesting; deeper documents are treated as text.
const MAX_DEPTH: usize = 1024;
/// Maximum bytes of a key, including escapes.
const MAX_KEY_BYTES: usize = 512;

/// An object or array that is open at a position.
#[derive(Default)]
struct OpenContainer {
    is_object: bool,
    /// The key of the next value; in an array, the key of the array.
    key: Option<Range<usize>>,
    wants_key: bool,
    /// The most indicative of the strings under `name` and `key` and the key of the object itself.
    name: Option<(NameWeight, Range<usize>)>,
    values: Vec<Range<usize>>,
    /// Strings in a list under `value`.
    listed: Vec<Range<usize>>,
    /// For such a list, the index of its object.
    holder: Option<usize>,
}

impl OpenContainer {
    /// Records the string under the last key, if it is a name or a value.
    fn note(&mut self, text: &str, string: Range<usize>) {
        let key = self.key.as_ref().filter(|_| self.is_object).and_then(|key| short(text, key));
        match key {
            Some(key) if is_name(&key) => {
                let weight = short(text, &string).and_then(|name| weigh(&name));
                let known = self.name.as_ref().map(|(weight, _)| *weight);
                if let Some(weight) =
                    weight.filter(|weight| known.is_none_or(|known| *weight < known))
                {
                    self.name = Some((weight, string));
                }
            }
            Some(key) if is_value(&key) => self.values.push(string),
            _ => {}
        }
    }

    /// Calls `tell` with each string whose name is next to it.
    fn named(&self, text: &str, mut tell: impl FnMut(&Range<usize>, &Range<usize>)) {
        let Some((_, name)) = &self.name else { return };
        self.values.iter().for_each(|value| tell(name, value));
        if short(text, name).is_some_and(|name| names_many(&name)) {
            self.listed.iter().for_each(|value| tell(name, value));
        }
    }
}

/// Creates the state of an object or array that starts inside others.
fn opened(text: &str, is_object: bool, open: &[OpenContainer]) -> OpenContainer {
    let key = open.last().and_then(|around| around.key.clone());
    if is_object {
        let weight = key.as_ref().and_then(|key| weigh(&short(text, key)?));
        return OpenContainer {
            is_object,
            wants_key: true,
            name: weight.zip(key),
            ..OpenContainer::default()
        };
    }
    let around = open.last();
    let is_value = |key: &Range<usize>| short(text, key).is_some_and(|key| is_value(&key));
    let holder = around.and_then(|around| match &around.key {
        Some(key) if around.is_object => is_value(key).then(|| open.len() - 1),
        _ => around.holder,
    });
    let key = key.filter(|key| short(text, key).is_some_and(|key| names_many(&key)));
    OpenContainer { key, holder, ..OpenContainer::default() }
}

/// Whether the text is exactly one JSON object or array.
fn is_document(text: &str) -> bool {
    let whole = text.trim_matches([' ', '\t', '\r', '\n']);
    let encloses = |open: char, close: char| whole.starts_with(open) && whole.ends_with(close);
    (encloses('{', '}') || encloses('[', ']')) && serde_json::from_str::<&RawValue>(whole).is_ok()
}

/// Calls `each` with each string, its key and its range in the text. Does nothing if the text is not a document.
pub(crate) fn strings(text: &str, mut each: impl FnMut(&str, &str, Range<usize>)) {
    if !is_document(text) {
        return;
    }
    let mut tell = |key: &Range<usize>, value: &Range<usize>| {
        if let Some((key, value_text)) = short(text, key).zip(decoded(text, value)) {
            each(&key, &value_text, value.clone());
        }
    };
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                open.push(opened(text, *byte == b'{', &open));
                if open.len() > MAX_DEPTH {
                    return;
                }
            }
            b'}' | b']' => {
                if let Some(closed) = open.pop() {
                    closed.named(text, &mut tell);
                }
            }
            b',' => {
                if let Some(around) = open.last_mut() {
                    around.wants_key = around.is_object;
                }
            }
            b'"' => {
                let string = at..at + length(text.as_bytes().get(at..).unwrap_or_default());
                at = string.end + 1;
                let Some(around) = open.last_mut() else { return };
                if around.wants_key {
                    (around.key, around.wants_key) = (Some(string), false);
                    continue;
                }
                if let Some(key) = &around.key {
                    tell(key, &string);
                }
                around.note(text, string.clone());
                let holder = around.holder.and_then(|holder| open.get_mut(holder));
                if let Some(holder) = holder {
                    holder.listed.push(string);
                }
            }
            _ => {}
        }
    }
}

/// Whether a key contains the name of a sibling value: `{"name": "DB_PASSWORD", "value": "…"}`.
pub(crate) fn is_name(key: &str) -> bool {
    key.eq_ignore_ascii_case("name") || key.eq_ignore_ascii_case("key")
}

/// Whether a key contains the value for a sibling name.
pub(crate) fn is_value(key: &str) -> bool {
    key.eq_ignore_ascii_case("value") || key.eq_ignore_ascii_case("default")
}

/// Returns the length of a string up to its closing quote.
fn length(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return at.min(bytes.len()),
            Some(_) => at += 1,
        }
    }
}

/// Decodes a key or a name, unless it is too long.
fn short<'a>(text: &'a str, inside: &Range<usize>) -> Option<Cow<'a, str>> {
    if inside.len() > MAX_KEY_BYTES { None } else { decoded(text, inside) }
}

fn decoded<'a>(text: &'a str, inside: &Range<usize>) -> Option<Cow<'a, str>> {
    let raw = text.get(inside.clone())?;
    if !raw.contains('\\') {
        return Some(Cow::Borrowed(raw));
    }
    let quoted = text.get(inside.start.checked_sub(1)?..inside.end + 1)?;
    serde_json::from_str(quoted).ok().map(Cow::Owned)
}
