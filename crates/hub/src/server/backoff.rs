//! Backoff for servers that failed or stopped answering.

use std::time::{Duration, Instant};

pub(super) const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_mins(1);
/// Consecutive timed-out calls after which no call is sent for a while.
const MAX_CONSECUTIVE_TIMEOUTS: u32 = 3;
/// First backoff after that, in doublings of the usual first one: each of the calls already took its whole timeout.
const SILENCE_BACKOFF_DOUBLINGS: u32 = 4;

/// When a server that failed may be tried again. Each consecutive failure doubles the time.
#[derive(Default)]
pub(crate) struct Backoff {
    failures: u32,
    until: Option<Instant>,
    /// Consecutive timed-out calls, and when the last of them was counted.
    silences: u32,
    counted: Option<Instant>,
}

impl Backoff {
    pub(super) fn record_failure(&mut self) {
        let doubled = FIRST_BACKOFF.saturating_mul(1 << self.failures.min(16));
        self.failures += 1;
        // Jitter, so that servers that failed together are not retried together.
        let jitter = getrandom::u32().map_or(0, |random| random % 400) + 800;
        self.until = Some(Instant::now() + doubled.min(MAX_BACKOFF) * jitter / 1000);
    }

    /// Records that a call that began then timed out. Concurrent calls count as one.
    pub(super) fn record_timeout(&mut self, began: Instant) {
        if self.counted.is_some_and(|counted| began < counted) {
            return;
        }
        self.silences += 1;
        self.counted = Some(Instant::now());
        if self.is_unresponsive() {
            self.failures = self.failures.max(SILENCE_BACKOFF_DOUBLINGS);
            self.record_failure();
        }
    }

    pub(super) fn remaining(&self) -> Option<Duration> {
        self.until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .filter(|left| !left.is_zero())
    }

    /// Records a successful connection. Failures are forgotten only after an answer.
    pub(super) fn record_connected(&mut self) {
        self.until = None;
    }

    /// Whether nothing has failed since the last answer.
    pub(super) fn is_clean(&self) -> bool {
        self.failures == 0 && self.silences == 0
    }

    /// Whether too many consecutive calls timed out.
    pub(super) fn is_unresponsive(&self) -> bool {
        self.silences >= MAX_CONSECUTIVE_TIMEOUTS
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.remaining().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_time_within_a_fifth_of_it() {
        let mut seen = Vec::new();
        for _ in 0..200 {
            let mut backoff = Backoff::default();
            for nth in 0..12 {
                let before = Instant::now();
                backoff.record_failure();
                let after = Instant::now();
                let until = backoff.until.unwrap();
                let whole = FIRST_BACKOFF.saturating_mul(1 << nth).min(MAX_BACKOFF);
                assert!(until >= before + whole * 4 / 5, "{nth}: too soon");
                assert!(until <= after + whole * 6 / 5, "{nth}: too late");
                if nth == 11 {
                    seen.push(until - before);
                }
            }
        }
        let (least, most) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
        assert!(
            *most > *least + Duration::from_secs(10),
            "servers are retried together: {least:?} to {most:?}"
        );
    }

    #[test]
    fn calls_in_a_row_without_an_answer_count_and_calls_side_by_side_do_not() {
        let mut backoff = Backoff::default();
        let together = Instant::now();
        for _ in 0..10 {
            backoff.record_timeout(together);
        }
        assert!(!backoff.is_waiting() && !backoff.is_clean());
        for _ in 1..MAX_CONSECUTIVE_TIMEOUTS {
            assert!(!backoff.is_waiting());
            backoff.record_timeout(Instant::now());
        }
        assert!(backoff.is_waiting() && backoff.is_unresponsive());
        assert!(backoff.remaining() > Some(Duration::from_secs(3)), "{:?}", backoff.remaining());
    }
}
