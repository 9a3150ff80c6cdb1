//! Runs the server: creates providers and transports from the configuration, and shuts down in order.

use crate::{
    collections,
    config::{self, Config, Inputs, Transport},
    follow::{self, Follower, Oddities},
    indexing,
    inspect::{self, Clerk, Inside},
    logging,
    reload::{Network, Reload},
    servers::{self, KeeperWatch, Means},
    state::{StateDir, StateError, resolve_folder},
    strangers, unmet,
};
use anyhow::{Context, anyhow};
use docent_audit::OnFull;
use docent_inspector::Token;
use docent_server::{
    Action, AdoptTrace, Audit, Key, Limits, Rate, Screening, Server, Setup, Strangers, Terms,
};
use docent_suites::{
    Options, Suites,
    files::{Roots, RootsError},
    web,
};
use docent_tool::Provider;
use docent_traffic::Traffic;
use docent_transport::{
    Principal, PrincipalKind,
    http::{self, Bounds, OauthInForce, Shown, Spoken, Web},
    stdio::{self, Stdio},
};
use docent_wire::Handshake;
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
const RESOURCE_PAGE: usize = 100;
const NAME: &str = "docent";
const INSTRUCTIONS: &str = "docent gives you a tour of a project: its structure, its code and its documentation. \
    Start with analyze_repository in a project you don't know; find code with query_annotations and answers with \
    search_documentation instead of reading whole files.";

/// How long running calls have to finish when the server shuts down.
const LAST_ORDERS: Duration = Duration::from_secs(5);

/// How long until calls that are still running return partial results.
const HURRY_AFTER: Duration = Duration::from_secs(4);

/// Maximum number of blocking threads: more than cores, because calls wait for files and locks; but bounded, so that
/// memory does not grow with the number of clients. Further calls wait.
const AT_WORK: usize = 64;

/// How many of them calls may use. The others are for docent itself, such as checking tokens.
const CALL_THREADS: usize = 48;

/// What is created before the sandbox is entered.
pub(crate) struct Start {
    pub(crate) means: Means,
    /// The inspector's own listener, instead of a configured one.
    pub(crate) inspect: Option<inspect::Opened>,
}

/// Serves until stdin ends or a signal arrives.
pub(crate) fn run(config: &Config, inputs: Inputs, start: Start) -> anyhow::Result<()> {
    config.check_serving()?;
    let runtime = runtime(config)?;
    let result = runtime.block_on(serve(config, inputs, start));
    // A call that ignores its cancellation must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

/// Creates the runtime: one thread for a client on stdio, all cores for the network.
fn runtime(config: &Config) -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = if config.server.transports.as_slice() == [Transport::Stdio] {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    builder.enable_all().max_blocking_threads(AT_WORK).build().context("cannot start the runtime")
}

async fn serve(config: &Config, inputs: Inputs, start: Start) -> anyhow::Result<()> {
    let (started, inputs) = (Instant::now(), Arc::new(inputs));
    let Start { means, inspect } = start;
    let door = Door::open(config, inspect).await?;
    let traffic = door.as_ref().and_then(Door::traffic);
    let network: Network = Arc::new(RwLock::new(config.policy.network.clone()));
    let Suites { mut providers, docs, web: web_suite } = suites_to_serve(config, &network)?;
    let closing = CancellationToken::new();
    let watch = KeeperWatch::start(means.keeper.clone(), &closing);
    let (hub, dial) = servers::hub(config, means, traffic.clone());
    providers.push(Arc::clone(&hub) as Arc<dyn Provider>);
    let oddities = Oddities::new(config, &inputs);
    let follower = Follower {
        inputs: Arc::clone(&inputs),
        docs: docs.clone(),
        hub: Arc::clone(&hub),
        dial: Arc::clone(&dial),
        oddities: Arc::clone(&oddities),
    };
    let _following = follower.start(config);
    tell_oddities(config, &inputs, &providers);
    let strangers = strangers::of(config, &Strangers::default())?;
    strangers::warm(&strangers);
    let setup = setup(config, providers.clone(), audit(config)?);
    let server = Server::new(Setup { strangers: strangers.clone(), ..setup })?;
    let tls = strangers::tls(config)?;
    let oauth: OauthInForce = Arc::new(RwLock::new(strangers::door(config, &strangers)?));
    let inside = |traffic| Inside {
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
        strangers: Mutex::new(strangers),
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
        door.announce(config)?;
        let Door { listener, inspector } = door;
        let pages = inspector.map(|(token, traffic)| {
            let inside = Some(inside(Arc::clone(&traffic)));
            inspect::pages(token, Clerk { inside, given: None, dial }, traffic)
        });
        let made = Arc::clone(&server);
        let web = Web {
            closing: closing.clone(),
            stopped,
            tls,
            oauth,
            pages,
            traffic: traffic.clone(),
            ..web(config, &server, providers)
        };
        http::serve(listener, Arc::new(move || made.session()), web).await
    };
    let pipes = pipes(config, &server, traffic.clone(), &closing);
    let ended = until_closed(web, pipes, &closing).await;
    // Rejected callers are in the audit log as well.
    server.stop();
    // The supervisor ends servers that take longer once docent is gone.
    drop(tokio::time::timeout(Duration::from_secs(2), hub.close()).await);
    watch.outcome(ended)
}

/// Serves stdio, if configured.
async fn pipes(
    config: &Config,
    server: &Arc<Server>,
    traffic: Option<Arc<Traffic>>,
    closing: &CancellationToken,
) -> io::Result<()> {
    if !config.server.transports.contains(&Transport::Stdio) {
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
        tokio::time::sleep(LAST_ORDERS).await;
    };
    tokio::select! {
        (web, pipes) = async { tokio::join!(web, pipes) } => {
            web.context("the listener failed")?;
            pipes.context("stdio failed")
        }
        () = overdue => {
            tracing::warn!("calls were still running after {LAST_ORDERS:?} and were dropped");
            Ok(())
        }
    }
}

/// Logs settings that have no effect, and files that servers can change.
fn tell_oddities(config: &Config, inputs: &Inputs, providers: &[Arc<dyn Provider>]) {
    for problem in
        unmet::names(config, providers).into_iter().chain(follow::exposed(config, inputs))
    {
        tracing::warn!("{problem}");
    }
    hint_on_terminal(config);
}

/// Logs a hint if `docent serve` was started in a terminal, where it would appear to hang.
fn hint_on_terminal(config: &Config) {
    if config.server.transports.as_slice() == [Transport::Stdio] && io::stdin().is_terminal() {
        tracing::info!(
            "waiting for MCP messages on standard input: start docent from a client, or add --transport http; Ctrl-C to stop"
        );
    }
}

/// Returns the folders that tools may read, under the operator's rules.
pub(crate) fn roots(config: &Config) -> Result<Roots, RootsError> {
    let rules = config.policy.files.clone();
    let log = config.server.logging.file.as_slice();
    let kept_back = [config.secret_places.as_slice(), config.audit.file.as_slice(), log].concat();
    Ok(Roots::open(&config.roots)?.guarded(rules, &kept_back))
}

/// Creates the built-in suites over the configured roots and collections. Reads nothing yet.
pub(crate) fn suites(config: &Config) -> anyhow::Result<Suites> {
    let network = Arc::new(RwLock::new(config.policy.network.clone()));
    Ok(docent_suites::suites(options(config, &network)?))
}

/// The same for a server, whose clients are notified of changes.
fn suites_to_serve(config: &Config, network: &Network) -> anyhow::Result<Suites> {
    let options = Options { index_when_listed: true, ..options(config, network)? };
    Ok(docent_suites::suites(options))
}

/// Returns the suites' options, with a network policy that may change.
fn options(config: &Config, network: &Network) -> anyhow::Result<Options> {
    let roots = roots(config)?;
    let collections = collections::of(config);
    let synonyms = Arc::clone(&config.synonyms);
    let index = indexing::opener(config.clone());
    let network = Arc::clone(network);
    let web = web::Settings {
        client: Arc::new(move || {
            let policy = network.read().unwrap_or_else(PoisonError::into_inner).clone();
            docent_net::Client::new(policy, docent_net::Limits::default())
        }),
        providers: config.web.providers.clone(),
        ..web::Settings::off()
    };
    Ok(Options { roots, collections, synonyms, index, index_when_listed: false, web })
}

/// Returns the settings that may change while docent runs.
pub(crate) fn terms(config: &Config, strangers: Strangers) -> Terms {
    Setup { strangers, ..setup(config, Vec::new(), Audit::off()) }.terms()
}

pub(crate) fn setup(config: &Config, providers: Vec<Arc<dyn Provider>>, audit: Audit) -> Setup {
    let auth = &config.server.auth;
    let keys = auth.keys.iter().map(|key| Key {
        name: key.name.clone(),
        token: key.token.expose().to_owned(),
        scopes: key.scopes.iter().map(ToString::to_string).collect(),
    });
    Setup {
        name: NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        title: Some(NAME.into()),
        instructions: Some(INSTRUCTIONS.into()),
        providers,
        keys: keys.collect(),
        strangers: Strangers::default(),
        auth_required: auth.required,
        policy: config.policy.tools.clone(),
        limits: limits(config),
        audit,
        screening: screening(config),
        list_page: 0,
        resource_page: RESOURCE_PAGE,
        adopt_trace: config
            .telemetry
            .otlp_endpoint
            .is_some()
            .then_some(logging::adopt as AdoptTrace),
    }
}

fn limits(config: &Config) -> Limits {
    let config::Limits { message_bytes, page_bytes, tool_timeout, .. } = config.limits;
    let per_tool = || config.limits.tools.iter().map(|(name, limits)| (name.clone(), limits));
    let tool_timeouts = per_tool().filter_map(|(name, limits)| Some((name, limits.timeout?)));
    let tool_rates = per_tool()
        .filter_map(|(name, limits)| Some((name, NonZeroU32::new(limits.rate_per_minute?)?)));
    let rate = config.server.rate_limit.and_then(|limit| {
        Some(Rate { requests: NonZeroU32::new(limit.requests)?, window: limit.window })
    });
    Limits {
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
        blocking_threads: CALL_THREADS,
        result_ttl: config.limits.result_ttl,
    }
}

pub(crate) fn audit(config: &Config) -> anyhow::Result<Audit> {
    if !config.audit.enabled {
        return Ok(Audit::off());
    }
    match audit_file(config) {
        Ok(file) => Ok(Audit::open(file, config.audit.settings.clone())),
        Err(error) if config.audit.settings.on_full == OnFull::Refuse => {
            Err(anyhow!(error).context("cannot record calls, and audit.on_full is refuse"))
        }
        Err(error) => {
            let file = hoped_for(&error);
            if file.as_os_str().is_empty() {
                tracing::warn!(%error, "calls are not recorded, because there is no path for the audit log: set audit.file");
            } else {
                tracing::warn!(%error, "calls are not recorded");
            }
            // Every entry counts as lost until one can be written.
            Ok(Audit::open(file, config.audit.settings.clone()))
        }
    }
}

/// Returns the path that the audit log will have once state can be written: in the root's folder if that exists,
/// because the disk may only be full for now. A folder from a project may be a link elsewhere; without another one, the
/// path is empty.
pub(crate) fn hoped_for(error: &StateError) -> PathBuf {
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

fn handshake(config: &Config) -> Handshake {
    match config.server.handshake {
        config::Handshake::Required => Handshake::Required,
        config::Handshake::Optional => Handshake::Optional,
    }
}

/// The listener, and the inspector's state if it is served there.
struct Door {
    listener: TcpListener,
    inspector: Option<(Token, Arc<Traffic>)>,
}

impl Door {
    /// The recorder of messages.
    fn traffic(&self) -> Option<Arc<Traffic>> {
        self.inspector.as_ref().map(|(_, traffic)| Arc::clone(traffic))
    }

    async fn open(
        config: &Config,
        inspect: Option<inspect::Opened>,
    ) -> anyhow::Result<Option<Self>> {
        if let Some(inspect::Opened { listener, token, traffic }) = inspect {
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            return Ok(Some(Self { listener, inspector: Some((token, traffic)) }));
        }
        if !config.server.transports.iter().any(|way| *way != Transport::Stdio) {
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
    fn announce(&self, config: &Config) -> io::Result<()> {
        if config.server.transports.is_empty() {
            // `docent inspect` has printed it already.
            return Ok(());
        }
        let (address, tls) = (self.listener.local_addr()?, config.server.tls.is_some());
        tracing::info!("listening on {}://{address}", if tls { "https" } else { "http" });
        if let Some((token, _)) = &self.inspector {
            inspect::announce(address, tls, token, config.server.logging.format);
        }
        Ok(())
    }
}

async fn bind(config: &Config) -> anyhow::Result<TcpListener> {
    let config::Server { host, port, .. } = &config.server;
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
fn anybody() -> Principal {
    let scopes = Arc::from(["*".to_owned()]);
    Principal { name: "anonymous".into(), scopes, kind: PrincipalKind::Anonymous, grant: None }
}

pub(crate) fn web(config: &Config, server: &Arc<Server>, providers: Vec<Arc<dyn Provider>>) -> Web {
    let speaks = |way| config.server.transports.contains(&way);
    let mut hosts = config.server.allowed_hosts.clone();
    hosts.push(config.server.host.clone());
    let measured = Arc::clone(server);
    let (policy, anybody) = (config.policy.tools.clone(), anybody());
    let shown = move || {
        let is_shown = |provider: &str, tool: &str| {
            policy.decide(&anybody, provider, Some(tool)).action != Action::Deny
        };
        let tools = providers.iter().flat_map(|provider| {
            let all = provider.tools().into_iter().map(|tool| tool.info());
            all.filter(|info| is_shown(provider.key(), &info.name)).collect::<Vec<_>>()
        });
        tools.map(|info| Shown { about: info.description(), name: info.name }).collect()
    };
    Web {
        door: Arc::clone(server) as _,
        spoken: Spoken {
            http: speaks(Transport::Http),
            sse: speaks(Transport::Sse),
            websocket: speaks(Transport::WebSocket),
        },
        name: NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        hosts,
        origins: if config.server.cors.enabled {
            config.server.cors.origins.clone()
        } else {
            Vec::new()
        },
        handshake: handshake(config),
        message_bytes: config.limits.message_bytes,
        bounds: Bounds {
            connections: config.limits.connections,
            connections_per_address: config.limits.connections_per_address,
            head: config.limits.head_timeout,
            body: config.limits.body_timeout,
            session: config.limits.session_idle,
            ..Bounds::default()
        },
        tally: Arc::default(),
        tls: None,
        oauth: Arc::default(),
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
    server: Arc<Server>,
    closing: CancellationToken,
    stopped: CancellationToken,
) {
    closing.cancelled().await;
    server.cancel_tasks();
    if tokio::time::timeout(HURRY_AFTER, server.drained()).await.is_err() {
        server.hurry();
        server.drained().await;
    }
    server.stop();
    stopped.cancel();
}
