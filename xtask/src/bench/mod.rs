//! `cargo xtask bench`: measurements printed as one table, below a description of the machine.

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

/// Benchmark docent against its peers.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
enum BenchCommand {
    /// Measure one call on the wire: docent, a bare rmcp server, the TypeScript SDK and the Python SDK.
    Wire(wire::Options),
    /// Measure repository analysis: docent, tokei and tree-sitter.
    Repo(repo::Options),
    /// Measure a project's index: its cost, and the latency of edits and answers.
    Code(code::Options),
    /// Measure updating and searching documentation: docent, tantivy and docs-mcp-server.
    Docs(docs::Options),
    /// Measure calls to downstream servers: docent, other gateways and other command-line clients.
    Hub(hub::Options),
    /// Measure the inspector: its page, its memory, and calls with and without capture; also the official one.
    Inspector(inspector::Options),
    /// Measure search: the index, tantivy alone and usearch alone.
    Search {
        /// Sizes of the index, in units
        #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,1000000")]
        units: Vec<usize>,
    },
}

/// Runs the benchmark named by the arguments; `args` is what follows `bench` on the command line.
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

/// Runs xtask again in release mode: an unoptimized load generator would compete with the measured server for CPU.
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
