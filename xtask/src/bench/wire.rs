//! `cargo xtask bench wire`: the order of the measurements. Peers take turns within a round, so that a busy moment of
//! the machine affects all of them, and a figure is the median of the rounds.

use super::{
    idle::IdleClient,
    load::LoadStretch,
    peer::{InstalledPeer, PeerName, eprint_step, folder},
    pipe::PipeServer,
    post::{self, PostConnection, PostForm},
    table::{Subject, WireMeasure, WireTable},
    usage,
};
use crate::{
    machine,
    process::{BackgroundProcess, free_port},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    fs,
    io::Write as _,
    thread,
    time::{Duration, Instant},
};

/// A peer that takes longer than this to listen is broken.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Starts are timed until they have taken this long in a round, at most `MAX_TIMED_STARTS` times.
const START_BUDGET: Duration = Duration::from_secs(2);
const MAX_TIMED_STARTS: usize = 20;
/// Lets allocators and garbage collectors settle before memory is read.
const SETTLE_TIME: Duration = Duration::from_millis(500);
const WARM_LIMIT: Duration = Duration::from_secs(8);
const CONCURRENT_CLIENTS: u32 = 32;

/// Options of `cargo xtask bench wire`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure these servers.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "docent,docent-serve,rmcp,typescript,typescript-v2,python"
    )]
    peers: Vec<PeerName>,
    /// Run each server this many times.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measure each load for this long.
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Warm up each server with this many calls, for at most 8 seconds: just-in-time compilers need thousands.
    #[arg(long, default_value_t = 10_000)]
    warm_up: u32,
    /// Connect this many silent clients to docent, over SSE and then over WebSocket; 0 skips both.
    #[arg(long, default_value_t = 1000)]
    idle_clients: usize,
}

/// Measures, prints the table and writes it to target/bench/wire.json.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options, args: &[String]) -> Result<()> {
    let measured =
        LoadStretch::with_time(Duration::try_from_secs_f64(options.seconds).context("--seconds")?);
    raise_file_limit()?;
    let mut peers = Vec::new();
    for name in &options.peers {
        peers.push(InstalledPeer::prepare(workspace, *name)?);
    }
    let mut bench = WireBench {
        table: WireTable::default(),
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        warm: LoadStretch { time: WARM_LIMIT, calls: options.warm_up },
        measured,
    };
    bench.describe(&peers, args)?;
    if let Some(docent) = peers.iter().find(|peer| peer.name == PeerName::Docent) {
        bench.idle_clients(docent, options.idle_clients)?;
    }
    for round in 1..=options.rounds {
        for peer in &peers {
            eprint_step(&format!(
                "round {round} of {}: {}",
                options.rounds,
                peer.name.display_name()
            ));
            bench.turn(peer).with_context(|| format!("measuring {}", peer.name.display_name()))?;
        }
    }
    bench.table.describe("load average at the end", &machine::load_average()?);
    write!(std::io::stdout(), "{}", bench.table)?;
    let path = folder(workspace, "")?.join("wire.json");
    fs::write(&path, serde_json::to_vec_pretty(&bench.table.json())?)
        .with_context(|| format!("writing {}", path.display()))
}

struct WireBench {
    table: WireTable,
    runtime: tokio::runtime::Runtime,
    warm: LoadStretch,
    measured: LoadStretch,
}

impl WireBench {
    /// Writes the lines above the table.
    fn describe(&mut self, peers: &[InstalledPeer], args: &[String]) -> Result<()> {
        self.table.describe("machine", &machine::describe()?);
        self.table.describe("date", &machine::now()?);
        self.table.describe("command", &format!("cargo xtask bench {}", args.join(" ")));
        let versions: Vec<_> = peers
            .iter()
            .map(|peer| format!("{} {}", peer.name.display_name(), peer.version))
            .collect();
        self.table.describe("versions", &versions.join("; "));
        self.table.describe("load average at the start", &machine::load_average()?);
        Ok(())
    }

    /// Does one round of all measurements on a peer.
    fn turn(&mut self, peer: &InstalledPeer) -> Result<()> {
        self.starts(peer)?;
        let forms = peer.name.forms();
        if forms.is_empty() {
            let (_server, _port) = self.idle_server(Subject::of(peer.name), peer)?;
            return Ok(());
        }
        let (mut server, _) = PipeServer::start(peer.on_pipes())?;
        let load = server.load(self.warm, self.measured).context("over stdio")?;
        drop(server);
        self.table.add(WireMeasure::StdioCpu, Subject::of(peer.name), load.cpu_per_call());
        for form in forms {
            self.http(peer, *form).with_context(|| format!("over HTTP ({form})"))?;
        }
        Ok(())
    }

    fn starts(&mut self, peer: &InstalledPeer) -> Result<()> {
        let began = Instant::now();
        for _ in 0..MAX_TIMED_STARTS {
            let (_server, elapsed) =
                PipeServer::start(peer.on_pipes()).context("starting on stdio")?;
            self.table.add(WireMeasure::Start, Subject::of(peer.name), elapsed.as_secs_f64() * 1e3);
            if began.elapsed() > START_BUDGET {
                break;
            }
        }
        Ok(())
    }

    fn http(&mut self, peer: &InstalledPeer, form: PostForm) -> Result<()> {
        let subject = Subject { peer: peer.name, form };
        let (_server, port) = self.idle_server(subject, peer)?;
        let many = self.runtime.block_on(post::load(
            (port, form),
            CONCURRENT_CLIENTS,
            self.warm,
            self.measured,
        ))?;
        self.table.add(WireMeasure::ManyConnections, subject, many.calls_per_second());
        self.table.add(WireMeasure::HttpCpu, subject, many.cpu_per_call());
        // The server is warm by now; only the new connection must be opened.
        let one = self.runtime.block_on(post::load(
            (port, form),
            1,
            LoadStretch::with_time(SETTLE_TIME),
            self.measured,
        ))?;
        self.table.add(WireMeasure::OneConnection, subject, one.calls_per_second());
        thread::sleep(SETTLE_TIME);
        self.table.add(WireMeasure::LoadedMemory, subject, usage::resident_mb()?);
        Ok(())
    }

    /// Starts a server on a port, does one handshake, and records its idle memory.
    fn idle_server(
        &mut self,
        subject: Subject,
        peer: &InstalledPeer,
    ) -> Result<(BackgroundProcess, u16)> {
        let port = free_port()?;
        let server = BackgroundProcess::listening(&mut peer.on_port(port), port, START_LIMIT)?;
        drop(self.runtime.block_on(PostConnection::open(port, PostForm::Session))?);
        thread::sleep(SETTLE_TIME);
        if subject.form == PostForm::Session {
            self.table.add(WireMeasure::IdleMemory, subject, usage::resident_mb()?);
        }
        Ok((server, port))
    }

    fn idle_clients(&mut self, docent: &InstalledPeer, clients: usize) -> Result<()> {
        if clients == 0 {
            return Ok(());
        }
        for measure in [WireMeasure::SseClients(clients), WireMeasure::WebSocketClients(clients)] {
            let open = if matches!(measure, WireMeasure::SseClients(_)) {
                IdleClient::sse
            } else {
                IdleClient::web_socket
            };
            eprint_step(&measure.to_string());
            let port = free_port()?;
            let _server =
                BackgroundProcess::listening(&mut docent.on_port(port), port, START_LIMIT)?;
            let mut held = Vec::new();
            for number in 1..=clients {
                held.push(open(port).with_context(|| format!("{measure}: client {number}"))?);
            }
            thread::sleep(SETTLE_TIME);
            self.table.add(measure, Subject::of(docent.name), usage::resident_mb()?);
        }
        Ok(())
    }
}

/// Raises the limit on open files: a thousand clients are two thousand sockets with the server's, which inherits it.
fn raise_file_limit() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        .context("raising the limit on open files")
}
