//! The configuration as typed: what a file may hold, with defaults and meanings.
//!
//! This is the one list of keys. The JSON Schema, the environment names, the reference page and the checks of every
//! layer are derived from it (see `keys`). Nothing here is validated beyond its type; `resolve` does that.
//!
//! `x-env` names an extra environment variable of a key, `x-aliases` other spellings of it, `x-secret` marks what is
//! never printed, `x-default` words the default of a key that has none of its own.

use super::{
    raw_network::{RawCertificate, RawOauth, RawTls, RawWeb},
    raw_hub::RawHub,
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
    /// Bounds on what one client, call or message may use.
    pub(super) limits: RawLimits,
    /// The record of every call.
    pub(super) audit: RawAudit,
    /// Export of spans to an OpenTelemetry collector.
    pub(super) telemetry: RawTelemetry,
    /// The model that tells how alike two texts are.
    pub(super) embedding: RawEmbedding,
    /// Directories that tools may read. Relative paths start from the file that names them.
    #[schemars(extend("x-default" = "the working directory"))]
    pub(super) roots: Vec<String>,
    /// Documentation to search.
    pub(super) docs: RawDocs,
    /// What docent may do.
    pub(super) policy: RawPolicy,
    /// Search of the web.
    pub(super) web: RawWeb,
    /// How other MCP servers are shown.
    pub(super) hub: RawHub,
    /// Other MCP servers, in the form that MCP clients use, by name. Beside `command`, `args`, `env`, `cwd`, `url`, `type`,
    /// `headers`, `disabled` and `timeout_ms`, docent reads `warm`, `idle_ms`, `start_timeout_ms`, `max_timeout_ms`,
    /// `retry` (`{ codes = [-32603], attempts = 2, backoff_ms = 1000 }` repeats a call after these errors, unless its tool says
    /// that it writes), `concurrency`, `cache_ms`, `rename`, `hide`, `only`, `describe`, `pinned`, `accept_new_tools`, `roots`,
    /// `sandbox` and `oauth`.
    pub(super) mcp_servers: IndexMap<String, Value>,
}

/// How clients reach docent.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawServer {
    /// Address or name to bind. Anything but loopback needs auth or `allow_open`.
    #[schemars(extend("x-env" = "MCP_SERVER_HOST"))]
    pub(super) host: String,
    /// Port to listen on; 0 takes a free one.
    #[schemars(extend("x-env" = "MCP_SERVER_PORT"))]
    pub(super) port: u16,
    /// Ways in; the network ones share one listener.
    pub(super) transport: Vec<TransportKind>,
    /// Whether a session must open with `initialize`.
    pub(super) handshake: HandshakeMode,
    /// Allows a non-loopback address without auth.
    pub(super) allow_open: bool,
    /// Serves the inspector on a loopback listener, to whoever has the address that is logged at the start.
    pub(super) inspector: bool,
    /// Values of the Host header accepted besides `localhost`, IP addresses and the bound name.
    pub(super) allowed_hosts: Vec<String>,
    /// Who may connect.
    pub(super) auth: RawAuth,
    /// Encryption of the network transports.
    pub(super) tls: RawTls,
    /// Access tokens of OAuth issuers.
    pub(super) oauth: RawOauth,
    /// How often one client may ask; the client on standard input only where `requests` is set.
    pub(super) rate_limit: RawRateLimit,
    /// Browsers' access from other origins.
    pub(super) cors: RawCors,
    /// Where log lines go, and which.
    pub(super) logging: RawLogging,
}

impl Default for RawServer {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 8001,
            transport: vec![Transport::Stdio],
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

/// Who may connect.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawAuth {
    /// Whether a key is needed; `enabled` is read as the same key.
    #[schemars(extend("x-env" = "MCP_AUTH_REQUIRED", "x-aliases" = ["enabled"], "x-default" = "true when a key, a certificate or an issuer is configured"))]
    pub(super) required: Option<bool>,
    /// A key with every scope.
    #[schemars(extend("x-env" = "MCP_API_KEY", "x-secret" = true))]
    pub(super) token: Option<String>,
    /// Named keys, each with its own scopes.
    pub(super) keys: Vec<RawKey>,
    /// Client certificates, each with its own scopes; the first that matches counts.
    pub(super) certificates: Vec<RawCertificate>,
}

/// A named key. Exactly one of `token`, `token_env` and `token_file` holds or finds the secret.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawKey {
    /// The name that audit lines carry.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) name: String,
    /// The secret itself.
    #[schemars(extend("x-secret" = true))]
    pub(super) token: Option<String>,
    /// The environment variable that holds the secret.
    pub(super) token_env: Option<String>,
    /// The file that holds the secret; surrounding white space is dropped.
    pub(super) token_file: Option<String>,
    /// What the key may use: a tool name, a suite (`code:*`) or `*`.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) scopes: Option<Vec<String>>,
}

/// How often one client may ask. Clients on the network have a limit unless it is turned off; the one on standard input
/// has none unless `requests` is set.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRateLimit {
    /// Whether there is a limit at all.
    pub(super) enabled: bool,
    /// Requests allowed to one client in a window. Where this is set, it also holds for the client on standard input.
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

/// Browsers' access from other origins.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCors {
    /// Whether the origins below get CORS headers.
    #[schemars(extend("x-default" = "true when origins are configured"))]
    pub(super) enabled: Option<bool>,
    /// Origins allowed besides docent's own, as `https://host[:port]`; `*` allows every origin.
    #[schemars(extend("x-env" = "MCP_ALLOWED_ORIGINS"))]
    pub(super) origins: Vec<String>,
}

/// Where log lines go, and which.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLogging {
    /// The least severe level written.
    pub(super) level: LogLevel,
    /// A file that gets every line besides stderr.
    pub(super) file: Option<String>,
    /// The form of a line.
    pub(super) format: LogFormat,
}

impl Default for RawLogging {
    fn default() -> Self {
        Self { level: LogLevel::Info, file: None, format: LogFormat::Text }
    }
}

/// Bounds on what one client, call or message may use.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLimits {
    /// Bytes in one message.
    #[schemars(range(min = 1024))]
    pub(super) message_bytes: u64,
    /// Bytes in one part of a result; a longer result is paged.
    #[schemars(range(min = 1024))]
    pub(super) page_bytes: u64,
    /// Milliseconds that one call may take.
    #[schemars(range(min = 1))]
    pub(super) tool_timeout_ms: u64,
    /// Calls that one client may have running; reads, prompts and completions are counted apart, to the same number.
    #[schemars(range(min = 1))]
    pub(super) calls_in_flight: u32,
    /// Sessions open at one time.
    #[schemars(range(min = 1))]
    pub(super) sessions: u32,
    /// Sessions that one client may have open: a key, a token's subject, a certificate, or an address where it has none of
    /// these. Unset, a client may open one more only while more are free than it has open.
    #[schemars(range(min = 1), extend("x-default" = "half of limits.sessions, less while others have many"))]
    pub(super) sessions_per_client: Option<u32>,
    /// Milliseconds after which an HTTP session without a request or an open stream ends; its client begins another.
    #[schemars(range(min = 1))]
    pub(super) session_idle_ms: u64,
    /// Event streams and web sockets open at one time.
    #[schemars(range(min = 1))]
    pub(super) streams: u32,
    /// Event streams and web sockets that one client may have open, shared out as sessions are.
    #[schemars(range(min = 1), extend("x-default" = "half of limits.streams, less while others have many"))]
    pub(super) streams_per_client: Option<u32>,
    /// Connections open at one time.
    #[schemars(range(min = 1))]
    pub(super) connections: u32,
    /// Connections open at one time from one address.
    #[schemars(range(min = 1))]
    pub(super) connections_per_address: u32,
    /// Milliseconds that the head of an HTTP request may take.
    #[schemars(range(min = 1))]
    pub(super) head_timeout_ms: u64,
    /// Milliseconds that the body of an HTTP request may take, and more where it is large and comes steadily.
    #[schemars(range(min = 1))]
    pub(super) body_timeout_ms: u64,
    /// Milliseconds that the parts of a paged result stay readable.
    #[schemars(range(min = 1))]
    pub(super) result_ttl_ms: u64,
    /// Bounds for single tools, by tool name.
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

/// Bounds for one tool.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawToolLimits {
    /// Milliseconds that one call of this tool may take.
    #[schemars(range(min = 1), extend("x-default" = "limits.tool_timeout_ms"))]
    pub(super) timeout_ms: Option<u64>,
    /// Calls of this tool that one client may make in a minute.
    #[schemars(range(min = 1))]
    pub(super) rate_per_minute: Option<u32>,
}

/// The record of every call.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawAudit {
    /// Whether calls are recorded.
    pub(super) enabled: bool,
    /// The file, in JSON Lines.
    #[schemars(extend("x-default" = ".docent/audit.jsonl"))]
    pub(super) file: Option<String>,
    /// Bytes after which a new file is begun.
    #[schemars(range(min = 4096))]
    pub(super) max_bytes: u64,
    /// Older files that are kept.
    pub(super) keep: u32,
    /// What becomes of a call whose line can't be written: `drop` counts it, `refuse` doesn't answer it.
    pub(super) on_full: AuditFailureAction,
    /// Whether each line is on the disk before its call is answered.
    pub(super) sync: bool,
    /// The environment variable that holds the key of the chain; without it, whoever can write the file can forge it.
    pub(super) key_env: Option<String>,
    /// The file that holds the key of the chain.
    pub(super) key_file: Option<String>,
}

/// What becomes of a call whose line can't be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum AuditFailureAction {
    /// It is answered, and counted.
    Drop,
    /// It is refused.
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
    /// Where spans are sent as OTLP over HTTP, such as `http://localhost:4318`; unset sends nothing.
    pub(super) otlp_endpoint: Option<String>,
    /// The service name that spans carry.
    pub(super) service_name: String,
}

impl Default for RawTelemetry {
    fn default() -> Self {
        Self { otlp_endpoint: None, service_name: "docent".into() }
    }
}

/// The model that tells how alike two texts are. Without `url`, the table that is built in.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawEmbedding {
    /// The address before `/embeddings` of a server that speaks as `OpenAI`'s does, such as `http://localhost:11434/v1`.
    #[schemars(extend("x-default" = "the table that is built in"))]
    pub(super) url: Option<String>,
    /// The model's name there.
    pub(super) model: Option<String>,
    /// The environment variable that holds the key, which is sent as a bearer token.
    pub(super) key_env: Option<String>,
    /// Texts in one request.
    #[schemars(range(min = 1))]
    pub(super) batch: u32,
    /// Milliseconds that one request may take.
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
    /// Groups of words that mean the same: who asks for one also finds the others.
    pub(super) synonyms: Vec<Vec<String>>,
}

/// One collection of documents, from a directory or an address.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCollection {
    /// The directory, file or archive that holds the documents.
    pub(super) path: Option<String>,
    /// Where the documents are on the web; without `path`, where they are fetched from.
    pub(super) url: Option<String>,
    /// What people call the collection, such as `PostgreSQL Documentation`.
    pub(super) title: Option<String>,
    /// What the documents are about, where several collections are about the same.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// The version that the documents describe.
    pub(super) version: Option<String>,
    /// One sentence for clients.
    pub(super) description: Option<String>,
    /// Patterns of the files to take.
    pub(super) include: Vec<String>,
    /// Patterns of the files to leave out.
    pub(super) exclude: Vec<String>,
}

/// A way in.
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
pub enum HandshakeMode {
    /// Anything but `initialize` and `ping` is refused before it.
    Required,
    /// Requests are served without it.
    Optional,
}

/// How severe a log line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What may fail soon.
    Warn,
    /// What happened.
    Info,
    /// Why it happened.
    Debug,
    /// Every step.
    Trace,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}
