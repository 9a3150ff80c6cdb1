//! Runs a script on its thread: the engine, its limits, and the event loop.

use crate::ScriptLimits;
use crate::check::{ScriptModule, resolve};
use crate::draft::{ScriptPosition, WrittenScript, position_of};
use crate::error::{ScriptErrorKind, ScriptFailure};
use crate::host::{ScriptEnd, ScriptHost, ScriptValue, StopFlag, WorkerOutbox};
use crate::module_form::shape;
use rquickjs::context::EvalOptions;
use rquickjs::function::{IntoArgs, IntoJsFunc};
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Object, Persistent, Runtime, Value,
};
use serde_json::value::RawValue;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

/// Stack of an engine. A script that recurses deeper gets a `RangeError`.
pub(crate) const ENGINE_STACK_BYTES: usize = 1 << 20;

/// The name of the script in the engine's stack traces.
const SCRIPT_NAME: &str = "docent:script";

const PRELUDE_SOURCE: &str = include_str!("prelude.js");

/// A message to a running script.
pub(crate) enum EngineMessage {
    /// A call has ended: its result, or an error.
    Reply { id: u32, ok: bool, json: Box<RawValue> },
    /// The stop flag is set.
    Stop,
}

/// A script and everything that its thread needs.
pub(crate) struct ScriptJob {
    pub(crate) code: String,
    pub(crate) modules: Vec<ScriptModule>,
    pub(crate) limits: ScriptLimits,
    pub(crate) stop: Arc<StopFlag>,
    pub(crate) outbox: Arc<WorkerOutbox>,
    /// Closed when docent is gone.
    pub(crate) incoming: Receiver<EngineMessage>,
}

/// Runs a script to its end.
pub(crate) fn run_script(job: &ScriptJob) -> Result<ScriptValue, ScriptFailure> {
    if let Some(at) = job.code.find('\0') {
        let failure = ScriptFailure::new(
            ScriptErrorKind::Syntax,
            "the code has a NUL character; leave it out",
        );
        return Err(failure.at(position_of(&job.code, at)));
    }
    let mut shaped = shape(&job.code).map_err(|malformed| {
        ScriptFailure::new(ScriptErrorKind::Syntax, malformed.message).at(malformed.place)
    })?;
    let ids = resolve(&mut shaped.imports, &job.modules, &job.code)?;
    let written = shaped.write();
    let host = ScriptHost::new(job.limits, job.outbox.clone());
    let engine = ScriptEngine::new(job, host).map_err(|error| {
        // An interrupt or a small limit may already have stopped it.
        job.stop.failure().unwrap_or_else(|| no_engine(&error))
    })?;
    engine.start(job, &written, ids)?;
    engine.run_to_end(job, &written)
}

fn no_engine(error: &rquickjs::Error) -> ScriptFailure {
    let message = format!("the engine did not start: {error}; a higher memory limit may help");
    ScriptFailure::new(ScriptErrorKind::Engine, message)
}

/// The prelude's functions.
struct PreludeFunctions {
    start: Persistent<Function<'static>>,
    settle: Persistent<Function<'static>>,
    fire: Persistent<Function<'static>>,
    rejection: Persistent<Function<'static>>,
    leftovers: Persistent<Function<'static>>,
    uncaught: Persistent<Function<'static>>,
}

/// Fields are dropped in this order: the engine must outlive the references into it.
struct ScriptEngine {
    prelude: PreludeFunctions,
    context: Context,
    runtime: Runtime,
    host: Rc<RefCell<ScriptHost>>,
    stop: Arc<StopFlag>,
}

impl Drop for ScriptEngine {
    fn drop(&mut self) {
        self.runtime.set_host_promise_rejection_tracker(None);
    }
}

impl ScriptEngine {
    fn new(job: &ScriptJob, host: ScriptHost) -> rquickjs::Result<Self> {
        let host = Rc::new(RefCell::new(host));
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(job.limits.memory_bytes.max(1));
        runtime.set_max_stack_size(ENGINE_STACK_BYTES);
        let stop = job.stop.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || stop.is_set())));
        let context = Context::full(&runtime)?;
        let modules: Vec<_> = job.modules.iter().map(ScriptModule::to_json).collect();
        let modules = serde_json::Value::from(modules).to_string();
        let prelude = context.with(|ctx| load_prelude(&ctx, &host, &modules))?;
        let rejection = prelude.rejection.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, heard| {
                // There is no way to report a failure of this.
                let _reported = rejection
                    .clone()
                    .restore(&ctx)
                    .and_then(|tell| tell.call::<_, ()>((promise, reason, heard)));
            },
        )));
        Ok(Self { prelude, context, runtime, host, stop: job.stop.clone() })
    }

    /// Compiles the script and runs it up to its first `await`.
    fn start(
        &self,
        job: &ScriptJob,
        written: &WrittenScript,
        ids: Vec<String>,
    ) -> Result<(), ScriptFailure> {
        self.context.with(|ctx| {
            let mut options = EvalOptions::default();
            options.filename = Some(SCRIPT_NAME.to_owned());
            let main: Function<'_> = ctx
                .eval_with_options(written.code.as_str(), options)
                .catch(&ctx)
                .map_err(|caught| self.failure(&caught, job, written, ScriptErrorKind::Syntax))?;
            let start = self.prelude.start.clone().restore(&ctx).catch(&ctx);
            start
                .and_then(|start| start.call::<_, ()>((main, ids)).catch(&ctx))
                .map_err(|caught| self.failure(&caught, job, written, ScriptErrorKind::Thrown))
        })
    }

    /// Runs the event loop until the script is done.
    fn run_to_end(
        &self,
        job: &ScriptJob,
        written: &WrittenScript,
    ) -> Result<ScriptValue, ScriptFailure> {
        let mut finished: Option<ScriptValue> = None;
        loop {
            if let Err(failure) = self.run_jobs() {
                let late = failure.kind == ScriptErrorKind::Time;
                let Some(value) = finished.filter(|_| late) else { return Err(failure) };
                // The script is done; only calls that it does not await are pending.
                let dropped =
                    "calls that were not awaited exceeded the time limit and were dropped";
                self.host.borrow_mut().print("warn", dropped);
                return Ok(value);
            }
            match self.host.borrow_mut().take_end() {
                Some(ScriptEnd::Value(value)) => finished = Some(value),
                Some(ScriptEnd::Thrown { kind, message, stack }) => {
                    let kind = if is_out_of_memory(&message, &job.code) {
                        ScriptErrorKind::Memory
                    } else {
                        kind
                    };
                    let message = explain(kind, message, &job.limits);
                    let place = place_in(&stack)
                        .and_then(|place| written.source_position(&job.code, place));
                    return Err(ScriptFailure::new(kind, message).at(place));
                }
                None => {}
            }
            let open = self.host.borrow().open;
            if open == 0
                && let Some(value) = finished
            {
                self.invoke(&self.prelude.leftovers, ());
                return Ok(value);
            }
            let due = self.host.borrow_mut().take_due(Instant::now());
            if let (None, Some(id)) = (&finished, due) {
                self.invoke(&self.prelude.fire, (id,));
                continue;
            }
            self.wait(job, open, finished.is_some())?;
        }
    }

    fn run_jobs(&self) -> Result<(), ScriptFailure> {
        loop {
            if let Some(failure) = self.stop.failure() {
                return Err(failure);
            }
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(thrown) => thrown.0.with(|ctx| {
                    let error = ctx.catch();
                    self.print_uncaught(&ctx, error);
                }),
            }
        }
    }

    /// Waits for a result, a timer, or a stop.
    fn wait(&self, job: &ScriptJob, open: usize, finished: bool) -> Result<(), ScriptFailure> {
        let timer = self.host.borrow().next_timer().filter(|_| !finished);
        if open == 0 && timer.is_none() {
            return Err(self.stalled(job));
        }
        let event = match timer {
            Some(timer) => {
                job.incoming.recv_timeout(timer.saturating_duration_since(Instant::now()))
            }
            None => job.incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match event {
            Ok(EngineMessage::Reply { id, ok, json }) => {
                self.host.borrow_mut().record_answer();
                self.invoke(&self.prelude.settle, (id, ok, json.get()));
                Ok(())
            }
            Ok(EngineMessage::Stop) | Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                Err(ScriptFailure::new(ScriptErrorKind::Cancelled, "the script was cancelled"))
            }
        }
    }

    /// Calls a function of the prelude, and prints an exception.
    fn invoke(&self, function: &Persistent<Function<'static>>, given: impl for<'js> IntoArgs<'js>) {
        self.context.with(|ctx| {
            let called =
                function.clone().restore(&ctx).and_then(|function| function.call::<_, ()>(given));
            if called.is_err() {
                let error = ctx.catch();
                self.print_uncaught(&ctx, error);
            }
        });
    }

    fn print_uncaught<'js>(&self, ctx: &Ctx<'js>, error: Value<'js>) {
        let reported = self
            .prelude
            .uncaught
            .clone()
            .restore(ctx)
            .and_then(|tell| tell.call::<_, ()>((error,)));
        if reported.is_err() {
            let _shown = ctx.catch();
            self.host.borrow_mut().print("error", "an error that can't be shown was not caught");
        }
    }

    fn used(&self) -> usize {
        usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or_default()
    }

    fn stalled(&self, job: &ScriptJob) -> ScriptFailure {
        // A script that fills the memory leaves none to report that.
        if self.used() > job.limits.memory_bytes / 10 * 9 {
            return ScriptFailure::new(
                ScriptErrorKind::Memory,
                explain(ScriptErrorKind::Memory, String::new(), &job.limits),
            );
        }
        stalled()
    }

    /// Converts an exception of the engine that the script could not catch.
    fn failure(
        &self,
        caught: &CaughtError<'_>,
        job: &ScriptJob,
        written: &WrittenScript,
        kind: ScriptErrorKind,
    ) -> ScriptFailure {
        if let Some(stopped) = self.stop.failure() {
            return stopped;
        }
        let (message, stack, full) = match caught {
            CaughtError::Exception(exception) => {
                let message = exception.message().unwrap_or_default();
                let full = message == "out of memory";
                (message, exception.stack().unwrap_or_default(), full)
            }
            CaughtError::Value(value) => {
                ("the engine failed".to_owned(), String::new(), value.is_null())
            }
            CaughtError::Error(error) => (error.to_string(), String::new(), false),
        };
        let kind = if full { ScriptErrorKind::Memory } else { kind };
        let place = place_in(&stack).and_then(|place| written.source_position(&job.code, place));
        ScriptFailure::new(kind, explain(kind, message, &job.limits)).at(place)
    }
}

fn stalled() -> ScriptFailure {
    let message =
        "the script waits for a promise that can never settle: no call or timer is pending";
    ScriptFailure::new(ScriptErrorKind::Stalled, message)
}

/// An engine without memory for an error throws null, which scripts hardly ever do, or from within `normalize` nothing at
/// all, which is shown as `[uninitialized]`.
fn is_out_of_memory(message: &str, code: &str) -> bool {
    let threw = |thrown: &str| message.strip_suffix(" was thrown") == Some(thrown);
    (threw("null") && !code.contains("throw null") && !code.contains("reject(null)"))
        || (threw("[uninitialized]") && !code.contains("[uninitialized]"))
}

fn explain(kind: ScriptErrorKind, message: String, limits: &ScriptLimits) -> String {
    match kind {
        ScriptErrorKind::Memory => format!(
            "the script used more than {} bytes of memory (limits.memoryBytes); keep less at a time",
            limits.memory_bytes
        ),
        _ => message,
    }
}

/// Returns the first position in a stack trace that is in the script.
fn place_in(stack: &str) -> Option<ScriptPosition> {
    stack.lines().find_map(|frame| {
        let (_, place) = frame.split_once(SCRIPT_NAME)?;
        let mut numbers = place.split([':', ')']).skip(1).map(str::parse);
        Some(ScriptPosition { line: numbers.next()?.ok()?, column: numbers.next()?.ok()? })
    })
}

fn load_prelude(
    ctx: &Ctx<'_>,
    host: &Rc<RefCell<ScriptHost>>,
    modules: &str,
) -> rquickjs::Result<PreludeFunctions> {
    let mut options = EvalOptions::default();
    options.filename = Some("docent:prelude".to_owned());
    let make: Function<'_> = ctx.eval_with_options(PRELUDE_SOURCE, options)?;
    let parts: Object<'_> = make.call((host_object(ctx, host)?, ctx.json_parse(modules)?))?;
    let part = |name: &str| -> rquickjs::Result<_> {
        Ok(Persistent::save(ctx, parts.get::<_, Function<'_>>(name)?))
    };
    Ok(PreludeFunctions {
        start: part("start")?,
        settle: part("settle")?,
        fire: part("fire")?,
        rejection: part("rejection")?,
        leftovers: part("leftovers")?,
        uncaught: part("uncaught")?,
    })
}

/// Creates the host object, the only way out of the engine.
fn host_object<'js>(
    ctx: &Ctx<'js>,
    host: &Rc<RefCell<ScriptHost>>,
) -> rquickjs::Result<Object<'js>> {
    fn put<'js, P, F: IntoJsFunc<'js, P> + 'js>(
        object: &Object<'js>,
        name: &str,
        function: F,
    ) -> rquickjs::Result<()> {
        object.set(name, Function::new(object.ctx().clone(), function)?)
    }
    let object = Object::new(ctx.clone())?;
    let own = host.clone();
    put(&object, "print", move |level: String, text: String| {
        own.borrow_mut().print(&level, &text);
    })?;
    let own = host.clone();
    put(&object, "call", move |id: u32, server: String, tool: String, json: String| {
        own.borrow_mut().call(id, server, tool, json).err().unwrap_or_default()
    })?;
    let own = host.clone();
    put(&object, "timer", move |id: u32, wait: f64| own.borrow_mut().set_timer(id, wait))?;
    let own = host.clone();
    put(&object, "clear", move |id: u32| own.borrow_mut().clear_timer(id))?;
    let own = host.clone();
    put(&object, "done", move |json: String, lost: Vec<String>| {
        own.borrow_mut().finish(&json, lost);
    })?;
    let own = host.clone();
    put(&object, "failed", move |kind: String, message: String, stack: String| {
        own.borrow_mut().fail(&kind, message, stack);
    })?;
    put(&object, "isProxy", |value: Value<'js>| value.is_proxy())?;
    Ok(object)
}
