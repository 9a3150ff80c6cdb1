//! Owns what a script that did not succeed says: what went wrong, where, and what had been done by then.

use crate::draft::ScriptPosition;
use crate::{CallRecord, ConsoleLine};
use std::time::Duration;

/// Why a script ended without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptErrorKind {
    /// It is not JavaScript or TypeScript, or uses a part that code mode does not run.
    Syntax,
    /// It imports what there is not.
    Import,
    /// It threw, and caught nothing.
    Thrown,
    /// It took too long.
    Time,
    /// It used too much memory.
    Memory,
    /// It made too many calls.
    Calls,
    /// It waits for something that can't happen.
    Stalled,
    /// Whoever started it gave up.
    Cancelled,
    /// The engine failed; not the script's fault.
    Engine,
}

/// A script that ended without a value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}{}", at(*line, *column, source_line.as_deref()))]
pub struct ScriptError {
    /// Why, in a word.
    pub kind: ScriptErrorKind,
    /// Why, and what to do about it.
    pub message: String,
    /// The line of the script, from one.
    pub line: Option<u32>,
    /// The character of the line, from one.
    pub column: Option<u32>,
    /// The text of the line.
    pub source_line: Option<String>,
    /// What it had printed.
    pub console: Vec<ConsoleLine>,
    /// What it had called.
    pub calls: Vec<CallRecord>,
    /// True when the console was cut.
    pub truncated: bool,
    /// How long it ran.
    pub elapsed: Duration,
}

fn at(line: Option<u32>, column: Option<u32>, source_line: Option<&str>) -> String {
    match (line, column, source_line) {
        (Some(line), Some(column), Some(text)) => {
            format!(" (line {line}, column {column}: {text})")
        }
        (Some(line), _, _) => format!(" (line {line})"),
        _ => String::new(),
    }
}

/// The part of an error that the engine's thread knows.
#[derive(Debug)]
pub(crate) struct ScriptFailure {
    pub(crate) kind: ScriptErrorKind,
    pub(crate) message: String,
    pub(crate) place: Option<ScriptPosition>,
}

impl ScriptFailure {
    pub(crate) fn new(kind: ScriptErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None }
    }

    pub(crate) fn at(mut self, place: Option<ScriptPosition>) -> Self {
        self.place = place;
        self
    }
}
