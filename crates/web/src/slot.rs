//! A slot for exclusive work, with a wait until a deadline.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Instant,
};

/// A slot that one thread at a time may hold.
#[derive(Debug)]
pub(crate) struct ReadingSlot {
    state: Mutex<ReadingSlotState>,
    given_back: Condvar,
}

#[derive(Debug)]
struct ReadingSlotState {
    taken: bool,
    /// Number of waits.
    #[cfg(test)]
    waits: usize,
}

impl ReadingSlotState {
    #[cfg(test)]
    fn count_wait(&mut self) {
        self.waits += usize::from(self.taken);
    }
}

/// The held slot; released on drop.
#[derive(Debug)]
pub(crate) struct ReadingSlotGuard<'a>(&'a ReadingSlot);

impl ReadingSlot {
    pub(crate) const fn new() -> Self {
        let state = ReadingSlotState {
            taken: false,
            #[cfg(test)]
            waits: 0,
        };
        Self { state: Mutex::new(state), given_back: Condvar::new() }
    }

    /// Waits for the slot until the deadline; `None` if it is still taken.
    pub(crate) fn acquire(&self, until: Instant) -> Option<ReadingSlotGuard<'_>> {
        let left = until.saturating_duration_since(Instant::now());
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.given_back.wait_timeout_while(state, left, |state| {
            #[cfg(test)]
            state.count_wait();
            state.taken
        });
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.taken {
            return None;
        }
        state.taken = true;
        Some(ReadingSlotGuard(self))
    }
}

impl Drop for ReadingSlotGuard<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).taken = false;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{thread, time::Duration};

    #[test]
    fn a_turn_is_waited_for_until_it_is_given_back_or_time_is_up() {
        let turn = ReadingSlot::new();
        let first = turn.acquire(Instant::now()).unwrap();
        assert!(turn.acquire(Instant::now()).is_none());
        let waits = || turn.state.lock().unwrap().waits;
        let (before, later) = (waits(), Instant::now() + Duration::from_hours(1));
        thread::scope(|scope| {
            let second = scope.spawn(|| turn.acquire(later).is_some());
            // A thread that is counted has the lock until it waits, so the second one waits once the count is seen.
            while waits() == before {
                thread::yield_now();
            }
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(turn.acquire(Instant::now()).is_some());
    }

    #[test]
    fn work_that_panics_gives_its_turn_back() {
        let turn = ReadingSlot::new();
        let worked = thread::scope(|scope| {
            let work = || {
                let taken = turn.acquire(Instant::now());
                assert!(taken.is_none(), "it panics, as it may on a damaged page");
            };
            scope.spawn(work).join().is_ok()
        });
        assert!(!worked && turn.acquire(Instant::now()).is_some());
    }
}
