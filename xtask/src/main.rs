//! The repository's tasks: `cargo xtask test | ci | docs | tidy | bench | eval | soak | fuzz | screenshots`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task prints its results to the terminal"
)]

mod bench;
mod checks;
mod ci;
mod corpus;
mod docent;
mod docs;
mod eval;
mod fuzz;
mod install;
mod lab;
mod machine;
mod process;
mod report;
mod screenshots;
mod soak;
mod tidy;
mod tokei;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};
use workspace::XtaskWorkspace;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Run a development task of this repository")]
struct XtaskCli {
    #[command(subcommand)]
    chore: XtaskCommand,
}

#[derive(Debug, Subcommand)]
enum XtaskCommand {
    /// Install test dependencies and run all test steps; `--list` prints the steps
    Test(checks::StepSelection),
    /// Check formatting, lints, `tidy`, references and licenses, then run the same steps as `test`
    Ci,
    /// Write the generated reference pages
    Docs {
        /// Compare the pages instead, and fail if they differ
        #[arg(long)]
        check: bool,
    },
    /// Check project rules: layers, file lengths, names, wording, module documentation
    Tidy {
        /// Count avoided words and shared type names, without checking anything
        #[arg(long)]
        stats: bool,
    },
    /// Benchmark docent against its peers: wire, repo, code, docs, search, hub, inspector
    #[command(disable_help_flag = true)]
    Bench {
        /// The benchmark to run, and its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Compare docent's results with human judgments: repo, code, docs
    #[command(subcommand)]
    Eval(eval::Evaluation),
    /// Run many clients on every network transport with faults; fail on lost, mixed-up or wrong answers and on leaks
    Soak(soak::Options),
    /// Fuzz every parser of untrusted input for its share of CPU time; needs a nightly toolchain
    Fuzz(fuzz::Options),
    /// Take screenshots of each inspector view: dark, light and phone width
    Screenshots(screenshots::Options),
    /// Run a downstream server for the soak test
    #[command(name = soak::flaky_server::SUBCOMMAND, hide = true)]
    SoakDesk {
        /// The server's name
        name: String,
        /// The folder it writes to
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(XtaskCli::parse().chore) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one task; true when it found no problems.
fn run(chore: XtaskCommand) -> Result<bool> {
    if let XtaskCommand::SoakDesk { name, folder } = chore {
        return soak::flaky_server::run(&name, &folder).map(|()| true);
    }
    process::end_children_on_signals()?;
    let workspace = XtaskWorkspace::find()?;
    Ok(match chore {
        XtaskCommand::Test(selection) => checks::run(&workspace, &selection)?,
        XtaskCommand::Ci => ci::run(&workspace),
        XtaskCommand::Docs { check } => docs::run(&workspace, check)? == 0 || !check,
        XtaskCommand::Tidy { stats: true } => {
            tidy::print_stats(&workspace)?;
            true
        }
        XtaskCommand::Tidy { stats: false } => tidy::run(&workspace)? == 0,
        XtaskCommand::Bench { arguments } => {
            bench::run(&arguments)?;
            true
        }
        XtaskCommand::Eval(evaluation) => eval::run(&workspace, &evaluation)?,
        XtaskCommand::Soak(options) => soak::run(&workspace, &options)?,
        XtaskCommand::Fuzz(options) => fuzz::run(&workspace, &options)?,
        XtaskCommand::Screenshots(options) => screenshots::run(&workspace, &options)?,
        XtaskCommand::SoakDesk { .. } => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_valid() {
        XtaskCli::command().debug_assert();
    }
}
