//! Errors of scripts: what went wrong, where, and what had been done by then.

use crate::draft::ScriptPosition;
use crate::{CallRecord, ConsoleLine};
use std::time::Duration;

/// Why a script ended without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptErrorKind {
    /// It is not valid JavaScript or TypeScript, or uses unsupported syntax.
    Syntax,
    /// It imports something that does not exist.
    Import,
    /// It threw an exception that it did not catch.
    Thrown,
    /// It took too long.
    Time,
    /// It used too much memory.
    Memory,
    /// It made too many calls.
    Calls,
    /// It waits for something that can never happen.
    Stalled,
    /// The caller cancelled it.
    Cancelled,
    /// The engine failed, through no fault of the script.
    Engine,
}

/// A script that ended without a value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}{}", at(*line, *column, source_line.as_deref()))]
pub struct ScriptError {
    /// The kind of error.
    pub kind: ScriptErrorKind,
    /// The message, with what to do.
    pub message: String,
    /// The line of the script, from one.
    pub line: Option<u32>,
    /// The character of the line, from one.
    pub column: Option<u32>,
    /// The text of the line.
    pub source_line: Option<String>,
    /// Its console output until then.
    pub console: Vec<ConsoleLine>,
    /// Its calls until then.
    pub calls: Vec<CallRecord>,
    /// Whether the console was cut.
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

/// The part of an error that is known on the engine's thread.
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
