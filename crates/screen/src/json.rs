//! Walks JSON: every string and every key, at any depth, without recursion.

use crate::{Screen, assignment, document, search::marker, visible};
use serde_json::{Map, Value};
use std::{borrow::Cow, rc::Rc};

/// Which part of an object's member is left unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepMember {
    /// Nothing: all of it is screened.
    Nothing,
    /// The names in the object under it; their values are screened.
    Names,
    /// The whole value.
    Whole,
}

impl Screen {
    /// Redacts in place: strings, keys, and the string under a key such as `password`. Returns how many were changed.
    pub fn redact_json(&self, value: &mut Value) -> usize {
        self.redact_json_but(value, |_, _| KeepMember::Nothing)
    }

    /// The same, except for members that must stay: `stays` gets the object and the member's name.
    pub fn redact_json_but(
        &self,
        value: &mut Value,
        stays: impl Fn(&Map<String, Value>, &str) -> KeepMember,
    ) -> usize {
        let entropy = self.options().entropy;
        let change = |key: Option<&str>, text: &str| match key
            .and_then(|key| assignment::secret_kind(key, text, entropy))
        {
            Some(kind) => Some(marker(kind)),
            None => owned(self.redact(text)),
        };
        rewrite(value, change, stays)
    }
}

/// Makes hidden characters visible in place, in strings and in keys. Returns how many were changed.
pub fn visible_json(value: &mut Value) -> usize {
    visible_json_but(value, |_, _| KeepMember::Nothing)
}

/// The same, except for members that must stay: `stays` gets the object and the member's name.
pub fn visible_json_but(
    value: &mut Value,
    stays: impl Fn(&Map<String, Value>, &str) -> KeepMember,
) -> usize {
    rewrite(value, |_, text| owned(visible(text)), stays)
}

fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

/// A value that is still to be screened.
struct PendingValue<'a> {
    /// The key that it is under.
    key: Option<Rc<str>>,
    /// Whether `key` is not its own key, but a name from a sibling or a parent.
    is_called: bool,
    /// Whether its own keys stay.
    named: bool,
    value: &'a mut Value,
}

/// Calls `change` with every string and its key, and with every key; it returns the replacement, if any.
fn rewrite(
    value: &mut Value,
    change: impl Fn(Option<&str>, &str) -> Option<String>,
    stays: impl Fn(&Map<String, Value>, &str) -> KeepMember,
) -> usize {
    let mut changed = 0;
    let mut left = vec![PendingValue { key: None, is_called: false, named: false, value }];
    while let Some(PendingValue { key, is_called, named, value }) = left.pop() {
        match value {
            Value::String(text) => {
                if let Some(other) = change(key.as_deref(), text) {
                    *text = other;
                    changed += 1;
                }
            }
            Value::Array(items) => {
                // The items of `"passwords": [..]` are under its key too.
                let key = key.filter(|key| assignment::names_many(key));
                let left_of =
                    |value| PendingValue { key: key.clone(), is_called, named: false, value };
                left.extend(items.iter_mut().map(left_of));
            }
            Value::Object(map) => {
                let kept: Vec<KeepMember> = map.keys().map(|name| stays(map, name)).collect();
                if !named {
                    changed += rename(map, &change);
                }
                let called = called(map, key.as_deref().filter(|_| !is_called));
                let members = map.iter_mut().zip(kept);
                left.extend(members.filter(|(_, stays)| *stays != KeepMember::Whole).map(
                    |((key, value), stays)| {
                        let called = called.clone().filter(|_| document::is_value(key));
                        let is_called = called.is_some();
                        let key = Some(called.unwrap_or_else(|| Rc::from(key.as_str())));
                        PendingValue { key, is_called, named: stays == KeepMember::Names, value }
                    },
                ));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    changed
}

/// Returns the name of the `value` in an object: `{"name": "DB_PASSWORD", "value": "…"}`, or the key of the object:
/// `"password": {"value": "…"}`. Of several, the most indicative one.
fn called(map: &Map<String, Value>, key: Option<&str>) -> Option<Rc<str>> {
    let names = map.iter().filter(|(key, _)| document::is_name(key));
    let names = names.filter_map(|(_, name)| name.as_str()).chain(key);
    let telling = names.filter_map(|name| Some((assignment::weigh(name)?, name)));
    telling.min_by_key(|(weight, _)| *weight).map(|(_, name)| Rc::from(name))
}

/// Rewrites the keys of an object in order; keys that become equal are numbered.
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
