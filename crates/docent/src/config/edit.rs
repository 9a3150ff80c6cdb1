//! Edits configuration files and preserves everything else in them, including comments.

use super::{
    layers::{self, ConfigInputs, parse_text, user_dir},
    root_of,
};
use anyhow::{Context as _, bail};
use docent_files::{Durability, FileAccess, ManagedFolder};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table};

/// A changed file.
#[derive(Debug)]
pub(crate) struct EditedConfigFile {
    pub(crate) path: PathBuf,
    /// The previous contents; `None` if the file is new.
    before: Option<String>,
    after: String,
}

impl EditedConfigFile {
    /// Restores the previous contents. Returns `false` without doing so if the file has changed since.
    pub(crate) fn undo(&self) -> anyhow::Result<bool> {
        if read(&self.path)? != self.after {
            return Ok(false);
        }
        match &self.before {
            Some(before) => write(&self.path, before)?,
            None => std::fs::remove_file(&self.path)
                .with_context(|| format!("cannot remove {}", self.path.display()))?,
        }
        Ok(true)
    }
}

/// Adds a collection to the file of the root, or to the user's own.
pub(crate) fn add_collection(
    inputs: &ConfigInputs,
    of_the_user: bool,
    name: &str,
    keys: &Map<String, Value>,
) -> anyhow::Result<EditedConfigFile> {
    let folder = if of_the_user {
        user_dir(inputs).context("no home directory for your own settings")?
    } else {
        root_of(inputs)
    };
    let path = match (&inputs.flags.config_file, of_the_user) {
        (Some(file), false) => inputs.working_dir.join(file),
        _ => config_file_in(&folder),
    };
    let before = if path.exists() { Some(read(&path)?) } else { None };
    let text = before.clone().unwrap_or_default();
    let after = if is_json(&path) {
        let mut tree = parse(&path, &text)?;
        let collections = object(&mut tree, &["docs", "collections"])
            .with_context(|| format!("{}: docs.collections is not an object", path.display()))?;
        collections.insert(name.to_owned(), Value::Object(keys.clone()));
        format!("{tree:#}\n")
    } else {
        let mut document = document(&path, &text)?;
        let docs = table(document.as_table_mut(), "docs", &path)?;
        let collections = table(docs, "collections", &path)?;
        let mut one = Table::new();
        for (key, value) in keys {
            one.insert(key, Item::Value(toml_value(value)));
        }
        collections.insert(name, Item::Table(one));
        document.to_string()
    };
    write(&path, &after)?;
    Ok(EditedConfigFile { path, before, after })
}

/// Removes a collection from the file that defines it; `None` if no file does.
pub(crate) fn remove_collection(
    inputs: &ConfigInputs,
    name: &str,
) -> anyhow::Result<Option<PathBuf>> {
    for path in layers::files_of(inputs).into_iter().rev().filter(|path| path.exists()) {
        let text = read(&path)?;
        let text = if is_json(&path) {
            let mut tree = parse(&path, &text)?;
            let held = object(&mut tree, &["docs", "collections"])
                .is_some_and(|collections| collections.shift_remove(name).is_some());
            held.then(|| format!("{tree:#}\n"))
        } else {
            let mut document = document(&path, &text)?;
            let collections = document.get_mut("docs").and_then(|docs| docs.get_mut("collections"));
            let held = collections
                .and_then(Item::as_table_like_mut)
                .is_some_and(|collections| collections.remove(name).is_some());
            held.then(|| document.to_string())
        };
        if let Some(text) = text {
            write(&path, &text)?;
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Sets dotted keys that a file does not set yet; returns those that it does.
pub(crate) fn add_keys(path: &Path, keys: &Map<String, Value>) -> anyhow::Result<Vec<String>> {
    let text = if path.exists() { read(path)? } else { String::new() };
    let mut kept = Vec::new();
    let text = if is_json(path) {
        let mut tree = parse(path, &text)?;
        for (key, value) in keys {
            let (tables, name) = split(key);
            let within = object(&mut tree, &tables)
                .with_context(|| format!("{}: cannot set `{key}`", path.display()))?;
            if within.contains_key(name) {
                kept.push(key.clone());
            } else {
                within.insert(name.to_owned(), value.clone());
            }
        }
        format!("{tree:#}\n")
    } else {
        let mut document = document(path, &text)?;
        for (key, value) in keys {
            let (tables, name) = split(key);
            let mut within = document.as_table_mut();
            for key in tables {
                within = table(within, key, path)?;
            }
            if within.contains_key(name) {
                kept.push(key.clone());
            } else {
                within.insert(name, Item::Value(toml_value(value)));
            }
        }
        document.to_string()
    };
    if kept.len() < keys.len() {
        write(path, &text)?;
    }
    Ok(kept)
}

/// Splits a dotted key into its tables and its name.
fn split(key: &str) -> (Vec<&str>, &str) {
    let (tables, name) = key.rsplit_once('.').map_or(("", key), |(tables, name)| (tables, name));
    (tables.split('.').filter(|table| !table.is_empty()).collect(), name)
}

/// Returns the configuration file of a folder, or the path of a new one.
pub(super) fn config_file_in(folder: &Path) -> PathBuf {
    let (toml, json) = (folder.join("docent.toml"), folder.join("docent.json"));
    if json.exists() && !toml.exists() { json } else { toml }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

fn read(path: &Path) -> anyhow::Result<String> {
    layers::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn parse(path: &Path, text: &str) -> anyhow::Result<Value> {
    if text.trim().is_empty() { Ok(Value::Object(Map::new())) } else { Ok(parse_text(path, text)?) }
}

fn document(path: &Path, text: &str) -> anyhow::Result<DocumentMut> {
    text.parse().with_context(|| format!("invalid TOML in {}", path.display()))
}

/// Returns the object at these keys, creating it if needed.
fn object<'a>(tree: &'a mut Value, keys: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut here = tree;
    for key in keys {
        let inner = here.as_object_mut()?.entry(*key);
        here = inner.or_insert_with(|| Value::Object(Map::new()));
    }
    here.as_object_mut()
}

/// Returns the table of a key, creating it if needed.
fn table<'a>(within: &'a mut Table, key: &str, path: &Path) -> anyhow::Result<&'a mut Table> {
    let made = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let item = within.entry(key).or_insert_with(made);
    if let Item::Value(value) = item
        && let Some(inline) = value.as_inline_table_mut()
    {
        // An inline table can't contain a multi-line table.
        *item = Item::Table(std::mem::take(inline).into_table());
        if let Some(mut key) = within.key_mut(key) {
            key.fmt();
        }
    }
    match within.get_mut(key).and_then(Item::as_table_mut) {
        Some(table) => Ok(table),
        None => bail!("{}: {key} is not a table", path.display()),
    }
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Array(all) => all.iter().map(toml_value).collect(),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// Replaces a file atomically. A link is neither followed nor replaced.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let folder = ManagedFolder::resolve(path.parent().unwrap_or(Path::new(".")));
    folder.make(FileAccess::Private).with_context(failed)?;
    let name = path.file_name().unwrap_or_default();
    let written = folder.replace(name, text.as_bytes(), FileAccess::Kept, Durability::Synced);
    written.with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigFlags;
    use serde_json::json;
    use std::fs;

    fn check(name: &str, before: &str, after: &str) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(name);
        if !before.is_empty() {
            fs::write(&file, before).unwrap();
        }
        let working_dir = place.path().to_owned();
        let inputs =
            ConfigInputs { working_dir, flags: ConfigFlags::default(), ..ConfigInputs::default() };
        let keys = json!({"path": "docs", "include": ["*.md"]});
        let edited = add_collection(&inputs, false, "guide", keys.as_object().unwrap()).unwrap();
        assert_eq!(edited.path, file);
        assert_eq!(fs::read_to_string(&file).unwrap(), after);
        assert!(edited.undo().unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap_or_default(), before);
        assert_eq!(file.exists(), !before.is_empty());
        let edited = add_collection(&inputs, false, "guide", keys.as_object().unwrap()).unwrap();
        let removed = remove_collection(&inputs, "guide").unwrap().unwrap();
        assert_eq!(removed, file);
        assert!(!edited.undo().unwrap(), "it has changed since");
        assert!(!fs::read_to_string(&file).unwrap().contains("guide"));
        assert!(remove_collection(&inputs, "guide").unwrap().is_none());
    }

    #[test]
    fn what_is_written_stays_as_it_is() {
        let added = "[docs.collections.guide]\npath = \"docs\"\ninclude = [\"*.md\"]\n";
        check("docent.toml", "", added);
        check(
            "docent.toml",
            "# mine\n[server]\nport = 9 # here\n",
            &format!("# mine\n[server]\nport = 9 # here\n\n{added}"),
        );
        check(
            "docent.toml",
            "docs = { collections = { a = { path = \"a\" } } }\n",
            &format!("[docs]\n\n[docs.collections]\na = {{ path = \"a\" }}\n\n{added}"),
        );
        check(
            "docent.json",
            "{\"server\": {\"port\": 9}}",
            "{\n  \"server\": {\n    \"port\": 9\n  },\n  \"docs\": {\n    \"collections\": {\n      \"guide\": {\n        \"path\": \"docs\",\n        \"include\": [\n          \"*.md\"\n        ]\n      }\n    }\n  }\n}\n",
        );
    }

    #[test]
    fn what_can_t_be_changed_is_reported() {
        let place = tempfile::tempdir().unwrap();
        let inputs =
            ConfigInputs { working_dir: place.path().to_owned(), ..ConfigInputs::default() };
        for text in ["docs = 1\n", "a = ["] {
            fs::write(place.path().join("docent.toml"), text).unwrap();
            let error = add_collection(&inputs, false, "x", &Map::new()).unwrap_err();
            assert!(error.to_string().contains("docent.toml"), "{error:#}");
            assert_eq!(fs::read_to_string(place.path().join("docent.toml")).unwrap(), text);
        }
    }
}
