//! The kept entries, bounded in number and in bytes of messages.

use crate::TrafficEntry;
use std::{collections::VecDeque, sync::Arc};

/// Maximum kept entries.
pub(crate) const MAX_ENTRIES: usize = 10_000;
/// Maximum bytes of kept messages; the oldest messages are dropped first, while their entries remain.
pub(crate) const MAX_RING_BYTES: usize = 32 * 1024 * 1024;

/// The newest entries. Their numbers have no gaps, so an entry is found by its index.
#[derive(Default)]
pub(crate) struct EntryRing {
    entries: VecDeque<Arc<TrafficEntry>>,
    /// The newest entry's number.
    last: u64,
    /// Bytes of all kept messages.
    bytes: usize,
    /// Every entry before this one has lost its message.
    bare: u64,
}

impl EntryRing {
    /// The number that the next entry gets.
    pub(crate) fn next(&self) -> u64 {
        self.last + 1
    }

    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The oldest entry's number.
    pub(crate) fn first(&self) -> u64 {
        self.entries.front().map_or(self.last + 1, |entry| entry.seq)
    }

    /// Adds an entry with the next number.
    pub(crate) fn push(&mut self, entry: TrafficEntry) {
        self.last = entry.seq;
        self.bytes += entry.payload.bytes();
        self.entries.push_back(Arc::new(entry));
        while self.entries.len() > MAX_ENTRIES {
            if let Some(oldest) = self.entries.pop_front() {
                self.bytes = self.bytes.saturating_sub(oldest.payload.bytes());
            }
        }
        while self.bytes > MAX_RING_BYTES {
            let oldest = self.bare.max(self.first());
            let Some(entry) = self.get(oldest) else { return };
            let freed = entry.payload.bytes();
            entry.payload.drop_payload();
            self.bytes = self.bytes.saturating_sub(freed);
            self.bare = oldest + 1;
        }
    }

    pub(crate) fn get(&self, seq: u64) -> Option<&Arc<TrafficEntry>> {
        let place = seq.checked_sub(self.first())?;
        self.entries.get(usize::try_from(place).ok()?)
    }

    /// The entries after one, the oldest first.
    pub(crate) fn after(&self, seq: u64) -> impl Iterator<Item = &Arc<TrafficEntry>> {
        let passed = seq.saturating_add(1).saturating_sub(self.first());
        self.entries.iter().skip(usize::try_from(passed).unwrap_or(usize::MAX))
    }
}
