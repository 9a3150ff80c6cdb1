//! Writes a server entry in a client's format. What the client does not support is refused, not left out.

use crate::{
    client::{McpClient, VariableSyntax},
    problem::EntryProblem,
    server::{
        EntryTransport, EntryVisibility, McpServerEntry, RemoteKind, SecretUse, Sensitivity,
        ServerMeta,
    },
    template::{lone_variable, to_client},
};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Returns the entry of a server for a client's file. The description for search is docent's own and is not written.
pub(crate) fn write_entry_for(
    client: McpClient,
    name: &str,
    server: &McpServerEntry,
) -> Result<Value, EntryProblem> {
    let shaper = EntryWriter { client };
    let mut entry = match &server.way {
        EntryTransport::Program { .. } => shaper.program(name, server)?,
        EntryTransport::Remote { .. } => shaper.remote(name, server)?,
    };
    if !server.secrets.is_empty() {
        return Err(shaper.unsupported("a secret from a file", "set a variable"));
    }
    shaper.switch(server, &mut entry)?;
    shaper.timeouts(server, &mut entry)?;
    for (field, value) in &server.unknown {
        entry.entry(field.clone()).or_insert_with(|| value.clone());
    }
    Ok(Value::Object(entry))
}

struct EntryWriter {
    client: McpClient,
}

type Fields = Map<String, Value>;

impl EntryWriter {
    fn unsupported(&self, what: &str, instead: &str) -> EntryProblem {
        let what = format!("{} does not support {what}", self.client);
        EntryProblem::new(what, format!("{instead}, or leave it out"))
    }

    fn text(&self, template: &str) -> Result<Value, EntryProblem> {
        to_client(template, self.client.variables())
            .map(Value::String)
            .map_err(|what| self.unsupported(&what, "write the value itself"))
    }

    fn program(&self, name: &str, server: &McpServerEntry) -> Result<Fields, EntryProblem> {
        let EntryTransport::Program { command, args, env, inherit, cwd } = &server.way else {
            return Ok(Fields::new());
        };
        let mut fields = Fields::new();
        match self.client {
            McpClient::ClaudeCode | McpClient::VsCode => put(&mut fields, "type", "stdio"),
            McpClient::Zed => put(&mut fields, "source", "custom"),
            McpClient::Goose => goose(name, server, "stdio", &mut fields),
            _ => {}
        }
        let key = if self.client == McpClient::Goose { "cmd" } else { "command" };
        put(&mut fields, key, self.text(command)?);
        let args = args.iter().map(|arg| self.text(arg)).collect::<Result<Vec<_>, _>>()?;
        put(&mut fields, "args", args);
        self.variables(env, &mut fields)?;
        match (self.client, inherit.is_empty()) {
            (_, true) => {}
            (McpClient::Codex, false) => put(&mut fields, "env_vars", inherit.clone()),
            _ => return Err(self.unsupported("inherited variables", "write them under env")),
        }
        if let Some(cwd) = cwd {
            if !matches!(self.client, McpClient::VsCode | McpClient::Codex | McpClient::GeminiCli) {
                return Err(self.unsupported("a working folder", "write full paths"));
            }
            put(&mut fields, "cwd", self.text(cwd)?);
        }
        if let Some(path) = &server.env_file {
            if !matches!(self.client, McpClient::VsCode | McpClient::Cursor) {
                return Err(self.unsupported("an env file", "write them under env"));
            }
            put(&mut fields, "envFile", self.text(path)?);
        }
        Ok(fields)
    }

    fn variables(
        &self,
        env: &IndexMap<String, String>,
        fields: &mut Fields,
    ) -> Result<(), EntryProblem> {
        let mut written = Fields::new();
        let mut keys = Vec::new();
        for (name, value) in env {
            if self.client == McpClient::Goose && lone_variable(value) == Some(name) {
                keys.push(name.clone());
            } else {
                written.insert(name.clone(), self.text(value)?);
            }
        }
        let key = if self.client == McpClient::Goose { "envs" } else { "env" };
        if !written.is_empty() {
            put(fields, key, Value::Object(written));
        }
        if !keys.is_empty() {
            put(fields, "env_keys", keys);
        }
        Ok(())
    }

    fn remote(&self, name: &str, server: &McpServerEntry) -> Result<Fields, EntryProblem> {
        let EntryTransport::Remote { url, kind, headers } = &server.way else {
            return Ok(Fields::new());
        };
        let url = self.text(url)?;
        let mut fields = Fields::new();
        let sse = match kind {
            Some(RemoteKind::WebSocket) => {
                return Err(self.unsupported("a WebSocket", "serve Streamable HTTP"));
            }
            Some(RemoteKind::Sse) => true,
            Some(RemoteKind::Http) | None => false,
        };
        match self.client {
            McpClient::ClaudeDesktop => {
                return Err(self.unsupported("a remote server", "let it start a program"));
            }
            McpClient::Zed | McpClient::Codex | McpClient::Goose if sse => {
                return Err(self.unsupported("server-sent events", "serve Streamable HTTP"));
            }
            McpClient::ClaudeCode | McpClient::VsCode => {
                put(&mut fields, "type", if sse { "sse" } else { "http" });
                put(&mut fields, "url", url);
            }
            McpClient::Cursor => {
                if let Some(kind) = kind {
                    put(&mut fields, "type", kind.name());
                }
                put(&mut fields, "url", url);
            }
            McpClient::Windsurf => put(&mut fields, "serverUrl", url),
            McpClient::GeminiCli => put(&mut fields, if sse { "url" } else { "httpUrl" }, url),
            McpClient::Goose => {
                goose(name, server, "streamable_http", &mut fields);
                put(&mut fields, "uri", url);
            }
            McpClient::Zed | McpClient::Codex => put(&mut fields, "url", url),
        }
        self.headers(headers, &mut fields)?;
        if server.env_file.is_some() {
            return Err(self.unsupported("variables of a remote server", "use headers"));
        }
        Ok(fields)
    }

    fn headers(
        &self,
        headers: &IndexMap<String, String>,
        fields: &mut Fields,
    ) -> Result<(), EntryProblem> {
        let codex = self.client == McpClient::Codex;
        let mut written = Fields::new();
        let mut named = Fields::new();
        for (name, value) in headers {
            let bearer = value.strip_prefix("Bearer ").and_then(lone_variable);
            if let (true, "Authorization", Some(variable)) = (codex, name.as_str(), bearer) {
                put(fields, "bearer_token_env_var", variable);
            } else if let (true, Some(variable)) = (codex, lone_variable(value)) {
                named.insert(name.clone(), variable.into());
            } else if self.client == McpClient::Goose {
                let text = to_client(value, VariableSyntax::Prefixed)
                    .map_err(|what| self.unsupported(&what, "write the value itself"))?;
                written.insert(name.clone(), text.replace("${env:", "${").into());
            } else {
                written.insert(name.clone(), self.text(value)?);
            }
        }
        let key = if codex { "http_headers" } else { "headers" };
        if !written.is_empty() {
            put(fields, key, Value::Object(written));
        }
        if !named.is_empty() {
            put(fields, "env_http_headers", Value::Object(named));
        }
        Ok(())
    }

    fn switch(&self, server: &McpServerEntry, fields: &mut Fields) -> Result<(), EntryProblem> {
        if !server.disabled {
            return Ok(());
        }
        match self.client {
            McpClient::Windsurf => put(fields, "disabled", true),
            McpClient::Zed | McpClient::Codex => put(fields, "enabled", false),
            McpClient::Goose => {}
            _ => return Err(self.unsupported("a disabled entry", "leave the entry out")),
        }
        Ok(())
    }

    fn timeouts(&self, server: &McpServerEntry, fields: &mut Fields) -> Result<(), EntryProblem> {
        let refused =
            || self.unsupported("this timeout", "use a whole number of the client's unit");
        if let Some(time) = server.timeout {
            let whole = (time.subsec_nanos() == 0).then(|| json!(time.as_secs()));
            let (key, value) = match self.client {
                McpClient::Zed | McpClient::Goose => ("timeout", whole),
                McpClient::Codex => ("tool_timeout_sec", whole.or(Some(seconds(time)))),
                McpClient::GeminiCli => {
                    let millis = time.subsec_nanos().is_multiple_of(1_000_000);
                    ("timeout", millis.then(|| u64::try_from(time.as_millis()).ok().into()))
                }
                _ => return Err(self.unsupported("a timeout", "set it in the client")),
            };
            put(fields, key, value.ok_or_else(refused)?);
        }
        match (server.start_timeout, self.client) {
            (None, _) => {}
            (Some(time), McpClient::Codex) => put(fields, "startup_timeout_sec", seconds(time)),
            (Some(_), _) => return Err(self.unsupported("a start timeout", "set it elsewhere")),
        }
        Ok(())
    }
}

/// Goose requires a name, a description and an `enabled` flag in each entry.
fn goose(name: &str, server: &McpServerEntry, kind: &str, fields: &mut Fields) {
    let about = server.meta.description.as_deref().or(server.meta.title.as_deref());
    put(fields, "enabled", !server.disabled);
    put(fields, "type", kind);
    put(fields, "name", name);
    put(fields, "description", about.unwrap_or_default());
}

fn seconds(time: Duration) -> Value {
    time.as_secs_f64().into()
}

fn put(fields: &mut Fields, key: &str, value: impl Into<Value>) {
    fields.insert(key.to_owned(), value.into());
}

/// Returns the entry of a server in docent's own tables, with all its settings.
pub(crate) fn write_own_entry(server: &McpServerEntry) -> Value {
    let mut fields = Fields::new();
    let mut files = Fields::new();
    let mut bearer = None;
    for secret in &server.secrets {
        match &secret.goes {
            SecretUse::Variable(name) | SecretUse::Header(name) => {
                files.insert(name.clone(), json!({ "file": secret.path }));
            }
            SecretUse::Bearer => bearer = Some(secret.path.clone()),
        }
    }
    let with_files = |texts: &IndexMap<String, String>| {
        let texts = texts.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
        Value::Object(texts.chain(files.clone()).collect())
    };
    match &server.way {
        EntryTransport::Program { command, args, env, inherit, cwd } => {
            put(&mut fields, "command", command.as_str());
            put(&mut fields, "args", args.clone());
            put_full(&mut fields, "env", with_files(env));
            put_full(&mut fields, "inherit_env", inherit.clone());
            put_full(&mut fields, "cwd", cwd.clone());
        }
        EntryTransport::Remote { url, kind, headers } => {
            put_full(&mut fields, "type", kind.map(RemoteKind::name));
            put(&mut fields, "url", url.as_str());
            put_full(&mut fields, "headers", with_files(headers));
        }
    }
    put_full(&mut fields, "bearer_token_file", bearer);
    put_full(&mut fields, "env_file", server.env_file.clone());
    if server.disabled {
        put(&mut fields, "disabled", true);
    }
    put_full(&mut fields, "timeout_ms", server.timeout.map(milliseconds));
    put_full(&mut fields, "start_timeout_ms", server.start_timeout.map(milliseconds));
    put_meta(&mut fields, &server.meta);
    for (field, value) in &server.unknown {
        fields.entry(field.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(fields)
}

fn put_meta(fields: &mut Fields, meta: &ServerMeta) {
    put_full(fields, "title", meta.title.clone());
    put_full(fields, "description", meta.description.clone());
    put_full(fields, "tags", meta.tags.clone());
    put_full(fields, "domains", meta.domains.clone());
    put_full(fields, "examples", meta.examples.clone());
    put_full(
        fields,
        "visibility",
        match meta.visibility {
            EntryVisibility::Default => None,
            EntryVisibility::OptIn => Some("opt_in"),
            EntryVisibility::Experimental => Some("experimental"),
        },
    );
    put_full(
        fields,
        "sensitivity",
        match meta.sensitivity {
            Sensitivity::Low => None,
            Sensitivity::Medium => Some("medium"),
            Sensitivity::High => Some("high"),
        },
    );
    put_full(fields, "priority", meta.priority);
    put_full(fields, "auto_discover_tools", meta.auto_discover);
    put_full(fields, "always_allow", meta.always_allow.clone());
}

fn milliseconds(time: Duration) -> Value {
    let whole = u64::try_from(time.as_millis()).ok();
    let exact = whole.filter(|whole| Duration::from_millis(*whole) == time);
    exact.map_or_else(|| (time.as_secs_f64() * 1000.0).into(), Value::from)
}

/// Sets a field unless it is empty.
fn put_full(fields: &mut Fields, key: &str, value: impl Into<Value>) {
    let value = value.into();
    let empty = match &value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if !empty {
        fields.insert(key.to_owned(), value);
    }
}

/// Whether an existing entry is equivalent to the wanted one. A client may have added its own fields, and an entry
/// without a protocol detects it.
pub(crate) fn is_equivalent(there: &McpServerEntry, wanted: &McpServerEntry) -> bool {
    let way = match (&there.way, &wanted.way) {
        (
            EntryTransport::Remote { url, kind, headers },
            EntryTransport::Remote { url: other_url, kind: other_kind, headers: other_headers },
        ) => {
            url == other_url
                && headers == other_headers
                && (kind == other_kind || kind.is_none() || other_kind.is_none())
        }
        (there, wanted) => there == wanted,
    };
    way && there.disabled == wanted.disabled
        && there.timeout == wanted.timeout
        && there.start_timeout == wanted.start_timeout
        && there.env_file == wanted.env_file
        && wanted.unknown.iter().all(|(field, value)| there.unknown.get(field) == Some(value))
}
