//! All HTTP on one listener: Streamable HTTP, plain POST, the older SSE pair, WebSocket, and web pages.

mod authority;
mod body;
mod bounds;
mod connection;
mod events;
mod guard;
mod line;
mod listen;
mod mcp;
mod oauth;
mod opening;
mod page;
mod places;
mod plain;
mod recorded;
mod session;
mod sessions;
mod sse;
mod stateless;
mod ws;

pub use authority::{Authority, WebOrigin};
pub use bounds::{Bounds, Tally};
pub use oauth::{OauthDoor, OauthError, OauthInForce};

use crate::{Caller, Door, tls::Tls};
use axum::{
    Router, middleware,
    routing::{any, get, post},
};
use docent_traffic::{Tap, Traffic};
use docent_wire::Handshake;
use places::Places;
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use sessions::Sessions;
use std::{
    io,
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long open connections may take to end once the server closes.
const LAST_ORDERS: Duration = Duration::from_secs(5);

/// Minimum and maximum interval between checks for idle sessions.
const BETWEEN_LOOKS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_mins(1));

/// The protocols that the listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoken {
    /// Streamable HTTP and plain POST on `/mcp`, and on `/` and `/rpc` as well.
    pub http: bool,
    /// `GET /sse` and `POST /message`.
    pub sse: bool,
    /// WebSocket on `/` and `/ws`.
    pub websocket: bool,
}

/// Additional routes of another module.
#[derive(Clone)]
pub struct Pages {
    /// The path prefix of all routes.
    pub below: &'static str,
    /// The routes.
    pub routes: Router,
}

impl Pages {
    fn serve(&self, path: &str) -> bool {
        path.strip_prefix(self.below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A tool as shown on the landing page.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its name.
    pub name: String,
    /// Its description.
    pub about: String,
}

/// Settings of [`serve`].
#[derive(Clone)]
pub struct Web {
    /// Access control.
    pub door: Arc<dyn Door>,
    /// Protocols to serve.
    pub spoken: Spoken,
    /// The server's name, for the health document and the landing page.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Host names that a request may use, beside loopback names and addresses.
    pub hosts: Vec<String>,
    /// Allowed origins of web pages; `*` allows any.
    pub origins: Vec<String>,
    /// Whether a WebSocket or SSE peer of a session-based revision must open with `initialize`.
    pub handshake: Handshake,
    /// Maximum bytes of a message.
    pub message_bytes: usize,
    /// Limits per connection.
    pub bounds: Bounds,
    /// Counts the connections that exceeded them.
    pub tally: Arc<Tally>,
    /// Certificates; without them connections are not encrypted.
    pub tls: Option<Arc<Tls>>,
    /// Where clients without a token can get one.
    pub oauth: OauthInForce,
    /// Additional routes, which do their own access control. Host and Origin are checked before.
    pub pages: Option<Pages>,
    /// The traffic recording.
    pub traffic: Option<Arc<Traffic>>,
    /// Prometheus text. The connection counters are appended to it.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// The tools visible to everyone.
    pub tools: Arc<dyn Fn() -> Vec<Shown> + Send + Sync>,
    /// Ends the server: no new requests, open ones are answered.
    pub closing: CancellationToken,
    /// Ends sessions and their streams, which would otherwise stay open. To be cancelled once every call is answered.
    pub stopped: CancellationToken,
}

impl Web {
    /// The current OAuth metadata for clients without a token.
    fn oauth_door(&self) -> Option<Arc<OauthDoor>> {
        self.oauth.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Creates a handler for each connection.
pub type Make<H> = Arc<dyn Fn() -> H + Send + Sync>;

/// State shared by all routes.
struct Shared<H: ServerHandler> {
    web: Web,
    make: Make<H>,
    sessions: Arc<Sessions>,
    streamable: StreamableHttpService<H, Sessions>,
    streams: sse::Streams,
    /// Connections upgraded to WebSocket.
    sockets: TaskTracker,
    /// Slots for sockets and posts that have yet to present a token.
    locked: Arc<Places>,
    /// Requests whose response is not complete yet.
    posts: TaskTracker,
}

impl<H: ServerHandler> Shared<H> {
    /// Starts recording a connection, if recording is configured.
    fn tap(&self, caller: &Caller) -> Option<Tap> {
        self.web.traffic.as_ref().map(|traffic| caller.tap(traffic))
    }
}

type State<H> = axum::extract::State<Arc<Shared<H>>>;

/// Serves a listener until `closing` is cancelled, and then for as long as open requests take, within limits.
pub async fn serve<H: ServerHandler>(
    listener: TcpListener,
    make: Make<H>,
    web: Web,
) -> io::Result<()> {
    let closing = web.closing.clone();
    let sockets = TaskTracker::new();
    let sessions = Arc::new(Sessions::default());
    let tidying = end_unused(Arc::clone(&sessions), web.bounds.session, Arc::clone(&web.tally));
    let front = listen::Front {
        bounds: web.bounds,
        tls: web.tls.clone(),
        tally: Arc::clone(&web.tally),
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
        () = async { closing.cancelled().await; tokio::time::sleep(LAST_ORDERS).await } => {}
    }
    Ok(())
}

/// Ends idle sessions periodically.
async fn end_unused(sessions: Arc<Sessions>, idle: Duration, tally: Arc<Tally>) {
    let (often, seldom) = BETWEEN_LOOKS;
    let pause = (idle / 8).clamp(often, seldom);
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
    make: Make<H>,
    web: Web,
    sockets: TaskTracker,
    sessions: Arc<Sessions>,
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
    let Spoken { http, sse, websocket } = web.spoken;
    let shared = Arc::new(Shared {
        web,
        make,
        sessions,
        streamable,
        streams: sse::Streams::default(),
        sockets,
        locked: Arc::new(Places::new(ws::LOCKED)),
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
    let mut router = router.fallback(page::nowhere).with_state(Arc::clone(&shared));
    if let Some(pages) = pages {
        router = router.merge(pages);
    }
    router.layer(middleware::from_fn_with_state(shared, guard::check::<H>))
}
