//! `cargo xtask soak`: many clients call one docent over every network transport for minutes while faults are injected;
//! at the end every answer must have reached its caller, and memory and descriptors must be back where they began.

mod client;
mod faults;
pub(crate) mod flaky_server;
mod http;
mod invariants;
mod link;
mod project;
mod questions;
mod random;
mod record;
mod table;
mod watch;

use crate::{
    docent::DocentProgram,
    machine,
    process::{self, BackgroundProcess},
    report::CheckCounts,
    workspace::XtaskWorkspace,
};
use anyhow::{Result, bail, ensure};
use client::SoakClient;
use faults::{FaultLog, FaultTarget};
use flaky_server::SideEffects;
use invariants::{FlakyServerResults, SoakObservations};
use link::{LinkEvent, SoakTransport};
use project::SoakProject;
use questions::{QuestionKind, SoakIdentity, SoakQuestion};
use record::SoakRecord;
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use table::SoakOutcome;
use watch::{DescriptorCounts, WatchedProcess};

const START_LIMIT: Duration = Duration::from_secs(20);
/// Limit for the index to be up to date before the clients start.
const WARM_UP_LIMIT: Duration = Duration::from_mins(2);
/// Limit for the server to notice that its clients are gone.
const SETTLE_LIMIT: Duration = Duration::from_secs(15);
/// On shutdown, docent gives calls in flight five seconds.
const END_LIMIT: Duration = Duration::from_secs(6);
/// Limit for a killed server to restart.
const RESTART_LIMIT: Duration = Duration::from_secs(15);
/// docent's child processes must end within two seconds after it.
const ORPHAN_LIMIT: Duration = Duration::from_secs(2);
const SECONDS_PER_MINUTE: f64 = 60.0;
const SHOWN_PROBLEMS: usize = 30;

/// Options of `cargo xtask soak`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run the clients for this long
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Run this many clients, spread over the network transports
    #[arg(long, default_value_t = 200)]
    clients: usize,
    /// Use this docent binary [default: the release build of this workspace]
    #[arg(long, value_name = "PATH")]
    docent: Option<PathBuf>,
}

/// Runs the soak and prints the tables; true if no invariant is violated.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options) -> Result<bool> {
    ensure!(
        options.minutes > 0.0
            && options.minutes <= 24.0 * SECONDS_PER_MINUTE
            && options.clients > 0,
        "--minutes must be positive and at most a day, --clients must be positive"
    );
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    println!("- machine: {}", machine::describe()?);
    println!("- date: {}", machine::now()?);
    let given = options.docent.as_deref().map(|path| format!(" --docent {}", path.display()));
    println!(
        "- command: cargo xtask soak --minutes {} --clients {}{}",
        options.minutes,
        options.clients,
        given.unwrap_or_default()
    );
    println!("- version: {}", docent.version(workspace)?);
    println!("- load average at the start: {}", machine::load_average()?);
    let length = Duration::from_secs_f64(options.minutes * SECONDS_PER_MINUTE);
    let mut outcome = soak(docent.program(), options.clients, length)?;
    println!("- load average at the end: {}\n\n{}", machine::load_average()?, outcome.print());
    Ok(outcome.is_good())
}

/// Runs a short soak with one check for each invariant.
pub(crate) fn short(docent: &Path) -> Result<CheckCounts> {
    let mut outcome = soak(docent, 30, Duration::from_secs(10))?;
    println!("{}", outcome.print());
    Ok(outcome
        .invariants
        .iter()
        .map(|one| match one.holds {
            Some(true) => CheckCounts::ONE_PASSED,
            Some(false) => CheckCounts::ONE_FAILED,
            None => CheckCounts::ONE_SKIPPED,
        })
        .sum())
}

fn soak(docent: &Path, clients: usize, length: Duration) -> Result<SoakOutcome> {
    let project = SoakProject::make(clients)?;
    let port = process::free_port()?;
    let mut server =
        BackgroundProcess::listening(&mut project.serve(docent, port), port, START_LIMIT)?;
    let watched = WatchedProcess(server.process_id());
    let mut all = SoakRecord::default();
    ready(port, &mut all)?;
    ensure!(
        count_restarted_servers(port, 0, &mut all)? == flaky_server::FLAKY_SERVERS,
        "not every downstream server answers"
    );
    let before = wait_for_descriptors(watched, DescriptorCounts::default())?;
    let faults = FaultLog::default();
    let end = Instant::now() + length;
    let target = FaultTarget { port, server: watched, project: &project, end, length };
    let (records, samples, cpu_seconds) = ask(&target, &faults, clients)?;
    let warm = runs_by_itself(watched);
    let back = count_restarted_servers(port, 1, &mut all)?;
    let after = wait_for_descriptors(watched, before)?;
    let guards = watched.children();
    let keepers = guards.iter().copied().flat_map(WatchedProcess::children);
    let below: Vec<WatchedProcess> = guards.iter().copied().chain(keepers).collect();
    let asked_to_end = Instant::now();
    let status = server.terminate(END_LIMIT)?;
    let ended = (status, asked_to_end.elapsed());
    let log = server.end();
    let left = find_leftover_processes(&project, &below);

    let mut ways: Vec<(SoakTransport, SoakRecord)> =
        SoakTransport::ALL.map(|way| (way, SoakRecord::default())).into();
    for (way, record) in records {
        all.note_all(&record);
        if let Some((_, own)) = ways.iter_mut().find(|(known, _)| *known == way) {
            own.merge(record);
        }
    }
    let lines = project.audit_lines()?;
    let seen = SoakObservations {
        audited: record::reconcile(lines.iter().map(String::as_str), &all.traces),
        ways: &ways,
        samples: &samples,
        length,
        descriptors: (before, after),
        ended,
        log: &log,
        faults: &faults,
        servers: FlakyServerResults {
            signed: flaky_server::signed(&project.servers_folder()),
            restarted: back,
            warm,
            leftover: left,
        },
    };
    let invariants = invariants::all(&seen);
    let problems = all.problems.into_iter().chain(faults.problems()).take(SHOWN_PROBLEMS).collect();
    let notes = notes(cpu_seconds, length, &faults);
    Ok(SoakOutcome { ways, faults: faults.counts(), invariants, problems, notes })
}

fn notes(cpu_seconds: f64, length: Duration, faults: &FaultLog) -> Vec<String> {
    let share = cpu_seconds / length.as_secs_f64() * 100.0;
    let mut notes =
        vec![format!("docent used {cpu_seconds:.1} s of processor time, {share:.0} % of one core")];
    if !faults.counts().contains_key(faults::HUNG_UP) {
        notes.push(
            "docent doesn't handle SIGHUP, so none was sent; it keeps writing to the moved files"
                .to_owned(),
        );
    }
    notes
}

/// Asks until the index and the documentation answer, so that lasting files and memory are open before the count.
fn ready(port: u16, record: &mut SoakRecord) -> Result<()> {
    let deadline = Instant::now() + WARM_UP_LIMIT;
    let asker = SoakIdentity::numbered(0);
    let mut link = link::open(port, SoakTransport::Plain, asker.principal)?;
    let kinds =
        [QuestionKind::Query, QuestionKind::Long, QuestionKind::Search, QuestionKind::ReadOwn];
    let (mut id, mut left) = (0, kinds.to_vec());
    while let Some(kind) = left.last().copied() {
        id += 1;
        // Numbers that no client uses.
        let question = SoakQuestion::new(&asker, kind, (id, 900_000 + id));
        record.record_sent(&question);
        link.send(&question)?;
        let LinkEvent::Message(answer) = link.receive(deadline)? else {
            bail!("docent was not ready in {} s", WARM_UP_LIMIT.as_secs());
        };
        let asked_at = Instant::now();
        match question.judge(&answer) {
            questions::AnswerVerdict::Own => {
                record.answer(&question, &answer, asked_at);
                left.pop();
            }
            _ if asked_at > deadline => bail!("docent was not ready in time: {answer}"),
            _ => thread::sleep(Duration::from_millis(100)),
        }
    }
    Ok(())
}

/// Asks every downstream server until it answers; returns how many do in time.
fn count_restarted_servers(port: u16, round: u32, record: &mut SoakRecord) -> Result<u32> {
    let deadline = Instant::now() + RESTART_LIMIT;
    let asker = SoakIdentity::numbered(0);
    let mut link = link::open(port, SoakTransport::Plain, asker.principal)?;
    let (mut back, mut id) = (0, 0);
    while back < flaky_server::FLAKY_SERVERS && Instant::now() < deadline {
        id += 1;
        // Numbers that no client uses; the remainder selects the server.
        let number = 800_000 + (round * 1000 + id) * flaky_server::FLAKY_SERVERS + back;
        let question =
            SoakQuestion::new(&asker, QuestionKind::FlakyServer(SideEffects::Reads), (id, number));
        record.record_sent(&question);
        link.send(&question)?;
        let LinkEvent::Message(answer) = link.receive(deadline)? else { break };
        record.answer(&question, &answer, Instant::now());
        match question.judge(&answer) {
            questions::AnswerVerdict::Own => back += 1,
            _ => thread::sleep(Duration::from_millis(100)),
        }
    }
    Ok(back)
}

/// Whether the server that should always run does, without being called.
fn runs_by_itself(server: WatchedProcess) -> bool {
    let deadline = Instant::now() + RESTART_LIMIT;
    loop {
        if faults::find_servers(server).iter().any(|(number, _)| *number == 0) {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Finds processes that outlived docent: those it started itself, and servers of this project.
fn find_leftover_processes(project: &SoakProject, below: &[WatchedProcess]) -> Vec<String> {
    let deadline = Instant::now() + ORPHAN_LIMIT;
    let folder = project.servers_folder().display().to_string();
    let is_ours = |process: &WatchedProcess| {
        let arguments = process.arguments();
        arguments.contains(&folder) || below.contains(process) && !arguments.is_empty()
    };
    loop {
        let left: Vec<WatchedProcess> = WatchedProcess::all().into_iter().filter(is_ours).collect();
        if left.is_empty() || Instant::now() > deadline {
            return left.iter().map(|process| process.arguments().join(" ")).collect();
        }
        thread::sleep(Duration::from_millis(50));
    }
}

type SoakResults = (Vec<(SoakTransport, SoakRecord)>, watch::MemorySamples, f64);

/// Runs the clients and the faults.
fn ask(target: &FaultTarget<'_>, faults: &FaultLog, clients: usize) -> Result<SoakResults> {
    let stop = AtomicBool::new(false);
    let cpu_before = target.server.cpu_seconds()?;
    let (records, samples) = thread::scope(|scope| {
        let sampler = scope.spawn(|| watch::sample(target.server, &stop));
        let running: Vec<_> = (0..clients)
            .map(|number| {
                let client = SoakClient::numbered(number, clients, target.port);
                scope.spawn(move || client.run(target.end))
            })
            .collect();
        faults::run(target, faults);
        let records: Vec<_> = running.into_iter().map(thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        (records, sampler.join())
    });
    let mut joined = Vec::new();
    for record in records {
        joined.push(record.map_err(|_| anyhow::anyhow!("a client of the soak panicked"))?);
    }
    let samples = samples.map_err(|_| anyhow::anyhow!("the sampler of the soak panicked"))?;
    Ok((joined, samples, target.server.cpu_seconds()? - cpu_before))
}

/// Waits until there are no more descriptors than before, or until the limit.
fn wait_for_descriptors(
    server: WatchedProcess,
    before: DescriptorCounts,
) -> Result<DescriptorCounts> {
    let deadline = Instant::now() + SETTLE_LIMIT;
    let mut last = server.descriptors()?;
    let mut same = 0;
    loop {
        thread::sleep(Duration::from_millis(100));
        let now = server.descriptors()?;
        same = if now == last { same + 1 } else { 0 };
        last = now;
        let at_rest = same >= 10 && (before.all == 0 || now.sockets <= before.sockets);
        if at_rest || Instant::now() > deadline {
            return Ok(now);
        }
    }
}
