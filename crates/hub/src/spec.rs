//! What is configured of a server, and how it is reached.

use crate::{
    StderrTail,
    server::{TASK_TIME, MAX_ATTEMPTS},
};
use docent_dial::{TransportFailure, ClientTransport, TransportListener, Running};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

/// How many times its timeout a call may take where nothing else is configured.
pub(crate) const TIMEOUT_FACTOR: u32 = 10;
/// What any call may take.
const MAX_EXCHANGE_TIME: Duration = Duration::from_hours(24 * 365);

/// One server.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct ServerSpec {
    /// Names it in routes, scopes and audit lines.
    pub name: String,
    /// How it is reached.
    pub transport: ServerTransport,
    /// What it is for, for people and for discovery.
    pub about: ServerDescription,
    /// Started with docent, and kept.
    pub warm: bool,
    /// How long it may be unused before it is ended; `None` keeps it.
    pub idle: Option<Duration>,
    /// How long it may take to start.
    pub start_timeout: Duration,
    /// How long nothing may be heard of a call. Progress starts the time anew.
    pub timeout: Duration,
    /// The most that a call may take, progress or not; ten times `timeout` where there is none.
    pub max_timeout: Option<Duration>,
    /// Which failed calls are repeated, beside those that a tool's annotations allow.
    pub retry: Option<RetryPolicy>,
    /// Calls that may run at once.
    pub concurrency: usize,
    /// How long answers of tools that only read are kept where the server says nothing of it.
    pub cache: Option<Duration>,
    /// Other names for its tools.
    pub rename: BTreeMap<String, String>,
    /// Tools that are not offered; patterns with `*`.
    pub hide: Vec<String>,
    /// The only tools that are offered, where there are any; patterns with `*`.
    pub only: Vec<String>,
    /// Other descriptions for its tools.
    pub describe: BTreeMap<String, String>,
    /// Whether definitions that change, and tools that are new, are held back.
    pub pinned: bool,
    /// Whether tools that are not among those approved are offered without approval, where definitions are pinned.
    pub accepts_new_tools: bool,
    /// Whether what was approved counts on another way to it as well. So it must where somebody else says what the way is.
    pub keeps_pins: bool,
    /// Folders that it is told of when no client can be asked.
    pub roots: Vec<String>,
    /// Tells apart what else is configured of it, so that a change is seen.
    pub other_settings: String,
}

/// Calls that are repeated because the user says so, for servers whose tools have no annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The error codes after which a call is repeated.
    pub codes: Vec<i64>,
    /// How often, after the first call.
    pub attempts: u32,
    /// The pause before the first repetition. The pause before the second is twice as long, and so on.
    pub backoff: Duration,
}

impl RetryPolicy {
    /// The pause before this repetition, counted from 1.
    pub(crate) fn pause(&self, repetition: u32) -> Duration {
        self.backoff.saturating_mul(repetition)
    }

    fn all_pauses(&self) -> Duration {
        (1..=self.attempts).fold(Duration::ZERO, |all, one| all.saturating_add(self.pause(one)))
    }
}

/// How a server is reached. Values may hold secrets, so they are not shown.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A program, over its standard input and output.
    Program {
        /// What to run.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables beside those that every program gets.
        env: BTreeMap<String, String>,
        /// Its working folder.
        cwd: Option<std::path::PathBuf>,
    },
    /// An address.
    Remote {
        /// `http`, `https`, `ws` or `wss`.
        url: String,
        /// Whether it is the older transport with two addresses; `None` finds out.
        sse: Option<bool>,
        /// Header fields of every request.
        headers: BTreeMap<String, String>,
    },
}

impl ServerTransport {
    /// How messages travel, in a word.
    pub fn via(&self) -> &'static str {
        match self {
            Self::Program { .. } => "stdio",
            Self::Remote { url, .. } if url.starts_with("ws") => "websocket",
            Self::Remote { sse: Some(true), .. } => "sse",
            Self::Remote { .. } => "http",
        }
    }
}

impl std::fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { command, args, env, .. } => f
                .debug_struct("Program")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys().collect::<Vec<_>>())
                .finish_non_exhaustive(),
            Self::Remote { url, headers, .. } => f
                .debug_struct("Remote")
                .field("url", url)
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish_non_exhaustive(),
        }
    }
}

/// What a server is for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerDescription {
    /// Name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// Words that it is found by.
    pub tags: Vec<String>,
    /// Fields of knowledge that it is found by.
    pub domains: Vec<String>,
    /// What it may be asked.
    pub examples: Vec<String>,
    /// Higher comes first among equals.
    pub priority: i64,
    /// When it is shown, where that is not always.
    pub visibility: Option<DiscoveryVisibility>,
    /// Whether its tools are left out of lists, and shown to whoever looks for them.
    pub on_request: bool,
    /// As its file has it: how delicate its data are.
    pub sensitivity: Option<String>,
}

/// When a server is shown that is not shown to everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoveryVisibility {
    /// When it is named.
    OptIn,
    /// When it is named, or when experimental ones are asked for.
    Experimental,
}

impl ServerDescription {
    /// Whether lists have its tools.
    pub(crate) fn is_listed(&self) -> bool {
        self.visibility.is_none() && !self.on_request
    }
}

impl ServerSpec {
    /// A server with nothing but a way to it.
    pub fn new(name: impl Into<String>, transport: ServerTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            about: ServerDescription::default(),
            warm: false,
            idle: Some(Duration::from_mins(10)),
            start_timeout: Duration::from_secs(30),
            timeout: Duration::from_mins(1),
            max_timeout: None,
            retry: None,
            concurrency: 64,
            cache: None,
            rename: BTreeMap::new(),
            hide: Vec::new(),
            only: Vec::new(),
            describe: BTreeMap::new(),
            pinned: true,
            accepts_new_tools: false,
            keeps_pins: false,
            roots: Vec::new(),
            other_settings: String::new(),
        }
    }

    /// The most that a call may take, whatever progress the server reports. A task has at least the time that the server is
    /// asked to keep it.
    pub(crate) fn call_limit(&self, is_task: bool) -> Duration {
        let limit = self.max_timeout.unwrap_or_else(|| self.timeout.saturating_mul(TIMEOUT_FACTOR));
        if is_task { limit.max(TASK_TIME) } else { limit }
    }

    /// The most that a call may take in all: its turn, the start of the server, and each try.
    pub(crate) fn max_exchange_time(&self, is_task: bool) -> Duration {
        let retries = self.retry.as_ref().map_or(0, |retry| retry.attempts);
        let tries = self.call_limit(is_task).saturating_mul(MAX_ATTEMPTS.max(retries.saturating_add(1)));
        let pauses = self.retry.as_ref().map_or(Duration::ZERO, RetryPolicy::all_pauses);
        let tries = tries.saturating_add(pauses);
        // The caller adds this to the present.
        let most = self.timeout.saturating_add(self.start_timeout).saturating_add(tries);
        most.min(MAX_EXCHANGE_TIME)
    }

    /// Tells one way from another without telling the secrets in it. What was learned of a server holds for its way alone.
    pub fn digest(&self) -> String {
        let way = match &self.transport {
            ServerTransport::Program { command, args, env, cwd } => {
                json!([command, args, env.keys().collect::<Vec<_>>(), cwd])
            }
            // A token that is renewed makes no other server.
            ServerTransport::Remote { url, sse, headers } => {
                json!([url, sse, headers.keys().collect::<Vec<_>>()])
            }
        };
        digest(&way)
    }

    /// Whether a tool is offered at all.
    pub fn offers(&self, tool: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, tool));
        (self.only.is_empty() || any(&self.only)) && !any(&self.hide)
    }
}

/// A short digest of some JSON.
pub(crate) fn digest(value: &Value) -> String {
    let hash = Sha256::digest(value.to_string().as_bytes());
    hex(hash.get(..16).unwrap_or_default())
}

/// Bytes as people write them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}

/// A pattern with `*` for any characters.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    let mut rest = rest;
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// What of the servers' tools a client sees in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogExposure {
    /// Everything.
    Direct,
    /// Four tools that find, describe and call the others.
    Discover,
    /// The one or the other, by how many tokens everything would take.
    #[default]
    Auto,
}

/// Makes connections.
pub trait Dialer: Send + Sync {
    /// Starts or reaches a server. What a program writes to its standard error goes to `stderr`.
    fn dial<'a>(
        &'a self,
        spec: &'a ServerSpec,
        listener: Arc<dyn TransportListener>,
        stderr: Arc<StderrTail>,
    ) -> Running<'a, Result<Arc<dyn ClientTransport>, TransportFailure>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_people_read_them() {
        let cases = [
            ("echo", "echo", true),
            ("echo", "echoes", false),
            ("*", "anything", true),
            ("read_*", "read_file", true),
            ("read_*", "write_file", false),
            ("*_file", "read_file", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "ace", true),
            ("a*c*e", "aec", false),
        ];
        for (pattern, name, want) in cases {
            assert_eq!(fits(pattern, name), want, "{pattern} {name}");
        }
    }
}
