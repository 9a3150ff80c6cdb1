//! `cargo xtask ci`: every check that a change must pass, cheapest first, followed by the same steps as `test`. The
//! workspace's own tests run from a clone under /tmp, and as an ordinary user too.

use crate::{
    checks, docs, install,
    process::{self, OutputMode},
    report::{CheckCounts, CheckReport},
    tidy,
    workspace::XtaskWorkspace,
};
use anyhow::Result;
use std::{path::Path, process::Command, time::Duration};

const COMMAND_LIMIT: Duration = Duration::from_hours(1);
const ADVISORIES_LIMIT: Duration = Duration::from_mins(3);

/// Runs all checks; true when nothing failed.
pub(crate) fn run(workspace: &XtaskWorkspace) -> bool {
    let mut report = CheckReport::default();
    report.step("fmt", || cargo(workspace, &["fmt", "--all", "--check"]));
    report.step("clippy", || {
        cargo(
            workspace,
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--features",
                "docent-testkit/lab",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ],
        )
    });
    report.step("tidy", || Ok(one(tidy::run(workspace)? == 0)));
    report.step("docs", || Ok(one(docs::run(workspace, true)? == 0)));
    report.step("deny", || deny(workspace));
    checks::run_all(workspace, &mut report);
    report.print()
}

fn cargo(workspace: &XtaskWorkspace, arguments: &[&str]) -> Result<CheckCounts> {
    let mut command = workspace.cargo(arguments.iter().copied());
    Ok(one(process::run(&mut command, COMMAND_LIMIT, OutputMode::Shown)?.success))
}

fn one(success: bool) -> CheckCounts {
    if success { CheckCounts::ONE_PASSED } else { CheckCounts::ONE_FAILED }
}

/// Checks licenses, bans and sources offline, and advisories if their database can be fetched.
fn deny(workspace: &XtaskWorkspace) -> Result<CheckCounts> {
    let program = install::cargo_deny(workspace)?;
    let checks = ["check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
    let mut kept = Vec::new();
    kept.push(one(process::run(
        &mut command(workspace, &program, &checks),
        COMMAND_LIMIT,
        OutputMode::Shown,
    )?
    .success));
    let fetched = process::run(
        &mut command(workspace, &program, &["fetch", "db"]),
        ADVISORIES_LIMIT,
        OutputMode::Kept,
    )?;
    kept.push(if fetched.success {
        let checks = ["check", "--disable-fetch", "advisories"];
        one(process::run(
            &mut command(workspace, &program, &checks),
            COMMAND_LIMIT,
            OutputMode::Shown,
        )?
        .success)
    } else {
        println!(
            "skipped: the advisory database can't be fetched ({})",
            process::tail(&fetched.text, 3)
        );
        CheckCounts::ONE_SKIPPED
    });
    Ok(kept.into_iter().sum())
}

fn command(workspace: &XtaskWorkspace, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(["--workspace", "--all-features"]).args(arguments).current_dir(&workspace.root);
    command
}
