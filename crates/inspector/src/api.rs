//! What the page asks for, as JSON.

use crate::{CallSpan, State};
use axum::{
    body::Bytes,
    extract::Query,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use docent_traffic::{Capture, TrafficEntry};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::task::spawn_blocking;

/// Maximum entries of one response.
const MAX_ENTRIES_PER_RESPONSE: usize = 2000;
/// How long a request waits for new entries.
const LONG_POLL_TIMEOUT: Duration = Duration::from_secs(20);
/// Log lines and audit entries may be slightly older or newer than their messages.
const CLOCK_SLACK_MICROS: u64 = 50_000;

pub(crate) async fn about(state: State) -> Response {
    let targets = state.backend.targets();
    let first = targets.first().map(|target| target.name.clone());
    answer(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "target": first,
        "targets": targets,
        "docent": state.backend.is_docent(),
        "capture": state.traffic.capture(),
    }))
}

#[derive(Deserialize)]
pub(crate) struct TrafficQuery {
    #[serde(default)]
    after: u64,
    wait: Option<String>,
}

pub(crate) async fn traffic(state: State, Query(since): Query<TrafficQuery>) -> Response {
    if since.wait.is_some() {
        // A timeout is fine: the response is then empty.
        drop(tokio::time::timeout(LONG_POLL_TIMEOUT, state.traffic.changed(since.after)).await);
    }
    let page = state.traffic.read(since.after, MAX_ENTRIES_PER_RESPONSE);
    answer(&json!({
        "entries": page.entries.iter().map(|entry| &**entry).collect::<Vec<_>>(),
        "first": page.first,
        "next": page.next,
        "capture": state.traffic.capture(),
    }))
}

#[derive(Deserialize)]
pub(crate) struct MessageQuery {
    seq: u64,
}

pub(crate) async fn message(state: State, Query(which): Query<MessageQuery>) -> Response {
    match state.traffic.entry(which.seq) {
        Some(entry) => answer(&entry.with_payload()),
        None => entry_evicted(),
    }
}

fn entry_evicted() -> Response {
    refused(StatusCode::NOT_FOUND, "this message is no longer stored: newer ones have replaced it")
}

pub(crate) async fn call(state: State, Query(which): Query<MessageQuery>) -> Response {
    let entries = state.traffic.call(which.seq);
    let Some(first) = entries.first() else { return entry_evicted() };
    let span = span(first, &entries);
    let desk = Arc::clone(&state.backend);
    let traces = spawn_blocking(move || desk.traces(&span)).await.unwrap_or_default();
    answer(&json!({
        "entries": entries.iter().map(|entry| &**entry).collect::<Vec<_>>(),
        "audit": traces.audit,
        "logs": traces.logs,
    }))
}

fn span(first: &TrafficEntry, all: &[Arc<TrafficEntry>]) -> CallSpan {
    let last = all.iter().map(|entry| entry.at).max().unwrap_or(first.at);
    CallSpan {
        from: first.at.saturating_sub(CLOCK_SLACK_MICROS),
        to: last.saturating_add(CLOCK_SLACK_MICROS),
        method: first.method.as_deref().unwrap_or_default().to_owned(),
        target: first.target.as_deref().map(str::to_owned),
    }
}

pub(crate) async fn capture(state: State, body: Bytes) -> Response {
    match read::<Capture>(&body) {
        Ok(capture) => {
            state.traffic.set(capture);
            answer(&capture)
        }
        Err(why) => refused(StatusCode::BAD_REQUEST, &why),
    }
}

pub(crate) async fn health(state: State) -> Response {
    if !state.backend.is_docent() {
        return not_inside();
    }
    answer(&state.backend.health())
}

pub(crate) async fn config(state: State) -> Response {
    if !state.backend.is_docent() {
        return not_inside();
    }
    let desk = Arc::clone(&state.backend);
    match spawn_blocking(move || desk.config()).await {
        Ok(Ok(config)) => answer(&config),
        Ok(Err(why)) => refused(StatusCode::CONFLICT, &why),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

pub(crate) async fn doctor(state: State) -> Response {
    if !state.backend.is_docent() {
        return not_inside();
    }
    let desk = Arc::clone(&state.backend);
    match spawn_blocking(move || desk.doctor()).await {
        Ok(report) => answer(&report),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn not_inside() -> Response {
    refused(
        StatusCode::NOT_FOUND,
        "this target is not docent itself: start `docent inspect` without a server",
    )
}

/// Definitions as the page has shown them, by tool; the blocked definition may have changed since.
#[derive(Deserialize)]
struct ShownDefinitions {
    server: String,
    tools: BTreeMap<String, Map<String, Value>>,
}

#[derive(Deserialize)]
struct HeldTools {
    server: String,
    tools: Vec<String>,
}

pub(crate) async fn approve(state: State, body: Bytes) -> Response {
    match read::<ShownDefinitions>(&body) {
        Ok(seen) if seen.tools.is_empty() => no_tools_named(),
        Ok(seen) => decision_response(state.backend.approve(&seen.server, &seen.tools)),
        Err(why) => refused(StatusCode::BAD_REQUEST, &why),
    }
}

pub(crate) async fn refuse(state: State, body: Bytes) -> Response {
    match read::<HeldTools>(&body) {
        Ok(held) if held.tools.is_empty() => no_tools_named(),
        Ok(held) => decision_response(state.backend.refuse(&held.server, &held.tools)),
        Err(why) => refused(StatusCode::BAD_REQUEST, &why),
    }
}

/// Rejects a request without tool names, which would otherwise apply to definitions that no one has reviewed.
fn no_tools_named() -> Response {
    refused(StatusCode::BAD_REQUEST, "no tools given: name at least one")
}

fn decision_response(decided: Result<Vec<String>, String>) -> Response {
    match decided {
        Ok(tools) => answer(&json!({"tools": tools})),
        Err(why) => refused(StatusCode::CONFLICT, &why),
    }
}

fn read<T: for<'a> Deserialize<'a>>(body: &Bytes) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| format!("invalid request body: {error}"))
}

fn refused(status: StatusCode, why: &str) -> Response {
    let mut response = answer(&json!({"error": why}));
    *response.status_mut() = status;
    response
}

fn answer(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            let json = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, json)], bytes).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
