//! The inspector: a page that shows what agents, docent and other servers say to each other, and calls tools.
//!
//! This crate owns the page, its guard and its API. What only docent knows (servers, configuration, doctor, audit) it
//! asks of a [`InspectorBackend`]; what goes over the wire it reads from a [`Traffic`].

mod api;
mod assets;
mod guard;
mod bridge;
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
use docent_dial::{ClientTransport, TransportListener, Running};
use docent_traffic::Traffic;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

/// Where the page is served.
pub const PATH: &str = "/inspector";

/// Nothing but the page's own files; images and sounds that servers send come as data.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    media-src data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// An app of a server's runs its own script, of no origin, and reaches nobody.
const FRAME_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; font-src data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'self'";

/// A server that the page can speak to.
#[derive(Debug, Clone, Serialize)]
pub struct InspectorTarget {
    /// Its name.
    pub name: String,
    /// `self`, `server`, `url` or `command`.
    pub kind: &'static str,
    /// The whole command line, or the address.
    pub way: String,
    /// Whether a person must agree before it is started.
    pub asks: bool,
}

/// A way to a server, opened for the page.
pub struct TargetConnection {
    /// The way.
    pub line: Arc<dyn ClientTransport>,
    /// How messages travel on it; `None` where docent's own transports record them.
    pub via: Option<&'static str>,
    /// Lines of the program's standard error since the last time that it was asked.
    pub stderr: Option<Box<dyn FnMut() -> Vec<String> + Send>>,
}

/// Records about one call.
#[derive(Debug, Default, Serialize)]
pub struct Traces {
    /// Its lines of the audit log.
    pub audit: Vec<Value>,
    /// Lines of docent's log meanwhile.
    pub logs: Vec<Value>,
}

/// A stretch of time, in microseconds since 1970, and the tool, prompt or address that a call was about.
#[derive(Debug)]
pub struct CallSpan {
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub to: u64,
    /// The method that was called.
    pub method: String,
    /// What it was about.
    pub target: Option<String>,
}

/// What the inspector asks docent. An error is a sentence for a person.
pub trait InspectorBackend: Send + Sync + 'static {
    /// The servers that the page can choose from, the one to begin with first.
    fn targets(&self) -> Vec<InspectorTarget>;
    /// Whether docent's own server is inside, and with it health, configuration and the traffic of others.
    fn is_docent(&self) -> bool;
    /// Opens the way to a server.
    fn open<'a>(
        &'a self,
        target: &'a InspectorTarget,
        listener: Arc<dyn TransportListener>,
    ) -> Running<'a, Result<TargetConnection, String>>;
    /// How servers and tools do.
    fn health(&self) -> Value;
    /// Every value of the configuration with its origin.
    fn config(&self) -> Result<Value, String>;
    /// What `docent doctor` says. May take a while.
    fn doctor(&self) -> Value;
    /// Approves definitions that are held back, by their tools, just as they were shown; gives their names.
    fn approve(
        &self,
        server: &str,
        seen: &BTreeMap<String, Map<String, Value>>,
    ) -> Result<Vec<String>, String>;
    /// Refuses them; gives their names.
    fn refuse(&self, server: &str, tools: &[String]) -> Result<Vec<String>, String>;
    /// What was recorded meanwhile.
    fn traces(&self, span: &CallSpan) -> Traces;
}

/// What every route shares.
struct InspectorState {
    token: InspectorToken,
    backend: Arc<dyn InspectorBackend>,
    traffic: Arc<Traffic>,
}

type State = axum::extract::State<Arc<InspectorState>>;

/// The routes of the inspector, to be served beside docent's own.
pub fn router(token: InspectorToken, desk: Arc<dyn InspectorBackend>, traffic: Arc<Traffic>) -> Router {
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

/// Without a token there is nothing to see. The guard answers first; this is for whoever passes it by mistake.
async fn missing_token() -> Response {
    guard::no_token()
}

/// Relative addresses need the slash.
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
        return (StatusCode::NOT_FOUND, "the inspector has no such file\n").into_response();
    };
    let accepted = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let packs = accepted.is_some_and(|ways| ways.contains("gzip"));
    let body = if packs { asset.packed() } else { asset.bytes };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.mime));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if packs {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}
