//! The step that runs the acceptance suite, located next to the repository, against the release binary.

use super::{CheckContext, tally};
use crate::{
    process::{self, OutputMode},
    report::CheckCounts,
};
use anyhow::{Context as _, Result};
use std::{fs, process::Command, time::Duration};

const SUITE: &str = "../shared/acceptance/wire.py";
const EXPECTED_FAILURES: &str = "tests/acceptance/expected-failures.txt";
const RUN_LIMIT: Duration = Duration::from_mins(20);

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let suite = context.path(SUITE);
    if !suite.is_file() {
        println!("skipped: there is no acceptance suite at {SUITE}");
        return Ok(CheckCounts::ONE_SKIPPED);
    }
    let list = fs::read_to_string(context.path(EXPECTED_FAILURES))
        .with_context(|| format!("reading {EXPECTED_FAILURES}"))?;
    let mut python = Command::new("python3");
    // The suite is not part of the repository, so write nothing next to it.
    python.arg("-B").arg(&suite).arg("--bin").arg(context.release_binary("docent")?);
    if let Some(word) = context.filter {
        python.args(["-k", word]);
    }
    let done = process::run(&mut python, RUN_LIMIT, OutputMode::Shown)?;
    let cases = tally::cases(&done.text);
    let (counts, notes) = tally::against_expectations(
        &cases,
        &tally::expected_failures(&list),
        context.filter.is_none(),
    );
    for note in notes {
        println!("{note}");
    }
    // The suite's exit code also counts expected failures, so only a missing last line means that it failed.
    let finished = done.text.lines().last().is_some_and(|line| line.contains(" passed, "));
    Ok(counts.with_status(finished))
}
