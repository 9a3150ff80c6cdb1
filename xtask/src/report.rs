//! Steps with their counts, and the table and last line printed at the end of a run.

use anyhow::Result;
use std::{
    fmt,
    iter::Sum,
    time::{Duration, Instant},
};

/// Counts of passed, failed and skipped checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CheckCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl CheckCounts {
    /// One check that passed.
    pub(crate) const ONE_PASSED: Self = Self { passed: 1, failed: 0, skipped: 0 };
    /// One check that failed.
    pub(crate) const ONE_FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
    /// One check that was skipped; the step has printed why.
    pub(crate) const ONE_SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// Counts a failure if a child failed without reporting a failed check.
    #[must_use]
    pub(crate) fn with_status(mut self, success: bool) -> Self {
        if !success && self.failed == 0 {
            self.failed = 1;
        }
        self
    }
}

impl Sum for CheckCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |a, b| Self {
            passed: a.passed + b.passed,
            failed: a.failed + b.failed,
            skipped: a.skipped + b.skipped,
        })
    }
}

impl fmt::Display for CheckCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// The steps of one run, in order.
#[derive(Debug, Default)]
pub(crate) struct CheckReport {
    steps: Vec<(&'static str, CheckCounts, Duration)>,
}

impl CheckReport {
    /// Runs a step; an error counts as one failure and does not stop the steps after it.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<CheckCounts>,
    ) -> CheckCounts {
        println!("\n== {name} ==");
        let began = Instant::now();
        let counts = step().unwrap_or_else(|problem| {
            println!("{name}: {problem:#}");
            CheckCounts::ONE_FAILED
        });
        println!("-- {name}: {counts}");
        self.steps.push((name, counts, began.elapsed()));
        counts
    }

    /// The sum of all steps.
    pub(crate) fn total(&self) -> CheckCounts {
        self.steps.iter().map(|(_, counts, _)| *counts).sum()
    }

    /// Prints the table and, as the last line, the counts; true when nothing failed.
    pub(crate) fn print(&self) -> bool {
        println!("\n{self}");
        self.total().failed == 0
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.steps.iter().map(|(name, ..)| name.len()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:width$}  {:>7}  {:>7}  {:>7}  {:>8}",
            "step", "passed", "failed", "skipped", "seconds"
        )?;
        for (name, counts, time) in &self.steps {
            writeln!(
                f,
                "{name:width$}  {:>7}  {:>7}  {:>7}  {:>8.1}",
                counts.passed,
                counts.failed,
                counts.skipped,
                time.as_secs_f64()
            )?;
        }
        write!(f, "{}", self.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_counts() {
        let check = |steps: &[CheckCounts], expected: &str| {
            let mut report = CheckReport::default();
            for counts in steps {
                report.step("a step", || Ok(*counts));
            }
            assert_eq!(report.to_string().lines().last(), Some(expected));
        };
        check(&[], "0 passed, 0 failed");
        check(
            &[CheckCounts { passed: 3, ..CheckCounts::default() }, CheckCounts::ONE_PASSED],
            "4 passed, 0 failed",
        );
        check(
            &[CheckCounts::ONE_FAILED, CheckCounts::ONE_SKIPPED],
            "0 passed, 1 failed, 1 skipped",
        );
    }

    #[test]
    fn an_error_is_one_failure_and_later_steps_run() {
        let mut report = CheckReport::default();
        report.step("first", || anyhow::bail!("no luck"));
        report.step("second", || Ok(CheckCounts::ONE_PASSED));
        assert_eq!(report.total(), CheckCounts { passed: 1, failed: 1, skipped: 0 });
    }

    #[test]
    fn a_silent_failure_counts() {
        let passed = CheckCounts { passed: 2, ..CheckCounts::default() };
        assert_eq!(passed.with_status(true).failed, 0);
        assert_eq!(passed.with_status(false).failed, 1);
        assert_eq!(CheckCounts { failed: 3, ..passed }.with_status(false).failed, 3);
    }
}
