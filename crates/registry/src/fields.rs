//! Takes fields out of an entry by name, with a problem for each of the wrong type. The remaining fields are unknown.

use crate::problem::EntryProblem;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::time::Duration;

/// The fields of one entry.
#[derive(Debug)]
pub(crate) struct EntryFields {
    map: Map<String, Value>,
    problems: Vec<EntryProblem>,
    /// Whether an essential field is invalid.
    broken: bool,
    /// Whether further problems don't break the entry.
    aside: bool,
}

/// A value, or the file that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextOrFile {
    Text(String),
    File(String),
}

/// Unit of a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Seconds,
    Milliseconds,
}

impl EntryFields {
    pub(crate) const fn new(map: Map<String, Value>) -> Self {
        Self { map, problems: Vec::new(), broken: false, aside: false }
    }

    /// From here on, problems are reported but don't break the entry.
    pub(crate) const fn tolerate_problems(&mut self) {
        self.aside = true;
    }

    /// Returns the remaining fields, the problems, and whether the entry is unusable.
    pub(crate) fn finish(self) -> (Map<String, Value>, Vec<EntryProblem>, bool) {
        (self.map, self.problems, self.broken)
    }

    pub(crate) fn add_problem(&mut self, field: &str, what: &str, remedy: &str) {
        self.broken |= !self.aside;
        self.problems.push(EntryProblem::new(what, remedy).in_field(field));
    }

    /// Takes the first of these fields that exists and is not null.
    pub(crate) fn take<'a>(&mut self, names: &[&'a str]) -> Option<(&'a str, Value)> {
        names.iter().find_map(|name| {
            let value = self.map.shift_remove(*name)?;
            (!value.is_null()).then_some((*name, value))
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|value| !value.is_null())
    }

    /// Adds the fields of another object that don't exist yet.
    pub(crate) fn merge(&mut self, other: Map<String, Value>) {
        for (name, value) in other {
            self.map.entry(name).or_insert(value);
        }
    }

    pub(crate) fn text(&mut self, names: &[&str]) -> Option<String> {
        let (name, value) = self.take(names)?;
        let text = scalar(value);
        if text.is_none() {
            self.add_problem(name, "it is not a string", "write a string in quotes");
        }
        text
    }

    pub(crate) fn texts(&mut self, names: &[&str]) -> Vec<String> {
        let Some((name, value)) = self.take(names) else { return Vec::new() };
        let texts = match value {
            Value::Array(items) => items.into_iter().map(scalar).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        if texts.is_none() {
            self.add_problem(
                name,
                "it is not a list of strings",
                "write strings in quotes between [ and ]",
            );
        }
        texts.unwrap_or_default()
    }

    pub(crate) fn flag(&mut self, names: &[&str]) -> Option<bool> {
        let (name, value) = self.take(names)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.add_problem(name, "it is not true or false", "write true or false without quotes");
        }
        flag
    }

    pub(crate) fn number(&mut self, names: &[&str]) -> Option<f64> {
        let (name, value) = self.take(names)?;
        let number = value.as_f64();
        if number.is_none() {
            self.add_problem(name, "it is not a number", "write a number without quotes");
        }
        number
    }

    /// Takes a duration: the first of these fields, each with its unit.
    pub(crate) fn duration(&mut self, names: &[(&str, TimeUnit)]) -> Option<Duration> {
        let (name, unit) = *names.iter().find(|(name, _)| self.has(name))?;
        let number = self.number(&[name])?;
        let seconds = match unit {
            TimeUnit::Seconds => number,
            TimeUnit::Milliseconds => number / 1000.0,
        };
        let duration = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        if duration.is_none() {
            self.add_problem(name, "it is not a duration", "write a number greater than 0");
        }
        duration
    }

    /// Takes names with strings, or with the files that contain them (`{"file": "path"}`).
    pub(crate) fn pairs(&mut self, names: &[&str]) -> IndexMap<String, TextOrFile> {
        let Some((field, value)) = self.take(names) else { return IndexMap::new() };
        let Value::Object(map) = value else {
            self.add_problem(
                field,
                "it is not an object",
                "write names with strings between { and }",
            );
            return IndexMap::new();
        };
        let mut pairs = IndexMap::new();
        for (name, value) in map {
            match held(value) {
                Some(held) => {
                    pairs.insert(name, held);
                }
                None => self.add_problem(
                    &format!("{field}.{name}"),
                    "it is neither a string nor a file",
                    "write a string in quotes, or {\"file\": \"path\"}",
                ),
            }
        }
        pairs
    }
}

/// Converts numbers and booleans to strings: many people write a port without quotes.
fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn held(value: Value) -> Option<TextOrFile> {
    if let Value::Object(map) = &value {
        let path = map.get("file")?.as_str()?;
        return (map.len() == 1).then(|| TextOrFile::File(path.to_owned()));
    }
    scalar(value).map(TextOrFile::Text)
}
