//! When the next request may be sent.

use std::{
    thread,
    time::{Duration, Instant},
};

/// However long the pause, somebody may want to stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A longer gap is none that anybody waits for; it also keeps sums of times in their range.
const MAX_REQUEST_GAP: Duration = Duration::from_hours(24);

/// One host's pause between the end of a request and the next one.
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

    /// Waits for the next request's time. False if it is not wanted any more.
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

    /// A request has ended; the next may be sent after the pause, or after this long if that is longer.
    pub(super) fn rest(&mut self, at_least: Duration) {
        self.next = Instant::now() + self.gap.max(at_least.min(MAX_REQUEST_GAP));
    }

    /// The pause before a failed request is sent again, for the first time.
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
        assert!(Pace::new(Duration::ZERO).wait(&|| false));
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
