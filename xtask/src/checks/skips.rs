//! Tests that can't run on this machine. libtest counts them as passed, so the tests report themselves: the macros of
//! `docent-testenv` append a line for each to a file named by an environment variable.

use crate::report::CheckCounts;
use anyhow::{Context as _, Result, bail};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The variable that names the file; must match the one in `docent-testenv`.
const REPORT_VARIABLE: &str = "DOCENT_SKIPPED_TESTS";

/// A file to which tests append; initially empty.
pub(super) struct SkipReport {
    file: PathBuf,
    /// Deleted when the report is dropped.
    _folder: Option<TempDir>,
}

/// One line of the report.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SkippedTest<'a> {
    test: &'a str,
    reason: &'a str,
    /// The whole test was skipped.
    is_whole: bool,
}

impl SkipReport {
    /// Creates a report for tests that run as this user.
    pub(super) fn new() -> Result<Self> {
        let folder = tempfile::tempdir().context("making a folder for the skipped tests")?;
        Ok(Self { file: folder.path().join("skipped"), _folder: Some(folder) })
    }

    /// Creates a report in a folder that another user can write to.
    pub(super) fn inside(folder: &Path) -> Self {
        Self { file: folder.join("skipped"), _folder: None }
    }

    /// The environment variable to set for the tests.
    pub(super) fn variable(&self) -> (&'static str, PathBuf) {
        (REPORT_VARIABLE, self.file.clone())
    }

    /// Prints each skipped test with its reason, and moves it from the passed to the skipped count. Tests that are
    /// ignored or filtered out are not counted: other tests start the ignored ones, and the filter was given on purpose.
    pub(super) fn count(&self, found: CheckCounts) -> Result<CheckCounts> {
        let report =
            if self.file.exists() { fs::read_to_string(&self.file)? } else { String::new() };
        let skips = parse(&report)?;
        for SkippedTest { test, reason, is_whole } in &skips {
            println!("skipped{}: {test}: {reason}", if *is_whole { "" } else { " in part" });
        }
        let whole = skips.iter().filter(|skip| skip.is_whole).count();
        Ok(CheckCounts {
            passed: found.passed.saturating_sub(whole),
            failed: found.failed,
            skipped: skips.len(),
        })
    }
}

/// Parses the report without duplicates, because a test can skip the same part more than once.
fn parse(report: &str) -> Result<BTreeSet<SkippedTest<'_>>> {
    let parse_line = |line| {
        let mut fields = str::splitn(line, 3, '\t');
        let (Some(extent), Some(test), Some(reason)) =
            (fields.next(), fields.next(), fields.next())
        else {
            bail!("a line of {REPORT_VARIABLE} lacks a field: {line:?}");
        };
        let is_whole = match extent {
            "whole" => true,
            "part" => false,
            _ => bail!("a line of {REPORT_VARIABLE} starts with {extent:?}"),
        };
        Ok(SkippedTest { test, reason, is_whole })
    };
    report.lines().map(parse_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_are_not_counted_as_passed() {
        let report = SkipReport::new().unwrap();
        let found = CheckCounts { passed: 10, failed: 1, skipped: 7 };
        let of = |passed, skipped| CheckCounts { passed, failed: 1, skipped };
        assert_eq!(report.count(found).unwrap(), of(10, 0));
        let (_, file) = report.variable();
        let lines = "whole\ta first\tno bubblewrap\npart\tb second\tneeds root\n\
                     part\tb second\tneeds root\npart\tb second\tno bubblewrap\nwhole\tc third\tno zsh\n";
        fs::write(&file, lines).unwrap();
        assert_eq!(report.count(found).unwrap(), of(8, 4));
        for bad in ["whole\ta first\n", "some\ta\tb\n"] {
            fs::write(&file, bad).unwrap();
            report.count(found).unwrap_err();
        }
    }
}
