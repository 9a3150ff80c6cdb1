//! The last lines that a program wrote to its standard error.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Lines that are kept.
const LINES: usize = 200;
/// Characters of one line that are kept.
const WIDTH: usize = 2000;

/// A ring of lines.
#[derive(Debug, Default)]
pub struct Tail(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    /// Lines in all, those that are gone included.
    seen: usize,
}

impl Tail {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line; the oldest makes room.
    pub fn push(&self, line: &str) {
        let mut lines = self.lines();
        if lines.kept.len() == LINES {
            lines.kept.pop_front();
        }
        lines.kept.push_back(docent_screen::one_line(line).chars().take(WIDTH).collect());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_told_once() {
        let tail = Tail::default();
        assert_eq!(tail.since(0), (Vec::new(), 0));
        for number in 0..LINES + 5 {
            tail.push(&number.to_string());
        }
        let last = (LINES + 4).to_string();
        assert_eq!(tail.last(1), [last.as_str()]);
        let (new, seen) = tail.since(0);
        assert_eq!((new.len(), seen), (LINES, LINES + 5), "the oldest are gone");
        assert_eq!(tail.since(seen).0, [""; 0]);
        assert_eq!(tail.since(seen - 1).0, [last.as_str()]);
    }
}
