//! Lines 504 to 674: schemas, content, streams and resources.

use super::server::{Orchestrator, PythonServer, call, exchange, until};
use crate::seeds::SeedTable;
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::fs;

pub(super) async fn walk(walk: &mut SeedTable) {
    schemas(walk).await;
    content_types(walk).await;
    text_content(walk).await;
    streaming(walk).await;
    subscriptions(walk).await;
}

/// The document's schema.
fn documented_schema() -> Value {
    json!({
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Search query",
                    "minLength": 1
                },
                "limit": {
                    "type": "number",
                    "description": "Max results",
                    "minimum": 1,
                    "maximum": 100,
                    "default": 10
                }
            },
            "required": ["query"]
        }
    })
}

/// A response with this result.
fn response(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

/// A tool `search` with the document's schema.
pub(super) fn search_tool() -> Value {
    let mut tool = documented_schema();
    tool["name"] = "search".into();
    tool["description"] = "Search".into();
    tool
}

async fn schemas(walk: &mut SeedTable) {
    let found = response(&json!({"content": []}));
    let orchestra = Orchestrator::new(&PythonServer::new().tool(search_tool(), &[found]), "");
    let mut docent = orchestra.serve().await;
    walk.at("506-532");
    let listed = docent.ask("tools/list", json!({})).await.unwrap();
    let listed = listed["result"]["tools"].as_array().unwrap();
    let search = listed.iter().find(|tool| tool["name"] == "search").unwrap();
    assert_eq!(search["inputSchema"], documented_schema()["inputSchema"]);
    walk.at("534-546");
    for (arguments, parameter) in [
        (json!({}), "query"),
        (json!({"query": ""}), "query"),
        (json!({"query": 5}), "query"),
        (json!({"query": "foo", "limit": 500}), "limit"),
    ] {
        let answer = call(&mut docent, "search", arguments.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{arguments}: {answer}");
        assert_eq!(answer["error"]["data"]["parameter"], parameter, "{arguments}: {answer}");
    }
    assert_eq!(orchestra.heard_of("tools/call"), [Value::Null; 0], "nothing reached the server");
}

/// The document's contents, by the name of the tool that answers with them.
fn documented_contents() -> [(&'static str, Value); 3] {
    [
        (
            "text",
            json!({
                "content": [
                    {
                        "type": "text",
                        "text": "Plain text response"
                    }
                ]
            }),
        ),
        (
            "image",
            json!({
                "content": [
                    {
                        "type": "image",
                        "data": "base64-encoded-image-data",
                        "mimeType": "image/png"
                    }
                ]
            }),
        ),
        (
            "resource",
            json!({
                "content": [
                    {
                        "type": "resource",
                        "resource": {
                            "uri": "https://example.com/doc.pdf",
                            "mimeType": "application/pdf",
                            "text": "Document content..."
                        }
                    }
                ]
            }),
        ),
    ]
}

async fn content_types(walk: &mut SeedTable) {
    let contents = documented_contents();
    let script = contents.iter().fold(PythonServer::new(), |script, (name, content)| {
        script.any(name, &[response(content)])
    });
    let flat = json!({"type": "resource", "uri": "https://example.com/doc.pdf", "text": "Document content..."});
    let script = script.any("flat", &[response(&json!({"content": [flat]}))]);
    let orchestra = Orchestrator::new(&script, "");
    let mut docent = orchestra.serve().await;
    let mut contents = contents.iter();
    for lines in ["552-564", "566-577", "579-593"] {
        walk.at(lines);
        let (tool, documented) = contents.next().unwrap();
        let answer = call(&mut docent, tool, json!({})).await;
        let (block, want) = (&answer["result"]["content"][0], &documented["content"][0]);
        contains(block, want);
    }
    let answer = call(&mut docent, "flat", json!({})).await;
    let block = &answer["result"]["content"][0];
    assert_eq!(block["resource"]["uri"], "https://example.com/doc.pdf", "{answer}");
    assert_eq!(block["resource"]["text"], "Document content...", "{answer}");
}

/// Checks that an object has each field of another; the plain dialect adds fields in `snake_case`.
#[track_caller]
fn contains(got: &Value, want: &Value) {
    match want.as_object() {
        Some(fields) => fields.iter().for_each(|(field, want)| contains(&got[field], want)),
        None => assert_eq!(got, want),
    }
}

async fn text_content(walk: &mut SeedTable) {
    let bare = response(&json!({"data": [1, 2]}));
    let two = json!({"content": [
        {"type": "text", "text": "first"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "text", "text": "second"},
    ]});
    let script = PythonServer::new().any("bare", &[bare]).any("two", &[response(&two)]);
    let orchestra = Orchestrator::new(&script, "");
    let mut docent = orchestra.serve().await;
    let program = orchestra.program();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let run = |tool: &str| orchestra.place.run(&[&["call", tool, "--"], &*program].concat());
    walk.at("597-598");
    let answer = call(&mut docent, "bare", json!({})).await;
    let block = json!({"type": "text", "text": "{\"data\":[1,2]}"});
    assert_eq!(answer["result"]["content"], json!([block]), "{answer}");
    let printed = run("bare").ends(0).json();
    assert_eq!(printed["data"], json!([1, 2]), "{printed}");
    walk.differs("600-604");
    assert_eq!(run("two").ends(0).out, "first\nsecond\n");
}

async fn streaming(walk: &mut SeedTable) {
    let part = |text: &str, partial: bool| {
        let content = json!([{ "type": "text", "text": text }]);
        json!({"jsonrpc": "2.0", "id": 5, "result": {"content": content, "partial": partial}})
    };
    let parts = [part("const foo = ", true), part("42;", false)];
    let orchestra = Orchestrator::new(&PythonServer::new().any("generate_code", &parts), "");
    orchestra.place.write("main.py", "print('hello')\n");
    let mut docent = orchestra.serve().await;
    walk.at("614-627");
    let mut request = json!({
        "jsonrpc": "2.0",
        "id": 5,
        "method": "tools/call",
        "params": {
            "name": "generate_code",
            "arguments": { "prompt": "..." },
            "stream": true
        }
    });
    let answer = exchange(&mut docent, request.clone()).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    walk.at("629-646");
    let text = json!([{"type": "text", "text": "const foo = 42;"}]);
    assert_eq!(answer["result"]["content"], text, "{answer}");
    assert_eq!(answer["result"]["partial"], false, "{answer}");
    walk.at("629-646");
    request["params"]["name"] = "analyze_repository".into();
    request["params"]["arguments"] = json!({"path": "."});
    docent.send(&request).await.unwrap();
    let mut parts = 0;
    loop {
        let answer = docent.answer_to(&json!(5)).await.unwrap();
        assert_eq!(answer["result"]["content"][0]["type"], "text", "{answer}");
        if answer["result"]["partial"] == false {
            break;
        }
        assert_eq!(answer["result"]["partial"], true, "{answer}");
        parts += 1;
    }
    assert!(parts > 0, "no part came before the last");
}

/// The document's subscription.
fn subscription(uri: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 6,
        "method": "resources/subscribe",
        "params": {
            "uri": uri
        }
    })
}

async fn subscriptions(walk: &mut SeedTable) {
    let uri = "file:///workspace/config.json";
    let updated = json!({
        "jsonrpc": "2.0",
        "method": "resources/updated",
        "params": {
            "uri": uri
        }
    });
    let opening = json!({
        "protocolVersion": "1.0",
        "capabilities": {"tools": {}, "resources": {"subscribe": true}},
        "serverInfo": {"name": "cloudflare-mcp", "version": "1.0.0"},
    });
    let changed = [updated.clone(), response(&json!({"content": []}))];
    let script = PythonServer::new()
        .result("initialize", opening)
        .result("resources/list", json!({"resources": [{"uri": uri, "name": "config.json"}]}))
        .any("change", &changed);
    let orchestra = Orchestrator::new(&script, "");
    let mut docent = orchestra.serve().await;
    docent.ask("resources/list", json!({})).await.unwrap();
    walk.at("653-664");
    let answer = exchange(&mut docent, subscription(uri)).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 6, "result": {}}));
    until(|| !orchestra.heard_of("resources/subscribe").is_empty()).await;
    assert_eq!(orchestra.heard_of("resources/subscribe")[0]["params"], json!({"uri": uri}));
    walk.at("666-673");
    call(&mut docent, "change", json!({})).await;
    assert_eq!(docent.notification("resources/updated").await.unwrap(), updated);
    own_files(walk, &orchestra, &mut docent).await;
}

async fn own_files(walk: &mut SeedTable, orchestra: &Orchestrator, docent: &mut ChildTestClient) {
    walk.at("653-673");
    orchestra.place.write("config.json", "{\"debug\": false}\n");
    let path = fs::canonicalize(orchestra.place.project().join("config.json")).unwrap();
    let uri = format!("file://{}", path.display());
    let answer = exchange(docent, subscription(&uri)).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 6, "result": {}}));
    orchestra.place.write("config.json", "{\"debug\": true}\n");
    let updated = docent.notification("resources/updated").await.unwrap();
    assert_eq!(updated["params"], json!({"uri": uri}));
    let read = docent.ask("resources/read", json!({"uri": uri})).await.unwrap();
    assert_eq!(read["result"]["contents"][0]["text"], "{\"debug\": true}\n", "{read}");
}
