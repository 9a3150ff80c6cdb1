//! Servers with sessions and without, and looser ones.

use crate::stage::{Does, Scripts, call, hub, result, spec, text, tool, words};
use docent_hub::Memory;
use docent_tool::nobody;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

fn stateless(message: &Value) -> Does {
    if message.pointer(VERSION) != Some(&json!("2026-07-28")) {
        let error = json!({"code": -32022, "message": "unsupported version"});
        return Does::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})]);
    }
    match message["method"].as_str() {
        Some("server/discover") => result(
            message,
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": {"name": "new", "version": "2"}}),
        ),
        Some("tools/list") => {
            result(message, json!({"tools": [tool("echo")], "resultType": "complete"}))
        }
        Some("tools/call") => text(message, "new"),
        _ => Does::Says(Vec::new()),
    }
}

#[tokio::test]
async fn a_server_without_sessions_is_found_out_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::new(folder.path().to_owned());
    let scripts = Arc::new(Scripts::default());
    scripts.put("new", stateless);
    let first = hub(&scripts, memory.clone(), vec![spec("new")]);
    assert_eq!(words(&call(&first, "new__echo", &nobody()).await.unwrap()), "new");
    assert_eq!(scripts.of("initialize").len(), 1);
    assert_eq!(first.status()[0].protocol.as_deref(), Some("2026-07-28"));
    crate::stage::until(|| memory.load(&spec("new")).is_some()).await;
    first.close().await;
    let again = hub(&scripts, memory, vec![spec("new")]);
    assert_eq!(words(&call(&again, "new__echo", &nobody()).await.unwrap()), "new");
    assert_eq!(scripts.of("initialize").len(), 1, "the second time it is not tried");
}

#[tokio::test]
async fn a_server_without_sessions_is_found_out_however_it_refuses() {
    let refusal = |message: &Value, error: &Value| {
        Does::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})])
    };
    let supported = json!({"code": -32022, "message": "unsupported version", "data": {"supported": ["2026-07-28"]}});
    // How each method is refused, the first time it comes.
    let cases = [
        (vec![("initialize", json!({"code": -32020, "message": "missing header"}))], 1),
        (vec![("initialize", supported.clone()), ("server/discover", supported)], 2),
    ];
    for (refusals, discoveries) in cases {
        let scripts = Arc::new(Scripts::default());
        let open = Mutex::new(refusals.clone());
        scripts.put("new", move |message: &Value| {
            let mut open = open.lock().unwrap();
            match open.iter().position(|(method, _)| message["method"] == *method) {
                Some(at) => refusal(message, &open.remove(at).1),
                None => stateless(message),
            }
        });
        let hub = hub(&scripts, Memory::none(), vec![spec("new")]);
        let answer = call(&hub, "new__echo", &nobody()).await;
        assert_eq!(words(&answer.unwrap()), "new", "{refusals:?}");
        assert_eq!(scripts.of("initialize").len(), 1, "{refusals:?}");
        assert_eq!(scripts.of("server/discover").len(), discoveries, "{refusals:?}");
    }
}

#[tokio::test]
async fn a_loose_server_is_understood() {
    let scripts = Arc::new(Scripts::default());
    scripts.put("loose", |message: &Value| match message["method"].as_str() {
        Some("initialize") => result(message, json!({"protocolVersion": "1.0", "capabilities": {}})),
        Some("tools/list") => result(message, json!({"tools": [{"name": "a", "description": "A.", "input_schema": {"type": "object", "required": ["x"]}}]})),
        // Ids come back as text.
        Some("tools/call") => Does::Says(vec![json!({"id": message["id"].to_string(), "result": {"content": "said", "is_error": true}})]),
        _ => Does::Says(Vec::new()),
    });
    let hub = hub(&scripts, Memory::none(), vec![spec("loose")]);
    let tools = crate::stage::tools(&hub).await;
    assert_eq!(tools["loose__a"].info().input_schema["required"], json!(["x"]));
    let outcome = call(&hub, "loose__a", &nobody()).await.unwrap();
    assert_eq!((words(&outcome).as_str(), outcome.is_error), ("said", true));
    assert_eq!(hub.status()[0].protocol.as_deref(), Some("1.0"));
}
