//! The configuration as typed: the keys of a file, with defaults and meanings.
//!
//! The only list of keys. The JSON Schema, the environment names, the reference page and the checks of every layer are
//! derived from it (see `keys`). Validates only types; `resolve` does the rest.
//!
//! `x-env` names an additional environment variable of a key, `x-aliases` other spellings, `x-secret` marks values that
//! are never printed, `x-default` describes the default of a key without a plain one.

use super::{
    raw_hub::RawHub,
    raw_network::{RawCertificate, RawOauth, RawTls, RawWeb},
    raw_policy::RawPolicy,
};
use clap::ValueEnum;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// docent's configuration: `docent.toml` or `docent.json` in the root, or in the user's configuration directory.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawConfig {
    /// How clients reach docent.
    pub(super) server: RawServer,
    /// Limits per client, call and message.
    pub(super) limits: RawLimits,
    /// The audit log.
    pub(super) audit: RawAudit,
    /// Export of spans to an OpenTelemetry collector.
    pub(super) telemetry: RawTelemetry,
    /// The embedding model.
    pub(super) embedding: RawEmbedding,
    /// Directories that tools may read. Relative paths start from the file that names them.
    #[schemars(extend("x-default" = "the working directory"))]
    pub(super) roots: Vec<String>,
    /// Documentation to search.
    pub(super) docs: RawDocs,
    /// The policy: what docent may do.
    pub(super) policy: RawPolicy,
    /// Web search.
    pub(super) web: RawWeb,
    /// How other MCP servers are exposed.
    pub(super) hub: RawHub,
    /// Other MCP servers by name, in the format of MCP clients. Besides `command`, `args`, `env`, `cwd`, `url`, `type`,
    /// `headers`, `disabled` and `timeout_ms`, docent reads `warm`, `idle_ms`, `start_timeout_ms`, `max_timeout_ms`,
    /// `retry` (`{ codes = [-32603], attempts = 2, backoff_ms = 1000 }` retries a call after these errors, unless its
    /// tool is annotated as writing), `concurrency`, `cache_ms`, `rename`, `hide`, `only`, `describe`, `pinned`,
    /// `accept_new_tools`, `roots`, `sandbox` and `oauth`.
    pub(super) mcp_servers: IndexMap<String, Value>,
}

/// How clients reach docent.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawServer {
    /// Address or host name to bind. Anything but loopback requires auth or `allow_open`.
    #[schemars(extend("x-env" = "MCP_SERVER_HOST"))]
    pub(super) host: String,
    /// Port to listen on; 0 picks a free port.
    #[schemars(extend("x-env" = "MCP_SERVER_PORT"))]
    pub(super) port: u16,
    /// Transports; network transports share one listener.
    pub(super) transport: Vec<TransportKind>,
    /// Whether a session must open with `initialize`.
    pub(super) handshake: HandshakeMode,
    /// Allows a non-loopback address without auth.
    pub(super) allow_open: bool,
    /// Serves the inspector on a loopback listener, at the address logged at the start.
    pub(super) inspector: bool,
    /// Host header values to accept besides `localhost`, IP addresses and the bound name.
    pub(super) allowed_hosts: Vec<String>,
    /// Authentication.
    pub(super) auth: RawAuth,
    /// Encryption of the network transports.
    pub(super) tls: RawTls,
    /// Access tokens of OAuth issuers.
    pub(super) oauth: RawOauth,
    /// Rate limit per client; the client on standard input is limited only if `requests` is set.
    pub(super) rate_limit: RawRateLimit,
    /// Access from browsers on other origins.
    pub(super) cors: RawCors,
    /// Logging.
    pub(super) logging: RawLogging,
}

impl Default for RawServer {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 8001,
            transport: vec![TransportKind::Stdio],
            handshake: HandshakeMode::Required,
            allow_open: false,
            inspector: true,
            allowed_hosts: Vec::new(),
            auth: RawAuth::default(),
            tls: RawTls::default(),
            oauth: RawOauth::default(),
            rate_limit: RawRateLimit::default(),
            cors: RawCors::default(),
            logging: RawLogging::default(),
        }
    }
}

/// Authentication.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawAuth {
    /// Whether clients must authenticate; `enabled` is an alias.
    #[schemars(extend("x-env" = "MCP_AUTH_REQUIRED", "x-aliases" = ["enabled"], "x-default" = "true when a key, a certificate or an issuer is configured"))]
    pub(super) required: Option<bool>,
    /// A key with all scopes.
    #[schemars(extend("x-env" = "MCP_API_KEY", "x-secret" = true))]
    pub(super) token: Option<String>,
    /// Named keys, each with its own scopes.
    pub(super) keys: Vec<RawKey>,
    /// Client certificates, each with its own scopes; the first match applies.
    pub(super) certificates: Vec<RawCertificate>,
}

/// A named key. Set exactly one of `token`, `token_env` and `token_file`.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawKey {
    /// The name in audit entries.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) name: String,
    /// The secret itself.
    #[schemars(extend("x-secret" = true))]
    pub(super) token: Option<String>,
    /// The environment variable with the secret.
    pub(super) token_env: Option<String>,
    /// The file with the secret; surrounding white space is stripped.
    pub(super) token_file: Option<String>,
    /// The scopes of the key: tool names, suites (`code:*`) or `*`.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) scopes: Option<Vec<String>>,
}

/// Rate limit per client. Clients on the network are limited unless it is turned off; the client on standard input is
/// limited only if `requests` is set.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRateLimit {
    /// Whether requests are limited.
    pub(super) enabled: bool,
    /// Requests per window per client. If set, it also applies to the client on standard input.
    #[schemars(range(min = 1), extend("x-default" = "100 on the network, no limit on standard input"))]
    pub(super) requests: Option<u32>,
    /// Length of the window in milliseconds.
    #[schemars(range(min = 1))]
    pub(super) window: u64,
}

impl Default for RawRateLimit {
    fn default() -> Self {
        Self { enabled: true, requests: None, window: 60_000 }
    }
}

/// Access from browsers on other origins.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCors {
    /// Whether CORS headers are sent for the origins below.
    #[schemars(extend("x-default" = "true when origins are configured"))]
    pub(super) enabled: Option<bool>,
    /// Origins allowed besides docent's own, as `https://host[:port]`; `*` allows every origin.
    #[schemars(extend("x-env" = "MCP_ALLOWED_ORIGINS"))]
    pub(super) origins: Vec<String>,
}

/// Logging.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLogging {
    /// The lowest level to log.
    pub(super) level: LogLevel,
    /// A file to log to in addition to stderr.
    pub(super) file: Option<String>,
    /// The format of a line.
    pub(super) format: LogFormat,
}

impl Default for RawLogging {
    fn default() -> Self {
        Self { level: LogLevel::Info, file: None, format: LogFormat::Text }
    }
}

/// Limits per client, call and message.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLimits {
    /// Maximum bytes in one message.
    #[schemars(range(min = 1024))]
    pub(super) message_bytes: u64,
    /// Maximum bytes in one part of a result; longer results are paged.
    #[schemars(range(min = 1024))]
    pub(super) page_bytes: u64,
    /// Timeout of one call, in milliseconds.
    #[schemars(range(min = 1))]
    pub(super) tool_timeout_ms: u64,
    /// Concurrent calls per client; reads, prompts and completions have a separate limit of the same size.
    #[schemars(range(min = 1))]
    pub(super) calls_in_flight: u32,
    /// Maximum number of open sessions.
    #[schemars(range(min = 1))]
    pub(super) sessions: u32,
    /// Open sessions per client, which is a key, a token's subject, a certificate, or else an address. If unset, a
    /// client may open another session only while more are free than it has open.
    #[schemars(range(min = 1), extend("x-default" = "half of limits.sessions, less while others have many"))]
    pub(super) sessions_per_client: Option<u32>,
    /// Milliseconds after which an HTTP session without a request or an open stream ends; its client can start another.
    #[schemars(range(min = 1))]
    pub(super) session_idle_ms: u64,
    /// Maximum number of open event streams and web sockets.
    #[schemars(range(min = 1))]
    pub(super) streams: u32,
    /// Open event streams and web sockets per client, shared like sessions.
    #[schemars(range(min = 1), extend("x-default" = "half of limits.streams, less while others have many"))]
    pub(super) streams_per_client: Option<u32>,
    /// Maximum number of open connections.
    #[schemars(range(min = 1))]
    pub(super) connections: u32,
    /// Open connections per address.
    #[schemars(range(min = 1))]
    pub(super) connections_per_address: u32,
    /// Timeout of the head of an HTTP request, in milliseconds.
    #[schemars(range(min = 1))]
    pub(super) head_timeout_ms: u64,
    /// Timeout of the body of an HTTP request, in milliseconds; longer for large bodies that arrive steadily.
    #[schemars(range(min = 1))]
    pub(super) body_timeout_ms: u64,
    /// Milliseconds for which the parts of a paged result stay readable.
    #[schemars(range(min = 1))]
    pub(super) result_ttl_ms: u64,
    /// Limits of single tools, by tool name.
    pub(super) tools: IndexMap<String, RawToolLimits>,
}

impl Default for RawLimits {
    fn default() -> Self {
        Self {
            message_bytes: 10 * 1024 * 1024,
            page_bytes: 1024 * 1024,
            tool_timeout_ms: 30_000,
            calls_in_flight: 64,
            sessions: 2000,
            sessions_per_client: None,
            session_idle_ms: 1_800_000,
            streams: 2000,
            streams_per_client: None,
            connections: 4608,
            connections_per_address: 1024,
            head_timeout_ms: 10_000,
            body_timeout_ms: 30_000,
            result_ttl_ms: 600_000,
            tools: IndexMap::new(),
        }
    }
}

/// Limits of one tool.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawToolLimits {
    /// Timeout of one call of this tool, in milliseconds.
    #[schemars(range(min = 1), extend("x-default" = "limits.tool_timeout_ms"))]
    pub(super) timeout_ms: Option<u64>,
    /// Calls of this tool per minute per client.
    #[schemars(range(min = 1))]
    pub(super) rate_per_minute: Option<u32>,
}

/// The audit log.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawAudit {
    /// Whether calls are recorded.
    pub(super) enabled: bool,
    /// The file, in JSON Lines format.
    #[schemars(extend("x-default" = ".docent/audit.jsonl"))]
    pub(super) file: Option<String>,
    /// Bytes after which a new file is started.
    #[schemars(range(min = 4096))]
    pub(super) max_bytes: u64,
    /// Number of older files to keep.
    pub(super) keep: u32,
    /// What to do with a call that can't be recorded: `drop` answers and counts it, `refuse` rejects it.
    pub(super) on_full: AuditFailureAction,
    /// Whether each entry is synced to disk before its call is answered.
    pub(super) sync: bool,
    /// The environment variable with the key of the hash chain; without a key, anyone who can write the file can forge
    /// it.
    pub(super) key_env: Option<String>,
    /// The file with the key of the hash chain.
    pub(super) key_file: Option<String>,
}

/// What to do with a call that can't be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum AuditFailureAction {
    /// Answer and count it.
    Drop,
    /// Reject it.
    Refuse,
}

impl From<AuditFailureAction> for docent_audit::WriteFailurePolicy {
    fn from(on_full: AuditFailureAction) -> Self {
        match on_full {
            AuditFailureAction::Drop => Self::Drop,
            AuditFailureAction::Refuse => Self::Refuse,
        }
    }
}

impl Default for RawAudit {
    fn default() -> Self {
        Self {
            enabled: true,
            file: None,
            max_bytes: 16 << 20,
            keep: 5,
            on_full: AuditFailureAction::Drop,
            sync: false,
            key_env: None,
            key_file: None,
        }
    }
}

/// Export of spans to an OpenTelemetry collector.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTelemetry {
    /// Address to send spans to as OTLP over HTTP, such as `http://localhost:4318`; if unset, nothing is sent.
    pub(super) otlp_endpoint: Option<String>,
    /// The service name of the spans.
    pub(super) service_name: String,
}

impl Default for RawTelemetry {
    fn default() -> Self {
        Self { otlp_endpoint: None, service_name: "docent".into() }
    }
}

/// The embedding model. Without `url`, the built-in table.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawEmbedding {
    /// The address before `/embeddings` of an `OpenAI`-compatible server, such as `http://localhost:11434/v1`.
    #[schemars(extend("x-default" = "the built-in table"))]
    pub(super) url: Option<String>,
    /// The model's name on that server.
    pub(super) model: Option<String>,
    /// The environment variable with the key, which is sent as a bearer token.
    pub(super) key_env: Option<String>,
    /// Texts in one request.
    #[schemars(range(min = 1))]
    pub(super) batch: u32,
    /// Timeout of one request, in milliseconds.
    #[schemars(range(min = 1))]
    pub(super) timeout_ms: u64,
}

impl Default for RawEmbedding {
    fn default() -> Self {
        Self { url: None, model: None, key_env: None, batch: 64, timeout_ms: 30_000 }
    }
}

/// Documentation to search.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawDocs {
    /// Collections by name, in the order written.
    pub(super) collections: IndexMap<String, RawCollection>,
    /// Groups of synonyms: a search for one word also finds the others.
    pub(super) synonyms: Vec<Vec<String>>,
}

/// One collection of documents, from a directory or an address.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCollection {
    /// The directory, file or archive with the documents.
    pub(super) path: Option<String>,
    /// URL of the documents on the web; without `path`, they are fetched from there.
    pub(super) url: Option<String>,
    /// Display title, such as `PostgreSQL Documentation`.
    pub(super) title: Option<String>,
    /// Topic of the documents, for when several collections cover the same one.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// The version that the documents describe.
    pub(super) version: Option<String>,
    /// One-sentence description for clients.
    pub(super) description: Option<String>,
    /// Patterns of files to include.
    pub(super) include: Vec<String>,
    /// Patterns of files to exclude.
    pub(super) exclude: Vec<String>,
}

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TransportKind {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP and plain POST on `/mcp`.
    Http,
    /// The older HTTP+SSE pair, `/sse` and `/message`.
    Sse,
    /// WebSocket on `/` and `/ws`.
    #[value(name = "websocket")]
    WebSocket,
}

/// Whether a session must open with `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Handshake")]
pub enum HandshakeMode {
    /// Reject everything but `initialize` and `ping` before it.
    Required,
    /// Serve requests without it.
    Optional,
}

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Level")]
pub enum LogLevel {
    /// Failures.
    Error,
    /// Possible problems.
    Warn,
    /// Normal events.
    Info,
    /// Details for debugging.
    Debug,
    /// Every step.
    Trace,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Readable text.
    Text,
    /// One JSON object.
    Json,
}
