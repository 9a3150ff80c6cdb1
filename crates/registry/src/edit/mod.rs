//! Adds docent to a client's file and removes it, by editing the text, so that everything else stays unchanged.
//!
//! Each edit is checked by parsing the result: only the entry may differ. A file that is too unusual for that is not
//! changed.

mod json;
mod toml;
mod yaml;

use crate::{
    client::{FileSyntax, McpClient},
    entry::{self, EntryDialect, ParsedEntry},
    parse::{parse, split_byte_order_mark},
    problem::EntryProblem,
    server::McpServerEntry,
    shape::{is_equivalent, write_entry_for, write_own_entry},
};
use serde_json::{Map, Value};

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedText {
    /// The whole text.
    pub text: String,
    /// Whether the text was changed.
    pub changed: bool,
    /// Whether the block of servers was created for the entry, or removed with it.
    pub block: bool,
}

/// A change of the text.
enum EntryChange<'a> {
    /// Appends the entry to the block.
    Add(&'a Value),
    /// Replaces the existing entry.
    Replace(&'a Value),
    Remove,
}

/// Location of the entry.
struct EntryLocation<'a> {
    syntax: FileSyntax,
    block: &'a str,
    manner: EntryDialect,
    name: &'a str,
}

impl<'a> EntryLocation<'a> {
    fn of(client: McpClient, name: &'a str) -> Self {
        let (syntax, block) = (client.syntax(), client.block());
        Self { syntax, block, manner: EntryDialect::of(client), name }
    }

    /// In docent.toml.
    const fn own(name: &'a str) -> Self {
        Self { syntax: FileSyntax::Toml, block: "mcp_servers", manner: EntryDialect::DOCENT, name }
    }
}

/// The text, and whether a block was created.
type EditResult = Result<(String, bool), EntryProblem>;

/// Adds a server to the text of a client's file; `None` is a missing file. An equivalent entry is left unchanged; a
/// different one of the same name is replaced if `replace` is set.
pub fn with_server(
    client: McpClient,
    text: Option<&str>,
    name: &str,
    server: &McpServerEntry,
    replace: bool,
) -> Result<EditedText, EntryProblem> {
    let wanted = write_entry_for(client, name, server).map_err(|problem| problem.in_entry(name))?;
    put_entry(&EntryLocation::of(client, name), text, wanted, replace)
}

/// Adds a server with all its settings as a table to the text of docent.toml.
pub fn with_table(
    text: Option<&str>,
    server: &McpServerEntry,
    replace: bool,
) -> Result<EditedText, EntryProblem> {
    put_entry(&EntryLocation::own(&server.name), text, write_own_entry(server), replace)
}

/// Removes a server from the text of docent.toml.
pub fn without_table(text: &str, name: &str) -> Result<EditedText, EntryProblem> {
    remove_entry(&EntryLocation::own(name), text, false)
}

fn put_entry(
    place: &EntryLocation<'_>,
    text: Option<&str>,
    mut wanted: Value,
    replace: bool,
) -> Result<EditedText, EntryProblem> {
    let name = place.name;
    let at = |problem: EntryProblem| problem.in_entry(name);
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(at(EntryProblem::new(
            "the name is not valid",
            "give the entry a readable name",
        )));
    }
    let (mark, text) = split_byte_order_mark(text.unwrap_or_default());
    let before = parse(place.syntax, text)?;
    let understood = understand(place, wanted.clone()).ok_or_else(|| {
        at(EntryProblem::new("the entry is not valid", "give it a command or an address"))
    })?;
    // Descriptions of a server are compared only in docent's own file; those in a client's file are left to its user.
    let own = place.manner.is_own();
    let says = |server: &McpServerEntry| (server.meta.clone(), server.secrets.clone());
    let is_wanted = |server: &McpServerEntry| {
        is_equivalent(server, &understood) && (!own || says(server) == says(&understood))
    };
    let there = block_of(&before, place)?.and_then(|block| block.get(name));
    let change = match there {
        None => EntryChange::Add(&wanted),
        Some(there) => {
            let server = understand(place, there.clone());
            if server.as_ref().is_some_and(is_wanted) {
                let text = format!("{mark}{text}");
                return Ok(EditedText { text, changed: false, block: false });
            }
            if !replace {
                return Err(at(conflicting_entry(server.as_ref(), &understood)));
            }
            let kept = with_unknown(server, &wanted);
            // Unused fields of the old entry may have a meaning in the new one.
            let read = understand(place, kept.clone());
            if read.as_ref().is_some_and(is_wanted) {
                wanted = kept;
            }
            EntryChange::Replace(&wanted)
        }
    };
    let (after, block) = edit(place, text, &change).map_err(at)?;
    check(place, &before, &change, &after).map_err(at)?;
    let text = format!("{mark}{after}");
    Ok(EditedText { text, changed: true, block })
}

/// Removes a server from the text of a client's file. An empty block is removed as well if `drop_block` is set, as it
/// should be if the block was created for the entry.
pub fn without_server(
    client: McpClient,
    text: &str,
    name: &str,
    drop_block: bool,
) -> Result<EditedText, EntryProblem> {
    remove_entry(&EntryLocation::of(client, name), text, drop_block)
}

fn remove_entry(
    place: &EntryLocation<'_>,
    text: &str,
    drop_block: bool,
) -> Result<EditedText, EntryProblem> {
    let name = place.name;
    let (mark, text) = split_byte_order_mark(text);
    let before = parse(place.syntax, text)?;
    let block = block_of(&before, place)?;
    if block.is_none_or(|block| !block.contains_key(name)) {
        return Ok(EditedText { text: format!("{mark}{text}"), changed: false, block: false });
    }
    let last = block.is_some_and(|block| block.len() == 1);
    let at = |problem: EntryProblem| problem.in_entry(name);
    let (mut after, _) = edit(place, text, &EntryChange::Remove).map_err(at)?;
    let dropped = last && drop_block;
    if dropped {
        after = match place.syntax {
            FileSyntax::Json | FileSyntax::JsonWithComments => json::drop_block(place, &after),
            FileSyntax::Toml => Ok(after),
            FileSyntax::Yaml => yaml::drop_block(place, &after),
        }
        .map_err(at)?;
    }
    check(place, &before, &EntryChange::Remove, &after).map_err(at)?;
    Ok(EditedText { text: format!("{mark}{after}"), changed: true, block: dropped })
}

fn edit(place: &EntryLocation<'_>, text: &str, change: &EntryChange<'_>) -> EditResult {
    match place.syntax {
        FileSyntax::Json | FileSyntax::JsonWithComments => json::edit(place, text, change),
        FileSyntax::Toml => toml::edit(place, text, change),
        FileSyntax::Yaml => yaml::edit(place, text, change),
    }
}

/// Checks that the text differs only by the change.
fn check(
    place: &EntryLocation<'_>,
    before: &Value,
    change: &EntryChange<'_>,
    after: &str,
) -> Result<(), EntryProblem> {
    let mut expected = before.clone();
    let mut found = parse(place.syntax, after).unwrap_or_default();
    // An empty block means the same as a missing one.
    for value in [&mut expected, &mut found] {
        let Some(root) = value.as_object_mut() else { return Err(unsafe_edit()) };
        let block = root.entry(place.block).or_insert(Value::Null);
        if block.is_null() {
            *block = Value::Object(Map::new());
        }
    }
    let block =
        expected.get_mut(place.block).and_then(Value::as_object_mut).ok_or_else(unsafe_edit)?;
    match change {
        EntryChange::Add(entry) | EntryChange::Replace(entry) => {
            block.insert(place.name.to_owned(), (*entry).clone());
        }
        EntryChange::Remove => {
            block.shift_remove(place.name);
        }
    }
    if same(&expected, &found) { Ok(()) } else { Err(unsafe_edit()) }
}

/// Compares values; numbers are equal if their values are, such as 30 and 30.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|one| other.as_f64() == Some(one))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

fn unsafe_edit() -> EntryProblem {
    EntryProblem::new(
        "the file is written in a way that can't be edited safely, and is left as it is",
        "change it by hand",
    )
}

fn block_of<'a>(
    root: &'a Value,
    place: &EntryLocation<'_>,
) -> Result<Option<&'a Map<String, Value>>, EntryProblem> {
    let wrong = |what: &str| EntryProblem::new(what, "fix the file by hand");
    let root = root.as_object().ok_or_else(|| wrong("the file is not an object"))?;
    match root.get(place.block) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(block)) => Ok(Some(block)),
        Some(_) => Err(wrong("it is not an object of entries").in_field(place.block)),
    }
}

fn understand(place: &EntryLocation<'_>, value: Value) -> Option<McpServerEntry> {
    match entry::read(place.name, value, place.manner) {
        (ParsedEntry::Server(server), _) => Some(*server),
        (ParsedEntry::PassedOver | ParsedEntry::Bad, _) => None,
    }
}

fn conflicting_entry(there: Option<&McpServerEntry>, wanted: &McpServerEntry) -> EntryProblem {
    let there =
        there.map_or_else(|| "an entry that can't be read".to_owned(), McpServerEntry::summary);
    EntryProblem::new(
        format!("a different entry of this name exists: it has {there}, not {}", wanted.summary()),
        "replace it, or choose another name",
    )
}

/// Keeps unknown fields that the client or its user added.
fn with_unknown(there: Option<McpServerEntry>, wanted: &Value) -> Value {
    let mut kept = wanted.clone();
    if let (Some(there), Some(kept)) = (there, kept.as_object_mut()) {
        for (field, value) in there.unknown {
            kept.entry(field).or_insert(value);
        }
    }
    kept
}

/// Returns the line ending of a text.
fn line_end(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the indentation of the line that contains an offset.
fn indent_at(text: &str, at: usize) -> &str {
    let line = text.get(..at).map_or("", |before| before.rsplit('\n').next().unwrap_or_default());
    let end = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..end).unwrap_or_default()
}

/// Replaces ranges of a text. They are in order and do not overlap.
fn splice(text: &str, parts: &[(std::ops::Range<usize>, String)]) -> Result<String, EntryProblem> {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for (range, part) in parts {
        result.push_str(text.get(from..range.start).ok_or_else(unsafe_edit)?);
        result.push_str(part);
        from = range.end;
    }
    result.push_str(text.get(from..).ok_or_else(unsafe_edit)?);
    Ok(result)
}
