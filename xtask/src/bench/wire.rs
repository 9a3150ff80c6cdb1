//! `cargo xtask bench wire`: the order of the measurements. Peers take turns within a round, so that a busy moment of
//! the machine affects all of them, and a figure is the median of the rounds.

use super::{
    idle::Client,
    load::Stretch,
    peer::{Name, Peer, eprint_step, folder},
    pipe::Server,
    post::{self, Connection, Form},
    table::{Measure, Subject, Table},
    usage,
};
use crate::{
    machine,
    process::{Background, free_port},
    workspace::Workspace,
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
/// Starts are timed until they have taken this long in a round, at most `STARTS` times.
const START_BUDGET: Duration = Duration::from_secs(2);
const STARTS: usize = 20;
/// Lets allocators and garbage collectors settle before memory is read.
const SETTLE: Duration = Duration::from_millis(500);
const WARM_LIMIT: Duration = Duration::from_secs(8);
const MANY: u32 = 32;

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
    peers: Vec<Name>,
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
pub(crate) fn run(workspace: &Workspace, options: &Options, args: &[String]) -> Result<()> {
    let measured = Stretch::of(Duration::try_from_secs_f64(options.seconds).context("--seconds")?);
    raise_file_limit()?;
    let mut peers = Vec::new();
    for name in &options.peers {
        peers.push(Peer::prepare(workspace, *name)?);
    }
    let mut bench = Bench {
        table: Table::default(),
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        warm: Stretch { time: WARM_LIMIT, calls: options.warm_up },
        measured,
    };
    bench.describe(&peers, args)?;
    if let Some(docent) = peers.iter().find(|peer| peer.name == Name::Docent) {
        bench.idle_clients(docent, options.idle_clients)?;
    }
    for round in 1..=options.rounds {
        for peer in &peers {
            eprint_step(&format!("round {round} of {}: {}", options.rounds, peer.name.shown()));
            bench.turn(peer).with_context(|| format!("measuring {}", peer.name.shown()))?;
        }
    }
    bench.table.describe("load average at the end", &machine::load_average()?);
    write!(std::io::stdout(), "{}", bench.table)?;
    let path = folder(workspace, "")?.join("wire.json");
    fs::write(&path, serde_json::to_vec_pretty(&bench.table.json())?)
        .with_context(|| format!("writing {}", path.display()))
}

struct Bench {
    table: Table,
    runtime: tokio::runtime::Runtime,
    warm: Stretch,
    measured: Stretch,
}

impl Bench {
    /// Writes the lines above the table.
    fn describe(&mut self, peers: &[Peer], args: &[String]) -> Result<()> {
        self.table.describe("machine", &machine::describe()?);
        self.table.describe("date", &machine::now()?);
        self.table.describe("command", &format!("cargo xtask bench {}", args.join(" ")));
        let versions: Vec<_> =
            peers.iter().map(|peer| format!("{} {}", peer.name.shown(), peer.version)).collect();
        self.table.describe("versions", &versions.join("; "));
        self.table.describe("load average at the start", &machine::load_average()?);
        Ok(())
    }

    /// Does one round of all measurements on a peer.
    fn turn(&mut self, peer: &Peer) -> Result<()> {
        self.starts(peer)?;
        let forms = peer.name.forms();
        if forms.is_empty() {
            let (_server, _port) = self.idle_server(Subject::of(peer.name), peer)?;
            return Ok(());
        }
        let (mut server, _) = Server::start(peer.on_pipes())?;
        let load = server.load(self.warm, self.measured).context("over stdio")?;
        drop(server);
        self.table.add(Measure::StdioCpu, Subject::of(peer.name), load.cpu_per_call());
        for form in forms {
            self.http(peer, *form).with_context(|| format!("over HTTP ({form})"))?;
        }
        Ok(())
    }

    fn starts(&mut self, peer: &Peer) -> Result<()> {
        let began = Instant::now();
        for _ in 0..STARTS {
            let (_server, elapsed) = Server::start(peer.on_pipes()).context("starting on stdio")?;
            self.table.add(Measure::Start, Subject::of(peer.name), elapsed.as_secs_f64() * 1e3);
            if began.elapsed() > START_BUDGET {
                break;
            }
        }
        Ok(())
    }

    fn http(&mut self, peer: &Peer, form: Form) -> Result<()> {
        let subject = Subject { peer: peer.name, form };
        let (_server, port) = self.idle_server(subject, peer)?;
        let many =
            self.runtime.block_on(post::load((port, form), MANY, self.warm, self.measured))?;
        self.table.add(Measure::ManyConnections, subject, many.calls_per_second());
        self.table.add(Measure::HttpCpu, subject, many.cpu_per_call());
        // The server is warm by now; only the new connection must be opened.
        let one = self.runtime.block_on(post::load(
            (port, form),
            1,
            Stretch::of(SETTLE),
            self.measured,
        ))?;
        self.table.add(Measure::OneConnection, subject, one.calls_per_second());
        thread::sleep(SETTLE);
        self.table.add(Measure::LoadedMemory, subject, usage::resident_mb()?);
        Ok(())
    }

    /// Starts a server on a port, does one handshake, and records its idle memory.
    fn idle_server(&mut self, subject: Subject, peer: &Peer) -> Result<(Background, u16)> {
        let port = free_port()?;
        let server = Background::listening(&mut peer.on_port(port), port, START_LIMIT)?;
        drop(self.runtime.block_on(Connection::open(port, Form::Session))?);
        thread::sleep(SETTLE);
        if subject.form == Form::Session {
            self.table.add(Measure::IdleMemory, subject, usage::resident_mb()?);
        }
        Ok((server, port))
    }

    fn idle_clients(&mut self, docent: &Peer, clients: usize) -> Result<()> {
        if clients == 0 {
            return Ok(());
        }
        for measure in [Measure::SseClients(clients), Measure::WebSocketClients(clients)] {
            let open = if matches!(measure, Measure::SseClients(_)) {
                Client::sse
            } else {
                Client::web_socket
            };
            eprint_step(&measure.to_string());
            let port = free_port()?;
            let _server = Background::listening(&mut docent.on_port(port), port, START_LIMIT)?;
            let mut held = Vec::new();
            for number in 1..=clients {
                held.push(open(port).with_context(|| format!("{measure}: client {number}"))?);
            }
            thread::sleep(SETTLE);
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
