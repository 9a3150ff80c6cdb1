//! The step that attacks the release binary with special files, work past its deadline and endless scripts, and
//! compares how the parsers' cost grows with the size of hostile text.

use super::{
    CheckContext,
    cargo_tests::{self, IgnoredTests},
    clone::ClonePlace,
};
use crate::{report::CheckCounts, workspace::XtaskWorkspace};
use anyhow::Result;
use std::path::PathBuf;

/// Words that select the tests by name.
const TESTS: [&str; 2] = ["hostile_", "complexity_gate"];
/// Tests with large, slow inputs that no other step runs.
const LARGE_TESTS: [&str; 1] = ["complexity_gate_large"];
/// The variable that makes these tests run the release binary instead of the one built with them.
const BINARY_VARIABLE: &str = "DOCENT_BINARY";

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let variable = (BINARY_VARIABLE, context.release_binary("docent")?);
    if !context.is_ci {
        return run_in(context.workspace, &variable);
    }
    // `ci` compiled the tests in its clone.
    let place = ClonePlace::in_temporary()?;
    run_in(&place.update(&context.workspace.root)?, &variable)
}

fn run_in(workspace: &XtaskWorkspace, variable: &(&'static str, PathBuf)) -> Result<CheckCounts> {
    let usual = cargo_tests::run_named(workspace, &TESTS, IgnoredTests::Skip, variable.clone())?;
    let large =
        cargo_tests::run_named(workspace, &LARGE_TESTS, IgnoredTests::Only, variable.clone())?;
    Ok([usual, large].into_iter().sum())
}
