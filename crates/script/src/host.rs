//! Owns what a script can do to the world: print, ask for calls and timers, and say that it is done. All of it is bounded here.

use crate::error::{Failure, ScriptErrorKind};
use crate::{ConsoleLevel, ConsoleLine, Limits};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Timers that may wait at the same time.
const MOST_TIMERS: usize = 10_000;

/// What a printed line costs beyond its text, so that empty lines are bounded too.
const LINE_COST: usize = 16;

/// Stages of an engine: it runs, it runs and nobody waits for it, it has ended.
const RUNS: u8 = 0;
const LEFT: u8 = 1;
const ENDED: u8 = 2;

/// A call that the async side is asked to make.
pub(crate) struct Order {
    pub(crate) id: u32,
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
}

/// What both sides see.
pub(crate) struct Shared {
    stop: AtomicBool,
    stage: AtomicU8,
    console: Mutex<Console>,
}

/// What was printed, as far as it is kept.
#[derive(Default)]
struct Console {
    lines: Vec<ConsoleLine>,
    bytes: usize,
    cut: bool,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self { stop: AtomicBool::new(false), stage: AtomicU8::new(RUNS), console: Mutex::default() }
    }

    /// Tells the engine to end as soon as it can.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Nobody waits any more. True when the engine still runs.
    pub(crate) fn leave(&self) -> bool {
        self.stage.compare_exchange(RUNS, LEFT, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The engine has ended. True when nobody waited for it.
    pub(crate) fn end(&self) -> bool {
        self.stage.swap(ENDED, Ordering::Relaxed) == LEFT
    }

    /// What was printed, and whether some of it was left out. Nothing is printed after this.
    pub(crate) fn take_console(&self) -> (Vec<ConsoleLine>, bool) {
        let mut console = self.console();
        (std::mem::take(&mut console.lines), console.cut)
    }

    fn console(&self) -> MutexGuard<'_, Console> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self, level: ConsoleLevel, text: &str, most: usize) {
        let mut console = self.console();
        let left = most.saturating_sub(console.bytes);
        if console.cut || left <= LINE_COST {
            console.cut = true;
            return;
        }
        let kept = cut(text, left - LINE_COST);
        console.bytes += kept.len() + LINE_COST;
        console.cut = kept.len() < text.len();
        console.lines.push(ConsoleLine { level, text: kept.to_owned() });
    }
}

/// As much of the start of a text as fits.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// A script's value.
pub(crate) struct Finished {
    pub(crate) value: Value,
    pub(crate) lost: Vec<String>,
    pub(crate) cut: bool,
}

/// What the script said at its end: a value, or an error and the engine's trace.
pub(crate) enum End {
    Value(Finished),
    Thrown { kind: ScriptErrorKind, message: String, stack: String },
}

/// The engine's side; lives on its thread.
pub(crate) struct Host {
    shared: Arc<Shared>,
    limits: Limits,
    orders: mpsc::Sender<Order>,
    calls: usize,
    /// Calls without an answer.
    pub(crate) open: usize,
    timers: BTreeSet<(Instant, u32)>,
    due: HashMap<u32, Instant>,
    end: Option<End>,
}

impl Host {
    pub(crate) fn new(shared: Arc<Shared>, limits: Limits, orders: mpsc::Sender<Order>) -> Self {
        Self {
            shared,
            limits,
            orders,
            calls: 0,
            open: 0,
            timers: BTreeSet::new(),
            due: HashMap::new(),
            end: None,
        }
    }

    pub(crate) fn print(&self, level: &str, text: &str) {
        let level = match level {
            "info" => ConsoleLevel::Info,
            "warn" => ConsoleLevel::Warn,
            "error" => ConsoleLevel::Error,
            "debug" => ConsoleLevel::Debug,
            _ => ConsoleLevel::Log,
        };
        self.shared.print(level, text, self.limits.output_bytes);
    }

    /// Asks for a call. An error is its kind and, on the next line, a message for the script.
    pub(crate) fn call(
        &mut self,
        id: u32,
        server: String,
        tool: String,
        json: &str,
    ) -> Result<(), String> {
        if self.calls >= self.limits.calls {
            return Err(format!(
                "calls\nno more than {} calls may be made by one script",
                self.limits.calls
            ));
        }
        let arguments = serde_json::from_str(json).map_err(|error| {
            format!("thrown\nthe arguments of {tool} of {server} can't be sent: {error}")
        })?;
        let order = Order { id, server, tool, arguments };
        // The channel is closed only when nobody waits for this script.
        self.orders
            .blocking_send(order)
            .map_err(|_| "thrown\nthe script was stopped".to_owned())?;
        self.calls += 1;
        self.open += 1;
        Ok(())
    }

    /// One call less is without an answer.
    pub(crate) fn answered(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// Sets a timer; false when there are too many.
    pub(crate) fn set_timer(&mut self, id: u32, milliseconds: f64) -> bool {
        let wait = Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default();
        let Some(at) = Instant::now().checked_add(wait) else { return false };
        if self.timers.len() >= MOST_TIMERS {
            return false;
        }
        self.due.insert(id, at);
        self.timers.insert((at, id))
    }

    pub(crate) fn clear_timer(&mut self, id: u32) {
        if let Some(at) = self.due.remove(&id) {
            self.timers.remove(&(at, id));
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// A timer whose time has come.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (_, id) = self.timers.first().copied().filter(|(at, _)| *at <= now)?;
        self.clear_timer(id);
        Some(id)
    }

    /// The script has a value.
    pub(crate) fn finish(&mut self, json: &str, lost: Vec<String>) {
        let most = self.limits.output_bytes;
        let finished = if json.len() > most {
            Finished { value: Value::from(cut(json, most)), lost, cut: true }
        } else {
            // Made by JSON.stringify of a value that is shallow enough; text is the worst that it can be.
            let value = serde_json::from_str(json).unwrap_or_else(|_| Value::from(json));
            Finished { value, lost, cut: false }
        };
        self.end.get_or_insert(End::Value(finished));
    }

    /// The script threw.
    pub(crate) fn fail(&mut self, kind: &str, message: String, stack: String) {
        let memory = message.ends_with("out of memory");
        let kind = match kind {
            "calls" => ScriptErrorKind::Calls,
            _ if memory => ScriptErrorKind::Memory,
            _ => ScriptErrorKind::Thrown,
        };
        self.end.get_or_insert(End::Thrown { kind, message, stack });
    }

    pub(crate) fn take_end(&mut self) -> Option<End> {
        self.end.take()
    }

    /// Why the engine was interrupted, when it was.
    pub(crate) fn stopped(&self, deadline: Instant) -> Option<Failure> {
        stopped(&self.shared, deadline, self.limits.time)
    }
}

/// Why a script has to end now, when it has to.
pub(crate) fn stopped(shared: &Shared, deadline: Instant, limit: Duration) -> Option<Failure> {
    if shared.is_stopped() {
        return Some(Failure::new(ScriptErrorKind::Cancelled, "the script was cancelled"));
    }
    (Instant::now() >= deadline).then(|| out_of_time(limit))
}

pub(crate) fn out_of_time(limit: Duration) -> Failure {
    let message = format!(
        "the script ran for longer than {} ms and was stopped; do less in one script",
        limit.as_millis()
    );
    Failure::new(ScriptErrorKind::Time, message)
}
