//! How often a client hears of progress: at most [`MAX_STEPS_PER_SECOND`] steps of a call within any second, whoever reports them and
//! however often. Steps beyond that replace each other, and the last one always goes out.

use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Steps of one call within any second.
pub(crate) const MAX_STEPS_PER_SECOND: usize = 10;
/// One of them is kept for the last step, which goes out when the call ends, whatever was sent before.
const MAX_STEPS_BEFORE_LAST: usize = MAX_STEPS_PER_SECOND - 1;
const PACE_WINDOW: Duration = Duration::from_secs(1);

/// Decides when the steps of one call go out.
#[derive(Debug)]
pub(crate) struct ProgressPace<T> {
    /// When the latest steps went out, the oldest first.
    sent: VecDeque<Instant>,
    /// The newest step, where it has to wait.
    held: Option<T>,
}

impl<T> Default for ProgressPace<T> {
    fn default() -> Self {
        Self { sent: VecDeque::with_capacity(MAX_STEPS_BEFORE_LAST), held: None }
    }
}

impl<T> ProgressPace<T> {
    /// Takes a step, and returns it where it may go out now.
    pub(crate) fn offer(&mut self, step: T, now: Instant) -> Option<T> {
        self.held = Some(step);
        self.take_due(now)
    }

    /// When the step that waits may go out; `None` where none waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.held.as_ref()?;
        match self.sent.front() {
            Some(oldest) if self.sent.len() >= MAX_STEPS_BEFORE_LAST => Some(*oldest + PACE_WINDOW),
            oldest => oldest.copied(),
        }
    }

    /// The step that waits, where it may go out now.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<T> {
        if self.sent.len() >= MAX_STEPS_BEFORE_LAST && self.due().is_some_and(|due| due > now) {
            return None;
        }
        let step = self.held.take()?;
        if self.sent.len() >= MAX_STEPS_BEFORE_LAST {
            self.sent.pop_front();
        }
        self.sent.push_back(now);
        Some(step)
    }

    /// The step that waits, which is the last of the call.
    pub(crate) fn take_last(&mut self) -> Option<T> {
        self.held.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What goes out, and when, of steps that are reported at these times (in milliseconds).
    fn sent(reported: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
        let begin = Instant::now();
        let at = |time: u64| begin + Duration::from_millis(time);
        let since = |time: Instant| u64::try_from((time - begin).as_millis()).unwrap();
        let (mut pace, mut out, mut end) = (ProgressPace::default(), Vec::new(), 0);
        for time in reported {
            // What became due before this one.
            while let Some(due) = pace.due().filter(|due| *due < at(time)) {
                out.push((since(due), pace.take_due(due).unwrap()));
            }
            out.extend(pace.offer(time, at(time)).map(|step| (time, step)));
            end = time;
        }
        out.extend(pace.take_last().map(|step| (end, step)));
        out
    }

    #[test]
    fn few_steps_go_out_as_they_are_reported() {
        let times = [0, 0, 1, 50, 100, 100, 2_000, 2_001];
        assert_eq!(sent(times), times.map(|time| (time, time)));
    }

    #[test]
    fn no_second_has_more_than_ten_and_the_last_is_among_them() {
        for (count, interval) in [(100_000, 0), (50_000, 1), (5_000, 7), (500, 90), (100, 150)] {
            let out = sent((0..count).map(|number| number * interval));
            assert_eq!(out.last().unwrap().1, (count - 1) * interval, "the last step arrives");
            assert!(out.is_sorted(), "in order");
            for (from, _) in &out {
                let within = out.iter().filter(|(time, _)| (*from..from + 1000).contains(time));
                assert!(within.count() <= MAX_PER_SECOND, "every {interval} ms, from {from}");
            }
            let seconds = usize::try_from(count * interval / 1000).unwrap();
            assert!(out.len() >= seconds.min(usize::try_from(count).unwrap()), "they go on");
        }
    }
}
