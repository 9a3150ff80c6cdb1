//! Walks JSON: every string and every key, at any depth, without recursion.

use crate::{Screen, assignment, search::marker, value, visible};
use serde_json::{Map, Value};
use std::{borrow::Cow, rc::Rc};

impl Screen {
    /// Redacts in place: strings, keys, and the string under a key such as `password`. Returns how many were changed.
    pub fn redact_json(&self, value: &mut Value) -> usize {
        rewrite(value, |key, text| match key.and_then(assignment::secret_key) {
            Some(kind) if !value::is_placeholder(text) => Some(marker(kind)),
            _ => owned(self.redact(text)),
        })
    }
}

/// Makes hidden characters visible in place, in strings and in keys. Returns how many were changed.
pub fn visible_json(value: &mut Value) -> usize {
    rewrite(value, |_, text| owned(visible(text)))
}

fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

/// Gives every string, with the key it is under, and every key to `change`, which answers what is to stand instead.
fn rewrite(value: &mut Value, change: impl Fn(Option<&str>, &str) -> Option<String>) -> usize {
    let mut changed = 0;
    let mut left: Vec<(Option<Rc<str>>, &mut Value)> = vec![(None, value)];
    while let Some((key, value)) = left.pop() {
        match value {
            Value::String(text) => {
                if let Some(other) = change(key.as_deref(), text) {
                    *text = other;
                    changed += 1;
                }
            }
            Value::Array(items) => {
                // The items of `"passwords": [..]` are under its key too.
                left.extend(items.iter_mut().map(|item| (key.clone(), item)));
            }
            Value::Object(map) => {
                changed += rename(map, &change);
                left.extend(
                    map.iter_mut().map(|(key, value)| (Some(Rc::from(key.as_str())), value)),
                );
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    changed
}

/// Rewrites the keys of an object, in their order; two keys that become the same are numbered.
fn rename(
    map: &mut Map<String, Value>,
    change: &impl Fn(Option<&str>, &str) -> Option<String>,
) -> usize {
    if map.keys().all(|key| change(None, key).is_none()) {
        return 0;
    }
    let mut changed = 0;
    let mut renamed = Map::new();
    for (key, value) in std::mem::take(map) {
        let other = change(None, &key);
        changed += usize::from(other.is_some());
        let mut name = other.unwrap_or(key);
        // The count of renamed keys only grows, so that many equal ones don't try the same numbers again.
        let plain = name.clone();
        let mut number = changed.max(2);
        while renamed.contains_key(&name) {
            name = format!("{plain} {number}");
            number += 1;
        }
        renamed.insert(name, value);
    }
    *map = renamed;
    changed
}
