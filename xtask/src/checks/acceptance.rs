//! The step that runs the acceptance suite, located next to the repository, against the release binary.

use super::{Context, tally};
use crate::{
    process::{self, Output},
    report::Counts,
};
use anyhow::{Context as _, Result};
use std::{fs, process::Command, time::Duration};

const SUITE: &str = "../shared/acceptance/wire.py";
const EXPECTED: &str = "tests/acceptance/expected-failures.txt";
const LIMIT: Duration = Duration::from_mins(20);

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let suite = context.path(SUITE);
    if !suite.is_file() {
        println!("skipped: there is no acceptance suite at {SUITE}");
        return Ok(Counts::ONE_SKIPPED);
    }
    let list = fs::read_to_string(context.path(EXPECTED))
        .with_context(|| format!("reading {EXPECTED}"))?;
    let mut python = Command::new("python3");
    // The suite is not part of the repository, so write nothing next to it.
    python.arg("-B").arg(&suite).arg("--bin").arg(context.release_binary("docent")?);
    if let Some(word) = context.filter {
        python.args(["-k", word]);
    }
    let done = process::run(&mut python, LIMIT, Output::Shown)?;
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
