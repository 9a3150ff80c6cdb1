//! A server entry: its transport and its description.

use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::{fmt, time::Duration};

/// A server entry of a file.
///
/// Strings are templates: `${VAR}`, `${VAR:-default}` and `${env:VAR}` are variables, and `$${` is a literal `${`.
/// [`crate::expand`] inserts the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerEntry {
    /// The entry's name.
    pub name: String,
    /// Its transport.
    pub way: EntryTransport,
    /// Whether it is disabled.
    pub disabled: bool,
    /// Timeout of a call.
    pub timeout: Option<Duration>,
    /// Timeout of its start.
    pub start_timeout: Option<Duration>,
    /// A file of `NAME=value` lines whose variables the program gets.
    pub env_file: Option<String>,
    /// Values to read from files.
    pub secrets: Vec<SecretFile>,
    /// The project folder of the entry; `None` for all projects.
    pub project: Option<String>,
    /// Its description.
    pub meta: ServerMeta,
    /// Unknown fields, which are kept.
    pub unknown: Map<String, Value>,
}

/// Transport of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum EntryTransport {
    /// A program that uses its standard input and output.
    Program {
        /// The program to start, without a shell.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables set for it.
        env: IndexMap<String, String>,
        /// Variables that it inherits if they are set.
        inherit: Vec<String>,
        /// Its working folder.
        cwd: Option<String>,
    },
    /// A remote server.
    Remote {
        /// Its address.
        url: String,
        /// Its protocol, if given.
        kind: Option<RemoteKind>,
        /// Headers sent with each request.
        headers: IndexMap<String, String>,
    },
}

/// Protocol of a remote server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, of the first revision.
    Sse,
    /// `WebSocket`.
    WebSocket,
}

/// A value in its own file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// Where the value goes.
    pub goes: SecretUse,
    /// The file, as written.
    pub path: String,
}

/// Where a secret goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretUse {
    /// The variable of this name.
    Variable(String),
    /// The header of this name.
    Header(String),
    /// The bearer token.
    Bearer,
}

/// Description of a server for search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerMeta {
    /// A name for people.
    pub title: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// Tags for search.
    pub tags: Vec<String>,
    /// Domains for search.
    pub domains: Vec<String>,
    /// Example requests.
    pub examples: Vec<String>,
    /// When it is shown.
    pub visibility: EntryVisibility,
    /// Sensitivity of its use.
    pub sensitivity: Sensitivity,
    /// Higher comes first among equal matches.
    pub priority: Option<i32>,
    /// Whether its tools are listed without a search.
    pub auto_discover: Option<bool>,
    /// Tools that may be called without confirmation.
    pub always_allow: Vec<String>,
}

/// When a search shows a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryVisibility {
    /// Always.
    #[default]
    Default,
    /// When the query names it.
    OptIn,
    /// When the query asks for experimental servers.
    Experimental,
}

/// Sensitivity of a server's use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sensitivity {
    /// Reads public data.
    #[default]
    Low,
    /// Costly or private data.
    Medium,
    /// Dangerous.
    High,
}

/// A requirement of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// A variable.
    Variable {
        /// Its name, without `env:`.
        name: String,
        /// Its value if the variable is not set.
        default: Option<String>,
    },
    /// An answer that an editor asks its user for (`${input:id}`).
    Input(String),
    /// A variable that only an editor knows (`${workspaceFolder}`).
    Editor(String),
    /// A file.
    File(String),
}

impl McpServerEntry {
    /// Creates an entry without a description.
    pub fn new(name: impl Into<String>, way: EntryTransport) -> Self {
        Self {
            name: name.into(),
            way,
            disabled: false,
            timeout: None,
            start_timeout: None,
            env_file: None,
            secrets: Vec::new(),
            project: None,
            meta: ServerMeta::default(),
            unknown: Map::new(),
        }
    }

    /// Creates an entry for a program and its arguments.
    pub fn program(name: impl Into<String>, command: &str, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self::new(
            name,
            EntryTransport::Program {
                command: command.to_owned(),
                args,
                env: IndexMap::new(),
                inherit: Vec::new(),
                cwd: None,
            },
        )
    }

    /// A remote server.
    pub fn remote(name: impl Into<String>, url: &str, kind: Option<RemoteKind>) -> Self {
        Self::new(
            name,
            EntryTransport::Remote { url: url.to_owned(), kind, headers: IndexMap::new() },
        )
    }

    /// Summarizes its transport in one line, with the names of variables and headers but not their values.
    pub fn summary(&self) -> String {
        let off = if self.disabled { " (disabled)" } else { "" };
        let (line, names) = match &self.way {
            EntryTransport::Program { command, args, env, .. } => {
                let line = std::iter::once(command).chain(args).cloned().collect::<Vec<_>>();
                (line.join(" "), env.keys().cloned().collect::<Vec<_>>())
            }
            EntryTransport::Remote { url, headers, .. } => {
                (url.clone(), headers.keys().cloned().collect())
            }
        };
        if names.is_empty() {
            return format!("{line}{off}");
        }
        format!("{line} (with {}){off}", names.join(", "))
    }
}

impl RemoteKind {
    /// Returns the name for a `type` field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "ws",
        }
    }
}

/// Values of variables and headers may be secret, so only their names are shown.
impl fmt::Debug for EntryTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { command, args, env, inherit, cwd } => f
                .debug_struct("Program")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("inherit", inherit)
                .field("cwd", cwd)
                .finish(),
            Self::Remote { url, kind, headers } => f
                .debug_struct("Remote")
                .field("url", url)
                .field("kind", kind)
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}
