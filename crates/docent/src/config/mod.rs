//! Owns the configuration: reads its layers, checks them, and returns one [`Config`].
//!
//! The only module that reads the environment. `raw` is the list of keys as typed, `keys` is derived from it, `check`
//! and `layers` merge files, variables and flags into one tree, and `resolve` converts that to checked values. `show`,
//! `init` and `reference` produce text for users.

mod check;
mod edit;
mod env_file;
mod environment;
mod error;
pub(crate) mod import;
mod init;
mod keys;
mod layers;
mod network_settings;
mod path_trust;
mod policy_settings;
mod raw;
mod raw_hub;
mod raw_network;
mod raw_policy;
mod redaction;
mod reference;
pub(crate) mod regular;
mod resolve;
mod server_entry;
mod servers;
mod show;
mod standard_paths;

pub(crate) use edit::{EditedConfigFile, add_collection, remove_collection, write as write_file};
pub use env_file::EnvFile;
pub(crate) use environment::AUTH_KEY_VARIABLE;
pub use environment::ConfigEnvironment;
pub use error::{ConfigError, ConfigProblem, ValueSource};
pub use init::{InitError, init};
pub use layers::{ConfigFlags, ConfigInputs, ConfigOverride};
pub(crate) use layers::{files_of, inputs, read as read_file, user_file};
pub(crate) use path_trust::{
    TEMPORARY_FOLDERS, is_fixed, path_components, resolve_links, resolve_links_until,
};
pub use raw::{HandshakeMode, LogFormat, LogLevel, TransportKind};
pub use raw_policy::SandboxMode;
pub(crate) use redaction::ServerSecretMask;
pub use reference::{json_schema, reference_page};
pub use resolve::SecretText;
pub use server_entry::{
    SandboxLevel, SandboxSetting, ServerEntryProblem, ServerExtension, ServerOauth,
};
pub(crate) use server_entry::{check_server_name, is_read, strip_loosening};
pub(crate) use servers::{NESTING_VARIABLE, nesting_depth};
pub(crate) use standard_paths::state_folder;

use docent_index::Synonyms;
use indexmap::IndexMap;
use layers::MergedSettings;
use serde_json::Value;
use std::{
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The checked configuration: paths are absolute, roots exist, secrets are loaded. It has no full `Debug`.
#[derive(Clone)]
pub struct Config {
    /// The server settings.
    pub server: ServerConfig,
    /// The limits.
    pub limits: LimitsConfig,
    /// The audit log.
    pub audit: AuditConfig,
    /// Span export.
    pub telemetry: TelemetryConfig,
    /// The embedding endpoint; `None` for the built-in table.
    pub embedding: Option<EmbeddingConfig>,
    /// Directories that tools may read; at least one, each absolute, with links resolved.
    pub roots: Vec<PathBuf>,
    /// Documentation collections by name, in the order written.
    pub collections: IndexMap<String, CollectionConfig>,
    /// What docent may do.
    pub policy: PolicyConfig,
    /// Web search.
    pub web: WebConfig,
    /// Groups of synonyms in documentation.
    pub synonyms: Arc<Synonyms>,
    /// The hub settings.
    pub hub: HubConfig,
    /// Other MCP servers, in the order written.
    pub servers: Vec<ConfiguredServer>,
    /// Problems of server entries; also included in the warnings.
    pub faults: Vec<ServerEntryProblem>,
    /// The user's home, if there is one.
    pub home: Option<PathBuf>,
    /// The user's cache directory for docent, if there is a home directory.
    pub cache_dir: Option<PathBuf>,
    /// Folders that configuration files are looked for in.
    pub config_folders: Vec<PathBuf>,
    /// Files and folders of credentials outside the roots.
    pub secret_places: Vec<PathBuf>,
    /// Warnings, logged at the start.
    pub warnings: Vec<String>,
    /// The file for keys that a project may not set, as shown in messages.
    pub settings_file: String,
    /// Files of secrets and certificates that the configuration names.
    pub secret_files: Vec<PathBuf>,
    /// Secrets besides the keys of clients.
    other_secrets: Vec<SecretText>,
    settings: MergedSettings,
}

/// Settings of the hub.
#[derive(Debug, Clone)]
pub struct HubConfig {
    /// The settings of the hub crate.
    pub settings: docent_hub::HubSettings,
    /// More files that name servers.
    pub registries: Vec<PathBuf>,
}

/// Another MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredServer {
    /// The entry with variables and secrets filled in.
    pub server: docent_registry::McpServerEntry,
    /// The docent-specific fields.
    pub extra: ServerExtension,
    /// Whether it comes from a project file, which may be untrusted: then it is not started.
    pub of_a_project: bool,
}

/// What docent may do.
#[derive(Debug, Clone)]
pub struct PolicyConfig {
    /// The allowed hosts.
    pub network: docent_net::NetworkPolicy,
    /// The files served inside the roots.
    pub files: docent_suites::files::AccessRules,
    /// The rules for tools.
    pub tools: docent_server::ToolPolicy,
    /// Programs that may be started; empty for any.
    pub commands: Vec<String>,
    /// Programs that may not be started.
    pub denied_commands: Vec<String>,
    /// What is masked in results.
    pub redaction: RedactionConfig,
    /// The sandbox.
    pub sandbox: SandboxConfig,
}

/// What is masked in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedactionConfig {
    /// Text that looks like a secret.
    pub secrets: bool,
    /// Invisible characters; they are made visible.
    pub hidden: bool,
}

/// docent's own sandbox.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// The mode.
    pub mode: SandboxMode,
    /// Whether other programs run under bubblewrap.
    pub bubblewrap: bool,
    /// Further paths to read, absolute.
    pub read: Vec<PathBuf>,
    /// Further paths to write, absolute.
    pub write: Vec<PathBuf>,
}

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address or name to bind.
    pub host: String,
    /// Port to listen on; 0 picks a free one.
    pub port: u16,
    /// Transports, without duplicates, at least one.
    pub transports: Vec<TransportKind>,
    /// Whether a session must open with `initialize`.
    pub handshake: HandshakeMode,
    /// Whether a non-loopback address is allowed without auth.
    pub allow_open: bool,
    /// Serves the inspector on a loopback listener.
    pub inspector: bool,
    /// Further accepted values of the Host header, in lower case.
    pub allowed_hosts: Vec<String>,
    /// Authentication.
    pub auth: AuthConfig,
    /// TLS; `None` if disabled.
    pub tls: Option<TlsConfig>,
    /// OAuth access tokens.
    pub oauth: Option<OauthConfig>,
    /// `None` for no limit.
    pub rate_limit: Option<RateLimitConfig>,
    /// Browsers' access.
    pub cors: CorsConfig,
    /// Logging.
    pub logging: LoggingConfig,
}

/// Authentication settings.
#[derive(Debug, Clone)]
pub struct AuthConfig {
    /// Whether a key is needed.
    pub required: bool,
    /// Keys with distinct names; `server.auth.token` is the one named `default`.
    pub keys: Vec<ApiKey>,
    /// Client certificates.
    pub certificates: Vec<docent_auth::CertificateRule>,
}

/// TLS settings of the network transports.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities whose client certificates are accepted.
    pub client_ca: Option<PathBuf>,
    /// Whether clients need a certificate.
    pub client_required: bool,
}

/// OAuth access tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct OauthConfig {
    /// The public address of this server.
    pub resource: String,
    /// The accepted issuers; at least one.
    pub issuers: Vec<docent_auth::IssuerSettings>,
}

/// Web search.
#[derive(Debug, Clone)]
pub struct WebConfig {
    /// The search providers, in order.
    pub providers: Vec<docent_web::SearchProvider>,
}

/// A named key.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// The name in audit entries.
    pub name: String,
    /// The secret that the client presents.
    pub token: SecretText,
    /// The scopes; at least one.
    pub scopes: Vec<KeyScope>,
}

/// A scope of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyScope {
    /// `*`
    Everything,
    /// `suite:*`, stored without the `:*`.
    Suite(String),
    /// One tool by name.
    Tool(String),
}

impl fmt::Display for KeyScope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => out.write_str("*"),
            Self::Suite(suite) => write!(out, "{suite}:*"),
            Self::Tool(tool) => out.write_str(tool),
        }
    }
}

/// The rate limit of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitConfig {
    /// Requests per window; at least 1.
    pub requests: u32,
    /// The window.
    pub window: Duration,
    /// Whether it also applies to the client on standard input.
    pub holds_on_stdio: bool,
}

/// Access from browsers on other origins.
#[derive(Debug, Clone)]
pub struct CorsConfig {
    /// Whether CORS headers are sent.
    pub enabled: bool,
    /// `scheme://host[:port]` in lower case without a trailing slash, or `*`.
    pub origins: Vec<String>,
}

/// Logging settings.
#[derive(Debug, Clone)]
pub struct LoggingConfig {
    /// The lowest level logged.
    pub level: LogLevel,
    /// A file to log to in addition to stderr.
    pub file: Option<PathBuf>,
    /// The format of a line.
    pub format: LogFormat,
    /// `RUST_LOG`, which overrides everything else.
    pub rust_log: Option<String>,
    /// `DEBUG`, comma-separated names such as `mcp:protocol`.
    pub debug: Option<String>,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
}

/// Limits on messages, calls and sessions.
#[derive(Debug, Clone)]
pub struct LimitsConfig {
    /// Bytes in one message.
    pub message_bytes: usize,
    /// Bytes in one part of a result.
    pub page_bytes: usize,
    /// The timeout of one call.
    pub tool_timeout: Duration,
    /// Concurrent calls per client, and as many reads, prompts and completions in addition.
    pub calls_in_flight: usize,
    /// Sessions open at one time.
    pub sessions: usize,
    /// Open sessions per client; `None` for a fair share.
    pub sessions_per_client: Option<usize>,
    /// How long an idle HTTP session lasts.
    pub session_idle: Duration,
    /// Event streams and web sockets open at one time.
    pub streams: usize,
    /// Open event streams and web sockets per client; `None` for a fair share.
    pub streams_per_client: Option<usize>,
    /// Connections open at one time.
    pub connections: usize,
    /// Connections open at one time from one address.
    pub connections_per_address: usize,
    /// The timeout of the head of an HTTP request.
    pub head_timeout: Duration,
    /// The timeout of its body.
    pub body_timeout: Duration,
    /// How long the parts of a paged result stay readable.
    pub result_ttl: Duration,
    /// Limits of single tools.
    pub tools: IndexMap<String, ToolLimitsConfig>,
}

/// Limits of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimitsConfig {
    /// Overrides the general timeout.
    pub timeout: Option<Duration>,
    /// Calls per minute per client.
    pub rate_per_minute: Option<u32>,
}

/// The audit log.
#[derive(Debug, Clone)]
pub struct AuditConfig {
    /// Whether calls are recorded.
    pub enabled: bool,
    /// `None` stands for `audit.jsonl` in the state directory.
    pub file: Option<PathBuf>,
    /// The settings of the audit crate.
    pub settings: docent_audit::AuditLogSettings,
}

/// Export of spans.
#[derive(Debug, Clone)]
pub struct TelemetryConfig {
    /// The full address of the collector's trace endpoint; `None` exports nothing.
    pub otlp_endpoint: Option<String>,
    /// The service name that spans carry.
    pub service_name: String,
}

/// An endpoint that serves an embedding model.
#[derive(Debug, Clone)]
pub struct EmbeddingConfig {
    /// The address before `/embeddings`.
    pub url: String,
    /// The model's name at the endpoint.
    pub model: String,
    /// Sent as a bearer token.
    pub key: Option<SecretText>,
    /// Texts in one request.
    pub batch: usize,
    /// The timeout of one request.
    pub timeout: Duration,
}

/// One documentation collection, from a directory or an address.
#[derive(Debug, Clone)]
pub struct CollectionConfig {
    /// The directory, file or archive, absolute.
    pub path: Option<PathBuf>,
    /// The URL of the documents on the web; without a path, they are fetched from there.
    pub url: Option<String>,
    /// Whether it comes from a project file, which may be untrusted: then it must be inside the roots.
    pub of_a_project: bool,
    /// The display title.
    pub title: Option<String>,
    /// The topic of the documents.
    pub kind: Option<String>,
    /// The version that the documents describe.
    pub version: Option<String>,
    /// A one-sentence description for clients.
    pub description: Option<String>,
    /// Patterns of files to include; empty for all.
    pub include: Vec<String>,
    /// Patterns of files to exclude.
    pub exclude: Vec<String>,
}

impl Config {
    /// Reads, merges and checks every layer.
    pub fn load(inputs: &ConfigInputs) -> Result<Self, ConfigError> {
        resolve::resolve(MergedSettings::gather(inputs)?, inputs)
    }

    /// Refuses configurations that must not be served: auth without any key, and a network listener without auth.
    pub fn check_serving(&self) -> Result<(), ConfigError> {
        let auth = &self.server.auth;
        let no_keys = auth.keys.is_empty() && auth.certificates.is_empty();
        if auth.required && no_keys && self.server.oauth.is_none() {
            return Err(ConfigError::NoKey(self.settings.origin("server.auth.required").clone()));
        }
        let networked = self.server.transports.iter().any(|way| *way != TransportKind::Stdio);
        if networked && !self.server.binds_loopback() && !auth.required && !self.server.allow_open {
            let host = self.server.host.clone();
            let place = self.settings.origin("server.host").clone();
            if no_keys && self.server.oauth.is_none() {
                return Err(ConfigError::Open { host, place });
            }
            let off = self.settings.origin("server.auth.required").clone();
            return Err(ConfigError::AuthOff { host, place, off });
        }
        Ok(())
    }

    /// Returns the root with the state directory.
    pub fn first_root(&self) -> &Path {
        self.roots.first().map_or(Path::new("."), PathBuf::as_path)
    }

    /// Returns the configuration files that were read, lowest layer first.
    pub fn files(&self) -> &[PathBuf] {
        &self.settings.files
    }

    /// Describes keys that a project file sets but may not set; `None` if there are none.
    pub fn ignored_keys(&self) -> Option<String> {
        policy_settings::ignored_keys(&self.settings.ignored, &self.settings_file)
    }

    /// Describes why a server from a project file is not started, and what to do.
    pub(crate) fn untrusted_server(&self, name: &str) -> String {
        format!(
            "`mcp_servers.{name}` is set by a project file and not started, because the file could come from an \
             untrusted repository: set it in {}, or pass --config with the file if you trust it",
            self.settings_file
        )
    }

    /// Returns every secret, for masking.
    pub fn secrets(&self) -> Vec<SecretText> {
        let keys = self.server.auth.keys.iter().map(|key| key.token.clone());
        let models = self.embedding.iter().filter_map(|model| model.key.clone());
        keys.chain(models).chain(self.other_secrets.iter().cloned()).collect()
    }

    /// Returns the keys whose values differ in `other`.
    pub(crate) fn changed_keys(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (show::values(&self.settings), show::values(&other.settings));
        let mut keys: Vec<String> = ours.keys().chain(theirs.keys()).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| ours.get(key) != theirs.get(key));
        // Secrets are masked, so they are compared separately.
        let tokens = |config: &Self| -> Vec<SecretText> {
            config.server.auth.keys.iter().map(|key| key.token.clone()).collect()
        };
        if tokens(self) != tokens(other) {
            keys.push("server.auth.keys".into());
        }
        if self.servers != other.servers && !keys.iter().any(|key| key.starts_with("mcp_servers")) {
            keys.push("mcp_servers".into());
        }
        keys
    }

    /// Formats every value with its source as text; secrets are masked.
    pub fn show_text(&self) -> String {
        show::text(&self.settings, &ServerSecretMask::new(&self.secrets()))
    }

    /// Returns every value with its source as JSON; secrets are masked.
    pub fn show_json(&self) -> Value {
        show::json(&self.settings, &ServerSecretMask::new(&self.secrets()))
    }
}

impl ServerConfig {
    /// Whether only this machine can reach the bound address.
    pub fn binds_loopback(&self) -> bool {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        bare.eq_ignore_ascii_case("localhost")
            || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// Returns the files that would be read; fails if two are in the same folder.
pub fn files_in_place(inputs: &ConfigInputs) -> Result<Vec<PathBuf>, ConfigError> {
    layers::config_files(inputs)
}

/// Checks the text of one file without the other layers; the format depends on `path`.
pub fn check_text(path: &Path, text: &str) -> Result<(), ConfigError> {
    let mut checker = check::ConfigChecker::new(ValueSource::File(path.to_owned()));
    checker.file(layers::parse_text(path, text)?);
    let problems = checker.into_problems();
    if problems.is_empty() { Ok(()) } else { Err(ConfigError::Problems(problems)) }
}

/// Returns the directory that `docent config init` writes to.
pub fn root_of(inputs: &ConfigInputs) -> PathBuf {
    layers::first_root(inputs)
}

#[cfg(test)]
mod tests;
