//! What a server is made of, and why it can't be made.

use crate::{AuditSink, Screening, ExternalAuth, policy::ToolPolicy};
use docent_tool::ToolProvider;
use std::{collections::BTreeMap, fmt, num::NonZeroU32, sync::Arc, time::Duration};

/// Everything a server needs to know.
pub struct ServerSetup {
    /// Told to clients as the server's name.
    pub name: String,
    /// Told to clients as the server's version.
    pub version: String,
    /// Name for people.
    pub title: Option<String>,
    /// How a model should use this server.
    pub instructions: Option<String>,
    /// Where tools, resources and prompts come from. The order is the order of lists.
    pub providers: Vec<Arc<dyn ToolProvider>>,
    /// Who may come in.
    pub keys: Vec<NamedKey>,
    /// Who else may, by a token of an issuer or a certificate.
    pub external_auth: ExternalAuth,
    /// Whether a caller that nobody knows is turned away.
    pub auth_required: bool,
    /// Rules on top of the keys' scopes.
    pub policy: ToolPolicy,
    /// Bounds.
    pub limits: ServerLimits,
    /// Where audit lines go.
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

/// What may change while the server runs: the same parts of a [`ServerSetup`] and its [`ServerLimits`].
#[derive(Debug, Clone, Default)]
pub struct LiveSettings {
    /// Who may come in.
    pub keys: Vec<NamedKey>,
    /// Who else may, by a token of an issuer or a certificate.
    pub external_auth: ExternalAuth,
    /// Whether a caller that nobody knows is turned away.
    pub auth_required: bool,
    /// Rules on top of the keys' scopes.
    pub policy: ToolPolicy,
    /// How answers are screened.
    pub screening: Screening,
    /// How long a call of this tool may take.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// Calls of this tool a minute and client.
    pub tool_rates: BTreeMap<String, NonZeroU32>,
}

/// Gives a span, not entered yet, the parent that a `traceparent` names.
pub type AdoptTraceParent = fn(&tracing::Span, &str);

impl ServerSetup {
    /// The part that may change.
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
        f.debug_struct("Setup")
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
    /// Who it belongs to; written to audit lines.
    pub name: String,
    /// The secret. Never shown, never logged.
    pub token: String,
    /// What it opens: a tool's name, a suite (`code:*`) or `*`.
    pub scopes: Vec<String>,
}

impl fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// So many requests in so long a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    /// How many.
    pub requests: NonZeroU32,
    /// In how long.
    pub window: Duration,
}

impl RequestRate {
    /// So many a minute.
    pub const fn per_minute(requests: NonZeroU32) -> Self {
        Self { requests, window: Duration::from_mins(1) }
    }
}

/// Bounds on everything that a peer can make grow.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Bytes in one message from a peer. The transports hold it.
    pub message_bytes: usize,
    /// Bytes of JSON in one answer; a larger one comes in parts.
    pub page_bytes: usize,
    /// How long a call may take.
    pub tool_timeout: Duration,
    /// How long a call of this tool may take.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// Calls of this tool a minute and client.
    pub tool_rates: BTreeMap<String, NonZeroU32>,
    /// Requests that a client on the network may make; `None` for no bound.
    pub rate: Option<RequestRate>,
    /// Requests that the client on standard input may make; `None` for no bound.
    pub stdio_rate: Option<RequestRate>,
    /// Calls that one client may have running. Four times as many wait in line. Reads, prompts and completions are counted
    /// apart, to the same number.
    pub calls_in_flight: usize,
    /// Sessions open at once.
    pub sessions: usize,
    /// Sessions that one client may have open; `None` leaves as many for others as it holds itself.
    pub sessions_per_client: Option<usize>,
    /// Streams open at once.
    pub streams: usize,
    /// Streams that one client may have open; `None` leaves as many for others as it holds itself.
    pub streams_per_client: Option<usize>,
    /// Threads that calls may work on at once. The runtime needs more, for what is not a call's.
    pub blocking_threads: usize,
    /// How long the further parts of an answer, and a task, are kept.
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

/// Why a server can't be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerSetupError {
    /// Auth is required and nobody could ever come in.
    #[error(
        "auth is required but no key is configured: add one to `server.auth.keys`, or set MCP_API_KEY"
    )]
    NoKeys,
    /// A key that would let in anybody, or two that can't be told apart.
    #[error("key `{name}`: {problem}")]
    BadKey {
        /// The key's name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two providers offer the same tool.
    #[error(
        "the tool `{tool}` is offered by `{first}` and by `{second}`: rename one, or leave one provider out"
    )]
    Conflict {
        /// The name both claim.
        tool: String,
        /// The provider that had it.
        first: String,
        /// The provider that wants it too.
        second: String,
    },
    /// Two providers with the same key can't be told apart in scopes and audit lines.
    #[error("two providers are called `{0}`: give each a key of its own")]
    SameProvider(String),
    /// A tool with a name that clients refuse.
    #[error("`{provider}` offers a tool called `{tool}`: a name is 1-128 of A-Z a-z 0-9 _ - . /")]
    BadName {
        /// Who offers it.
        provider: String,
        /// The name.
        tool: String,
    },
    /// A bound that lets nothing through.
    #[error("`limits.{0}` is 0: nothing could ever be answered; set it to 1 or more")]
    ZeroLimit(&'static str),
    /// The machine gives no random numbers, so that no id and no cursor would be safe.
    #[error("the operating system gives no random numbers")]
    NoRandomness(#[source] getrandom::Error),
}
