//! A text that is a whole JSON document: its strings where they stand, each with the key that it is under.

use crate::assignment::names_many;
use serde_json::value::RawValue;
use std::{borrow::Cow, ops::Range};

/// Deeper documents are read as text alone.
const DEEPEST: usize = 1024;
/// In bytes as they are written, escapes and all.
const LONGEST_KEY: usize = 512;

/// What is open around a place.
struct Open {
    is_object: bool,
    /// The key of what comes next; in an array, the key that the array is under.
    key: Option<Range<usize>>,
    wants_key: bool,
    /// The strings under `name` and under `value`, which belong together.
    name: Option<Range<usize>>,
    values: Vec<Range<usize>>,
}

/// Whether the text is an object or an array of JSON, and nothing else.
pub(crate) fn is_document(text: &str) -> bool {
    let whole = text.trim_matches([' ', '\t', '\r', '\n']);
    let encloses = |open: char, close: char| whole.starts_with(open) && whole.ends_with(close);
    (encloses('{', '}') || encloses('[', ']')) && serde_json::from_str::<&RawValue>(whole).is_ok()
}

/// Gives each string with its key to `each`, as a range of the text, and the key's text. Nothing, if it is no document.
pub(crate) fn strings(text: &str, mut each: impl FnMut(&str, &str, Range<usize>)) {
    if !is_document(text) {
        return;
    }
    let mut tell = |key: &Range<usize>, value: &Range<usize>| {
        // No name is longer, and a list of many strings is under one key.
        if key.len() > LONGEST_KEY {
            return;
        }
        if let Some((key, value_text)) = decoded(text, key).zip(decoded(text, value)) {
            each(&key, &value_text, value.clone());
        }
    };
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                let is_object = *byte == b'{';
                let key = open.last().filter(|_| !is_object).and_then(|around| around.key.clone());
                let key = key.filter(|key| decoded(text, key).is_some_and(|key| names_many(&key)));
                let (name, values) = (None, Vec::new());
                open.push(Open { is_object, key, wants_key: is_object, name, values });
                if open.len() > DEEPEST {
                    return;
                }
            }
            b'}' | b']' => {
                if let Some(Open { name: Some(name), values, .. }) = open.pop() {
                    for value in &values {
                        tell(&name, value);
                    }
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
                } else if let Some(key) = &around.key {
                    tell(key, &string);
                    match text.get(key.clone()).filter(|_| around.is_object) {
                        Some(key) if is_name(key) => around.name = Some(string),
                        Some(key) if is_value(key) => around.values.push(string),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether what is under this key names what is beside it: `{"name": "DB_PASSWORD", "value": "…"}`.
pub(crate) fn is_name(key: &str) -> bool {
    key.eq_ignore_ascii_case("name") || key.eq_ignore_ascii_case("key")
}

/// Whether what is under this key is what is named beside it.
pub(crate) fn is_value(key: &str) -> bool {
    key.eq_ignore_ascii_case("value") || key.eq_ignore_ascii_case("default")
}

/// Up to the quote that ends a string.
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

fn decoded<'a>(text: &'a str, inside: &Range<usize>) -> Option<Cow<'a, str>> {
    let raw = text.get(inside.clone())?;
    if !raw.contains('\\') {
        return Some(Cow::Borrowed(raw));
    }
    let quoted = text.get(inside.start.checked_sub(1)?..inside.end + 1)?;
    serde_json::from_str(quoted).ok().map(Cow::Owned)
}
