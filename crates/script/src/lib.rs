//! Runs JavaScript and TypeScript that call tools, in an engine without any other way out.
//!
//! A script runs in a worker process, because parts of the engine can't be interrupted: a worker that does not stop at its
//! limits is killed. [`serve_worker`] is the worker's side. [`Workers`] is docent's side: it has workers started by a
//! [`StartWorker`], bounds how many scripts run at once, and makes their calls through a [`ToolCaller`].
//!
//! A script is a module (imports, top-level `await`, `export default`) or the body of a function (`return` at the top level).
//! Its value is what it returns, else what it exports as default, else its last expression; a function is called for its value.
//! Clients are modules, `mcp-clients/<id>`, and members of the global `mcp`. Code is strict. There is no file, process,
//! network, `require` or other module.
//!
//! Calls that nobody awaits are waited for when the script is done; timers are not. A script that fails, or is stopped, drops
//! its calls at once.

mod check;
mod declare;
mod draft;
mod engine;
mod erase;
mod error;
mod host;
mod names;
mod pool;
mod protocol;
mod run;
mod schema;
mod module_form;
mod worker;

pub use declare::{declarations, declarations_of_all};
pub use error::{ScriptError, ScriptErrorKind};
pub use pool::{StartWorker, StartedWorker, WorkerExit, WorkerProcess, Workers};
pub use run::{ScriptRun, ScriptRequest, RunStep};
pub use worker::{MAX_WORKER_STACK_BYTES, serve_worker};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// A server that a script may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptClient {
    /// What stands after `mcp-clients/` in an import.
    pub id: String,
    /// What it is for.
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

    /// How long the calls have waited for a person's answer. It does not count against the script's time.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }
}

/// A call that a script makes.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCall {
    /// Which call of the script it is, from one. A suspended call keeps its number.
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
    /// Not yet: it is made again in the next step of the run, when its caller knows more.
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
    /// More, as the server gave it.
    pub data: Option<Value>,
}

impl CallError {
    /// An error with a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, data: None }
    }
}

/// How much a script may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptLimits {
    /// Memory of the engine.
    pub memory_bytes: usize,
    /// Time from start to end, calls included, but not what a person takes to answer a question.
    pub time: Duration,
    /// Calls in all.
    pub calls: usize,
    /// Calls in flight; others wait for their turn.
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

/// What came of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOutcome {
    /// Its value. Where that was longer than the limit: the start of its JSON, as text.
    pub value: Value,
    /// What of the value JSON can't hold, and what stands for it.
    pub lost: Vec<String>,
    /// What it printed.
    pub console: Vec<ConsoleLine>,
    /// What it called, in the order of starting.
    pub calls: Vec<CallRecord>,
    /// True when the value or the console was cut.
    pub truncated: bool,
    /// How long it took.
    pub elapsed: Duration,
}

/// One thing that was printed; it may have several lines.
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
    /// `console.warn`, and what docent has to say.
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
