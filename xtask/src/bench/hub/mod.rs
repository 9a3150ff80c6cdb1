//! `cargo xtask bench hub`: what it costs to reach other servers through docent, compared with other gateways and other
//! command-line clients. Gateways take turns within a round, so that a busy moment of the machine affects all of them.

mod calls;
pub(super) mod gateway;
pub(super) mod gateway_home;
mod listing;
mod ready;
mod script;
mod shot;
mod tokens;

use super::{
    load::LoadStretch,
    peer::{build, eprint_step, folder},
    repo::table::RepoTable,
};
use crate::{docent::DocentProgram, machine, workspace::XtaskWorkspace};
use anyhow::{Context, Result};
use clap::ValueEnum;
use gateway::{Gateway, InstalledGateway};
use std::{collections::BTreeSet, fs, io::Write as _, path::PathBuf, time::Duration};

const NOTE: &str = "the median of the samples and their range, one sample per round; × is the figure divided by that of the\n  \
    base; calls go to an echo server on pipes; the added time is that of a call through the gateway, over the transport\n  \
    in the title, minus the p50 of the same calls without a gateway, over stdio, in the same round; CPU and RSS are\n  \
    those of the gateway and all its processes except the echo servers, from /proc (an echo server that the gateway\n  \
    has ended counts as the gateway's); 16 in flight use one pipe over stdio and 16 connections with a session each\n  \
    over HTTP; npm mcp-proxy serves one server, so five servers are five processes; command-line programs are measured\n  \
    from start to end with `wait4`, which shows no peak below the benchmark's own (about 12 MB)";

/// Options of `cargo xtask bench hub`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run each gateway this many times.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Measure each load for this long.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Measure these parts.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "calls,ready,shot,script,tokens"
    )]
    only: Vec<HubBenchPart>,
    /// Measure these gateways.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "docent,pypi-mcp-proxy,npm-mcp-proxy,fastmcp"
    )]
    gateways: Vec<Gateway>,
    /// Measure this docent binary [default: build this workspace's].
    #[arg(long)]
    docent: Option<PathBuf>,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HubBenchPart {
    /// What a gateway adds to a call.
    Calls,
    /// The time until it lists the tools of many servers.
    Ready,
    /// One call from a shell.
    Shot,
    /// Code mode.
    Script,
    /// The tokens that tool lists cost a model.
    Tokens,
}

/// Everything that the parts need.
struct HubBench<'a> {
    workspace: &'a XtaskWorkspace,
    docent: &'a DocentProgram,
    /// The echo server behind every gateway.
    echo: PathBuf,
    rounds: u32,
    measured: LoadStretch,
    gateways: Vec<Gateway>,
    /// Each gateway, or why it is unavailable.
    prepared: Vec<(Gateway, Result<InstalledGateway<'a>, String>)>,
    runtime: tokio::runtime::Runtime,
}

impl<'a> HubBench<'a> {
    fn prepare(
        workspace: &'a XtaskWorkspace,
        docent: &'a DocentProgram,
        options: &Options,
    ) -> Result<Self> {
        eprint_step("preparing the echo server");
        let (echo, _) = build(workspace, "echo")?;
        let mut prepared = Vec::new();
        for gateway in &options.gateways {
            eprint_step(&format!("preparing {}", gateway.display_name()));
            let found = InstalledGateway::prepare(workspace, docent, *gateway);
            prepared.push((*gateway, found.map_err(|problem| format!("{problem:#}"))));
        }
        Ok(Self {
            workspace,
            docent,
            echo: gateway::real(&echo)?,
            rounds: options.rounds.max(1),
            measured: LoadStretch::with_time(
                Duration::try_from_secs_f64(options.seconds).context("--seconds")?,
            ),
            gateways: options.gateways.clone(),
            prepared,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        })
    }

    fn prepared(&self, gateway: Gateway) -> Option<&Result<InstalledGateway<'a>, String>> {
        self.prepared.iter().find(|(one, _)| *one == gateway).map(|(_, found)| found)
    }

    fn installed(&self, gateway: Gateway) -> Option<&InstalledGateway<'a>> {
        self.prepared(gateway)?.as_ref().ok()
    }

    /// Why a gateway can't be measured.
    fn problem(&self, gateway: Gateway) -> Option<&str> {
        self.prepared(gateway)?.as_ref().err().map(String::as_str)
    }

    fn versions(&self) -> Vec<String> {
        let found = self.prepared.iter().filter_map(|(_, found)| found.as_ref().ok());
        found.map(|installed| installed.version.clone()).collect()
    }
}

/// Measures, prints the tables and writes them to target/bench/hub.json.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options, args: &[String]) -> Result<()> {
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let bench = HubBench::prepare(workspace, &docent, options)?;
    let mut table = RepoTable::new("Hub", NOTE);
    table.describe("machine", machine::describe()?);
    table.describe("date", machine::now()?);
    table.describe("command", format!("cargo xtask bench {}", args.join(" ")));
    table.describe("load average at the start", machine::load_average()?);
    let mut versions = bench.versions();
    let asked = |part| options.only.contains(&part);
    if asked(HubBenchPart::Calls) {
        calls::measure(&bench)?.into_iter().for_each(|section| table.push(section));
    }
    if asked(HubBenchPart::Ready) {
        table.push(ready::measure(&bench));
    }
    if asked(HubBenchPart::Shot) {
        let (section, others) = shot::measure(&bench)?;
        table.push(section);
        versions.extend(others);
    }
    if asked(HubBenchPart::Script) {
        table.push(script::measure(&bench)?);
    }
    if asked(HubBenchPart::Tokens) {
        table.push(tokens::measure(&bench)?);
    }
    let versions: BTreeSet<String> = versions.into_iter().collect();
    let versions: Vec<String> = versions.into_iter().collect();
    table.describe("versions", versions.join("; "));
    table.describe("load average at the end", machine::load_average()?);
    write!(std::io::stdout(), "{table}")?;
    let path = folder(workspace, "")?.join("hub.json");
    fs::write(&path, serde_json::to_vec_pretty(&table.json())?)
        .with_context(|| format!("writing {}", path.display()))
}
