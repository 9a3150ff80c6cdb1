//! The step that builds the release binary and the release fixture for the later steps.

use super::Context;
use crate::{
    process::{self, Output},
    report::Counts,
};
use anyhow::{Result, ensure};
use std::time::Duration;

const LIMIT: Duration = Duration::from_hours(1);

pub(super) fn build(context: &Context<'_>) -> Result<Counts> {
    let mut cargo =
        context.workspace.cargo(["build", "--release", "-p", "docent", "-p", "docent-testkit"]);
    let done = process::run(&mut cargo, LIMIT, Output::Shown)?;
    ensure!(done.success, "cargo build --release failed ({})", done.ending);
    Ok(Counts::ONE_PASSED)
}
