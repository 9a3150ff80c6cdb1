//! The older pair: a stream of events, and posts that belong to it.

use super::{
    Shared, State,
    body::{read_json, refused},
    mcp::full,
};
use crate::{
    Origin, Principal, Seat,
    link::{Link, Opening},
};
use axum::{
    body::Body,
    extract::{Extension, Query},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use docent_wire::{Refusal, code};
use futures::stream;
use rmcp::{ServerHandler, service::serve_directly};
use serde::Deserialize;
use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

/// A comment this often keeps proxies from closing an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const IN: usize = 16;
const OUT: usize = 64;

struct Open {
    principal: Principal,
    posts: mpsc::Sender<Bytes>,
}

/// Open streams by id.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<HashMap<Uuid, Open>>>);

impl Streams {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Uuid, Open>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The stream with this id; without an id, the only one that the principal has.
    fn find(&self, id: Option<&str>, principal: &Principal) -> Option<mpsc::Sender<Bytes>> {
        self.with(|open| {
            let mut own = open.iter().filter(|(_, stream)| stream.principal == *principal);
            let found = match id {
                Some(id) => own.find(|(known, _)| known.to_string() == id),
                None => own.next().filter(|_| own.next().is_none()),
            };
            found.map(|(_, stream)| stream.posts.clone())
        })
    }
}

/// Everything that ends with the stream.
struct Stream {
    frames: mpsc::Receiver<Vec<u8>>,
    greeting: Option<Bytes>,
    streams: Streams,
    id: Uuid,
    _closes: DropGuard,
    _seats: (Seat, Seat),
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.streams.with(|open| open.remove(&self.id));
    }
}

impl Stream {
    async fn event(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        match timeout(KEEP_ALIVE, self.frames.recv()).await {
            Err(_) => Some(Bytes::from_static(b": keep-alive\n\n")),
            Ok(None) => None,
            Ok(Some(frame)) => {
                tracing::debug!(target: "mcp::protocol", "[MCP ←] {}", String::from_utf8_lossy(&frame));
                let mut event = Vec::with_capacity(frame.len() + 24);
                event.extend_from_slice(b"event: message\ndata: ");
                event.extend_from_slice(&frame);
                event.extend_from_slice(b"\n\n");
                Some(event.into())
            }
        }
    }
}

/// `GET /sse`.
pub(super) async fn open<H: ServerHandler>(
    shared: State<H>,
    Extension(origin): Extension<Origin>,
) -> Response {
    let door = &shared.web.door;
    let (Some(session), Some(stream)) = (door.open_session(), door.open_stream()) else {
        return full("streams");
    };
    let id = Uuid::new_v4();
    let (posts, posted) = mpsc::channel(IN);
    let (out, frames) = mpsc::channel(OUT);
    let closing = shared.web.closing.child_token();
    let principal = origin.caller.principal.clone();
    shared.streams.with(|open| open.insert(id, Open { principal, posts }));
    let stream = Stream {
        frames,
        greeting: Some(format!("event: endpoint\ndata: /message?sessionId={id}\n\n").into()),
        streams: shared.streams.clone(),
        id,
        _closes: closing.clone().drop_guard(),
        _seats: (session, stream),
    };
    tokio::spawn(run(Arc::clone(&shared), origin, posted, out, closing));
    let events = stream::unfold(stream, |mut stream| async move {
        let event = stream.event().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(events)).into_response()
}

async fn run<H: ServerHandler>(
    shared: Arc<Shared<H>>,
    origin: Origin,
    posted: mpsc::Receiver<Bytes>,
    out: mpsc::Sender<Vec<u8>>,
    closing: CancellationToken,
) {
    let opening = Opening {
        caller: origin.caller,
        locked: false,
        handshake: shared.web.handshake,
        message_bytes: shared.web.message_bytes,
        // Each post was counted at the door.
        counted: true,
        door: Arc::clone(&shared.web.door),
        closing,
    };
    let running = serve_directly((shared.make)(), Link::new(posted, out, opening), None);
    if let Err(error) = running.waiting().await {
        tracing::warn!(%error, "an SSE connection ended badly");
    }
}

#[derive(Deserialize)]
pub(super) struct Which {
    #[serde(rename = "sessionId", alias = "session_id")]
    session_id: Option<String>,
}

/// `POST /message`.
pub(super) async fn message<H: ServerHandler>(
    shared: State<H>,
    Extension(origin): Extension<Origin>,
    Query(which): Query<Which>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let missing = || {
        let told = "Session not found: open GET /sse first and post to the endpoint that it names";
        refused(StatusCode::NOT_FOUND, &Refusal::new(None, code::INVALID_REQUEST, told))
    };
    let id = which.session_id.as_deref();
    let Some(posts) = shared.streams.find(id, &origin.caller.principal) else { return missing() };
    match read_json(&headers, body, shared.web.message_bytes).await {
        Err(response) => response,
        Ok(bytes) => match posts.send(bytes).await {
            Ok(()) => (StatusCode::ACCEPTED, "Accepted").into_response(),
            Err(_) => missing(),
        },
    }
}
