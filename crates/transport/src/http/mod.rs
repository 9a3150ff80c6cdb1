//! Everything on one listener: Streamable HTTP, plain POST, the older SSE pair, WebSocket, and pages for people.

mod authority;
mod body;
mod bounds;
mod connection;
mod events;
mod guard;
mod session_channel;
mod listen;
mod mcp;
mod oauth;
mod opening;
mod page;
mod connection_slots;
mod plain;
mod recording;
mod session;
mod sessions;
mod sse;
mod stateless;
mod ws;

pub use authority::{HostAuthority, WebOrigin};
pub use bounds::{HttpLimits, ConnectionStats};
pub use oauth::{ProtectedResource, ProtectedResourceError, LiveProtectedResource};

use crate::{Caller, AccessControl, tls::TlsSettings};
use axum::{
    Router, middleware,
    routing::{any, get, post},
};
use docent_traffic::{Tap, Traffic};
use docent_wire::HandshakePolicy;
use connection_slots::ConnectionSlots;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use sessions::SessionStore;
use std::{
    io,
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long open connections may take to end once the server closes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How often unused sessions are looked for, at most and at least.
const IDLE_CHECK_INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_mins(1));

/// Which protocols the listener speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnabledProtocols {
    /// Streamable HTTP and plain POST on `/mcp`, and on `/` and `/rpc` as well.
    pub http: bool,
    /// `GET /sse` and `POST /message`.
    pub sse: bool,
    /// WebSocket on `/` and `/ws`.
    pub websocket: bool,
}

/// Routes of somebody else's.
#[derive(Clone)]
pub struct ExtraRoutes {
    /// The path that all of them are below.
    pub below: &'static str,
    /// The routes.
    pub routes: Router,
}

impl ExtraRoutes {
    fn serve(&self, path: &str) -> bool {
        path.strip_prefix(self.below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A tool as the page for people shows it.
#[derive(Debug, Clone)]
pub struct ToolSummary {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
}

/// What [`serve`] needs to know.
#[derive(Clone)]
pub struct HttpServerSetup {
    /// Guards the server.
    pub access: Arc<dyn AccessControl>,
    /// Which protocols to speak.
    pub enabled: EnabledProtocols,
    /// The server's name, for the health document and the page.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Host names beside the loopback ones and addresses that a request may name.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call; `*` is any.
    pub origins: Vec<String>,
    /// Whether a session-era WebSocket or SSE peer must open with `initialize`.
    pub handshake: HandshakePolicy,
    /// Longest message.
    pub message_bytes: usize,
    /// What a connection may take.
    pub limits: HttpLimits,
    /// Counts the connections that took more.
    pub stats: Arc<ConnectionStats>,
    /// Certificates; without them connections are in the clear.
    pub tls: Option<Arc<TlsSettings>>,
    /// Where tokens come from, for clients that have none.
    pub protected: LiveProtectedResource,
    /// Further routes, which guard themselves. Host and Origin are checked before.
    pub pages: Option<ExtraRoutes>,
    /// Where messages are recorded.
    pub traffic: Option<Arc<Traffic>>,
    /// Prometheus text. The tally's is added to it.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// The tools that anyone may see.
    pub tools: Arc<dyn Fn() -> Vec<ToolSummary> + Send + Sync>,
    /// Ends the server: no new requests, open ones are answered.
    pub closing: CancellationToken,
    /// Ends sessions and their streams, which would stay open for ever. To be cancelled once every call is answered.
    pub stopped: CancellationToken,
}

impl HttpServerSetup {
    /// What clients without a token are told now.
    fn protected_resource(&self) -> Option<Arc<ProtectedResource>> {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Makes a handler for each connection.
pub type HandlerFactory<H> = Arc<dyn Fn() -> H + Send + Sync>;

/// What every route shares.
struct RouterState<H: ServerHandler> {
    web: HttpServerSetup,
    make: HandlerFactory<H>,
    sessions: Arc<SessionStore>,
    streamable: StreamableHttpService<H, SessionStore>,
    streams: sse::SseStreams,
    /// Connections that are no longer HTTP's.
    sockets: TaskTracker,
    /// For those of them, and for posts, that have yet to show a token.
    locked: Arc<ConnectionSlots>,
    /// Requests whose answer is not whole yet.
    posts: TaskTracker,
}

impl<H: ServerHandler> RouterState<H> {
    /// A connection of a caller's, where messages are recorded.
    fn tap(&self, caller: &Caller) -> Option<Tap> {
        self.web.traffic.as_ref().map(|traffic| caller.tap(traffic))
    }
}

type State<H> = axum::extract::State<Arc<RouterState<H>>>;

/// Serves a listener until `closing` is cancelled, and then for as long as open requests take, within bounds.
pub async fn serve<H: ServerHandler>(
    listener: TcpListener,
    make: HandlerFactory<H>,
    web: HttpServerSetup,
) -> io::Result<()> {
    let closing = web.closing.clone();
    let sockets = TaskTracker::new();
    let sessions = Arc::new(SessionStore::default());
    let tidying = end_unused(Arc::clone(&sessions), web.limits.session, Arc::clone(&web.stats));
    let front = listen::ListenerState {
        bounds: web.limits,
        tls: web.tls.clone(),
        tally: Arc::clone(&web.stats),
        closing: closing.clone(),
        router: router(make, web, sockets.clone(), sessions),
    };
    let serving = async {
        listen::serve(listener, front).await;
        sockets.close();
        sockets.wait().await;
    };
    tokio::select! {
        () = serving => {}
        () = tidying => {}
        () = async { closing.cancelled().await; tokio::time::sleep(SHUTDOWN_TIMEOUT).await } => {}
    }
    Ok(())
}

/// Ends sessions whose time is over, for ever.
async fn end_unused(sessions: Arc<SessionStore>, idle: Duration, tally: Arc<ConnectionStats>) {
    let (often, seldom) = IDLE_CHECK_INTERVALS;
    let pause = (idle / 8).clamp(often, seldom);
    loop {
        tokio::time::sleep(pause).await;
        tally.count_ended_sessions(sessions.end_unused(idle));
    }
}

/// Cancelled once nothing runs any more and every request has its whole answer. Streams that wait for one would end
/// without it.
fn finish_when_answered(stopped: CancellationToken, posts: TaskTracker) -> CancellationToken {
    let finished = CancellationToken::new();
    let told = finished.clone();
    tokio::spawn(async move {
        stopped.cancelled().await;
        posts.close();
        posts.wait().await;
        told.cancel();
    });
    finished
}

fn router<H: ServerHandler>(
    make: HandlerFactory<H>,
    web: HttpServerSetup,
    sockets: TaskTracker,
    sessions: Arc<SessionStore>,
) -> Router {
    let posts = TaskTracker::new();
    let factory = Arc::clone(&make);
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(finish_when_answered(web.stopped.clone(), posts.clone()))
        .with_max_request_body_bytes(web.message_bytes)
        // Host and Origin are checked by the guard, on every route alike.
        .disable_allowed_hosts()
        .with_json_response(true);
    let streamable =
        StreamableHttpService::new(move || Ok(factory()), Arc::clone(&sessions), config);
    let EnabledProtocols { http, sse, websocket } = web.enabled;
    let shared = Arc::new(RouterState {
        web,
        make,
        sessions,
        streamable,
        streams: sse::SseStreams::default(),
        sockets,
        locked: Arc::new(ConnectionSlots::new(ws::MAX_LOCKED_TOTAL_AND_PER_ADDRESS)),
        posts,
    });
    let mut router = Router::new()
        .route("/healthz", get(page::healthz))
        .route("/readyz", get(page::readyz::<H>))
        .route("/metrics", get(page::metrics::<H>))
        // Nothing is there while no authorization server is known.
        .route(oauth::WELL_KNOWN, get(oauth::metadata::<H>))
        .route(oauth::WELL_KNOWN_UNDER, get(oauth::metadata::<H>));
    router = if http {
        router
            .route("/mcp", any(mcp::handle::<H>))
            .route("/", get(page::root::<H>).post(mcp::handle::<H>))
            // Where clients post that know JSON-RPC and no revision.
            .route("/rpc", post(mcp::handle::<H>))
    } else {
        router.route("/", get(page::root::<H>))
    };
    if sse {
        router =
            router.route("/sse", get(sse::open::<H>)).route("/message", post(sse::message::<H>));
    }
    if websocket {
        router = router.route("/ws", any(ws::upgrade::<H>));
    }
    let pages = shared.web.pages.as_ref().map(|pages| pages.routes.clone());
    let mut router = router.fallback(page::nowhere).with_state(Arc::clone(&shared));
    if let Some(pages) = pages {
        router = router.merge(pages);
    }
    router.layer(middleware::from_fn_with_state(shared, guard::check::<H>))
}
