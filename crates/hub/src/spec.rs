//! The configuration of a server, and how to connect to it.

use crate::{
    StderrTail,
    server::{MAX_ATTEMPTS, TASK_TIME},
};
use docent_dial::{ClientTransport, Running, TransportFailure, TransportListener};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

/// Default total time limit of a call, in multiples of its timeout.
pub(crate) const TIMEOUT_FACTOR: u32 = 10;
/// Maximum time of any call.
const MAX_EXCHANGE_TIME: Duration = Duration::from_hours(24 * 365);

/// The configuration of one server.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct ServerSpec {
    /// Its name in routes, scopes and audit lines.
    pub name: String,
    /// Its transport.
    pub transport: ServerTransport,
    /// Its description for people and for discovery.
    pub about: ServerDescription,
    /// Whether it is started with docent and kept running.
    pub warm: bool,
    /// How long it may be idle before it is stopped; `None` keeps it running.
    pub idle: Option<Duration>,
    /// How long it may take to start.
    pub start_timeout: Duration,
    /// Timeout of a call. Progress restarts it.
    pub timeout: Duration,
    /// Total time limit of a call, whatever progress is reported; ten times `timeout` by default.
    pub max_timeout: Option<Duration>,
    /// Which failed calls are repeated, in addition to those that a tool's annotations allow.
    pub retry: Option<RetryPolicy>,
    /// Maximum number of concurrent calls.
    pub concurrency: usize,
    /// How long results of read-only tools are cached if the server does not say.
    pub cache: Option<Duration>,
    /// New names of its tools.
    pub rename: BTreeMap<String, String>,
    /// Tools that are not offered; patterns with `*`.
    pub hide: Vec<String>,
    /// If not empty, the only tools that are offered; patterns with `*`.
    pub only: Vec<String>,
    /// New descriptions of its tools.
    pub describe: BTreeMap<String, String>,
    /// Whether changed definitions and new tools are held back.
    pub pinned: bool,
    /// Whether new tools are offered without approval although definitions are pinned.
    pub accepts_new_tools: bool,
    /// Whether approvals also apply to a changed transport, as they must where someone else configures it.
    pub keeps_pins: bool,
    /// Roots for when no client can be asked.
    pub roots: Vec<String>,
    /// Identifies all other settings, so that a change is detected.
    pub other_settings: String,
}

/// Retries that the user configured, for servers whose tools have no annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The error codes after which a call is repeated.
    pub codes: Vec<i64>,
    /// Maximum number of repetitions.
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

/// How to connect to a server. Values may contain secrets, so `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A program, over its standard input and output.
    Program {
        /// What to run.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables in addition to those that every program gets.
        env: BTreeMap<String, String>,
        /// Its working folder.
        cwd: Option<std::path::PathBuf>,
    },
    /// An address.
    Remote {
        /// `http`, `https`, `ws` or `wss`.
        url: String,
        /// Whether it uses the older transport with two addresses; `None` detects it.
        sse: Option<bool>,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

impl ServerTransport {
    /// Returns the name of the transport.
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

/// Description of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerDescription {
    /// Name for people.
    pub title: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Tags for search.
    pub tags: Vec<String>,
    /// Domains for search.
    pub domains: Vec<String>,
    /// Example requests.
    pub examples: Vec<String>,
    /// Higher comes first among equal matches.
    pub priority: i64,
    /// When it is shown, if not always.
    pub visibility: Option<DiscoveryVisibility>,
    /// Whether its tools are left out of lists and found only by search.
    pub on_request: bool,
    /// Sensitivity of its data, as configured.
    pub sensitivity: Option<String>,
}

/// When a server is shown that is not always shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoveryVisibility {
    /// When the query names it.
    OptIn,
    /// When the query names it or asks for experimental servers.
    Experimental,
}

impl ServerDescription {
    /// Whether its tools are listed.
    pub(crate) fn is_listed(&self) -> bool {
        self.visibility.is_none() && !self.on_request
    }
}

impl ServerSpec {
    /// Creates a configuration with defaults for a transport.
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

    /// Total time limit of a call, whatever progress the server reports. A task has at least the time that the server
    /// is asked to keep it.
    pub(crate) fn call_limit(&self, is_task: bool) -> Duration {
        let limit = self.max_timeout.unwrap_or_else(|| self.timeout.saturating_mul(TIMEOUT_FACTOR));
        if is_task { limit.max(TASK_TIME) } else { limit }
    }

    /// Maximum time of a call with everything: its turn, the start of the server, and each attempt.
    pub(crate) fn max_exchange_time(&self, is_task: bool) -> Duration {
        let retries = self.retry.as_ref().map_or(0, |retry| retry.attempts);
        let tries =
            self.call_limit(is_task).saturating_mul(MAX_ATTEMPTS.max(retries.saturating_add(1)));
        let pauses = self.retry.as_ref().map_or(Duration::ZERO, RetryPolicy::all_pauses);
        let tries = tries.saturating_add(pauses);
        // The caller adds this to the current time.
        let most = self.timeout.saturating_add(self.start_timeout).saturating_add(tries);
        most.min(MAX_EXCHANGE_TIME)
    }

    /// Identifies the transport without revealing its secrets. The stored state of a server is valid for its transport
    /// only.
    pub fn digest(&self) -> String {
        let way = match &self.transport {
            ServerTransport::Program { command, args, env, cwd } => {
                json!([command, args, env.keys().collect::<Vec<_>>(), cwd])
            }
            // A renewed token does not make it another server.
            ServerTransport::Remote { url, sse, headers } => {
                json!([url, sse, headers.keys().collect::<Vec<_>>()])
            }
        };
        digest(&way)
    }

    /// Whether a tool is offered at all.
    pub fn offers(&self, tool: &str) -> bool {
        let any =
            |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, tool));
        (self.only.is_empty() || any(&self.only)) && !any(&self.hide)
    }
}

/// A short digest of some JSON.
pub(crate) fn digest(value: &Value) -> String {
    let hash = Sha256::digest(value.to_string().as_bytes());
    hex(hash.get(..16).unwrap_or_default())
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}

/// Whether a name matches a pattern with `*` for any characters.
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

/// Which tools of the servers a client sees in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogExposure {
    /// Everything.
    Direct,
    /// Four tools that find, describe and call the others.
    Discover,
    /// Either, depending on how many tokens all definitions would take.
    #[default]
    Auto,
}

/// Opens connections.
pub trait Dialer: Send + Sync {
    /// Starts or connects to a server. Standard error of a program goes to `stderr`.
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
            assert_eq!(matches_pattern(pattern, name), want, "{pattern} {name}");
        }
    }
}
