//! The older SSE pair: a stream of events, and POST requests that belong to it.

use super::{
    Shared, State,
    body::{read_json, refused, try_later},
    events::{event, respond},
    listen::Peer,
    mcp::{overloaded, seat},
    oauth,
};
use crate::{
    Origin, Principal, PrincipalKind, Seat,
    lines::TooLong,
    link::{Frames, Link, Opening},
};
use axum::{
    body::Body,
    extract::{Extension, Query},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use docent_wire::{Envelope, Frame, Refusal, code, read};
use futures::stream;
use rmcp::{ServerHandler, service::serve_directly};
use serde::Deserialize;
use std::time::Duration;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::mpsc::{self, error::SendTimeoutError};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

/// How long a post waits for a stream that is not being read.
const PATIENCE: Duration = Duration::from_secs(5);
const IN: usize = 16;
const OUT: usize = 64;

struct Open {
    principal: Principal,
    posts: mpsc::Sender<Post>,
}

/// A message and its sender: its token may be narrower than that of the stream, or last longer.
struct Post {
    sender: Principal,
    bytes: Bytes,
}

struct Posts {
    posted: mpsc::Receiver<Post>,
    sender: Option<Principal>,
}

impl Frames for Posts {
    async fn next(&mut self) -> Option<Result<Bytes, TooLong>> {
        let Post { sender, bytes } = self.posted.recv().await?;
        self.sender = Some(sender);
        Some(Ok(bytes))
    }

    fn sender(&mut self) -> Option<Principal> {
        self.sender.take()
    }
}

/// Open streams by id.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<HashMap<Uuid, Open>>>);

impl Streams {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Uuid, Open>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The stream with this id; without an id, the only one that the principal has.
    fn find(&self, id: Option<&str>, principal: &Principal) -> Option<mpsc::Sender<Post>> {
        self.with(|open| {
            let is_own = |stream: &&Open| stream.principal.is_same(principal);
            let found = if let Some(id) = id {
                open.get(&id.parse().ok()?).filter(is_own)
            } else {
                let mut own = open.values().filter(is_own);
                own.next().filter(|_| own.next().is_none())
            };
            found.map(|stream| stream.posts.clone())
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
        let frame = self.frames.recv().await?;
        tracing::debug!(target: "mcp::protocol", "[MCP ←] {}", String::from_utf8_lossy(&frame));
        Some(event("message", &frame))
    }
}

/// `GET /sse`.
pub(super) async fn open<H: ServerHandler>(
    shared: State<H>,
    Extension(origin): Extension<Origin>,
) -> Response {
    let door = &shared.web.door;
    let session = seat(&shared, &origin.caller);
    let both = session.and_then(|session| Ok((session, door.open_stream(&origin.caller)?)));
    let seats = match both {
        Ok(seats) => seats,
        Err(overload) => return overloaded(&overload),
    };
    let id = Uuid::new_v4();
    let (posts, posted) = mpsc::channel(IN);
    let (out, frames) = mpsc::channel(OUT);
    let closing = shared.web.closing.child_token();
    let principal = origin.caller.principal.clone();
    shared.streams.with(|open| open.insert(id, Open { principal, posts }));
    let stream = Stream {
        frames,
        greeting: Some(event("endpoint", format!("/message?sessionId={id}").as_bytes())),
        streams: shared.streams.clone(),
        id,
        _closes: closing.clone().drop_guard(),
        _seats: seats,
    };
    tokio::spawn(run(Arc::clone(&shared), origin, posted, out, closing));
    respond(stream::unfold(stream, |mut stream| async move {
        let event = stream.event().await?;
        Some((event, stream))
    }))
}

async fn run<H: ServerHandler>(
    shared: Arc<Shared<H>>,
    origin: Origin,
    posted: mpsc::Receiver<Post>,
    out: mpsc::Sender<Vec<u8>>,
    closing: CancellationToken,
) {
    let opening = Opening {
        tap: shared.tap(&origin.caller),
        caller: origin.caller,
        locked: false,
        seating: None,
        handshake: shared.web.handshake,
        message_bytes: shared.web.message_bytes,
        // Each post was counted on arrival.
        counted: true,
        certificate: None,
        door: Arc::clone(&shared.web.door),
        closing,
    };
    let posts = Posts { posted, sender: None };
    let running = serve_directly((shared.make)(), Link::new(posts, out, opening), None);
    if let Err(error) = running.waiting().await {
        tracing::warn!(%error, "an SSE connection failed");
    }
}

#[derive(Deserialize)]
pub(super) struct Which {
    #[serde(rename = "sessionId", alias = "session_id")]
    session_id: Option<String>,
}

/// Whether a message cannot concern another caller. Anonymous callers share one principal, so an answer or a
/// cancellation without a session id may be about another caller's request.
fn may_name_no_stream(bytes: &[u8]) -> bool {
    match read(bytes) {
        Frame::One(Ok(envelope)) => asks(&envelope),
        Frame::Batch(members) => members.iter().flatten().all(asks),
        // Invalid messages get an error.
        Frame::One(Err(_)) | Frame::Empty => true,
    }
}

/// Whether a message is a request, or ends the handshake.
fn asks(envelope: &Envelope<'_>) -> bool {
    match envelope {
        Envelope::Request { .. } => true,
        Envelope::Notification { method, .. } => {
            matches!(&**method, "notifications/initialized" | "initialized")
        }
        Envelope::Response { .. } => false,
    }
}

/// `POST /message`.
pub(super) async fn message<H: ServerHandler>(
    shared: State<H>,
    Extension(origin): Extension<Origin>,
    Query(which): Query<Which>,
    parts: Parts,
    body: Body,
) -> Response {
    let missing = || {
        let message = "Session not found: open GET /sse first and post to the endpoint it returns";
        refused(StatusCode::NOT_FOUND, &Refusal::new(None, code::INVALID_REQUEST, message))
    };
    let id = which.session_id.as_deref();
    let Some(posts) = shared.streams.find(id, &origin.caller.principal) else { return missing() };
    let bytes =
        match read_json(&parts.headers, body, &shared.web, parts.extensions.get::<Peer>()).await {
            Ok(bytes) => bytes,
            Err(response) => return response,
        };
    if let Some(response) = oauth::lacking_in(&shared, &origin, &bytes) {
        return response;
    }
    let is_anonymous = origin.caller.principal.kind == PrincipalKind::Anonymous;
    if id.is_none() && is_anonymous && !may_name_no_stream(&bytes) {
        let message = "sessionId is required: post to the URL from the stream's endpoint event, /message?sessionId=…";
        return refused(StatusCode::BAD_REQUEST, &Refusal::new(None, code::INVALID_REQUEST, message));
    }
    let post = Post { sender: origin.caller.principal, bytes };
    match posts.send_timeout(post, PATIENCE).await {
        Ok(()) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Err(SendTimeoutError::Closed(_)) => missing(),
        Err(SendTimeoutError::Timeout(_)) => {
            let reason = "The client is not reading the stream: read its events, then post again";
            try_later(StatusCode::SERVICE_UNAVAILABLE, reason.to_owned(), PATIENCE)
        }
    }
}
