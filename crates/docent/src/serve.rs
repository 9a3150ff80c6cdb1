//! Runs the server: creates providers and transports from the configuration, and shuts down in order.

use crate::{
    collections,
    config::{self, Config, ConfigInputs, TransportKind},
    config_watch::{self, ConfigWarnings, ConfigWatcher},
    dangling_settings, external_auth, indexing,
    inspect::{self, LocalBackend, LocalServer},
    logging,
    reload::{Network, Reload},
    servers::{self, HubResources, KeeperWatch},
    state::{StateDir, StateError, resolve_folder},
};
use anyhow::{Context, anyhow};
use docent_audit::WriteFailurePolicy;
use docent_inspector::InspectorToken;
use docent_server::{
    AdoptTraceParent, AuditSink, ExternalAuth, LiveSettings, McpServer, NamedKey, PolicyAction,
    RequestRate, Screening, ServerLimits, ServerSetup,
};
use docent_suites::{
    SuiteOptions, Suites,
    files::{RootsError, ServedRoots},
    web,
};
use docent_tool::ToolProvider;
use docent_traffic::Traffic;
use docent_transport::{
    Principal, PrincipalKind,
    http::{self, EnabledProtocols, HttpLimits, HttpServerSetup, ToolSummary},
    stdio::{self, Stdio},
};
use docent_wire::HandshakePolicy;
use std::{
    collections::BTreeMap,
    fs,
    io::{self, IsTerminal},
    num::NonZeroU32,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, signal};
use tokio_util::sync::CancellationToken;

/// Resources per page: clients show them in a picker, and a project has many files.
const RESOURCE_PAGE_SIZE: usize = 100;
const SERVER_NAME: &str = "docent";
const INSTRUCTIONS: &str = "docent gives you a tour of a project: its structure, its code and its documentation. \
    Start with analyze_repository in a project you don't know; find code with query_annotations and answers with \
    search_documentation instead of reading whole files.";

/// How long running calls have to finish when the server shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long until calls that are still running return partial results.
const PARTIAL_RESULT_AFTER: Duration = Duration::from_secs(4);

/// Maximum number of blocking threads: more than cores, because calls wait for files and locks; but bounded, so that
/// memory does not grow with the number of clients. Further calls wait.
const MAX_BLOCKING_THREADS: usize = 64;

/// How many of them calls may use. The others are for docent itself, such as checking tokens.
const MAX_CALL_THREADS: usize = 48;

/// What is created before the sandbox is entered.
pub(crate) struct ServerStart {
    pub(crate) means: HubResources,
    /// The inspector's own listener, instead of a configured one.
    pub(crate) inspect: Option<inspect::InspectorListener>,
}

/// Serves until stdin ends or a signal arrives.
pub(crate) fn run(config: &Config, inputs: ConfigInputs, start: ServerStart) -> anyhow::Result<()> {
    config.check_serving()?;
    let runtime = runtime(config)?;
    let result = runtime.block_on(serve(config, inputs, start));
    // A call that ignores its cancellation must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

/// Creates the runtime: one thread for a client on stdio, all cores for the network.
fn runtime(config: &Config) -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = if config.server.transports.as_slice() == [TransportKind::Stdio] {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    builder
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .build()
        .context("cannot start the runtime")
}

async fn serve(config: &Config, inputs: ConfigInputs, start: ServerStart) -> anyhow::Result<()> {
    let (started, inputs) = (Instant::now(), Arc::new(inputs));
    let ServerStart { means, inspect } = start;
    let door = ServeListener::open(config, inspect).await?;
    let traffic = door.as_ref().and_then(ServeListener::traffic);
    let network: Network = Arc::new(RwLock::new(config.policy.network.clone()));
    let Suites { mut providers, docs, web: web_suite } = suites_to_serve(config, &network)?;
    let closing = CancellationToken::new();
    let watch = KeeperWatch::start(means.keeper.clone(), &closing);
    let (hub, dial) = servers::hub(config, means, traffic.clone());
    providers.push(Arc::clone(&hub) as Arc<dyn ToolProvider>);
    let oddities = ConfigWarnings::new(config, &inputs);
    let follower = ConfigWatcher {
        inputs: Arc::clone(&inputs),
        docs: docs.clone(),
        hub: Arc::clone(&hub),
        dial: Arc::clone(&dial),
        oddities: Arc::clone(&oddities),
    };
    let _watching = follower.start(config);
    log_warnings(config, &inputs, &providers);
    let external_auth = external_auth::external_auth(config, &ExternalAuth::default())?;
    external_auth::prefetch_keys(&external_auth);
    let setup = setup(config, providers.clone(), audit(config)?);
    let server = McpServer::new(ServerSetup { external_auth: external_auth.clone(), ..setup })?;
    let tls = external_auth::tls(config)?;
    let oauth = Arc::new(RwLock::new(external_auth::protected_resource(config, &external_auth)?));
    let inside = |traffic| LocalServer {
        server: Arc::clone(&server),
        hub: Arc::clone(&hub),
        inputs: Arc::clone(&inputs),
        audit: audit_file(config).ok().filter(|_| config.audit.enabled),
        traffic,
        started,
    };
    let reload = Reload {
        inputs: Arc::clone(&inputs),
        server: Arc::clone(&server),
        docs,
        hub: Arc::clone(&hub),
        dial: Arc::clone(&dial),
        network,
        web: web_suite,
        tls: tls.clone(),
        oauth: Arc::clone(&oauth),
        external_auth: Mutex::new(external_auth),
        oddities,
        start: config.clone(),
        last: Mutex::new(config.clone()),
    };
    tokio::spawn(reload.on_signal());
    tokio::spawn(close_on_signal(closing.clone()));
    let stopped = CancellationToken::new();
    tokio::spawn(stop_when_closed(Arc::clone(&server), closing.clone(), stopped.clone()));
    let web = async {
        let Some(door) = door else { return Ok(()) };
        door.log_address(config)?;
        let ServeListener { listener, inspector } = door;
        let pages = inspector.map(|(token, traffic)| {
            let inside = Some(inside(Arc::clone(&traffic)));
            inspect::pages(token, LocalBackend { inside, given: None, dial }, traffic)
        });
        let made = Arc::clone(&server);
        let web = HttpServerSetup {
            closing: closing.clone(),
            stopped,
            tls,
            protected: oauth,
            pages,
            traffic: traffic.clone(),
            ..web(config, &server, providers)
        };
        http::serve(listener, Arc::new(move || made.session()), web).await
    };
    let pipes = serve_stdio(config, &server, traffic.clone(), &closing);
    let ended = until_closed(web, pipes, &closing).await;
    // Rejected callers are in the audit log as well.
    server.stop();
    // The supervisor ends servers that take longer once docent is gone.
    drop(tokio::time::timeout(Duration::from_secs(2), hub.close()).await);
    watch.outcome(ended)
}

/// Serves stdio, if configured.
async fn serve_stdio(
    config: &Config,
    server: &Arc<McpServer>,
    traffic: Option<Arc<Traffic>>,
    closing: &CancellationToken,
) -> io::Result<()> {
    if !config.server.transports.contains(&TransportKind::Stdio) {
        return Ok(());
    }
    let setup = Stdio {
        door: Arc::clone(server) as _,
        principal: None,
        handshake: handshake(config),
        message_bytes: config.limits.message_bytes,
        traffic,
        closing: closing.clone(),
    };
    let ended = stdio::serve(server.session(), setup).await;
    // The client that started docent is gone, and no other client can reach it.
    closing.cancel();
    ended
}

/// Waits until all transports end, or until shortly after docent shuts down.
async fn until_closed(
    web: impl Future<Output = io::Result<()>>,
    pipes: impl Future<Output = io::Result<()>>,
    closing: &CancellationToken,
) -> anyhow::Result<()> {
    let overdue = async {
        closing.cancelled().await;
        tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    };
    tokio::select! {
        (web, pipes) = async { tokio::join!(web, pipes) } => {
            web.context("the listener failed")?;
            pipes.context("stdio failed")
        }
        () = overdue => {
            tracing::warn!("calls were still running after {SHUTDOWN_TIMEOUT:?} and were dropped");
            Ok(())
        }
    }
}

/// Logs settings that have no effect, and files that servers can change.
fn log_warnings(config: &Config, inputs: &ConfigInputs, providers: &[Arc<dyn ToolProvider>]) {
    for problem in dangling_settings::dangling_settings(config, providers)
        .into_iter()
        .chain(config_watch::exposed_files(config, inputs))
    {
        tracing::warn!("{problem}");
    }
    hint_on_terminal(config);
}

/// Logs a hint if `docent serve` was started in a terminal, where it would appear to hang.
fn hint_on_terminal(config: &Config) {
    if config.server.transports.as_slice() == [TransportKind::Stdio] && io::stdin().is_terminal() {
        tracing::info!(
            "waiting for MCP messages on standard input: start docent from a client, or add --transport http; Ctrl-C to stop"
        );
    }
}

/// Returns the folders that tools may read, under the operator's rules.
pub(crate) fn roots(config: &Config) -> Result<ServedRoots, RootsError> {
    let rules = config.policy.files.clone();
    let log = config.server.logging.file.as_slice();
    let kept_back = [config.secret_places.as_slice(), config.audit.file.as_slice(), log].concat();
    Ok(ServedRoots::open(&config.roots)?.guarded(rules, &kept_back))
}

/// Creates the built-in suites over the configured roots and collections. Reads nothing yet.
pub(crate) fn suites(config: &Config) -> anyhow::Result<Suites> {
    let network = Arc::new(RwLock::new(config.policy.network.clone()));
    Ok(docent_suites::suites(options(config, &network)?))
}

/// The same for a server, whose clients are notified of changes.
fn suites_to_serve(config: &Config, network: &Network) -> anyhow::Result<Suites> {
    let options = SuiteOptions { index_when_listed: true, ..options(config, network)? };
    Ok(docent_suites::suites(options))
}

/// Returns the suites' options, with a network policy that may change.
fn options(config: &Config, network: &Network) -> anyhow::Result<SuiteOptions> {
    let roots = roots(config)?;
    let collections = collections::configured_collections(config);
    let synonyms = Arc::clone(&config.synonyms);
    let index = indexing::opener(config.clone());
    let network = Arc::clone(network);
    let web = web::WebSettings {
        client: Arc::new(move || {
            let policy = network.read().unwrap_or_else(PoisonError::into_inner).clone();
            docent_net::GuardedClient::new(policy, docent_net::FetchLimits::default())
        }),
        providers: config.web.providers.clone(),
        ..web::WebSettings::off()
    };
    Ok(SuiteOptions { roots, collections, synonyms, index, index_when_listed: false, web })
}

/// Returns the settings that may change while docent runs.
pub(crate) fn terms(config: &Config, external_auth: ExternalAuth) -> LiveSettings {
    ServerSetup { external_auth, ..setup(config, Vec::new(), AuditSink::off()) }.live_settings()
}

pub(crate) fn setup(
    config: &Config,
    providers: Vec<Arc<dyn ToolProvider>>,
    audit: AuditSink,
) -> ServerSetup {
    let auth = &config.server.auth;
    let keys = auth.keys.iter().map(|key| NamedKey {
        name: key.name.clone(),
        token: key.token.expose().to_owned(),
        scopes: key.scopes.iter().map(ToString::to_string).collect(),
    });
    ServerSetup {
        name: SERVER_NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        title: Some(SERVER_NAME.into()),
        instructions: Some(INSTRUCTIONS.into()),
        providers,
        keys: keys.collect(),
        external_auth: ExternalAuth::default(),
        auth_required: auth.required,
        policy: config.policy.tools.clone(),
        limits: limits(config),
        audit,
        screening: screening(config),
        list_page: 0,
        resource_page: RESOURCE_PAGE_SIZE,
        adopt_trace_parent: config
            .telemetry
            .otlp_endpoint
            .is_some()
            .then_some(logging::set_parent as AdoptTraceParent),
    }
}

fn limits(config: &Config) -> ServerLimits {
    let config::LimitsConfig { message_bytes, page_bytes, tool_timeout, .. } = config.limits;
    let per_tool = || config.limits.tools.iter().map(|(name, limits)| (name.clone(), limits));
    let tool_timeouts = per_tool().filter_map(|(name, limits)| Some((name, limits.timeout?)));
    let tool_rates = per_tool()
        .filter_map(|(name, limits)| Some((name, NonZeroU32::new(limits.rate_per_minute?)?)));
    let rate = config.server.rate_limit.and_then(|limit| {
        Some(RequestRate { requests: NonZeroU32::new(limit.requests)?, window: limit.window })
    });
    ServerLimits {
        message_bytes,
        page_bytes,
        tool_timeout,
        tool_timeouts: tool_timeouts.collect::<BTreeMap<_, _>>(),
        tool_rates: tool_rates.collect::<BTreeMap<_, _>>(),
        rate,
        stdio_rate: rate
            .filter(|_| config.server.rate_limit.is_some_and(|limit| limit.holds_on_stdio)),
        calls_in_flight: config.limits.calls_in_flight,
        sessions: config.limits.sessions,
        sessions_per_client: config.limits.sessions_per_client,
        streams: config.limits.streams,
        streams_per_client: config.limits.streams_per_client,
        blocking_threads: MAX_CALL_THREADS,
        result_ttl: config.limits.result_ttl,
    }
}

pub(crate) fn audit(config: &Config) -> anyhow::Result<AuditSink> {
    if !config.audit.enabled {
        return Ok(AuditSink::off());
    }
    match audit_file(config) {
        Ok(file) => Ok(AuditSink::open(file, config.audit.settings.clone())),
        Err(error) if config.audit.settings.on_full == WriteFailurePolicy::Refuse => {
            Err(anyhow!(error).context("cannot record calls, and audit.on_full is refuse"))
        }
        Err(error) => {
            let file = expected_audit_file(&error);
            if file.as_os_str().is_empty() {
                tracing::warn!(%error, "calls are not recorded, because there is no path for the audit log: set audit.file");
            } else {
                tracing::warn!(%error, "calls are not recorded");
            }
            // Every entry counts as lost until one can be written.
            Ok(AuditSink::open(file, config.audit.settings.clone()))
        }
    }
}

/// Returns the path that the audit log will have once state can be written: in the root's folder if that exists,
/// because the disk may only be full for now. A folder from a project may be a link elsewhere; without another one, the
/// path is empty.
pub(crate) fn expected_audit_file(error: &StateError) -> PathBuf {
    let (root, cache) = match error {
        StateError::ReadOnly { root, cache, .. } => (root, Some(cache)),
        StateError::NoCache { root, .. } => (root, None),
    };
    let is_plain = |entry: io::Result<fs::DirEntry>| {
        let kind = entry.and_then(|entry| entry.file_type());
        kind.is_ok_and(|kind| kind.is_file() || kind.is_dir())
    };
    let is_fit =
        !root.is_symlink() && fs::read_dir(root).is_ok_and(|mut entries| entries.all(is_plain));
    let folder = if is_fit { Some(root) } else { cache };
    folder.map(|folder| folder.join("audit.jsonl")).unwrap_or_default()
}

fn audit_file(config: &Config) -> Result<PathBuf, StateError> {
    match &config.audit.file {
        // The path is known even without a state directory.
        Some(file) => Ok(resolve_folder(file)),
        None => StateDir::open(config).map(|state| state.audit_file(config)),
    }
}

fn screening(config: &Config) -> Screening {
    let redaction = config.policy.redaction;
    let known = || config.secrets().iter().map(|secret| secret.expose().to_owned()).collect();
    Screening::new(redaction.secrets.then(known), redaction.hidden)
}

fn handshake(config: &Config) -> HandshakePolicy {
    match config.server.handshake {
        config::HandshakeMode::Required => HandshakePolicy::Required,
        config::HandshakeMode::Optional => HandshakePolicy::Optional,
    }
}

/// The listener, and the inspector's state if it is served there.
struct ServeListener {
    listener: TcpListener,
    inspector: Option<(InspectorToken, Arc<Traffic>)>,
}

impl ServeListener {
    /// The recorder of messages.
    fn traffic(&self) -> Option<Arc<Traffic>> {
        self.inspector.as_ref().map(|(_, traffic)| Arc::clone(traffic))
    }

    async fn open(
        config: &Config,
        inspect: Option<inspect::InspectorListener>,
    ) -> anyhow::Result<Option<Self>> {
        if let Some(inspect::InspectorListener { listener, token, traffic }) = inspect {
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            return Ok(Some(Self { listener, inspector: Some((token, traffic)) }));
        }
        if !config.server.transports.iter().any(|way| *way != TransportKind::Stdio) {
            return Ok(None);
        }
        let listener = bind(config).await?;
        // The inspector shows all clients' messages, so it is served on loopback only.
        let inspector = if config.server.inspector && listener.local_addr()?.ip().is_loopback() {
            Some((inspect::token()?, inspect::traffic()))
        } else {
            None
        };
        Ok(Some(Self { listener, inspector }))
    }

    /// Logs the address once clients can connect and signals are handled.
    fn log_address(&self, config: &Config) -> io::Result<()> {
        if config.server.transports.is_empty() {
            // `docent inspect` has printed it already.
            return Ok(());
        }
        let (address, tls) = (self.listener.local_addr()?, config.server.tls.is_some());
        tracing::info!("listening on {}://{address}", if tls { "https" } else { "http" });
        if let Some((token, _)) = &self.inspector {
            inspect::print_address(address, tls, token, config.server.logging.format);
        }
        Ok(())
    }
}

async fn bind(config: &Config) -> anyhow::Result<TcpListener> {
    let config::ServerConfig { host, port, .. } = &config.server;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    TcpListener::bind((bare, *port)).await.map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program uses the port: choose another with --port, or 0 for any free one"
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 require privileges: choose a higher one with --port"
            }
            io::ErrorKind::AddrNotAvailable => {
                "no interface of this machine has that address: choose another with --host"
            }
            _ => "choose an address of this machine with --host",
        };
        anyhow!(error).context(format!("cannot listen on {host}:{port} ({remedy})"))
    })
}

/// Returns a caller without scope restrictions, for the public landing page.
fn anonymous_principal() -> Principal {
    let scopes = Arc::from(["*".to_owned()]);
    Principal { name: "anonymous".into(), scopes, kind: PrincipalKind::Anonymous, grant: None }
}

pub(crate) fn web(
    config: &Config,
    server: &Arc<McpServer>,
    providers: Vec<Arc<dyn ToolProvider>>,
) -> HttpServerSetup {
    let speaks = |way| config.server.transports.contains(&way);
    let mut hosts = config.server.allowed_hosts.clone();
    hosts.push(config.server.host.clone());
    let measured = Arc::clone(server);
    let (policy, anybody) = (config.policy.tools.clone(), anonymous_principal());
    let shown = move || {
        let is_shown = |provider: &str, tool: &str| {
            policy.decide(&anybody, provider, Some(tool)).action != PolicyAction::Deny
        };
        let tools = providers.iter().flat_map(|provider| {
            let all = provider.tools().into_iter().map(|tool| tool.info());
            all.filter(|info| is_shown(provider.key(), &info.name)).collect::<Vec<_>>()
        });
        tools
            .map(|info| ToolSummary { about: info.listed_description(), name: info.name })
            .collect()
    };
    HttpServerSetup {
        access: Arc::clone(server) as _,
        enabled: EnabledProtocols {
            http: speaks(TransportKind::Http),
            sse: speaks(TransportKind::Sse),
            websocket: speaks(TransportKind::WebSocket),
        },
        name: SERVER_NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        hosts,
        origins: if config.server.cors.enabled {
            config.server.cors.origins.clone()
        } else {
            Vec::new()
        },
        handshake: handshake(config),
        message_bytes: config.limits.message_bytes,
        limits: HttpLimits {
            connections: config.limits.connections,
            connections_per_address: config.limits.connections_per_address,
            head: config.limits.head_timeout,
            body: config.limits.body_timeout,
            session: config.limits.session_idle,
            ..HttpLimits::default()
        },
        stats: Arc::default(),
        tls: None,
        protected: Arc::default(),
        pages: None,
        traffic: None,
        metrics: Arc::new(move || measured.metrics()),
        tools: Arc::new(shown),
        closing: CancellationToken::new(),
        stopped: CancellationToken::new(),
    }
}

pub(crate) async fn close_on_signal(closing: CancellationToken) {
    let Ok(mut terminated) = signal::unix::signal(signal::unix::SignalKind::terminate()) else {
        return;
    };
    tokio::select! {
        _ = terminated.recv() => {}
        _ = signal::ctrl_c() => {}
    }
    closing.cancel();
}

/// Subscriptions and sessions never end by themselves; they are closed once every running call has been answered, if
/// necessary with a partial result.
async fn stop_when_closed(
    server: Arc<McpServer>,
    closing: CancellationToken,
    stopped: CancellationToken,
) {
    closing.cancelled().await;
    server.cancel_tasks();
    if tokio::time::timeout(PARTIAL_RESULT_AFTER, server.wait_until_idle()).await.is_err() {
        server.request_shutdown();
        server.wait_until_idle().await;
    }
    server.stop();
    stopped.cancel();
}
