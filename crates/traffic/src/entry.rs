//! One thing that was seen, as it is shown.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capture {
    /// Whether anything is.
    pub on: bool,
    /// Whether messages are kept whole, and not only what they are.
    pub payloads: bool,
}

/// Which side of docent a connection is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hop {
    /// Somebody who calls docent.
    Client,
    /// A server that docent calls.
    Server,
}

/// Where a message goes, as docent sees it.
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

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficKind {
    /// Wants an answer.
    Request,
    /// An answer with a result.
    Response,
    /// An answer with an error.
    Error,
    /// Wants no answer.
    Notification,
    /// Something that is no message.
    Noise,
    /// A connection began.
    Opened,
    /// A connection ended.
    Closed,
    /// A request gets no answer.
    Lost,
}

/// Who is at the other end of a connection, and how.
#[derive(Debug, Clone)]
pub struct ConnectionInfo {
    /// On which side.
    pub hop: Hop,
    /// Its name, until it tells another.
    pub peer: String,
    /// `stdio`, `http`, `sse` or `websocket`.
    pub via: &'static str,
}

/// One thing that was seen.
#[derive(Debug, Serialize)]
pub struct TrafficEntry {
    /// Counts up from 1.
    pub seq: u64,
    /// When, in microseconds since 1970.
    pub at: u64,
    /// Of which connection.
    pub connection: u64,
    /// Who is at its other end.
    #[serde(serialize_with = "text")]
    pub peer: Arc<str>,
    /// On which side of docent.
    pub hop: Hop,
    /// How it is connected.
    pub via: &'static str,
    /// To docent or from it.
    pub direction: Direction,
    /// What it is.
    pub kind: TrafficKind,
    /// The JSON-RPC id, or null.
    pub id: Value,
    /// The method; an answer has that of its request.
    #[serde(serialize_with = "optional_text")]
    pub method: Option<Arc<str>>,
    /// The tool, prompt or URI that it is about; an answer has that of its request.
    #[serde(serialize_with = "optional_text")]
    pub target: Option<Arc<str>>,
    /// The request that it answers.
    pub answers: Option<u64>,
    /// The time since that request.
    pub micros: Option<u64>,
    /// The client's request that made docent send this, or the request that this answers.
    pub parent: Option<u64>,
    /// Which try it is, from 1 on.
    pub attempt: u32,
    /// How long the message is.
    pub bytes: usize,
    /// The revision that is spoken.
    #[serde(serialize_with = "optional_text")]
    pub era: Option<Arc<str>>,
    /// The code of an error; -1 for a result that says it is one.
    pub code: Option<i64>,
    /// What an error, a loss or noise says, in short.
    pub text: Option<String>,
    /// The request that a notification is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) about: Option<u64>,
    #[serde(rename = "has_payload")]
    pub(crate) payload: PayloadSlot,
}

impl TrafficEntry {
    /// The message itself, with secrets taken out, and whether it was cut; `None` where it is not kept, or no longer.
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

/// A message, redacted and within bounds.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) text: Arc<str>,
    pub(crate) cut: bool,
}

/// A payload for as long as there is room for it. Serializes as whether there is one.
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

/// What there is after some entry.
#[derive(Debug, Serialize)]
pub struct TrafficPage {
    /// In the order seen.
    #[serde(serialize_with = "entries")]
    pub entries: Vec<Arc<TrafficEntry>>,
    /// The oldest entry that is kept; one more than the newest where none is.
    pub first: u64,
    /// What to read after, to go on.
    pub next: u64,
}

fn entries<S: Serializer>(entries: &[Arc<TrafficEntry>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| &**entry))
}

fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

#[expect(clippy::ref_option, reason = "serde hands over the field as it is")]
fn optional_text<S: Serializer>(text: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(serializer)
}
