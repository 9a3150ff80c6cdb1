//! `cargo xtask bench inspector`: what the inspector's page costs to open and keep open, compared with the official
//! inspector, and what its capture costs each call. Subjects take turns, so that a busy moment affects all of them.

mod calls;
mod page;

use super::{
    hub::gateway::real,
    load::LoadStretch,
    peer::{build, eprint_step, folder},
    repo::table::RepoTable,
};
use crate::{docent::DocentProgram, machine, workspace::XtaskWorkspace};
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::{fs, io::Write as _, path::PathBuf, time::Duration};

const NOTE: &str = "the median of the samples and their range; × is the figure divided by that of the base; the page is opened in\n  \
    Debian's headless Chromium, already running, on server-everything over stdio; it is usable when the tools' names\n  \
    are visible; bytes are those of response bodies on the wire, kB and MB are powers of ten; RSS and PSS are those\n  \
    of all processes of the inspector except server-everything and the browser; calls go over Streamable HTTP to an\n  \
    echo server on pipes behind `docent serve`; CPU is that of docent and its processes except the echo server, from /proc";

/// Options of `cargo xtask bench inspector`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Open each page this many times.
    #[arg(long, default_value_t = 9)]
    openings: u32,
    /// Measure each capture level this many times.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measure each load for this long.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Measure these parts.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "page,calls")]
    only: Vec<InspectorBenchPart>,
    /// Measure this docent binary [default: build this workspace's].
    #[arg(long)]
    docent: Option<PathBuf>,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InspectorBenchPart {
    /// Opening the page, its size and its memory.
    Page,
    /// The cost of a call with and without capture.
    Calls,
}

/// Measures, prints the tables and writes them to target/bench/inspector.json.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options, args: &[String]) -> Result<()> {
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let mut table = RepoTable::new("Inspector", NOTE);
    table.describe("machine", machine::describe()?);
    table.describe("date", machine::now()?);
    table.describe("command", format!("cargo xtask bench {}", args.join(" ")));
    table.describe("load average at the start", machine::load_average()?);
    let mut versions = vec![docent.version(workspace)?];
    if options.only.contains(&InspectorBenchPart::Page) {
        eprint_step("opening pages");
        let found = page::measure(workspace, &docent, options.openings.max(1))?;
        found.sections.into_iter().for_each(|section| table.push(section));
        versions.extend(found.versions);
    }
    if options.only.contains(&InspectorBenchPart::Calls) {
        eprint_step("preparing the echo server");
        let (echo, _) = build(workspace, "echo")?;
        let measured = LoadStretch::with_time(
            Duration::try_from_secs_f64(options.seconds).context("--seconds")?,
        );
        let bench = calls::CaptureBench { docent: &docent, echo: real(&echo)?, measured };
        table.push(bench.measure(options.rounds.max(1))?);
    }
    table.describe("versions", versions.join("; "));
    table.describe("load average at the end", machine::load_average()?);
    write!(std::io::stdout(), "{table}")?;
    let path = folder(workspace, "")?.join("inspector.json");
    fs::write(&path, serde_json::to_vec_pretty(&table.json())?)
        .with_context(|| format!("writing {}", path.display()))
}
