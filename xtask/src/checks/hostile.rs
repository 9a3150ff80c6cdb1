//! The step that attacks the release binary with special files, work past its deadline and scripts that never end, and
//! compares what hostile text costs the parsers at several sizes.

use super::{Context, cargo_tests, clone::ClonePlace};
use crate::report::Counts;
use anyhow::Result;

/// Parts of the names of the tests.
const TESTS: [&str; 2] = ["hostile_", "complexity_gate"];
/// The program that these tests run in place of the one that was built with them.
const BINARY: &str = "DOCENT_BINARY";

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let variable = (BINARY, context.release_binary("docent")?);
    if !context.is_ci {
        return cargo_tests::run_named(context.workspace, &TESTS, variable);
    }
    // `ci` has compiled the tests in its clone.
    let place = ClonePlace::in_temporary()?;
    let clone = place.update(&context.workspace.root)?;
    cargo_tests::run_named(&clone, &TESTS, variable)
}
