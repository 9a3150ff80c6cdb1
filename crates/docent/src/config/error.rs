//! Errors of the configuration, worded so that the user can fix them.

use std::{fmt, io, path::PathBuf};

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// The built-in default.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// A variable in a `.env` file.
    EnvFile {
        /// The file.
        path: PathBuf,
        /// The variable.
        name: String,
    },
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for ValueSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("default"),
            Self::File(path) => write!(out, "{}", path.display()),
            Self::EnvFile { path, name } => write!(out, "{name} in {}", path.display()),
            Self::Environment(name) => write!(out, "environment {name}"),
            Self::Flag(flag) => write!(out, "flag {flag}"),
        }
    }
}

/// One problem to fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The source of the value.
    pub source: ValueSource,
    /// What is wrong, with the key and the accepted values.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.source, self.message)
    }
}

/// Why the configuration can't be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file exists but can't be read.
    #[error("cannot read the configuration file {} (fix it, or write a new one with `docent config init`)", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is not TOML or JSON. The parser's own report is left out: it quotes the line, which may hold a secret.
    #[error("{}:{line}:{column}: not valid {format}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The parser's sentence.
        message: String,
    },
    /// The file of `--env-file` can't be read.
    #[error("cannot read {}; name a file that exists with --env-file PATH, or omit the flag", path.display())]
    ReadEnvFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A line of the file of `--env-file` is not `NAME=value`. The line is left out: it may hold a secret.
    #[error("{}:{line}: {message}", path.display())]
    EnvFile {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with the line.
        message: String,
    },
    /// Two configuration files are in the same folder.
    #[error(
        "both {} and {} exist; docent reads one of them: keep docent.toml and remove docent.json, or the other way round",
        toml.display(), json.display()
    )]
    BothFiles {
        /// One.
        toml: PathBuf,
        /// The other.
        json: PathBuf,
    },
    /// Invalid keys or values.
    #[error("{}", lines(.0))]
    Problems(Vec<ConfigProblem>),
    /// Auth is required but no key is configured.
    #[error(
        "auth is required (by {0}) but no key is configured: set MCP_API_KEY, pass --auth TOKEN, or add server.auth.keys"
    )]
    NoKey(ValueSource),
    /// Anyone on the network could connect.
    #[error(
        "refusing to listen on {host} without auth ({place}): set MCP_API_KEY or pass --auth TOKEN, bind 127.0.0.1, or pass --allow-open if everyone who can reach it may use it"
    )]
    Open {
        /// The address.
        host: String,
        /// The layer that sets it.
        place: ValueSource,
    },
    /// The same with a key that is configured while auth is off.
    #[error(
        "refusing to listen on {host} without auth ({place}): a key is configured, but {off} turns auth off: set MCP_AUTH_REQUIRED=true or remove it, bind 127.0.0.1, or pass --allow-open if everyone who can reach it may use it"
    )]
    AuthOff {
        /// The address.
        host: String,
        /// The layer that sets it.
        place: ValueSource,
        /// Which layer turns auth off.
        off: ValueSource,
    },
}

fn lines(problems: &[ConfigProblem]) -> String {
    problems.iter().map(ConfigProblem::to_string).collect::<Vec<_>>().join("\n")
}
