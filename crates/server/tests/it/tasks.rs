//! Calls that become tasks.

use crate::{
    fixture::{FixtureProvider, ToolGate, acting, form, said},
    nested::lines,
    wire::{WireClient, code, key, modern, origin, setup, text},
};
use docent_audit::AuditLogSettings;
use docent_server::{AuditSink, McpServer, ServerLimits, ServerSetup, TASK_KEY};
use docent_tool::AnyTool;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

pub(crate) fn able() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// A tool that waits at the gate, and uses tasks like this.
fn waiting(name: &str, tasks: &str, gate: &Arc<ToolGate>) -> Arc<dyn AnyTool> {
    let gate = Arc::clone(gate);
    acting(name, json!({TASK_KEY: tasks}), move |_, _| {
        let gate = Arc::clone(&gate);
        async move {
            gate.entered.notify_one();
            gate.open.as_ref().unwrap().acquire().await.unwrap().forget();
            Ok(said("at last"))
        }
    })
}

fn fixture() -> Arc<FixtureProvider> {
    let fixture = FixtureProvider::new();
    let mut extra = fixture.extra.lock().unwrap();
    extra.push(waiting("always", "always", &fixture.gate));
    extra.push(waiting("stays", "never", &fixture.gate));
    extra.push(acting("confirms", json!({TASK_KEY: "required"}), |_, context| async move {
        let answer = context.elicit("sure", form("Sure?")).await?;
        Ok(said(answer["content"]["value"].as_str().unwrap_or("?")))
    }));
    extra.push(acting("nags", json!({TASK_KEY: "required"}), |_, context| async move {
        let mut times = 0;
        loop {
            times += 1;
            if context.elicit(&format!("sure {times}"), form("Sure?")).await.is_ok() {
                return Ok(said("at last"));
            }
        }
    }));
    let gate = Arc::clone(&fixture.gate);
    extra.push(acting("drops", json!({TASK_KEY: "required"}), move |_, context| {
        let gate = Arc::clone(&gate);
        async move {
            tokio::select! {
                answer = context.elicit("sure", form("Sure?")) => drop(answer?),
                permit = gate.open.as_ref().unwrap().acquire() => permit.unwrap().forget(),
            }
            gate.open.as_ref().unwrap().acquire().await.unwrap().forget();
            Ok(said("at last"))
        }
    }));
    extra.push(acting("never", json!({TASK_KEY: "never"}), |_, _| async { Ok(said("at once")) }));
    drop(extra);
    fixture
}

/// A server that keeps its tasks for no time, and writes audit lines here.
fn forgetful(fixture: Arc<FixtureProvider>, path: &Path) -> Arc<McpServer> {
    let tool_timeouts = [("always".to_owned(), Duration::from_hours(1))].into();
    let limits =
        ServerLimits { result_ttl: Duration::ZERO, tool_timeouts, ..ServerLimits::default() };
    let audit = AuditSink::open(path, AuditLogSettings::default());
    McpServer::new(ServerSetup { limits, audit, ..setup(fixture) }).unwrap()
}

pub(crate) async fn task(wire: &mut WireClient, method: &str, id: &Value, more: Value) -> Value {
    let mut params = modern(able());
    params["taskId"] = id.clone();
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    wire.ask(method, params).await
}

pub(crate) async fn settled(wire: &mut WireClient, id: &Value, status: &str) -> Value {
    for _ in 0..10_000 {
        let reply = task(wire, "tasks/get", id, json!({})).await;
        if reply["result"]["status"] == status {
            return reply["result"].clone();
        }
        tokio::task::yield_now().await;
    }
    panic!("the task never became {status}");
}

#[tokio::test]
async fn a_call_becomes_a_task_and_its_answer_is_fetched() {
    let fixture = fixture();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call("always", json!({}), able(), json!({})).await;
    assert_eq!(reply["result"]["resultType"], "task", "{reply}");
    assert!(reply["result"]["ttlMs"].as_u64().unwrap() > 0);
    let id = reply["result"]["taskId"].clone();
    gate.entered.notified().await;
    assert_eq!(task(&mut wire, "tasks/get", &id, json!({})).await["result"]["status"], "working");
    gate.let_through(1);
    let done = settled(&mut wire, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "at last");
    assert_eq!(done["result"]["isError"], false);
}

#[tokio::test]
async fn a_task_is_cancelled() {
    let fixture = fixture();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::open(&server);
    let id =
        wire.modern_call("always", json!({}), able(), json!({})).await["result"]["taskId"].clone();
    gate.entered.notified().await;
    assert_eq!(
        task(&mut wire, "tasks/cancel", &id, json!({})).await["result"]["resultType"],
        "complete"
    );
    settled(&mut wire, &id, "cancelled").await;
    server.wait_until_idle().await;
}

#[tokio::test]
async fn a_task_asks_through_itself() {
    let server = McpServer::new(setup(fixture())).unwrap();
    let mut wire = WireClient::open(&server);
    let id = wire.modern_call("confirms", json!({}), able(), json!({})).await["result"]["taskId"]
        .clone();
    let asked = settled(&mut wire, &id, "input_required").await;
    assert_eq!(asked["inputRequests"]["sure"]["method"], "elicitation/create");
    let responses = json!({"sure": {"action": "accept", "content": {"value": "yes"}}});
    task(&mut wire, "tasks/update", &id, json!({"inputResponses": responses})).await;
    assert_eq!(settled(&mut wire, &id, "completed").await["result"]["content"][0]["text"], "yes");
}

#[tokio::test]
async fn tasks_need_the_clients_support() {
    let fixture = fixture();
    fixture.gate.let_through(8);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::open(&server);
    let elicits = json!({"elicitation": {}});
    assert_eq!(
        text(&wire.modern_call("always", json!({}), elicits.clone(), json!({})).await),
        "at last"
    );
    assert_eq!(code(&wire.modern_call("confirms", json!({}), elicits, json!({})).await), -32021);
    assert_eq!(text(&wire.modern_call("never", json!({}), able(), json!({})).await), "at once");
    assert_eq!(
        text(&wire.modern_call("echo", json!({"text": "quick"}), able(), json!({})).await),
        "quick"
    );
    let mut legacy = WireClient::legacy_as(&server, "2025-11-25", able(), None).await;
    assert_eq!(text(&legacy.call("always", json!({})).await), "at last");
}

#[tokio::test]
async fn a_task_belongs_to_its_principal() {
    let fixture = fixture();
    let mut setup = ServerSetup { ..setup(fixture) };
    setup.keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    let server = McpServer::new(setup).unwrap();
    let mut ann = WireClient::open_as(&server, Some(origin(&server, Some("ann-token"))));
    let mut bob = WireClient::open_as(&server, Some(origin(&server, Some("bob-token"))));
    let id =
        ann.modern_call("always", json!({}), able(), json!({})).await["result"]["taskId"].clone();
    for (method, more) in [
        ("tasks/get", json!({})),
        ("tasks/cancel", json!({})),
        ("tasks/update", json!({"inputResponses": {}})),
    ] {
        let theirs = task(&mut bob, method, &id, more.clone()).await;
        let unknown = task(&mut ann, method, &json!("none"), more).await;
        assert_eq!((code(&theirs), code(&unknown)), (-32602, -32602), "{method}");
    }
    assert_eq!(task(&mut ann, "tasks/get", &id, json!({})).await["result"]["status"], "working");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_long_becomes_a_task() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call("waits", json!({}), able(), json!({})).await;
    assert_eq!(reply["result"]["resultType"], "task", "{reply}");
    let id = reply["result"]["taskId"].clone();
    assert_eq!(gate.inside.load(Ordering::SeqCst), 1, "the same run goes on");
    gate.let_through(1);
    assert_eq!(
        settled(&mut wire, &id, "completed").await["result"]["content"][0]["text"],
        "waited"
    );
    server.wait_until_idle().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_a_task_yet_is_cancelled_with_its_request() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::open(&server);
    let mut params = modern(able());
    params["name"] = json!("waits");
    let id = wire.begin("tools/call", params).await;
    gate.entered.notified().await;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    gate.left.notified().await;
    server.wait_until_idle().await;
    assert!(server.metrics().contains("docent_tasks 0\n"));
}

#[tokio::test(start_paused = true)]
async fn tasks_leave_the_lane_to_other_calls() {
    let fixture = fixture();
    let gate = Arc::clone(&fixture.gate);
    let limits = ServerLimits { calls_in_flight: 1, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::open(&server);
    let mut tasks = Vec::new();
    for tool in ["always", "waits", "always", "waits"] {
        let reply = wire.modern_call(tool, json!({}), able(), json!({})).await;
        assert_eq!(reply["result"]["resultType"], "task", "{tool}: {reply}");
        tasks.push(reply["result"]["taskId"].clone());
    }
    assert!(server.metrics().contains("docent_tasks 4\n"), "{}", server.metrics());
    let quick = wire.modern_call("echo", json!({"text": "quick"}), able(), json!({})).await;
    assert_eq!(text(&quick), "quick");
    gate.let_through(tasks.len());
    for id in &tasks {
        settled(&mut wire, id, "completed").await;
    }
    server.wait_until_idle().await;
}

#[tokio::test]
async fn tasks_are_limited_and_further_calls_keep_their_permit() {
    let fixture = fixture();
    let gate = Arc::clone(&fixture.gate);
    let limits = ServerLimits { calls_in_flight: 1, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::open(&server);
    for _ in 0..64 {
        let reply = wire.modern_call("always", json!({}), able(), json!({})).await;
        assert_eq!(reply["result"]["resultType"], "task", "{reply}");
    }
    let mut params = modern(able());
    params["name"] = json!("always");
    let beyond = wire.begin("tools/call", params.clone()).await;
    wire.ask("ping", json!({})).await;
    let in_line = wire.begin("tools/call", params).await;
    wire.ask("ping", json!({})).await;
    assert!(wire.seen.is_empty(), "{:?}", wire.seen);
    gate.let_through(66);
    assert_eq!(text(&wire.answer(&beyond).await), "at last");
    let last = wire.answer(&in_line).await;
    assert!(last.get("result").is_some(), "{last}");
}

#[tokio::test]
async fn tasks_that_have_ended_count_while_they_are_kept() {
    let fixture = fixture();
    fixture.gate.let_through(1000);
    let names = ["ann", "bob", "cid", "dee", "eve"];
    let keys = names.iter().map(|name| key(name, &["*"])).collect();
    let server = McpServer::new(ServerSetup { keys, ..setup(fixture) }).unwrap();
    let open = |name: &str| {
        WireClient::open_as(&server, Some(origin(&server, Some(&format!("{name}-token")))))
    };
    for name in &names[..4] {
        let mut wire = open(name);
        for _ in 0..64 {
            let reply = wire.modern_call("always", json!({}), able(), json!({})).await;
            assert_eq!(reply["result"]["resultType"], "task", "{name}: {reply}");
        }
        server.wait_until_idle().await;
        let beyond = wire.modern_call("always", json!({}), able(), json!({})).await;
        assert_eq!(text(&beyond), "at last", "{name} has 64");
    }
    let mut eve = open("eve");
    let beyond = eve.modern_call("always", json!({}), able(), json!({})).await;
    assert_eq!(text(&beyond), "at last", "there are 256");
}

#[tokio::test]
async fn anonymous_callers_are_distinguished_by_address() {
    let fixture = fixture();
    fixture.gate.let_through(1000);
    let server = McpServer::new(setup(fixture)).unwrap();
    let open = |last: u8| {
        let mut origin = origin(&server, None);
        origin.caller.remote = Some([10, 0, 0, last].into());
        WireClient::open_as(&server, Some(origin))
    };
    let mut first = open(1);
    for _ in 0..64 {
        let reply = first.modern_call("always", json!({}), able(), json!({})).await;
        assert_eq!(reply["result"]["resultType"], "task", "{reply}");
    }
    server.wait_until_idle().await;
    let beyond = first.modern_call("always", json!({}), able(), json!({})).await;
    assert_eq!(text(&beyond), "at last");
    let other = open(2).modern_call("always", json!({}), able(), json!({})).await;
    assert_eq!(other["result"]["resultType"], "task", "{other}");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_question_is_withdrawn() {
    let server = McpServer::new(setup(fixture())).unwrap();
    let mut wire = WireClient::open(&server);
    let id =
        wire.modern_call("nags", json!({}), able(), json!({})).await["result"]["taskId"].clone();
    settled(&mut wire, &id, "input_required").await;
    // The clock is paused: this takes no time.
    tokio::time::sleep(Duration::from_secs(301)).await;
    let asked = settled(&mut wire, &id, "input_required").await;
    let open: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(open, ["sure 2"]);
}

#[tokio::test]
async fn an_abandoned_question_of_a_task_is_withdrawn() {
    let fixture = fixture();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call("drops", json!({}), able(), json!({})).await;
    let id = reply["result"]["taskId"].clone();
    settled(&mut wire, &id, "input_required").await;
    gate.let_through(1);
    settled(&mut wire, &id, "working").await;
    gate.let_through(1);
    settled(&mut wire, &id, "completed").await;
}

#[tokio::test]
async fn a_tools_own_timeout_applies_to_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let fixture = fixture();
    let gate = Arc::clone(&fixture.gate);
    let server = forgetful(fixture, &path);
    let mut wire = WireClient::open(&server);
    let id =
        wire.modern_call("always", json!({}), able(), json!({})).await["result"]["taskId"].clone();
    gate.entered.notified().await;
    assert_eq!(task(&mut wire, "tasks/get", &id, json!({})).await["result"]["status"], "working");
    gate.let_through(1);
    let done = settled(&mut wire, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "at last");
    assert_eq!(lines(&path), [("always".to_owned(), "ok".to_owned())]);
}

/// Runs a tool that asks, without answering.
async fn unanswered(tool: &str, words: &str, outcome: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let server = forgetful(fixture(), &path);
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call(tool, json!({}), able(), json!({})).await;
    let id = reply["result"]["taskId"].clone();
    settled(&mut wire, &id, "input_required").await;
    let ended = tokio::time::timeout(Duration::from_hours(1), server.wait_until_idle()).await;
    assert!(ended.is_ok(), "{tool} still waits");
    let done = settled(&mut wire, &id, "completed").await;
    let content = done["result"]["content"].to_string();
    assert!(content.contains(words), "{tool}: {content}");
    assert_eq!(lines(&path), [(tool.to_owned(), outcome.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_task_without_an_answer_ends_by_itself() {
    unanswered("confirms", "no answer within 300 s", "error").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_asks_on_and_on_ends_by_itself() {
    unanswered("nags", "Partial result: the deadline of 30 s", "partial").await;
}

#[test]
fn a_dropped_task_writes_its_audit_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let fixture = fixture();
        let gate = Arc::clone(&fixture.gate);
        let mut wire = WireClient::open(&forgetful(fixture, &path));
        wire.modern_call("always", json!({}), able(), json!({})).await;
        gate.entered.notified().await;
    });
    drop(runtime);
    assert_eq!(lines(&path), [("always".to_owned(), "cancelled".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_a_task_is_cancelled_with_its_request() {
    let fixture = fixture();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::open(&server);
    let mut params = modern(able());
    params["name"] = json!("stays");
    let id = wire.begin("tools/call", params).await;
    gate.entered.notified().await;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    server.wait_until_idle().await;
    let counted = "docent_tool_calls_total{tool=\"stays\",outcome=\"cancelled\"} 1\n";
    assert!(server.metrics().contains(counted), "{}", server.metrics());
}
