//! Lines 11 to 257: transport, handshake, methods, validation and errors.

use super::{ANALYZE, INITIALIZE, INITIALIZED};
use crate::{
    TestHome,
    seeds::{SeedTable, ask, notify, text_of},
    serving::{LEGACY, call, listening_sockets, serve},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};

pub(super) async fn walk(walk: &mut SeedTable, place: &TestHome) {
    let mut server = serve(place, &[], &[]);
    basics(walk, &mut server).await;
    handshake(walk, &mut server).await;
    methods(walk, &mut server).await;
    validation(walk, &mut server).await;
    protocol_errors(walk, &mut server).await;
    failures(walk, place, &mut server).await;
}

async fn basics(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.at("13-21");
    let pong = ask(server, r#"{"jsonrpc": "2.0", "id": "first", "method": "ping"}"#).await;
    assert_eq!(pong, json!({"jsonrpc": "2.0", "id": "first", "result": {}}));
    assert_eq!(listening_sockets(server), [""; 0]);

    walk.at("25-34");
    for id in ["7", "\"abc\"", "\"0b7c6f2e-7a54-4d8e-9a3f-1f1d7c1c6d10\""] {
        for params in ["", r#", "params": {}"#] {
            let request = format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping"{params}}}"#);
            let pong = ask(server, &request).await;
            assert_eq!(pong["id"].to_string(), id, "{pong}");
            assert_eq!(pong["result"], json!({}), "{pong}");
        }
    }

    walk.differs("25-34");
    server.send_text(r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#).await.unwrap();
    let refused = server.answer_to(&Value::Null).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(refused.to_string().contains("id must be a string or a whole number"), "{refused}");
}

async fn handshake(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.at("42-60");
    let answer = ask(server, INITIALIZE).await;
    assert_eq!(answer["id"], 1);

    walk.at("67-85");
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2024-11-05");
    assert_eq!(result["capabilities"]["tools"], json!({"listChanged": true}));
    assert_eq!(result["capabilities"]["logging"], json!({}));
    let info = json!({"name": "docent", "version": env!("CARGO_PKG_VERSION")});
    assert_eq!(result["serverInfo"], info);

    walk.at("91-96");
    notify(server, INITIALIZED).await;
}

async fn methods(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.at("104-141");
    let request = r#"{
      "jsonrpc": "2.0",
      "id": 2,
      "method": "tools/list"
    }"#;
    let tool = analyze_repository(&ask(server, request).await);
    let description = tool["description"].as_str().unwrap();
    assert!(description.starts_with("Analyze a repository's structure and documentation needs"));
    let schema = &tool["inputSchema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["path"]["type"], "string");
    assert_eq!(schema["properties"]["depth"]["type"], "string");
    assert_eq!(schema["properties"]["depth"]["enum"], json!(["quick", "standard", "deep"]));
    assert_eq!(schema["required"], json!(["path"]));

    walk.at("148-178");
    let answer = ask(server, ANALYZE).await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(3), &json!(false)));
    for block in answer["result"]["content"].as_array().unwrap() {
        assert_eq!(block["type"], "text");
        assert_ne!(block["text"].as_str().unwrap().trim(), "", "{answer}");
    }
    let text = text_of(&answer);
    for part in ["my-project", "TypeScript", "express", "## Documentation gaps"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

fn analyze_repository(answer: &Value) -> Value {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().find(|tool| tool["name"] == "analyze_repository").unwrap().clone()
}

async fn validation(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.at("186-192");
    for (arguments, parameter) in [
        (json!({}), "path"),
        (json!({"path": ""}), "path"),
        (json!({"path": 5}), "path"),
        (json!({"path": ".", "depth": "huge"}), "depth"),
    ] {
        let params = call("analyze_repository", arguments.clone());
        let refused = server.ask("tools/call", params).await.unwrap();
        assert_eq!(refused["error"]["code"], -32602, "{arguments}: {refused}");
        assert_eq!(refused["error"]["data"]["parameter"], parameter, "{arguments}: {refused}");
    }
    let standard = text_of(&ask(server, ANALYZE).await);
    let params = call("analyze_repository", json!({"path": "./my-project"}));
    assert_eq!(text_of(&server.ask("tools/call", params).await.unwrap()), standard);

    walk.at("197-208");
    let listed = server.ask("tools/list", json!({})).await.unwrap();
    let schema = analyze_repository(&listed)["inputSchema"].clone();
    assert_eq!(schema["properties"]["path"]["minLength"], 1);
    assert_eq!(schema["properties"]["depth"]["default"], "standard");
    assert_eq!(schema["additionalProperties"], false);

    walk.at("214-226");
    let params = call("analyze_repository", json!({"path": ""}));
    let refused = server.ask("tools/call", params).await.unwrap();
    let error = &refused["error"];
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().starts_with("Invalid params"), "{refused}");
    let details = error["data"]["details"].as_str().unwrap();
    assert!(details.starts_with("Validation failed for parameter 'path'"), "{refused}");
}

async fn protocol_errors(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.at("232");
    server.send_text("{bad json").await.unwrap();
    let refused = server.answer_to(&Value::Null).await.unwrap();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32700), &Value::Null));
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("Parse error"), "{refused}");

    walk.at("233");
    for frame in [r#"{"id": 4, "method": "ping"}"#, r#"{"jsonrpc": "2.0", "id": 4}"#, "[]", "\"x\""]
    {
        server.send_text(frame).await.unwrap();
        let refused = server.answer_to(&json!(4)).await.unwrap();
        assert_eq!(refused["error"]["code"], -32600, "{frame}: {refused}");
    }

    walk.at("234");
    let refused = server.ask("foo/bar", json!({})).await.unwrap();
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    assert_eq!(refused["error"]["data"]["method"], "foo/bar", "{refused}");

    walk.at("235");
    let refused = server.ask("tools/call", json!({"name": 5})).await.unwrap();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

/// What goes wrong inside, and in a tool.
async fn failures(walk: &mut SeedTable, place: &TestHome, server: &mut ChildTestClient) {
    walk.at("236");
    let refused = server.ask("tools/call", call("other__breaks", json!({}))).await.unwrap();
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(refused["error"]["message"], "Internal error", "{refused}");

    walk.differs("237");
    let search = call("web_search", json!({"query": "documentation"}));
    let failed = server.ask("tools/call", search.clone()).await.unwrap();
    assert!(failed.get("error").is_none() && failed["result"]["isError"] == true, "{failed}");
    assert!(text_of(&failed).contains("the network is off"), "{failed}");
    let mut newer = serve(place, &[], &[]);
    newer.open(LEGACY).await.unwrap();
    let failed = newer.ask("tools/call", search).await.unwrap();
    assert_eq!(failed["result"]["structuredContent"]["error"]["code"], -32000, "{failed}");

    walk.at("243-257");
    let nowhere =
        ANALYZE.replace("my-project", "no-such-project").replace("\"id\": 3", "\"id\": 5");
    let failed = ask(server, &nowhere).await;
    let result = json!({
        "content": [{"type": "text", "text": "Error: Repository path does not exist"}], "isError": true,
    });
    assert_eq!((&failed["id"], &failed["result"]), (&json!(5), &result));
}
