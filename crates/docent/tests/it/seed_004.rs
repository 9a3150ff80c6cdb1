//! Seed 004, mcp-secure-local: a walk through the document from top to bottom, with the messages that it shows.

use crate::{
    TestHome,
    seeds::{SeedTable, answering_server, ask, notify, run_with_input, text_of},
    serving::{call, serve},
    web::ProviderServer,
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::thread;

/// Lines 92 to 106.
const INITIALIZE: &str = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "initialize",
  "params": {
    "protocolVersion": "2025-11-25",
    "clientInfo": {
      "name": "my-client",
      "version": "1.0.0"
    },
    "capabilities": {}
  }
}"#;

/// Lines 133 to 138.
const INITIALIZED: &str = r#"{
  "jsonrpc": "2.0",
  "method": "notifications/initialized"
}"#;

/// Lines 193 to 206.
const SEARCH: &str = r#"{
  "jsonrpc": "2.0",
  "id": 3,
  "method": "tools/call",
  "params": {
    "name": "web_search",
    "arguments": {
      "query": "MCP protocol",
      "max_results": 3
    }
  }
}"#;

#[tokio::test]
async fn seed_004() {
    let mut walk = SeedTable::of("004");
    let site = ProviderServer::start(|_| (200, results()));
    let place = searching(&site);
    messages(&mut walk, &place).await;
    let mut server = serve(&place, &[], &[]);
    handshake(&mut walk, &mut server).await;
    search(&mut walk, &mut server).await;
    failed_search(&mut walk).await;
    error_codes(&mut walk, &place).await;
    content_types(&mut walk, &place).await;
    example_session(&mut walk, &place);
    security(&mut walk, &place).await;
    walk.end();
}

/// A page of results as `DuckDuckGo` lays it out: an advertisement, and five results behind its redirect.
fn results() -> String {
    let advertisement = "<div class='result result--ad'><a class=result__a href='https://duckduckgo.com/y.js?ad_domain=shop.test'>\
                         Buy a protocol</a><a class=result__snippet>Today.</a></div>";
    let result = |n: u8| {
        format!(
            "<div class='result web-result'><a class=result__a href='//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2F{n}'>\
             Result {n}</a><a class=result__snippet>About the <b>MCP</b> protocol.</a></div>"
        )
    };
    let results: String = (1..=5).map(result).collect();
    format!("<html><body>{advertisement}{results}</body></html>")
}

/// Settings in which this site is `DuckDuckGo`, and a server behind docent answers with each type of content.
fn searching(site: &ProviderServer) -> TestHome {
    let place = TestHome::new();
    let other = answering_server(
        &place,
        "other",
        &[
            ("hello", r#""result": {"content": [{"type": "text", "text": "Hello, world!"}]}"#),
            (
                "picture",
                r#""result": {"content": [{"type": "image", "data": "base64-encoded-data", "mimeType": "image/png"}]}"#,
            ),
            (
                "file",
                r#""result": {"content": [{"type": "resource", "uri": "file:///path/to/file", "mimeType": "text/plain", "text": "file contents"}]}"#,
            ),
            ("breaks", r#""error": {"code": -32603, "message": "Internal error"}"#),
        ],
    );
    place.settings(&(network(site) + &other));
    place
}

fn network(site: &ProviderServer) -> String {
    let address = site.address;
    format!(
        "policy.network.hosts = [\"{address}\"]\n\
         web.duckduckgo = {{ html_url = \"http://{address}/html/\", lite_url = \"http://{address}/lite/\" }}\n"
    )
}

async fn opened(place: &TestHome, environment: &[(&str, &str)]) -> ChildTestClient {
    let mut server = serve(place, &[], environment);
    ask(&mut server, INITIALIZE).await;
    server.send_text(INITIALIZED).await.unwrap();
    server
}

/// Lines 1 to 64.
async fn messages(walk: &mut SeedTable, place: &TestHome) {
    walk.at("7");
    let mut server = serve(place, &[], &[("DEBUG", "mcp:protocol")]);
    let opening = ask(&mut server, INITIALIZE).await;
    assert_eq!(opening["result"]["protocolVersion"], "2025-11-25");

    walk.at("13");
    let request = |id: u8| format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}"#);
    server.send_text(format!("{}\n{}", request(2), request(3))).await.unwrap();
    for id in [2, 3] {
        let pong = server.answer_to(&json!(id)).await.unwrap();
        assert_eq!(pong["result"], json!({}), "{pong}");
    }

    walk.at("14");
    let both = format!("{}\n{}", request(2), request(3));
    let out = run_with_input(place, &["serve"], &both).ends(0).out.clone();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{out}");

    walk.at("15");
    // What is on stdout has all been read as messages.
    server.log_line("mcp::protocol").await.unwrap();

    walk.at("23-40");
    let pong =
        ask(&mut server, r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}"#).await;
    assert_eq!(pong, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));

    walk.at("44-53");
    let refused = ask(&mut server, r#"{"jsonrpc": "2.0", "id": 1, "method": "method/name"}"#).await;
    assert!(
        refused["error"]["code"].is_i64() && refused["error"]["message"].is_string(),
        "{refused}"
    );
    assert!(refused.get("result").is_none(), "{refused}");

    walk.at("57-64");
    notify(&mut server, INITIALIZED).await;
    notify(&mut server, r#"{"jsonrpc": "2.0", "method": "unknown/notification"}"#).await;
}

/// Lines 66 to 185.
async fn handshake(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.at("70-84");
    let opening = ask(server, INITIALIZE).await;
    server.send_text(INITIALIZED).await.unwrap();
    let listed = ask(server, r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}"#).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    let found = ask(server, SEARCH).await;
    assert!(found["result"]["content"].is_array(), "{found}");

    walk.at("92-127");
    let result = &opening["result"];
    assert_eq!((&opening["id"], &result["protocolVersion"]), (&json!(1), &json!("2025-11-25")));
    assert_eq!(result["serverInfo"]["name"], "docent");
    assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(result["capabilities"]["tools"], json!({"listChanged": true}));

    walk.at("131-138");
    notify(server, INITIALIZED).await;

    walk.at("142-185");
    let request = r#"{
      "jsonrpc": "2.0",
      "id": 2,
      "method": "tools/list"
    }"#;
    let listed = ask(server, request).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "web_search").unwrap();
    assert!(tool["description"].as_str().unwrap().starts_with("Search the web"), "{tool}");
    let schema = &tool["inputSchema"];
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["query"])));
    let properties = &schema["properties"];
    assert_eq!(properties["query"]["type"], "string");
    assert_eq!(properties["max_results"]["type"], "integer");
    assert_eq!(properties["max_results"]["default"], 5);
}

/// Lines 187 to 224.
async fn search(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.differs("187-206");
    let delivered = TestHome::new();
    let failed = ask(&mut opened(&delivered, &[]).await, SEARCH).await;
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    let text = text_of(&failed);
    assert!(text.starts_with("Search error: the network is off"), "{text}");
    for part in ["[policy.network]", "html.duckduckgo.com", "docent.toml"] {
        assert!(text.contains(part), "no {part} in {text}");
    }

    walk.at("193-206");
    let found = ask(server, SEARCH).await;
    let text = text_of(&found);
    for (result, is_there) in
        [("1. Result 1", true), ("3. Result 3", true), ("4. ", false), ("Buy", false)]
    {
        assert_eq!(text.contains(result), is_there, "{result}: {text}");
    }
    assert!(text.contains("https://a.test/1"), "{text}");

    walk.at("208-224");
    let content = found["result"]["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")));
    assert!(text.starts_with("Search results for: MCP protocol\n\n1. "), "{text}");
    assert_eq!((&found["id"], &found["result"]["isError"]), (&json!(3), &json!(false)));
}

/// Lines 226 to 242.
async fn failed_search(walk: &mut SeedTable) {
    walk.at("226-242");
    let silent = ProviderServer::start(|_| {
        loop {
            thread::park();
        }
    });
    let place = TestHome::new();
    place.settings(&(network(&silent) + "limits.tool_timeout_ms = 1500\n"));
    let failed = ask(&mut opened(&place, &[]).await, SEARCH).await;
    let content = failed["result"]["content"].as_array().unwrap();
    assert_eq!((content.len(), &failed["result"]["isError"]), (1, &json!(true)), "{failed}");
    let text = text_of(&failed);
    assert!(text.starts_with("Search error: "), "{text}");
    let (_, time) =
        text.split_once("a complete response within ").unwrap_or_else(|| panic!("{text}"));
    let (seconds, _) = time.split_once(" s").unwrap();
    // To a tenth.
    assert!(seconds.parse::<f64>().is_ok() && seconds.len() <= 3, "{text}");
    let failing = ProviderServer::start(|_| (500, String::new()));
    place.settings(&network(&failing));
    let failed = ask(&mut opened(&place, &[]).await, SEARCH).await;
    let text = text_of(&failed);
    assert!(text.starts_with("Search error: ") && text.contains("status 500"), "{text}");
    assert_eq!(failed["result"]["isError"], true, "{failed}");
}

/// Lines 244 to 254.
async fn error_codes(walk: &mut SeedTable, place: &TestHome) {
    let mut server = opened(place, &[]).await;
    walk.at("250");
    server.send_text("{\"jsonrpc\": ").await.unwrap();
    let refused = server.answer_to(&Value::Null).await.unwrap();
    is_error(&refused, -32700, "Parse error");

    walk.at("251");
    server.send_text(r#"{"id": 4, "method": "ping"}"#).await.unwrap();
    let refused = server.answer_to(&json!(4)).await.unwrap();
    is_error(&refused, -32600, "Invalid Request");

    walk.at("252");
    let refused = server.ask("foo/bar", json!({})).await.unwrap();
    is_error(&refused, -32601, "Method not found");

    walk.at("253");
    let refused = server.ask("tools/call", json!({})).await.unwrap();
    is_error(&refused, -32602, "Invalid params");

    walk.differs("253");
    let params = call("web_search", json!({"query": ""}));
    let failed = server.ask("tools/call", params.clone()).await.unwrap();
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    let error = &failed["result"]["structuredContent"]["error"];
    assert_eq!(
        (&error["code"], &error["parameter"]),
        (&json!(-32602), &json!("query")),
        "{failed}"
    );
    let mut older = serve(place, &[], &[]);
    older.open("2024-11-05").await.unwrap();
    let refused = older.ask("tools/call", params).await.unwrap();
    is_error(&refused, -32602, "Invalid params");

    walk.at("254");
    let refused = server.ask("tools/call", call("other__breaks", json!({}))).await.unwrap();
    is_error(&refused, -32603, "Internal error");
}

#[track_caller]
fn is_error(refused: &Value, code: i64, message: &str) {
    assert_eq!(refused["error"]["code"], code, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().starts_with(message), "{refused}");
}

/// Lines 256 to 288.
async fn content_types(walk: &mut SeedTable, place: &TestHome) {
    let mut server = opened(place, &[]).await;
    walk.at("262-267");
    let answer = server.ask("tools/call", call("other__hello", json!({}))).await.unwrap();
    assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": "Hello, world!"}]));

    walk.at("271-277");
    let answer = server.ask("tools/call", call("other__picture", json!({}))).await.unwrap();
    let picture = json!({"type": "image", "data": "base64-encoded-data", "mimeType": "image/png"});
    assert_eq!(answer["result"]["content"], json!([picture]));

    walk.differs("281-288");
    let answer = server.ask("tools/call", call("other__file", json!({}))).await.unwrap();
    let file =
        json!({"uri": "file:///path/to/file", "mimeType": "text/plain", "text": "file contents"});
    assert_eq!(answer["result"]["content"], json!([{"type": "resource", "resource": file}]));
}

/// Lines 290 to 302, sent without waiting for the answers.
fn example_session(walk: &mut SeedTable, place: &TestHome) {
    walk.at("294-302");
    let session = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"test","version":"1.0"},"capabilities":{}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"hello"}}}"#;
    let run = run_with_input(place, &["serve"], session);
    let messages = run.ends(0).out.lines().map(|line| serde_json::from_str(line).unwrap());
    let messages: Vec<Value> = messages.collect();
    let answer = |id: u8| {
        let its = messages.iter().find(|message| message["id"] == id);
        its.unwrap_or_else(|| panic!("no answer to {id} in {}", run.out))
    };
    let (opening, listed, found) = (answer(1), answer(2), answer(3));
    assert_eq!(opening["result"]["protocolVersion"], "2025-11-25");
    assert!(listed["result"]["tools"].to_string().contains("\"web_search\""), "{listed}");
    let text = text_of(found);
    assert!(text.starts_with("Search results for: hello\n\n1. ") && text.contains("5. "), "{text}");
    assert_eq!(found["result"]["isError"], false);
}

/// Lines 304 to 310.
async fn security(walk: &mut SeedTable, place: &TestHome) {
    walk.differs("306");
    let mut server = serve(place, &[], &[]);
    let list = r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}"#;
    let refused = ask(&mut server, list).await;
    is_error(&refused, -32600, "Server not initialized: send initialize first");
    let pong = ask(&mut server, r#"{"jsonrpc": "2.0", "id": 2, "method": "ping"}"#).await;
    assert_eq!(pong["result"], json!({}));
    ask(&mut server, INITIALIZE).await;
    let listed = ask(&mut server, list).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");

    walk.at("307");
    is_error(&server.ask("tools/unknown", json!({})).await.unwrap(), -32601, "Method not found");

    walk.at("308");
    let nowhere = call("analyze_repository", json!({"path": "nowhere"}));
    let failed = server.ask("tools/call", nowhere).await.unwrap();
    assert!(failed.get("error").is_none(), "{failed}");
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(text_of(&failed), "Error: Repository path does not exist");

    walk.at("309");
    // In an hour, so that a slow machine earns no further request while it counts.
    let limit = [
        ("DOCENT_SERVER_RATE_LIMIT_REQUESTS", "30"),
        ("DOCENT_SERVER_RATE_LIMIT_WINDOW", "3600000"),
    ];
    let mut limited = opened(place, &limit).await;
    let mut refused = Vec::new();
    for _ in 0..40 {
        let answer = limited.ask("ping", json!({})).await.unwrap();
        refused.extend(answer.get("error").cloned());
    }
    assert!((1..40).contains(&refused.len()), "{refused:?}");
    for error in refused {
        assert_eq!(error["code"], -32000, "{error}");
        assert!(error["data"]["retryAfter"].is_u64(), "{error}");
    }

    walk.at("310");
    for (arguments, parameter) in [
        (json!({}), "query"),
        (json!({"query": 5}), "query"),
        (json!({"query": "x", "max_results": "3"}), "max_results"),
        (json!({"query": "x", "max_results": 0}), "max_results"),
    ] {
        let failed = server.ask("tools/call", call("web_search", arguments.clone())).await.unwrap();
        let error = &failed["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], -32602, "{arguments}: {failed}");
        assert_eq!(error["parameter"], parameter, "{arguments}: {failed}");
    }
}
