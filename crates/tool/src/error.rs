//! Why a call failed, grouped by who can fix it.

use crate::{CallStop, context::ClientQuery};
use std::error::Error;

/// Why a call failed; only the server converts this to wire form.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The caller can fix this by changing an argument.
    #[error("argument `{field}`: {problem}")]
    Argument {
        /// Path of the argument, such as `options.limit`.
        field: String,
        /// What is wrong, and what is accepted.
        problem: String,
    },
    /// The tool ran and failed.
    #[error(transparent)]
    Failed(#[from] ToolFailure),
    /// The deadline or the client stopped the call.
    #[error("stopped: {0}")]
    Stopped(CallStop),
    /// The call continues once the client has answered these.
    #[error("more input is needed from the client")]
    NeedsInput(InputNeeded),
    /// Another server refused, or this one has no capacity for the work now.
    #[error("{message} ({code})")]
    Refused {
        /// Its code.
        code: i32,
        /// Its message.
        message: String,
        /// Its additional data.
        data: Option<serde_json::Value>,
    },
    /// The client does not support this kind of request.
    #[error("the client does not support {0}")]
    ClientLacks(&'static str),
    /// A bug in docent. Clients see a reference, the log has the source.
    #[error("internal error")]
    Bug(#[source] Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// An argument that matches the schema but is invalid.
    pub fn argument(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Argument { field: field.into(), problem: problem.into() }
    }

    /// Something named by the caller that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        ToolFailure::new(FailureKind::NotFound, message).into()
    }

    /// The tool failed.
    pub fn failed(message: impl Into<String>) -> Self {
        ToolFailure::new(FailureKind::Tool, message).into()
    }
}

/// Questions for the client, by a key chosen by the tool, and state that the tool wants back with the answers.
#[derive(Debug, Clone, Default)]
pub struct InputNeeded {
    /// The questions, in order.
    pub asks: Vec<(String, ClientQuery)>,
    /// Returned unchanged with the answers.
    pub state: Option<String>,
}

/// A failure with a code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// Its kind.
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl ToolFailure {
    /// A failure without a cause.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, source: None }
    }

    /// Adds a hint how to fix it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// The kinds of failure, each with its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The tool failed.
    Tool,
    /// A file could not be parsed.
    Parse,
    /// The index or another store failed.
    Database,
    /// A file or document does not exist.
    NotFound,
}

impl FailureKind {
    /// The error code.
    pub fn code(self) -> i32 {
        match self {
            Self::Tool => -32000,
            Self::Parse => -32001,
            Self::Database => -32002,
            Self::NotFound => -32003,
        }
    }

    /// The name of the code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool_failed",
            Self::Parse => "parse_failed",
            Self::Database => "database",
            Self::NotFound => "not_found",
        }
    }
}
