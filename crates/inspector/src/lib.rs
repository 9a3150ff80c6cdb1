//! The inspector: a web page that shows the messages between agents, docent and other servers, and calls tools.
//!
//! This crate owns the page, its access checks and its API. It gets servers, configuration, doctor results and audit
//! entries from a [`InspectorBackend`], and messages from a [`Traffic`].
//!
//! # Design
//!
//! The page is a set of ES modules in `assets`, embedded as they are. `guard` admits loopback connections with a loopback name
//! as Host, the page's own Origin and the token of this launch, which is part of the address. The page speaks MCP itself
//! (`mcp.js`) over a socket to docent's own in-memory session or to a server that docent dials; everything else it requests
//! from `api`, which asks the backend. Everything that a server sends becomes text nodes (`dom.js`). Apps of servers run in
//! a frame with its own origin, without network, and communicate through `apps.js`.
//!
//! `docent inspect` serves the page alone, on a listener that is opened before the sandbox closes; `docent serve` serves it
//! beside its own routes if it listens on loopback.

mod api;
mod assets;
mod bridge;
mod guard;
mod token;

pub use token::InspectorToken;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Redirect, Response},
    routing::{any, get, post},
};
use docent_dial::{ClientTransport, Running, TransportListener};
use docent_traffic::Traffic;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

/// The path that serves the page.
pub const PATH: &str = "/inspector";

/// Content policy of the page: its own files only; images and sounds from servers are data URLs.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    media-src data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// Content policy of a server's app: inline scripts, an opaque origin, and no network.
const FRAME_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; font-src data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'self'";

/// A server that the page can connect to.
#[derive(Debug, Clone, Serialize)]
pub struct InspectorTarget {
    /// Its name.
    pub name: String,
    /// `self`, `server`, `url` or `command`.
    pub kind: &'static str,
    /// The complete command line, or the URL.
    pub way: String,
    /// Whether the user must confirm before it is started.
    pub asks: bool,
}

/// An open connection to a server, for the page.
pub struct TargetConnection {
    /// The connection.
    pub line: Arc<dyn ClientTransport>,
    /// The transport's name; `None` where docent's own transports record the messages.
    pub via: Option<&'static str>,
    /// Returns new lines of the program's standard error since the last call.
    pub stderr: Option<Box<dyn FnMut() -> Vec<String> + Send>>,
}

/// Audit entries and log lines of one call.
#[derive(Debug, Default, Serialize)]
pub struct Traces {
    /// Its audit entries.
    pub audit: Vec<Value>,
    /// Lines of docent's log during the call.
    pub logs: Vec<Value>,
}

/// The time span of a call, in microseconds since 1970, with its method and target.
#[derive(Debug)]
pub struct CallSpan {
    /// Start time.
    pub from: u64,
    /// End time.
    pub to: u64,
    /// The called method.
    pub method: String,
    /// The tool, prompt or resource URI.
    pub target: Option<String>,
}

/// What the inspector needs from docent. Errors are messages for the user.
pub trait InspectorBackend: Send + Sync + 'static {
    /// The servers that the page can choose from, the default first.
    fn targets(&self) -> Vec<InspectorTarget>;
    /// Whether the target is docent itself, with health, configuration and other clients' traffic.
    fn is_docent(&self) -> bool;
    /// Connects to a server.
    fn open<'a>(
        &'a self,
        target: &'a InspectorTarget,
        listener: Arc<dyn TransportListener>,
    ) -> Running<'a, Result<TargetConnection, String>>;
    /// Health of servers and tools.
    fn health(&self) -> Value;
    /// Every configuration value with its origin.
    fn config(&self) -> Result<Value, String>;
    /// The results of `docent doctor`. May take a while.
    fn doctor(&self) -> Value;
    /// Approves blocked definitions exactly as shown, by tool name; returns the names.
    fn approve(
        &self,
        server: &str,
        seen: &BTreeMap<String, Map<String, Value>>,
    ) -> Result<Vec<String>, String>;
    /// Rejects blocked definitions; returns the tool names.
    fn refuse(&self, server: &str, tools: &[String]) -> Result<Vec<String>, String>;
    /// Audit entries and log lines recorded during the span.
    fn traces(&self, span: &CallSpan) -> Traces;
}

/// State shared by all routes.
struct InspectorState {
    token: InspectorToken,
    backend: Arc<dyn InspectorBackend>,
    traffic: Arc<Traffic>,
}

type State = axum::extract::State<Arc<InspectorState>>;

/// The inspector's routes, to be served next to docent's own.
pub fn router(
    token: InspectorToken,
    desk: Arc<dyn InspectorBackend>,
    traffic: Arc<Traffic>,
) -> Router {
    let inside = Arc::new(InspectorState { token, backend: desk, traffic });
    let below = Router::new()
        .route("/", get(index))
        .route("/frame", get(frame))
        .route("/line", any(bridge::upgrade))
        .route("/api/about", get(api::about))
        .route("/api/traffic", get(api::traffic))
        .route("/api/message", get(api::message))
        .route("/api/call", get(api::call))
        .route("/api/capture", post(api::capture))
        .route("/api/health", get(api::health))
        .route("/api/config", get(api::config))
        .route("/api/doctor", get(api::doctor))
        .route("/api/approve", post(api::approve))
        .route("/api/refuse", post(api::refuse))
        .route("/{*file}", get(file));
    Router::new()
        .route(PATH, get(missing_token))
        .route(&format!("{PATH}/"), get(missing_token))
        .route(&format!("{PATH}/{{token}}"), get(slash))
        .nest(&format!("{PATH}/{{token}}/"), below)
        .layer(DefaultBodyLimit::max(guard::MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&inside), guard::check))
        .with_state(inside)
}

/// Rejects a request without a token. The guard rejects it first; this is a second line of defense.
async fn missing_token() -> Response {
    guard::no_token()
}

/// Relative URLs need the slash.
async fn slash(request: Request) -> Response {
    Redirect::permanent(&format!("{}/", request.uri().path())).into_response()
}

async fn index(headers: HeaderMap) -> Response {
    serve_asset("index.html", CONTENT_POLICY, &headers)
}

async fn frame(headers: HeaderMap) -> Response {
    serve_asset("frame.html", FRAME_POLICY, &headers)
}

async fn file(Path((_, file)): Path<(String, String)>, headers: HeaderMap) -> Response {
    serve_asset(&file, CONTENT_POLICY, &headers)
}

fn serve_asset(name: &str, policy: &'static str, asked: &HeaderMap) -> Response {
    let Some(asset) = assets::find(name) else {
        return (StatusCode::NOT_FOUND, "no such file\n").into_response();
    };
    let accepted = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let packs = accepted.is_some_and(|ways| ways.contains("gzip"));
    let body = if packs { asset.gzipped() } else { asset.bytes };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.mime));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if packs {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}
