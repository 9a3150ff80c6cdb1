//! Why a call gave no answer, grouped by who can do something about it.

use crate::{CallStop, context::ClientQuery};
use std::error::Error;

/// Why a call produced no answer; the server alone turns this into wire form.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The caller can mend this by changing arguments.
    #[error("argument `{field}`: {problem}")]
    Argument {
        /// Path of the argument, as `options.limit`.
        field: String,
        /// What is wrong, and what is accepted.
        problem: String,
    },
    /// The tool ran and could not do what was asked.
    #[error(transparent)]
    Failed(#[from] ToolFailure),
    /// The deadline or the client stopped the call.
    #[error("stopped: {0}")]
    Stopped(CallStop),
    /// The call goes on once the client has answered these.
    #[error("more input is needed from the client")]
    NeedsInput(InputNeeded),
    /// Another server refused, or this one has no room for the work now, in these words.
    #[error("{message} ({code})")]
    Refused {
        /// Its code.
        code: i32,
        /// Its message.
        message: String,
        /// What it says beside that.
        data: Option<serde_json::Value>,
    },
    /// The client can't be asked that.
    #[error("the client does not support {0}")]
    ClientLacks(&'static str),
    /// Our bug. Clients see a reference, the log sees the source.
    #[error("internal error")]
    Bug(#[source] Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// An argument that passed the schema and still can't be used.
    pub fn argument(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Argument { field: field.into(), problem: problem.into() }
    }

    /// Something named by the caller that is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        ToolFailure::new(FailureKind::NotFound, message).into()
    }

    /// The tool failed.
    pub fn failed(message: impl Into<String>) -> Self {
        ToolFailure::new(FailureKind::Tool, message).into()
    }
}

/// Questions for the client, by a key of the tool's choosing, and what the tool wants back with the answers.
#[derive(Debug, Clone, Default)]
pub struct InputNeeded {
    /// What to ask, in order.
    pub asks: Vec<(String, ClientQuery)>,
    /// Handed back untouched with the answers.
    pub state: Option<String>,
}

/// A failure with a place in the table of codes.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// Which row.
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolFailure {
    /// A failure without a cause of its own.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, source: None }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// The rows of the table of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The tool failed.
    Tool,
    /// A file could not be parsed.
    Parse,
    /// The index or another store failed.
    Database,
    /// A file or document is not there.
    NotFound,
}

impl FailureKind {
    /// The code, as the table has it.
    pub fn code(self) -> i32 {
        match self {
            Self::Tool => -32000,
            Self::Parse => -32001,
            Self::Database => -32002,
            Self::NotFound => -32003,
        }
    }

    /// The name beside the code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool_failed",
            Self::Parse => "parse_failed",
            Self::Database => "database",
            Self::NotFound => "not_found",
        }
    }
}
