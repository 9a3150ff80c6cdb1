//! Parses an event stream into events.

use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::collections::VecDeque;

/// One event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReceivedEvent {
    /// The event type; `message` by default.
    pub(super) name: Option<String>,
    /// The id to resume from after a disconnect.
    pub(super) id: Option<String>,
    /// Its lines, joined.
    pub(super) data: String,
}

/// The events of an answer, as they arrive.
#[derive(Debug)]
pub(super) struct AnswerEvents {
    body: Incoming,
    events: EventSplitter,
    ready: VecDeque<ReceivedEvent>,
}

impl AnswerEvents {
    pub(super) fn new(response: Response<Incoming>) -> Self {
        Self {
            body: response.into_body(),
            events: EventSplitter::default(),
            ready: VecDeque::new(),
        }
    }

    /// The next event; `None` when the stream has ended for any reason.
    pub(super) async fn next(&mut self) -> Option<ReceivedEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(bytes) = frame.into_data() {
                self.ready.extend(self.events.feed(&bytes));
            }
        }
    }
}

/// Splits a stream into events, however its bytes arrive.
#[derive(Debug, Default)]
struct EventSplitter {
    rest: Vec<u8>,
    event: ReceivedEvent,
    has_data: bool,
}

impl EventSplitter {
    /// Takes the next bytes and returns the events they complete.
    fn feed(&mut self, bytes: &[u8]) -> Vec<ReceivedEvent> {
        self.rest.extend_from_slice(bytes);
        let mut complete = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                complete.extend(self.finish());
            } else {
                self.field(line);
            }
        }
        complete
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.event.name = Some(value.to_owned()),
            "id" => self.event.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }

    fn finish(&mut self) -> Option<ReceivedEvent> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], want: &[(&str, &str, &str)]) {
        let mut events = EventSplitter::default();
        let got: Vec<_> = chunks.iter().flat_map(|chunk| events.feed(chunk.as_bytes())).collect();
        let got: Vec<_> = got
            .iter()
            .map(|e| {
                (e.name.as_deref().unwrap_or(""), e.id.as_deref().unwrap_or(""), e.data.as_str())
            })
            .collect();
        assert_eq!(got, want, "{chunks:?}");
    }

    #[test]
    fn events_are_split_at_their_ends() {
        check(&["data: {}\n\n"], &[("", "", "{}")]);
        check(&["event: endpoint\r\ndata: /message\r\n\r\n"], &[("endpoint", "", "/message")]);
        check(
            &["id: 7\nda", "ta: a\ndata:b\n", "\ndata: c\n\n"],
            &[("", "7", "a\nb"), ("", "", "c")],
        );
        check(&[": keep-alive\n\nretry: 10\nid: 0\ndata:\n\n"], &[("", "0", "")]);
        check(&["data: never finished\n"], &[]);
    }
}
