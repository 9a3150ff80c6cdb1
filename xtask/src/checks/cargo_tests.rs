//! The step that runs the workspace's own tests, documentation tests included.

use super::{Context, tally};
use crate::{
    corpus::{self, Fetched, Package, Registry},
    process::{self, Output},
    report::Counts,
};
use anyhow::Result;
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Shells that complete what is typed.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
const LIMIT: Duration = Duration::from_hours(1);
const QUESTION_LIMIT: Duration = Duration::from_secs(30);

/// Where packages put it, and what brings it where they have not.
const BUBBLEWRAP: &str = "usr/bin/bwrap";
/// What the tests look for it by.
const FOR_TESTS: &str = "BUBBLEWRAP_FOR_TESTS";
const BUBBLEWRAP_VERSION: &str = "0.8.0-2+deb12u1";
const BUBBLEWRAP_SHA256: &str = "3cc9134a3286ad01a323dcd924ba123eb634cefaeec82d774257e06308aeaadb";

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let bubblewrap = bubblewrap(context)?;
    let tests = if has_nextest(context)? {
        nextest(context, bubblewrap.as_deref())?
    } else {
        libtest(context, &["--lib", "--bins", "--tests"], bubblewrap.as_deref())?
    };
    // nextest doesn't run the examples in documentation.
    let documentation = libtest(context, &["--doc"], None)?;
    let wrapped = bubblewrap.map_or(Counts::ONE_SKIPPED, |_| Counts::default());
    Ok([tests, documentation, shells(), wrapped].into_iter().sum())
}

/// The tests of the sandbox pass without bubblewrap, so it is brought, or said that they saw nothing of it.
fn bubblewrap(context: &Context<'_>) -> Result<Option<PathBuf>> {
    let installed = Path::new("/").join(BUBBLEWRAP);
    if installed.is_file() {
        return Ok(Some(installed));
    }
    // The package is for this kind of machine.
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        println!("skipped: bubblewrap, which is not installed");
        return Ok(None);
    }
    let package = Package {
        registry: Registry::Debian,
        name: "bubblewrap".to_owned(),
        version: BUBBLEWRAP_VERSION.to_owned(),
        sha256: BUBBLEWRAP_SHA256.to_owned(),
    };
    match corpus::fetch(context.workspace, &package)? {
        Fetched::Tree(tree) => Ok(Some(tree.join(BUBBLEWRAP))),
        Fetched::Away(reason) => {
            println!("skipped: bubblewrap, which is not installed and can't be fetched ({reason})");
            Ok(None)
        }
    }
}

/// The tests of completion pass where a shell is missing: that they saw nothing of it is said here.
fn shells() -> Counts {
    let missing = SHELLS.into_iter().filter(|shell| {
        let mut asked = Command::new(shell);
        !asked.arg("--version").output().is_ok_and(|ran| ran.status.success())
    });
    let skipped = missing.map(|shell| {
        println!("skipped: completion in {shell}, which is not installed");
        Counts::ONE_SKIPPED
    });
    skipped.sum()
}

fn has_nextest(context: &Context<'_>) -> Result<bool> {
    let mut version = context.workspace.cargo(["nextest", "--version"]);
    Ok(process::run(&mut version, QUESTION_LIMIT, Output::Kept)?.success)
}

fn nextest(context: &Context<'_>, bubblewrap: Option<&Path>) -> Result<Counts> {
    let mut cargo = context.workspace.cargo([
        "nextest",
        "run",
        "--workspace",
        "--no-fail-fast",
        "--no-tests=pass",
    ]);
    cargo.args(["--status-level", "slow", "--final-status-level", "fail"]).args(context.filter);
    cargo.envs(bubblewrap.map(|path| (FOR_TESTS, path)));
    let done = process::run(&mut cargo, LIMIT, Output::Shown)?;
    Ok(tally::nextest(&done.text).unwrap_or_default().with_status(done.success))
}

fn libtest(context: &Context<'_>, targets: &[&str], bubblewrap: Option<&Path>) -> Result<Counts> {
    let mut cargo = context.workspace.cargo(["test", "--workspace", "--no-fail-fast"]);
    cargo.args(targets).args(context.filter);
    cargo.envs(bubblewrap.map(|path| (FOR_TESTS, path)));
    let done = process::run(&mut cargo, LIMIT, Output::Shown)?;
    Ok(tally::libtest(&done.text).with_status(done.success))
}
