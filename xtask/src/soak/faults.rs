//! Faults injected during the soak, each on its own schedule: rude clients, bad input, rotated logs, changing files.

use super::{
    flaky_server,
    http::{self, RawHttpConnection},
    link::{self, LinkEvent, SoakTransport},
    project::SoakProject,
    questions::{LONG_FOLDER, QuestionKind, SoakIdentity, SoakPrincipal, SoakQuestion},
    random::XorShift,
    watch::WatchedProcess,
};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The label of the count of killed servers.
pub(super) const SERVER_KILLED: &str = "downstream server killed (SIGKILL)";
/// The label of the count of hang-up signals.
pub(super) const HUNG_UP: &str = "SIGHUP after moving log and audit";
/// How long a silent client keeps its connection open.
const SILENT_CLIENT_TIME: Duration = Duration::from_secs(5);
/// The number of silent clients at a time.
const SILENT_CLIENTS: usize = 8;
/// Timeout for an answer to bad input.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Any size above the server's limit would do.
const OVERSIZED_BODY_BYTES: usize = 11 * 1024 * 1024;
/// The random pause between two kills.
const MIN_KILL_PAUSE_MS: u32 = 200;
const KILL_PAUSE_RANGE_MS: u32 = 600;
/// Tool lists are the longest cheap answers; this many fill every buffer on the way.
const SLOW_READER_CALLS: u32 = 40;

/// The faults injected so far, and the wrong reactions to them.
#[derive(Debug, Default)]
pub(super) struct FaultLog {
    done: Mutex<BTreeMap<&'static str, u32>>,
    problems: Mutex<Vec<String>>,
    kills: Mutex<Vec<(u32, Instant)>>,
}

impl FaultLog {
    fn count(&self, what: &'static str) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() += 1;
    }

    pub(super) fn problem(&self, what: String) {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// How often each fault was injected.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, u32> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Which downstream servers were killed, and when.
    pub(super) fn kills(&self) -> Vec<(u32, Instant)> {
        self.kills.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn kill(&self, desk: u32) {
        self.count(SERVER_KILLED);
        self.kills.lock().unwrap_or_else(PoisonError::into_inner).push((desk, Instant::now()));
    }

    /// docent's wrong reactions.
    pub(super) fn problems(&self) -> Vec<String> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The docent under test.
pub(super) struct FaultTarget<'a> {
    pub(super) port: u16,
    pub(super) server: WatchedProcess,
    pub(super) project: &'a SoakProject,
    pub(super) end: Instant,
    pub(super) length: Duration,
}

type Fault = fn(&FaultTarget<'_>, &FaultLog, u32) -> Result<()>;

/// Each fault with its interval.
const FAULT_SCHEDULE: [(&str, Duration, Fault); 7] = [
    ("slow reader", Duration::from_secs(3), slow_reader),
    ("silent connection", Duration::from_millis(500), silent),
    ("half a request", Duration::from_millis(500), half_request),
    ("bad input", Duration::from_millis(300), bad_input),
    ("oversized message", Duration::from_secs(2), oversized),
    ("foreign session and wrong key", Duration::from_secs(1), foreign_credentials),
    ("file of the project", Duration::from_millis(400), edit),
];

/// Injects all faults until the time is over; returns when all have ended.
pub(super) fn run(target: &FaultTarget<'_>, faults: &FaultLog) {
    thread::scope(|scope| {
        for (name, period, fault) in FAULT_SCHEDULE {
            scope.spawn(move || {
                let mut turn = 0;
                while Instant::now() + period < target.end {
                    thread::sleep(period);
                    if let Err(problem) = fault(target, faults, turn) {
                        faults.problem(format!("{name}: {problem:#}"));
                    }
                    turn += 1;
                }
            });
        }
        scope.spawn(|| rotate(target, faults));
        scope.spawn(|| kill_servers(target, faults));
    });
}

/// Sends many requests, reads nothing for seconds, and then expects every answer or the end of the connection.
fn slow_reader(target: &FaultTarget<'_>, faults: &FaultLog, turn: u32) -> Result<()> {
    let asker = SoakIdentity { name: format!("slow{turn:04}"), principal: SoakPrincipal::Alpha };
    let way = if turn.is_multiple_of(2) { SoakTransport::Sse } else { SoakTransport::WebSocket };
    let mut link = link::open(target.port, way, asker.principal)?;
    let ids = 1..=SLOW_READER_CALLS;
    for id in ids.clone() {
        link.send(&SoakQuestion::new(&asker, QuestionKind::List, (id, id)))?;
    }
    thread::sleep(SILENT_CLIENT_TIME.min(target.length / 4));
    let mut missing: Vec<u32> = ids.collect();
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    while !missing.is_empty() {
        match link.receive(deadline) {
            Ok(LinkEvent::Message(message)) => {
                let id = message["id"].as_u64().and_then(|id| u32::try_from(id).ok());
                missing.retain(|known| Some(*known) != id);
            }
            Ok(_) => {
                bail!(
                    "{} of {SLOW_READER_CALLS} answers never came on {}",
                    missing.len(),
                    way.name()
                )
            }
            Err(_) => {
                faults.count("slow reader, cut off by docent");
                return Ok(());
            }
        }
    }
    faults.count("slow reader, served in the end");
    link.leave()
}

/// Connects several times, sends nothing, and disappears.
fn silent(target: &FaultTarget<'_>, faults: &FaultLog, turn: u32) -> Result<()> {
    let held: Vec<TcpStream> =
        (0..SILENT_CLIENTS).map(|_| http::connect(target.port)).collect::<Result<_>>()?;
    thread::sleep(SILENT_CLIENT_TIME.min(target.length / 4) / (1 + turn % 10));
    for stream in &held {
        http::reset(stream);
        faults.count("silent connection, then reset");
    }
    Ok(())
}

/// Sends the first part of a request several times, and disappears.
fn half_request(target: &FaultTarget<'_>, faults: &FaultLog, turn: u32) -> Result<()> {
    let key = link::authorization(SoakPrincipal::Alpha);
    let whole = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}Accept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: 400\r\n\r\n{{\"jsonrpc\":\"2.0\",\"id\":1,"
    );
    let mut random = XorShift::new(turn.into());
    let mut held = Vec::new();
    for _ in 0..SILENT_CLIENTS {
        let cut = random.below(u32::try_from(whole.len()).unwrap_or(u32::MAX)) as usize + 1;
        let mut stream = http::connect(target.port)?;
        stream.write_all(whole.as_bytes().get(..cut).unwrap_or_default())?;
        held.push(stream);
    }
    thread::sleep(SILENT_CLIENT_TIME.min(target.length / 4) / (1 + turn % 10));
    for stream in &held {
        if turn.is_multiple_of(2) {
            http::reset(stream);
            faults.count("half a request, then reset");
        } else {
            faults.count("half a request, then closed");
        }
    }
    Ok(())
}

/// Sends bodies that are not requests.
const BAD_BODIES: [&str; 6] = [
    "{\"jsonrpc\":\"2.0\",\"id\":1,",
    "[]",
    "\u{0}\u{1}\u{2}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":{},\"Method\":\"ping\"}",
    "\"ping\"",
];

fn bad_input(target: &FaultTarget<'_>, faults: &FaultLog, turn: u32) -> Result<()> {
    let body = BAD_BODIES.iter().cycle().nth(turn as usize % BAD_BODIES.len()).unwrap_or(&"");
    let key = link::authorization(SoakPrincipal::Beta);
    let head = format!("POST /mcp HTTP/1.1\r\nAccept: application/json\r\n{key}");
    let mut wire = RawHttpConnection::open(target.port)?;
    wire.post(&head, body)?;
    let reply = wire.reply(Instant::now() + ANSWER_TIMEOUT)?.context("no answer")?;
    let text = reply.text();
    ensure!(
        reply.status < 500 && text.contains("\"error\""),
        "{body:?} got {}: {text}",
        reply.status
    );
    // After bad input, the next valid request on the connection must succeed.
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    wire.post(&head, ping)?;
    let reply = wire.reply(Instant::now() + ANSWER_TIMEOUT)?.context("no answer")?;
    ensure!(reply.status == 200, "a ping after {body:?} got {}: {}", reply.status, reply.text());
    faults.count("bad JSON or bad envelope");
    Ok(())
}

/// Sends a body above the limit, which must be rejected, whether or not it is read to its end.
fn oversized(target: &FaultTarget<'_>, faults: &FaultLog, _: u32) -> Result<()> {
    let key = link::authorization(SoakPrincipal::Alpha);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n{key}\
         Content-Type: application/json\r\nContent-Length: {OVERSIZED_BODY_BYTES}\r\n\r\n"
    );
    let mut stream = http::connect(target.port)?;
    stream.write_all(head.as_bytes())?;
    let block = vec![b' '; 64 * 1024];
    for _ in 0..OVERSIZED_BODY_BYTES / block.len() {
        // The server may close its side before it has read everything.
        if stream.write_all(&block).is_err() {
            break;
        }
    }
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut start = [0; 64];
    let read = stream.read(&mut start).context("reading the error response")?;
    let start = String::from_utf8_lossy(start.get(..read).unwrap_or_default()).into_owned();
    ensure!(start.starts_with("HTTP/1.1 413"), "11 MB got {start:?}");
    faults.count("message of 11 MB, rejected");
    Ok(())
}

/// Uses the session of another key, which must not be found, and a wrong key, which must be rejected.
fn foreign_credentials(target: &FaultTarget<'_>, faults: &FaultLog, _: u32) -> Result<()> {
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let initialize = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
         \"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"soak\",\"version\":\"1\"}}}";
    let accept = "Accept: application/json, text/event-stream\r\n";
    let head = |rest: &str| format!("POST /mcp HTTP/1.1\r\n{accept}{rest}");
    // An error may close the connection, so each request has its own.
    let send = |head: &str, body: &str| {
        let mut wire = RawHttpConnection::open(target.port)?;
        wire.post(head, body)?;
        wire.reply(Instant::now() + ANSWER_TIMEOUT)?.context("no answer")
    };
    let (alpha, beta) =
        (link::authorization(SoakPrincipal::Alpha), link::authorization(SoakPrincipal::Beta));
    let session = send(&head(&alpha), initialize)?.session.context("no session")?;
    let foreign = format!("{beta}Mcp-Session-Id: {session}\r\n");
    let reply = send(&head(&foreign), ping)?;
    ensure!(reply.status == 404, "the other key's session got {}: {}", reply.status, reply.text());
    faults.count("session of the other key, rejected");
    let reply = send(&head("Authorization: Bearer soak-unknown-key\r\n"), ping)?;
    ensure!(reply.status == 401, "a wrong key got {}: {}", reply.status, reply.text());
    faults.count("wrong key, rejected");
    let own = format!("{alpha}Mcp-Session-Id: {session}\r\n");
    let reply = send(&head(&own).replacen("POST", "DELETE", 1), "")?;
    ensure!(reply.status < 300, "the end of a session got {}: {}", reply.status, reply.text());
    Ok(())
}

/// Edits, adds and removes files while they are indexed and parsed; never more than twenty at a time.
fn edit(target: &FaultTarget<'_>, faults: &FaultLog, turn: u32) -> Result<()> {
    let folder = target.project.root().join(LONG_FOLDER);
    let file = folder.join(format!("edited{}.ts", turn % 20));
    if turn % 3 == 2 {
        // It may be gone already.
        fs::remove_file(&file).ok();
        faults.count("file removed");
    } else {
        let text = format!(
            "/** Turn {turn}. */\nexport function turn{turn}(): number {{ return {turn}; }}\n"
        );
        fs::write(&file, text)?;
        faults.count("file added or edited");
    }
    Ok(())
}

/// Kills the downstream servers one after another, some of them while they start.
fn kill_servers(target: &FaultTarget<'_>, faults: &FaultLog) {
    let mut random = XorShift::new(0);
    loop {
        let pause = MIN_KILL_PAUSE_MS + random.below(KILL_PAUSE_RANGE_MS);
        thread::sleep(Duration::from_millis(pause.into()));
        if Instant::now() >= target.end {
            return;
        }
        let running = find_servers(target.server);
        let picked = random.below(u32::try_from(running.len()).unwrap_or(0)) as usize;
        let Some((number, process)) = running.get(picked) else { continue };
        let pid = i32::try_from(process.0).ok().and_then(Pid::from_raw);
        // Record the kill first, so that it is recorded before any client sees its effect.
        faults.kill(*number);
        if pid.is_none_or(|pid| kill_process(pid, Signal::KILL).is_err()) {
            faults.count("server that had ended before it was killed");
        }
    }
}

/// Finds the running downstream servers by number. They are children of docent's supervisor process.
pub(super) fn find_servers(server: WatchedProcess) -> Vec<(u32, WatchedProcess)> {
    let guards = server.children().into_iter();
    let below = guards.flat_map(WatchedProcess::children).flat_map(WatchedProcess::children);
    let numbered = below.filter_map(|process| {
        let arguments = process.arguments();
        let number = (0..flaky_server::FLAKY_SERVERS)
            .find(|number| arguments.contains(&flaky_server::name(*number)))?;
        Some((number, process))
    });
    numbered.collect()
}

/// Moves the log and the audit log away three times, as logrotate does, and sends SIGHUP if docent handles it.
fn rotate(target: &FaultTarget<'_>, faults: &FaultLog) {
    let began = Instant::now();
    for turn in 1..=3 {
        let at = began + target.length * turn / 4;
        thread::sleep(at.saturating_duration_since(Instant::now()));
        for file in [target.project.audit(), target.project.log()] {
            let to = file.with_extension(format!("rotated-{turn}"));
            match fs::rename(&file, &to) {
                Ok(()) => faults.count("log or audit moved away"),
                // Without a reopened file there is nothing to move a second time.
                Err(_) if turn > 1 => {}
                Err(problem) => faults.problem(format!("{}: {problem}", file.display())),
            }
        }
        let pid = i32::try_from(target.server.0).ok().and_then(Pid::from_raw);
        if target.server.handles_hangup()
            && pid.is_some_and(|pid| kill_process(pid, Signal::HUP).is_ok())
        {
            faults.count(HUNG_UP);
        }
    }
}
