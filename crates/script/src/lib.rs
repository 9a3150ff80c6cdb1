//! Runs JavaScript and TypeScript that call tools, in an engine without any other access.
//!
//! A script runs in a worker process, because parts of the engine can't be interrupted: a worker that exceeds its
//! limits is killed. [`serve_worker`] is the worker's side. [`Workers`] is docent's side: it starts workers through a
//! [`StartWorker`], limits how many scripts run at once, and makes their calls through a [`ToolCaller`].
//!
//! A script is a module (imports, top-level `await`, `export default`) or the body of a function (`return` at the top
//! level). Its value is its return value, else its default export, else its last expression; a function is called for
//! its value. Clients are modules, `mcp-clients/<id>`, and members of the global `mcp`. Code is strict. There are no
//! files, processes, network, `require` or other modules.
//!
//! Calls without `await` are waited for when the script is done; timers are not. A script that fails, or is stopped,
//! drops its calls at once.
//!
//! # Design
//!
//! docent measures time: at the limit it asks the worker to stop and kills it 250 ms later. At most 16 scripts run at once. A
//! worker that ended its script cleanly runs the next script of the same client in a new engine; all others are killed and
//! replaced. The time that a person takes to answer a question does not count; processor time always does, enforced by the
//! kernel.

mod check;
mod declare;
mod draft;
mod engine;
mod erase;
mod error;
mod host;
mod module_form;
mod names;
mod pool;
mod protocol;
mod run;
mod schema;
mod worker;

pub use declare::{declarations, declarations_of_all};
pub use error::{ScriptError, ScriptErrorKind};
pub use pool::{StartWorker, StartedWorker, WorkerExit, WorkerProcess, Workers};
pub use run::{RunStep, ScriptRequest, ScriptRun};
pub use worker::{MAX_WORKER_STACK_BYTES, serve_worker};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// A server that a script may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptClient {
    /// Its id, after `mcp-clients/` in an import.
    pub id: String,
    /// Its description.
    pub about: Option<String>,
    /// Its tools.
    pub tools: Vec<ToolDoc>,
}

/// A tool of a [`ScriptClient`].
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDoc {
    /// Its name on the server.
    pub name: String,
    /// What it does.
    pub about: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its structured content.
    pub output_schema: Option<Value>,
}

/// Makes the calls of a script.
pub trait ToolCaller: Send + Sync {
    /// Calls a tool. Dropping the future cancels the call.
    fn call(&self, call: ScriptCall) -> BoxFuture<'_, CallReply>;

    /// Returns how long the calls have waited for a person's answer, which does not count against the script's time.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }
}

/// A call that a script makes.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCall {
    /// The number of the call, from one. A suspended call keeps its number.
    pub number: usize,
    /// The client's id.
    pub server: String,
    /// The tool's name on the server.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum CallReply {
    /// With a `CallToolResult`, as JSON.
    Result(Value),
    /// Without a result.
    Failed(CallError),
    /// Not yet: it is repeated in the next step of the run.
    Suspended,
}

/// A call that got no result. The script sees an `Error` with these fields.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// What happened.
    pub message: String,
    /// The JSON-RPC code, where there is one.
    pub code: Option<i64>,
    /// Additional data of the server.
    pub data: Option<Value>,
}

impl CallError {
    /// Creates an error with only a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, data: None }
    }
}

/// Limits of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptLimits {
    /// Memory of the engine.
    pub memory_bytes: usize,
    /// Total time, including calls, but not the time that a person takes to answer a question.
    pub time: Duration,
    /// Maximum number of calls.
    pub calls: usize,
    /// Maximum number of concurrent calls; others are queued.
    pub calls_at_once: usize,
    /// Bytes of the value's JSON, and bytes of the console's text. Each is cut there.
    pub output_bytes: usize,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            time: Duration::from_secs(30),
            calls: 100,
            calls_at_once: 16,
            output_bytes: 256 << 10,
        }
    }
}

/// The result of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOutcome {
    /// Its value. If that is over the limit: the start of its JSON, as text.
    pub value: Value,
    /// Parts of the value that JSON can't express, and their replacements.
    pub lost: Vec<String>,
    /// Its console output.
    pub console: Vec<ConsoleLine>,
    /// Its calls, in the order of starting.
    pub calls: Vec<CallRecord>,
    /// True when the value or the console was cut.
    pub truncated: bool,
    /// How long it took.
    pub elapsed: Duration,
}

/// One printed message, which may have several lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsoleLine {
    /// The function that printed it.
    pub level: ConsoleLevel,
    /// The text.
    pub text: String,
}

/// A function of `console`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsoleLevel {
    /// `console.log`
    Log,
    /// `console.info`
    Info,
    /// `console.warn`, and messages of docent.
    Warn,
    /// `console.error`
    Error,
    /// `console.debug`
    Debug,
}

/// One call of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallRecord {
    /// The client's id.
    pub server: String,
    /// The tool's name on the server.
    pub tool: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// True when there was a result and it was not an error.
    pub ok: bool,
}
