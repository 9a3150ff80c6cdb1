//! Scripts that do not stop by themselves: each ends at its limit, no process of one is left working, and the next
//! script is answered. With `DOCENT_BINARY` in the environment, that program is tested in the place of the one built
//! with the tests.

use crate::{
    TestHome,
    code_mode::{SERVER, settings},
    hostile_deadline::cores,
    serving::{LEGACY, call, ticks},
};
use docent_testkit::ChildTestClient;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

/// The limit of each hostile script.
const TIME_MS: u64 = 500;

/// Hostile scripts in all, and how many are sent at a time: as many as one client may run, so that none has to wait.
const SCRIPT_COUNT: usize = 100;
const CONCURRENT_SCRIPTS: usize = 8;

/// How long a busy machine is waited for.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Processor time, in ticks of a hundredth of a second, that a release build may use on each core after the end of
/// scripts.
const TICKS_PER_CORE: u64 = 100;

/// What no interrupt reaches: each runs for minutes unless its process is killed.
const UNINTERRUPTIBLE: [&str; 6] = [
    "'a'.repeat(2 ** 21).replaceAll({ toString: () => 'a'.repeat(2 ** 20) + 'b' }, '')",
    "new String('a'.repeat(2 ** 21)).indexOf('a'.repeat(2 ** 20) + 'b')",
    "let a = []; for (let i = 0; i < 40; i++) a = [a, a]; a.flat(Infinity)",
    "const holes = []; holes.length = 2 ** 32 - 1; [0].flatMap(() => holes)",
    "'\\u0301\\u0316'.repeat(2 ** 19).normalize('NFD')",
    "new String('a'.repeat(2 ** 21)).split('a'.repeat(2 ** 20) + 'b')",
];

/// What takes all it can get: time, memory, stack.
const RESOURCE_HOGS: [&str; 35] = [
    "'a'.repeat(2 ** 25).replaceAll('a', 'b'.repeat(2 ** 10))",
    "'a'.repeat(2 ** 24).split('').join('-').split('').reverse().join('')",
    "for (;;) {}",
    "while (true) await null",
    "const f = () => Promise.resolve().then(f); await f()",
    "await new Promise(() => setTimeout(() => {}, 1e9))",
    "queueMicrotask(function again() { queueMicrotask(again) }); await new Promise(() => {})",
    "const f = () => f() + 1; f()",
    "const f = () => { try { f() } catch { f() } }; f()",
    "/^(a+)+$/.test('a'.repeat(60) + 'b')",
    "/(x+x+)+y/.exec('x'.repeat(50000))",
    "/(?:(?:a|a)*)*b/.test('a'.repeat(5000))",
    "const a = new Array(2 ** 22).fill('x'); for (;;) a.join('y'.repeat(10))",
    "const a = Array.from({ length: 2 ** 20 }, (_, i) => i ^ 0x55555); for (;;) a.slice().sort()",
    "[3, 1, 2].sort(() => { for (;;) {} })",
    "for (;;) 'x'.padEnd(2 ** 28)",
    "for (let s = 'x'; ;) s = s.padStart(s.length * 2, s)",
    "let s = 'ab'; for (;;) s = s.repeat(2)",
    "let a = []; for (let i = 0; i < 1000; i++) a = [a]; for (;;) JSON.stringify(a)",
    "const big = Array.from({ length: 2 ** 18 }, (_, i) => ({ i })); for (;;) JSON.parse(JSON.stringify(big))",
    "const big = Array.from({ length: 2 ** 16 }, (_, i) => ({ i })); for (;;) structuredClone(big)",
    "return 7n ** (2n ** 22n)",
    "let n = 3n; for (;;) n *= n",
    "for (;;) String.raw({ raw: { length: 2 ** 32 } }, 1)",
    "const t = new Float64Array(2 ** 22); for (;;) t.fill(1).sort().reverse()",
    "const t = new Uint8Array(2 ** 25); for (;;) t.fill(1).indexOf(2)",
    "const o = { get x() { for (;;) {} } }; o.x",
    "const p = new Proxy([], { get: (t, k) => k === 'length' ? 2 ** 53 - 1 : 0 }); for (;;) Array.from(p)",
    "const p = new Proxy({}, { ownKeys() { for (;;) {} } }); Object.keys(p)",
    "function* g() { for (;;) yield 1 } for (const x of g()); ",
    "const all = []; for (;;) all.push(new Array(1e5).fill(all.length))",
    "const m = new Map(); for (let i = 0; ; i++) m.set(i, 'x'.repeat(1000) + i)",
    "const s = []; for (;;) s.push('x'.repeat(1e6) + s.length)",
    "for (;;) console.log('x'.repeat(1e5))",
    "return { toJSON() { for (;;) {} } }",
];

/// The program to test.
fn docent() -> PathBuf {
    std::env::var_os("DOCENT_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_docent").into(), PathBuf::from)
}

/// A docent that serves in front of one small server.
async fn serve(place: &TestHome, mode: &str) -> ChildTestClient {
    place.write("server.sh", SERVER);
    place.settings(&settings(place, &format!("policy.sandbox.mode = {mode:?}")));
    let mut command = Command::new(docent());
    command.arg("serve").current_dir(place.project()).env_clear().env("HOME", place.0.path());
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env("PATH", path);
    let mut server = ChildTestClient::spawn(tokio::process::Command::from(command))
        .unwrap()
        .with_timeout(EVENT_TIMEOUT * 4);
    server.open(LEGACY).await.unwrap();
    server
}

fn script(code: &str, time_ms: u64) -> Value {
    call("execute_mcp_code", json!({"code": code, "limits": {"timeMs": time_ms}}))
}

/// The text of an answer, and whether it is an error.
fn said(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (text.to_owned(), result["isError"] == true)
}

/// A script that does as it should. It waits for its turn like any other.
async fn honest(server: &mut ChildTestClient) {
    let code = "return [await mcp.s.count(), 6 * 7].length";
    let answer = server.ask("tools/call", script(code, 20_000)).await.unwrap();
    assert_eq!(said(&answer), ("2".to_owned(), false));
}

/// A field of `/proc/<pid>/stat`, counted from the state on.
fn stat(pid: u32, field: usize) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = line.rsplit_once(") ")?;
    fields.split(' ').nth(field).map(str::to_owned)
}

/// Whether any thread of a process runs or wants to.
fn is_busy(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    let mut lines =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    lines.any(|line| line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R')))
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid, 1)?.parse().ok()
}

/// The script workers below a process, and below the process that starts programs for it.
fn workers(docent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_worker = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let below =
            std::iter::successors(parent(*pid), |pid| parent(*pid)).any(|pid| pid == docent);
        below && line.windows(8).any(|part| part == b"__script")
    };
    all.filter(is_worker).collect()
}

fn docent_of(server: &ChildTestClient) -> u32 {
    server.process_id().expect("it runs")
}

/// Waits until no worker uses the processor: each is asleep, and has used as much as at the look before. A release
/// build is idle within a second of processor time.
async fn until_idle(server: &ChildTestClient) {
    let (docent, began, start) = (docent_of(server), Instant::now(), ticks(server));
    let used = |pid: &u32| (*pid, is_busy(*pid), stat(*pid, 11), stat(*pid, 12));
    let mut before = Vec::new();
    loop {
        let now: Vec<_> = workers(docent).iter().map(used).collect();
        if now.iter().all(|(_, is_busy, ..)| !is_busy) && now == before {
            let used = ticks(server).saturating_sub(start);
            let is_release = std::env::var_os("DOCENT_BINARY").is_some();
            let is_soon = used <= TICKS_PER_CORE * cores() as u64;
            assert!(!is_release || is_soon, "workers went on for {used} ticks");
            return;
        }
        assert!(began.elapsed() < EVENT_TIMEOUT, "workers go on: {now:?}");
        before = now;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < EVENT_TIMEOUT, "{what} never came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_hundred_hostile_scripts_and_then_an_honest_one() {
    let place = TestHome::new();
    let mut server = serve(&place, "auto").await;
    honest(&mut server).await;
    let all: Vec<&str> =
        UNINTERRUPTIBLE.iter().chain(&RESOURCE_HOGS).copied().cycle().take(SCRIPT_COUNT).collect();
    for some in all.chunks(CONCURRENT_SCRIPTS) {
        let mut sent = Vec::new();
        for code in some {
            let id = server.start("tools/call", script(code, TIME_MS)).await.unwrap();
            sent.push((*code, id));
        }
        for (code, id) in sent {
            let (text, is_error) = said(&server.answer_to(&id).await.unwrap());
            if UNINTERRUPTIBLE.contains(&code) {
                assert!(is_error && text.contains("limits.timeMs"), "{code}: {text}");
            }
            let refused = text.contains("can't be run") || text.contains("try again in");
            assert!(!refused, "{code}: {text}");
        }
        until_idle(&server).await;
    }
    honest(&mut server).await;
}

#[tokio::test]
async fn a_limit_is_named_with_what_to_do() {
    let place = TestHome::new();
    let mut server = serve(&place, "auto").await;
    let answer = server.ask("tools/call", script(UNINTERRUPTIBLE[0], TIME_MS)).await.unwrap();
    let want = "the script ran for longer than 500 ms and was stopped (limits.timeMs); do less in one script, or give it more time";
    let (text, is_error) = said(&answer);
    assert!(is_error && text.contains(want), "{text}");
    let code = "const all = []; for (;;) all.push(new Array(1e5).fill(1))";
    let arguments = json!({"code": code, "limits": {"memoryBytes": 8 << 20}});
    let answer = server.ask("tools/call", call("execute_mcp_code", arguments)).await.unwrap();
    let want = "the script used more than 8388608 bytes of memory (limits.memoryBytes)";
    let (text, is_error) = said(&answer);
    assert!(is_error && text.contains(want), "{text}");
}

#[tokio::test]
async fn a_cancelled_script_is_ended() {
    let place = TestHome::new();
    let mut server = serve(&place, "auto").await;
    let docent = docent_of(&server);
    let id = server.start("tools/call", script(UNINTERRUPTIBLE[0], 30_000)).await.unwrap();
    until("a worker", || !workers(docent).is_empty()).await;
    let running = workers(docent);
    server.notify("notifications/cancelled", json!({"requestId": id})).await.unwrap();
    until("its end", || running.iter().all(|pid| !workers(docent).contains(pid))).await;
    honest(&mut server).await;
}

/// In strict mode, and where the sandbox is off: a worker is confined, ends alone, and ends with docent.
#[tokio::test]
async fn a_worker_is_confined_ends_alone_and_ends_with_docent() {
    for mode in ["strict", "off"] {
        let place = TestHome::new();
        let mut server = serve(&place, mode).await;
        let docent = docent_of(&server);
        let pause = "await new Promise((done) => setTimeout(done, 1e6)); return 1";
        let waiting = server.start("tools/call", script(pause, 30_000)).await.unwrap();
        until("a worker", || workers(docent).len() == 1).await;
        let first = workers(docent)[0];
        let confined = || {
            let status = fs::read_to_string(format!("/proc/{first}/status")).unwrap_or_default();
            status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2")
        };
        until("its sandbox", confined).await;
        // The last is set when the script begins.
        for name in ["Max data size", "Max core file size", "Max file size", "Max cpu time"] {
            let is_set = || {
                let all = fs::read_to_string(format!("/proc/{first}/limits")).unwrap_or_default();
                let line = all.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
                line.split_whitespace().next().is_some_and(|soft| soft != "unlimited")
            };
            until(name, is_set).await;
        }
        let environment = fs::read(format!("/proc/{first}/environ")).unwrap();
        assert!(environment.is_empty(), "{mode}: {environment:?}");
        // Another script runs beside it and is not affected by its end.
        let code =
            "await new Promise((done) => setTimeout(done, 1000)); return await mcp.s.count()";
        let beside = server.start("tools/call", script(code, 30_000)).await.unwrap();
        until("another worker", || workers(docent).len() == 2).await;
        let killed = Pid::from_raw(i32::try_from(first).unwrap()).unwrap();
        kill_process(killed, Signal::KILL).unwrap();
        let (text, is_error) = said(&server.answer_to(&waiting).await.unwrap());
        assert!(is_error && text.contains("signal 9 (SIGKILL)"), "{mode}: {text}");
        let (text, is_error) = said(&server.answer_to(&beside).await.unwrap());
        assert!(!is_error && text == "1", "{mode}: {text}");
        // docent is killed, and has no time to end anything.
        server.start("tools/call", script(UNINTERRUPTIBLE[0], 30_000)).await.unwrap();
        let busy = || workers(docent).iter().any(|pid| is_busy(*pid));
        until("a busy worker", busy).await;
        let left = workers(docent);
        let pid = Pid::from_raw(i32::try_from(docent).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        let is_gone = |pid: &u32| stat(*pid, 0).is_none_or(|state| state == "Z" || state == "X");
        until("the end of the workers", || left.iter().all(is_gone)).await;
    }
}
