//! Paces requests to a host.

use std::{
    thread,
    time::{Duration, Instant},
};

/// How often to check for a stop during a pause.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum pause; also keeps time arithmetic in range.
const MAX_REQUEST_GAP: Duration = Duration::from_hours(24);

/// The pause between requests to one host.
#[derive(Debug)]
pub(super) struct RequestPacer {
    gap: Duration,
    next: Instant,
}

impl RequestPacer {
    pub(super) fn new(gap: Duration) -> Self {
        let gap = gap.min(MAX_REQUEST_GAP);
        Self { gap, next: Instant::now() + gap }
    }

    /// Waits until the next request is due. False if stopped.
    pub(super) fn wait(&self, stop: &dyn Fn() -> bool) -> bool {
        loop {
            if stop() {
                return false;
            }
            let left = self.next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(STOP_POLL_INTERVAL));
        }
    }

    /// Starts the pause after a request; it takes at least this long.
    pub(super) fn rest(&mut self, at_least: Duration) {
        self.next = Instant::now() + self.gap.max(at_least.min(MAX_REQUEST_GAP));
    }

    /// The first retry delay of a failed request.
    pub(super) fn backoff(&self) -> Duration {
        self.gap.saturating_mul(5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn waits_end_when_stopped() {
        let pace = RequestPacer::new(Duration::from_hours(1));
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 2
        };
        assert!(!pace.wait(&stop));
        assert!(RequestPacer::new(Duration::ZERO).wait(&|| false));
    }

    #[test]
    fn the_longer_pause_counts() {
        for (gap, asked, want) in [(1, 5, 5), (5, 1, 5), (5, 0, 5)] {
            let mut pace = RequestPacer::new(Duration::from_secs(gap));
            let before = Instant::now();
            pace.rest(Duration::from_secs(asked));
            assert!(pace.next >= before + Duration::from_secs(want), "{gap} {asked}");
        }
    }
}
