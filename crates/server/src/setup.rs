//! Settings of a server, and why they may be invalid.

use crate::{AuditSink, ExternalAuth, Screening, policy::ToolPolicy};
use docent_tool::ToolProvider;
use std::{collections::BTreeMap, fmt, num::NonZeroU32, sync::Arc, time::Duration};

/// Everything needed to create a server.
pub struct ServerSetup {
    /// The server's name, sent to clients.
    pub name: String,
    /// The server's version, sent to clients.
    pub version: String,
    /// Display name.
    pub title: Option<String>,
    /// Instructions for models on how to use this server.
    pub instructions: Option<String>,
    /// The sources of tools, resources and prompts, in the order of lists.
    pub providers: Vec<Arc<dyn ToolProvider>>,
    /// Keys of permitted callers.
    pub keys: Vec<NamedKey>,
    /// Authentication by a token of an issuer or a certificate.
    pub external_auth: ExternalAuth,
    /// Whether unknown callers are rejected.
    pub auth_required: bool,
    /// Rules on top of the keys' scopes.
    pub policy: ToolPolicy,
    /// Limits.
    pub limits: ServerLimits,
    /// The destination of audit lines.
    pub audit: AuditSink,
    /// How answers are screened.
    pub screening: Screening,
    /// Items on one page of a list other than resources; 0 puts all on one page.
    pub list_page: usize,
    /// Resources on one page; 0 puts all on one page.
    pub resource_page: usize,
    /// Makes a call's span a child of the span that the request's `traceparent` names; `None` where spans go nowhere.
    pub adopt_trace_parent: Option<AdoptTraceParent>,
}

/// Settings that may change at run time: the corresponding parts of a [`ServerSetup`] and its [`ServerLimits`].
#[derive(Debug, Clone, Default)]
pub struct LiveSettings {
    /// Keys of permitted callers.
    pub keys: Vec<NamedKey>,
    /// Authentication by a token of an issuer or a certificate.
    pub external_auth: ExternalAuth,
    /// Whether unknown callers are rejected.
    pub auth_required: bool,
    /// Rules on top of the keys' scopes.
    pub policy: ToolPolicy,
    /// How answers are screened.
    pub screening: Screening,
    /// Timeouts of individual tools.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// Calls of individual tools per minute and client.
    pub tool_rates: BTreeMap<String, NonZeroU32>,
}

/// Sets the parent of a span, not entered yet, to the one named by a `traceparent`.
pub type AdoptTraceParent = fn(&tracing::Span, &str);

impl ServerSetup {
    /// The settings that may change at run time.
    pub fn live_settings(&self) -> LiveSettings {
        LiveSettings {
            keys: self.keys.clone(),
            external_auth: self.external_auth.clone(),
            auth_required: self.auth_required,
            policy: self.policy.clone(),
            screening: self.screening.clone(),
            tool_timeouts: self.limits.tool_timeouts.clone(),
            tool_rates: self.limits.tool_rates.clone(),
        }
    }
}

impl fmt::Debug for ServerSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSetup")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("keys", &self.keys)
            .field("auth_required", &self.auth_required)
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A named token.
#[derive(Clone)]
pub struct NamedKey {
    /// Its owner; written to audit lines.
    pub name: String,
    /// The secret. Never shown, never logged.
    pub token: String,
    /// What it grants: a tool's name, a suite (`code:*`) or `*`.
    pub scopes: Vec<String>,
}

impl fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedKey")
            .field("name", &self.name)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// A number of requests per time window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    /// The number of requests.
    pub requests: NonZeroU32,
    /// The time window.
    pub window: Duration,
}

impl RequestRate {
    /// A rate per minute.
    pub const fn per_minute(requests: NonZeroU32) -> Self {
        Self { requests, window: Duration::from_mins(1) }
    }
}

/// Limits on everything that a peer can make grow.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Maximum bytes of a message from a peer. Enforced by the transports.
    pub message_bytes: usize,
    /// Maximum bytes of JSON in one answer; a larger one is split into parts.
    pub page_bytes: usize,
    /// Timeout of a call.
    pub tool_timeout: Duration,
    /// Timeouts of individual tools.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// Calls of individual tools per minute and client.
    pub tool_rates: BTreeMap<String, NonZeroU32>,
    /// Rate limit of a client on the network; `None` for no limit.
    pub rate: Option<RequestRate>,
    /// Rate limit of the client on standard input; `None` for no limit.
    pub stdio_rate: Option<RequestRate>,
    /// Maximum running calls of one client. Four times as many may wait. Reads, prompts and completions are counted
    /// separately, with the same limit.
    pub calls_in_flight: usize,
    /// Maximum open sessions.
    pub sessions: usize,
    /// Maximum open sessions of one client; `None` reserves as many for others as it has itself.
    pub sessions_per_client: Option<usize>,
    /// Maximum open streams.
    pub streams: usize,
    /// Maximum open streams of one client; `None` reserves as many for others as it has itself.
    pub streams_per_client: Option<usize>,
    /// Maximum threads for calls. The runtime needs more, for other work.
    pub blocking_threads: usize,
    /// How long a task, and the further parts of an answer, are kept.
    pub result_ttl: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        const HUNDRED: NonZeroU32 = NonZeroU32::new(100).expect("not zero");
        Self {
            message_bytes: 10 * 1024 * 1024,
            page_bytes: 1024 * 1024,
            tool_timeout: Duration::from_secs(30),
            tool_timeouts: BTreeMap::new(),
            tool_rates: BTreeMap::new(),
            rate: Some(RequestRate::per_minute(HUNDRED)),
            stdio_rate: None,
            calls_in_flight: 64,
            sessions: 4096,
            sessions_per_client: None,
            streams: 4096,
            streams_per_client: None,
            blocking_threads: 48,
            result_ttl: Duration::from_mins(10),
        }
    }
}

/// Why a server cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerSetupError {
    /// Authentication is required, but no caller could authenticate.
    #[error(
        "auth is required but no key is configured: add one to `server.auth.keys`, or set MCP_API_KEY"
    )]
    NoKeys,
    /// An unsafe key, or two that cannot be distinguished.
    #[error("key `{name}`: {problem}")]
    BadKey {
        /// The key's name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two providers offer the same tool.
    #[error(
        "the tool `{tool}` is offered by `{first}` and by `{second}`: rename one, or remove one provider"
    )]
    Conflict {
        /// The tool name in conflict.
        tool: String,
        /// The first provider.
        first: String,
        /// The second provider.
        second: String,
    },
    /// Two providers with the same key cannot be distinguished in scopes and audit lines.
    #[error("two providers have the key `{0}`: give each its own")]
    SameProvider(String),
    /// An invalid tool name.
    #[error(
        "`{provider}` offers a tool named `{tool}`: a name must be 1-128 characters of A-Z a-z 0-9 _ - . /"
    )]
    BadName {
        /// The provider.
        provider: String,
        /// The name.
        tool: String,
    },
    /// A limit that allows nothing.
    #[error("`limits.{0}` is 0, so no request could be answered; set it to 1 or more")]
    ZeroLimit(&'static str),
    /// The machine provides no random numbers, so that no id and no cursor would be safe.
    #[error("the operating system provides no random numbers")]
    NoRandomness(#[source] getrandom::Error),
}
