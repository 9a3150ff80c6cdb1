//! Workers: which one runs a script, workers that end or misbehave, and calls that wait for an answer.

use crate::stage::{TestTools, clients};
use crate::threads::Threads;
use docent_script::{
    CallReply, RunStep, ScriptCall, ScriptError, ScriptErrorKind, ScriptLimits, ScriptOutcome,
    ScriptRequest, StartWorker, StartedWorker, ToolCaller, WorkerExit, WorkerProcess, Workers,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

async fn run_on(
    workers: &Workers,
    code: &str,
    owner: &str,
    limits: &ScriptLimits,
) -> Result<ScriptOutcome, ScriptError> {
    let (clients, cancel) = (clients(), CancellationToken::new());
    let script = ScriptRequest { code, clients: &clients, limits, owner };
    let mut run = workers.start(&script, &cancel).await?;
    let caller: Arc<dyn ToolCaller> = Arc::new(TestTools::default());
    match run.next(&caller, &cancel).await {
        RunStep::Ended(ended) => ended,
        RunStep::Suspended => panic!("no call of this test is suspended"),
    }
}

#[tokio::test]
async fn a_worker_runs_the_next_script_of_the_same_owner_alone() {
    let threads = Arc::new(Threads::default());
    let workers = Workers::new(Arc::clone(&threads) as Arc<dyn StartWorker>);
    let limits = ScriptLimits::default();
    for (owner, code, started) in [
        ("ann", "globalThis.mine = 1; return 1", 1),
        ("ann", "return typeof mine", 1),
        ("ann", "throw new Error('x')", 1),
        ("bob", "return typeof mine", 2),
        ("bob", "return 1", 2),
        ("ann", "return 1", 2),
    ] {
        let ended = run_on(&workers, code, owner, &limits).await;
        assert_eq!(threads.0.load(Ordering::SeqCst), started, "{owner}: {code}");
        if code.contains("typeof") {
            assert_eq!(ended.unwrap().value, "undefined", "each script has an engine of its own");
        }
    }
    // A worker that had to be stopped is not used again.
    let short = ScriptLimits { time: Duration::from_millis(50), ..limits };
    let stopped = run_on(&workers, "for (;;) {}", "ann", &short).await.unwrap_err();
    assert_eq!(stopped.kind, ScriptErrorKind::Time);
    assert!(stopped.message.contains("50 ms") && stopped.message.contains("limits.timeMs"));
    run_on(&workers, "return 1", "ann", &limits).await.unwrap();
    assert!(threads.0.load(Ordering::SeqCst) >= 3);
}

/// Suspends each call of `say` once.
#[derive(Default)]
struct Suspending {
    desk: Arc<TestTools>,
    resumed: bool,
    numbers: std::sync::Mutex<Vec<usize>>,
}

impl ToolCaller for Suspending {
    fn call(&self, call: ScriptCall) -> BoxFuture<'_, CallReply> {
        self.numbers.lock().unwrap().push(call.number);
        if call.tool == "say" && !self.resumed {
            return Box::pin(async { CallReply::Suspended });
        }
        let desk = Arc::clone(&self.desk);
        Box::pin(async move { desk.call(call).await })
    }
}

#[tokio::test]
async fn a_suspended_call_goes_on_in_the_next_step_and_no_other_is_made_twice() {
    let workers = Workers::new(Arc::new(Threads::default()));
    let (clients, cancel, limits) = (clients(), CancellationToken::new(), ScriptLimits::default());
    let code = "const a = await mcp.calc.add({ a: 1, b: 2 });\n\
        const all = await Promise.all([mcp.calc.say({ text: 'x' }), mcp.calc.add({ a: 3 }), mcp.calc.say({ text: 'y' })]);\n\
        return [a.sum, all[0], all[1].sum, all[2], (await mcp.calc.add()).sum]";
    let script = ScriptRequest { code, clients: &clients, limits: &limits, owner: "test" };
    let mut run = workers.start(&script, &cancel).await.unwrap();
    let first = Arc::new(Suspending::default());
    let caller: Arc<dyn ToolCaller> = Arc::clone(&first) as _;
    assert!(matches!(run.next(&caller, &cancel).await, RunStep::Suspended));
    let mut numbers = first.numbers.lock().unwrap().clone();
    let second = Arc::new(Suspending { resumed: true, ..Suspending::default() });
    let caller: Arc<dyn ToolCaller> = Arc::clone(&second) as _;
    let RunStep::Ended(ended) = run.next(&caller, &cancel).await else { panic!() };
    let ran = ended.unwrap();
    assert_eq!(ran.value, json!([3, "x", 3, "y", 0]));
    numbers.extend(second.numbers.lock().unwrap().iter());
    // A step may end before the script has made all the calls that it makes at once.
    let made = |number: usize| numbers.iter().filter(|made| **made == number).count();
    assert_eq!([1, 2, 3, 5].map(made), [1, 2, 1, 1], "{numbers:?}");
    assert_eq!(ran.calls.len(), 5);
    assert!(ran.calls.iter().all(|call| call.ok), "{:?}", ran.calls);
}

#[tokio::test]
async fn a_call_beside_a_suspended_one_goes_on_in_the_next_step() {
    let workers = Workers::new(Arc::new(Threads::default()));
    let (clients, cancel, limits) = (clients(), CancellationToken::new(), ScriptLimits::default());
    // Three calls meet, two of which are made in the second step alone.
    let code = "mcp.calc.meet(); await mcp.calc.say(); return (await Promise.all([mcp.calc.meet(), mcp.calc.meet()])).length";
    let script = ScriptRequest { code, clients: &clients, limits: &limits, owner: "test" };
    let mut run = workers.start(&script, &cancel).await.unwrap();
    let desk = Arc::new(TestTools::default());
    let asked = |desk: &TestTools| desk.asked.load(Ordering::SeqCst);
    let first: Arc<dyn ToolCaller> =
        Arc::new(Suspending { desk: Arc::clone(&desk), ..Suspending::default() });
    assert!(matches!(run.next(&first, &cancel).await, RunStep::Suspended));
    assert_eq!((asked(&desk), desk.running.load(Ordering::SeqCst)), (1, 1));
    let second: Arc<dyn ToolCaller> =
        Arc::new(Suspending { resumed: true, desk: Arc::clone(&desk), ..Suspending::default() });
    let RunStep::Ended(ended) = run.next(&second, &cancel).await else { panic!() };
    assert_eq!(ended.unwrap().value, 2);
    assert_eq!(asked(&desk), 4);
}

/// A person who takes longer than the script may.
struct SlowAnswerer {
    desk: TestTools,
    began: Instant,
    waits: Duration,
}

impl ToolCaller for SlowAnswerer {
    fn call(&self, call: ScriptCall) -> BoxFuture<'_, CallReply> {
        Box::pin(async move {
            tokio::time::sleep(self.waits).await;
            self.desk.call(call).await
        })
    }

    fn waited(&self) -> Duration {
        self.began.elapsed().min(self.waits)
    }
}

#[tokio::test]
async fn the_time_that_a_person_takes_does_not_count() {
    let workers = Workers::new(Arc::new(Threads::default()));
    let (clients, cancel) = (clients(), CancellationToken::new());
    let limits = ScriptLimits { time: Duration::from_secs(1), ..ScriptLimits::default() };
    for (code, kind) in [
        ("return (await mcp.calc.add({ a: 1 })).sum", None),
        ("await mcp.calc.add(); for (;;) {}", Some(ScriptErrorKind::Time)),
    ] {
        let waits = Duration::from_secs(2);
        let caller = SlowAnswerer { desk: TestTools::default(), began: Instant::now(), waits };
        let caller: Arc<dyn ToolCaller> = Arc::new(caller);
        let script = ScriptRequest { code, clients: &clients, limits: &limits, owner: "test" };
        let mut run = workers.start(&script, &cancel).await.unwrap();
        let RunStep::Ended(ended) = run.next(&caller, &cancel).await else { panic!() };
        assert_eq!(ended.as_ref().err().map(|error| error.kind), kind, "{code}: {ended:?}");
    }
}

#[tokio::test]
async fn a_script_waits_for_its_turn_and_takes_the_place_of_one_that_was_given_up() {
    let workers = Workers::new(Arc::new(Threads::default()));
    let (clients, cancel) = (clients(), CancellationToken::new());
    let limits = ScriptLimits { time: Duration::from_mins(10), ..ScriptLimits::default() };
    let short = ScriptLimits { time: Duration::from_millis(1), ..limits };
    let mut running = Vec::new();
    // Two clients that start all they may leave slots for the first scripts of others.
    for (owner, starts, refusal) in [
        ("ann", 8, Some("8 other scripts of this client are running")),
        ("bob", 6, Some("12 scripts of clients that run more than one are running")),
        ("cat", 1, None),
        ("dan", 1, None),
        ("eve", 0, Some("16 other scripts are running")),
    ] {
        let code = "await mcp.calc.never()";
        let script = ScriptRequest { code, clients: &clients, limits: &limits, owner };
        for _ in 0..starts {
            running.push(workers.start(&script, &cancel).await.unwrap());
        }
        let Some(refusal) = refusal else { continue };
        let busy = run_on(&workers, "return 1", owner, &short).await.unwrap_err();
        assert_eq!(busy.kind, ScriptErrorKind::Engine);
        assert!(busy.message.contains(refusal), "{owner}: {busy}");
        assert!(busy.message.ends_with("; try again in 5 s"), "{owner}: {busy}");
    }
    let next = run_on(&workers, "return 1", "eve", &limits);
    let give_up = async {
        tokio::task::yield_now().await;
        drop(running.pop());
    };
    let (ended, ()) = tokio::join!(next, give_up);
    assert_eq!(ended.unwrap().value, 1);
}

/// A worker that writes these bytes, whatever it receives, and ends.
#[derive(Debug)]
struct Lying(Vec<u8>, AtomicUsize);

struct KilledProcess;

impl WorkerProcess for KilledProcess {
    fn exit(&self) -> BoxFuture<'_, WorkerExit> {
        Box::pin(async { WorkerExit::Other("it was ended by signal 9 (SIGKILL)".to_owned()) })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl StartWorker for Lying {
    fn start(&self) -> BoxFuture<'_, Result<StartedWorker, String>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let (input, output) = (Box::new(tokio::io::sink()), Box::new(Cursor::new(self.0.clone())));
        Box::pin(
            async move { Ok(StartedWorker { input, output, process: Box::new(KilledProcess) }) },
        )
    }
}

fn framed(messages: &[Value]) -> Vec<u8> {
    let frame = |message: &Value| {
        let text = message.to_string();
        [u32::try_from(text.len()).unwrap().to_le_bytes().as_slice(), text.as_bytes()].concat()
    };
    messages.iter().flat_map(frame).collect()
}

async fn lied(bytes: Vec<u8>, limits: &ScriptLimits) -> ScriptError {
    let workers = Workers::new(Arc::new(Lying(bytes, AtomicUsize::new(0))));
    run_on(&workers, "return 1", "test", limits).await.unwrap_err()
}

#[tokio::test]
async fn a_worker_is_not_trusted() {
    let limits = ScriptLimits { calls: 2, output_bytes: 100, ..ScriptLimits::default() };
    let started = json!("started");
    let call =
        |id: u32| json!({"call": {"id": id, "server": "calc", "tool": "add", "arguments": {}}});
    for (bytes, want) in [
        (b"\xff\xff\xff\x7f".to_vec(), "a message of 2147483647 bytes"),
        (framed(&[json!({"eval": "x"})]), "unknown variant"),
        (framed(&[started.clone(), call(1), call(2), call(3)]), "more calls than"),
        (
            framed(&[json!({"done": {"value": "x".repeat(1000), "lost": [], "cut": false}})]),
            "a longer value than",
        ),
        (framed(std::slice::from_ref(&started)), "signal 9 (SIGKILL)"),
        (Vec::new(), "signal 9 (SIGKILL)"),
    ] {
        let error = lied(bytes, &limits).await;
        assert_eq!(error.kind, ScriptErrorKind::Engine, "{error}");
        assert!(error.message.contains(want), "no {want} in {error}");
    }
    let log = json!({"log": {"level": "log", "text": "y".repeat(60)}});
    let error = lied(framed(&[started, log.clone(), log.clone(), log]), &limits).await;
    let kept: usize = error.console.iter().map(|line| line.text.len()).sum();
    assert!(error.truncated && kept <= 100, "{error:?}");
}

/// The first worker ends while it is idle; the others are real.
#[derive(Debug, Default)]
struct Mortal(Threads);

impl StartWorker for Mortal {
    fn start(&self) -> BoxFuture<'_, Result<StartedWorker, String>> {
        if self.0.0.load(Ordering::SeqCst) > 0 {
            return self.0.start();
        }
        self.0.0.fetch_add(1, Ordering::SeqCst);
        let done = json!({"done": {"value": 7, "lost": [], "cut": false}});
        let output = Box::new(Cursor::new(framed(&[json!("started"), done])));
        let input = Box::new(tokio::io::sink());
        Box::pin(
            async move { Ok(StartedWorker { input, output, process: Box::new(KilledProcess) }) },
        )
    }
}

#[tokio::test]
async fn a_worker_that_ended_while_it_was_idle_is_replaced() {
    let workers = Workers::new(Arc::new(Mortal::default()));
    let limits = ScriptLimits::default();
    assert_eq!(run_on(&workers, "return 1", "test", &limits).await.unwrap().value, 7);
    assert_eq!(run_on(&workers, "return 1", "test", &limits).await.unwrap().value, 1);
}
