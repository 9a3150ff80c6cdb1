//! `cargo xtask bench`: measurements that are printed as one table, with the machine they were made on above it.

mod code;
mod docs;
mod hub;
mod idle;
mod inspector;
mod load;
mod message;
mod peer;
mod pipe;
mod post;
pub(crate) mod reply;
mod repo;
mod table;
pub(crate) mod usage;
mod wire;

use crate::{lab, workspace::XtaskWorkspace};
use anyhow::{Context, Result, bail};
use clap::Parser;
use std::{os::unix::process::CommandExt as _, process::Command};

/// Measures docent beside its peers.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
enum BenchCommand {
    /// What one call costs on the wire: docent, a bare rmcp server, the TypeScript SDK and the Python SDK.
    Wire(wire::Options),
    /// What an analysis of a repository costs: docent beside tokei and tree-sitter.
    Repo(repo::Options),
    /// What the index of a project costs, how soon it has an edit, and how soon it answers.
    Code(code::Options),
    /// What collections of documentation cost to bring in step and to ask: docent, tantivy and docs-mcp-server.
    Docs(docs::Options),
    /// What servers behind docent cost to reach: docent beside other gateways and other clients for a shell.
    Hub(hub::Options),
    /// What the inspector costs: its page, its memory, and calls with and without capture; beside the official one.
    Inspector(inspector::Options),
    /// What search costs: the index beside tantivy alone and usearch alone.
    Search {
        /// Units in the index
        #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,1000000")]
        units: Vec<usize>,
    },
}

/// Runs the benchmark that the arguments name; `args` is what follows `bench` on the command line.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let bench = match BenchCommand::try_parse_from(
        std::iter::once("bench").chain(args.iter().map(String::as_str)),
    ) {
        Ok(bench) => bench,
        Err(usage) => usage.exit(),
    };
    let workspace = XtaskWorkspace::find()?;
    if cfg!(debug_assertions) {
        return again_in_release(&workspace, args);
    }
    match bench {
        BenchCommand::Wire(options) => wire::run(&workspace, &options, args),
        BenchCommand::Repo(options) => repo::run(&workspace, &options, args),
        BenchCommand::Code(options) => code::run(&workspace, &options, args),
        BenchCommand::Docs(options) => docs::run(&workspace, &options, args),
        BenchCommand::Hub(options) => hub::run(&workspace, &options, args),
        BenchCommand::Inspector(options) => inspector::run(&workspace, &options, args),
        BenchCommand::Search { units } => lab::bench(&workspace, &units),
    }
}

/// An unoptimised load generator would take the processor from the server that it measures.
fn again_in_release(workspace: &XtaskWorkspace, args: &[String]) -> Result<()> {
    let built = workspace
        .cargo(["build", "--quiet", "--release", "--package", "xtask"])
        .status()
        .context("running cargo build")?;
    if !built.success() {
        bail!("building xtask for the benchmark failed ({built})");
    }
    let program = workspace.binary("release", "xtask");
    let problem = Command::new(&program).arg("bench").args(args).exec();
    Err(problem).with_context(|| format!("starting {}", program.display()))
}
