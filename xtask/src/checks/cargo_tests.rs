//! The step that runs the workspace's own tests, documentation tests included.

use super::{Context, tally};
use crate::{
    process::{self, Output},
    report::Counts,
};
use anyhow::Result;
use std::{process::Command, time::Duration};

/// Shells that complete what is typed.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
const LIMIT: Duration = Duration::from_hours(1);
const QUESTION_LIMIT: Duration = Duration::from_secs(30);

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let tests = if has_nextest(context)? {
        nextest(context)?
    } else {
        libtest(context, &["--lib", "--bins", "--tests"])?
    };
    // nextest doesn't run the examples in documentation.
    let documentation = libtest(context, &["--doc"])?;
    Ok([tests, documentation, shells()].into_iter().sum())
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

fn nextest(context: &Context<'_>) -> Result<Counts> {
    let mut cargo = context.workspace.cargo([
        "nextest",
        "run",
        "--workspace",
        "--no-fail-fast",
        "--no-tests=pass",
    ]);
    cargo.args(["--status-level", "slow", "--final-status-level", "fail"]).args(context.filter);
    let done = process::run(&mut cargo, LIMIT, Output::Shown)?;
    Ok(tally::nextest(&done.text).unwrap_or_default().with_status(done.success))
}

fn libtest(context: &Context<'_>, targets: &[&str]) -> Result<Counts> {
    let mut cargo = context.workspace.cargo(["test", "--workspace", "--no-fail-fast"]);
    cargo.args(targets).args(context.filter);
    let done = process::run(&mut cargo, LIMIT, Output::Shown)?;
    Ok(tally::libtest(&done.text).with_status(done.success))
}
