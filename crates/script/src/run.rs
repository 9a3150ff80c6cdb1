//! Owns the async side of a run: starts the engine's thread, makes the calls that it asks for, and never waits for it longer
//! than the limit.

use crate::check::Module;
use crate::engine::{Answer, ENGINE_STACK, Job, work};
use crate::error::{Failure, ScriptError, ScriptErrorKind};
use crate::host::{Finished, Order, Shared, out_of_time};
use crate::shape::tokens_at_most;
use crate::{CallRecord, Caller, Client, Limits, Ran};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Tokens that a script may have. The parser recurses, at worst once for each, and may read each once more for every bracket
/// around it.
const MOST_TOKENS: usize = 16_384;

/// Twice the stack that the parser takes for a token at worst in a build without optimizations. Only a script that is nested
/// so deep touches it.
const STACK_PER_TOKEN: usize = 8 << 10;

/// Stack for everything but the parser and the engine.
const BASE_STACK: usize = 1 << 20;

/// How long an engine that should have ended is waited for.
const GRACE: Duration = Duration::from_millis(500);

/// Engines that nobody waits for any more and that have not ended. Their threads can't be killed, so they must not become many.
static LINGERING: AtomicUsize = AtomicUsize::new(0);

/// With this many of them, no script is started.
const MOST_LINGERING: usize = 16;

type Outcome = Result<Finished, Failure>;

/// Runs a script; see the crate's documentation for what it may be. Dropping the future stops it and drops its calls.
pub async fn run(
    code: &str,
    clients: &[Client],
    caller: Arc<dyn Caller>,
    limits: &Limits,
    cancel: CancellationToken,
) -> Result<Ran, ScriptError> {
    let started = Instant::now();
    let shared = Arc::new(Shared::new());
    let mut desk =
        Desk { caller: &*caller, limits: *limits, waiting: VecDeque::new(), records: Vec::new() };
    let outcome = match start(code, clients, limits, &shared) {
        Ok(thread) => desk.serve(thread, &cancel).await,
        Err(failure) => Err(failure),
    };
    let (console, cut) = shared.take_console();
    let (calls, elapsed) = (desk.records, started.elapsed());
    match outcome {
        Ok(Finished { value, lost, cut: value_cut }) => {
            Ok(Ran { value, lost, console, calls, truncated: cut || value_cut, elapsed })
        }
        Err(Failure { kind, message, place, source_line }) => Err(ScriptError {
            kind,
            message,
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            source_line,
            console,
            calls,
            truncated: cut,
            elapsed,
        }),
    }
}

/// The ends of the channels to an engine. Dropping them stops it.
struct Thread {
    orders: mpsc::Receiver<Order>,
    answers: std::sync::mpsc::Sender<Answer>,
    outcome: oneshot::Receiver<Outcome>,
    deadline: Instant,
    shared: Arc<Shared>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.shared.stop();
        if self.shared.leave() {
            LINGERING.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Says that the engine has ended.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        if self.0.end() {
            LINGERING.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn start(
    code: &str,
    clients: &[Client],
    limits: &Limits,
    shared: &Arc<Shared>,
) -> Result<Thread, Failure> {
    let tokens = tokens_at_most(code);
    if tokens > MOST_TOKENS {
        let message = format!(
            "the code has {tokens} words and signs; {MOST_TOKENS} are allowed, so do it in several scripts"
        );
        return Err(Failure::new(ScriptErrorKind::Syntax, message));
    }
    let lingering = LINGERING.load(Ordering::Relaxed);
    if lingering >= MOST_LINGERING {
        let message =
            format!("{lingering} earlier scripts have not stopped when told to; try again later");
        return Err(Failure::new(ScriptErrorKind::Engine, message));
    }
    let deadline = Instant::now().checked_add(limits.time).ok_or_else(|| {
        Failure::new(ScriptErrorKind::Engine, "the time limit is too long to be one")
    })?;
    let (order, orders) = mpsc::channel(64);
    // Never holds more than the calls in flight.
    let (answers, answer) = std::sync::mpsc::channel();
    let (tell, outcome) = oneshot::channel();
    let job = Job {
        code: code.to_owned(),
        modules: clients.iter().map(Module::of).collect(),
        limits: *limits,
        deadline,
        shared: shared.clone(),
        orders: order,
        answers: answer,
    };
    std::thread::Builder::new()
        .name("script".to_owned())
        .stack_size(BASE_STACK + 2 * ENGINE_STACK + tokens * STACK_PER_TOKEN)
        .spawn(move || {
            // Dropped last, and also when the engine panics.
            let _ending = Ending(job.shared.clone());
            // Nobody listens when the script was given up.
            let _heard = tell.send(work(&job));
        })
        .map_err(|error| {
            Failure::new(ScriptErrorKind::Engine, format!("no thread for the script: {error}"))
        })?;
    Ok(Thread { orders, answers, outcome, deadline, shared: shared.clone() })
}

type Call<'c> = BoxFuture<'c, (usize, Duration, Answer)>;

/// Makes the calls of one script.
struct Desk<'c> {
    caller: &'c dyn Caller,
    limits: Limits,
    waiting: VecDeque<Order>,
    records: Vec<CallRecord>,
}

impl<'c> Desk<'c> {
    async fn serve(&mut self, mut thread: Thread, cancel: &CancellationToken) -> Outcome {
        let mut calls: FuturesUnordered<Call<'c>> = FuturesUnordered::new();
        let late = tokio::time::sleep_until((thread.deadline + GRACE).into());
        tokio::pin!(late);
        loop {
            while calls.len() < self.limits.calls_at_once.max(1) {
                let Some(order) = self.waiting.pop_front() else { break };
                calls.push(self.begin(order));
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    drop(calls);
                    return self.give_up(thread).await;
                }
                outcome = &mut thread.outcome => return outcome.unwrap_or_else(|_| Err(gone())),
                Some((record, took, answer)) = calls.next() => {
                    self.note(record, took, &answer);
                    // A closed channel means that the outcome is on its way.
                    let _sent = thread.answers.send(answer);
                }
                Some(order) = thread.orders.recv() => self.waiting.push_back(order),
                () = &mut late => return Err(out_of_time(self.limits.time)),
            }
        }
    }

    fn begin(&mut self, order: Order) -> Call<'c> {
        let record = self.records.len();
        let (server, tool) = (order.server.clone(), order.tool.clone());
        self.records.push(CallRecord { server, tool, ms: 0, ok: false });
        let caller = self.caller;
        Box::pin(async move {
            let started = Instant::now();
            let result = caller.call(&order.server, &order.tool, order.arguments).await;
            (record, started.elapsed(), Answer { id: order.id, result })
        })
    }

    fn note(&mut self, record: usize, took: Duration, answer: &Answer) {
        let Some(record) = self.records.get_mut(record) else { return };
        record.ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        record.ok = answer
            .result
            .as_ref()
            .is_ok_and(|result| result.get("isError") != Some(&Value::Bool(true)));
    }

    /// Stops the engine, and waits for it for as long as that is sensible.
    async fn give_up(&self, mut thread: Thread) -> Outcome {
        thread.shared.stop();
        let (closed, _) = std::sync::mpsc::channel();
        thread.answers = closed;
        // What it still prints is worth keeping; an engine that does not end is not worth waiting for.
        let _ended = tokio::time::timeout(GRACE, &mut thread.outcome).await;
        Err(Failure::new(ScriptErrorKind::Cancelled, "the script was cancelled"))
    }
}

fn gone() -> Failure {
    Failure::new(ScriptErrorKind::Engine, "the engine's thread ended without a word")
}
