//! Work that is done by one at a time, and how long the others wait for it.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Instant,
};

/// What one at a time may have.
#[derive(Debug)]
pub(crate) struct Turn {
    taken: Mutex<bool>,
    given_back: Condvar,
}

/// A turn that was taken. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Taken<'a>(&'a Turn);

impl Turn {
    pub(crate) const fn new() -> Self {
        Self { taken: Mutex::new(false), given_back: Condvar::new() }
    }

    /// Waits until then at the latest; `None` where somebody else still has it.
    pub(crate) fn take(&self, until: Instant) -> Option<Taken<'_>> {
        let left = until.saturating_duration_since(Instant::now());
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.given_back.wait_timeout_while(taken, left, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return None;
        }
        *taken = true;
        Some(Taken(self))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{thread, time::Duration};

    #[test]
    fn a_turn_is_waited_for_until_it_is_given_back_or_time_is_up() {
        let turn = Turn::new();
        let first = turn.take(Instant::now()).unwrap();
        assert!(turn.take(Instant::now()).is_none());
        let later = Instant::now() + Duration::from_mins(1);
        thread::scope(|scope| {
            let waits = scope.spawn(|| turn.take(later).is_some());
            drop(first);
            assert!(waits.join().unwrap());
        });
        assert!(turn.take(Instant::now()).is_some());
    }

    #[test]
    fn work_that_panics_gives_its_turn_back() {
        let turn = Turn::new();
        let worked = thread::scope(|scope| {
            let work = || {
                let taken = turn.take(Instant::now());
                assert!(taken.is_none(), "it panics, as it may on a damaged page");
            };
            scope.spawn(work).join().is_ok()
        });
        assert!(!worked && turn.take(Instant::now()).is_some());
    }
}
