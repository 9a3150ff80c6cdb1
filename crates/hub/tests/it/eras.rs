//! Servers with sessions and without, and lenient ones.

use crate::stage::{
    CallBehavior, ScriptedClient, TestWorkerStarter, call, context, hub, result, session, spec,
    text, tool, tools, until, wait_for_change, words,
};
use docent_hub::{ServerSpec, ServerStateStore};
use docent_tool::{ProviderChange, SyslogLevel, ToolProvider, no_client};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

fn stateless(message: &Value) -> CallBehavior {
    if message.pointer(VERSION) != Some(&json!("2026-07-28")) {
        let error = json!({"code": -32022, "message": "unsupported version"});
        return CallBehavior::Says(vec![
            json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
        ]);
    }
    match message["method"].as_str() {
        Some("server/discover") => result(
            message,
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "2"}}}),
        ),
        Some("tools/list") => {
            result(message, json!({"tools": [tool("echo")], "resultType": "complete"}))
        }
        Some("tools/call") => text(message, "new"),
        _ => CallBehavior::Says(Vec::new()),
    }
}

#[tokio::test]
async fn a_server_without_sessions_is_found_out_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("new", stateless);
    let first = hub(&scripts, memory.clone(), vec![spec("new")]);
    assert_eq!(words(&call(&first, "new__echo", &no_client()).await.unwrap()), "new");
    assert_eq!(scripts.of("initialize").len(), 1);
    assert_eq!(first.status()[0].protocol.as_deref(), Some("2026-07-28"));
    assert_eq!(first.status()[0].server["name"], "new");
    until(|| memory.load(&spec("new")).is_some()).await;
    first.close().await;
    let again = hub(&scripts, memory, vec![spec("new")]);
    assert_eq!(words(&call(&again, "new__echo", &no_client()).await.unwrap()), "new");
    assert_eq!(scripts.of("initialize").len(), 1, "the second time it is not tried");
}

#[tokio::test]
async fn a_server_without_sessions_is_found_out_however_it_refuses() {
    let refusal = |message: &Value, error: &Value| {
        CallBehavior::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})])
    };
    let supported = json!({"code": -32022, "message": "unsupported version", "data": {"supported": ["2026-07-28"]}});
    // How each method is refused, the first time it comes.
    let cases = [
        (vec![("initialize", json!({"code": -32020, "message": "missing header"}))], 1),
        (vec![("initialize", supported.clone()), ("server/discover", supported)], 2),
    ];
    for (refusals, discoveries) in cases {
        let scripts = Arc::new(TestWorkerStarter::default());
        let open = Mutex::new(refusals.clone());
        scripts.put("new", move |message: &Value| {
            let mut open = open.lock().unwrap();
            match open.iter().position(|(method, _)| message["method"] == *method) {
                Some(at) => refusal(message, &open.remove(at).1),
                None => stateless(message),
            }
        });
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("new")]);
        let answer = call(&hub, "new__echo", &no_client()).await;
        assert_eq!(words(&answer.unwrap()), "new", "{refusals:?}");
        assert_eq!(scripts.of("initialize").len(), 1, "{refusals:?}");
        assert_eq!(scripts.of("server/discover").len(), discoveries, "{refusals:?}");
    }
}

#[tokio::test]
async fn a_loose_server_is_understood() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("loose", |message: &Value| match message["method"].as_str() {
        Some("initialize") => result(message, json!({"protocolVersion": "1.0", "capabilities": {}})),
        Some("tools/list") => result(message, json!({"tools": [{"name": "a", "description": "A.", "input_schema": {"type": "object", "required": ["x"]}}]})),
        // Ids come back as text.
        Some("tools/call") => CallBehavior::Says(vec![json!({"id": message["id"].to_string(), "result": {"content": "said", "is_error": true}})]),
        _ => CallBehavior::Says(Vec::new()),
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("loose")]);
    let tools = tools(&hub).await;
    assert_eq!(tools["loose__a"].info().input_schema["required"], json!(["x"]));
    let outcome = call(&hub, "loose__a", &no_client()).await.unwrap();
    assert_eq!((words(&outcome).as_str(), outcome.is_error), ("said", true));
    assert_eq!(hub.status()[0].protocol.as_deref(), Some("1.0"));
}

#[tokio::test]
async fn a_stream_that_ends_is_reopened_and_missed_changes_are_reported() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let streams = Arc::new(AtomicUsize::new(0));
    let opened = Arc::clone(&streams);
    scripts.put("new", move |message: &Value| match message["method"].as_str() {
        Some("server/discover") => result(
            message,
            json!({"capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}}}),
        ),
        Some("tools/list") => {
            let more = opened.load(Ordering::Relaxed) > 1;
            let tools = if more { json!([tool("a"), tool("b")]) } else { json!([tool("a")]) };
            result(message, json!({"tools": tools}))
        }
        Some("resources/list") => {
            result(message, json!({"resources": [{"uri": "a:b", "name": "b"}]}))
        }
        Some("resources/templates/list") => result(message, json!({"resourceTemplates": []})),
        Some("subscriptions/listen") => {
            let open = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}});
            let end = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete"}});
            // The second stream, which has the address in it, ends at once.
            match opened.fetch_add(1, Ordering::Relaxed) {
                1 => CallBehavior::Says(vec![open, end]),
                _ => CallBehavior::Says(vec![open]),
            }
        }
        Some("initialize") => {
            let error = json!({"code": -32022, "message": "unsupported version"});
            CallBehavior::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})])
        }
        _ => CallBehavior::Says(Vec::new()),
    });
    let accepting = ServerSpec { accepts_new_tools: true, ..spec("new") };
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![accepting]);
    assert_eq!(tools(&hub).await.len(), 1);
    until(|| streams.load(Ordering::Relaxed) == 1).await;
    let mut changes = hub.changes().unwrap();
    assert!(hub.parts().remove(0).watch("a:b"));
    wait_for_change(&mut changes, &ProviderChange::Updated("a:b".into())).await;
    wait_for_change(&mut changes, &ProviderChange::Tools).await;
    assert_eq!(tools(&hub).await.len(), 2);
    let listens = scripts.of("subscriptions/listen");
    assert_eq!(listens.len(), 3, "{listens:?}");
    let watched = listens[2].pointer("/params/notifications/resourceSubscriptions");
    assert_eq!(watched, Some(&json!(["a:b"])));
}

#[tokio::test]
async fn the_first_servers_hear_the_end_of_the_handshake_under_its_older_name() {
    for (version, want) in [("1.0", 1), ("2025-06-18", 0)] {
        let scripts = Arc::new(TestWorkerStarter::default());
        scripts.put("old", move |message: &Value| match message["method"].as_str() {
            Some("initialize") => {
                result(message, json!({"protocolVersion": version, "capabilities": {"tools": {}}}))
            }
            _ => session(json!([tool("a")]), |message| text(message, "ok"))(message),
        });
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("old")]);
        assert_eq!(words(&call(&hub, "old__a", &no_client()).await.unwrap()), "ok");
        assert_eq!(scripts.of("initialized").len(), want, "{version}");
        assert_eq!(scripts.of("notifications/initialized").len(), 1, "{version}");
    }
}

#[tokio::test]
async fn a_request_without_a_session_says_what_its_client_hears_and_can() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("new", stateless);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("new")]);
    let able = json!({"sampling": {"tools": {}}, "elicitation": {"form": {}}});
    let person = Arc::new(ScriptedClient {
        level: Some(SyslogLevel::Debug),
        able: able.as_object().unwrap().clone(),
        ..ScriptedClient::default()
    });
    call(&hub, "new__echo", &context(&person)).await.unwrap();
    call(&hub, "new__echo", &no_client()).await.unwrap();
    let key = |call: usize, key: &str| {
        scripts.of("tools/call")[call]["params"]["_meta"][format!("io.modelcontextprotocol/{key}")]
            .clone()
    };
    assert_eq!(key(0, "logLevel"), "debug");
    assert_eq!(key(0, "clientCapabilities")["sampling"], json!({"tools": {}}));
    assert_eq!(key(0, "protocolVersion"), "2026-07-28");
    assert_eq!(key(1, "logLevel"), Value::Null);
    assert_eq!(key(1, "clientCapabilities")["sampling"], json!({}));
}

#[tokio::test]
async fn a_session_announces_the_capabilities_of_earlier_callers() {
    let scripts = Arc::new(TestWorkerStarter::default());
    for name in ["one", "two"] {
        scripts.put(name, session(json!([tool("a")]), |message| text(message, "ok")));
    }
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let able = json!({"sampling": {"tools": {}, "context": {}}}).as_object().unwrap().clone();
    let person = Arc::new(ScriptedClient { able, ..ScriptedClient::default() });
    call(&hub, "one__a", &context(&person)).await.unwrap();
    hub.configure(vec![spec("one"), spec("two")]);
    call(&hub, "two__a", &no_client()).await.unwrap();
    let announced = |nth: usize| scripts.of("initialize")[nth]["params"]["capabilities"].clone();
    assert_eq!(announced(0)["sampling"], json!({}), "no client had called");
    assert_eq!(announced(1)["sampling"], json!({"tools": {}, "context": {}}));
    assert_eq!(announced(1)["roots"], json!({}), "no one would report changes");
}

#[tokio::test]
async fn a_level_is_set_before_the_call_that_wants_it() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", |message: &Value| match message["method"].as_str() {
        Some("initialize") => result(
            message,
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}}}),
        ),
        Some("logging/setLevel") => result(message, json!({})),
        _ => session(json!([tool("a")]), |message| text(message, "ok"))(message),
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    tools(&hub).await;
    hub.parts().remove(0).set_level(SyslogLevel::Debug);
    call(&hub, "one__a", &no_client()).await.unwrap();
    let heard: Vec<_> =
        scripts.heard.lock().unwrap().iter().map(|message| message["method"].clone()).collect();
    let place = |method: &str| heard.iter().position(|one| one == method);
    assert!(place("logging/setLevel").unwrap() < place("tools/call").unwrap(), "{heard:?}");
    assert_eq!(scripts.of("logging/setLevel")[0]["params"]["level"], "debug");
    call(&hub, "one__a", &no_client()).await.unwrap();
    assert_eq!(scripts.of("logging/setLevel").len(), 1, "once is enough");
}
