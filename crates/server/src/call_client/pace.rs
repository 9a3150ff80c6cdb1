//! Limits the rate of progress: at most [`MAX_STEPS_PER_SECOND`] steps of a call within any second, whatever their source and
//! number. Further steps replace each other, and the last one is always sent.

use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Maximum steps of one call within any second.
pub(crate) const MAX_STEPS_PER_SECOND: usize = 10;
/// One step is reserved for the last one, which is sent when the call ends, whatever was sent before.
const MAX_STEPS_BEFORE_LAST: usize = MAX_STEPS_PER_SECOND - 1;
const PACE_WINDOW: Duration = Duration::from_secs(1);

/// Decides when to send the steps of one call.
#[derive(Debug)]
pub(crate) struct ProgressPace<T> {
    /// When the latest steps were sent, the oldest first.
    sent: VecDeque<Instant>,
    /// The newest step, if it has to wait.
    held: Option<T>,
}

impl<T> Default for ProgressPace<T> {
    fn default() -> Self {
        Self { sent: VecDeque::with_capacity(MAX_STEPS_BEFORE_LAST), held: None }
    }
}

impl<T> ProgressPace<T> {
    /// Accepts a step, and returns it if it may be sent now.
    pub(crate) fn offer(&mut self, step: T, now: Instant) -> Option<T> {
        self.held = Some(step);
        self.take_due(now)
    }

    /// When the waiting step may be sent; `None` if none waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.held.as_ref()?;
        match self.sent.front() {
            Some(oldest) if self.sent.len() >= MAX_STEPS_BEFORE_LAST => Some(*oldest + PACE_WINDOW),
            oldest => oldest.copied(),
        }
    }

    /// The waiting step, if it may be sent now.
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

    /// The waiting step, which is the last of the call.
    pub(crate) fn take_last(&mut self) -> Option<T> {
        self.held.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent, and when, for steps reported at these times (in milliseconds).
    fn sent(reported: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
        let begin = Instant::now();
        let at = |time: u64| begin + Duration::from_millis(time);
        let since = |time: Instant| u64::try_from((time - begin).as_millis()).unwrap();
        let (mut pace, mut out, mut end) = (ProgressPace::default(), Vec::new(), 0);
        for time in reported {
            // Steps that became due before this one.
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
    fn a_few_steps_are_sent_immediately() {
        let times = [0, 0, 1, 50, 100, 100, 2_000, 2_001];
        assert_eq!(sent(times), times.map(|time| (time, time)));
    }

    #[test]
    fn at_most_ten_steps_a_second_including_the_last() {
        for (count, interval) in [(100_000, 0), (50_000, 1), (5_000, 7), (500, 90), (100, 150)] {
            let out = sent((0..count).map(|number| number * interval));
            assert_eq!(out.last().unwrap().1, (count - 1) * interval, "the last step arrives");
            assert!(out.is_sorted(), "in order");
            for (from, _) in &out {
                let within = out.iter().filter(|(time, _)| (*from..from + 1000).contains(time));
                assert!(within.count() <= MAX_STEPS_PER_SECOND, "every {interval} ms, from {from}");
            }
            let seconds = usize::try_from(count * interval / 1000).unwrap();
            assert!(out.len() >= seconds.min(usize::try_from(count).unwrap()), "they go on");
        }
    }
}
