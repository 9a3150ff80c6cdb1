//! A server as it is written down: how it is reached, and what is said about it.

use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::{fmt, time::Duration};

/// A server as a file has it.
///
/// Strings are templates: `${VAR}`, `${VAR:-default}` and `${env:VAR}` stand for variables, and `$${` for a `${` that is
/// meant. [`crate::expand`] puts the values in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerEntry {
    /// The entry's name.
    pub name: String,
    /// How it is reached.
    pub way: EntryTransport,
    /// Written down, and not to be used.
    pub disabled: bool,
    /// The longest that a call may take.
    pub timeout: Option<Duration>,
    /// The longest that its start may take.
    pub start_timeout: Option<Duration>,
    /// A file of `NAME=value` lines whose variables the program gets.
    pub env_file: Option<String>,
    /// Values that are read from files.
    pub secrets: Vec<SecretFile>,
    /// The folder that the entry is for; `None` is everywhere.
    pub project: Option<String>,
    /// What is said about it.
    pub meta: ServerMeta,
    /// Fields that mean nothing here, kept.
    pub unknown: Map<String, Value>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum EntryTransport {
    /// A program that speaks on its standard input and output.
    Program {
        /// What is started, without a shell.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables set for it.
        env: IndexMap<String, String>,
        /// Variables handed on to it where they are set.
        inherit: Vec<String>,
        /// Where it is started.
        cwd: Option<String>,
    },
    /// A server on the network.
    Remote {
        /// Its address.
        url: String,
        /// What it speaks, where that is said.
        kind: Option<RemoteKind>,
        /// Headers sent with each request.
        headers: IndexMap<String, String>,
    },
}

/// What a server on the network speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, of the first revision.
    Sse,
    /// `WebSocket`.
    WebSocket,
}

/// A value that is in a file of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// Where the value goes.
    pub goes: SecretUse,
    /// The file, as it is written.
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

/// What is said about a server, for those who look for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerMeta {
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Words that find it.
    pub tags: Vec<String>,
    /// Subjects that it covers.
    pub domains: Vec<String>,
    /// Things that it can be asked for.
    pub examples: Vec<String>,
    /// When it is shown.
    pub visibility: EntryVisibility,
    /// How careful its use must be.
    pub sensitivity: Sensitivity,
    /// Among equals the highest comes first.
    pub priority: Option<i32>,
    /// Whether its tools are listed without being asked for.
    pub auto_discover: Option<bool>,
    /// Tools that may be called without a question.
    pub always_allow: Vec<String>,
}

/// When a server is shown to those who look for one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryVisibility {
    /// Always.
    #[default]
    Default,
    /// When it is named.
    OptIn,
    /// When experimental ones are asked for.
    Experimental,
}

/// How careful the use of a server must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sensitivity {
    /// Reading of public things.
    #[default]
    Low,
    /// Costly or private.
    Medium,
    /// Dangerous.
    High,
}

/// What must be there before a server can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// A variable.
    Variable {
        /// Its name, without `env:`.
        name: String,
        /// Stands in where the variable is not set.
        default: Option<String>,
    },
    /// An answer that an editor asks its user for (`${input:id}`).
    Input(String),
    /// Something that only an editor knows (`${workspaceFolder}`).
    Editor(String),
    /// A file.
    File(String),
}

impl McpServerEntry {
    /// A server with nothing said about it.
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

    /// A program and its arguments.
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

    /// A server on the network.
    pub fn remote(name: impl Into<String>, url: &str, kind: Option<RemoteKind>) -> Self {
        Self::new(name, EntryTransport::Remote { url: url.to_owned(), kind, headers: IndexMap::new() })
    }

    /// How it is reached, in one line that shows the names of variables and headers and none of their values.
    pub fn summary(&self) -> String {
        let off = if self.disabled { " (disabled)" } else { "" };
        let (line, names) = match &self.way {
            EntryTransport::Program { command, args, env, .. } => {
                let line = std::iter::once(command).chain(args).cloned().collect::<Vec<_>>();
                (line.join(" "), env.keys().cloned().collect::<Vec<_>>())
            }
            EntryTransport::Remote { url, headers, .. } => (url.clone(), headers.keys().cloned().collect()),
        };
        if names.is_empty() {
            return format!("{line}{off}");
        }
        format!("{line} (with {}){off}", names.join(", "))
    }
}

impl RemoteKind {
    /// As it is written in a `type` field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "ws",
        }
    }
}

/// Values of variables and headers may be secret: a debug line shows their names.
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
