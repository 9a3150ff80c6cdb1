//! Reads whole files: their entries, and problems with invalid ones.

use crate::{
    client::{FileSyntax, McpClient},
    entry::{self, EntryDialect, ParsedEntry},
    parse::{self, parse, split_byte_order_mark},
    problem::EntryProblem,
    server::McpServerEntry,
};
use serde_json::{Map, Value};
use std::{collections::HashSet, path::Path};

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFormat {
    /// A client's configuration.
    Client(McpClient),
    /// JSON with a block of servers, of an unknown client.
    Block,
    /// A registry with descriptions of servers (`mcp.registry.json`).
    Registry,
}

/// The contents of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfigContents {
    /// The servers, in the order of the file.
    pub servers: Vec<McpServerEntry>,
    /// Values that an editor would ask its user for.
    pub inputs: Vec<EditorInput>,
    /// Skipped entries, which are parts of the client itself.
    pub passed_over: Vec<String>,
    /// Problems. An invalid entry does not affect the others.
    pub problems: Vec<EntryProblem>,
}

/// A question that an editor asks before it starts a server (`${input:id}`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorInput {
    /// The id in `${input:…}`.
    pub id: String,
    /// The question's text.
    pub description: Option<String>,
    /// Whether the answer is a secret.
    pub secret: bool,
}

/// Keys of blocks of servers in a file of an unknown client.
const SERVER_BLOCK_KEYS: [&str; 5] =
    ["mcpServers", "mcp_servers", EDITOR_BLOCK_KEY, "servers", "context_servers"];
/// The block of servers in an editor's settings.
const EDITOR_BLOCK_KEY: &str = "mcp.servers";

impl ConfigFormat {
    /// Determines the kind of a file by its path.
    pub fn of(path: &Path) -> Self {
        let part = |path: Option<&Path>| {
            path.and_then(Path::file_name).map(|name| name.to_string_lossy().to_lowercase())
        };
        let name = part(Some(path)).unwrap_or_default();
        let folder = part(path.parent()).unwrap_or_default();
        let client = match (folder.as_str(), name.as_str()) {
            (_, "mcp.registry.json") => return Self::Registry,
            (_, "claude_desktop_config.json") => McpClient::ClaudeDesktop,
            (_, ".mcp.json" | ".claude.json") => McpClient::ClaudeCode,
            (".cursor", "mcp.json") => McpClient::Cursor,
            (_, "mcp.json") => McpClient::VsCode,
            (_, "mcp_config.json") => McpClient::Windsurf,
            (".zed" | "zed", "settings.json") => McpClient::Zed,
            (".gemini", "settings.json") => McpClient::GeminiCli,
            (".codex", "config.toml") => McpClient::Codex,
            ("goose" | "config", "config.yaml") => McpClient::Goose,
            _ => return Self::Block,
        };
        Self::Client(client)
    }

    const fn syntax(self) -> FileSyntax {
        match self {
            Self::Client(client) => client.syntax(),
            Self::Block => FileSyntax::JsonWithComments,
            Self::Registry => FileSyntax::Json,
        }
    }
}

/// Reads a file of this kind.
pub fn read(form: ConfigFormat, file: &Path, bytes: &[u8]) -> ConfigContents {
    let mut reading = ConfigContents::default();
    let Ok(text) = std::str::from_utf8(bytes) else {
        let problem = EntryProblem::new("it is not UTF-8", "save it as UTF-8");
        reading.problems.push(problem.in_file(file));
        return reading;
    };
    let (_, text) = split_byte_order_mark(text);
    match parse(form.syntax(), text) {
        Ok(Value::Object(root)) => {
            note_repeated_keys(form, text, &mut reading);
            read_root(form, root, &mut reading);
        }
        Ok(_) => reading.problems.push(EntryProblem::new(
            "the file is not an object",
            "write its fields between { and }",
        )),
        Err(problem) => reading.problems.push(problem),
    }
    finish(reading, file)
}

/// Reads docent's own tables: the value of `mcp_servers` in docent.toml, or of `mcpServers` in docent.json.
pub fn read_tables(file: &Path, tables: &Value) -> ConfigContents {
    let mut reading = ConfigContents::default();
    add_block(&mut reading, "mcp_servers", tables.clone(), EntryDialect::DOCENT, None);
    finish(reading, file)
}

fn finish(mut reading: ConfigContents, file: &Path) -> ConfigContents {
    for problem in &mut reading.problems {
        problem.file = Some(file.to_owned());
    }
    reading
}

fn read_root(form: ConfigFormat, mut root: Map<String, Value>, reading: &mut ConfigContents) {
    match form {
        ConfigFormat::Registry => match root.shift_remove("servers") {
            Some(Value::Array(entries)) => add_list(reading, entries),
            Some(block) => add_block(reading, "servers", block, EntryDialect::DOCENT, None),
            None => reading.problems.push(EntryProblem::new(
                "the registry has no `servers`",
                "write the entries under `servers`, between [ and ]",
            )),
        },
        ConfigFormat::Block => {
            join_editor_blocks(&mut root, reading);
            let key = SERVER_BLOCK_KEYS.into_iter().find(|key| root.contains_key(*key));
            match key.and_then(|key| Some((key, root.shift_remove(key)?))) {
                Some((key, block)) => add_block(reading, key, block, EntryDialect::DOCENT, None),
                None => reading.problems.push(EntryProblem::new(
                    "the file has no block of servers",
                    "write the entries under `mcpServers`",
                )),
            }
        }
        ConfigFormat::Client(client) => {
            let manner = EntryDialect::of(client);
            if client == McpClient::VsCode {
                add_inputs(reading, root.shift_remove("inputs"));
                join_editor_blocks(&mut root, reading);
                if let Some(block) = root.shift_remove(EDITOR_BLOCK_KEY) {
                    merge_block(&mut root, client.block(), block, reading);
                }
            }
            if let Some(block) = root.shift_remove(client.block()) {
                add_block(reading, client.block(), block, manner, None);
            }
            if client == McpClient::ClaudeCode
                && let Some(Value::Object(projects)) = root.shift_remove("projects")
            {
                add_projects(reading, projects, manner);
            }
        }
    }
}

/// Merges settings with dots in their names and nested objects, which editors treat alike.
fn join_editor_blocks(root: &mut Map<String, Value>, reading: &mut ConfigContents) {
    if let Some(Value::Object(mut mcp)) = root.shift_remove("mcp")
        && let Some(block) = mcp.shift_remove("servers")
    {
        merge_block(root, EDITOR_BLOCK_KEY, block, reading);
    }
}

/// Adds the entries of a block to those under a key. Of two entries of the same name, the one under the key is kept.
fn merge_block(
    root: &mut Map<String, Value>,
    key: &str,
    block: Value,
    reading: &mut ConfigContents,
) {
    let kept = match root.get_mut(key) {
        Some(Value::Object(kept)) => kept,
        Some(other) if !other.is_null() => {
            reading.problems.push(not_a_block(key));
            *other = block;
            return;
        }
        _ => {
            root.insert(key.to_owned(), block);
            return;
        }
    };
    match block {
        Value::Object(entries) => {
            for (name, entry) in entries {
                if kept.contains_key(&name) {
                    let what = format!("another entry of this name under `{key}` is used");
                    reading.problems.push(EntryProblem::new(what, "remove one").in_entry(&name));
                } else {
                    kept.insert(name, entry);
                }
            }
        }
        Value::Null => {}
        _ => reading.problems.push(not_a_block(EDITOR_BLOCK_KEY)),
    }
}

fn not_a_block(key: &str) -> EntryProblem {
    let remedy = "write the entries between { and }, each under its name";
    EntryProblem::new("it is not an object of entries", remedy).in_field(key)
}

/// `~/.claude.json` has a block for each folder.
fn add_projects(reading: &mut ConfigContents, projects: Map<String, Value>, manner: EntryDialect) {
    for (folder, mut project) in projects {
        let Some(block) = project.get_mut("mcpServers").map(Value::take) else { continue };
        let first = reading.servers.len();
        add_block(reading, "mcpServers", block, manner, Some(&folder));
        let off = project.get("disabledMcpServers").and_then(Value::as_array);
        let off: HashSet<&str> = off.into_iter().flatten().filter_map(Value::as_str).collect();
        for server in reading.servers.iter_mut().skip(first) {
            server.disabled |= off.contains(server.name.as_str());
        }
    }
}

fn add_block(
    reading: &mut ConfigContents,
    key: &str,
    block: Value,
    manner: EntryDialect,
    project: Option<&str>,
) {
    let entries = match block {
        Value::Object(entries) => entries,
        Value::Null => return,
        _ => {
            reading.problems.push(not_a_block(key));
            return;
        }
    };
    for (name, value) in entries {
        add_entry(reading, &name, value, manner, project);
    }
}

fn add_list(reading: &mut ConfigContents, entries: Vec<Value>) {
    let mut seen = HashSet::new();
    for (index, mut value) in entries.into_iter().enumerate() {
        let id = value.as_object_mut().and_then(|map| map.shift_remove("id"));
        let Some(id) = id.as_ref().and_then(Value::as_str).map(str::to_owned) else {
            let problem = EntryProblem::new("the entry has no `id`", "add an `id` in quotes");
            reading.problems.push(problem.in_entry(&format!("servers[{index}]")));
            continue;
        };
        if !seen.insert(id.clone()) {
            let problem = EntryProblem::new(
                "this id is repeated, and the first entry is used",
                "give each entry its own id",
            );
            reading.problems.push(problem.in_entry(&id));
            continue;
        }
        add_entry(reading, &id, value, EntryDialect::DOCENT, None);
    }
}

fn add_entry(
    reading: &mut ConfigContents,
    name: &str,
    value: Value,
    manner: EntryDialect,
    project: Option<&str>,
) {
    let (entry, problems) = entry::read(name, value, manner);
    reading.problems.extend(problems);
    match entry {
        ParsedEntry::Server(mut server) => {
            server.project = project.map(str::to_owned);
            reading.servers.push(*server);
        }
        ParsedEntry::PassedOver => reading.passed_over.push(name.to_owned()),
        ParsedEntry::Bad => {}
    }
}

fn add_inputs(reading: &mut ConfigContents, inputs: Option<Value>) {
    let Some(Value::Array(inputs)) = inputs else { return };
    for input in inputs {
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(id) = text("id") else { continue };
        let secret = input.get("password").and_then(Value::as_bool).unwrap_or(false);
        reading.inputs.push(EditorInput { id, description: text("description"), secret });
    }
}

/// Reports repeated keys, which lose an entry: the parsers of clients keep the last one.
fn note_repeated_keys(form: ConfigFormat, text: &str, reading: &mut ConfigContents) {
    let syntax = form.syntax();
    if !matches!(syntax, FileSyntax::Json | FileSyntax::JsonWithComments)
        || form == ConfigFormat::Registry
    {
        return;
    }
    let Ok(tree) = parse::json(syntax, text) else { return };
    let Some(root) = tree.value.as_ref().and_then(|value| value.as_object()) else { return };
    let keys: &[&str] = match &form {
        ConfigFormat::Client(McpClient::VsCode) => &[McpClient::VsCode.block(), EDITOR_BLOCK_KEY],
        ConfigFormat::Client(client) => &[client.block()],
        ConfigFormat::Block | ConfigFormat::Registry => &SERVER_BLOCK_KEYS,
    };
    let twice = |name: &str| {
        EntryProblem::new("it occurs twice, and the last one is used", "remove one").in_entry(name)
    };
    for name in parse::repeated_keys(root) {
        if keys.contains(&name) {
            reading.problems.push(twice(name));
        }
    }
    for block in keys.iter().filter_map(|key| root.get_object(key)) {
        reading.problems.extend(parse::repeated_keys(block).into_iter().map(twice));
    }
}
