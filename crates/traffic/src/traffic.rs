//! Everything that was seen, and whether anything is to be.

use crate::{Capture, ConnectionInfo, TrafficEntry, TrafficPage, Tap, entry::Payload, ring::EntryRing, waiting::PendingTraffic};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// The longest message that is kept whole.
const MAX_PAYLOAD_BYTES: usize = 256 * 1024;
/// The longest text beside an entry.
const MAX_TEXT_BYTES: usize = 1024;
/// What is looked at beyond the end of what is kept, so that a secret which begins before it is found.
const REDACTION_LOOKAHEAD_BYTES: usize = 16 * 1024;

/// What was said on every connection.
pub struct Traffic {
    on: AtomicBool,
    payloads: AtomicBool,
    connections: AtomicU64,
    seen: Mutex<TrafficState>,
    latest: watch::Sender<u64>,
    redact: Box<dyn Fn(&str) -> String + Send + Sync>,
}

/// What is kept.
#[derive(Default)]
pub(crate) struct TrafficState {
    pub(crate) ring: EntryRing,
    pub(crate) waiting: PendingTraffic,
}

impl fmt::Debug for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traffic").field("capture", &self.capture()).finish_non_exhaustive()
    }
}

impl Traffic {
    /// Nothing is kept until it is [`set`](Self::set). `redact` takes secrets out of a text before it is kept.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            on: AtomicBool::new(false),
            payloads: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            seen: Mutex::default(),
            latest: watch::Sender::new(0),
            redact: Box::new(redact),
        })
    }

    /// Whether anything is kept. One relaxed load.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// What is kept from now on. What was kept before stays.
    pub fn set(&self, capture: Capture) {
        self.payloads.store(capture.payloads, Ordering::Relaxed);
        self.on.store(capture.on, Ordering::Relaxed);
        if !capture.on {
            // Their answers will not be seen.
            self.state().waiting.clear();
        }
    }

    /// What is kept.
    pub fn capture(&self) -> Capture {
        Capture { on: self.is_on(), payloads: self.payloads.load(Ordering::Relaxed) }
    }

    /// A connection, seen from its beginning to its end.
    pub fn connection(self: &Arc<Self>, who: ConnectionInfo) -> Tap {
        let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        Tap::open(Arc::clone(self), number, who)
    }

    /// At most so many entries after one.
    pub fn read(&self, after: u64, most: usize) -> TrafficPage {
        let seen = self.state();
        let entries: Vec<Arc<TrafficEntry>> = seen.ring.after(after).take(most).cloned().collect();
        let next = entries.last().map_or(after.min(seen.ring.last()), |entry| entry.seq);
        TrafficPage { entries, first: seen.ring.first(), next }
    }

    /// Returns once something is there after this entry.
    pub async fn changed(&self, after: u64) {
        let mut latest = self.latest.subscribe();
        // The sender is `self`, so there is no other end than the awaited one.
        drop(latest.wait_for(|latest| *latest > after).await);
    }

    /// One entry, if it is still kept.
    pub fn entry(&self, seq: u64) -> Option<Arc<TrafficEntry>> {
        self.state().ring.get(seq).cloned()
    }

    /// All that belongs to a call, on both sides of docent: its request, its answer, what was told meanwhile, and the same
    /// of every request that docent sent because of it. Any entry of the call gives all of it.
    pub fn call(&self, seq: u64) -> Vec<Arc<TrafficEntry>> {
        let seen = self.state();
        let Some(entry) = seen.ring.get(seq) else { return Vec::new() };
        let root = entry.parent.or(entry.answers).or(entry.about).unwrap_or(entry.seq);
        let is_part = |entry: &&Arc<TrafficEntry>| {
            entry.seq == root || [entry.parent, entry.answers, entry.about].contains(&Some(root))
        };
        seen.ring.after(root.saturating_sub(1)).filter(is_part).cloned().collect()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, TrafficState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever waits that there is more.
    pub(crate) fn notify_readers(&self, seq: u64) {
        self.latest.send_if_modified(|latest| {
            let is_newer = seq > *latest;
            *latest = seq.max(*latest);
            is_newer
        });
    }

    /// A message as it is kept, where messages are.
    pub(crate) fn payload(&self, text: &str) -> Option<Payload> {
        if !self.payloads.load(Ordering::Relaxed) {
            return None;
        }
        let (text, cut) = self.clean(text, MAX_PAYLOAD_BYTES);
        Some(Payload { text: text.into(), cut })
    }

    /// A text as it stands beside an entry.
    pub(crate) fn text(&self, text: &str) -> String {
        self.clean(text, MAX_TEXT_BYTES).0
    }

    /// A text without secrets, cut to a length; and whether it was.
    fn clean(&self, text: &str, most: usize) -> (String, bool) {
        let head = cut(text, most + REDACTION_LOOKAHEAD_BYTES);
        let mut clean = (self.redact)(head);
        // The end of what was looked at may be the beginning of a secret.
        let sure =
            if head.len() < text.len() { clean.len().saturating_sub(REDACTION_LOOKAHEAD_BYTES) } else { clean.len() };
        let kept = cut(&clean, sure.min(most)).len();
        let is_cut = kept < clean.len() || head.len() < text.len();
        clean.truncate(kept);
        (clean, is_cut)
    }
}

/// The beginning of a text.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}
