//! The step that attacks the release binary with special files, work past its deadline and scripts that never end, and
//! compares what hostile text costs the parsers at several sizes.

use super::{
    CheckContext,
    cargo_tests::{self, IgnoredTests},
    clone::ClonePlace,
};
use crate::{report::CheckCounts, workspace::XtaskWorkspace};
use anyhow::Result;
use std::path::PathBuf;

/// Parts of the names of the tests.
const TESTS: [&str; 2] = ["hostile_", "complexity_gate"];
/// Sizes that take long, in tests that nothing else runs.
const LARGE_TESTS: [&str; 1] = ["complexity_gate_large"];
/// The program that these tests run in place of the one that was built with them.
const BINARY_VARIABLE: &str = "DOCENT_BINARY";

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let variable = (BINARY_VARIABLE, context.release_binary("docent")?);
    if !context.is_ci {
        return run_in(context.workspace, &variable);
    }
    // `ci` has compiled the tests in its clone.
    let place = ClonePlace::in_temporary()?;
    run_in(&place.update(&context.workspace.root)?, &variable)
}

fn run_in(workspace: &XtaskWorkspace, variable: &(&'static str, PathBuf)) -> Result<CheckCounts> {
    let usual = cargo_tests::run_named(workspace, &TESTS, IgnoredTests::Skip, variable.clone())?;
    let large = cargo_tests::run_named(workspace, &LARGE_TESTS, IgnoredTests::Only, variable.clone())?;
    Ok([usual, large].into_iter().sum())
}
