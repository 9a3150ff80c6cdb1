//! The worker's side: a process that runs scripts one after another, each in its own engine, for docent at the other
//! end of its pipes.
//!
//! The calling thread reads from docent as long as the process lives, so that a running script can be stopped. If it
//! does not stop, docent kills the process.

use crate::ScriptLimits;
use crate::engine::{ENGINE_STACK_BYTES, EngineMessage, ScriptJob, run_script};
use crate::error::{ScriptErrorKind, ScriptFailure};
use crate::host::{ScriptValue, StopFlag, WorkerOutbox};
use crate::module_form::tokens_at_most;
use crate::protocol::{self, FromWorker, ToWorker};
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// Maximum tokens of a script. The parser recurses at worst once per token, and may read each again for every bracket
/// around it.
const MAX_SCRIPT_TOKENS: usize = 16_384;

/// Twice the worst-case stack of the parser per token in an unoptimized build. Only deeply nested scripts use it.
const STACK_BYTES_PER_TOKEN: usize = 8 << 10;

/// Stack for everything but the parser and the engine.
const BASE_STACK_BYTES: usize = 1 << 20;

/// The most stack that a worker maps for a script.
pub const MAX_WORKER_STACK_BYTES: usize =
    BASE_STACK_BYTES + 2 * ENGINE_STACK_BYTES + MAX_SCRIPT_TOKENS * STACK_BYTES_PER_TOKEN;

/// A script that runs on its own thread.
struct WorkerScript {
    incoming: mpsc::Sender<EngineMessage>,
    stop: Arc<StopFlag>,
    thread: JoinHandle<()>,
}

/// Runs scripts until `input` ends. `begin` is called before each with its limits, to bound the process.
///
/// A script may still be running when this returns, so the caller should end the process.
pub fn serve_worker(
    mut input: impl Read,
    output: impl Write + Send + 'static,
    mut begin: impl FnMut(&ScriptLimits),
) -> io::Result<()> {
    let outbox = Arc::new(WorkerOutbox::new(Box::new(output)));
    let mut script: Option<WorkerScript> = None;
    while let Some(message) = protocol::read(&mut input)? {
        match message {
            ToWorker::Run { code, modules, limits } => {
                if let Some(before) = script.take() {
                    // It has reported its outcome, so its thread is ending.
                    before.thread.join().unwrap_or_default();
                }
                begin(&limits);
                outbox.send(&FromWorker::Started);
                let (sender, incoming) = mpsc::channel();
                let stop = Arc::new(StopFlag::default());
                let (flag, outbox) = (Arc::clone(&stop), Arc::clone(&outbox));
                let thread =
                    start(ScriptJob { code, modules, limits, stop: flag, outbox, incoming })?;
                script = Some(WorkerScript { incoming: sender, stop, thread });
            }
            ToWorker::Reply { id, ok, json } => {
                if let Some(script) = &script {
                    // A script that has ended does not need it.
                    let _sent = script.incoming.send(EngineMessage::Reply { id, ok, json });
                }
            }
            ToWorker::Stop(reason) => {
                if let Some(script) = &script {
                    script.stop.set(reason);
                    let _woken = script.incoming.send(EngineMessage::Stop);
                }
            }
        }
    }
    Ok(())
}

fn start(job: ScriptJob) -> io::Result<JoinHandle<()>> {
    let tokens = tokens_at_most(&job.code);
    let stack = BASE_STACK_BYTES
        + 2 * ENGINE_STACK_BYTES
        + tokens.min(MAX_SCRIPT_TOKENS) * STACK_BYTES_PER_TOKEN;
    std::thread::Builder::new().name("script".to_owned()).stack_size(stack).spawn(move || {
        let outcome = if tokens > MAX_SCRIPT_TOKENS {
            Err(too_long(tokens))
        } else {
            // The panic message is on standard error.
            catch_unwind(AssertUnwindSafe(|| run_script(&job))).unwrap_or_else(|_| Err(panicked()))
        };
        job.outbox.send(&outcome_message(outcome, &job.limits));
    })
}

fn too_long(tokens: usize) -> ScriptFailure {
    let message = format!(
        "the code has {tokens} words and signs; the limit is {MAX_SCRIPT_TOKENS}, so split it into several scripts"
    );
    ScriptFailure::new(ScriptErrorKind::Syntax, message)
}

fn panicked() -> ScriptFailure {
    ScriptFailure::new(
        ScriptErrorKind::Engine,
        "the engine failed; report this script as a bug of docent",
    )
}

/// Converts a script's outcome to a message for docent.
fn outcome_message(
    outcome: Result<ScriptValue, ScriptFailure>,
    limits: &ScriptLimits,
) -> FromWorker {
    match outcome {
        Ok(ScriptValue { value, lost, cut }) => FromWorker::Done { value, lost, cut },
        Err(ScriptFailure { kind, mut message, place }) => {
            message
                .truncate(message.floor_char_boundary(limits.output_bytes.max(MIN_MESSAGE_BYTES)));
            let (line, column) = (place.map(|place| place.line), place.map(|place| place.column));
            FromWorker::Failed { kind, message, line, column }
        }
    }
}

/// Bytes of an error message that are always kept, whatever the output limit is.
const MIN_MESSAGE_BYTES: usize = 4 << 10;
