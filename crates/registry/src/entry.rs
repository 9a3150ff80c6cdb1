//! Parses an entry, in any client's format, into a [`McpServerEntry`].

use crate::{
    client::{McpClient, VariableSyntax},
    fields::{EntryFields, TextOrFile, TimeUnit},
    problem::EntryProblem,
    server::{
        EntryTransport, EntryVisibility, McpServerEntry, RemoteKind, SecretFile, SecretUse,
        Sensitivity, ServerMeta,
    },
    template::{escape, from_client},
};
use indexmap::IndexMap;
use serde_json::Value;

/// A parsed entry.
#[derive(Debug)]
pub(crate) enum ParsedEntry {
    Server(Box<McpServerEntry>),
    /// A part of the client itself, such as one of Goose's own extensions.
    PassedOver,
    Bad,
}

/// The conventions of a client's entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryDialect {
    variables: VariableSyntax,
    /// The transport of `url` without a type.
    plain_url: Option<RemoteKind>,
    timeout: TimeUnit,
    client: Option<McpClient>,
}

impl EntryDialect {
    /// docent's own files, and blocks of unknown clients.
    pub(crate) const DOCENT: Self = Self {
        variables: VariableSyntax::Braces,
        plain_url: None,
        timeout: TimeUnit::Milliseconds,
        client: None,
    };

    pub(crate) const fn is_own(self) -> bool {
        self.client.is_none()
    }

    pub(crate) fn of(client: McpClient) -> Self {
        let counts_seconds = matches!(client, McpClient::Goose | McpClient::Zed);
        Self {
            variables: client.variables(),
            plain_url: (client == McpClient::GeminiCli).then_some(RemoteKind::Sse),
            timeout: if counts_seconds { TimeUnit::Seconds } else { TimeUnit::Milliseconds },
            client: Some(client),
        }
    }
}

const URL_FIELDS: [(&str, Option<RemoteKind>); 5] = [
    ("httpUrl", Some(RemoteKind::Http)),
    ("serverUrl", None),
    ("server_url", None),
    ("uri", None),
    ("url", None),
];
/// The fields of an entry, by their names in docent's own files.
pub const ENTRY_FIELDS: [&str; 29] = [
    "command",
    "args",
    "env",
    "env_files",
    "env_file",
    "inherit_env",
    "cwd",
    "url",
    "type",
    "transport",
    "headers",
    "header_files",
    "bearer_token",
    "bearer_token_env",
    "bearer_token_file",
    "disabled",
    "enabled",
    "timeout_ms",
    "start_timeout_ms",
    "title",
    "description",
    "tags",
    "domains",
    "examples",
    "visibility",
    "sensitivity",
    "priority",
    "auto_discover_tools",
    "always_allow",
];
/// Types of Goose's extensions that are not servers.
const GOOSE_EXTENSION_TYPES: [&str; 4] = ["builtin", "platform", "frontend", "inline_python"];

/// Parses one entry. The problems have no file yet.
pub(crate) fn read(
    name: &str,
    value: Value,
    manner: EntryDialect,
) -> (ParsedEntry, Vec<EntryProblem>) {
    let Value::Object(map) = value else {
        let problem =
            EntryProblem::new("the entry is not an object", "write its fields between { and }");
        return (ParsedEntry::Bad, vec![problem.in_entry(name)]);
    };
    let mut fields = EntryFields::new(map);
    if is_part_of_client(&mut fields, manner) {
        return (ParsedEntry::PassedOver, Vec::new());
    }
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        fields.add_problem("name", "it is not valid", "give the entry a readable name");
    }
    let mut secrets = Vec::new();
    let way = read_way(&mut fields, manner, &mut secrets);
    let env_file = fields.text(&["envFile", "env_file"]);
    let disabled =
        fields.flag(&["disabled"]).unwrap_or(false) | !fields.flag(&["enabled"]).unwrap_or(true);
    fields.tolerate_problems();
    let timeout = fields.duration(&[
        ("timeout_ms", TimeUnit::Milliseconds),
        ("timeoutMs", TimeUnit::Milliseconds),
        ("tool_timeout_sec", TimeUnit::Seconds),
        ("toolTimeoutSec", TimeUnit::Seconds),
        ("timeout_sec", TimeUnit::Seconds),
        ("timeout", manner.timeout),
    ]);
    let start_timeout = fields.duration(&[
        ("startup_timeout_ms", TimeUnit::Milliseconds),
        ("startup_timeout_sec", TimeUnit::Seconds),
        ("start_timeout_ms", TimeUnit::Milliseconds),
        ("startTimeoutMs", TimeUnit::Milliseconds),
    ]);
    let meta = read_meta(&mut fields);
    drop_client_fields(&mut fields, manner, name);
    let (unknown, problems, broken) = fields.finish();
    let problems = problems.into_iter().map(|problem| problem.in_entry(name)).collect();
    let Some(way) = way.filter(|_| !broken) else { return (ParsedEntry::Bad, problems) };
    let mut server = McpServerEntry::new(name, way);
    server.disabled = disabled;
    server.timeout = timeout;
    server.start_timeout = start_timeout;
    server.env_file = env_file.map(|path| from_client(path, manner.variables));
    server.secrets = secrets;
    server.meta = meta;
    server.unknown = unknown;
    (ParsedEntry::Server(Box::new(server)), problems)
}

/// Also flattens nested fields of older formats.
fn is_part_of_client(fields: &mut EntryFields, manner: EntryDialect) -> bool {
    // A registry has the transport under `mcp`, and older versions of Goose under `config`.
    let below = match manner.client {
        None => &["mcp"][..],
        Some(McpClient::Goose) => &["config"],
        Some(_) => &[],
    };
    match fields.take(below) {
        Some((_, Value::Object(map))) => fields.merge(map),
        Some((name, _)) => {
            fields.add_problem(name, "it is not an object", "write its fields between { and }");
        }
        None => {}
    }
    match manner.client {
        Some(McpClient::Goose) => {
            let Some((name, kind)) = fields.take(&["type"]) else { return false };
            let own = kind.as_str().is_some_and(|kind| GOOSE_EXTENSION_TYPES.contains(&kind));
            fields.merge([(name.to_owned(), kind)].into_iter().collect());
            own
        }
        Some(McpClient::Zed) => !fields.has("command") && !fields.has("url"),
        _ => false,
    }
}

/// Drops fields that only the client itself needs.
fn drop_client_fields(fields: &mut EntryFields, manner: EntryDialect, name: &str) {
    match manner.client {
        Some(McpClient::Goose) => {
            if let Some((field, value)) = fields.take(&["name"])
                && value.as_str() != Some(name)
            {
                fields.merge([(field.to_owned(), value)].into_iter().collect());
            }
        }
        Some(McpClient::Zed) => {
            fields.take(&["source"]);
        }
        _ => {}
    }
}

fn read_way(
    fields: &mut EntryFields,
    manner: EntryDialect,
    secrets: &mut Vec<SecretFile>,
) -> Option<EntryTransport> {
    let named = if fields.has("type") { "type" } else { "transport" };
    let kind = fields.text(&[named]);
    let said = match kind.as_deref().map(kind_of) {
        None => None,
        Some(Some(said)) => Some(said),
        Some(None) => {
            let remedy = "write stdio, http, sse or ws";
            fields.add_problem(named, "unknown transport", remedy);
            return None;
        }
    };
    let program = fields.has("command") || fields.has("cmd");
    let remote = URL_FIELDS.iter().any(|(name, _)| fields.has(name));
    match (said, program, remote) {
        (Some(DeclaredTransport::Program) | None, true, false)
        | (Some(DeclaredTransport::Program), true, true) => read_program(fields, manner, secrets),
        (Some(DeclaredTransport::Remote(_)) | None, false, true)
        | (Some(DeclaredTransport::Remote(_)), true, true) => {
            let kind = match said {
                Some(DeclaredTransport::Remote(kind)) => kind,
                _ => None,
            };
            read_remote(fields, manner, kind, secrets)
        }
        (Some(DeclaredTransport::Program), false, _) => {
            fields.add_problem("command", "it is missing", "write the program to start");
            None
        }
        (Some(DeclaredTransport::Remote(_)), _, false) => {
            fields.add_problem("url", "it is missing", "write the server's address");
            None
        }
        (None, true, true) => {
            let what = "the entry has both a command and an address";
            fields.add_problem("type", what, "choose one with `type`, or remove one");
            None
        }
        (None, false, false) => {
            let what = "the entry has neither a command nor an address";
            fields.add_problem("command", what, "write a `command` or a `url`");
            None
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum DeclaredTransport {
    Program,
    Remote(Option<RemoteKind>),
}

fn kind_of(name: &str) -> Option<DeclaredTransport> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    Some(match plain.to_ascii_lowercase().as_str() {
        "stdio" | "local" => DeclaredTransport::Program,
        "http" | "streamablehttp" | "streamable" => {
            DeclaredTransport::Remote(Some(RemoteKind::Http))
        }
        "sse" => DeclaredTransport::Remote(Some(RemoteKind::Sse)),
        "ws" | "websocket" => DeclaredTransport::Remote(Some(RemoteKind::WebSocket)),
        "remote" => DeclaredTransport::Remote(None),
        _ => return None,
    })
}

fn read_program(
    fields: &mut EntryFields,
    manner: EntryDialect,
    secrets: &mut Vec<SecretFile>,
) -> Option<EntryTransport> {
    let mut first_args = Vec::new();
    let command = match fields.take(&["command", "cmd"])? {
        // Older versions of Zed have the program and its arguments below `command`.
        (_, Value::Object(mut below)) => {
            let path = below.shift_remove("path");
            fields.merge(below);
            path.and_then(|path| path.as_str().map(str::to_owned))
        }
        (_, Value::Array(words)) => {
            let mut words = words.into_iter().map(|word| word.as_str().map(str::to_owned));
            let command = words.next().flatten();
            match words.collect::<Option<Vec<_>>>() {
                Some(args) => {
                    first_args = args;
                    command
                }
                None => None,
            }
        }
        (_, Value::String(command)) => Some(command),
        _ => None,
    };
    let Some(command) = command.filter(|command| !command.trim().is_empty()) else {
        fields.add_problem("command", "the program is missing", "write the program's name or path");
        return None;
    };
    let args = first_args.into_iter().chain(fields.texts(&["args"]));
    let template = |text: String| from_client(text, manner.variables);
    let args = args.map(template).collect();
    let mut env = IndexMap::new();
    for (name, held) in fields.pairs(&["env", "envs"]) {
        match held {
            TextOrFile::Text(text) => {
                env.insert(name, template(text));
            }
            TextOrFile::File(path) => {
                secrets.push(SecretFile { goes: SecretUse::Variable(name), path: template(path) });
            }
        }
    }
    for (name, held) in fields.pairs(&["env_files", "envFiles"]) {
        let (TextOrFile::Text(path) | TextOrFile::File(path)) = held;
        secrets.push(SecretFile { goes: SecretUse::Variable(name), path: template(path) });
    }
    for name in fields.texts(&["env_keys"]) {
        let value = format!("${{{name}}}");
        env.entry(name).or_insert(value);
    }
    let inherit = read_inherited(fields);
    let cwd = fields.text(&["cwd"]).map(template);
    Some(EntryTransport::Program { command: template(command), args, env, inherit, cwd })
}

/// Codex lists inherited variables, as strings or as objects with a name.
fn read_inherited(fields: &mut EntryFields) -> Vec<String> {
    let Some((field, value)) = fields.take(&["env_vars", "inherit_env", "inheritEnv"]) else {
        return Vec::new();
    };
    let name =
        |item: &Value| item.as_str().or_else(|| item.get("name")?.as_str()).map(str::to_owned);
    let names = value.as_array().and_then(|items| items.iter().map(name).collect());
    if names.is_none() {
        fields.add_problem(
            field,
            "it is not a list of names",
            "write names in quotes between [ and ]",
        );
    }
    names.unwrap_or_default()
}

fn read_remote(
    fields: &mut EntryFields,
    manner: EntryDialect,
    said: Option<RemoteKind>,
    secrets: &mut Vec<SecretFile>,
) -> Option<EntryTransport> {
    let (field, means) = *URL_FIELDS.iter().find(|(name, _)| fields.has(name))?;
    let url = from_client(fields.text(&[field])?, manner.variables);
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let socket = matches!(scheme.as_deref(), Some("ws" | "wss"));
    if !socket && !matches!(scheme.as_deref(), Some("http" | "https")) && !url.contains("${") {
        fields.add_problem(
            field,
            "it is not a server address",
            "write one that starts with https://",
        );
        return None;
    }
    let plain = (field == "url").then_some(manner.plain_url).flatten();
    let kind = said.or(means).or(socket.then_some(RemoteKind::WebSocket)).or(plain);
    let headers = read_headers(fields, manner, secrets);
    Some(EntryTransport::Remote { url, kind, headers })
}

fn read_headers(
    fields: &mut EntryFields,
    manner: EntryDialect,
    secrets: &mut Vec<SecretFile>,
) -> IndexMap<String, String> {
    let template = |text: String| from_client(text, manner.variables);
    let mut headers = IndexMap::new();
    // Goose expands its own variables in headers first, then those of the environment.
    let goose = manner.client == Some(McpClient::Goose);
    let own = if goose { fields.pairs(&["envs"]) } else { IndexMap::new() };
    if goose {
        fields.take(&["env_keys"]);
    }
    for (name, held) in fields.pairs(&["headers", "http_headers", "httpHeaders"]) {
        match held {
            TextOrFile::Text(text) if goose => {
                headers.insert(name, with_own_variables(&text, &own));
            }
            TextOrFile::Text(text) => {
                headers.insert(name, template(text));
            }
            TextOrFile::File(path) => {
                secrets.push(SecretFile { goes: SecretUse::Header(name), path: template(path) });
            }
        }
    }
    for (name, held) in fields.pairs(&["header_files", "headerFiles"]) {
        let (TextOrFile::Text(path) | TextOrFile::File(path)) = held;
        secrets.push(SecretFile { goes: SecretUse::Header(name), path: template(path) });
    }
    for (name, held) in fields.pairs(&["env_http_headers", "envHttpHeaders"]) {
        let (TextOrFile::Text(variable) | TextOrFile::File(variable)) = held;
        headers.insert(name, format!("${{{variable}}}"));
    }
    let variable = fields.text(&[
        "bearer_token_env_var",
        "bearerTokenEnvVar",
        "bearer_token_env",
        "bearerTokenEnv",
    ]);
    let token = fields.text(&["bearer_token", "bearerToken"]).map(template);
    if let Some(token) = variable.map(|name| format!("${{{name}}}")).or(token) {
        headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
    }
    if let Some(path) = fields.text(&["bearer_token_file", "bearerTokenFile"]) {
        secrets.push(SecretFile { goes: SecretUse::Bearer, path: template(path) });
    }
    headers
}

fn with_own_variables(text: &str, own: &IndexMap<String, TextOrFile>) -> String {
    let mut text = text.to_owned();
    for (name, held) in own {
        if let TextOrFile::Text(value) = held {
            text = text.replace(&format!("${{{name}}}"), &escape(value));
        }
    }
    text
}

fn read_meta(fields: &mut EntryFields) -> ServerMeta {
    let mut meta = ServerMeta {
        title: fields.text(&["title", "displayName", "display_name"]),
        description: fields.text(&["description", "summary"]).filter(|text| !text.is_empty()),
        tags: fields.texts(&["tags"]),
        domains: fields.texts(&["domains"]),
        examples: fields.texts(&["examples"]),
        auto_discover: fields.flag(&["autoDiscoverTools", "auto_discover_tools"]),
        always_allow: fields.texts(&["alwaysAllow", "always_allow"]),
        ..ServerMeta::default()
    };
    if let Some(name) = fields.text(&["visibility"]) {
        match name.replace(['-', '_'], "").to_ascii_lowercase().as_str() {
            "default" => {}
            "optin" => meta.visibility = EntryVisibility::OptIn,
            "experimental" => meta.visibility = EntryVisibility::Experimental,
            _ => {
                // The more restrictive choice.
                meta.visibility = EntryVisibility::OptIn;
                let remedy = "write default, opt_in or experimental; opt_in is assumed";
                fields.add_problem("visibility", "unknown value", remedy);
            }
        }
    }
    if let Some(name) = fields.text(&["sensitivity"]) {
        match name.to_ascii_lowercase().as_str() {
            "low" => {}
            "medium" => meta.sensitivity = Sensitivity::Medium,
            "high" => meta.sensitivity = Sensitivity::High,
            _ => {
                meta.sensitivity = Sensitivity::High;
                let remedy = "write low, medium or high; high is assumed";
                fields.add_problem("sensitivity", "unknown value", remedy);
            }
        }
    }
    if let Some(number) = fields.number(&["priority"]) {
        if number.fract() == 0.0 && (-1000.0..=1000.0).contains(&number) {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
            let priority = number as i32;
            meta.priority = Some(priority);
        } else {
            fields.add_problem(
                "priority",
                "it is not a whole number up to 1000",
                "write one from 1 to 10",
            );
        }
    }
    meta
}
