//! Caches the tool lists for completion: the tools last seen of each server, in the user's cache.
//!
//! Stores only names, first sentences and choices, and of a server's settings only a hash that excludes its environment
//! and headers.

use super::super::{
    args::Target,
    layout::first_sentence,
    saving::file_stem,
    schema::{Kind, Schema, plain},
    tools::input_schema,
};
use crate::config::Config;
use docent_files::{Access, Durability, Folder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Maximum number of tools per server.
const MOST_TOOLS: usize = 2000;
/// Maximum number of arguments per tool, and of choices per argument.
const MOST_PARTS: usize = 200;
/// Maximum size of one file.
const MOST_BYTES: u64 = 4 << 20;
/// Maximum number of files in the folder.
const MOST_FILES: usize = 200;
/// Maximum depth of objects whose fields are stored.
const DEEPEST: usize = 2;

/// A tool in the completion cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// The name.
    pub(crate) name: String,
    /// The description.
    pub(crate) about: String,
    /// The arguments.
    pub(crate) keys: Vec<SeenKey>,
}

/// An argument in the completion cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenKey {
    /// The name, with dots inside objects.
    pub(crate) name: String,
    /// The description.
    pub(crate) about: String,
    /// Whether it is required.
    pub(crate) required: bool,
    /// Whether it may be repeated.
    pub(crate) repeated: bool,
    /// The accepted values, if they are few.
    pub(crate) choices: Vec<String>,
}

impl Seen {
    /// Extracts the cached part of a definition.
    pub(crate) fn of(tool: &Value) -> Option<Self> {
        let name = tool.get("name")?.as_str()?.to_owned();
        let about = tool.get("description").and_then(Value::as_str).unwrap_or_default();
        let mut keys = Vec::new();
        gather(Schema::of(input_schema(tool)), "", DEEPEST, &mut keys);
        Some(Self { name, about: first_sentence(about), keys })
    }
}

fn gather(schema: Schema<'_>, prefix: &str, depth: usize, keys: &mut Vec<SeenKey>) {
    for property in schema.properties() {
        if keys.len() >= MOST_PARTS {
            return;
        }
        let (schema, name) = (property.schema, format!("{prefix}{}", property.name));
        let branches = schema.branches();
        let is = |kind: Kind| branches.iter().any(|branch| branch.kind == kind);
        let of = if is(Kind::Array) { schema.members().unwrap_or(schema) } else { schema };
        let mut choices: Vec<String> =
            of.all_choices().into_iter().take(MOST_PARTS).map(plain).collect();
        if choices.is_empty() && is(Kind::Boolean) {
            choices = vec!["true".into(), "false".into()];
        }
        let about = first_sentence(schema.text("description").unwrap_or_default());
        let required = property.required && prefix.is_empty();
        keys.push(SeenKey {
            name: name.clone(),
            about,
            required,
            repeated: is(Kind::Array),
            choices,
        });
        if depth > 0 && is(Kind::Object) {
            gather(schema, &format!("{name}."), depth - 1, keys);
        }
    }
}

/// The cache folder.
pub(crate) struct Lists(PathBuf);

impl Lists {
    /// The user's cache; `None` without a home directory.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        Some(Self(config.cache_dir.as_ref()?.join("lists")))
    }

    /// Returns the file of a server. docent itself has none: its tools are always available.
    pub(crate) fn path(&self, target: &Target, config: &Config) -> Option<PathBuf> {
        let (name, identity) = match target {
            Target::Docent => return None,
            Target::Server(name) => {
                let entry = config.servers.iter().find(|entry| entry.server.name == *name)?;
                (file_stem(name), entry.server.summary())
            }
            Target::Url { url, .. } => ("url".into(), url.clone()),
            Target::Program(words) => ("program".into(), format!("{words:?}")),
        };
        // FNV-1a: the name must stay the same from one build to the next.
        let hash = identity.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Some(self.0.join(format!("{name}-{hash:016x}.json")))
    }
}

/// Stores the tools.
pub(crate) fn write(path: &Path, tools: &[Value]) -> io::Result<()> {
    let seen: Vec<Seen> = tools.iter().take(MOST_TOOLS).filter_map(Seen::of).collect();
    if seen == read(path) {
        return Ok(());
    }
    let Some(folder) = path.parent() else { return Ok(()) };
    let name = path.file_name().unwrap_or_default();
    let own = Folder::from(folder);
    own.make(Access::Private)?;
    prune(folder)?;
    own.replace(name, &serde_json::to_vec(&seen)?, Access::Private, Durability::Cached)
}

/// Loads the tools; empty if there is no readable file.
pub(crate) fn read(path: &Path) -> Vec<Seen> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let mut bytes = Vec::new();
    let file = Folder::from(folder).read(name);
    let read = file.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.ok().and_then(|_| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Removes the oldest files: every command or address that was used once leaves one.
fn prune(folder: &Path) -> io::Result<()> {
    let mut files: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let over = files.len().saturating_sub(MOST_FILES - 1);
    for (_, path) in files.iter().take(over) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_comes_back() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lists/time-1.json");
        assert!(read(&path).is_empty());
        let tool = json!({"name": "convert", "description": "Converts. And more.", "inputSchema": {
            "required": ["to"],
            "properties": {
                "to": {"type": "string", "enum": ["utc", "local"], "description": "Where to."},
                "exact": {"type": "boolean"},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
                "options": {"type": "object", "required": ["depth"], "properties": {"depth": {"type": "integer"}}},
            },
        }});
        write(&path, &[tool, json!({"no": "name"})]).unwrap();
        let seen = read(&path);
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].name.as_str(), seen[0].about.as_str()), ("convert", "Converts."));
        let keys: Vec<String> = seen[0]
            .keys
            .iter()
            .map(|key| {
                format!("{} {} {} {}", key.name, key.required, key.repeated, key.choices.join("|"))
            })
            .collect();
        let want = [
            "to true false utc|local",
            "exact false false true|false",
            "tags false true a|b",
            "options false false ",
            "options.depth false false ",
        ];
        assert_eq!(keys, want);
    }

    #[test]
    fn what_is_no_list_is_none() {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in [("a", "{"), ("b", "[1]"), ("c", "[{\"name\": 5}]")] {
            let path = place.path().join(name);
            fs::write(&path, text).unwrap();
            assert!(read(&path).is_empty(), "{text}");
        }
        assert!(read(place.path()).is_empty());
        let pipe = place.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(read(&pipe).is_empty());
    }

    #[test]
    fn the_folder_does_not_grow_for_ever() {
        let place = tempfile::tempdir().unwrap();
        for n in 0..MOST_FILES + 50 {
            fs::write(place.path().join(format!("program-{n}.json")), "[]").unwrap();
        }
        write(&place.path().join("new.json"), &[json!({"name": "t"})]).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), MOST_FILES);
    }
}
