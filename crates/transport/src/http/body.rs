//! Bodies, bounded, and JSON-RPC errors as responses.

use super::Web;
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use docent_wire::Refusal;
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};
use serde_json::Value;
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, timeout_at};

/// An over-long body is read to its end and thrown away, up to this many times the limit, so that a client that is
/// still writing hears the answer.
const PATIENCE: usize = 8;

/// Room that is made for a body on its word alone. A peer that announces more has to send it.
const AT_ONCE: usize = 64 * 1024;

/// Reads a whole body of JSON.
pub(super) async fn read_json(
    headers: &HeaderMap,
    body: Body,
    web: &Web,
) -> Result<Bytes, Response> {
    let limit = web.message_bytes;
    if !is_json(headers) {
        let told = "Content-Type must be application/json";
        return Err(closing(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &invalid(told))));
    }
    let too_long = || refused(StatusCode::PAYLOAD_TOO_LARGE, &Refusal::too_long(limit));
    let most = limit.saturating_mul(PATIENCE);
    let announced = announced(headers);
    if announced.is_some_and(|length| length > most) {
        return Err(closing(too_long()));
    }
    // Nothing is kept of a body that will be refused: after blocks of megabytes that come and go, glibc's allocator gives
    // less and less of them back.
    let keeps = announced.is_none_or(|length| length <= limit);
    let room = announced.filter(|_| keeps).map_or(0, |length| length.min(AT_ONCE));
    let mut read = BytesMut::with_capacity(room);
    let mut passed = 0_usize;
    let mut chunks = body.into_data_stream();
    let begun = Instant::now();
    loop {
        let Ok(chunk) = timeout_at(begun + time_for(passed, web), chunks.next()).await else {
            web.tally.count_timed_out();
            let told = "The body came too slowly: send it again on a faster connection";
            return Err(closing(refused(StatusCode::REQUEST_TIMEOUT, &invalid(told))));
        };
        let Some(chunk) = chunk else { break };
        let chunk = chunk.map_err(|error| {
            refused(StatusCode::BAD_REQUEST, &invalid(&format!("the body can't be read: {error}")))
        })?;
        passed += chunk.len();
        if passed > most {
            return Err(closing(too_long()));
        }
        if passed > limit {
            read = BytesMut::new();
        } else if keeps {
            read.extend_from_slice(&chunk);
        }
    }
    if passed > limit {
        return Err(too_long());
    }
    Ok(read.freeze())
}

/// What `Content-Length` says.
fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// How long a body may take of which this much has come.
fn time_for(passed: usize, web: &Web) -> Duration {
    // No body is longer than some limit in memory, so the sum is far from its own.
    let earned = u32::try_from(passed / web.bounds.body_rate.max(1)).unwrap_or(u32::MAX);
    web.bounds.body.saturating_add(Duration::from_secs(earned.into()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let named =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = named.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(None, docent_wire::code::INVALID_REQUEST, message)
}

/// A response to a request whose body was not read: the connection can't be used again, and says so.
pub(super) fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A refusal as a response.
pub(super) fn refused(status: StatusCode, refusal: &Refusal) -> Response {
    let mut response = json(&refusal.to_value());
    *response.status_mut() = status;
    response
}

/// A JSON document.
pub(super) fn json(value: &Value) -> Response {
    json_bytes(value.to_string().into_bytes())
}

/// JSON that is written already.
pub(super) fn json_bytes(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response()
}

/// Keeps something for as long as a response is being read.
pub(super) fn held(response: Response, what: impl Send + Unpin + 'static) -> Response {
    response.map(|body| Body::new(Held { body, _what: what }))
}

/// A body, and what is kept until it is dropped.
struct Held<T> {
    body: Body,
    _what: T,
}

impl<T: Unpin> hyper::body::Body for Held<T> {
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
