//! Rules on top of scopes: what is hidden, what needs approval, what a reload changes.

use crate::{
    fixture::FixtureProvider,
    wire::{WireClient, code, key, origin, setup, text},
};
use docent_server::{McpServer, PolicyAction, PolicyRule, RuleLimits, ServerSetup, ToolPolicy};
use serde_json::{Value, json};
use std::{num::NonZeroU32, sync::Arc, time::Duration};

fn rule(tools: &str, action: PolicyAction) -> PolicyRule {
    PolicyRule::for_everybody("policy.rules[0]", vec![tools.to_owned()], action)
}

/// Allows these tools this many times per minute.
fn rated(tools: &[&str], rate: u32) -> PolicyRule {
    let tools = tools.iter().map(ToString::to_string).collect();
    let bounds = RuleLimits { rate_per_minute: NonZeroU32::new(rate), timeout: None };
    PolicyRule {
        bounds,
        ..PolicyRule::for_everybody("policy.rules[0]", tools, PolicyAction::Allow)
    }
}

fn server(rules: Vec<PolicyRule>) -> Arc<McpServer> {
    McpServer::new(ServerSetup { policy: ToolPolicy { rules }, ..setup(FixtureProvider::new()) })
        .unwrap()
}

async fn tools(wire: &mut WireClient) -> String {
    wire.ask("tools/list", json!({})).await["result"]["tools"].to_string()
}

#[tokio::test]
async fn a_denied_tool_is_neither_listed_nor_run() {
    let server = server(vec![rule("echo", PolicyAction::Deny)]);
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    assert!(!tools(&mut wire).await.contains("\"echo\""));
    let reply = wire.call("echo", json!({"text": "x"})).await;
    assert_eq!(code(&reply), -32000);
    assert_eq!(reply["error"]["data"]["rule"], "policy.rules[0]", "{reply}");
    assert!(!text(&wire.call("samples", json!({})).await).is_empty(), "others are as they were");
}

#[tokio::test]
async fn a_denied_suite_has_no_resources_either() {
    let server = server(vec![rule("fixture:*", PolicyAction::Deny)]);
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let list = wire.ask("resources/list", json!({})).await;
    assert_eq!(list["result"]["resources"], json!([]));
    assert_eq!(code(&wire.ask("resources/read", json!({"uri": "memo://a"})).await), -32002);
}

#[tokio::test]
async fn approval_is_asked_before_each_call() {
    let server = server(vec![rule("echo", PolicyAction::Approve)]);
    let able = json!({"elicitation": {}});
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able, None).await;
    assert!(tools(&mut wire).await.contains("\"echo\""));
    let cases = [
        (json!({"action": "accept", "content": {"approve": true}}), false),
        (json!({"action": "accept", "content": {"approve": false}}), true),
        (json!({"action": "accept", "content": {}}), true),
        (json!({"action": "decline"}), true),
        (json!({"action": "cancel", "content": {"approve": true}}), true),
    ];
    for (answer, is_refused) in cases {
        let params = json!({"name": "echo", "arguments": {"text": "hello"}});
        let id = wire.begin("tools/call", params).await;
        let asked = wire.read().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(message.contains("`echo`") && message.contains("hello"), "{message}");
        wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await;
        let reply = wire.answer(&id).await;
        assert_eq!(reply["result"]["isError"] == true, is_refused, "{answer}: {reply}");
        assert_eq!(text(&reply) == "hello", !is_refused, "{answer}: {reply}");
    }
}

#[tokio::test]
async fn no_approval_is_asked_for_a_call_that_cannot_be_shown() {
    let server = server(vec![rule("*", PolicyAction::Approve)]);
    let able = json!({"elicitation": {}});
    let mut wire = WireClient::legacy_as(&server, "2025-11-25", able, None).await;
    let padded =
        |count: usize| -> Value { (0..count).map(|n| (format!("a{n}"), json!(1))).collect() };
    let reply = wire.call("steps", padded(21)).await;
    assert!(reply.to_string().contains("at most 20"), "{reply}");
    assert!(wire.seen.is_empty(), "{:?}", wire.seen);
    wire.begin("tools/call", json!({"name": "steps", "arguments": padded(20)})).await;
    let asked = wire.read().await;
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.ends_with("\n\"a19\": 1"), "{message}");
}

#[tokio::test]
async fn a_client_that_can_not_ask_is_refused() {
    let server = server(vec![rule("echo", PolicyAction::Approve)]);
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    let reply = wire.call("echo", json!({"text": "x"})).await;
    assert_eq!(reply["result"]["isError"], true);
    assert!(text(&reply).contains("this client cannot ask for it"), "{reply}");
}

#[tokio::test]
async fn approval_covers_one_call_only() {
    let server = server(vec![rule("echo", PolicyAction::Approve)]);
    let mut wire = WireClient::open(&server);
    let able = || json!({"elicitation": {}});
    let asked = wire.modern_call("echo", json!({"text": "a"}), able(), json!({})).await;
    let requests = asked["result"]["inputRequests"].as_object().unwrap().clone();
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let responses: Value = requests.keys().map(|key| (key.clone(), yes.clone())).collect();
    let state = asked["result"]["requestState"].clone();
    let unasked = json!({"inputResponses": responses});
    let reply = wire.modern_call("echo", json!({"text": "a"}), able(), unasked).await;
    assert_eq!(reply["result"]["resultType"], "input_required", "no question was asked: {reply}");
    let more = json!({"inputResponses": responses, "requestState": state});
    let reply = wire.modern_call("echo", json!({"text": "b"}), able(), more.clone()).await;
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    let reply = wire.modern_call("echo", json!({"text": "a"}), able(), more).await;
    assert_eq!(text(&reply), "a");
}

#[tokio::test]
async fn new_settings_apply_at_once_and_drop_no_call() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    let server =
        McpServer::new(ServerSetup { keys, auth_required: true, ..setup(fixture) }).unwrap();
    let open = async |name: &str| {
        let token = format!("{name}-token");
        let origin = origin(&server, Some(&token));
        WireClient::legacy_as(&server, "2025-11-25", json!({}), Some(origin)).await
    };
    let (mut ann, mut bob) = (open("ann").await, open("bob").await);
    let running = ann.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    let policy = ToolPolicy { rules: vec![rule("echo", PolicyAction::Deny)] };
    let mut terms = ServerSetup { policy, ..setup(FixtureProvider::new()) }.live_settings();
    (terms.keys, terms.auth_required) = (vec![key("ann", &["*"])], true);
    server.reload(terms).unwrap();
    ann.notified("notifications/tools/list_changed").await;
    gate.let_through(1);
    assert_eq!(text(&ann.answer(&running).await), "waited", "a call that runs is not dropped");
    assert_eq!(code(&ann.call("echo", json!({"text": "x"})).await), -32000);
    let reply = bob.call("waits", json!({})).await;
    assert_eq!(code(&reply), -32000, "a key that is gone opens nothing: {reply}");
}

#[tokio::test]
async fn a_rule_s_rate_counts_for_each_caller_alone() {
    let keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    let policy = ToolPolicy { rules: vec![rated(&["echo", "emits"], 2)] };
    let server =
        McpServer::new(ServerSetup { keys, policy, ..setup(FixtureProvider::new()) }).unwrap();
    let open = async |name: &str, address: Option<[u8; 4]>| {
        let mut origin = origin(&server, Some(&format!("{name}-token")));
        origin.caller.remote = address.map(Into::into);
        WireClient::legacy_as(&server, "2025-11-25", json!({}), Some(origin)).await
    };
    let mut ann = open("ann", None).await;
    assert_eq!(text(&ann.call("echo", json!({"text": "a"})).await), "a");
    assert_eq!(text(&ann.call("emits", json!({})).await), "first\nsecond\nlast");
    let mut elsewhere = open("ann", Some([10, 0, 0, 1])).await;
    for (wire, tool) in [(&mut ann, "emits"), (&mut elsewhere, "echo")] {
        let reply = wire.call(tool, json!({"text": "a"})).await;
        assert_eq!(code(&reply), -32000, "{reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        let want = format!("too many calls of {tool}: policy.rules[0] allows 2 per minute; try");
        assert!(message.starts_with(&want), "{message}");
        let data = &reply["error"]["data"];
        assert_eq!(
            (&data["rule"], &data["perMinute"]),
            (&json!("policy.rules[0]"), &json!(2)),
            "{reply}"
        );
        assert!(data["retryAfterSeconds"].as_f64().unwrap() > 0.0, "{reply}");
    }
    assert_eq!(text(&ann.call("steps", json!({})).await), "done", "another tool is not held up");
    let mut bob = open("bob", None).await;
    assert_eq!(text(&bob.call("echo", json!({"text": "b"})).await), "b");
    assert!(server.metrics().contains("docent_refused_total{reason=\"rate\"} 2\n"));
}

#[tokio::test]
async fn a_reload_forgets_no_count_of_a_rule_that_stays() {
    let server = server(vec![rated(&["echo"], 1)]);
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    assert_eq!(text(&wire.call("echo", json!({"text": "x"})).await), "x");
    let renew = |rules: Vec<PolicyRule>| {
        let policy = ToolPolicy { rules };
        server
            .reload(ServerSetup { policy, ..setup(FixtureProvider::new()) }.live_settings())
            .unwrap();
    };
    let moved = PolicyRule { name: "policy.rules[1]".into(), ..rated(&["echo"], 1) };
    renew(vec![rule("samples", PolicyAction::Deny), moved]);
    let reply = wire.call("echo", json!({"text": "x"})).await;
    assert_eq!(reply["error"]["data"]["rule"], "policy.rules[1]", "{reply}");
    renew(vec![rated(&["echo"], 3)]);
    for _ in 0..3 {
        assert_eq!(text(&wire.call("echo", json!({"text": "x"})).await), "x");
    }
    assert_eq!(code(&wire.call("echo", json!({"text": "x"})).await), -32000);
    renew(Vec::new());
    assert_eq!(text(&wire.call("echo", json!({"text": "x"})).await), "x");
}

#[tokio::test(start_paused = true)]
async fn a_rule_s_time_ends_a_call_and_a_task() {
    let bounds = RuleLimits { rate_per_minute: None, timeout: Some(Duration::from_millis(1)) };
    let server = server(vec![PolicyRule { bounds, ..rule("fixture:*", PolicyAction::Allow) }]);
    let mut wire = WireClient::open(&server);
    let follows = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for able in [json!({}), follows] {
        let reply = wire.modern_call("stubborn", json!({}), able, json!({})).await;
        let said = text(&reply);
        assert!(said.starts_with("a piece\nPartial result: the deadline of 0.001 s"), "{said}");
        assert!(said.ends_with("raise timeout_ms of policy.rules[0]."), "{said}");
    }
}

#[tokio::test]
async fn invalid_settings_change_nothing() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut terms = setup(FixtureProvider::new()).live_settings();
    terms.auth_required = true;
    assert!(server.reload(terms).is_err());
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    assert_eq!(text(&wire.call("echo", json!({"text": "x"})).await), "x");
}
