//! docent's side of a run: sends the script to a worker, makes its calls, and enforces its limits.
//!
//! The worker is not trusted: its messages are limited, and it can do only what a script may do.

use crate::check::ScriptModule;
use crate::draft::line_text;
use crate::error::{ScriptError, ScriptErrorKind, ScriptFailure};
use crate::host::{CapturedConsole, truncate, truncate_lines};
use crate::pool::{WorkerExit, WorkerLease};
use crate::protocol::{FromWorker, StopReason, ToWorker, encode, max_frame_bytes};
use crate::{
    CallError, CallRecord, CallReply, ScriptCall, ScriptClient, ScriptLimits, ScriptOutcome,
    ToolCaller,
};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a worker may take to stop a script before it is killed.
const STOP_GRACE: Duration = Duration::from_millis(250);

/// Maximum bytes of queued arguments; above this, nothing more is read from the worker.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// How long a run must be quiet after a call was suspended before the step ends, so that several calls can ask their
/// questions together.
const SUSPEND_SETTLE_TIME: Duration = Duration::from_millis(50);

/// Minimum wait before the time is checked again.
const MIN_POLL_WAIT: Duration = Duration::from_millis(5);

/// A script to run.
#[derive(Debug, Clone, Copy)]
pub struct ScriptRequest<'a> {
    /// The code; see the crate's documentation for what it may be.
    pub code: &'a str,
    /// What it may import.
    pub clients: &'a [ScriptClient],
    /// What it may use.
    pub limits: &'a ScriptLimits,
    /// The owner of the script. A worker runs only scripts of one owner.
    pub owner: &'a str,
}

/// The outcome of a step of a run.
#[derive(Debug)]
pub enum RunStep {
    /// The script has ended.
    Ended(Result<ScriptOutcome, ScriptError>),
    /// Calls were [suspended](CallReply::Suspended). Other running calls continue in the next step.
    Suspended,
}

/// A script that runs in a worker. Dropping it kills the worker.
#[derive(Debug)]
pub struct ScriptRun {
    lease: Option<WorkerLease>,
    code: String,
    limits: ScriptLimits,
    started: Instant,
    /// Time that earlier steps used of the limit.
    spent: Duration,
    /// The request, until the worker confirms that it runs the script.
    request: Vec<u8>,
    /// Number of requested calls.
    asked: usize,
    /// Bytes that are not sent to the worker yet.
    outgoing: VecDeque<u8>,
    waiting: VecDeque<QueuedToolCall>,
    /// Running calls, which may span steps.
    calls: FuturesUnordered<Call>,
    suspended: Vec<QueuedToolCall>,
    console: CapturedConsole,
    records: Vec<CallRecord>,
}

/// A call that the script requested.
#[derive(Debug)]
struct QueuedToolCall {
    id: u32,
    /// Its index in the list of calls.
    record: Option<usize>,
    server: String,
    tool: String,
    arguments: Box<RawValue>,
}

/// A call, how long it took, and how it ended.
type Call = BoxFuture<'static, (QueuedToolCall, Duration, CallReply)>;

/// How a script ended.
type Outcome = Result<(Value, Vec<String>, bool), ScriptFailure>;

/// A script that is being stopped.
struct StoppingScript {
    reason: StopReason,
    kill_at: Instant,
}

enum RunEvent {
    Frame(io::Result<Option<FromWorker>>),
    Called(QueuedToolCall, Duration, CallReply),
    Written(io::Result<usize>),
    Cancelled,
    Woken,
}

impl ScriptRun {
    pub(crate) fn new(script: &ScriptRequest<'_>, lease: WorkerLease) -> Self {
        let request = ToWorker::Run {
            code: script.code.to_owned(),
            modules: script.clients.iter().map(ScriptModule::of).collect(),
            limits: *script.limits,
        };
        // A request that is too long to send is never answered, and ends with its time limit.
        let request = encode(&request).unwrap_or_default();
        Self {
            lease: Some(lease),
            code: script.code.to_owned(),
            limits: *script.limits,
            started: Instant::now(),
            spent: Duration::ZERO,
            outgoing: request.iter().copied().collect(),
            request,
            asked: 0,
            waiting: VecDeque::new(),
            calls: FuturesUnordered::new(),
            suspended: Vec::new(),
            console: CapturedConsole::default(),
            records: Vec::new(),
        }
    }

    /// Runs until the script ends or waits for suspended calls, which the next step makes again.
    pub async fn next(
        &mut self,
        caller: &Arc<dyn ToolCaller>,
        cancel: &CancellationToken,
    ) -> RunStep {
        let began = Instant::now();
        let outcome = self.drive(caller, cancel, began).await;
        self.spent += began.elapsed().saturating_sub(caller.waited());
        match outcome {
            None => RunStep::Suspended,
            Some(outcome) => RunStep::Ended(self.end(outcome)),
        }
    }

    /// Returns `None` if calls are suspended.
    async fn drive(
        &mut self,
        caller: &Arc<dyn ToolCaller>,
        cancel: &CancellationToken,
        began: Instant,
    ) -> Option<Outcome> {
        let mut stopping: Option<StoppingScript> = None;
        self.waiting.extend(take(&mut self.suspended));
        loop {
            while self.calls.len() < self.limits.calls_at_once.max(1) {
                let Some(order) = self.waiting.pop_front() else { break };
                let call = self.begin(order, caller);
                self.calls.push(call);
            }
            let is_suspended = !self.suspended.is_empty();
            let left = match &stopping {
                Some(stopping) => stopping.kill_at.saturating_duration_since(Instant::now()),
                None => self.time_left(&**caller, began),
            };
            if left.is_zero() {
                if let Some(StoppingScript { reason, .. }) = stopping {
                    return Some(Err(self.stop_failure(reason)));
                }
                stopping = Some(self.stop(StopReason::Time));
                continue;
            }
            let wait = if is_suspended { left.min(SUSPEND_SETTLE_TIME) } else { left };
            match self.event(cancel, stopping.is_some(), wait).await {
                RunEvent::Frame(Ok(Some(frame))) => {
                    if let Some(outcome) = self.handle_message(frame, stopping.as_ref()) {
                        return Some(outcome);
                    }
                }
                RunEvent::Frame(Ok(None)) | RunEvent::Written(Err(_)) => {
                    if !self.start_again().await {
                        return Some(Err(self.worker_gone(stopping.as_ref()).await));
                    }
                }
                RunEvent::Frame(Err(error)) => {
                    return Some(Err(protocol_violation(&error.to_string())));
                }
                RunEvent::Called(order, took, reply) => self.reply(order, took, reply),
                RunEvent::Written(Ok(count)) => drop(self.outgoing.drain(..count)),
                RunEvent::Cancelled => stopping = Some(self.stop(StopReason::Cancelled)),
                RunEvent::Woken if is_suspended => return None,
                RunEvent::Woken => {}
            }
        }
    }

    /// Waits for the next event.
    async fn event(
        &mut self,
        cancel: &CancellationToken,
        is_stopping: bool,
        wait: Duration,
    ) -> RunEvent {
        let waiting: usize = self.waiting.iter().map(|order| order.arguments.get().len()).sum();
        let max_bytes = max_frame_bytes(&self.limits);
        let Some((input, output)) = self.lease.as_mut().and_then(WorkerLease::pipes) else {
            return RunEvent::Frame(Ok(None));
        };
        let (calls, outgoing) = (&mut self.calls, &self.outgoing);
        let write = poll_fn(|context| {
            let (bytes, _) = outgoing.as_slices();
            Pin::new(&mut **input).poll_write(context, bytes)
        });
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !is_stopping => RunEvent::Cancelled,
            frame = output.next(max_bytes), if waiting <= MAX_WAITING_BYTES => RunEvent::Frame(frame),
            Some((order, took, reply)) = calls.next() => RunEvent::Called(order, took, reply),
            written = write, if !outgoing.is_empty() => RunEvent::Written(match written {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                written => written,
            }),
            () = tokio::time::sleep(wait.max(MIN_POLL_WAIT)) => RunEvent::Woken,
        }
    }

    /// Returns the script's remaining time. Time in which the client answers a question does not count.
    fn time_left(&self, caller: &dyn ToolCaller, began: Instant) -> Duration {
        let used = self.spent + began.elapsed().saturating_sub(caller.waited());
        self.limits.time.saturating_sub(used)
    }

    fn send(&mut self, message: &ToWorker) {
        // A message can't be too long, because its parts are limited.
        self.outgoing.extend(encode(message).unwrap_or_default());
    }

    /// Asks the worker to stop the script, and drops the calls.
    fn stop(&mut self, reason: StopReason) -> StoppingScript {
        self.calls.clear();
        self.waiting.clear();
        self.suspended.clear();
        self.send(&ToWorker::Stop(reason));
        StoppingScript { reason, kill_at: Instant::now() + STOP_GRACE }
    }

    fn stop_failure(&self, reason: StopReason) -> ScriptFailure {
        match reason {
            StopReason::Time => out_of_time(self.limits.time),
            StopReason::Cancelled => {
                ScriptFailure::new(ScriptErrorKind::Cancelled, "the script was cancelled")
            }
        }
    }

    /// Handles a message; returns the outcome if the script has ended.
    fn handle_message(
        &mut self,
        frame: FromWorker,
        stopping: Option<&StoppingScript>,
    ) -> Option<Outcome> {
        let output_bytes = self.limits.output_bytes;
        match frame {
            FromWorker::Started => self.request.clear(),
            FromWorker::Log { level, text } => self.console.keep(level, &text, output_bytes),
            FromWorker::LogCut => self.console.cut = true,
            FromWorker::Call { id, server, tool, arguments } => {
                if stopping.is_some() {
                    return None;
                }
                if self.asked >= self.limits.calls {
                    return Some(Err(protocol_violation("more calls than the script may make")));
                }
                self.asked += 1;
                self.waiting.push_back(QueuedToolCall {
                    id,
                    record: None,
                    server,
                    tool,
                    arguments,
                });
            }
            FromWorker::Done { value, lost, cut } => {
                if let Some(StoppingScript { reason: StopReason::Cancelled, .. }) = stopping {
                    return Some(Err(self.stop_failure(StopReason::Cancelled)));
                }
                // A cut value is a text, with its own quotes and escapes.
                if value.get().len() > output_bytes.saturating_mul(2).saturating_add(2) {
                    return Some(Err(protocol_violation(
                        "a longer value than the script may have",
                    )));
                }
                let text = || Value::from(value.get());
                let parsed = serde_json::from_str(value.get()).unwrap_or_else(|_| text());
                return Some(Ok((parsed, truncate_lines(lost, output_bytes), cut)));
            }
            FromWorker::Failed { kind, message, line, column } => {
                return Some(Err(self.failed(kind, message, line, column, stopping)));
            }
        }
        None
    }

    fn failed(
        &self,
        kind: ScriptErrorKind,
        message: String,
        line: Option<u32>,
        column: Option<u32>,
        stopping: Option<&StoppingScript>,
    ) -> ScriptFailure {
        match stopping {
            Some(StoppingScript { reason: StopReason::Cancelled, .. }) => {
                return self.stop_failure(StopReason::Cancelled);
            }
            Some(StoppingScript { reason: StopReason::Time, .. })
                if kind == ScriptErrorKind::Time =>
            {
                return self.stop_failure(StopReason::Time);
            }
            _ => {}
        }
        let place =
            line.zip(column).map(|(line, column)| crate::draft::ScriptPosition { line, column });
        ScriptFailure::new(kind, message).at(place)
    }

    /// Begins a call.
    fn begin(&mut self, mut order: QueuedToolCall, caller: &Arc<dyn ToolCaller>) -> Call {
        let record = order.record.unwrap_or_else(|| {
            let (server, tool) = (order.server.clone(), order.tool.clone());
            self.records.push(CallRecord { server, tool, ms: 0, ok: false });
            self.records.len() - 1
        });
        order.record = Some(record);
        let (server, tool) = (order.server.clone(), order.tool.clone());
        let arguments = serde_json::from_str(order.arguments.get());
        let caller = Arc::clone(caller);
        Box::pin(async move {
            let began = Instant::now();
            let reply = match arguments {
                Ok(arguments) => {
                    caller.call(ScriptCall { number: record + 1, server, tool, arguments }).await
                }
                Err(error) => CallReply::Failed(CallError::new(format!(
                    "the arguments of {tool} of {server} can't be sent: {error}"
                ))),
            };
            (order, began.elapsed(), reply)
        })
    }

    /// Handles the end or the suspension of a call.
    fn reply(&mut self, order: QueuedToolCall, took: Duration, reply: CallReply) {
        let (ok, is_error, json) = match reply {
            CallReply::Suspended => return self.suspended.push(order),
            CallReply::Result(result) => {
                let is_error = result.get("isError") == Some(&Value::Bool(true));
                match to_raw_value(&result) {
                    Ok(json) if json.get().len() <= self.limits.memory_bytes => {
                        (true, is_error, json)
                    }
                    Ok(json) => (false, true, error_json(too_large(&order, json.get().len()))),
                    Err(error) => (false, true, error_json(CallError::new(error.to_string()))),
                }
            }
            CallReply::Failed(error) => (false, true, error_json(error)),
        };
        if let Some(record) = order.record.and_then(|record| self.records.get_mut(record)) {
            record.ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            record.ok = !is_error;
        }
        self.send(&ToWorker::Reply { id: order.id, ok, json });
    }

    /// Restarts on another worker if the idle one ended before it ran anything.
    async fn start_again(&mut self) -> bool {
        if self.request.is_empty() {
            return false;
        }
        let Some(lease) = &mut self.lease else { return false };
        if !lease.replace_idle().await {
            return false;
        }
        self.outgoing = self.request.iter().copied().collect();
        true
    }

    /// Returns the error for a worker that ended before the script.
    async fn worker_gone(&mut self, stopping: Option<&StoppingScript>) -> ScriptFailure {
        if let Some(stopping) = stopping {
            return self.stop_failure(stopping.reason);
        }
        let exit = match &mut self.lease {
            Some(lease) => lease.exit().await,
            None => WorkerExit::Other("it is gone".to_owned()),
        };
        match exit {
            WorkerExit::OutOfTime => out_of_time(self.limits.time),
            WorkerExit::OutOfMemory => ScriptFailure::new(
                ScriptErrorKind::Memory,
                format!(
                    "the script used more memory than its process may have ({} bytes are for the script itself, limits.memoryBytes); keep less at a time",
                    self.limits.memory_bytes
                ),
            ),
            WorkerExit::Other(how) => ScriptFailure::new(
                ScriptErrorKind::Engine,
                format!(
                    "the process that ran the script ended before the script did: {how}; other scripts are not affected, so try again, and do less at a time if it happens again"
                ),
            ),
        }
    }

    /// Returns the worker to the pool, and assembles the result.
    #[expect(clippy::result_large_err, reason = "made once for a script")]
    fn end(&mut self, outcome: Outcome) -> Result<ScriptOutcome, ScriptError> {
        let is_clean = match &outcome {
            Ok(_) => true,
            Err(failure) => matches!(
                failure.kind,
                ScriptErrorKind::Syntax
                    | ScriptErrorKind::Import
                    | ScriptErrorKind::Thrown
                    | ScriptErrorKind::Calls
                    | ScriptErrorKind::Stalled
            ),
        };
        if let Some(lease) = self.lease.take() {
            lease.give_back(is_clean && self.outgoing.is_empty());
        }
        self.calls.clear();
        let CapturedConsole { lines: console, cut: console_cut, .. } = take(&mut self.console);
        let (calls, elapsed) = (take(&mut self.records), self.started.elapsed());
        match outcome {
            Ok((value, lost, value_cut)) => {
                let truncated = console_cut || value_cut;
                Ok(ScriptOutcome { value, lost, console, calls, truncated, elapsed })
            }
            Err(ScriptFailure { kind, message, place }) => Err(ScriptError {
                kind,
                message: truncate(&message, max_frame_bytes(&self.limits)).to_owned(),
                line: place.map(|place| place.line),
                column: place.map(|place| place.column),
                source_line: place.and_then(|place| line_text(&self.code, place.line)),
                console,
                calls,
                truncated: console_cut,
                elapsed,
            }),
        }
    }
}

/// The error of a script that ran out of its time.
pub(crate) fn out_of_time(limit: Duration) -> ScriptFailure {
    let message = format!(
        "the script ran for longer than {} ms and was stopped (limits.timeMs); do less in one script, or give it more time",
        limit.as_millis()
    );
    ScriptFailure::new(ScriptErrorKind::Time, message)
}

/// The error for a worker that violates the protocol. It is killed.
fn protocol_violation(problem: &str) -> ScriptFailure {
    let message = format!("the process that ran the script sent {problem}, and was ended");
    ScriptFailure::new(ScriptErrorKind::Engine, message)
}

fn too_large(order: &QueuedToolCall, bytes: usize) -> CallError {
    CallError::new(format!(
        "the result of {} of {} has {bytes} bytes, more than the script may have (limits.memoryBytes)",
        order.tool, order.server
    ))
}

fn error_json(error: CallError) -> Box<RawValue> {
    let mut object = json!({ "message": error.message });
    if let Some(fields) = object.as_object_mut() {
        fields.extend(error.code.map(|code| ("code".to_owned(), code.into())));
        fields.extend(error.data.map(|data| ("data".to_owned(), data)));
    }
    to_raw_value(&object).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
