//! `cargo xtask ci`: every check that a change must pass, cheapest first, followed by the same steps as `test`. The
//! workspace's own tests run from a clone under /tmp, and as an ordinary user too.

use crate::{
    checks, docs, install,
    process::{self, Output},
    report::{Counts, Report},
    tidy,
    workspace::Workspace,
};
use anyhow::Result;
use std::{path::Path, process::Command, time::Duration};

const LIMIT: Duration = Duration::from_hours(1);
const ADVISORIES_LIMIT: Duration = Duration::from_mins(3);

/// Runs all checks; true when nothing failed.
pub(crate) fn run(workspace: &Workspace) -> bool {
    let mut report = Report::default();
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

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<Counts> {
    let mut command = workspace.cargo(arguments.iter().copied());
    Ok(one(process::run(&mut command, LIMIT, Output::Shown)?.success))
}

fn one(success: bool) -> Counts {
    if success { Counts::ONE_PASSED } else { Counts::ONE_FAILED }
}

/// Checks licenses, bans and sources offline, and advisories if their database can be fetched.
fn deny(workspace: &Workspace) -> Result<Counts> {
    let program = install::cargo_deny(workspace)?;
    let checks = ["check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
    let mut kept = Vec::new();
    kept.push(one(
        process::run(&mut command(workspace, &program, &checks), LIMIT, Output::Shown)?.success
    ));
    let fetched = process::run(
        &mut command(workspace, &program, &["fetch", "db"]),
        ADVISORIES_LIMIT,
        Output::Kept,
    )?;
    kept.push(if fetched.success {
        let checks = ["check", "--disable-fetch", "advisories"];
        one(process::run(&mut command(workspace, &program, &checks), LIMIT, Output::Shown)?.success)
    } else {
        println!(
            "skipped: the advisory database can't be fetched ({})",
            process::tail(&fetched.text, 3)
        );
        Counts::ONE_SKIPPED
    });
    Ok(kept.into_iter().sum())
}

fn command(workspace: &Workspace, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(["--workspace", "--all-features"]).args(arguments).current_dir(&workspace.root);
    command
}
