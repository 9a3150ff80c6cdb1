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
pub struct Tail(Mutex<VecDeque<String>>);

impl Tail {
    fn lines_mut(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line; the oldest makes room.
    pub fn push(&self, line: &str) {
        let mut lines = self.lines_mut();
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(docent_screen::one_line(line).chars().take(WIDTH).collect());
    }

    /// The last `most` lines, oldest first.
    pub fn last(&self, most: usize) -> Vec<String> {
        let lines = self.lines_mut();
        lines.iter().skip(lines.len().saturating_sub(most)).cloned().collect()
    }
}
