//! Everything that a script can do outside its engine: print, request calls and timers, and finish. All limits are
//! enforced here.

use crate::error::{ScriptErrorKind, ScriptFailure};
use crate::protocol::{self, FromWorker, MAX_ARGUMENT_BYTES, StopReason};
use crate::{ConsoleLevel, ConsoleLine, ScriptLimits};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of pending timers.
const MAX_TIMERS: usize = 10_000;

/// Bytes that a printed line counts beyond its text, so that empty lines are limited too.
const LINE_OVERHEAD_BYTES: usize = 16;

/// Whether a script must stop, and why.
#[derive(Debug, Default)]
pub(crate) struct StopFlag(AtomicU8);

const STOPPED_FOR_TIME: u8 = 1;
const STOPPED_BY_CANCEL: u8 = 2;

impl StopFlag {
    pub(crate) fn set(&self, reason: StopReason) {
        let reason = match reason {
            StopReason::Time => STOPPED_FOR_TIME,
            StopReason::Cancelled => STOPPED_BY_CANCEL,
        };
        self.0.store(reason, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Returns the error of a script that must stop. docent adds which limit it was.
    pub(crate) fn failure(&self) -> Option<ScriptFailure> {
        match self.0.load(Ordering::Relaxed) {
            STOPPED_FOR_TIME => {
                Some(ScriptFailure::new(ScriptErrorKind::Time, "the script took too long"))
            }
            STOPPED_BY_CANCEL => {
                Some(ScriptFailure::new(ScriptErrorKind::Cancelled, "the script was cancelled"))
            }
            _ => None,
        }
    }
}

/// Output to docent, shared by the scripts of a worker.
pub(crate) struct WorkerOutbox(Mutex<Box<dyn Write + Send>>);

impl WorkerOutbox {
    pub(crate) fn new(output: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(output))
    }

    pub(crate) fn send(&self, message: &FromWorker) {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If this fails, docent is gone, and the process ends with its input.
        protocol::write(&mut **output, message).unwrap_or_default();
    }
}

/// The captured console. A worker sends no more than the limit, and docent keeps no more.
#[derive(Debug, Default)]
pub(crate) struct CapturedConsole {
    pub(crate) lines: Vec<ConsoleLine>,
    bytes: usize,
    pub(crate) cut: bool,
}

impl CapturedConsole {
    /// Returns as much of a text as may still be printed. The first text that does not fit is the last.
    pub(crate) fn admit<'t>(&mut self, text: &'t str, most: usize) -> Option<&'t str> {
        let left = most.saturating_sub(self.bytes);
        if self.cut || left <= LINE_OVERHEAD_BYTES {
            self.cut = true;
            return None;
        }
        let kept = truncate(text, left - LINE_OVERHEAD_BYTES);
        self.bytes += kept.len() + LINE_OVERHEAD_BYTES;
        self.cut = kept.len() < text.len();
        Some(kept)
    }

    /// Keeps a line, as far as it fits.
    pub(crate) fn keep(&mut self, level: ConsoleLevel, text: &str, most: usize) {
        if let Some(kept) = self.admit(text, most) {
            self.lines.push(ConsoleLine { level, text: kept.to_owned() });
        }
    }
}

/// Truncates a text.
pub(crate) fn truncate(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// A script's value.
pub(crate) struct ScriptValue {
    pub(crate) value: Box<RawValue>,
    pub(crate) lost: Vec<String>,
    pub(crate) cut: bool,
}

/// How the script ended: with a value, or an error and the engine's stack trace.
pub(crate) enum ScriptEnd {
    Value(ScriptValue),
    Thrown { kind: ScriptErrorKind, message: String, stack: String },
}

/// The engine's side, on its thread.
pub(crate) struct ScriptHost {
    limits: ScriptLimits,
    outbox: Arc<WorkerOutbox>,
    console: CapturedConsole,
    calls: usize,
    /// Calls without an answer.
    pub(crate) open: usize,
    timers: BTreeSet<(Instant, u32)>,
    due: HashMap<u32, Instant>,
    end: Option<ScriptEnd>,
}

impl ScriptHost {
    pub(crate) fn new(limits: ScriptLimits, outbox: Arc<WorkerOutbox>) -> Self {
        Self {
            limits,
            outbox,
            console: CapturedConsole::default(),
            calls: 0,
            open: 0,
            timers: BTreeSet::new(),
            due: HashMap::new(),
            end: None,
        }
    }

    pub(crate) fn print(&mut self, level: &str, text: &str) {
        let level = match level {
            "info" => ConsoleLevel::Info,
            "warn" => ConsoleLevel::Warn,
            "error" => ConsoleLevel::Error,
            "debug" => ConsoleLevel::Debug,
            _ => ConsoleLevel::Log,
        };
        let was_cut = self.console.cut;
        if let Some(kept) = self.console.admit(text, self.limits.output_bytes) {
            self.outbox.send(&FromWorker::Log { level, text: kept.to_owned() });
        }
        if self.console.cut && !was_cut {
            self.outbox.send(&FromWorker::LogCut);
        }
    }

    /// Requests a call. An error is its kind and, on the next line, a message for the script.
    pub(crate) fn call(
        &mut self,
        id: u32,
        server: String,
        tool: String,
        json: String,
    ) -> Result<(), String> {
        if self.calls >= self.limits.calls {
            return Err(format!(
                "calls\nno more than {} calls may be made by one script",
                self.limits.calls
            ));
        }
        let unsendable = |why: String| {
            format!("thrown\nthe arguments of {tool} of {server} can't be sent: {why}")
        };
        if json.len() > MAX_ARGUMENT_BYTES {
            return Err(unsendable(format!(
                "they have {} bytes of JSON; the limit is {MAX_ARGUMENT_BYTES}",
                json.len()
            )));
        }
        let arguments =
            RawValue::from_string(json).map_err(|error| unsendable(error.to_string()))?;
        self.outbox.send(&FromWorker::Call { id, server, tool, arguments });
        self.calls += 1;
        self.open += 1;
        Ok(())
    }

    /// Records that a call was answered.
    pub(crate) fn record_answer(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// Sets a timer; false if there are too many.
    pub(crate) fn set_timer(&mut self, id: u32, milliseconds: f64) -> bool {
        let wait = Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default();
        let Some(at) = Instant::now().checked_add(wait) else { return false };
        if self.timers.len() >= MAX_TIMERS {
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

    /// Takes a timer that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (_, id) = self.timers.first().copied().filter(|(at, _)| *at <= now)?;
        self.clear_timer(id);
        Some(id)
    }

    /// The script has a value.
    pub(crate) fn finish(&mut self, json: &str, lost: Vec<String>) {
        let most = self.limits.output_bytes;
        let as_text = |text: &str| to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let finished = if json.len() > most {
            ScriptValue {
                value: as_text(truncate(json, most)),
                lost: truncate_lines(lost, most),
                cut: true,
            }
        } else {
            // From JSON.stringify; at worst it is kept as text.
            let value = RawValue::from_string(json.to_owned()).unwrap_or_else(|_| as_text(json));
            ScriptValue { value, lost: truncate_lines(lost, most), cut: false }
        };
        self.end.get_or_insert(ScriptEnd::Value(finished));
    }

    /// The script threw.
    pub(crate) fn fail(&mut self, kind: &str, message: String, stack: String) {
        let memory = message.ends_with("out of memory");
        let kind = match kind {
            "calls" => ScriptErrorKind::Calls,
            _ if memory => ScriptErrorKind::Memory,
            _ => ScriptErrorKind::Thrown,
        };
        self.end.get_or_insert(ScriptEnd::Thrown { kind, message, stack });
    }

    pub(crate) fn take_end(&mut self) -> Option<ScriptEnd> {
        self.end.take()
    }
}

/// Keeps as many lines as fit.
pub(crate) fn truncate_lines(mut lines: Vec<String>, bytes: usize) -> Vec<String> {
    let mut used = 0;
    let fit = lines.iter().take_while(|line| {
        used += line.len() + LINE_OVERHEAD_BYTES;
        used <= bytes
    });
    let fit = fit.count();
    lines.truncate(fit);
    lines
}
