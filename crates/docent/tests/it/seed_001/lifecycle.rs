//! Lines 100 to 266: the lifecycle of a conversation.

use super::server::{Orchestrator, PythonServer, exchange};
use crate::seeds::SeedTable;
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};

/// The document's `initialize` request.
pub(super) fn opening() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "1.0",
            "capabilities": {
                "tools": {}
            },
            "clientInfo": {
                "name": "mcp-dynamic-orchestrator",
                "version": "1.0.0"
            }
        }
    })
}

/// The document's response to it.
pub(super) fn opening_response() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": "1.0",
            "capabilities": {
                "tools": {}
            },
            "serverInfo": {
                "name": "cloudflare-mcp",
                "version": "1.0.0"
            }
        }
    })
}

/// The document's `initialized` notification.
pub(super) fn opened() -> Value {
    json!({
        "jsonrpc": "2.0",
        "method": "initialized"
    })
}

/// The tools of the document's list.
fn documented_tools() -> [Value; 2] {
    [
        json!({
            "name": "search_cloudflare_documentation",
            "description": "Search Cloudflare platform documentation",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "Search query"
                    }
                },
                "required": ["query"]
            }
        }),
        json!({
            "name": "migrate_pages_to_workers_guide",
            "description": "Get migration guide for Pages to Workers",
            "inputSchema": {
                "type": "object",
                "properties": {}
            }
        }),
    ]
}

/// The document's `tools/call`.
fn search() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {
            "name": "search_cloudflare_documentation",
            "arguments": {
                "query": "Workers KV API"
            }
        }
    })
}

/// The document's result of it.
fn found() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 3,
        "result": {
            "content": [
                {
                    "type": "text",
                    "text": "# Workers KV API\n\nWorkers KV is a global, low-latency key-value store..."
                }
            ],
            "isError": false
        }
    })
}

/// A server with the document's tools; the first answers as the document's does.
pub(super) fn documented_server() -> PythonServer {
    let [search, migrate] = documented_tools();
    let guide = json!({"content": [{"type": "text", "text": "Move."}], "isError": true});
    let guide = json!({"jsonrpc": "2.0", "id": 1, "result": guide});
    PythonServer::new().tool(search, &[found()]).tool(migrate, &[guide])
}

/// Whether a message answers nothing.
pub(super) fn is_notification(message: &Value) -> bool {
    message.get("method").is_some()
}

pub(super) async fn walk(walk: &mut SeedTable) {
    let script = documented_server().any("kebab-case-name", &[found()]);
    let orchestra = Orchestrator::new(&script, "");
    let mut docent = orchestra.start(&[]);
    initialization(walk, &orchestra, &mut docent).await;
    discovery(walk, &orchestra, &mut docent).await;
    execution(walk, &orchestra, &mut docent).await;
    shutdown(walk, &orchestra, docent).await;
}

async fn initialization(
    walk: &mut SeedTable,
    orchestra: &Orchestrator,
    docent: &mut ChildTestClient,
) {
    walk.at("104-120");
    let answer = exchange(docent, opening()).await;
    assert!(answer.get("error").is_none(), "{answer}");
    walk.differs("104-120");
    // A list waits for the server.
    exchange(docent, json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    let heard = &orchestra.heard()[0];
    assert_eq!((&heard["jsonrpc"], &heard["id"]), (&json!("2.0"), &json!(1)), "{heard}");
    assert_eq!(heard["method"], "initialize");
    assert_eq!(heard["params"]["protocolVersion"], "2025-11-25", "{heard}");
    assert!(heard["params"]["capabilities"].is_object(), "{heard}");
    assert_eq!(heard["params"]["clientInfo"]["name"], "docent");
    walk.at("123-139");
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "1.0", "{answer}");
    assert!(result["capabilities"]["tools"].is_object(), "{answer}");
    assert_eq!(result["serverInfo"]["name"], "docent", "{answer}");
    let listed = orchestra.place.run(&["servers", "list", "--json"]).ends(0).json();
    assert_eq!(listed["servers"][0]["protocol"], "1.0", "{listed}");
    walk.at("141-148");
    docent.send(&opened()).await.unwrap();
    assert!(orchestra.heard().contains(&opened()), "{:?}", orchestra.heard());
}

async fn discovery(walk: &mut SeedTable, orchestra: &Orchestrator, docent: &mut ChildTestClient) {
    walk.at("154-161");
    let asked = json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/list"
    });
    let answer = exchange(docent, asked).await;
    assert_eq!(answer["id"], 2);
    assert!(docent.take_messages().iter().all(is_notification), "a notification has no answer");
    let heard = &orchestra.heard_of("tools/list")[0];
    assert_eq!((&heard["jsonrpc"], &heard["id"]), (&json!("2.0"), &json!(2)), "{heard}");
    walk.at("163-195");
    let listed = answer["result"]["tools"].as_array().unwrap();
    let find = |name: &Value| listed.iter().find(|tool| tool["name"] == *name).unwrap();
    for documented in documented_tools() {
        let tool = find(&documented["name"]);
        for (field, value) in documented.as_object().unwrap() {
            assert_eq!(tool[field], *value, "{tool}");
        }
    }
    walk.at("197-200");
    for tool in listed {
        assert!(tool["name"].is_string() && tool["description"].is_string(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    walk.differs("198");
    find(&json!("kebab-case-name"));
    find(&json!("analyze_repository"));
}

async fn execution(walk: &mut SeedTable, orchestra: &Orchestrator, docent: &mut ChildTestClient) {
    walk.at("206-219");
    let answer = exchange(docent, search()).await;
    let heard = &orchestra.heard_of("tools/call")[0];
    assert_eq!((&heard["jsonrpc"], &heard["id"]), (&json!("2.0"), &json!(3)), "{heard}");
    for field in ["name", "arguments"] {
        assert_eq!(heard["params"][field], search()["params"][field], "{heard}");
    }
    walk.at("221-236");
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(3)), "{answer}");
    for field in ["content", "isError"] {
        assert_eq!(answer["result"][field], found()["result"][field], "{answer}");
    }
    walk.at("238-241");
    assert_eq!(answer["result"]["content"][0]["type"], "text");
    walk.at("242");
    // The same of a tool of the server, and of one of docent's own.
    let mut failing = search();
    failing["params"] = json!({"name": "migrate_pages_to_workers_guide", "arguments": {}});
    let answer = exchange(docent, failing.clone()).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": "Move."}]));
    assert_eq!(answer["result"]["error"], "Move.");
    failing["params"] = json!({"name": "analyze_repository", "arguments": {"path": "nope"}});
    let answer = exchange(docent, failing).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(answer["result"]["error"], "Repository path does not exist", "{answer}");
    let text = &answer["result"]["content"][0]["text"];
    assert_eq!(*text, "Error: Repository path does not exist", "{answer}");
}

async fn shutdown(walk: &mut SeedTable, orchestra: &Orchestrator, mut docent: ChildTestClient) {
    walk.at("246-264");
    let asked = json!({
        "jsonrpc": "2.0",
        "id": 4,
        "method": "shutdown"
    });
    let answer = exchange(&mut docent, asked).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 4, "result": null}));
    let late = exchange(&mut docent, search()).await;
    assert_eq!(late["error"]["code"], -32600, "{late}");
    walk.at("246-264");
    docent.close_input();
    docent.end().await.unwrap();
    let heard = orchestra.heard();
    let [.., last, end] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!((&last["jsonrpc"], &last["method"]), (&json!("2.0"), &json!("shutdown")), "{last}");
    assert!(last["id"].is_u64(), "{last}");
    walk.at("266");
    assert_eq!(end, "end of input");
}
