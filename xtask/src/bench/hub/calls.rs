//! What a gateway adds to a call, one at a time and with many in flight, in front of an echo server whose own cost is
//! negligible.

use super::{
    HubBench,
    gateway::{Gateway, GatewayTransport, InstalledGateway},
    gateway_home::{BenchDownstream, BenchExposure, GatewayHome},
};
use crate::bench::{
    code::percentile,
    load::{LoadResult, LoadStretch, Stopwatch},
    peer::eprint_step,
    pipe::PipeServer,
    post::{self, EchoEndpoint, PostConnection, PostForm},
    repo::table::{RepoTarget, TreeSection},
    usage,
};
use anyhow::{Context, Result};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

const IN_FLIGHT: u32 = 16;
/// Numbers of servers behind a gateway.
const SERVER_COUNTS: [(usize, &str); 2] = [(1, "one server"), (5, "five servers")];
const WARM_UP: LoadStretch = LoadStretch { time: Duration::from_secs(2), calls: 2000 };
/// Lets allocators and garbage collectors settle before memory is read.
const SETTLE_TIME: Duration = Duration::from_millis(300);
/// A gateway that takes longer for its turn is stuck.
const TURN_LIMIT: Duration = Duration::from_mins(2);
const DIRECT: &str = "no gateway";
const PEERS: &[&str] = &[
    Gateway::PypiMcpProxy.display_name(),
    Gateway::NpmMcpProxy.display_name(),
    Gateway::Fastmcp.display_name(),
];

/// The measurements of one turn.
#[derive(Debug)]
struct HubCallSample {
    /// The duration of each call, one at a time.
    times: Vec<Duration>,
    one: LoadResult,
    many: LoadResult,
    memory_mb: f64,
}

impl HubCallSample {
    /// Returns the percentile of the call durations, in microseconds.
    fn percentile(&self, share: usize) -> f64 {
        let times: Vec<f64> = self.times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        percentile(&times, share)
    }
}

/// Adds a section for each transport and number of servers.
pub(super) fn measure(bench: &HubBench<'_>) -> Result<Vec<TreeSection>> {
    let mut kinds = Vec::new();
    for (count, title) in SERVER_COUNTS {
        for front in [GatewayTransport::Stdio, GatewayTransport::Http] {
            kinds.push(CallScenario::new(bench, (count, title), front));
        }
    }
    for round in 1..=bench.rounds {
        for kind in &mut kinds {
            eprint_step(&format!("round {round} of {}: calls, {}", bench.rounds, kind.title));
            kind.round(bench)?;
        }
    }
    Ok(kinds.into_iter().map(|kind| kind.section).collect())
}

/// Calls over one transport to a gateway with one number of servers.
struct CallScenario {
    title: String,
    front: GatewayTransport,
    servers: Vec<BenchDownstream>,
    section: TreeSection,
    /// Gateways that failed once and are not tried again.
    left: Vec<Gateway>,
}

impl CallScenario {
    fn new(bench: &HubBench<'_>, (count, words): (usize, &str), front: GatewayTransport) -> Self {
        let shown = if front == GatewayTransport::Stdio { "stdio" } else { "Streamable HTTP" };
        let title = format!("{words}, over {shown}");
        let mut section =
            TreeSection::new(format!("Calls: {title}"), Gateway::Docent.display_name());
        let mut left = Vec::new();
        for gateway in &bench.gateways {
            if !gateway.has(front) {
                section.lack(
                    gateway.display_name(),
                    "doesn't support this transport for stdio servers",
                );
            } else if let Some(problem) = bench.problem(*gateway) {
                section.lack(gateway.display_name(), problem);
            } else {
                left.push(*gateway);
            }
        }
        let servers = BenchDownstream::many(&bench.echo, count);
        Self { title, front, servers, section, left }
    }

    fn round(&mut self, bench: &HubBench<'_>) -> Result<()> {
        let direct = measure_direct(bench)?;
        for gateway in self.left.clone() {
            let Some(installed) = bench.installed(gateway) else { continue };
            match self.turn(bench, installed) {
                Ok(turn) => self.add(gateway.display_name(), &turn, Some(&direct)),
                Err(problem) => {
                    self.section.lack(gateway.display_name(), &format!("{problem:#}"));
                    self.left.retain(|other| *other != gateway);
                }
            }
        }
        self.add(DIRECT, &direct, None);
        Ok(())
    }

    fn turn(&self, bench: &HubBench<'_>, gateway: &InstalledGateway<'_>) -> Result<HubCallSample> {
        let place = GatewayHome::new(self.servers.clone(), BenchExposure::Direct)?;
        match self.front {
            GatewayTransport::Stdio => {
                let names: Vec<&str> =
                    self.servers.iter().map(|server| server.name.as_str()).collect();
                let (server, _) = PipeServer::start(gateway.on_pipes(&place))?;
                let server = server.with_tools(gateway.gateway.tools(&names));
                on_pipes(server, bench, Some(&bench.echo))
            }
            GatewayTransport::Http => {
                let (_running, endpoints) = gateway.listen(&place)?;
                bench.runtime.block_on(async {
                    let turn = over_http(&endpoints, bench);
                    tokio::time::timeout(TURN_LIMIT, turn)
                        .await
                        .with_context(|| format!("it took over {} s", TURN_LIMIT.as_secs()))?
                })
            }
        }
    }

    fn add(&mut self, subject: &str, turn: &HubCallSample, direct: Option<&HubCallSample>) {
        let ours = subject == Gateway::Docent.display_name();
        let aim = |aim| if ours { Some(aim) } else { None };
        let section = &mut self.section;
        if let Some(direct) = direct {
            let (p50, p99) = added_latency(turn, direct);
            section.add("added to a call, p50 (µs)", subject, aim(RepoTarget::AtMost(150.0)), p50);
            section.add("added to a call, p99 (µs)", subject, None, p99);
        }
        section.add("a call, p50 (µs)", subject, None, turn.percentile(50));
        let cpu = aim(RepoTarget::AtMost(120.0));
        section.add("CPU per call, one at a time (µs)", subject, cpu, turn.one.cpu_per_call());
        section.add("CPU per call, 16 in flight (µs)", subject, cpu, turn.many.cpu_per_call());
        let times = aim(RepoTarget::TimesBestAtLeast(10.0, PEERS));
        let calls = turn.many.calls_per_second();
        section.add("calls per second, 16 in flight", subject, times, calls);
        section.add("RSS after load (MB)", subject, None, turn.memory_mb);
    }
}

/// Returns how much longer the p50 and the p99 are than the direct p50.
fn added_latency(turn: &HubCallSample, direct: &HubCallSample) -> (f64, f64) {
    let usual = direct.percentile(50);
    (turn.percentile(50) - usual, turn.percentile(99) - usual)
}

/// Measures the echo server without a gateway.
fn measure_direct(bench: &HubBench<'_>) -> Result<HubCallSample> {
    let [server] = BenchDownstream::many(&bench.echo, 1).try_into().ok().context("one server")?;
    let server: BenchDownstream = server;
    let (server, _) = PipeServer::start(server.command())?;
    on_pipes(server, bench, None).context("calling the echo server")
}

fn on_pipes(
    mut server: PipeServer,
    bench: &HubBench<'_>,
    without: Option<&Path>,
) -> Result<HubCallSample> {
    let mut turn = || {
        server.load_with(IN_FLIGHT, WARM_UP, without)?;
        let watch = Stopwatch::start_without(without)?;
        let times = server.times(bench.measured.begin(1))?;
        let one = watch.stop(u32::try_from(times.len())?)?;
        let many = server.load_with(IN_FLIGHT, bench.measured, without)?;
        thread::sleep(SETTLE_TIME);
        Ok(HubCallSample { times, one, many, memory_mb: usage::resident_mb_without(without)? })
    };
    let found = turn();
    found.map_err(|problem| server.explain(problem))
}

async fn over_http(endpoints: &[EchoEndpoint], bench: &HubBench<'_>) -> Result<HubCallSample> {
    let without = Some(bench.echo.as_path());
    let mut many = Vec::new();
    for endpoint in endpoints.iter().cycle().take(usize::try_from(IN_FLIGHT)?) {
        many.push(PostConnection::open_at(endpoint, PostForm::Session).await?);
    }
    let (many, _) = post::drive_all(many, WARM_UP.begin(IN_FLIGHT)).await?;
    let mut alone = Vec::new();
    for endpoint in endpoints {
        alone.push(PostConnection::open_at(endpoint, PostForm::Session).await?);
    }
    let watch = Stopwatch::start_without(without)?;
    let times = one_at_a_time(&mut alone, bench.measured).await?;
    let one = watch.stop(u32::try_from(times.len())?)?;
    let watch = Stopwatch::start_without(without)?;
    let (_many, calls) = post::drive_all(many, bench.measured.begin(IN_FLIGHT)).await?;
    let many = watch.stop(calls)?;
    tokio::time::sleep(SETTLE_TIME).await;
    Ok(HubCallSample { times, one, many, memory_mb: usage::resident_mb_without(without)? })
}

/// Calls on each connection in turn; returns the duration of each call.
async fn one_at_a_time(
    alone: &mut [PostConnection],
    stretch: LoadStretch,
) -> Result<Vec<Duration>> {
    let stretch = stretch.begin(1);
    let (mut times, mut calls) = (Vec::new(), 0);
    while stretch.continues(calls) {
        for connection in &mut *alone {
            let began = Instant::now();
            connection.call().await?;
            times.push(began.elapsed());
            calls += 1;
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(micros: impl IntoIterator<Item = u64>) -> HubCallSample {
        let load = LoadResult::from_figures(1, Duration::from_secs(1), Duration::ZERO);
        let times = micros.into_iter().map(Duration::from_micros).collect();
        HubCallSample { times, one: load, many: load, memory_mb: 1.0 }
    }

    #[test]
    fn added_latency_is_relative_to_the_direct_median() {
        let direct = turn([10, 10, 12, 500, 9]);
        let (p50, p99) = added_latency(&turn(101..=200), &direct);
        assert_eq!(format!("{p50:.0} {p99:.0}"), "141 190");
        let (p50, _) = added_latency(&direct, &direct);
        assert_eq!(format!("{p50:.0}"), "0");
    }

    #[test]
    fn only_docent_has_targets() {
        let mut kind = CallScenario {
            title: String::new(),
            front: GatewayTransport::Stdio,
            servers: Vec::new(),
            section: TreeSection::new("Calls", "docent"),
            left: Vec::new(),
        };
        let direct = turn([10]);
        kind.add(DIRECT, &direct, None);
        kind.add("docent", &turn([100]), Some(&direct));
        kind.add("FastMCP", &turn([1010]), Some(&direct));
        let text = kind.section.to_string();
        for row in [
            "| added to a call, p50 (µs) | docent | 90.0 | 90.0 – 90.0 | 1 | 1.00 | ≤ 150: yes |",
            "| added to a call, p50 (µs) | FastMCP | 1000 | 1000 – 1000 | 1 | 11.11 |  |",
            "| calls per second, 16 in flight | docent | 1.0 | 1.0 – 1.0 | 1 | 1.00 | ≥ 10 × the best peer (1.00): no |",
        ] {
            assert!(text.contains(row), "{text}");
        }
        assert!(!text.contains("| added to a call, p50 (µs) | no gateway"), "{text}");
    }
}
