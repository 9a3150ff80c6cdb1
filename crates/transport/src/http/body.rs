//! Bounded request bodies, and JSON-RPC errors as responses.

use super::{HttpServerSetup, listen::ConnectionPeer};
use crate::access_control::{retry_data, whole_seconds};
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use docent_wire::{MessageError, code};
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};
use serde_json::Value;
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, timeout, timeout_at};

/// The rest of an oversized body is read and discarded, up to this many times the limit, so that a client that is still
/// writing gets the response and may reuse the connection.
const DISCARD_FACTOR: usize = 8;

/// Capacity reserved for a body based on its declared length. A peer that declares more has to send it.
const INITIAL_BODY_CAPACITY: usize = 64 * 1024;

/// Whether the declared length of a body exceeds the message limit.
pub(super) fn is_over_long(body: &Body, web: &HttpServerSetup) -> bool {
    let limit = u64::try_from(web.message_bytes).unwrap_or(u64::MAX);
    hyper::body::Body::size_hint(body).lower() > limit
}

/// Answers a request whose declared length exceeds the limit, before any of the body has arrived.
pub(super) fn refuse_over_long(request: Request, web: &HttpServerSetup) -> Response {
    let peer = request.extensions().get::<ConnectionPeer>().cloned();
    let expects_continue = request.headers().contains_key(header::EXPECT);
    let body = request.into_body();
    if expects_continue {
        // The client waits for `100 Continue` before it sends the body, and must not get it.
        return close_connection(too_long(web));
    }
    let most = web.message_bytes.saturating_mul(DISCARD_FACTOR);
    let is_discarded_whole = hyper::body::Body::size_hint(&body).lower() <= most as u64;
    discard(body, most, web, peer.as_ref());
    if is_discarded_whole { too_long(web) } else { close_connection(too_long(web)) }
}

fn too_long(web: &HttpServerSetup) -> Response {
    error_response(StatusCode::PAYLOAD_TOO_LARGE, &MessageError::too_long(web.message_bytes))
}

/// Reads the rest of a body while its response is being sent. Dropping an unread body would reset the connection, and a
/// client that is still writing would lose the response.
fn discard(body: Body, most: usize, web: &HttpServerSetup, peer: Option<&ConnectionPeer>) {
    if let Some(peer) = peer {
        peer.clock.linger();
    }
    let (closing, time) = (web.closing.clone(), web.limits.body);
    tokio::spawn(async move {
        let read = async {
            let mut left = most;
            let mut chunks = body.into_data_stream();
            while let Some(Ok(chunk)) = chunks.next().await {
                let Some(less) = left.checked_sub(chunk.len()) else { return };
                left = less;
            }
        };
        tokio::select! {
            ended = timeout(time, read) => {
                if ended.is_err() {
                    tracing::debug!("the rest of an oversized body did not arrive in time");
                }
            }
            () = closing.cancelled() => {}
        }
    });
}

/// Reads a whole JSON body. A declared length over the limit was rejected before.
pub(super) async fn read_json(
    headers: &HeaderMap,
    body: Body,
    web: &HttpServerSetup,
    peer: Option<&ConnectionPeer>,
) -> Result<Bytes, Response> {
    let limit = web.message_bytes;
    if !is_json(headers) {
        let message = "Content-Type must be application/json";
        return Err(close_connection(error_response(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            &invalid_request(message),
        )));
    }
    let announced = usize::try_from(hyper::body::Body::size_hint(&body).lower());
    let mut read = BytesMut::with_capacity(
        announced.unwrap_or(INITIAL_BODY_CAPACITY).min(INITIAL_BODY_CAPACITY),
    );
    let mut chunks = body.into_data_stream();
    let begun = Instant::now();
    loop {
        let Ok(chunk) = timeout_at(begun + time_for(read.len(), web), chunks.next()).await else {
            web.stats.count_timed_out();
            let message = "The body arrived too slowly: resend it on a faster connection";
            return Err(close_connection(error_response(
                StatusCode::REQUEST_TIMEOUT,
                &invalid_request(message),
            )));
        };
        let Some(chunk) = chunk else { break };
        let chunk = chunk.map_err(|error| {
            error_response(
                StatusCode::BAD_REQUEST,
                &invalid_request(&format!("cannot read the body: {error}")),
            )
        })?;
        if read.len() + chunk.len() > limit {
            // Release a rejected body immediately: after many blocks of megabytes come and go, glibc's allocator
            // returns less and less memory.
            drop(read);
            let most = limit.saturating_mul(DISCARD_FACTOR - 1);
            discard(Body::from_stream(chunks), most, web, peer);
            return Err(too_long(web));
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read.freeze())
}

/// The time allowed for a body of which this much has arrived.
fn time_for(passed: usize, web: &HttpServerSetup) -> Duration {
    // No body exceeds the limit in memory, so the sum is far from overflowing.
    let earned = u32::try_from(passed / web.limits.body_rate.max(1)).unwrap_or(u32::MAX);
    web.limits.body.saturating_add(Duration::from_secs(earned.into()))
}

/// Whether the content type is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let named =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = named.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn invalid_request(message: &str) -> MessageError {
    MessageError::new(None, code::INVALID_REQUEST, message)
}

/// A response to a request whose body was not read: announces that the connection closes.
pub(super) fn close_connection(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// An error as a response.
pub(super) fn error_response(status: StatusCode, refusal: &MessageError) -> Response {
    let mut response = json(&refusal.to_value());
    *response.status_mut() = status;
    response
}

/// An error that states when to try again.
pub(super) fn retry_later_response(status: StatusCode, reason: String, wait: Duration) -> Response {
    let refusal = MessageError::new(None, code::SERVER, reason).with(retry_data(wait));
    let mut response = error_response(status, &refusal);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    response
}

/// A JSON document.
pub(super) fn json(value: &Value) -> Response {
    json_bytes(value.to_string().into_bytes())
}

/// Serialized JSON.
pub(super) fn json_bytes(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response()
}

/// Keeps a value alive while a response is being read.
pub(super) fn keep_while_reading(
    response: Response,
    what: impl Send + Unpin + 'static,
) -> Response {
    response.map(|body| Body::new(GuardedBody { body, _what: what }))
}

/// A body, and a value that is dropped with it.
struct GuardedBody<T> {
    body: Body,
    _what: T,
}

impl<T: Unpin> hyper::body::Body for GuardedBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
