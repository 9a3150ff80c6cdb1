//! One connection, from the point of view of the code that moves its messages.

use crate::{
    ConnectionInfo, Direction, Hop, Traffic, TrafficEntry, TrafficKind,
    entry::PayloadSlot,
    message::{RelatedRequest, TrafficMessage, read},
    traffic::{TrafficState, truncate},
    waiting::{IdScope, PendingTrafficRequest},
};
use serde_json::Value;
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// Maximum bytes of the name of a peer, a method or a revision.
const MAX_NAME_BYTES: usize = 128;

/// Further details of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficDetails {
    /// The client's request that made docent send it.
    pub parent: Option<u64>,
    /// The attempt, starting at 1.
    pub attempt: u32,
}

impl Default for TrafficDetails {
    fn default() -> Self {
        Self { parent: None, attempt: 1 }
    }
}

/// One connection. It ends when the last clone is dropped.
#[derive(Clone)]
pub struct Tap {
    side: Arc<TapShared>,
    /// The part of the connection whose ids are unique together.
    part: u64,
}

/// State shared by all clones.
struct TapShared {
    traffic: Arc<Traffic>,
    number: u64,
    hop: Hop,
    via: &'static str,
    known: Mutex<PeerInfo>,
    parts: AtomicU64,
    /// Whether its end has been recorded.
    closed: AtomicBool,
}

/// What is learned about a peer over time.
#[derive(Clone)]
struct PeerInfo {
    peer: Arc<str>,
    era: Option<Arc<str>>,
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("connection", &self.side.number).finish_non_exhaustive()
    }
}

impl Drop for TapShared {
    fn drop(&mut self) {
        self.note(Direction::In, TrafficKind::Closed, None, None);
    }
}

impl Tap {
    pub(crate) fn open(traffic: Arc<Traffic>, number: u64, who: ConnectionInfo) -> Self {
        let ConnectionInfo { hop, peer, via } = who;
        let known =
            Mutex::new(PeerInfo { peer: truncate(&peer, MAX_NAME_BYTES).into(), era: None });
        let (parts, closed) = Default::default();
        let side = Arc::new(TapShared { traffic, number, hop, via, known, parts, closed });
        if side.traffic.is_on() {
            let direction = if hop == Hop::Client { Direction::In } else { Direction::Out };
            side.note(direction, TrafficKind::Opened, None, None);
        }
        Self { side, part: 0 }
    }

    /// Whether anything is recorded. One relaxed load.
    pub fn is_on(&self) -> bool {
        self.side.traffic.is_on()
    }

    /// The same connection with a separate id space: where each request comes on its own, two requests may have the
    /// same id.
    #[must_use]
    pub fn separate_ids(&self) -> Self {
        let part = self.side.parts.fetch_add(1, Ordering::Relaxed) + 1;
        Self { side: Arc::clone(&self.side), part }
    }

    /// Records a message, or a batch: an entry for each, numbered consecutively. Returns the number of the first.
    pub fn record_message(
        &self,
        direction: Direction,
        message: &[u8],
        parent: Option<u64>,
    ) -> Option<u64> {
        self.record(direction, message, TrafficDetails { parent, ..TrafficDetails::default() })
    }

    /// Records a message that is not serialized yet, or not by us.
    pub fn record_value(
        &self,
        direction: Direction,
        message: &Value,
        more: TrafficDetails,
    ) -> Option<u64> {
        if !self.is_on() {
            return None;
        }
        self.record(direction, message.to_string().as_bytes(), more)
    }

    /// Records something that is not a message: noise, a request that gets no answer, or the end.
    pub fn note(&self, kind: TrafficKind, text: &str, id: Option<&Value>) {
        if !self.is_on() {
            return;
        }
        if let Some(id) = id.filter(|_| kind == TrafficKind::Lost) {
            return self.record_lost(text, id);
        }
        self.side.note(Direction::In, kind, Some(text), id);
    }

    /// Sets the peer's name for entries from now on.
    pub fn set_peer(&self, peer: &str) {
        if !peer.is_empty() && *self.side.known().peer != *peer {
            self.side.known().peer = truncate(peer, MAX_NAME_BYTES).into();
        }
    }

    /// Sets the revision for entries from now on.
    pub fn speaks(&self, era: &str) {
        if self.side.known().era.as_deref() != Some(era) {
            self.side.known().era = Some(truncate(era, MAX_NAME_BYTES).into());
        }
    }

    fn record(&self, direction: Direction, message: &[u8], more: TrafficDetails) -> Option<u64> {
        if !self.is_on() {
            return None;
        }
        let side = &*self.side;
        // Redact secrets before taking the lock: that takes longest.
        let drafts: Vec<_> = read(message)
            .into_iter()
            .map(|message| (side.draft(direction, &message, more), message))
            .collect();
        let scope = IdScope { connection: side.number, part: self.part };
        let mut seen = side.traffic.state();
        let first = seen.ring.next();
        for (draft, message) in drafts {
            let mut entry =
                MessagePairing { seen: &mut seen, scope, message: &message }.pair(draft);
            side.agree(&mut entry, &message);
            seen.ring.push(entry);
        }
        let last = seen.ring.last();
        drop(seen);
        side.traffic.notify_readers(last);
        (last >= first).then_some(first)
    }

    /// Records that a request of ours gets no answer.
    fn record_lost(&self, text: &str, id: &Value) {
        let side = &*self.side;
        let mut entry = side.blank(Direction::In, TrafficKind::Lost);
        entry.text = Some(side.traffic.text(text));
        entry.id = id.clone();
        let place = (IdScope { connection: side.number, part: self.part }, Direction::Out);
        let mut seen = side.traffic.state();
        if let Some(request) = seen.waiting.find(place, &id.to_string()) {
            answer(&mut entry, &request);
            seen.waiting.remove(request.seq);
        }
        side.push(seen, entry);
    }
}

impl TapShared {
    fn known(&self) -> MutexGuard<'_, PeerInfo> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty entry. Its number is assigned when it is kept.
    fn blank(&self, direction: Direction, kind: TrafficKind) -> TrafficEntry {
        let PeerInfo { peer, era } = self.known().clone();
        TrafficEntry {
            seq: 0,
            at: 0,
            connection: self.number,
            peer,
            hop: self.hop,
            via: self.via,
            direction,
            kind,
            id: Value::Null,
            method: None,
            target: None,
            answers: None,
            micros: None,
            parent: None,
            attempt: 1,
            bytes: 0,
            era,
            code: None,
            text: None,
            about: None,
            payload: PayloadSlot::default(),
        }
    }

    fn draft(
        &self,
        direction: Direction,
        message: &TrafficMessage<'_>,
        more: TrafficDetails,
    ) -> TrafficEntry {
        // A server that docent calls receives docent's own name.
        let is_peer = self.hop == Hop::Client && direction == Direction::In;
        if let Some(name) = message.sender.as_deref().filter(|name| is_peer && !name.is_empty()) {
            self.known().peer = truncate(name, MAX_NAME_BYTES).into();
        }
        if let Some(era) = message.era.as_deref().filter(|_| message.kind != TrafficKind::Response)
        {
            self.known().era = Some(truncate(era, MAX_NAME_BYTES).into());
        }
        let traffic = &*self.traffic;
        let said = match (&message.said, message.kind) {
            (Some(said), _) => Some(traffic.text(said)),
            (None, TrafficKind::Noise) => Some(traffic.text(message.text)),
            (None, _) => None,
        };
        let mut entry = self.blank(direction, message.kind);
        entry.id = message.id_value();
        entry.method =
            message.method.as_deref().map(|method| truncate(method, MAX_NAME_BYTES).into());
        entry.target = message.target.as_deref().map(|target| traffic.text(target).into());
        entry.parent = more.parent;
        entry.attempt = more.attempt;
        entry.bytes = message.bytes;
        entry.code = message.code;
        entry.text = said;
        entry.payload = PayloadSlot::new(traffic.payload(message.text));
        entry
    }

    /// Reads the agreed revision from the answer to `initialize`. Any other answer may have such a field as well.
    fn agree(&self, entry: &mut TrafficEntry, message: &TrafficMessage<'_>) {
        if let Some(era) = &message.era
            && entry.kind == TrafficKind::Response
            && entry.method.as_deref() == Some("initialize")
        {
            let era: Arc<str> = truncate(era, MAX_NAME_BYTES).into();
            self.known().era = Some(Arc::clone(&era));
            entry.era = Some(era);
        }
    }

    fn note(
        &self,
        direction: Direction,
        kind: TrafficKind,
        text: Option<&str>,
        id: Option<&Value>,
    ) {
        let ends = kind == TrafficKind::Closed;
        if (ends && self.closed.swap(true, Ordering::Relaxed)) || !self.traffic.is_on() {
            return;
        }
        let mut entry = self.blank(direction, kind);
        entry.text = text.map(|text| self.traffic.text(text));
        entry.bytes = text.map_or(0, str::len);
        let payload =
            text.filter(|_| kind == TrafficKind::Noise).and_then(|text| self.traffic.payload(text));
        entry.payload = PayloadSlot::new(payload);
        entry.id = id.cloned().unwrap_or_default();
        let mut seen = self.traffic.state();
        if ends {
            seen.waiting.close(self.number);
        }
        self.push(seen, entry);
    }

    fn push(&self, mut seen: MutexGuard<'_, TrafficState>, mut entry: TrafficEntry) {
        let seq = stamp(&mut entry, &seen);
        seen.ring.push(entry);
        drop(seen);
        self.traffic.notify_readers(seq);
    }
}

/// Assigns an entry its number and time, under the lock, so that both are in the same order.
fn stamp(entry: &mut TrafficEntry, seen: &TrafficState) -> u64 {
    entry.seq = seen.ring.next();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    entry.at = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
    entry.seq
}

/// Marks an entry as the answer to a request.
fn answer(entry: &mut TrafficEntry, request: &PendingTrafficRequest) {
    let took = request.began.elapsed().as_micros();
    entry.answers = Some(request.seq);
    entry.micros = Some(u64::try_from(took).unwrap_or(u64::MAX));
    entry.method.clone_from(&request.method);
    entry.target.clone_from(&request.target);
    entry.parent = entry.parent.or(request.parent);
    entry.attempt = request.attempt;
    entry.era = request.era.clone().or(entry.era.take());
}

/// A message to be matched with pending requests.
struct MessagePairing<'a> {
    seen: &'a mut TrafficState,
    scope: IdScope,
    message: &'a TrafficMessage<'a>,
}

impl MessagePairing<'_> {
    fn pair(self, mut entry: TrafficEntry) -> TrafficEntry {
        stamp(&mut entry, self.seen);
        let there = (self.scope, entry.direction);
        let back = (self.scope, entry.direction.other());
        let waiting = &mut self.seen.waiting;
        match (entry.kind, self.message.id) {
            (TrafficKind::Request, Some(id)) => {
                let request = PendingTrafficRequest {
                    seq: entry.seq,
                    began: Instant::now(),
                    method: entry.method.clone(),
                    target: entry.target.clone(),
                    // Only the version in the request itself: the connection may yet agree on another.
                    era: self.message.era.as_ref().and(entry.era.clone()),
                    parent: entry.parent,
                    attempt: entry.attempt,
                };
                waiting.add(there, id, self.message.token, request);
            }
            (TrafficKind::Response | TrafficKind::Error, Some(id)) => {
                if let Some(request) = waiting.find(back, id) {
                    answer(&mut entry, &request);
                    if !self.message.partial {
                        waiting.remove(request.seq);
                    }
                }
            }
            (TrafficKind::Notification, _) => {
                let request = match self.message.about {
                    Some(RelatedRequest::Token(token)) => waiting.find_token(back, token),
                    Some(RelatedRequest::Asked(id)) => waiting.find(back, id),
                    Some(RelatedRequest::Own(id)) => waiting.find(there, id),
                    None => None,
                };
                if let Some(request) = request {
                    entry.about = Some(request.seq);
                    entry.parent = entry.parent.or(request.parent);
                    entry.attempt = request.attempt;
                    entry.target.clone_from(&request.target);
                }
            }
            _ => {}
        }
        entry
    }
}
