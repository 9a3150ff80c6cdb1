//! The last lines that a program wrote to its standard error, and how loudly they are told.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Lines that are kept.
const MAX_KEPT_LINES: usize = 200;
/// Characters of one line that are kept.
const MAX_LINE_CHARS: usize = 2000;

/// A ring of lines.
#[derive(Debug, Default)]
pub struct StderrTail(Mutex<TailLines>);

#[derive(Debug, Default)]
struct TailLines {
    kept: VecDeque<String>,
    /// Lines in all, those that are gone included.
    seen: usize,
}

impl StderrTail {
    fn lines(&self) -> MutexGuard<'_, TailLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line; the oldest makes room.
    pub fn push(&self, line: &str) {
        let mut lines = self.lines();
        if lines.kept.len() == MAX_KEPT_LINES {
            lines.kept.pop_front();
        }
        lines.kept.push_back(docent_screen::one_line(line).chars().take(MAX_LINE_CHARS).collect());
        lines.seen += 1;
    }

    /// The last `most` lines, oldest first.
    pub fn last(&self, most: usize) -> Vec<String> {
        let kept = &self.lines().kept;
        kept.iter().skip(kept.len().saturating_sub(most)).cloned().collect()
    }

    /// The lines that came after the first `seen`, as far as they are kept, and how many there are in all.
    pub fn since(&self, seen: usize) -> (Vec<String>, usize) {
        let lines = self.lines();
        let new = lines.seen.saturating_sub(seen).min(lines.kept.len());
        (lines.kept.iter().skip(lines.kept.len() - new).cloned().collect(), lines.seen)
    }
}

/// Which lines of a program that writes a lot are told as usual: so many in a while, and the rest more quietly.
#[derive(Debug, Default)]
pub struct LogThrottle {
    since: Option<Instant>,
    logged: usize,
}

/// How a line is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrottleDecision {
    /// As usual.
    Normal,
    /// As usual, and that those behind it will not be for a while.
    LastNormal,
    /// Quietly.
    Quiet,
}

impl LogThrottle {
    /// Lines that are told as usual.
    pub const LINES_PER_WINDOW: usize = 20;
    /// In a while of this length.
    pub const WINDOW: Duration = Duration::from_secs(10);

    /// How a line is told that comes now.
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
    fn a_program_that_writes_a_lot_is_told_more_quietly_for_a_while() {
        let (mut pace, now) = (LogThrottle::default(), Instant::now());
        let told: Vec<ThrottleDecision> = (0..LogThrottle::LINES_PER_WINDOW + 2).map(|_| pace.next(now)).collect();
        assert!(told[..Pace::MOST - 1].iter().all(|one| *one == Told::Aloud));
        assert_eq!(told[Pace::MOST - 1..], [Told::Last, Told::Quietly, Told::Quietly]);
        assert_eq!(pace.next(now + Pace::WHILE), Told::Aloud);
    }

    #[test]
    fn the_last_lines_are_kept_and_told_once() {
        let tail = StderrTail::default();
        assert_eq!(tail.since(0), (Vec::new(), 0));
        for number in 0..MAX_KEPT_LINES + 5 {
            tail.push(&number.to_string());
        }
        let last = (MAX_KEPT_LINES + 4).to_string();
        assert_eq!(tail.last(1), [last.as_str()]);
        let (new, seen) = tail.since(0);
        assert_eq!((new.len(), seen), (LINES, LINES + 5), "the oldest are gone");
        assert_eq!(tail.since(seen).0, [""; 0]);
        assert_eq!(tail.since(seen - 1).0, [last.as_str()]);
    }
}
