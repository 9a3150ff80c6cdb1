//! The tools that test scripts call, and functions to run a script.

use crate::threads::Threads;
use docent_script::{
    CallError, CallReply, RunStep, ScriptCall, ScriptClient, ScriptError, ScriptLimits,
    ScriptOutcome, ScriptRequest, ToolCaller, ToolDoc, Workers,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Answers calls in memory, and counts those that run at the same time.
#[derive(Default)]
pub(crate) struct TestTools {
    pub(crate) running: Arc<AtomicUsize>,
    pub(crate) most: AtomicUsize,
    pub(crate) asked: AtomicUsize,
    /// Notified when a call to `never` starts.
    pub(crate) hangs: Notify,
}

/// Counts a call for as long as it lives.
struct CallGuard(Arc<AtomicUsize>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

impl ToolCaller for TestTools {
    fn call(&self, call: ScriptCall) -> BoxFuture<'_, CallReply> {
        Box::pin(async move {
            match self.answer(&call).await {
                Ok(result) => CallReply::Result(result),
                Err(error) => CallReply::Failed(error),
            }
        })
    }
}

impl TestTools {
    async fn answer(&self, call: &ScriptCall) -> Result<Value, CallError> {
        let ScriptCall { server, tool, arguments, .. } = call;
        self.asked.fetch_add(1, Ordering::SeqCst);
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        let _running = CallGuard(self.running.clone());
        self.most.fetch_max(now, Ordering::SeqCst);
        // Yields, so that concurrent calls can run.
        tokio::task::yield_now().await;
        let number = |name: &str| arguments.get(name).and_then(Value::as_f64).unwrap_or_default();
        match tool.as_str() {
            "add" => Ok(
                json!({ "content": [], "structuredContent": { "sum": number("a") + number("b") } }),
            ),
            "echo" => Ok(text(&Value::from(arguments.clone()).to_string())),
            "say" => Ok(text(arguments.get("text").and_then(Value::as_str).unwrap_or("nothing"))),
            "get-user" => Ok(text(server)),
            "image" => Ok(json!({ "content": [{ "type": "text", "text": "see" },
                { "type": "image", "data": "AA==", "mimeType": "image/png" }] })),
            "empty" => Ok(json!({ "content": [] })),
            "wrong" => Ok(
                json!({ "isError": true, "content": [{ "type": "text", "text": "no such city" }] }),
            ),
            "broken" => Err(CallError {
                message: "connection lost".into(),
                code: Some(-32603),
                data: Some(json!({ "retry": true })),
            }),
            "meet" => {
                // Waits until three calls are running.
                while self.most.load(Ordering::SeqCst) < 3 {
                    tokio::task::yield_now().await;
                }
                Ok(text("met"))
            }
            "never" => {
                self.hangs.notify_one();
                std::future::pending().await
            }
            other => Err(CallError::new(format!("unknown tool {other}"))),
        }
    }
}

fn tool(name: &str) -> ToolDoc {
    ToolDoc {
        name: name.into(),
        about: None,
        input_schema: json!({ "type": "object" }),
        output_schema: None,
    }
}

pub(crate) fn clients() -> Vec<ScriptClient> {
    let names =
        ["add", "echo", "say", "get-user", "image", "empty", "wrong", "broken", "meet", "never"];
    let all = |id: &str| ScriptClient {
        id: id.into(),
        about: None,
        tools: names.iter().map(|name| tool(name)).collect(),
    };
    vec![all("calc"), all("my-fs.v2")]
}

/// Runs one script in its own worker.
pub(crate) async fn run(
    code: &str,
    clients: &[ScriptClient],
    caller: Arc<dyn ToolCaller>,
    limits: &ScriptLimits,
    cancel: CancellationToken,
) -> Result<ScriptOutcome, ScriptError> {
    let workers = Workers::new(Arc::new(Threads::default()));
    let script = ScriptRequest { code, clients, limits, owner: "test" };
    let mut run = workers.start(&script, &cancel).await?;
    match run.next(&caller, &cancel).await {
        RunStep::Ended(ended) => ended,
        RunStep::Suspended => panic!("no call of these tests is suspended"),
    }
}

pub(crate) async fn run_with(
    code: &str,
    desk: Arc<TestTools>,
    limits: &ScriptLimits,
) -> Result<ScriptOutcome, ScriptError> {
    run(code, &clients(), desk, limits, CancellationToken::new()).await
}

pub(crate) async fn run_plain(code: &str) -> Result<ScriptOutcome, ScriptError> {
    run_with(code, Arc::new(TestTools::default()), &ScriptLimits::default()).await
}

/// Runs each script, and compares its value, or `kind line:column message` where it fails.
#[track_caller]
pub(crate) fn check_all(table: &[(&str, Value)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut wrong = String::new();
    for (code, want) in table {
        let got = match runtime.block_on(run_plain(code)) {
            Ok(ran) => ran.value,
            Err(error) => Value::from(format!(
                "{:?} {}:{} {}",
                error.kind,
                error.line.unwrap_or_default(),
                error.column.unwrap_or_default(),
                error.message
            )),
        };
        if got != *want {
            let _written = write!(wrong, "\n--- {code}\n got {got}\nwant {want}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
