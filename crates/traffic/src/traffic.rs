//! The recording, and whether it is on.

use crate::{
    Capture, ConnectionInfo, Tap, TrafficEntry, TrafficPage, entry::Payload, ring::EntryRing,
    waiting::PendingTraffic,
};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// Maximum bytes of a message that is kept whole.
const MAX_PAYLOAD_BYTES: usize = 256 * 1024;
/// Maximum bytes of the text beside an entry.
const MAX_TEXT_BYTES: usize = 1024;
/// Bytes inspected beyond the kept part, so that a secret which begins before the cut is found.
const REDACTION_LOOKAHEAD_BYTES: usize = 16 * 1024;

/// The recording of every connection.
pub struct Traffic {
    on: AtomicBool,
    payloads: AtomicBool,
    connections: AtomicU64,
    seen: Mutex<TrafficState>,
    latest: watch::Sender<u64>,
    redact: Box<dyn Fn(&str) -> String + Send + Sync>,
}

/// The recorded state.
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
    /// Records nothing until it is [`set`](Self::set). `redact` removes secrets from a text before it is kept.
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

    /// Whether anything is recorded. One relaxed load.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Sets what to record from now on. Earlier entries remain.
    pub fn set(&self, capture: Capture) {
        self.payloads.store(capture.payloads, Ordering::Relaxed);
        self.on.store(capture.on, Ordering::Relaxed);
        if !capture.on {
            // Their answers will not be recorded.
            self.state().waiting.clear();
        }
    }

    /// What is recorded now.
    pub fn capture(&self) -> Capture {
        Capture { on: self.is_on(), payloads: self.payloads.load(Ordering::Relaxed) }
    }

    /// Starts recording a connection.
    pub fn connection(self: &Arc<Self>, who: ConnectionInfo) -> Tap {
        let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        Tap::open(Arc::clone(self), number, who)
    }

    /// Up to `most` entries after one.
    pub fn read(&self, after: u64, most: usize) -> TrafficPage {
        let seen = self.state();
        let entries: Vec<Arc<TrafficEntry>> = seen.ring.after(after).take(most).cloned().collect();
        let next = entries.last().map_or(after.min(seen.ring.last()), |entry| entry.seq);
        TrafficPage { entries, first: seen.ring.first(), next }
    }

    /// Returns once there is an entry after this one.
    pub async fn changed(&self, after: u64) {
        let mut latest = self.latest.subscribe();
        // The sender is `self`, so it cannot be dropped while this waits.
        drop(latest.wait_for(|latest| *latest > after).await);
    }

    /// One entry, if it is still kept.
    pub fn entry(&self, seq: u64) -> Option<Arc<TrafficEntry>> {
        self.state().ring.get(seq).cloned()
    }

    /// All entries of a call, on both sides of docent: its request, its answer, notifications in between, and the same
    /// for every request that docent sent because of it. Accepts any entry of the call.
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

    /// Wakes readers that wait for new entries.
    pub(crate) fn notify_readers(&self, seq: u64) {
        self.latest.send_if_modified(|latest| {
            let is_newer = seq > *latest;
            *latest = seq.max(*latest);
            is_newer
        });
    }

    /// A message in the form in which it is kept, if messages are kept.
    pub(crate) fn payload(&self, text: &str) -> Option<Payload> {
        if !self.payloads.load(Ordering::Relaxed) {
            return None;
        }
        let (text, cut) = self.redact_and_truncate(text, MAX_PAYLOAD_BYTES);
        Some(Payload { text: text.into(), cut })
    }

    /// A text in the form shown beside an entry.
    pub(crate) fn text(&self, text: &str) -> String {
        self.redact_and_truncate(text, MAX_TEXT_BYTES).0
    }

    /// A redacted text, truncated to a length; and whether it was truncated.
    fn redact_and_truncate(&self, text: &str, most: usize) -> (String, bool) {
        let head = truncate(text, most + REDACTION_LOOKAHEAD_BYTES);
        let mut clean = (self.redact)(head);
        // The end of the inspected part may be the beginning of a secret.
        let sure = if head.len() < text.len() {
            clean.len().saturating_sub(REDACTION_LOOKAHEAD_BYTES)
        } else {
            clean.len()
        };
        let kept = truncate(&clean, sure.min(most)).len();
        let is_cut = kept < clean.len() || head.len() < text.len();
        clean.truncate(kept);
        (clean, is_cut)
    }
}

/// The beginning of a text.
pub(crate) fn truncate(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}
