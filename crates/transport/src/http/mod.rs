//! All HTTP on one listener: Streamable HTTP, plain POST, the older SSE pair, WebSocket, and web pages.

mod authority;
mod body;
mod bounds;
mod connection;
mod connection_slots;
mod events;
mod guard;
mod listen;
mod mcp;
mod oauth;
mod opening;
mod page;
mod plain;
mod recording;
mod session;
mod session_channel;
mod sessions;
mod sse;
mod stateless;
mod ws;

pub use authority::{HostAuthority, WebOrigin};
pub use bounds::{ConnectionStats, HttpLimits};
pub use oauth::{LiveProtectedResource, ProtectedResource, ProtectedResourceError};

use crate::{AccessControl, Caller, tls::TlsSettings};
use axum::{
    Router, middleware,
    routing::{any, get, post},
};
use connection_slots::ConnectionSlots;
use docent_traffic::{Tap, Traffic};
use docent_wire::HandshakePolicy;
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

/// Minimum interval between checks for idle sessions.
const MIN_IDLE_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum interval between checks for idle sessions.
const MAX_IDLE_CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// The protocols that the listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnabledProtocols {
    /// Streamable HTTP and plain POST on `/mcp`, and on `/` and `/rpc` as well.
    pub http: bool,
    /// `GET /sse` and `POST /message`.
    pub sse: bool,
    /// WebSocket on `/` and `/ws`.
    pub websocket: bool,
}

/// Additional routes of another module.
#[derive(Clone)]
pub struct ExtraRoutes {
    /// The path prefix of all routes.
    pub below: &'static str,
    /// The routes.
    pub routes: Router,
}

impl ExtraRoutes {
    fn serve(&self, path: &str) -> bool {
        path.strip_prefix(self.below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A tool as shown on the landing page.
#[derive(Debug, Clone)]
pub struct ToolSummary {
    /// Its name.
    pub name: String,
    /// Its description.
    pub about: String,
}

/// Settings of [`serve`].
#[derive(Clone)]
pub struct HttpServerSetup {
    /// Access control.
    pub access: Arc<dyn AccessControl>,
    /// Protocols to serve.
    pub enabled: EnabledProtocols,
    /// The server's name, for the health document and the landing page.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Host names that a request may use, beside loopback names and addresses.
    pub hosts: Vec<String>,
    /// Allowed origins of web pages; `*` allows any.
    pub origins: Vec<String>,
    /// Whether a WebSocket or SSE peer of a session-based revision must open with `initialize`.
    pub handshake: HandshakePolicy,
    /// Maximum bytes of a message.
    pub message_bytes: usize,
    /// Limits per connection.
    pub limits: HttpLimits,
    /// Counts the connections that exceeded them.
    pub stats: Arc<ConnectionStats>,
    /// Certificates; without them connections are not encrypted.
    pub tls: Option<Arc<TlsSettings>>,
    /// Where clients without a token can get one.
    pub protected: LiveProtectedResource,
    /// Additional routes, which do their own access control. Host and Origin are checked before.
    pub pages: Option<ExtraRoutes>,
    /// The traffic recording.
    pub traffic: Option<Arc<Traffic>>,
    /// Prometheus text. The connection counters are appended to it.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// The tools visible to everyone.
    pub tools: Arc<dyn Fn() -> Vec<ToolSummary> + Send + Sync>,
    /// Ends the server: no new requests, open ones are answered.
    pub closing: CancellationToken,
    /// Ends sessions and their streams, which would otherwise stay open. To be cancelled once every call is answered.
    pub stopped: CancellationToken,
}

impl HttpServerSetup {
    /// The current OAuth metadata for clients without a token.
    fn protected_resource(&self) -> Option<Arc<ProtectedResource>> {
        self.protected.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Creates a handler for each connection.
pub type HandlerFactory<H> = Arc<dyn Fn() -> H + Send + Sync>;

/// State shared by all routes.
struct RouterState<H: ServerHandler> {
    web: HttpServerSetup,
    make: HandlerFactory<H>,
    sessions: Arc<SessionStore>,
    streamable: StreamableHttpService<H, SessionStore>,
    streams: sse::SseStreams,
    /// Connections upgraded to WebSocket.
    sockets: TaskTracker,
    /// Slots for sockets and posts that have yet to present a token.
    locked: Arc<ConnectionSlots>,
    /// Requests whose response is not complete yet.
    posts: TaskTracker,
}

impl<H: ServerHandler> RouterState<H> {
    /// Starts recording a connection, if recording is configured.
    fn tap(&self, caller: &Caller) -> Option<Tap> {
        self.web.traffic.as_ref().map(|traffic| caller.tap(traffic))
    }
}

type State<H> = axum::extract::State<Arc<RouterState<H>>>;

/// Serves a listener until `closing` is cancelled, and then for as long as open requests take, within limits.
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

/// Ends idle sessions periodically.
async fn end_unused(sessions: Arc<SessionStore>, idle: Duration, tally: Arc<ConnectionStats>) {
    let pause = (idle / 8).clamp(MIN_IDLE_CHECK_INTERVAL, MAX_IDLE_CHECK_INTERVAL);
    loop {
        tokio::time::sleep(pause).await;
        tally.count_ended_sessions(sessions.end_unused(idle));
    }
}

/// Cancelled once nothing runs any more and every response is complete. Streams that wait for one would end without it.
fn finish_when_answered(stopped: CancellationToken, posts: TaskTracker) -> CancellationToken {
    let finished = CancellationToken::new();
    let signal = finished.clone();
    tokio::spawn(async move {
        stopped.cancelled().await;
        posts.close();
        posts.wait().await;
        signal.cancel();
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
        // The guard checks Host and Origin, equally on every route.
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
        locked: Arc::new(ConnectionSlots::new(
            ws::MAX_LOCKED_SOCKETS,
            ws::MAX_LOCKED_SOCKETS_PER_ADDRESS,
        )),
        posts,
    });
    let mut router = Router::new()
        .route("/healthz", get(page::healthz))
        .route("/readyz", get(page::readyz::<H>))
        .route("/metrics", get(page::metrics::<H>))
        // Returns 404 while no authorization server is known.
        .route(oauth::WELL_KNOWN, get(oauth::metadata::<H>))
        .route(oauth::WELL_KNOWN_UNDER, get(oauth::metadata::<H>));
    router = if http {
        router
            .route("/mcp", any(mcp::handle::<H>))
            .route("/", get(page::root::<H>).post(mcp::handle::<H>))
            // For clients that know JSON-RPC but no MCP revision.
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
    let mut router = router.fallback(page::not_found).with_state(Arc::clone(&shared));
    if let Some(pages) = pages {
        router = router.merge(pages);
    }
    router.layer(middleware::from_fn_with_state(shared, guard::check::<H>))
}
