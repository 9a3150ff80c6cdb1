//! The step that runs the workspace's tests, documentation tests included.

use super::{CheckContext, skips::SkipReport, tally};
use crate::{
    corpus::{self, CorpusPackage, FetchOutcome, Registry},
    process::{self, OutputMode},
    report::CheckCounts,
    workspace::XtaskWorkspace,
};
use anyhow::Result;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

pub(super) const TEST_LIMIT: Duration = Duration::from_hours(1);
const QUESTION_LIMIT: Duration = Duration::from_secs(30);

/// Output options of nextest, also used by the step `user`.
pub(super) const NEXTEST_OPTIONS: [&str; 6] =
    ["--no-fail-fast", "--no-tests=pass", "--status-level", "slow", "--final-status-level", "fail"];

/// A file from a Debian package that some tests need and few machines have. Tests are skipped without it.
struct TestFile {
    /// The environment variable that passes the path to the tests.
    variable: &'static str,
    package: &'static str,
    version: &'static str,
    sha256: &'static str,
    path: &'static str,
    /// The package's architecture; `None` if it is built for all.
    architecture: Option<&'static str>,
}

const TEST_FILES: [TestFile; 2] = [
    TestFile {
        variable: "BUBBLEWRAP_FOR_TESTS",
        package: "bubblewrap",
        version: "0.8.0-2+deb12u1",
        sha256: "3cc9134a3286ad01a323dcd924ba123eb634cefaeec82d774257e06308aeaadb",
        path: "usr/bin/bwrap",
        architecture: Some("x86_64"),
    },
    TestFile {
        variable: "DEBIAN_REFERENCE_FOR_TESTS",
        package: "debian-reference-en",
        version: "2.100",
        sha256: "9f31d3a17df505de09689ca255512ea58c1fc47c59bb1b0c7bf1c23362e9743f",
        path: "usr/share/debian-reference/debian-reference.en.pdf",
        architecture: None,
    },
];

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let skips = SkipReport::new()?;
    let mut variables = test_files(context.workspace)?;
    variables.push(skips.variable());
    let tests = if has_nextest(context.workspace)? {
        nextest(context, &variables)?
    } else {
        libtest(context, &["--lib", "--bins", "--tests"], &variables)?
    };
    // nextest doesn't run documentation tests.
    let documentation = libtest(context, &["--doc"], &variables)?;
    skips.count([tests, documentation].into_iter().sum())
}

/// How to treat `#[ignore]`d tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoredTests {
    /// Run the tests that are not ignored.
    Skip,
    /// Run only the ignored tests.
    Only,
}

/// Runs the tests whose names contain one of these words.
pub(super) fn run_named(
    workspace: &XtaskWorkspace,
    names: &[&str],
    ignored: IgnoredTests,
    variable: (&'static str, PathBuf),
) -> Result<CheckCounts> {
    let skips = SkipReport::new()?;
    let has_nextest = has_nextest(workspace)?;
    let mut cargo = if has_nextest {
        let mut cargo = workspace.cargo(["nextest", "run", "--workspace"]);
        cargo.args(NEXTEST_OPTIONS);
        if ignored == IgnoredTests::Only {
            cargo.args(["--run-ignored", "only"]);
        }
        cargo
    } else {
        let mut cargo = workspace.cargo(["test", "--workspace", "--no-fail-fast", "--tests"]);
        cargo.arg("--");
        if ignored == IgnoredTests::Only {
            cargo.arg("--ignored");
        }
        cargo
    };
    cargo.args(names).envs([variable, skips.variable()]);
    let done = process::run(&mut cargo, TEST_LIMIT, OutputMode::Shown)?;
    let counts = if has_nextest {
        tally::nextest(&done.text).unwrap_or_default()
    } else {
        tally::libtest(&done.text)
    };
    skips.count(counts.with_status(done.success))
}

/// Returns the variables for the files that are installed or can be fetched.
pub(super) fn test_files(workspace: &XtaskWorkspace) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut variables = Vec::new();
    for file in &TEST_FILES {
        match find(workspace, file)? {
            Ok(path) => variables.push((file.variable, path)),
            Err(reason) => println!("{} can't be fetched: {reason}", file.package),
        }
    }
    Ok(variables)
}

fn find(workspace: &XtaskWorkspace, file: &TestFile) -> Result<Result<PathBuf, String>> {
    let installed = Path::new("/").join(file.path);
    if installed.is_file() {
        return Ok(Ok(installed));
    }
    if let Some(architecture) = file.architecture
        && (architecture != std::env::consts::ARCH || std::env::consts::OS != "linux")
    {
        return Ok(Err(format!("the pinned package is for Linux on {architecture}")));
    }
    let package = CorpusPackage {
        registry: Registry::Debian,
        name: file.package.to_owned(),
        version: file.version.to_owned(),
        sha256: file.sha256.to_owned(),
    };
    Ok(match corpus::fetch(workspace, &package)? {
        FetchOutcome::Tree(tree) => Ok(tree.join(file.path)),
        FetchOutcome::Unavailable(reason) => Err(reason),
    })
}

fn has_nextest(workspace: &XtaskWorkspace) -> Result<bool> {
    let mut version = workspace.cargo(["nextest", "--version"]);
    Ok(process::run(&mut version, QUESTION_LIMIT, OutputMode::Kept)?.success)
}

fn nextest(context: &CheckContext<'_>, variables: &[(&str, PathBuf)]) -> Result<CheckCounts> {
    let mut cargo = context.workspace.cargo(["nextest", "run", "--workspace"]);
    cargo.args(NEXTEST_OPTIONS).args(context.filter).envs(variables.iter().cloned());
    let done = process::run(&mut cargo, TEST_LIMIT, OutputMode::Shown)?;
    Ok(tally::nextest(&done.text).unwrap_or_default().with_status(done.success))
}

fn libtest(
    context: &CheckContext<'_>,
    targets: &[&str],
    variables: &[(&str, PathBuf)],
) -> Result<CheckCounts> {
    let mut cargo = context.workspace.cargo(["test", "--workspace", "--no-fail-fast"]);
    cargo.args(targets).args(context.filter).envs(variables.iter().cloned());
    let done = process::run(&mut cargo, TEST_LIMIT, OutputMode::Shown)?;
    Ok(tally::libtest(&done.text).with_status(done.success))
}
