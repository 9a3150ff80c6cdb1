//! Owns the configuration: reads its layers, checks them, and hands out one [`Config`].
//!
//! The only module that reads the environment. `raw` is the list of keys as typed, `keys` what is derived from it,
//! `check` and `layers` the way from files, variables and flags to one tree, `resolve` the way from there to values
//! that can be used as they are. `show`, `init` and `reference` write for people.

mod check;
mod network_settings;
mod edit;
mod env_file;
mod environment;
mod error;
mod server_entry;
mod policy_settings;
pub(crate) mod import;
mod init;
mod keys;
mod layers;
mod redaction;
mod standard_paths;
mod raw;
mod raw_network;
mod raw_hub;
mod raw_policy;
mod reference;
pub(crate) mod regular;
mod resolve;
mod servers;
mod show;
mod path_trust;

pub(crate) use edit::{EditedConfigFile, add_collection, remove_collection, write as write_file};
pub use env_file::EnvFile;
pub use environment::ConfigEnvironment;
pub(crate) use environment::AUTH_KEY_VARIABLE;
pub use error::{ConfigError, ConfigProblem, ValueSource};
pub use server_entry::{ServerExtension, ServerEntryProblem, SandboxSetting, SandboxLevel as Tightness, ServerOauth as SignIn};
pub(crate) use server_entry::{is_read, check_server_name, strip_loosening};
pub use init::{InitError, init};
pub use layers::{ConfigFlags, ConfigInputs, ConfigOverride};
pub(crate) use layers::{files_of, inputs, read as read_file, user_file};
pub(crate) use redaction::ServerSecretMask;
pub(crate) use standard_paths::state_folder;
pub use raw::{HandshakeMode, LogLevel, LogFormat, TransportKind};
pub use raw_policy::SandboxMode;
pub use reference::{json_schema, reference_page};
pub use resolve::SecretText;
pub(crate) use servers::{NESTING_VARIABLE, nesting_depth};
pub(crate) use path_trust::{TEMPORARY_FOLDERS, is_fixed, path_components, resolve_links, resolve_links_until};

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

/// The configuration, checked: paths are absolute, roots exist, secrets are found. It can't be printed whole.
#[derive(Clone)]
pub struct Config {
    /// How clients reach docent.
    pub server: ServerConfig,
    /// Bounds in force.
    pub limits: LimitsConfig,
    /// The record of calls.
    pub audit: AuditConfig,
    /// Span export.
    pub telemetry: TelemetryConfig,
    /// The model that somebody serves; `None` stands for the table that is built in.
    pub embedding: Option<EmbeddingConfig>,
    /// Directories that tools may read; at least one, each absolute, with links resolved.
    pub roots: Vec<PathBuf>,
    /// Documentation collections by name, in the order written.
    pub collections: IndexMap<String, CollectionConfig>,
    /// What docent may do.
    pub policy: PolicyConfig,
    /// Search of the web.
    pub web: WebConfig,
    /// Groups of words that mean the same in documentation.
    pub synonyms: Arc<Synonyms>,
    /// How other MCP servers are shown.
    pub hub: HubConfig,
    /// Other MCP servers, in the order written.
    pub servers: Vec<ConfiguredServer>,
    /// What is wrong with entries of servers; told among the warnings as well.
    pub faults: Vec<ServerEntryProblem>,
    /// The user's home, if there is one.
    pub home: Option<PathBuf>,
    /// The user's cache directory for docent, if there is a home to hold it.
    pub cache_dir: Option<PathBuf>,
    /// Folders that configuration files are looked for in.
    pub config_folders: Vec<PathBuf>,
    /// Files and folders of credentials outside the roots.
    pub secret_places: Vec<PathBuf>,
    /// What is odd but not wrong; logged at start.
    pub warnings: Vec<String>,
    /// Where the user sets what a project may not, as messages show it.
    pub settings_file: String,
    /// Files of secrets and certificates that the configuration names.
    pub secret_files: Vec<PathBuf>,
    /// Secrets besides the keys of clients.
    other_secrets: Vec<SecretText>,
    settings: MergedSettings,
}

/// How other MCP servers are shown.
#[derive(Debug, Clone)]
pub struct HubConfig {
    /// What the hub is made with.
    pub settings: docent_hub::HubSettings,
    /// More files that name servers.
    pub registries: Vec<PathBuf>,
}

/// Another MCP server.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredServer {
    /// What is written of it, variables and secrets in place.
    pub server: docent_registry::McpServerEntry,
    /// What docent alone reads of it.
    pub extra: ServerExtension,
    /// Whether a project's own file says so, which may be somebody else's: then it is not started.
    pub of_a_project: bool,
}

/// What docent may do.
#[derive(Debug, Clone)]
pub struct PolicyConfig {
    /// What may be reached on the network.
    pub network: docent_net::NetworkPolicy,
    /// What is served inside the roots.
    pub files: docent_suites::files::AccessRules,
    /// Who may use which tools.
    pub tools: docent_server::ToolPolicy,
    /// Programs that may be started; none for any.
    pub commands: Vec<String>,
    /// Programs that may not be.
    pub denied_commands: Vec<String>,
    /// What is taken out of results.
    pub redaction: RedactionConfig,
    /// What the kernel holds docent to.
    pub sandbox: SandboxConfig,
}

/// What is taken out of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedactionConfig {
    /// What looks like a secret.
    pub secrets: bool,
    /// Characters that a person can't see; they are made visible.
    pub hidden: bool,
}

/// What the kernel holds docent to.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// How much is wanted.
    pub mode: SandboxMode,
    /// Whether other programs run under bubblewrap.
    pub bubblewrap: bool,
    /// Further paths to read, absolute.
    pub read: Vec<PathBuf>,
    /// Further paths to write, absolute.
    pub write: Vec<PathBuf>,
}

/// How clients reach docent.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address or name to bind.
    pub host: String,
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Ways in, each once, at least one.
    pub transports: Vec<TransportKind>,
    /// Whether a session must open with `initialize`.
    pub handshake: HandshakeMode,
    /// Whether a non-loopback address is allowed without auth.
    pub allow_open: bool,
    /// Serves the inspector on a loopback listener.
    pub inspector: bool,
    /// Further accepted values of the Host header, in lower case.
    pub allowed_hosts: Vec<String>,
    /// Who may connect.
    pub auth: AuthConfig,
    /// Encryption; `None` for none.
    pub tls: Option<TlsConfig>,
    /// Tokens of teams.
    pub oauth: Option<OauthConfig>,
    /// `None` where no limit is in force.
    pub rate_limit: Option<RateLimitConfig>,
    /// Browsers' access.
    pub cors: CorsConfig,
    /// Log lines.
    pub logging: LoggingConfig,
}

/// Who may connect.
#[derive(Debug, Clone)]
pub struct AuthConfig {
    /// Whether a key is needed.
    pub required: bool,
    /// Keys with distinct names; `server.auth.token` is the one named `default`.
    pub keys: Vec<ApiKey>,
    /// Client certificates.
    pub certificates: Vec<docent_auth::CertificateRule>,
}

/// Encryption of the network transports.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// The certificate and those that vouch for it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities whose client certificates are accepted.
    pub client_ca: Option<PathBuf>,
    /// Whether a client needs one.
    pub client_required: bool,
}

/// Access tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct OauthConfig {
    /// The address by which clients know this server.
    pub resource: String,
    /// Whom tokens are accepted from; at least one.
    pub issuers: Vec<docent_auth::IssuerSettings>,
}

/// Search of the web.
#[derive(Debug, Clone)]
pub struct WebConfig {
    /// Who is asked, in order.
    pub providers: Vec<docent_web::SearchProvider>,
}

/// A named key.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// The name that audit lines carry.
    pub name: String,
    /// What the client must present.
    pub token: SecretText,
    /// What it may use; at least one.
    pub scopes: Vec<KeyScope>,
}

/// What a key may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyScope {
    /// `*`
    Everything,
    /// `suite:*`, held without the `:*`.
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

/// How often one client may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitConfig {
    /// Requests in a window; at least 1.
    pub requests: u32,
    /// The window.
    pub window: Duration,
    /// Whether it also holds for the client on standard input.
    pub holds_on_stdio: bool,
}

/// Browsers' access from other origins.
#[derive(Debug, Clone)]
pub struct CorsConfig {
    /// Whether CORS headers are sent.
    pub enabled: bool,
    /// `scheme://host[:port]` in lower case without a trailing slash, or `*`.
    pub origins: Vec<String>,
}

/// Where log lines go, and which.
#[derive(Debug, Clone)]
pub struct LoggingConfig {
    /// The least severe level written.
    pub level: LogLevel,
    /// A file that gets every line besides stderr.
    pub file: Option<PathBuf>,
    /// The form of a line.
    pub format: LogFormat,
    /// `RUST_LOG`, which wins over everything else.
    pub rust_log: Option<String>,
    /// `DEBUG`, comma-separated names such as `mcp:protocol`.
    pub debug: Option<String>,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
}

/// Bounds in force.
#[derive(Debug, Clone)]
pub struct LimitsConfig {
    /// Bytes in one message.
    pub message_bytes: usize,
    /// Bytes in one part of a result.
    pub page_bytes: usize,
    /// How long one call may take.
    pub tool_timeout: Duration,
    /// Calls that one client may have running, and as many reads, prompts and completions beside them.
    pub calls_in_flight: usize,
    /// Sessions open at one time.
    pub sessions: usize,
    /// Sessions that one client may have open; `None` for its fair share.
    pub sessions_per_client: Option<usize>,
    /// How long an HTTP session lasts that nobody uses.
    pub session_idle: Duration,
    /// Event streams and web sockets open at one time.
    pub streams: usize,
    /// Event streams and web sockets that one client may have open; `None` for its fair share.
    pub streams_per_client: Option<usize>,
    /// Connections open at one time.
    pub connections: usize,
    /// Connections open at one time from one address.
    pub connections_per_address: usize,
    /// How long the head of an HTTP request may take.
    pub head_timeout: Duration,
    /// How long its body may.
    pub body_timeout: Duration,
    /// How long the parts of a paged result stay readable.
    pub result_ttl: Duration,
    /// Bounds for single tools.
    pub tools: IndexMap<String, ToolLimitsConfig>,
}

/// Bounds for one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimitsConfig {
    /// In place of the general bound.
    pub timeout: Option<Duration>,
    /// Calls that one client may make in a minute.
    pub rate_per_minute: Option<u32>,
}

/// The record of every call.
#[derive(Debug, Clone)]
pub struct AuditConfig {
    /// Whether calls are recorded.
    pub enabled: bool,
    /// `None` stands for `audit.jsonl` in the state directory.
    pub file: Option<PathBuf>,
    /// How it is kept.
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

/// A model that somebody serves.
#[derive(Debug, Clone)]
pub struct EmbeddingConfig {
    /// The address before `/embeddings`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as a bearer token.
    pub key: Option<SecretText>,
    /// Texts in one request.
    pub batch: usize,
    /// How long one request may take.
    pub timeout: Duration,
}

/// One documentation collection, from a directory or an address.
#[derive(Debug, Clone)]
pub struct CollectionConfig {
    /// The directory, file or archive, absolute.
    pub path: Option<PathBuf>,
    /// Where the documents are on the web; without a path, where they are fetched from.
    pub url: Option<String>,
    /// Whether a project's own file names it, which may be somebody else's: it then stays in the roots.
    pub of_a_project: bool,
    /// What people call it.
    pub title: Option<String>,
    /// What the documents are about.
    pub kind: Option<String>,
    /// The version that they describe.
    pub version: Option<String>,
    /// One sentence for clients.
    pub description: Option<String>,
    /// Patterns of the files to take; empty takes all.
    pub include: Vec<String>,
    /// Patterns of the files to leave out.
    pub exclude: Vec<String>,
}

impl Config {
    /// Reads, merges and checks every layer.
    pub fn load(inputs: &ConfigInputs) -> Result<Self, ConfigError> {
        resolve::resolve(MergedSettings::gather(inputs)?, inputs)
    }

    /// Refuses what must not be served: auth that nobody can pass, and an open door to the network.
    pub fn check_serving(&self) -> Result<(), ConfigError> {
        let auth = &self.server.auth;
        let nobody = auth.keys.is_empty() && auth.certificates.is_empty();
        if auth.required && nobody && self.server.oauth.is_none() {
            return Err(ConfigError::NoKey(self.settings.origin("server.auth.required").clone()));
        }
        let networked = self.server.transports.iter().any(|way| *way != TransportKind::Stdio);
        if networked && !self.server.binds_loopback() && !auth.required && !self.server.allow_open {
            let host = self.server.host.clone();
            let place = self.settings.origin("server.host").clone();
            if nobody && self.server.oauth.is_none() {
                return Err(ConfigError::Open { host, place });
            }
            let off = self.settings.origin("server.auth.required").clone();
            return Err(ConfigError::AuthOff { host, place, off });
        }
        Ok(())
    }

    /// The root that state is kept in.
    pub fn first_root(&self) -> &Path {
        self.roots.first().map_or(Path::new("."), PathBuf::as_path)
    }

    /// Configuration files that were read, lowest layer first.
    pub fn files(&self) -> &[PathBuf] {
        &self.settings.files
    }

    /// What to report of keys that a project's own file sets and may not set; `None` where it sets none.
    pub fn ignored_keys(&self) -> Option<String> {
        policy_settings::ignored_keys(&self.settings.ignored, &self.settings_file)
    }

    /// Why a server of a project's own file is not started, and what to do.
    pub(crate) fn untrusted_server(&self, name: &str) -> String {
        format!(
            "`mcp_servers.{name}` is set by the project's own file and not started, because the file could come from an \
             untrusted repository: set it in {}, or pass --config with the file if you trust it",
            self.settings_file
        )
    }

    /// Every secret, for masking.
    pub fn secrets(&self) -> Vec<SecretText> {
        let keys = self.server.auth.keys.iter().map(|key| key.token.clone());
        let models = self.embedding.iter().filter_map(|model| model.key.clone());
        keys.chain(models).chain(self.other_secrets.iter().cloned()).collect()
    }

    /// Keys that have another value in the other one.
    pub(crate) fn changed_keys(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (show::values(&self.settings), show::values(&other.settings));
        let mut keys: Vec<String> = ours.keys().chain(theirs.keys()).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| ours.get(key) != theirs.get(key));
        // Secrets are masked, so that they are compared by themselves.
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

    /// Every value with where it came from, for people; secrets masked.
    pub fn show_text(&self) -> String {
        show::text(&self.settings, &ServerSecretMask::new(&self.secrets()))
    }

    /// Every value with where it came from, for programs; secrets masked.
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

/// The files that would be read, for a report on each; an error where two claim the same place.
pub fn files_in_place(inputs: &ConfigInputs) -> Result<Vec<PathBuf>, ConfigError> {
    layers::config_files(inputs)
}

/// Checks the text of one file by itself, without the other layers; `path` says which form it has.
pub fn check_text(path: &Path, text: &str) -> Result<(), ConfigError> {
    let mut checker = check::ConfigChecker::new(ValueSource::File(path.to_owned()));
    checker.file(layers::parse_text(path, text)?);
    let problems = checker.into_problems();
    if problems.is_empty() { Ok(()) } else { Err(ConfigError::Problems(problems)) }
}

/// The directory that `docent config init` writes to.
pub fn root_of(inputs: &ConfigInputs) -> PathBuf {
    layers::first_root(inputs)
}

#[cfg(test)]
mod tests;
