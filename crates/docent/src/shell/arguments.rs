//! Converts words on the command line to the arguments of a tool or a prompt.
//!
//! `key=value` is converted by the schema, `key:=JSON` is raw JSON, `a.b=1` sets a field of an object, `key=@file` and
//! `key=-` read a file and standard input. A word without a key goes to the only required argument.

use super::{
    console::{ShellConsole, read_bounded},
    schema::{ArgumentSchema, SchemaProperty, nearest},
    typing,
};
use crate::{analyze::UsageError, config::regular};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};
use std::{cell::Cell, path::Path};

/// Maximum number of keys that an error lists.
const MAX_LISTED_KEYS: usize = 40;
/// Maximum nesting of objects in a key.
const MAX_KEY_DEPTH: usize = 32;

/// Sources of arguments besides the words.
pub(crate) struct ArgumentSources<'a> {
    console: &'a ShellConsole,
    folder: &'a Path,
    /// Standard input can be read once.
    input_taken: Cell<bool>,
}

/// The value in a word.
enum ArgumentText {
    /// Text to convert by the schema.
    Text(String),
    /// Raw JSON.
    Raw(Value),
}

/// A key with its values, in the order typed.
struct ArgumentEntry<'s> {
    path: Vec<String>,
    schema: ArgumentSchema<'s>,
    given: Vec<ArgumentText>,
}

type Outcome<T> = Result<T, UsageError>;

fn usage_error<T>(message: impl Into<String>) -> Outcome<T> {
    Err(UsageError(message.into()))
}

impl<'a> ArgumentSources<'a> {
    /// Relative paths start at `folder`.
    pub(crate) fn new(console: &'a ShellConsole, folder: &'a Path) -> Self {
        Self { console, folder, input_taken: Cell::new(false) }
    }

    fn input(&self) -> Outcome<Vec<u8>> {
        if self.input_taken.replace(true) {
            return usage_error("only one argument can be read from standard input (`-`)");
        }
        let read = self.console.read_input();
        read.map_err(|error| UsageError(format!("cannot read standard input: {error}")))
    }

    fn file(&self, path: &str, hint: &str) -> Outcome<Vec<u8>> {
        let place = self.folder.join(path);
        let read = regular::open_argument(&place).and_then(|mut file| read_bounded(&mut file));
        read.map_err(|error| UsageError(format!("cannot read {}: {error}{hint}", place.display())))
    }

    /// Returns the object given with `--json`: as text, `@file`, or `-`.
    pub(crate) fn object(&self, given: &str) -> Outcome<Map<String, Value>> {
        let text = match (given, given.strip_prefix('@')) {
            ("-", _) => self.input()?,
            (_, Some(path)) => self.file(path, "")?,
            _ => given.as_bytes().to_vec(),
        };
        match serde_json::from_slice(&text) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => {
                usage_error("--json takes an object of arguments, such as '{\"path\": \".\"}'")
            }
            Err(error) => usage_error(format!("invalid JSON in --json: {error}")),
        }
    }

    /// Returns the value of a word, read from a file (`@file`) or standard input (`-`).
    fn read(&self, key: &str, typed: &str, schema: ArgumentSchema<'_>) -> Outcome<String> {
        let bytes = if typed == "-" {
            self.input()?
        } else if let Some(path) = typed.strip_prefix('@') {
            let hint = format!("; for text that begins with @ use {key}:='\"@…\"'");
            self.file(path, &hint)?
        } else {
            return Ok(typed.to_owned());
        };
        let branches = schema.branches();
        let encoded = branches.iter().any(|one| {
            let encoding = one.schema.text("contentEncoding");
            encoding.is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"))
        });
        if encoded {
            return Ok(BASE64_STANDARD.encode(&bytes));
        }
        String::from_utf8(bytes).or_else(|_| {
            usage_error(format!(
                "{key}: the contents of {typed} are not UTF-8 text, and the schema does not accept base64"
            ))
        })
    }
}

/// Converts the words to arguments. Checks only for unknown and missing keys.
pub(crate) fn gather(
    schema: ArgumentSchema<'_>,
    words: &[String],
    sources: &ArgumentSources<'_>,
) -> Outcome<Map<String, Value>> {
    let mut arguments = Map::new();
    add(schema, words, sources, &mut arguments)?;
    let missing: Vec<SchemaProperty<'_>> = schema
        .properties()
        .into_iter()
        .filter(|one| one.required && !arguments.contains_key(one.name))
        .collect();
    if missing.is_empty() {
        return Ok(arguments);
    }
    let lines = missing.iter().map(|one| format!("\n  {}", line(one)));
    let plural = if missing.len() == 1 { "" } else { "s" };
    usage_error(format!("missing required argument{plural}:{}", lines.collect::<String>()))
}

/// Merges the words into the arguments.
pub(crate) fn add(
    schema: ArgumentSchema<'_>,
    words: &[String],
    sources: &ArgumentSources<'_>,
    arguments: &mut Map<String, Value>,
) -> Outcome<()> {
    let mut entries: Vec<ArgumentEntry<'_>> = Vec::new();
    for word in words {
        let (key, raw, typed) = split(schema, word)?;
        let (path, at) = find(schema, &key)?;
        let given = if raw {
            let value = serde_json::from_str(typed).map_err(|error| {
                UsageError(format!(
                    "{key}:= expects JSON, but {typed:?} is not valid: {error}; for text use {key}=…"
                ))
            })?;
            ArgumentText::Raw(value)
        } else {
            ArgumentText::Text(sources.read(&key, typed, at)?)
        };
        match entries.iter_mut().find(|entry| entry.path == path) {
            Some(entry) => entry.given.push(given),
            None => entries.push(ArgumentEntry { path, schema: at, given: vec![given] }),
        }
    }
    for entry in entries {
        let key = entry.path.join(".");
        let value =
            single_value(&entry).map_err(|problem| UsageError(format!("{key} {problem}")))?;
        put(arguments, &entry.path, value).map_err(|()| {
            UsageError(format!(
                "{key} conflicts with another argument that contains it or is part of it: give one of them"
            ))
        })?;
    }
    Ok(())
}

/// Returns the value of a key.
fn single_value(entry: &ArgumentEntry<'_>) -> Result<Value, String> {
    if let [ArgumentText::Raw(value)] = entry.given.as_slice() {
        return Ok(value.clone());
    }
    let texts = entry.given.iter().map(|given| match given {
        ArgumentText::Text(text) => Ok(text.clone()),
        ArgumentText::Raw(_) => {
            Err("is given more than once, but := sets the whole value".to_owned())
        }
    });
    typing::values(entry.schema, &texts.collect::<Result<Vec<_>, _>>()?)
}

/// Splits a word into its key, whether its value is raw, and the value.
fn split<'w>(schema: ArgumentSchema<'_>, word: &'w str) -> Outcome<(String, bool, &'w str)> {
    let known = schema.properties();
    let is_known = |key: &str| known.iter().any(|one| one.name == key);
    if let Some((before, value)) = word.split_once('=') {
        let (key, raw) = match before.strip_suffix(':') {
            Some(key) if !is_known(before) => (key, true),
            _ => (before, false),
        };
        if is_known(key) || looks_like_key(key) {
            return Ok((key.to_owned(), raw, value));
        }
    }
    let required: Vec<&SchemaProperty<'_>> = known.iter().filter(|one| one.required).collect();
    let only = match (required.as_slice(), known.as_slice()) {
        ([only], _) => only.name,
        ([], [only]) => only.name,
        _ => {
            return usage_error(format!("{word:?} has no key: use key=value; {}", list(&known)));
        }
    };
    Ok((only.to_owned(), false, word))
}

fn looks_like_key(key: &str) -> bool {
    let mut letters = key.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && letters.all(|c| c.is_alphanumeric() || "_-.$".contains(c))
}

/// Resolves a key to the path of names and the schema there.
fn find<'s>(schema: ArgumentSchema<'s>, key: &str) -> Outcome<(Vec<String>, ArgumentSchema<'s>)> {
    let mut path = Vec::new();
    let mut at = schema;
    let mut rest = key;
    while path.len() < MAX_KEY_DEPTH {
        let known = at.properties();
        // A name may contain dots, so the longest known one wins.
        let whole = known.iter().filter(|one| {
            rest == one.name
                || rest.strip_prefix(one.name).is_some_and(|after| after.starts_with('.'))
        });
        if let Some(one) = whole.max_by_key(|one| one.name.len()) {
            path.push(one.name.to_owned());
            let after = rest.get(one.name.len() + 1..);
            let Some(after) = after else { return Ok((path, one.schema)) };
            (at, rest) = (one.schema, after);
            continue;
        }
        let Some(other) = at.other_keys() else { return unknown(&path, rest, &known) };
        let (name, after) =
            rest.split_once('.').map_or((rest, None), |(n, after)| (n, Some(after)));
        path.push(name.to_owned());
        let Some(after) = after else { return Ok((path, other)) };
        (at, rest) = (other, after);
    }
    usage_error(format!("{key} is nested deeper than {MAX_KEY_DEPTH} objects: use JSON"))
}

fn unknown<T>(path: &[String], key: &str, known: &[SchemaProperty<'_>]) -> Outcome<T> {
    let near = nearest(key, known.iter().map(|one| one.name));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let place = if path.is_empty() { String::new() } else { format!(" in {}", path.join(".")) };
    usage_error(format!("unknown argument {key}{place}{near}; {}", list(known)))
}

fn list(known: &[SchemaProperty<'_>]) -> String {
    if known.is_empty() {
        return "no arguments are accepted".into();
    }
    let all = known.iter().take(MAX_LISTED_KEYS).map(|one| format!("\n  {}", line(one)));
    let more = known.len().saturating_sub(MAX_LISTED_KEYS);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    format!("accepted:{}{more}", all.collect::<String>())
}

/// Describes an argument in one line.
fn line(one: &SchemaProperty<'_>) -> String {
    let accepted = one.schema.accepted();
    let accepted = if accepted.is_empty() { accepted } else { format!(": {accepted}") };
    let required = if one.required { ", required" } else { "" };
    format!("{} ({}{required}){accepted}", one.name, one.schema.kind_words())
}

/// Sets a value at a path, creating objects as needed.
fn put(object: &mut Map<String, Value>, path: &[String], value: Value) -> Result<(), ()> {
    let Some((first, rest)) = path.split_first() else { return Err(()) };
    if rest.is_empty() {
        // An object with a field set can't be replaced as a whole.
        let replaced = object.insert(first.clone(), value);
        return if replaced.is_some_and(|old| old.is_object()) { Err(()) } else { Ok(()) };
    }
    let inner = object.entry(first.clone()).or_insert_with(|| Value::Object(Map::new()));
    put(inner.as_object_mut().ok_or(())?, rest, value)
}
