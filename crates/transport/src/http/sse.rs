//! The older SSE pair: a stream of events, and POST requests that belong to it.

use super::{
    RouterState, State,
    body::{error_response, read_json, retry_later_response},
    events::{event, respond},
    listen::ConnectionPeer,
    mcp::{no_capacity_response, take_slot},
    oauth,
};
use crate::{
    CallerContext, Principal, PrincipalKind, SlotGuard,
    frame_transport::{FrameTransport, Frames, LinkSetup},
    lines::FrameTooLong,
};
use axum::{
    body::Body,
    extract::{Extension, Query},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use docent_wire::{Envelope, MessageError, WireFrame, code, read};
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
const POST_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_QUEUED_POSTS: usize = 16;
const MAX_QUEUED_FRAMES: usize = 64;

struct OpenSseStream {
    principal: Principal,
    posts: mpsc::Sender<SsePost>,
}

/// A message and its sender: its token may be narrower than that of the stream, or last longer.
struct SsePost {
    sender: Principal,
    bytes: Bytes,
}

struct SsePosts {
    posted: mpsc::Receiver<SsePost>,
    sender: Option<Principal>,
}

impl Frames for SsePosts {
    async fn next(&mut self) -> Option<Result<Bytes, FrameTooLong>> {
        let SsePost { sender, bytes } = self.posted.recv().await?;
        self.sender = Some(sender);
        Some(Ok(bytes))
    }

    fn sender(&mut self) -> Option<Principal> {
        self.sender.take()
    }
}

/// Open streams by id.
#[derive(Clone, Default)]
pub(super) struct SseStreams(Arc<Mutex<HashMap<Uuid, OpenSseStream>>>);

impl SseStreams {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Uuid, OpenSseStream>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The stream with this id; without an id, the only one that the principal has.
    fn find(&self, id: Option<&str>, principal: &Principal) -> Option<mpsc::Sender<SsePost>> {
        self.with(|open| {
            let is_own = |stream: &&OpenSseStream| stream.principal.is_same(principal);
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
struct SseResponseStream {
    frames: mpsc::Receiver<Vec<u8>>,
    greeting: Option<Bytes>,
    streams: SseStreams,
    id: Uuid,
    _closes: DropGuard,
    _seats: (SlotGuard, SlotGuard),
}

impl Drop for SseResponseStream {
    fn drop(&mut self) {
        self.streams.with(|open| open.remove(&self.id));
    }
}

impl SseResponseStream {
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
    Extension(origin): Extension<CallerContext>,
) -> Response {
    let door = &shared.web.access;
    let session = take_slot(&shared, &origin.caller);
    let both = session.and_then(|session| Ok((session, door.open_stream(&origin.caller)?)));
    let seats = match both {
        Ok(seats) => seats,
        Err(overload) => return no_capacity_response(&overload),
    };
    let id = Uuid::new_v4();
    let (posts, posted) = mpsc::channel(MAX_QUEUED_POSTS);
    let (out, frames) = mpsc::channel(MAX_QUEUED_FRAMES);
    let closing = shared.web.closing.child_token();
    let principal = origin.caller.principal.clone();
    shared.streams.with(|open| open.insert(id, OpenSseStream { principal, posts }));
    let stream = SseResponseStream {
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
    shared: Arc<RouterState<H>>,
    origin: CallerContext,
    posted: mpsc::Receiver<SsePost>,
    out: mpsc::Sender<Vec<u8>>,
    closing: CancellationToken,
) {
    let opening = LinkSetup {
        tap: shared.tap(&origin.caller),
        caller: origin.caller,
        locked: false,
        take_slots: None,
        handshake: shared.web.handshake,
        message_bytes: shared.web.message_bytes,
        // Each post was counted on arrival.
        counted: true,
        certificate: None,
        access: Arc::clone(&shared.web.access),
        closing,
    };
    let posts = SsePosts { posted, sender: None };
    let running = serve_directly((shared.make)(), FrameTransport::new(posts, out, opening), None);
    if let Err(error) = running.waiting().await {
        tracing::warn!(%error, "an SSE connection failed");
    }
}

#[derive(Deserialize)]
pub(super) struct SessionQuery {
    #[serde(rename = "sessionId", alias = "session_id")]
    session_id: Option<String>,
}

/// Whether a message cannot concern another caller. Anonymous callers share one principal, so an answer or a
/// cancellation without a session id may be about another caller's request.
fn may_name_no_stream(bytes: &[u8]) -> bool {
    match read(bytes) {
        WireFrame::One(Ok(envelope)) => asks(&envelope),
        WireFrame::Batch(members) => members.iter().flatten().all(asks),
        // Invalid messages get an error.
        WireFrame::One(Err(_)) | WireFrame::Empty => true,
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
    Extension(origin): Extension<CallerContext>,
    Query(which): Query<SessionQuery>,
    parts: Parts,
    body: Body,
) -> Response {
    let missing = || {
        let message = "Session not found: open GET /sse first and post to the endpoint it returns";
        error_response(
            StatusCode::NOT_FOUND,
            &MessageError::new(None, code::INVALID_REQUEST, message),
        )
    };
    let id = which.session_id.as_deref();
    let Some(posts) = shared.streams.find(id, &origin.caller.principal) else { return missing() };
    let bytes = match read_json(
        &parts.headers,
        body,
        &shared.web,
        parts.extensions.get::<ConnectionPeer>(),
    )
    .await
    {
        Ok(bytes) => bytes,
        Err(response) => return response,
    };
    if let Some(response) = oauth::missing_scope_in_frame(&shared, &origin, &bytes) {
        return response;
    }
    let is_anonymous = origin.caller.principal.kind == PrincipalKind::Anonymous;
    if id.is_none() && is_anonymous && !may_name_no_stream(&bytes) {
        let message = "sessionId is required: post to the URL from the stream's endpoint event, /message?sessionId=…";
        return error_response(
            StatusCode::BAD_REQUEST,
            &MessageError::new(None, code::INVALID_REQUEST, message),
        );
    }
    let post = SsePost { sender: origin.caller.principal, bytes };
    match posts.send_timeout(post, POST_TIMEOUT).await {
        Ok(()) => (StatusCode::ACCEPTED, "Accepted").into_response(),
        Err(SendTimeoutError::Closed(_)) => missing(),
        Err(SendTimeoutError::Timeout(_)) => {
            let reason = "The client is not reading the stream: read its events, then post again";
            retry_later_response(StatusCode::SERVICE_UNAVAILABLE, reason.to_owned(), POST_TIMEOUT)
        }
    }
}
