//! Writes server-sent events.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use std::{convert::Infallible, pin::Pin, time::Duration};
use tokio::time::timeout;

/// Interval of comments that keep proxies from closing an idle stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// One event.
pub(super) fn event(name: &str, data: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(data.len() + name.len() + 18);
    bytes.extend_from_slice(b"event: ");
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b"\ndata: ");
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

/// A session's message as a resumable event.
pub(super) fn resumable_event(message: &ServerSseMessage) -> Bytes {
    let mut text = String::new();
    if let Some(id) = &message.event_id {
        text += "id: ";
        text += id;
        text.push('\n');
    }
    if let Some(retry) = message.retry {
        text += "retry: ";
        text += &retry.as_millis().to_string();
        text.push('\n');
    }
    text += "data: ";
    if let Some(message) = &message.message {
        let written = serde_json::to_string(&**message).unwrap_or_default();
        text += &docent_wire::put_back_in_text(&written).unwrap_or(written);
    }
    text += "\n\n";
    text.into()
}

/// Events as a response that sends keep-alive comments.
pub(super) fn respond(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let events: Pin<Box<dyn Stream<Item = Bytes> + Send>> = Box::pin(events);
    let kept = stream::unfold(events, |mut events| async move {
        let bytes = match timeout(KEEP_ALIVE_INTERVAL, events.next()).await {
            Ok(bytes) => bytes?,
            Err(_) => Bytes::from_static(b": keep-alive\n\n"),
        };
        Some((Ok::<_, Infallible>(bytes), events))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(kept)).into_response()
}
