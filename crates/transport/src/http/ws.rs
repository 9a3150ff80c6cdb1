//! WebSocket: one message per text frame.

use super::{
    HttpLimits, RouterState, State,
    body::retry_later_response,
    listen::ConnectionPeer,
    mcp::{no_capacity_response, take_slot},
};
use crate::{
    Caller, CallerContext, Certificate, NoCapacity, SlotGuard,
    frame_transport::{FrameTransport, Frames, LinkSetup, SlotTaker},
    lines::FrameTooLong,
};
use axum::{
    extract::{
        Extension, FromRequestParts, Request,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use rmcp::{ServerHandler, service::serve_directly};
use std::{net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, timeout, timeout_at},
};

/// How long the last messages may take to be read.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_QUEUED_FRAMES: usize = 64;
/// Thousands of idle sockets are cheap only if their buffers start small.
const SOCKET_BUFFER_BYTES: usize = 4 * 1024;
/// A frame cannot be skipped unread: up to this many times the limit it is read and answered, beyond it the socket is
/// closed.
const OVERSIZE_READ_FACTOR: usize = 4;
/// Maximum sockets that have yet to present a token.
pub(super) const MAX_LOCKED_SOCKETS: usize = 256;
/// Maximum sockets of an address that have yet to present a token.
pub(super) const MAX_LOCKED_SOCKETS_PER_ADDRESS: usize = 64;
/// How long a socket may take to present its token, so that there is room again by then.
const LOCKED_RETRY_AFTER: Duration = Duration::from_secs(5);
const TOO_MANY_LOCKED_MESSAGE: &str =
    "Too many unauthenticated sockets: send the token in the Authorization header, or try again";

/// Any upgrade.
pub(super) async fn upgrade<H: ServerHandler>(
    shared: State<H>,
    Extension(origin): Extension<CallerContext>,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(refused) => return refused.into_response(),
    };
    let shared = Arc::clone(&shared);
    let mut visitor = WebSocketPeer::new(origin, parts.extensions.get::<ConnectionPeer>());
    let locked = is_locked(&shared, &visitor.origin);
    if locked {
        let Some(seating) = take_slots_later(&shared, &visitor.origin) else {
            shared.web.access.count_no_capacity();
            let reason = TOO_MANY_LOCKED_MESSAGE.to_owned();
            return retry_later_response(
                StatusCode::SERVICE_UNAVAILABLE,
                reason,
                LOCKED_RETRY_AFTER,
            );
        };
        visitor.seating = Some(seating);
    } else {
        match take_slots(&shared, &visitor.origin.caller) {
            Ok(seats) => visitor.seats = Some(seats),
            Err(overload) => return no_capacity_response(&overload),
        }
    }
    // Frames of unauthenticated peers are not read beyond the limit.
    let over = if locked { 1 } else { OVERSIZE_READ_FACTOR };
    let most = shared.web.message_bytes.saturating_mul(over);
    upgrade
        .protocols(["mcp"])
        .read_buffer_size(SOCKET_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(most)
        .max_frame_size(most)
        .on_upgrade(move |socket| {
            let sockets = shared.sockets.clone();
            sockets.track_future(run(shared, visitor, socket))
        })
}

/// Whether a token has yet to be presented.
fn is_locked<H: ServerHandler>(shared: &RouterState<H>, origin: &CallerContext) -> bool {
    shared.web.access.needs_token() && origin.caller.principal == crate::Principal::unknown()
}

/// A slot for a session and one for a stream.
fn take_slots<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    caller: &Caller,
) -> Result<SlotGuard, NoCapacity> {
    let session = take_slot(shared, caller)?;
    let stream = shared.web.access.open_stream(caller)?;
    Ok(Box::new((session, stream)))
}

/// A slot among unauthenticated sockets; the function that takes the real slots owns it, and releases it afterwards.
fn take_slots_later<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
) -> Option<SlotTaker> {
    let remote = origin.caller.remote.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    let place = shared.locked.take(remote)?;
    let shared = Arc::clone(shared);
    Some(Box::new(move |caller: &Caller| {
        let _until_dropped = &place;
        take_slots(&shared, caller)
    }))
}

/// The peer, and its slots.
struct WebSocketPeer {
    origin: CallerContext,
    certificate: Option<Arc<Certificate>>,
    seats: Option<SlotGuard>,
    /// Set while locked: unauthenticated peers do not take the slots of authenticated ones.
    seating: Option<SlotTaker>,
}

impl WebSocketPeer {
    fn new(origin: CallerContext, peer: Option<&ConnectionPeer>) -> Self {
        let certificate = peer.and_then(|peer| peer.certificate.clone());
        Self { origin, certificate, seats: None, seating: None }
    }
}

struct WebSocketFrames {
    socket: SplitStream<WebSocket>,
    limit: usize,
    silence: Duration,
    heard: Instant,
}

impl Frames for WebSocketFrames {
    async fn next(&mut self) -> Option<Result<Bytes, FrameTooLong>> {
        loop {
            // Answers to pings count; half a frame does not, so that a frame cannot take forever.
            let heard = timeout_at(self.heard + self.silence, self.socket.next()).await;
            let message = heard.ok()??.ok()?;
            self.heard = Instant::now();
            let bytes: Bytes = match message {
                Message::Text(text) => text.into(),
                Message::Binary(bytes) => bytes,
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) => continue,
            };
            return Some(if bytes.len() > self.limit { Err(FrameTooLong) } else { Ok(bytes) });
        }
    }
}

async fn run<H: ServerHandler>(
    shared: Arc<RouterState<H>>,
    visitor: WebSocketPeer,
    socket: WebSocket,
) {
    let _seats = visitor.seats;
    let (sink, stream) = socket.split();
    let (out, frames) = mpsc::channel(MAX_QUEUED_FRAMES);
    let opening = LinkSetup {
        locked: is_locked(&shared, &visitor.origin),
        tap: shared.tap(&visitor.origin.caller),
        caller: visitor.origin.caller,
        take_slots: visitor.seating,
        handshake: shared.web.handshake,
        message_bytes: shared.web.message_bytes,
        counted: false,
        certificate: visitor.certificate,
        access: Arc::clone(&shared.web.access),
        closing: shared.web.closing.child_token(),
    };
    let bounds = shared.web.limits;
    let (limit, silence) = (shared.web.message_bytes, bounds.silence);
    let texts = WebSocketFrames { socket: stream, limit, silence, heard: Instant::now() };
    let link = FrameTransport::new(texts, out, opening);
    let mut writing = tokio::spawn(write(sink, frames, bounds));
    let running = serve_directly((shared.make)(), link, None);
    drop(shared);
    if let Err(error) = running.waiting().await {
        tracing::warn!(%error, "a WebSocket connection failed");
    }
    // A peer that does not read must not keep its slots.
    if timeout(CLOSE_TIMEOUT, &mut writing).await.is_err() {
        writing.abort();
    }
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut frames: mpsc::Receiver<Vec<u8>>,
    bounds: HttpLimits,
) {
    // Pings are sent regardless of other traffic: their answers show that a peer which only listens is still there.
    let mut pings = interval_at(Instant::now() + bounds.ping, bounds.ping);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            frame = frames.recv() => match frame.map(String::from_utf8) {
                None => break,
                Some(Err(_)) => continue,
                Some(Ok(text)) => {
                    tracing::debug!(target: "mcp::protocol", "[MCP ←] {text}");
                    Message::Text(text.into())
                }
            },
            _ = pings.tick() => Message::Ping(Bytes::new()),
        };
        // A peer that reads nothing is as good as gone. Returning ends the connection.
        if !matches!(timeout(bounds.write, sink.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
    if let Err(error) = sink.close().await {
        tracing::debug!(%error, "a WebSocket did not close cleanly");
    }
}
