//! Reports tests that can't run on this machine.

use std::{
    env,
    ffi::OsStr,
    fs::OpenOptions,
    io::{self, Write as _},
    thread,
};

/// Names the file to which each skipped test appends a line: `whole` or `part`, the test and the reason, separated by
/// tabs.
pub const REPORT_VARIABLE: &str = "DOCENT_SKIPPED_TESTS";

/// How much of a test was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipExtent {
    /// All of it.
    Whole,
    /// A part; the rest ran.
    Part,
}

impl SkipExtent {
    const fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Part => "part",
        }
    }
}

/// Ends the test and reports it as skipped. Takes the reason, as for `format!`.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {{
        $crate::report_skip(
            $crate::SkipExtent::Whole,
            env!("CARGO_PKG_NAME"),
            &format!($($reason)+),
        );
        return;
    }};
}

/// Reports that a part of the test was skipped and lets the test continue. Takes the part and the reason, as for
/// `format!`.
#[macro_export]
macro_rules! skip_part {
    ($($reason:tt)+) => {
        $crate::report_skip(
            $crate::SkipExtent::Part,
            env!("CARGO_PKG_NAME"),
            &format!($($reason)+),
        )
    };
}

/// Unwraps a `Result`, or ends the test and reports it as skipped with the error as the reason.
#[macro_export]
macro_rules! or_skip {
    ($needed:expr) => {
        match $needed {
            Ok(value) => value,
            Err(reason) => $crate::skip!("{reason}"),
        }
    };
}

/// Reports that the running test of this package was skipped. Tests call [`skip!`](crate::skip), which also ends them.
///
/// # Panics
///
/// Panics if the report can't be written, because a skipped test would count as passed.
#[expect(clippy::print_stderr, reason = "the reason is for the person who runs the tests")]
pub fn report_skip(extent: SkipExtent, package: &str, reason: &str) {
    let test = format!("{package} {}", running_test());
    eprintln!("skipped: {test}: {reason}");
    if let Some(file) = env::var_os(REPORT_VARIABLE) {
        append(&file, &format_line(extent, &test, reason))
            .unwrap_or_else(|error| panic!("cannot write to {}: {error}", file.display()));
    }
}

/// nextest names the test in the environment; libtest names the thread after it.
fn running_test() -> String {
    let named = env::var_os("NEXTEST_TEST_NAME").and_then(|name| name.into_string().ok());
    named.or_else(|| thread::current().name().map(str::to_owned)).unwrap_or_default()
}

fn format_line(extent: SkipExtent, test: &str, reason: &str) -> String {
    let reason: Vec<&str> = reason.split_whitespace().collect();
    format!("{}\t{test}\t{}\n", extent.word(), reason.join(" "))
}

/// Tests run concurrently in several processes, so each line is written in one call.
fn append(file: &OsStr, line: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(file)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Tests that [`skipped_tests_are_reported_with_their_reasons`] runs in a separate process.
    mod examples {
        #[test]
        #[ignore = "run by skipped_tests_are_reported_with_their_reasons"]
        fn whole() {
            crate::or_skip!(Err::<(), _>("there is no\n\tpython"));
            panic!("a skipped test continued");
        }

        #[test]
        #[ignore = "run by skipped_tests_are_reported_with_their_reasons"]
        fn part() {
            let attempt = 3;
            crate::skip_part!("attempt {attempt} needs root");
        }
    }

    fn run_examples(report: &OsStr) -> String {
        let mut tests = Command::new(env::current_exe().unwrap());
        // Two concurrently, each in a thread with its name.
        tests.args(["skip::tests::examples", "--ignored", "--test-threads=2"]);
        tests.env(REPORT_VARIABLE, report).env_remove("NEXTEST_TEST_NAME");
        String::from_utf8(tests.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn skipped_tests_are_reported_with_their_reasons() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("skipped");
        let said = run_examples(report.as_os_str());
        assert!(said.contains("2 passed"), "{said}");
        let text = std::fs::read_to_string(&report).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let expected = [
            "part\tdocent-testenv skip::tests::examples::part\tattempt 3 needs root",
            "whole\tdocent-testenv skip::tests::examples::whole\tthere is no python",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_report_that_cannot_be_written_fails_the_test() {
        let folder = tempfile::tempdir().unwrap();
        let said = run_examples(folder.path().as_os_str());
        assert!(said.contains("0 passed; 2 failed"), "{said}");
    }
}
