//! How long a server is kept busy, and the measured load.

use super::usage;
use anyhow::Result;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// The limits of a stretch of load: a time or a number of calls, whichever is reached first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadStretch {
    pub(crate) time: Duration,
    pub(crate) calls: u32,
}

impl LoadStretch {
    /// A stretch limited only by time.
    pub(crate) const fn with_time(time: Duration) -> Self {
        Self { time, calls: u32::MAX }
    }

    /// Starts the clock, for this many connections that share the calls.
    pub(crate) fn begin(self, shared_by: u32) -> RunningStretch {
        RunningStretch {
            deadline: Instant::now() + self.time,
            calls: self.calls.div_ceil(shared_by.max(1)),
        }
    }
}

/// A running stretch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunningStretch {
    deadline: Instant,
    calls: u32,
}

impl RunningStretch {
    /// True while another call may be made.
    pub(crate) fn continues(self, made: u32) -> bool {
        made < self.calls && Instant::now() < self.deadline
    }
}

/// The measured result of a stretch of load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadResult {
    calls: u32,
    elapsed: Duration,
    cpu: Duration,
}

/// Clock readings from the start of a measured stretch.
#[derive(Debug)]
pub(crate) struct Stopwatch<'a> {
    began: Instant,
    cpu: Duration,
    without: Option<&'a Path>,
}

impl<'a> Stopwatch<'a> {
    /// Starts measuring.
    pub(crate) fn start() -> Result<Self> {
        Self::start_without(None)
    }

    /// Starts measuring, ignoring the processes that run this program.
    pub(crate) fn start_without(without: Option<&'a Path>) -> Result<Self> {
        Ok(Self { cpu: usage::cpu_without(without)?, began: Instant::now(), without })
    }

    /// Reads the clocks again after the calls have been answered.
    pub(crate) fn stop(self, calls: u32) -> Result<LoadResult> {
        let elapsed = self.began.elapsed();
        let cpu = usage::cpu_without(self.without)?.saturating_sub(self.cpu);
        Ok(LoadResult { calls, elapsed, cpu })
    }
}

impl LoadResult {
    /// Creates a result from known figures.
    #[cfg(test)]
    pub(crate) const fn from_figures(calls: u32, elapsed: Duration, cpu: Duration) -> Self {
        Self { calls, elapsed, cpu }
    }

    /// The server's CPU time per call, in microseconds.
    pub(crate) fn cpu_per_call(self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / f64::from(self.calls)
    }

    /// Calls answered in a second.
    pub(crate) fn calls_per_second(self) -> f64 {
        f64::from(self.calls) / self.elapsed.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_ends_by_time_or_by_calls() {
        let day = Duration::from_hours(24);
        let check = |time, calls, shared_by, made, expected| {
            assert_eq!(
                LoadStretch { time, calls }.begin(shared_by).continues(made),
                expected,
                "{made} of {calls} by {shared_by} in {time:?}"
            );
        };
        check(day, 10, 1, 9, true);
        check(day, 10, 1, 10, false);
        check(day, 10, 4, 2, true);
        check(day, 10, 4, 3, false);
        check(Duration::ZERO, 10, 1, 0, false);
    }

    #[test]
    fn figures_of_a_load() {
        let load = LoadResult {
            calls: 2000,
            elapsed: Duration::from_millis(500),
            cpu: Duration::from_millis(100),
        };
        assert_eq!(
            format!("{:.3} {:.3}", load.cpu_per_call(), load.calls_per_second()),
            "50.000 4000.000"
        );
    }
}
