//! Questions to the client, in both eras.

use crate::{
    fixture::{FixtureProvider, acting, form, said},
    wire::{WireClient, code, key, modern, origin, setup, text},
};
use docent_server::{McpServer, ServerLimits, ServerSetup};
use serde_json::{Value, json};
use std::time::Duration;

fn accept(value: &str) -> Value {
    json!({"action": "accept", "content": {"value": value}})
}

fn able() -> Value {
    json!({"elicitation": {}, "roots": {}, "sampling": {}})
}

async fn reply_to(wire: &mut WireClient, method: &str, result: Value) {
    let asked = wire.read().await;
    assert_eq!(asked["method"], method, "{asked}");
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
}

#[tokio::test]
async fn an_older_client_is_asked_during_the_call() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able(), None).await;
    let id = wire.begin("tools/call", json!({"name": "asks"})).await;
    reply_to(&mut wire, "elicitation/create", accept("Ann")).await;
    assert_eq!(text(&wire.answer(&id).await), "Hello, Ann!");

    let id = wire.begin("tools/call", json!({"name": "asks_all"})).await;
    reply_to(&mut wire, "elicitation/create", accept("Bob")).await;
    reply_to(&mut wire, "roots/list", json!({"roots": [{"uri": "file:///x"}]})).await;
    assert_eq!(
        text(&wire.answer(&id).await),
        "Bob file:///x",
        "asked once each, then run again with the answers"
    );

    let id = wire.begin("tools/call", json!({"name": "samples"})).await;
    let sampled =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello"}});
    reply_to(&mut wire, "sampling/createMessage", sampled).await;
    assert_eq!(text(&wire.answer(&id).await), "Hello");
}

#[tokio::test(start_paused = true)]
async fn the_client_s_time_does_not_count() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able(), None).await;
    let id = wire.begin("tools/call", json!({"name": "asks"})).await;
    let asked = wire.read().await;
    tokio::time::advance(Duration::from_mins(2)).await;
    wire.ask("ping", json!({})).await;
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("Late")})).await;
    assert_eq!(text(&wire.answer(&id).await), "Hello, Late!");
}

#[tokio::test]
async fn a_question_does_not_use_up_the_tools_timeout() {
    let fixture = FixtureProvider::new();
    fixture.extra.lock().unwrap().push(acting(
        "asks_and_works",
        json!({}),
        |_, context| async move {
            context.elicit("name", form("Name?")).await?;
            Ok(said(format!("{:?}", context.stop())))
        },
    ));
    let tool_timeout = Duration::from_millis(200);
    let limits = ServerLimits { tool_timeout, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able(), None).await;
    let id = wire.begin("tools/call", json!({"name": "asks_and_works"})).await;
    let asked = wire.read().await;
    // This tests the passing of time: nothing else could be awaited.
    tokio::time::sleep(tool_timeout).await;
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("Late")})).await;
    assert_eq!(text(&wire.answer(&id).await), "None");
}

#[tokio::test]
async fn a_refusal_of_the_client_is_a_failure_of_the_tool() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able(), None).await;
    let id = wire.begin("tools/call", json!({"name": "asks"})).await;
    let asked = wire.read().await;
    let error = json!({"code": -1, "message": "not today"});
    wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error})).await;
    let reply = wire.answer(&id).await;
    assert_eq!(reply["result"]["isError"], true);
    assert!(text(&reply).contains("not today"), "{reply}");
}

#[tokio::test]
async fn a_client_is_only_asked_what_it_supports() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    for tool in ["asks", "asks_all", "samples"] {
        let reply = wire.call(tool, json!({})).await;
        assert_eq!(reply["result"]["isError"], true, "{tool}");
        assert!(text(&reply).contains("the client does not support"), "{reply}");
        assert!(wire.seen.is_empty());
    }
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call("samples", json!({}), json!({"elicitation": {}}), json!({})).await;
    assert_eq!(code(&reply), -32021);
    assert_eq!(reply["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
    let reply =
        wire.modern_call("asks_all", json!({}), json!({"elicitation": {}}), json!({})).await;
    assert_eq!(code(&reply), -32021);
}

#[tokio::test]
async fn a_modern_client_is_asked_by_the_result() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call("asks", json!({}), able(), json!({})).await;
    let result = &reply["result"];
    assert_eq!(result["resultType"], "input_required", "{reply}");
    assert_eq!(result["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(result["inputRequests"]["name"]["params"]["message"], "Name?");
    let state = result["requestState"].clone();
    let more =
        json!({"inputResponses": {"name": accept("Ann"), "extra": {}}, "requestState": state});
    let reply = wire.modern_call("asks", json!({}), able(), more).await;
    assert_eq!(text(&reply), "Hello, Ann!");
    let wrong = json!({"inputResponses": {"name": 5}, "requestState": state});
    let reply = wire.modern_call("asks", json!({}), able(), wrong).await;
    assert_eq!(
        reply["result"]["resultType"], "input_required",
        "an answer of the wrong shape is asked for again"
    );
    assert!(wire.seen.is_empty(), "no requests to the client in this revision");
}

#[tokio::test]
async fn answers_of_earlier_rounds_travel_in_the_state() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::open(&server);
    let first =
        wire.modern_call("asks_twice", json!({}), able(), json!({})).await["result"].clone();
    assert_eq!(first["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["first"]);
    let more =
        json!({"inputResponses": {"first": accept("A")}, "requestState": first["requestState"]});
    let second = wire.modern_call("asks_twice", json!({}), able(), more).await["result"].clone();
    assert_eq!(second["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["second"]);
    let more =
        json!({"inputResponses": {"second": accept("B")}, "requestState": second["requestState"]});
    assert_eq!(text(&wire.modern_call("asks_twice", json!({}), able(), more).await), "A B");
}

#[tokio::test]
async fn several_questions_and_a_state_go_together() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::open(&server);
    let asked = wire.modern_call("asks_all", json!({}), able(), json!({})).await["result"].clone();
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 2, "{asked}");
    let responses = json!({"value": accept("V"), "roots": {"roots": [{"uri": "file:///y"}]}});
    let more = json!({"inputResponses": responses, "requestState": asked["requestState"]});
    assert_eq!(text(&wire.modern_call("asks_all", json!({}), able(), more).await), "V file:///y");
}

#[tokio::test]
async fn a_state_is_valid_for_its_own_request_only() {
    let mut setup = setup(FixtureProvider::new());
    setup.keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    let server = McpServer::new(setup).unwrap();
    let mut ann = WireClient::open_as(&server, Some(origin(&server, Some("ann-token"))));
    let bob = WireClient::open_as(&server, Some(origin(&server, Some("bob-token"))));
    let asked = ann.modern_call("asks", json!({}), able(), json!({})).await["result"].clone();
    let state = asked["requestState"].as_str().unwrap();
    let with =
        |state: &str| json!({"inputResponses": {"name": accept("X")}, "requestState": state});
    let mut bent = state.to_owned();
    bent.pop();
    let mut wires = [ann, bob];
    for (who, tool, state) in
        [(0, "asks", bent.as_str()), (0, "asks_twice", state), (1, "asks", state)]
    {
        let reply = wires[who].modern_call(tool, json!({}), able(), with(state)).await;
        assert_eq!(
            (code(&reply), &reply["error"]["data"]["parameter"]),
            (-32602, &json!("requestState")),
            "{reply}"
        );
    }
    assert_eq!(
        text(&wires[0].modern_call("asks", json!({}), able(), with(state)).await),
        "Hello, X!"
    );
}

#[tokio::test]
async fn prompts_and_resources_may_ask_too() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::open(&server);
    let cases = [
        ("prompts/get", "name", "asks", "whom", "/result/messages/0/content/text", "Greet Z."),
        ("resources/read", "uri", "memo://asks", "word", "/result/contents/0/text", "Z"),
    ];
    for (method, field, target, key, place, want) in cases {
        let mut params = modern(able());
        params[field] = json!(target);
        let asked = wire.ask(method, params.clone()).await["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        params["inputResponses"] = json!({key: accept("Z")});
        params["requestState"] = asked["requestState"].clone();
        let reply = wire.ask(method, params).await;
        assert_eq!(reply.pointer(place), Some(&json!(want)), "{reply}");
    }
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able(), None).await;
    let id = wire.begin("prompts/get", json!({"name": "asks"})).await;
    reply_to(&mut wire, "elicitation/create", accept("Q")).await;
    assert_eq!(wire.answer(&id).await["result"]["messages"][0]["content"]["text"], "Greet Q.");
}

#[tokio::test]
async fn an_abandoned_question_is_cancelled_at_the_client() {
    let fixture = FixtureProvider::new();
    fixture.extra.lock().unwrap().push(acting("gives_up", json!({}), |_, context| async move {
        tokio::select! {
            _ = context.elicit("first", form("Name?")) => {}
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
        context.elicit("second", form("Name then?")).await?;
        Ok(said("went on"))
    }));
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able(), None).await;
    let id = wire.begin("tools/call", json!({"name": "gives_up"})).await;
    let first = wire.read().await;
    let next = [wire.read().await, wire.read().await];
    let of = |method: &str| next.iter().find(|message| message["method"] == method).unwrap();
    assert_eq!(of("notifications/cancelled")["params"]["requestId"], first["id"]);
    let second = of("elicitation/create")["id"].clone();
    wire.send(&json!({"jsonrpc": "2.0", "id": second, "result": accept("Ann")})).await;
    assert_eq!(text(&wire.answer(&id).await), "went on");
    assert!(wire.seen.is_empty(), "an answered question is not cancelled: {:?}", wire.seen);
}

#[tokio::test]
async fn sampling_tools_need_the_clients_capability() {
    for (able, want) in [(json!({}), "`sampling.tools`"), (json!({"tools": {}}), "Hello")] {
        let fixture = FixtureProvider::new();
        fixture.extra.lock().unwrap().push(acting("samples_with", json!({}), |_, context| async move {
            let params = json!({"messages": [], "maxTokens": 1, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
            let answer = context.sample("k", params).await?;
            Ok(said(answer["content"]["text"].to_string()))
        }));
        let server = McpServer::new(setup(fixture)).unwrap();
        let mut wire =
            WireClient::legacy_as(&server, "2025-11-25", json!({"sampling": able}), None).await;
        let id = wire.begin("tools/call", json!({"name": "samples_with"})).await;
        if want == "Hello" {
            let content = json!({"type": "text", "text": "Hello"});
            let sampled = json!({"role": "assistant", "model": "m", "content": content});
            reply_to(&mut wire, "sampling/createMessage", sampled).await;
        }
        let reply = wire.answer(&id).await;
        assert!(text(&reply).contains(want), "{reply}");
    }
}

#[tokio::test]
async fn a_tool_sees_log_level_and_capabilities_and_can_forward_notifications() {
    let fixture = FixtureProvider::new();
    fixture.extra.lock().unwrap().push(acting("knows", json!({}), |_, context| async move {
        context.pass_on("notifications/elicitation/complete", json!({"elicitationId": "e"}));
        context.elicit("k", form("Done?")).await?;
        Ok(said(format!("{:?} {}", context.level(), Value::Object(context.capabilities()))))
    }));
    let server = McpServer::new(setup(fixture)).unwrap();
    let able = json!({"elicitation": {}, "sampling": {"tools": {}}});
    let mut wire = WireClient::legacy_as(&server, "2025-11-25", able, None).await;
    wire.ask("logging/setLevel", json!({"level": "error"})).await;
    let id = wire.begin("tools/call", json!({"name": "knows"})).await;
    let next = [wire.read().await, wire.read().await];
    let of = |method: &str| next.iter().find(|message| message["method"] == method).unwrap();
    assert_eq!(of("notifications/elicitation/complete")["params"], json!({"elicitationId": "e"}));
    let asked = of("elicitation/create")["id"].clone();
    wire.send(&json!({"jsonrpc": "2.0", "id": asked, "result": accept("yes")})).await;
    let reply = wire.answer(&id).await;
    assert!(text(&reply).starts_with("Some(Error) {"), "{reply}");
    assert!(text(&reply).contains(r#""sampling":{"tools":{}}"#), "{reply}");
}
