//! How long a script takes to start, and what a call costs: `cargo run --release -p docent-script --example start`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for people")]

#[path = "../tests/it/threads.rs"]
mod threads;

use docent_script::{
    CallReply, RunStep, ScriptCall, ScriptClient, ScriptLimits, ScriptRequest, ToolCaller, ToolDoc,
    Workers,
};
use futures::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

struct EchoCaller;

impl ToolCaller for EchoCaller {
    fn call(&self, call: ScriptCall) -> BoxFuture<'_, CallReply> {
        let result = json!({ "content": [], "structuredContent": call.arguments });
        Box::pin(async move { CallReply::Result(result) })
    }
}

fn client(id: usize) -> ScriptClient {
    let tool = |tool: usize| ToolDoc {
        name: format!("tool_{tool}"),
        about: None,
        input_schema: json!({ "type": "object" }),
        output_schema: None,
    };
    ScriptClient { id: format!("client{id}"), about: None, tools: (0..6).map(tool).collect() }
}

const LOOP: &str = "import { tool_0 } from 'mcp-clients/client0';
let sum: number = 0;
for (let i = 0; i < 100; i++) sum += (await tool_0({ i })).i;
return sum;";

const ALL: &str = "return (await Promise.all(Array.from({ length: 100 }, (_, i) => mcp.client0.tool_0({ i })))).length";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let clients: Vec<ScriptClient> = (0..16).map(client).collect();
    let nested = "(a=".repeat(5_000);
    let generic = "a<b<".repeat(4_000);
    let limits = ScriptLimits { time: Duration::from_mins(5), ..ScriptLimits::default() };
    let workers = Workers::new(Arc::new(threads::Threads::default()));
    let cancel = CancellationToken::new();
    let caller: Arc<dyn ToolCaller> = Arc::new(EchoCaller);
    for (name, code, rounds) in [
        ("start, no client", "1", 20),
        ("start, 16 clients of 6 tools", "const x: number = 1; return x", 20),
        ("100 calls, one after another", LOOP, 20),
        ("100 calls at once", ALL, 20),
        ("worst parse: nested", nested.as_str(), 1),
        ("worst parse: generic", generic.as_str(), 1),
    ] {
        let clients = if name.ends_with("no client") { &[] } else { clients.as_slice() };
        let mut times = Vec::new();
        for _ in 0..rounds {
            let started = Instant::now();
            let script = ScriptRequest { code, clients, limits: &limits, owner: "start" };
            let mut run = workers.start(&script, &cancel).await.unwrap();
            let step = run.next(&caller, &cancel).await;
            assert!(matches!(&step, RunStep::Ended(Ok(_))) || rounds == 1, "{step:?}");
            times.push(started.elapsed());
        }
        times.sort();
        println!("{name}: best {:?}, median {:?} of {rounds}", times[0], times[times.len() / 2]);
    }
}
