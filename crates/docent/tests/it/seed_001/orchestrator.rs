//! Lines 359 to 500: what a client keeps for each request.

use super::{
    lifecycle::{documented_server, is_notification},
    server::{Orchestrator, PythonServer, call, exchange, until},
};
use crate::{seeds::SeedTable, serving};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};

pub(super) async fn walk(walk: &mut SeedTable) {
    request_ids(walk).await;
    response_matching(walk).await;
    timeouts(walk).await;
    errors(walk).await;
}

fn text(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}})
}

async fn request_ids(walk: &mut SeedTable) {
    let orchestra = Orchestrator::new(&PythonServer::new().any("echo", &[text("ok")]), "");
    let mut docent = orchestra.serve().await;
    walk.at("361-377");
    for _ in 0..3 {
        call(&mut docent, "echo", json!({})).await;
    }
    let heard = orchestra.heard();
    let ids: Vec<&Value> = heard.iter().filter_map(|message| message.get("id")).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5], "{heard:?}");
    walk.at("379-386");
    let id = json!("7f3c0f0e-6f0f-4c52-9d3c-1f8f1d1f9b52");
    let asked = json!({"jsonrpc": "2.0", "id": id, "method": "echo"});
    let answer = exchange(&mut docent, asked).await;
    assert_eq!(answer["id"], id, "{answer}");
    assert_eq!(orchestra.heard().last().unwrap()["id"], 6, "the server gets a number");
}

async fn response_matching(walk: &mut SeedTable) {
    let stray = json!({"jsonrpc": "2.0", "id": "unknown", "result": {"content": []}});
    let script = PythonServer::new()
        .any("slow", &[json!({"hold": text("slow")})])
        .any("fast", &[stray, text("fast"), json!({"release": true})]);
    let orchestra = Orchestrator::new(&script, "");
    let mut docent = orchestra.serve().await;
    walk.at("390-411");
    let slow = docent.start("tools/call", serving::call("slow", json!({}))).await.unwrap();
    until(|| orchestra.heard_of("tools/call").len() == 1).await;
    let fast = docent.start("tools/call", serving::call("fast", json!({}))).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let is_answer = |message: &Value| message.get("result").is_some();
        answers.push(docent.await_message("an answer", is_answer).await.unwrap());
    }
    for (id, want) in [(&slow, "slow"), (&fast, "fast")] {
        let answer = answers.iter().find(|answer| answer["id"] == *id).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], want, "{answer}");
    }
    walk.at("412-424");
    // The response without a request came before both of them.
    assert!(docent.take_messages().iter().all(is_notification));
    let again = call(&mut docent, "fast", json!({})).await;
    assert_eq!(again["result"]["content"][0]["text"], "fast", "{again}");
}

async fn timeouts(walk: &mut SeedTable) {
    let script = PythonServer::new().any("hang", &[]).any("echo", &[text("ok")]);
    let orchestra = Orchestrator::new(&script, "timeout_ms = 1500");
    let mut docent = orchestra.serve().await;
    walk.at("430-450");
    let answer = call(&mut docent, "hang", json!({})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let reason = answer["result"]["error"].as_str().unwrap();
    assert!(reason.contains("did not answer within 1.5 s"), "{answer}");
    walk.at("452-460");
    assert!(reason.contains("raise its `timeout_ms`"), "{answer}");
    until(|| !orchestra.heard_of("notifications/cancelled").is_empty()).await;
    let cancelled = &orchestra.heard_of("notifications/cancelled")[0];
    let asked = &orchestra.heard_of("tools/call")[0];
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    walk.differs("462-466");
    let answer = call(&mut docent, "echo", json!({})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "ok", "{answer}");
    assert_eq!(orchestra.heard_of("initialize").len(), 1, "the process is the same");
}

async fn errors(walk: &mut SeedTable) {
    let error = json!({"code": -32050, "message": "Quota exceeded", "data": {"retryAfter": 30}});
    let failure = json!({"jsonrpc": "2.0", "id": 1, "error": error});
    let orchestra = Orchestrator::new(&documented_server().any("failing", &[failure]), "");
    let mut docent = orchestra.serve().await;
    walk.at("473-485");
    let answer = call(&mut docent, "failing", json!({})).await;
    assert_eq!(answer["error"]["code"], -32050, "{answer}");
    assert_eq!(answer["error"]["message"], "Quota exceeded");
    assert_eq!(answer["error"]["data"]["retryAfter"], 30);
    shell_errors(walk, &orchestra, &mut docent).await;
}

async fn shell_errors(
    walk: &mut SeedTable,
    orchestra: &Orchestrator,
    docent: &mut ChildTestClient,
) {
    walk.at("487-493");
    let asked =
        json!({"jsonrpc": "2.0", "id": 2, "method": "search_docs", "params": {"query": "foo"}});
    let by_method = exchange(docent, asked).await;
    let by_name = call(docent, "search_docs", json!({"query": "foo"})).await;
    for answer in [by_method, by_name] {
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("search_docs"), "{answer}");
    }
    walk.at("494-495");
    let answer = call(docent, "search_cloudflare_documentation", json!({"query": 5})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(answer["error"]["data"]["parameter"], "query", "{answer}");
    walk.at("496-498");
    let program = orchestra.program();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let run = orchestra.place.run(&[&["call", "failing", "--"], program.as_slice()].concat());
    run.ends(1).says("Quota exceeded");
}
