//! Records and traces HTTP responses as they are sent: a document, events, or one message per line.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use docent_traffic::{Direction, Tap};
use hyper::body::{Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Maximum bytes kept of an incomplete message. A longer one is not recorded.
const MAX_RECORDED_BYTES: usize = 16 << 20;

/// Passes a response through, and records its messages with the tap and in the protocol trace.
pub(super) fn record_body(response: Response, tap: Option<Tap>) -> Response {
    if tap.is_none() && !is_traced() {
        return response;
    }
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let form = match kind {
        // It ends before a recording could start.
        Some(b"application/json") if tap.as_ref().is_none_or(Tap::is_on) || is_traced() => {
            BodyFormat::Document
        }
        Some(b"application/x-ndjson") => BodyFormat::Lines,
        Some(b"text/event-stream") => BodyFormat::Events,
        _ => return response,
    };
    response.map(|body| {
        Body::new(RecordedBody { body, said: BodyRecorder { tap, form, held: Vec::new() } })
    })
}

/// Whether `DEBUG=mcp:protocol` asks for every message.
fn is_traced() -> bool {
    tracing::enabled!(target: "mcp::protocol", tracing::Level::DEBUG)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyFormat {
    Document,
    Lines,
    Events,
}

struct RecordedBody {
    body: Body,
    said: BodyRecorder,
}

/// The sent part of a body that is not a complete message yet.
struct BodyRecorder {
    tap: Option<Tap>,
    form: BodyFormat,
    held: Vec<u8>,
}

impl BodyRecorder {
    fn more(&mut self, bytes: &[u8]) {
        let is_wanted = self.tap.as_ref().is_some_and(Tap::is_on) || is_traced();
        if !is_wanted || self.held.len() + bytes.len() > MAX_RECORDED_BYTES {
            self.held = Vec::new();
            return;
        }
        // Most messages are sent in one piece, and are not copied.
        if self.held.is_empty() {
            let rest = self.record_whole_messages(bytes);
            self.held.extend_from_slice(rest);
            return;
        }
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        self.held = self.record_whole_messages(&held).to_vec();
    }

    /// Records every complete message; returns the beginning of the next.
    fn record_whole_messages<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while let Some((message, after)) = self.split(rest) {
            self.record_frame(message);
            rest = after;
        }
        rest
    }

    fn split<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let end: &[u8] = match self.form {
            BodyFormat::Document => return None,
            BodyFormat::Lines => b"\n",
            BodyFormat::Events => b"\n\n",
        };
        let at = bytes.windows(end.len()).position(|window| window == end)?;
        bytes.split_at_checked(at).map(|(message, after)| (message, &after[end.len()..]))
    }

    fn record_frame(&self, message: &[u8]) {
        if self.form != BodyFormat::Events {
            return self.record_message(message);
        }
        // Each of our events has one line of data.
        for line in message.split(|byte| *byte == b'\n') {
            if let Some(data) = line.strip_prefix(b"data:") {
                self.record_message(data);
            }
        }
    }

    fn record_message(&self, message: &[u8]) {
        let message = message.trim_ascii();
        // An event that only opens a stream, or names the endpoint, is not a message.
        if message.starts_with(b"{") || message.starts_with(b"[") {
            tracing::debug!(target: "mcp::protocol", "[MCP ←] {}", String::from_utf8_lossy(message));
            if let Some(tap) = &self.tap {
                tap.record_message(Direction::Out, message, None);
            }
        }
    }

    fn end(&mut self) {
        let held = std::mem::take(&mut self.held);
        if self.form != BodyFormat::Events {
            self.record_message(&held);
        }
    }
}

impl hyper::body::Body for RecordedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(frame) = &polled {
            if let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref))
            {
                self.said.more(data.map_or(&[][..], |data| data));
            }
            // A body of known length is not polled for its end.
            if frame.is_none() || self.body.is_end_stream() {
                self.said.end();
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{http::StatusCode, response::IntoResponse as _};
    use docent_traffic::{Capture, ConnectionInfo, Hop, Traffic};
    use futures::stream;
    use http_body_util::BodyExt as _;
    use std::{convert::Infallible, sync::Arc};

    /// Sends a body in these pieces, and checks which ids are recorded.
    async fn check(kind: &'static str, on: bool, pieces: &[&'static str], want: &[i64]) {
        let traffic = Traffic::new(str::to_owned);
        traffic.set(Capture { on, payloads: false });
        let who = ConnectionInfo { hop: Hop::Client, peer: "a".into(), via: "http" };
        let tap = traffic.connection(who);
        let pieces: Vec<Result<Bytes, Infallible>> =
            pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))).collect();
        let body = Body::from_stream(stream::iter(pieces.clone()));
        let response = (StatusCode::OK, [(header::CONTENT_TYPE, kind)], body).into_response();
        let passed =
            record_body(response, Some(tap)).into_body().collect().await.unwrap().to_bytes();
        let sent: Vec<u8> = pieces.into_iter().flatten().flatten().collect();
        assert_eq!(passed, sent, "nothing is changed in transit");
        let entries = traffic.read(0, 100).entries;
        let ids: Vec<i64> = entries.iter().filter_map(|entry| entry.id.as_i64()).collect();
        assert_eq!(ids, want, "{kind} {passed:?}");
    }

    #[tokio::test]
    async fn whole_messages_are_recorded_however_they_are_cut() {
        let (json, events, lines) =
            ("application/json", "text/event-stream", "application/x-ndjson");
        check(json, true, &[r#"{"id":1,"result":{}}"#], &[1]).await;
        check(json, true, &[r#"{"id":1,"res"#, r#"ult":{}}"#], &[1]).await;
        check(json, true, &[r#"[{"id":1,"result":{}},{"id":2,"result":{}}]"#], &[1, 2]).await;
        check(json, false, &[r#"{"id":1,"result":{}}"#], &[]).await;
        check(events, true, &["data: {\"id\":1,\"result\":{}}\n\n"], &[1]).await;
        let cut =
            ["id: 0\ndata: \n\nid: 1\nda", "ta: {\"id\":1,", "\"result\":{}}\n", "\n: hm\n\n"];
        check(events, true, &cut, &[1]).await;
        check(events, true, &["data: {\"id\":1,\"result\":{}}"], &[]).await;
        check(lines, true, &["{\"id\":1,\"result\":{}}\n{\"id\":2", ",\"result\":{}}\n"], &[1, 2])
            .await;
        check("text/plain", true, &["{\"id\":1,\"result\":{}}"], &[]).await;
    }

    #[test]
    fn an_endless_message_is_not_buffered() {
        let traffic = Traffic::new(str::to_owned);
        traffic.set(Capture { on: true, payloads: false });
        let who = ConnectionInfo { hop: Hop::Client, peer: "a".into(), via: "http" };
        let tap = Arc::clone(&traffic).connection(who);
        let mut said = BodyRecorder { tap: Some(tap), form: BodyFormat::Events, held: Vec::new() };
        for _ in 0..20 {
            said.more(&vec![b'x'; 1 << 20]);
            assert!(said.held.len() <= MAX_RECORDED_BYTES);
        }
    }
}
