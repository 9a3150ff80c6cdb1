//! WebSocket: a message a text frame.

use super::{Shared, State, mcp::full};
use crate::{
    Origin, Seat,
    lines::TooLong,
    link::{Frames, Link, Opening},
};
use axum::{
    extract::{
        Extension, FromRequestParts, Request,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use rmcp::{ServerHandler, service::serve_directly};
use std::{sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::timeout};

/// A ping this often finds out about peers that are gone.
const PING: Duration = Duration::from_secs(30);
/// What was said before the end has this long to be read.
const LAST_WORDS: Duration = Duration::from_secs(5);
const OUT: usize = 64;
/// Thousands of idle sockets are cheap only if their buffers start small.
const BUFFER: usize = 4 * 1024;
/// A frame can't be passed over unread: up to this many times the limit it is read and answered, beyond it the socket
/// is closed.
const READ_OVER: usize = 4;

/// Any upgrade.
pub(super) async fn upgrade<H: ServerHandler>(
    shared: State<H>,
    Extension(origin): Extension<Origin>,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(refused) => return refused.into_response(),
    };
    let door = &shared.web.door;
    let Some(session) = door.open_session() else { return full("sessions") };
    let Some(stream) = door.open_stream() else { return full("streams") };
    let shared = Arc::clone(&shared);
    // Nobody unknown is read from beyond the limit.
    let over = if is_locked(&shared, &origin) { 1 } else { READ_OVER };
    let most = shared.web.message_bytes.saturating_mul(over);
    upgrade
        .protocols(["mcp"])
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_message_size(most)
        .max_frame_size(most)
        .on_upgrade(move |socket| {
            let sockets = shared.sockets.clone();
            sockets.track_future(run(shared, origin, socket, (session, stream)))
        })
}

/// Whether a token has yet to be shown.
fn is_locked<H: ServerHandler>(shared: &Shared<H>, origin: &Origin) -> bool {
    shared.web.door.needs_token() && origin.caller.principal == crate::Principal::unknown()
}

struct Texts {
    socket: SplitStream<WebSocket>,
    limit: usize,
}

impl Frames for Texts {
    async fn next(&mut self) -> Option<Result<Bytes, TooLong>> {
        loop {
            let bytes: Bytes = match self.socket.next().await?.ok()? {
                Message::Text(text) => text.into(),
                Message::Binary(bytes) => bytes,
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) => continue,
            };
            return Some(if bytes.len() > self.limit { Err(TooLong) } else { Ok(bytes) });
        }
    }
}

async fn run<H: ServerHandler>(
    shared: Arc<Shared<H>>,
    origin: Origin,
    socket: WebSocket,
    _seats: (Seat, Seat),
) {
    let (sink, stream) = socket.split();
    let (out, frames) = mpsc::channel(OUT);
    let opening = Opening {
        locked: is_locked(&shared, &origin),
        caller: origin.caller,
        handshake: shared.web.handshake,
        message_bytes: shared.web.message_bytes,
        counted: false,
        door: Arc::clone(&shared.web.door),
        closing: shared.web.closing.child_token(),
    };
    let limit = shared.web.message_bytes;
    let link = Link::new(Texts { socket: stream, limit }, out, opening);
    let mut writing = tokio::spawn(write(sink, frames));
    let running = serve_directly((shared.make)(), link, None);
    drop(shared);
    if let Err(error) = running.waiting().await {
        tracing::warn!(%error, "a WebSocket connection ended badly");
    }
    // A peer that does not read must not keep its seats.
    if timeout(LAST_WORDS, &mut writing).await.is_err() {
        writing.abort();
    }
}

async fn write(mut sink: SplitSink<WebSocket, Message>, mut frames: mpsc::Receiver<Vec<u8>>) {
    loop {
        let message = match timeout(PING, frames.recv()).await {
            Err(_) => Message::Ping(Bytes::new()),
            Ok(None) => break,
            Ok(Some(frame)) => match String::from_utf8(frame) {
                Ok(text) => {
                    tracing::debug!(target: "mcp::protocol", "[MCP ←] {text}");
                    Message::Text(text.into())
                }
                Err(_) => continue,
            },
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
    if let Err(error) = sink.close().await {
        tracing::debug!(%error, "a WebSocket did not close cleanly");
    }
}
