//! Resolves typed values: makes paths absolute, loads secrets, checks formats.

use super::{
    ApiKey, AuthConfig, CollectionConfig, Config, CorsConfig, EmbeddingConfig, KeyScope,
    LimitsConfig, LoggingConfig, RateLimitConfig, ServerConfig, TelemetryConfig, ToolLimitsConfig,
    TransportKind,
    error::{ConfigError, ConfigProblem, ValueSource},
    keys::join,
    layers::{ConfigInputs, MergedSettings},
    policy_settings::{NOT_THIS_MACHINE, OUTSIDE_PROJECT, RefusedKey, ignored_keys, without_keys},
    raw::{
        RawAuth, RawCollection, RawConfig, RawCors, RawEmbedding, RawKey, RawLimits, RawServer,
        RawTelemetry,
    },
    regular,
    standard_paths::{cache_dir, config_folders, secret_places, settings_file},
};
use docent_index::Synonyms;
use indexmap::IndexMap;
use serde::Deserialize;
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The default number of requests per window for a client on the network.
const NETWORK_RATE_LIMIT: u32 = 100;

/// A secret without `Debug` or `Display`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct SecretText(String);

impl SecretText {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for comparing and masking only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

pub(super) struct Resolver<'a> {
    pub(super) settings: &'a MergedSettings,
    pub(super) inputs: &'a ConfigInputs,
    problems: Vec<ConfigProblem>,
    /// Keys that a project file may not set.
    pub(super) refused: Vec<RefusedKey>,
    /// Secrets found so far, to be masked.
    pub(super) secrets: Vec<SecretText>,
    /// Files outside the roots that are read again with the configuration.
    pub(super) files: Vec<PathBuf>,
    /// Names and tokens of the keys of docent's own clients.
    pub(super) tokens: Vec<(String, String)>,
}

/// Resolves the settings without the keys that a project file may not set. Each round drops those found by the last.
pub(super) fn resolve(
    mut settings: MergedSettings,
    inputs: &ConfigInputs,
) -> Result<Config, ConfigError> {
    loop {
        match resolve_once(settings, inputs)? {
            Resolution::Config(config) => return Ok(*config),
            Resolution::Refused(all, refused) => settings = without_keys(*all, refused)?,
        }
    }
}

enum Resolution {
    Config(Box<Config>),
    /// The settings, and the keys to drop from them.
    Refused(Box<MergedSettings>, Vec<RefusedKey>),
}

fn resolve_once(
    settings: MergedSettings,
    inputs: &ConfigInputs,
) -> Result<Resolution, ConfigError> {
    let raw = RawConfig::deserialize(settings.tree()).map_err(|error| {
        // The layers were checked against the same types, so this is a bug in the check.
        let message = format!("the merged configuration is invalid: {error}");
        ConfigError::Problems(vec![ConfigProblem { source: ValueSource::Default, message }])
    })?;
    let mut resolver = Resolver {
        settings: &settings,
        inputs,
        problems: Vec::new(),
        refused: Vec::new(),
        secrets: Vec::new(),
        files: Vec::new(),
        tokens: Vec::new(),
    };
    resolver.reserved();
    if !resolver.refused.is_empty() {
        let refused = resolver.refused;
        return Ok(Resolution::Refused(Box::new(settings), refused));
    }
    let server = resolver.server(raw.server);
    let limits = limits(raw.limits);
    let audit = resolver.audit(raw.audit);
    let telemetry = resolver.telemetry(raw.telemetry);
    let embedding = resolver.embedding(raw.embedding);
    let roots = resolver.roots(&raw.roots);
    let collections = resolver.collections(raw.docs.collections);
    let synonyms = resolver.synonyms(&raw.docs.synonyms);
    let policy = resolver.policy(raw.policy);
    let web = resolver.web(raw.web);
    let settings_file = settings_file(inputs);
    let mut warnings = settings.warnings.clone();
    warnings.extend(ignored_keys(&settings.ignored, &settings_file));
    let keys = server.auth.keys.iter();
    resolver.tokens = keys.map(|key| (key.name.clone(), key.token.expose().to_owned())).collect();
    let hub = resolver.hub(&raw.hub);
    let (servers, faults) = resolver.servers(&raw.mcp_servers, &hub, &mut warnings);
    resolver.check_ways(&raw.roots, &servers);
    warnings.extend(faults.iter().map(|fault| fault.message.clone()));
    warnings.extend(resolver.idle_listener(&server));
    let Resolver { problems, refused, secrets: other_secrets, files: secret_files, .. } = resolver;
    if !refused.is_empty() {
        return Ok(Resolution::Refused(Box::new(settings), refused));
    }
    if !problems.is_empty() {
        return Err(ConfigError::Problems(problems));
    }
    Ok(Resolution::Config(Box::new(Config {
        server,
        limits,
        audit,
        telemetry,
        embedding,
        roots,
        collections,
        policy,
        web,
        synonyms,
        hub,
        servers,
        faults,
        home: inputs.home.clone(),
        cache_dir: cache_dir(inputs),
        config_folders: config_folders(inputs),
        secret_places: secret_places(inputs),
        secret_files,
        other_secrets,
        warnings,
        settings_file,
        settings,
    })))
}

fn limits(raw: RawLimits) -> LimitsConfig {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let bytes = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let tools = raw.tools.into_iter().map(|(name, limits)| {
        let timeout = limits.timeout_ms.map(Duration::from_millis);
        (name, ToolLimitsConfig { timeout, rate_per_minute: limits.rate_per_minute })
    });
    LimitsConfig {
        message_bytes: bytes(raw.message_bytes),
        page_bytes: bytes(raw.page_bytes),
        tool_timeout: Duration::from_millis(raw.tool_timeout_ms),
        calls_in_flight: count(raw.calls_in_flight),
        sessions: count(raw.sessions),
        sessions_per_client: raw.sessions_per_client.map(count),
        session_idle: Duration::from_millis(raw.session_idle_ms),
        streams: count(raw.streams),
        streams_per_client: raw.streams_per_client.map(count),
        connections: count(raw.connections),
        connections_per_address: count(raw.connections_per_address),
        head_timeout: Duration::from_millis(raw.head_timeout_ms),
        body_timeout: Duration::from_millis(raw.body_timeout_ms),
        result_ttl: Duration::from_millis(raw.result_ttl_ms),
        tools: tools.collect(),
    }
}

/// Reads a file with a secret: a regular file of limited size.
pub(super) fn read_secrets(path: &Path) -> io::Result<String> {
    const MAX_BYTES: u64 = 64 << 10;
    regular::read_text(path, MAX_BYTES)
}

/// Whether a host, with or without its port, is this machine.
pub(super) fn is_loopback_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl Resolver<'_> {
    pub(super) fn problem(&mut self, key: &str, what: impl fmt::Display) {
        let place = self.settings.origin(key).clone();
        self.problems.push(ConfigProblem { source: place, message: format!("`{key}` {what}") });
    }

    /// Relative paths start from the file that names them, or from the working directory.
    pub(super) fn path(&self, key: &str, text: &str) -> PathBuf {
        if let (Some(rest), Some(home)) = (text.strip_prefix("~/"), &self.inputs.home) {
            return home.join(rest);
        }
        let base = match self.settings.origin(key) {
            ValueSource::File(file) => file.parent().unwrap_or(Path::new("")),
            _ => &self.inputs.working_dir,
        };
        base.join(text)
    }

    fn server(&mut self, raw: RawServer) -> ServerConfig {
        let host = raw.host.trim().to_owned();
        let ip_like = host.trim_start_matches('[').trim_end_matches(']');
        let name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if ip_like.parse::<std::net::IpAddr>().is_err()
            && (host.is_empty() || !host.chars().all(name))
        {
            let what = format!(
                "must be an address or a host name, without scheme and port, but is {host:?}"
            );
            self.problem("server.host", what);
        }
        let mut transports: Vec<TransportKind> = Vec::new();
        for way in raw.transport {
            if !transports.contains(&way) {
                transports.push(way);
            }
        }
        if transports.is_empty() {
            self.problem(
                "server.transport",
                "must name at least one of stdio, http, sse, websocket",
            );
        }
        let oauth = self.oauth(raw.oauth);
        let tls = self.tls(raw.tls);
        let has_authority = tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        let environment = &self.inputs.environment;
        let logging = LoggingConfig {
            level: raw.logging.level,
            file: self.log_file(raw.logging.file),
            format: raw.logging.format,
            rust_log: environment.get("RUST_LOG").map(str::to_owned),
            debug: environment.get("DEBUG").map(str::to_owned),
            no_color: environment.get("NO_COLOR").is_some(),
        };
        let rate_limit = raw.rate_limit.enabled.then(|| RateLimitConfig {
            requests: raw.rate_limit.requests.unwrap_or(NETWORK_RATE_LIMIT),
            window: Duration::from_millis(raw.rate_limit.window),
            holds_on_stdio: raw.rate_limit.requests.is_some(),
        });
        ServerConfig {
            host,
            port: raw.port,
            transports,
            handshake: raw.handshake,
            allow_open: raw.allow_open,
            inspector: raw.inspector,
            allowed_hosts: raw.allowed_hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            auth: self.auth(raw.auth, oauth.is_some(), has_authority),
            tls,
            oauth,
            rate_limit,
            cors: self.cors(raw.cors),
            logging,
        }
    }

    fn auth(&mut self, raw: RawAuth, has_issuers: bool, has_authority: bool) -> AuthConfig {
        let mut keys: Vec<ApiKey> = Vec::new();
        if let Some(token) = raw.token.filter(|token| !token.is_empty()) {
            let secret = self.secret("server.auth.token", token);
            keys.extend(secret.map(|token| ApiKey {
                name: "default".into(),
                token,
                scopes: vec![KeyScope::Everything],
            }));
        }
        for (at, raw) in raw.keys.into_iter().enumerate() {
            let Some(key) = self.key(at, raw) else { continue };
            if keys.iter().any(|other| other.name == key.name) {
                let what = format!("has two keys named {:?}; names must differ", key.name);
                self.problem("server.auth.keys", what);
            }
            keys.push(key);
        }
        let certificates = self.certificates(raw.certificates, &keys, has_authority);
        let is_configured = !keys.is_empty() || !certificates.is_empty() || has_issuers;
        AuthConfig { required: raw.required.unwrap_or(is_configured), keys, certificates }
    }

    fn key(&mut self, at: usize, raw: RawKey) -> Option<ApiKey> {
        const KEYS: &str = "server.auth.keys";
        let label = if raw.name.is_empty() { format!("[{at}]") } else { format!("{:?}", raw.name) };
        if raw.name.trim().is_empty() {
            self.problem(KEYS, format!("{label} needs a `name`"));
            return None;
        }
        let token = match (raw.token, raw.token_env, raw.token_file) {
            (Some(token), None, None) => token,
            (None, Some(variable), None) => {
                let Some(token) = self.inputs.environment.get(&variable) else {
                    let what = format!("{label}: the environment variable {variable} is not set");
                    self.problem(KEYS, what);
                    return None;
                };
                token.to_owned()
            }
            (None, None, Some(file)) => {
                let path = self.path(KEYS, &file);
                match self.secret_file(&path) {
                    Ok(text) => text,
                    Err(error) => {
                        let what = format!("{label}: cannot read {}: {error}", path.display());
                        self.problem(KEYS, what);
                        return None;
                    }
                }
            }
            _ => {
                let what =
                    format!("{label} needs exactly one of `token`, `token_env`, `token_file`");
                self.problem(KEYS, what);
                return None;
            }
        };
        let token = self.secret(KEYS, token)?;
        let scopes = raw.scopes.unwrap_or_default();
        if scopes.is_empty() {
            let what =
                "needs `scopes`: tool names, suites such as \"code:*\", or \"*\" for everything";
            self.problem(KEYS, format!("{label} {what}"));
        }
        let scopes = scopes.iter().filter_map(|scope| self.scope(KEYS, &label, scope)).collect();
        Some(ApiKey { name: raw.name, token, scopes })
    }

    /// Reads the secret from a file.
    pub(super) fn secret_file(&mut self, path: &Path) -> io::Result<String> {
        self.files.push(path.to_owned());
        Ok(read_secrets(path)?.trim().to_owned())
    }

    /// A token must fit in a header, or no client could present it.
    pub(super) fn secret(&mut self, key: &str, token: String) -> Option<SecretText> {
        if token.is_empty() {
            self.problem(key, "has an empty token");
            return None;
        }
        if !token.chars().all(|c| c.is_ascii_graphic()) {
            self.problem(key, "has a token with white space or non-ASCII characters");
            return None;
        }
        Some(SecretText(token))
    }

    pub(super) fn scope(&mut self, key: &str, label: &str, text: &str) -> Option<KeyScope> {
        let plain = |name: &str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        };
        match text.strip_suffix(":*") {
            _ if text == "*" => Some(KeyScope::Everything),
            Some(suite) if plain(suite) => Some(KeyScope::Suite(suite.to_owned())),
            None if plain(text) => Some(KeyScope::Tool(text.to_owned())),
            _ => {
                let what = format!(
                    "{label}: the scope {text:?} is not a tool name, a suite such as \"code:*\", or \"*\""
                );
                self.problem(key, what);
                None
            }
        }
    }

    fn cors(&mut self, raw: RawCors) -> CorsConfig {
        let mut origins = Vec::new();
        for origin in raw.origins {
            let plain = origin.trim_end_matches('/').to_ascii_lowercase();
            let host = plain.split_once("://").map(|(_, host)| host);
            let shaped = host.is_some_and(|host| {
                !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' '])
            });
            if plain == "*" || plain == "null" || shaped {
                origins.push(plain);
            } else {
                let what = format!(
                    "has {origin:?}, which is not an origin; use scheme://host[:port], or * for every origin"
                );
                self.problem("server.cors.origins", what);
            }
        }
        CorsConfig { enabled: raw.enabled.unwrap_or(!origins.is_empty()), origins }
    }

    fn telemetry(&mut self, raw: RawTelemetry) -> TelemetryConfig {
        const KEY: &str = "telemetry.otlp_endpoint";
        let endpoint = raw.otlp_endpoint.filter(|text| !text.is_empty()).and_then(|text| {
            let Some((host, path)) = text.strip_prefix("http://").map(|rest| rest.split_once('/').unwrap_or((rest, ""))) else {
                self.problem(KEY, format!("is {text:?}; write http://host:port (spans are sent without TLS: run a collector near docent and let it forward them)"));
                return None;
            };
            if host.is_empty() || host.contains(['@', ' ']) {
                self.problem(KEY, "has no plain host; write http://host:port");
                return None;
            }
            if !is_loopback_host(host) && self.is_of_a_project(KEY) {
                self.refuse(KEY, Some(NOT_THIS_MACHINE));
                return None;
            }
            // As OTLP specifies: a base address stands for the trace endpoint under it.
            Some(if path.is_empty() { format!("http://{host}/v1/traces") } else { text })
        });
        TelemetryConfig { otlp_endpoint: endpoint, service_name: raw.service_name }
    }

    fn embedding(&mut self, raw: RawEmbedding) -> Option<EmbeddingConfig> {
        const URL: &str = "embedding.url";
        const MODEL: &str = "embedding.model";
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (url, model) = match (given(raw.url), given(raw.model)) {
            (Some(url), Some(model)) => (url, model),
            (Some(_), None) => {
                let what = "is set without a model: add `embedding.model`, the model's name at the endpoint";
                self.problem(URL, what);
                return None;
            }
            (None, Some(_)) => {
                let what = "is set without an address: add `embedding.url`, such as http://localhost:11434/v1";
                self.problem(MODEL, what);
                return None;
            }
            (None, None) => return None,
        };
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
        if host.is_none_or(|host| host.is_empty() || host.contains(['@', ' ', '?', '#'])) {
            // A URL with a user name may contain a password.
            self.problem(URL, "must be http://host[:port]/path or https://…, without a user name");
            return None;
        }
        if !is_loopback_host(host.unwrap_or_default()) && self.is_of_a_project(URL) {
            self.refuse(URL, Some(NOT_THIS_MACHINE));
            if self.is_of_a_project(MODEL) {
                self.refuse(MODEL, Some("for an endpoint elsewhere"));
            }
            return None;
        }
        let key = match given(raw.key_env) {
            Some(variable) => {
                const KEY: &str = "embedding.key_env";
                if self.is_of_a_project(KEY) {
                    return None;
                }
                let Some(key) = self.inputs.environment.get(&variable) else {
                    let what = format!(
                        "names the environment variable {variable}, which is not set: set it, or remove the key"
                    );
                    self.problem(KEY, what);
                    return None;
                };
                Some(self.secret(KEY, key.to_owned())?)
            }
            None => None,
        };
        Some(EmbeddingConfig {
            url,
            model,
            key,
            batch: usize::try_from(raw.batch).unwrap_or(usize::MAX),
            timeout: Duration::from_millis(raw.timeout_ms),
        })
    }

    fn roots(&mut self, raw: &[String]) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = raw.iter().map(|root| self.path("roots", root)).collect();
        if paths.is_empty() {
            paths.push(self.inputs.working_dir.clone());
        }
        let mut roots = Vec::new();
        let inside = self.project_of("roots");
        for path in paths {
            match path.canonicalize() {
                Ok(real) if inside.as_ref().is_some_and(|inside| !real.starts_with(inside)) => {
                    self.refuse("roots", Some(OUTSIDE_PROJECT));
                }
                Ok(real) if real.is_dir() => {
                    if !roots.contains(&real) {
                        roots.push(real);
                    }
                }
                Ok(_) => self.problem(
                    "roots",
                    format!(
                        "has {}, which is not a directory; use its parent directory",
                        path.display()
                    ),
                ),
                Err(error) => {
                    self.problem(
                        "roots",
                        format!(
                            "has {}, which cannot be opened: {error}; name a directory that exists, or none for the working directory",
                            path.display()
                        ),
                    );
                }
            }
        }
        roots
    }

    fn synonyms(&mut self, raw: &[Vec<String>]) -> Arc<Synonyms> {
        let parsed = Synonyms::parse(raw).unwrap_or_else(|error| {
            self.problem("docs.synonyms", error.to_string());
            Synonyms::default()
        });
        Arc::new(parsed)
    }

    fn collections(
        &mut self,
        raw: IndexMap<String, RawCollection>,
    ) -> IndexMap<String, CollectionConfig> {
        let mut collections = IndexMap::new();
        for (name, raw) in raw {
            let here = join("docs.collections", &name);
            let nameless = docent_suites::docs::CollectionSettings::name_problem(&name);
            let placeless = (raw.path.is_none() && raw.url.is_none())
                .then_some("it needs a `path`, or a `url` to be fetched from");
            if let Some(problem) = nameless.or(placeless) {
                // Any key of the collection shows which file defines it.
                let within = self.settings.origins().find(|(path, _)| path.starts_with(&here));
                let source = within.map_or(ValueSource::Default, |(_, source)| source.clone());
                self.problems
                    .push(ConfigProblem { source, message: format!("`{here}`: {problem}") });
                continue;
            }
            let of_a_project = self.is_of_a_project(&join(&here, "path"));
            let path = raw.path.map(|path| self.path(&join(&here, "path"), &path));
            let collection = CollectionConfig {
                path,
                url: raw.url,
                of_a_project,
                title: raw.title,
                kind: raw.kind,
                version: raw.version,
                description: raw.description,
                include: raw.include,
                exclude: raw.exclude,
            };
            collections.insert(name, collection);
        }
        collections
    }

    /// `--port` without a network transport is a likely mistake: the server would read stdin and appear to hang.
    fn idle_listener(&self, server: &ServerConfig) -> Option<String> {
        let listens = server.transports.iter().any(|way| *way != TransportKind::Stdio);
        let flagged = ["server.port", "server.host"].into_iter().find_map(|key| {
            match self.settings.origin(key) {
                ValueSource::Flag(flag) => Some(*flag),
                _ => None,
            }
        });
        let flag = flagged.filter(|_| !listens)?;
        Some(format!("{flag} has no effect: stdio is the only transport; add --transport http"))
    }
}
