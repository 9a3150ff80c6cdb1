//! Files that change often, and those that are also complex.

use super::{FileComplexity, FileLog, commits::CommitLog, dates::day, owners::per_cent};
use crate::repo::{
    report::{Churn, HotSpot},
    tree::{folder_of, name_of},
};
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

/// Maximum number of listed files.
const MAX_LISTED_HOT_SPOTS: usize = 50;
/// Test folders, in lowercase.
const TEST_FOLDERS: [&str; 10] = [
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "testing",
    "testdata",
    "test-data",
    "e2e",
    "fixtures",
];
/// Prefixes of test file names, without extension, in lowercase.
const TEST_STARTS: [&str; 3] = ["test_", "test-", "tests_"];
/// Suffixes of test file names.
const TEST_ENDS: [&str; 9] =
    ["_test", "-test", ".test", "_tests", ".tests", "_spec", "-spec", ".spec", ".cy"];
/// Complete test file names.
const TEST_NAMES: [&str; 4] = ["test", "tests", "conftest", "spec_helper"];
/// Suffixes of test class names after a lowercase letter or digit.
const TEST_CLASSES: [&str; 4] = ["Test", "Tests", "TestCase", "Spec"];

/// Returns the current files that changed most often.
pub(super) fn churn(log: &CommitLog, today: &[FileLog<'_>]) -> Vec<Churn> {
    let mut busiest: Vec<&FileLog<'_>> =
        today.iter().filter(|file| !file.changes.is_empty()).collect();
    busiest.sort_by_key(|file| (Reverse(file.changes.len()), file.path));
    busiest.truncate(MAX_LISTED_HOT_SPOTS);
    let to_churn = |file: &&FileLog<'_>| {
        let authors: HashSet<_> = file.commits(log).map(|commit| commit.author).collect();
        Churn {
            path: file.path.to_owned(),
            changes: file.changes.len() as u64,
            authors: authors.iter().filter(|id| log.authors.is_person(**id)).count() as u64,
            last_change: file.newest(log).map(day).unwrap_or_default(),
        }
    };
    busiest.iter().map(to_churn).collect()
}

/// Returns the current files with both many changes and high complexity.
pub(super) fn find(
    today: &[FileLog<'_>],
    weights: &HashMap<Box<str>, FileComplexity>,
) -> Vec<HotSpot> {
    let weighed = |file: &FileLog<'_>| {
        let weight = *weights.get(file.path).filter(|_| !is_test(file.path))?;
        let (path, changes) = (file.path.to_owned(), file.changes.len() as u64);
        let product = changes.saturating_mul(weight.complexity);
        let FileComplexity { complexity, lines } = weight;
        let spot = HotSpot { path, changes, complexity, lines, score: 0.0 };
        (product > 0).then_some((product, spot))
    };
    let mut spots: Vec<(u64, HotSpot)> = today.iter().filter_map(weighed).collect();
    spots.sort_by(|(left, one), (right, other)| {
        right.cmp(left).then_with(|| one.path.cmp(&other.path))
    });
    spots.truncate(MAX_LISTED_HOT_SPOTS);
    let worst = spots.first().map_or(0, |(product, _)| *product);
    let scored = |(product, spot)| HotSpot { score: per_cent(product, worst), ..spot };
    spots.into_iter().map(scored).collect()
}

/// Whether a path is a test, by folder or name.
fn is_test(path: &str) -> bool {
    let in_tests = folder_of(path)
        .split('/')
        .any(|folder| TEST_FOLDERS.contains(&folder.to_lowercase().as_str()));
    let name = name_of(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let small = stem.to_lowercase();
    in_tests
        || TEST_NAMES.contains(&small.as_str())
        || TEST_STARTS.iter().any(|start| small.starts_with(start))
        || TEST_ENDS.iter().any(|end| small.ends_with(end))
        || TEST_CLASSES.iter().any(|class| {
            let before = stem.strip_suffix(class).and_then(|before| before.chars().next_back());
            before.is_some_and(|char| char.is_lowercase() || char.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn tests_are_recognized_by_folder_and_name() {
        let cases = [
            ("src/main.rs", false),
            ("tests/it.rs", true),
            ("src/tests.rs", true),
            ("src/Test/java/A.java", true),
            ("pkg/server_test.go", true),
            ("src/app.spec.ts", true),
            ("src/App.test.tsx", true),
            ("src/__tests__/a.js", true),
            ("test_models.py", true),
            ("conftest.py", true),
            ("src/UserServiceTest.java", true),
            ("src/UserTests.cs", true),
            ("src/ParserSpec.scala", true),
            ("src/contest.py", false),
            ("src/attest.rs", false),
            ("src/latest.ts", false),
            ("src/Inspec.rb", false),
            ("src/testing_tools.rs", false),
            ("spec/models/user.rb", true),
        ];
        for (path, want) in cases {
            assert_eq!(is_test(path), want, "{path}");
        }
    }

    #[test]
    fn the_worst_one_has_a_hundred() {
        let file = |path, changes: &[u32]| FileLog { path, changes: Cow::Owned(changes.to_vec()) };
        let today = [
            file("a.rs", &[0, 1, 2]),
            file("b.rs", &[0]),
            file("c.rs", &[0, 1]),
            file("d.rs", &[]),
            file("e.rs", &[1]),
            file("tests/f.rs", &[0, 1, 2, 3]),
        ];
        let weight = |complexity| FileComplexity { complexity, lines: complexity * 10 };
        let weights = [("a.rs", 2), ("b.rs", 9), ("d.rs", 5), ("e.rs", 0), ("tests/f.rs", 99)];
        let weights = weights
            .into_iter()
            .map(|(path, complexity)| (path.into(), weight(complexity)))
            .collect();
        let spot = |path: &str, changes, complexity, score| HotSpot {
            path: path.into(),
            changes,
            complexity,
            lines: complexity * 10,
            score,
        };
        let want = [spot("b.rs", 1, 9, 100.0), spot("a.rs", 3, 2, 66.7)];
        assert_eq!(find(&today, &weights), want);
    }
}
