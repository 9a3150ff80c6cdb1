//! The repository's own chores: `cargo xtask test | ci | docs | tidy | bench | eval | soak | fuzz | screenshots`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what a chore finds goes to the terminal"
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
#[command(name = "cargo xtask", about = "The repository's own chores")]
struct XtaskCli {
    #[command(subcommand)]
    chore: XtaskCommand,
}

#[derive(Debug, Subcommand)]
enum XtaskCommand {
    /// Install what the tests need and run all of them; `--list` names the steps
    Test(checks::StepSelection),
    /// Formatting, lints, house rules, references, licences, and then the same as `test`
    Ci,
    /// Write the references that docent generates
    Docs {
        /// Compare them instead, and fail when they differ
        #[arg(long)]
        check: bool,
    },
    /// Check the rules of the house: layers, file lengths, names, wording, module documentation
    Tidy {
        /// Print how many of the avoided words and shared type names there are, and check nothing
        #[arg(long)]
        stats: bool,
    },
    /// Measure docent beside its peers: wire, repo, code, docs, search, hub, inspector
    #[command(disable_help_flag = true)]
    Bench {
        /// What to measure, and its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Compare what docent finds with what people found: repo, code, docs
    #[command(subcommand)]
    Eval(eval::Evaluation),
    /// Many clients on every network transport for minutes, with faults: no answer lost, crossed or wrong, nothing leaks
    Soak(soak::Options),
    /// Made-up bytes for every parser of outside bytes, until each has had its processor time; needs a nightly toolchain
    Fuzz(fuzz::Options),
    /// Pictures of each view of the inspector, in dark, light and phone width
    Screenshots(screenshots::Options),
    /// A server that the soak puts behind docent
    #[command(name = soak::desk::SUBCOMMAND, hide = true)]
    SoakDesk {
        /// What it is called
        name: String,
        /// Where it writes
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

/// True when the chore found nothing wrong.
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
    fn every_chore_can_be_parsed() {
        XtaskCli::command().debug_assert();
    }
}
