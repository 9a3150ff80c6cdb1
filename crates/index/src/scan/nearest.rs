//! Keeps the best of many scored rows.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A row with a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoredRow {
    pub(crate) row: u32,
    pub(crate) score: f32,
}

impl Eq for ScoredRow {}

impl PartialOrd for ScoredRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Better rows are less: they sort first, and the worst is on top of a heap. Ties go to the lower row.
impl Ord for ScoredRow {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.row.cmp(&other.row))
    }
}

/// Keeps the best `most`.
#[derive(Debug)]
pub(crate) struct NearestRows {
    most: usize,
    heap: BinaryHeap<ScoredRow>,
}

impl NearestRows {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::with_capacity(most + 1) }
    }

    /// Minimum score to be kept; lower ones change nothing.
    pub(crate) fn bar(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.most => worst.score,
            _ => f32::NEG_INFINITY,
        }
    }

    pub(crate) fn offer(&mut self, near: ScoredRow) {
        self.heap.push(near);
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        other.heap.into_iter().for_each(|near| self.offer(near));
        self
    }

    /// Best first.
    pub(crate) fn into_sorted(self) -> Vec<ScoredRow> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_order() {
        let near = |row: u32, score: f32| ScoredRow { row, score };
        let mut left = NearestRows::new(3);
        let mut right = NearestRows::new(3);
        for (row, score) in [(1, 0.5), (2, 0.9), (3, 0.1), (4, 0.5)] {
            left.offer(near(row, score));
        }
        assert!((left.bar() - 0.5).abs() < f32::EPSILON);
        right.offer(near(5, 0.7));
        assert!(right.bar().is_infinite());
        let best = left.merge(right).into_sorted();
        assert_eq!(best, [near(2, 0.9), near(5, 0.7), near(1, 0.5)]);
    }
}
