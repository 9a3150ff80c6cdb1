//! Lines 749 to 877: best practices and common issues.

use super::{
    content::search_tool,
    server::{Orchestrator, PythonServer, call, exchange},
};
use crate::{CliRun, seeds::SeedTable};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::{fs, fs::File};

pub(super) async fn walk(walk: &mut SeedTable) {
    bounded_calls(walk);
    crashes(walk).await;
    retries(walk).await;
    common_issues(walk).await;
    missing_newline(walk);
}

fn found() -> Value {
    let content = json!([{"type": "text", "text": "found"}]);
    json!({"jsonrpc": "2.0", "id": 1, "result": {"content": content}})
}

fn bounded_calls(walk: &mut SeedTable) {
    let orchestra = Orchestrator::new(&PythonServer::new().tool(search_tool(), &[found()]), "");
    let program = orchestra.program();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let run = |args: &[&str]| {
        orchestra.place.run(&[&["call", "search"], args, &["--"], &*program].concat())
    };
    walk.at("751-764");
    orchestra.place.run(&["config", "show"]).ends(0).prints("limits.tool_timeout_ms = 30000");
    walk.at("766-777");
    run(&["query=foo"]).ends(0).prints("found");
    run(&[]).ends(2).says("query");
    assert_eq!(orchestra.heard_of("tools/call").len(), 1, "one of the calls reached the server");
}

async fn crashes(walk: &mut SeedTable) {
    let script = PythonServer::new()
        .any("die", &[json!({"log": "out of memory"}), json!({"exit": 3})])
        .tool(search_tool(), &[found()]);
    let orchestra = Orchestrator::new(&script, "");
    let mut docent = orchestra.serve().await;
    walk.at("779-793");
    let answer = call(&mut docent, "die", json!({})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let reason = answer["result"]["error"].as_str().unwrap();
    assert!(reason.contains("exit code 3") && reason.contains("out of memory"), "{answer}");
    let answer = call(&mut docent, "search", json!({"query": "foo"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "found", "{answer}");
}

/// How often the server is called when it always fails with -32603.
async fn attempts(annotations: &Value, setting: &str) -> usize {
    let error = json!({"code": -32603, "message": "Internal error"});
    let failure = json!({"jsonrpc": "2.0", "id": 1, "error": error});
    let tool =
        json!({"name": "flaky", "inputSchema": {"type": "object"}, "annotations": annotations});
    let orchestra = Orchestrator::new(&PythonServer::new().tool(tool, &[failure]), setting);
    let mut docent = orchestra.serve().await;
    let answer = call(&mut docent, "flaky", json!({})).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    orchestra.heard_of("tools/call").len()
}

async fn retries(walk: &mut SeedTable) {
    walk.differs("795-818");
    assert_eq!(attempts(&json!({}), "").await, 1, "not without the setting");
    assert_eq!(attempts(&json!({"readOnlyHint": true}), "").await, 3, "it changes nothing");
    // The document's numbers are these with a `backoff_ms` of 1000: 1 s, then 2 s.
    let setting = "retry = { codes = [-32603], attempts = 2, backoff_ms = 1 }";
    assert_eq!(attempts(&json!({}), setting).await, 3);
}

async fn common_issues(walk: &mut SeedTable) {
    let orchestra = Orchestrator::new(&PythonServer::new().tool(search_tool(), &[found()]), "");
    let mut docent = orchestra.serve().await;
    walk.at("824-836");
    docent.send_text("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": tools/list}").await.unwrap();
    let answer = docent.answer_to(&Value::Null).await.unwrap();
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    let pong = exchange(&mut docent, json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    assert_eq!(pong["result"], json!({}), "the conversation continues");
    unknown_tools(walk, &mut docent).await;
    walk.at("852-864");
    let answer = call(&mut docent, "search", json!({"limit": 5})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(answer["error"]["data"]["parameter"], "query", "{answer}");
}

async fn unknown_tools(walk: &mut SeedTable, docent: &mut ChildTestClient) {
    walk.at("838-850");
    let answer = call(docent, "serch", json!({"query": "foo"})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("did you mean search?"), "{answer}");
    let available = answer["error"]["data"]["available"].as_array().unwrap();
    let listed = docent.ask("tools/list", json!({})).await.unwrap();
    let names = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]);
    assert!(names.clone().any(|name| name == "search"));
    assert!(names.eq(available), "{answer}");
}

fn missing_newline(walk: &mut SeedTable) {
    walk.at("866-877");
    let place = crate::TestHome::new();
    let file = place.project().join("input");
    fs::write(&file, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").unwrap();
    let run = CliRun::of(place.command(&["serve"]).stdin(File::open(&file).unwrap()));
    run.ends(0).prints("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}
