//! The last lines that a program wrote to its standard error, and the log level for them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Maximum number of kept lines.
const MAX_KEPT_LINES: usize = 200;
/// Maximum characters of a kept line.
const MAX_LINE_CHARS: usize = 2000;

/// A ring buffer of lines.
#[derive(Debug, Default)]
pub struct StderrTail(Mutex<TailLines>);

#[derive(Debug, Default)]
struct TailLines {
    kept: VecDeque<String>,
    /// Total number of lines, including dropped ones.
    seen: usize,
}

impl StderrTail {
    fn lines(&self) -> MutexGuard<'_, TailLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line and drops the oldest if full.
    pub fn push(&self, line: &str) {
        let mut lines = self.lines();
        if lines.kept.len() == MAX_KEPT_LINES {
            lines.kept.pop_front();
        }
        lines.kept.push_back(docent_screen::one_line(line).chars().take(MAX_LINE_CHARS).collect());
        lines.seen += 1;
    }

    /// Returns the last `most` lines, oldest first.
    pub fn last(&self, most: usize) -> Vec<String> {
        let kept = &self.lines().kept;
        kept.iter().skip(kept.len().saturating_sub(most)).cloned().collect()
    }

    /// Returns the kept lines after the first `seen`, and the total number of lines.
    pub fn since(&self, seen: usize) -> (Vec<String>, usize) {
        let lines = self.lines();
        let new = lines.seen.saturating_sub(seen).min(lines.kept.len());
        (lines.kept.iter().skip(lines.kept.len() - new).cloned().collect(), lines.seen)
    }
}

/// Limits how many lines of a program are logged as usual in a time window; the rest is logged at a lower level.
#[derive(Debug, Default)]
pub struct LogThrottle {
    since: Option<Instant>,
    logged: usize,
}

/// How a line is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrottleDecision {
    /// As usual.
    Normal,
    /// As usual, with a note that the next ones will be quieter for a while.
    LastNormal,
    /// At a lower level.
    Quiet,
}

impl LogThrottle {
    /// Lines per window that are logged as usual.
    pub const LINES_PER_WINDOW: usize = 20;
    /// Length of the window.
    pub const WINDOW: Duration = Duration::from_secs(10);

    /// Returns how to log a line that arrives now.
    pub fn next(&mut self, now: Instant) -> ThrottleDecision {
        if self.since.is_none_or(|since| now.duration_since(since) >= Self::WINDOW) {
            *self = Self { since: Some(now), logged: 0 };
        }
        self.logged = self.logged.saturating_add(1);
        match self.logged.cmp(&Self::LINES_PER_WINDOW) {
            std::cmp::Ordering::Less => ThrottleDecision::Normal,
            std::cmp::Ordering::Equal => ThrottleDecision::LastNormal,
            std::cmp::Ordering::Greater => ThrottleDecision::Quiet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_writes_a_lot_is_logged_more_quietly_for_a_while() {
        let (mut pace, now) = (LogThrottle::default(), Instant::now());
        let levels: Vec<ThrottleDecision> =
            (0..LogThrottle::LINES_PER_WINDOW + 2).map(|_| pace.next(now)).collect();
        assert!(
            levels[..LogThrottle::LINES_PER_WINDOW - 1]
                .iter()
                .all(|one| *one == ThrottleDecision::Normal)
        );
        assert_eq!(
            levels[LogThrottle::LINES_PER_WINDOW - 1..],
            [ThrottleDecision::LastNormal, ThrottleDecision::Quiet, ThrottleDecision::Quiet]
        );
        assert_eq!(pace.next(now + LogThrottle::WINDOW), ThrottleDecision::Normal);
    }

    #[test]
    fn the_last_lines_are_kept_and_returned_once() {
        let tail = StderrTail::default();
        assert_eq!(tail.since(0), (Vec::new(), 0));
        for number in 0..MAX_KEPT_LINES + 5 {
            tail.push(&number.to_string());
        }
        let last = (MAX_KEPT_LINES + 4).to_string();
        assert_eq!(tail.last(1), [last.as_str()]);
        let (new, seen) = tail.since(0);
        assert_eq!((new.len(), seen), (MAX_KEPT_LINES, MAX_KEPT_LINES + 5), "the oldest are gone");
        assert_eq!(tail.since(seen).0, [""; 0]);
        assert_eq!(tail.since(seen - 1).0, [last.as_str()]);
    }
}
