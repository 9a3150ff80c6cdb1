//! Caches the tool lists for completion: the tools last seen of each server, in the user's cache.
//!
//! Stores only names, first sentences and choices, and of a server's settings only a hash that excludes its environment
//! and headers.

use super::super::{
    args::ServerTarget,
    layout::first_sentence,
    saving::file_stem,
    schema::{ArgumentSchema, JsonType, display_value},
    tools::input_schema,
};
use crate::config::Config;
use docent_files::{Durability, FileAccess, ManagedFolder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Maximum number of tools per server.
const MAX_CACHED_TOOLS: usize = 2000;
/// Maximum number of arguments per tool, and of choices per argument.
const MAX_CACHED_KEYS: usize = 200;
/// Maximum size of one file.
const MAX_CACHE_FILE_BYTES: u64 = 4 << 20;
/// Maximum number of files in the folder.
const MAX_CACHE_FILES: usize = 200;
/// Maximum depth of objects whose fields are stored.
const MAX_CACHED_DEPTH: usize = 2;

/// A tool in the completion cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompletionTool {
    /// The name.
    pub(crate) name: String,
    /// The description.
    pub(crate) about: String,
    /// The arguments.
    pub(crate) keys: Vec<CompletionParameter>,
}

/// An argument in the completion cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompletionParameter {
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

impl CompletionTool {
    /// Extracts the cached part of a definition.
    pub(crate) fn from_definition(tool: &Value) -> Option<Self> {
        let name = tool.get("name")?.as_str()?.to_owned();
        let about = tool.get("description").and_then(Value::as_str).unwrap_or_default();
        let mut keys = Vec::new();
        gather(ArgumentSchema::of(input_schema(tool)), "", MAX_CACHED_DEPTH, &mut keys);
        Some(Self { name, about: first_sentence(about), keys })
    }
}

fn gather(
    schema: ArgumentSchema<'_>,
    prefix: &str,
    depth: usize,
    keys: &mut Vec<CompletionParameter>,
) {
    for property in schema.properties() {
        if keys.len() >= MAX_CACHED_KEYS {
            return;
        }
        let (schema, name) = (property.schema, format!("{prefix}{}", property.name));
        let branches = schema.branches();
        let is = |kind: JsonType| branches.iter().any(|branch| branch.kind == kind);
        let of = if is(JsonType::Array) { schema.members().unwrap_or(schema) } else { schema };
        let mut choices: Vec<String> =
            of.all_choices().into_iter().take(MAX_CACHED_KEYS).map(display_value).collect();
        if choices.is_empty() && is(JsonType::Boolean) {
            choices = vec!["true".into(), "false".into()];
        }
        let about = first_sentence(schema.text("description").unwrap_or_default());
        let required = property.required && prefix.is_empty();
        keys.push(CompletionParameter {
            name: name.clone(),
            about,
            required,
            repeated: is(JsonType::Array),
            choices,
        });
        if depth > 0 && is(JsonType::Object) {
            gather(schema, &format!("{name}."), depth - 1, keys);
        }
    }
}

/// The cache folder.
pub(crate) struct CompletionCache(PathBuf);

impl CompletionCache {
    /// The user's cache; `None` without a home directory.
    pub(crate) fn open(config: &Config) -> Option<Self> {
        Some(Self(config.cache_dir.as_ref()?.join("lists")))
    }

    /// Returns the file of a server. docent itself has none: its tools are always available.
    pub(crate) fn path(&self, target: &ServerTarget, config: &Config) -> Option<PathBuf> {
        let (name, identity) = match target {
            ServerTarget::Docent => return None,
            ServerTarget::Server(name) => {
                let entry = config.servers.iter().find(|entry| entry.server.name == *name)?;
                (file_stem(name), entry.server.summary())
            }
            ServerTarget::Url { url, .. } => ("url".into(), url.clone()),
            ServerTarget::Program(words) => ("program".into(), format!("{words:?}")),
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
    let seen: Vec<CompletionTool> =
        tools.iter().take(MAX_CACHED_TOOLS).filter_map(CompletionTool::from_definition).collect();
    if seen == read(path) {
        return Ok(());
    }
    let Some(folder) = path.parent() else { return Ok(()) };
    let name = path.file_name().unwrap_or_default();
    let own = ManagedFolder::from(folder);
    own.make(FileAccess::Private)?;
    prune(folder)?;
    own.replace(name, &serde_json::to_vec(&seen)?, FileAccess::Private, Durability::Cached)
}

/// Loads the tools; empty if there is no readable file.
pub(crate) fn read(path: &Path) -> Vec<CompletionTool> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let mut bytes = Vec::new();
    let file = ManagedFolder::from(folder).read(name);
    let read = file.and_then(|file| file.take(MAX_CACHE_FILE_BYTES).read_to_end(&mut bytes));
    read.ok().and_then(|_| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Removes the oldest files: every command or address that was used once leaves one.
fn prune(folder: &Path) -> io::Result<()> {
    let mut files: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let over = files.len().saturating_sub(MAX_CACHE_FILES - 1);
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
    fn what_is_not_a_list_is_empty() {
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
        for n in 0..MAX_CACHE_FILES + 50 {
            fs::write(place.path().join(format!("program-{n}.json")), "[]").unwrap();
        }
        write(&place.path().join("new.json"), &[json!({"name": "t"})]).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), MAX_CACHE_FILES);
    }
}
