//! The step that builds the release binary and the release fixture for the later steps.

use super::CheckContext;
use crate::{
    process::{self, OutputMode},
    report::CheckCounts,
};
use anyhow::{Result, ensure};
use std::time::Duration;

const BUILD_LIMIT: Duration = Duration::from_hours(1);

pub(super) fn build(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let mut cargo =
        context.workspace.cargo(["build", "--release", "-p", "docent", "-p", "docent-testkit"]);
    let done = process::run(&mut cargo, BUILD_LIMIT, OutputMode::Shown)?;
    ensure!(done.success, "cargo build --release failed ({})", done.ending);
    Ok(CheckCounts::ONE_PASSED)
}
