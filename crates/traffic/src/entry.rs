//! One recorded event, and its JSON form.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What to record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capture {
    /// Whether to record anything.
    pub on: bool,
    /// Whether to keep whole messages, and not only their summaries.
    pub payloads: bool,
}

/// Which side of docent a connection is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hop {
    /// A client that calls docent.
    Client,
    /// A server that docent calls.
    Server,
}

/// The direction of a message, from docent's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To docent.
    In,
    /// From docent.
    Out,
}

impl Direction {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::In => Self::Out,
            Self::Out => Self::In,
        }
    }
}

/// The kind of a recorded event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficKind {
    /// Expects an answer.
    Request,
    /// An answer with a result.
    Response,
    /// An answer with an error.
    Error,
    /// Expects no answer.
    Notification,
    /// Bytes that are not a message.
    Noise,
    /// A connection opened.
    Opened,
    /// A connection closed.
    Closed,
    /// A request that gets no answer.
    Lost,
}

/// The peer of a connection, and its transport.
#[derive(Debug, Clone)]
pub struct ConnectionInfo {
    /// The side of docent it is on.
    pub hop: Hop,
    /// The peer's name, until it sends another.
    pub peer: String,
    /// `stdio`, `http`, `sse` or `websocket`.
    pub via: &'static str,
}

/// One recorded event.
#[derive(Debug, Serialize)]
pub struct TrafficEntry {
    /// Counts up from 1.
    pub seq: u64,
    /// Microseconds since 1970.
    pub at: u64,
    /// The connection's number.
    pub connection: u64,
    /// The peer.
    #[serde(serialize_with = "text")]
    pub peer: Arc<str>,
    /// The side of docent it is on.
    pub hop: Hop,
    /// The transport.
    pub via: &'static str,
    /// To docent or from it.
    pub direction: Direction,
    /// The kind.
    pub kind: TrafficKind,
    /// The JSON-RPC id, or null.
    pub id: Value,
    /// The method; an answer has that of its request.
    #[serde(serialize_with = "optional_text")]
    pub method: Option<Arc<str>>,
    /// The tool, prompt or URI that it is about; an answer has that of its request.
    #[serde(serialize_with = "optional_text")]
    pub target: Option<Arc<str>>,
    /// The request that this answers.
    pub answers: Option<u64>,
    /// The time since that request.
    pub micros: Option<u64>,
    /// The client's request that made docent send this, or the request that this answers.
    pub parent: Option<u64>,
    /// The attempt, starting at 1.
    pub attempt: u32,
    /// Length of the message.
    pub bytes: usize,
    /// The protocol revision in use.
    #[serde(serialize_with = "optional_text")]
    pub era: Option<Arc<str>>,
    /// The code of an error; -1 for a tool result with `isError`.
    pub code: Option<i64>,
    /// A short text of an error, a loss or noise.
    pub text: Option<String>,
    /// The request that a notification is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) about: Option<u64>,
    #[serde(rename = "has_payload")]
    pub(crate) payload: PayloadSlot,
}

impl TrafficEntry {
    /// The redacted message, and whether it was truncated; `None` if it is not kept, or no longer.
    pub fn payload(&self) -> Option<(Arc<str>, bool)> {
        self.payload.get().as_ref().map(|payload| (Arc::clone(&payload.text), payload.cut))
    }

    /// The entry as JSON, with its message.
    pub fn with_payload(&self) -> Value {
        let mut whole = serde_json::to_value(self).unwrap_or_default();
        let payload = self.payload();
        whole["payload"] = payload.as_ref().map(|(text, _)| &**text).into();
        if payload.is_some_and(|(_, cut)| cut) {
            whole["cut"] = true.into();
        }
        whole
    }
}

/// A redacted, bounded message.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) text: Arc<str>,
    pub(crate) cut: bool,
}

/// A payload that may be dropped to make room. Serializes as whether it is present.
#[derive(Debug, Default)]
pub(crate) struct PayloadSlot(Mutex<Option<Payload>>);

impl PayloadSlot {
    pub(crate) fn new(payload: Option<Payload>) -> Self {
        Self(Mutex::new(payload))
    }

    fn get(&self) -> MutexGuard<'_, Option<Payload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.get().as_ref().map_or(0, |payload| payload.text.len())
    }

    pub(crate) fn drop_payload(&self) {
        *self.get() = None;
    }
}

impl Serialize for PayloadSlot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.get().is_some())
    }
}

/// The entries after some entry.
#[derive(Debug, Serialize)]
pub struct TrafficPage {
    /// In chronological order.
    #[serde(serialize_with = "entries")]
    pub entries: Vec<Arc<TrafficEntry>>,
    /// The oldest kept entry; one more than the newest if none is kept.
    pub first: u64,
    /// The number to continue reading after.
    pub next: u64,
}

fn entries<S: Serializer>(entries: &[Arc<TrafficEntry>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| &**entry))
}

fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
fn optional_text<S: Serializer>(text: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(serializer)
}
