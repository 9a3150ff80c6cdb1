//! Parses counts from the output of test programs.

use crate::report::CheckCounts;
use std::collections::BTreeSet;

/// One test case in a program's output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReportedCase<'a> {
    Ok(&'a str),
    Failed { name: &'a str, why: &'a str },
}

/// Parses the lines `ok NAME` and `FAIL NAME: why`.
pub(super) fn cases(text: &str) -> Vec<ReportedCase<'_>> {
    text.lines().filter_map(case).collect()
}

fn case(line: &str) -> Option<ReportedCase<'_>> {
    if let Some(name) = line.strip_prefix("ok ") {
        return Some(ReportedCase::Ok(name.trim()));
    }
    let (name, why) = line.strip_prefix("FAIL ")?.split_once(':')?;
    Some(ReportedCase::Failed { name: name.trim(), why: why.trim() })
}

/// Counts passed and failed cases.
pub(super) fn count(cases: &[ReportedCase<'_>]) -> CheckCounts {
    let passed = cases.iter().filter(|case| matches!(case, ReportedCase::Ok(_))).count();
    CheckCounts { passed, failed: cases.len() - passed, skipped: 0 }
}

/// Parses a list of known failures: one name per line, `#` starts a comment.
pub(super) fn expected_failures(text: &str) -> BTreeSet<&str> {
    text.lines()
        .map(|line| line.split_once('#').map_or(line, |(name, _)| name).trim())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Counts cases given a list of known failures, and returns a note for every case on that list.
pub(super) fn against_expectations(
    cases: &[ReportedCase<'_>],
    expected: &BTreeSet<&str>,
    complete: bool,
) -> (CheckCounts, Vec<String>) {
    let mut counts = CheckCounts::default();
    let mut notes = Vec::new();
    for case in cases {
        match case {
            ReportedCase::Ok(name) if expected.contains(name) => {
                counts.failed += 1;
                notes.push(format!("FAIL  {name}: it passes now; remove it from the list"));
            }
            ReportedCase::Ok(_) => counts.passed += 1,
            ReportedCase::Failed { name, why } if expected.contains(name) => {
                counts.skipped += 1;
                notes.push(format!("skip  {name}: on the list of expected failures ({why})"));
            }
            ReportedCase::Failed { .. } => counts.failed += 1,
        }
    }
    let named = |case: &ReportedCase<'_>, wanted: &str| match case {
        ReportedCase::Ok(name) | ReportedCase::Failed { name, .. } => *name == wanted,
    };
    for name in
        expected.iter().filter(|name| complete && !cases.iter().any(|case| named(case, name)))
    {
        counts.failed += 1;
        notes.push(format!("FAIL  {name}: no such case; remove it from the list"));
    }
    (counts, notes)
}

/// Parses nextest's `Summary [1.2s] 45 tests run: 43 passed (1 slow), 2 failed, 1 skipped`.
pub(super) fn nextest(text: &str) -> Option<CheckCounts> {
    let summary = text.lines().rev().find(|line| line.trim_start().starts_with("Summary ["))?;
    let (_, list) = summary.split_once("run:")?;
    let mut plain = String::new();
    let mut depth = 0_u32;
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let mut counts = CheckCounts::default();
    for item in plain.split(',') {
        let (number, label) = item.trim().split_once(' ')?;
        let number: usize = number.parse().ok()?;
        match label.trim() {
            "passed" => counts.passed += number,
            "skipped" => counts.skipped += number,
            // "failed", "timed out", "exec failed".
            _ => counts.failed += number,
        }
    }
    Some(counts)
}

/// Sums libtest's `test result: ok. 3 passed; 0 failed; 1 ignored; …`, one line per test binary.
pub(super) fn libtest(text: &str) -> CheckCounts {
    text.lines()
        .filter_map(|line| line.split_once("test result:"))
        .filter_map(|(_, rest)| rest.split_once(". "))
        .map(|(_, list)| {
            let of = |label: &str| {
                list.split(';')
                    .filter_map(|item| item.trim().split_once(' '))
                    .find(|(_, found)| *found == label)
                    .and_then(|(number, _)| number.parse().ok())
                    .unwrap_or(0)
            };
            CheckCounts { passed: of("passed"), failed: of("failed"), skipped: of("ignored") }
        })
        .sum()
}

/// Parses `Total: 47 passed, 22 failed`, the last line of the conformance suite.
pub(super) fn conformance(text: &str) -> Option<CheckCounts> {
    let total = text.lines().rev().find_map(|line| line.strip_prefix("Total: "))?;
    let mut numbers = total.split(", ").filter_map(|item| item.split_once(' '));
    let mut next = |label: &str| {
        numbers
            .next()
            .filter(|(_, found)| found.starts_with(label))
            .and_then(|(number, _)| number.parse().ok())
    };
    Some(CheckCounts { passed: next("passed")?, failed: next("failed")?, skipped: 0 })
}

/// Parses `Passed: 2/2, 0 failed, 0 warnings`, the last line of one scenario of the conformance suite.
pub(super) fn scenario(text: &str) -> Option<CheckCounts> {
    let (passed, rest) =
        text.lines().rev().find_map(|line| line.strip_prefix("Passed: ")?.split_once('/'))?;
    let failed = rest.split(", ").find_map(|item| item.strip_suffix(" failed"))?;
    Some(CheckCounts { passed: passed.parse().ok()?, failed: failed.parse().ok()?, skipped: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: usize, failed: usize, skipped: usize) -> CheckCounts {
        CheckCounts { passed, failed, skipped }
    }

    #[test]
    fn nextest_summaries_are_parsed() {
        for (line, expected) in [
            ("     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped", Some(counts(3, 0, 0))),
            (
                "Summary [ 1.0s] 1 test run: 1 passed (1 slow, 1 leaky), 2 skipped",
                Some(counts(1, 0, 2)),
            ),
            (
                "Summary [ 9.1s] 9 tests run: 5 passed, 2 failed, 1 timed out, 1 exec failed, 4 skipped",
                Some(counts(5, 4, 4)),
            ),
            ("Summary [ 0.0s] 0 tests run: 0 passed, 0 skipped", Some(counts(0, 0, 0))),
            ("error: could not compile `docent`", None),
        ] {
            assert_eq!(nextest(line), expected, "{line}");
        }
    }

    #[test]
    fn libtest_results_are_added_up() {
        let text = "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
                    noise\n\
                    test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(libtest(text), counts(3, 3, 1));
        assert_eq!(libtest("nothing"), CheckCounts::default());
    }

    #[test]
    fn the_conformance_total_is_parsed() {
        let text = "✓ ping: 2 passed, 0 failed\n\nTotal: 47 passed, 22 failed\n";
        assert_eq!(conformance(text), Some(counts(47, 22, 0)));
        assert_eq!(conformance("Total: 47 passed, 22 failed, 1 warnings"), Some(counts(47, 22, 0)));
        assert_eq!(conformance("✓ ping: 2 passed, 0 failed"), None);
    }

    #[test]
    fn the_last_line_of_a_scenario_is_parsed() {
        for (text, expected) in [
            ("Checks:\n\nPassed: 14/14, 0 failed, 0 warnings\n", Some(counts(14, 0, 0))),
            ("Passed: 1/6, 5 failed, 0 warnings", Some(counts(1, 5, 0))),
            ("Passed: 1/6", None),
            ("SKIPPED: scenario 'x' is not applicable", None),
        ] {
            assert_eq!(scenario(text), expected, "{text}");
        }
    }

    #[test]
    fn cases_are_parsed() {
        let text = "ok    a\nFAIL  b: AssertionError: x: y\nokay not a case\n2 passed, 1 failed\n";
        assert_eq!(
            cases(text),
            [
                ReportedCase::Ok("a"),
                ReportedCase::Failed { name: "b", why: "AssertionError: x: y" }
            ]
        );
        assert_eq!(count(&cases(text)), counts(1, 1, 0));
    }

    #[test]
    fn expected_failures_are_skipped_and_must_fail() {
        let list = expected_failures("# why\n\nb # needs a suite\n  c\nd\n");
        assert_eq!(list, BTreeSet::from(["b", "c", "d"]));
        let text = "ok a\nFAIL b: no\nok c\nFAIL e: no\n";
        let (found, notes) = against_expectations(&cases(text), &list, true);
        assert_eq!(found, counts(1, 3, 1), "{notes:?}");
        assert_eq!(notes.len(), 3, "{notes:?}");
        let (found, _) = against_expectations(&cases(text), &list, false);
        assert_eq!(found, counts(1, 2, 1), "a filtered run does not see every case");
    }
}
