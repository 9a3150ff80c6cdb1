//! Lines 1 to 96: JSON-RPC 2.0.

use super::{
    lifecycle::opening,
    server::{Orchestrator, PythonServer, call, exchange},
};
use crate::seeds::SeedTable;
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};

pub(super) async fn walk(walk: &mut SeedTable) {
    let success = json!({"jsonrpc": "2.0", "id": 123, "result": {"data": "Response data here"}});
    let script =
        PythonServer::new().tool(typed_tool(), &[success]).any("failing", &[failure(-32603)]);
    let orchestra = Orchestrator::new(&script.any("custom", &[failure(-32050)]), "");
    let mut docent = orchestra.start(&[]);
    overview(walk, &orchestra, &mut docent).await;
    request(walk, &orchestra, &mut docent).await;
    success_response(walk, &mut docent).await;
    error_response(walk, &mut docent).await;
    error_codes(walk, &mut docent).await;
}

/// A tool with the arguments of the document's first request.
fn typed_tool() -> Value {
    let arguments = json!({"arg1": {"type": "string"}, "arg2": {"type": "number"}});
    let schema = json!({"type": "object", "properties": arguments});
    json!({"name": "tool_name", "description": "A tool with typed arguments", "inputSchema": schema})
}

/// The document's request.
fn tool_by_name() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 123,
        "method": "tool_name",
        "params": {"arg1": "value1", "arg2": 42}
    })
}

fn failure(code: i64) -> Value {
    let error = json!({"code": code, "message": "It failed", "data": {"detail": 7}});
    json!({"jsonrpc": "2.0", "id": 1, "error": error})
}

async fn overview(walk: &mut SeedTable, orchestra: &Orchestrator, docent: &mut ChildTestClient) {
    walk.at("3-6");
    let opened = exchange(docent, opening()).await;
    assert_eq!(opened["jsonrpc"], "2.0");
    assert_eq!(opened["result"]["protocolVersion"], "1.0", "{opened}");
    walk.at("12-18");
    let listed = exchange(docent, json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    let listed = listed["result"]["tools"].as_array().unwrap();
    assert!(listed.iter().any(|tool| tool["name"] == "tool_name"), "{listed:?}");
    let over_http = orchestra.listen();
    let url = format!("http://{}/mcp", over_http.address);
    orchestra.place.run(&["tools", "--url", &url]).ends(0).prints("tool_name");
}

async fn request(walk: &mut SeedTable, orchestra: &Orchestrator, docent: &mut ChildTestClient) {
    walk.at("28-38");
    let answer = exchange(docent, tool_by_name()).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let heard = orchestra.heard_of("tools/call");
    assert_eq!(heard[0]["params"]["name"], "tool_name");
    assert_eq!(heard[0]["params"]["arguments"], json!({"arg1": "value1", "arg2": 42}));
    walk.at("41");
    let mut other = tool_by_name();
    other["jsonrpc"] = "1.0".into();
    let refused = exchange(docent, other).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(refused["error"]["message"], "Invalid Request: jsonrpc must be \"2.0\"");
    walk.at("42");
    for id in [json!(124), json!("req-124")] {
        let mut named = tool_by_name();
        named["id"] = id.clone();
        assert_eq!(exchange(docent, named).await["id"], id);
    }
    walk.at("43");
    let refused = exchange(docent, json!({"jsonrpc": "2.0", "id": 125})).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(refused["error"]["message"], "Invalid Request: method must be a string");
    walk.at("44");
    let mut bare = tool_by_name();
    bare.as_object_mut().unwrap().remove("params");
    let answer = exchange(docent, bare.clone()).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    walk.differs("44");
    bare["params"] = json!(["value1", 42]);
    let refused = exchange(docent, bare).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(refused["error"]["data"]["reason"], "must be an object", "{refused}");
}

async fn success_response(walk: &mut SeedTable, docent: &mut ChildTestClient) {
    walk.at("48-56");
    let answer = exchange(docent, tool_by_name()).await;
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_eq!(answer["id"], 123);
    assert_eq!(answer["result"]["data"], "Response data here", "{answer}");
    walk.at("58-61");
    let members: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(members, ["jsonrpc", "id", "result"]);
}

async fn error_response(walk: &mut SeedTable, docent: &mut ChildTestClient) {
    walk.at("65-77");
    let unknown = json!({"jsonrpc": "2.0", "id": 123, "method": "unknown_tool"});
    let answer = exchange(docent, unknown).await;
    assert_eq!(answer["id"], 123);
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert_eq!(answer["error"]["message"], "Method not found: unknown_tool");
    assert_eq!(answer["error"]["data"], json!({"method": "unknown_tool"}));
    walk.at("79-85");
    let members: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(members, ["jsonrpc", "id", "error"]);
    let members: Vec<&String> = answer["error"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["code", "message", "data"]);
}

async fn error_codes(walk: &mut SeedTable, docent: &mut ChildTestClient) {
    walk.at("91");
    docent.send_text("{\"jsonrpc\": \"2.0\",").await.unwrap();
    let answer = docent.answer_to(&Value::Null).await.unwrap();
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    walk.at("92");
    docent.send_text("{\"id\": 1}").await.unwrap();
    let answer = docent.answer_to(&json!(1)).await.unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    walk.at("93");
    let answer = call(docent, "unknown_tool", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    walk.at("94");
    let answer = call(docent, "tool_name", json!({"arg2": "not a number"})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    walk.at("95");
    let answer = call(docent, "failing", json!({})).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    walk.at("96");
    let answer = call(docent, "custom", json!({})).await;
    let data = json!({"detail": 7, "server": "cloudflare"});
    let error = json!({"code": -32050, "message": "It failed", "data": data});
    assert_eq!(answer["error"], error);
}
