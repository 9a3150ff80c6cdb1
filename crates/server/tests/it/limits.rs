//! Limits: calls in flight, rates, slots, pages, and the shutdown.

use crate::{
    fixture::FixtureProvider,
    wire::{WireClient, code, key, modern, origin, setup, text},
};
use docent_server::{
    McpServer, PolicyAction, PolicyRule, RequestRate, RuleLimits, ServerLimits, ServerSetup,
    ServerSetupError, ToolPolicy,
};
use docent_transport::{AccessControl, Caller, CallerCredentials, ConnectionKind};
use serde_json::{Value, json};
use std::{collections::HashMap, num::NonZeroU32, sync::Arc, time::Duration};

/// The error of a call that finds the queue full.
fn crowded() -> Value {
    json!({"callsInFlight": 1, "waiting": 4, "retryAfter": 1, "retryAfterMs": 1000})
}

#[tokio::test]
async fn calls_queue_and_the_queue_is_bounded() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let limits = ServerLimits { calls_in_flight: 1, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let mut running = vec![wire.begin("tools/call", json!({"name": "waits"})).await];
    gate.entered.notified().await;
    for _ in 0..4 {
        running.push(wire.begin("tools/call", json!({"name": "waits"})).await);
        // The handlers run in the order of arrival; a ping gets through once the call before it has joined the queue.
        wire.ask("ping", json!({})).await;
    }
    let reply = wire.call("echo", json!({"text": "one too many"})).await;
    assert_eq!(code(&reply), -32000);
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("too many calls in flight") && message.contains("calls_in_flight"),
        "{message}"
    );
    assert_eq!(reply["error"]["data"], crowded());
    let mut other = WireClient::legacy_as(
        &server,
        "2025-11-25",
        json!({}),
        Some({
            let mut origin = origin(&server, None);
            origin.caller.remote = Some([10, 0, 0, 1].into());
            origin
        }),
    )
    .await;
    assert_eq!(
        text(&other.call("echo", json!({"text": "mine"})).await),
        "mine",
        "another client has its own lane"
    );
    gate.let_through(5);
    let mut answered = Vec::new();
    for _ in 0..5 {
        answered.push(wire.read().await["id"].clone());
    }
    assert_eq!(answered, running);
    assert!(server.metrics().contains("docent_refused_total{reason=\"crowded\"} 1\n"));
}

#[tokio::test]
async fn reads_prompts_and_completions_have_their_own_limit() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let limits = ServerLimits { calls_in_flight: 1, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(fixture) }).unwrap();
    let able = json!({"elicitation": {}});
    let mut wire = WireClient::legacy_as(&server, "2025-11-25", able, None).await;
    wire.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    for _ in 0..4 {
        wire.begin("tools/call", json!({"name": "waits"})).await;
        wire.ask("ping", json!({})).await;
    }
    let greet = json!({"type": "ref/prompt", "name": "greet"});
    let cases = [
        ("resources/read", json!({"uri": "memo://a"})),
        ("prompts/get", json!({"name": "greet", "arguments": {"name": "a"}})),
        ("completion/complete", json!({"ref": greet, "argument": {"name": "name", "value": "a"}})),
    ];
    assert_eq!(code(&wire.call("waits", json!({})).await), -32000, "calls fill their line");
    for (method, params) in &cases {
        let reply = wire.ask(method, params.clone()).await;
        assert!(reply.get("result").is_some(), "{method}: {reply}");
    }
    wire.begin("resources/read", json!({"uri": "memo://asks"})).await;
    wire.notified("elicitation/create").await;
    for _ in 0..4 {
        wire.begin("resources/read", json!({"uri": "memo://a"})).await;
        wire.ask("ping", json!({})).await;
    }
    for (method, params) in &cases {
        let reply = wire.ask(method, params.clone()).await;
        assert_eq!(code(&reply), -32000, "{method}: {reply}");
        assert_eq!(reply["error"]["data"], crowded(), "{method}");
    }
}

#[tokio::test]
async fn a_call_that_waits_can_be_cancelled() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let limits = ServerLimits { calls_in_flight: 1, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let first = wire.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    let second =
        wire.begin("tools/call", json!({"name": "echo", "arguments": {"text": "gone"}})).await;
    wire.ask("ping", json!({})).await;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": second}})).await;
    gate.let_through(1);
    assert_eq!(text(&wire.answer(&first).await), "waited");
    server.wait_until_idle().await;
    wire.ask("ping", json!({})).await;
    assert!(wire.seen.is_empty(), "{:?}", wire.seen);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_no_longer_than_it_may_run() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let tool_timeouts = [("echo".to_owned(), Duration::from_secs(1))].into();
    let limits = ServerLimits { calls_in_flight: 1, tool_timeouts, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let first = wire.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    let reply = wire.call("echo", json!({"text": "too late"})).await;
    assert_eq!(code(&reply), -32000, "{reply}");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("too many calls in flight"), "{message}");
    assert_eq!(reply["error"]["data"], crowded());
    gate.let_through(1);
    assert_eq!(text(&wire.answer(&first).await), "waited");
    assert_eq!(text(&wire.call("echo", json!({"text": "in time"})).await), "in time");
    assert!(server.metrics().contains("docent_refused_total{reason=\"crowded\"} 1\n"));
}

#[tokio::test]
async fn a_tool_has_its_own_rate_limit() {
    let tool_rates = [("echo".to_owned(), NonZeroU32::new(2).unwrap())].into();
    let limits = ServerLimits { tool_rates, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(FixtureProvider::new()) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    for _ in 0..2 {
        assert_eq!(text(&wire.call("echo", json!({"text": "a"})).await), "a");
    }
    let reply = wire.call("echo", json!({"text": "a"})).await;
    assert_eq!(code(&reply), -32000);
    assert_eq!(reply["error"]["data"]["perMinute"], 2);
    assert!(reply["error"]["data"]["retryAfterSeconds"].as_f64().unwrap() > 0.0);
    assert!(reply["error"]["data"]["retryAfterMs"].as_u64().unwrap() > 0);
    assert_eq!(
        text(&wire.call("emits", json!({})).await),
        "first\nsecond\nlast",
        "other tools are not held up"
    );
}

/// A server whose tool `tool` has limits of its own, and a rule with limits that allows it.
fn bounded(tool: &str, own: RuleLimits, rule: RuleLimits) -> Arc<McpServer> {
    let limits = ServerLimits {
        tool_timeouts: own.timeout.map(|time| (tool.to_owned(), time)).into_iter().collect(),
        tool_rates: own.rate_per_minute.map(|rate| (tool.to_owned(), rate)).into_iter().collect(),
        ..ServerLimits::default()
    };
    let named =
        PolicyRule::for_everybody("policy.rules[0]", vec![tool.to_owned()], PolicyAction::Allow);
    let policy = ToolPolicy { rules: vec![PolicyRule { bounds: rule, ..named }] };
    McpServer::new(ServerSetup { limits, policy, ..setup(FixtureProvider::new()) }).unwrap()
}

#[tokio::test]
async fn the_smaller_rate_of_tool_and_rule_applies() {
    let rate = |most: u32| RuleLimits { rate_per_minute: NonZeroU32::new(most), timeout: None };
    for (own, of_rule, most, by) in [
        (rate(1), rate(3), 1, Value::Null),
        (rate(3), rate(1), 1, json!("policy.rules[0]")),
        (RuleLimits::default(), rate(2), 2, json!("policy.rules[0]")),
    ] {
        let server = bounded("echo", own, of_rule);
        let mut wire = WireClient::legacy(&server, "2025-11-25").await;
        for _ in 0..most {
            assert_eq!(text(&wire.call("echo", json!({"text": "a"})).await), "a");
        }
        let reply = wire.call("echo", json!({"text": "a"})).await;
        assert_eq!(code(&reply), -32000, "{reply}");
        assert_eq!(reply["error"]["data"]["perMinute"], most, "{reply}");
        assert_eq!(reply["error"]["data"]["rule"], by, "{reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_tool_s_time_and_a_rule_s_the_smaller_holds() {
    let time = |timeout| RuleLimits { rate_per_minute: None, timeout: Some(timeout) };
    let (short, long) = (time(Duration::from_millis(1)), time(Duration::from_hours(1)));
    for (own, of_rule, raise) in [
        (short, long, "limits.tools.stubborn.timeout_ms"),
        (long, short, "timeout_ms of policy.rules[0]"),
        (RuleLimits::default(), short, "timeout_ms of policy.rules[0]"),
    ] {
        let server = bounded("stubborn", own, of_rule);
        let mut wire = WireClient::legacy(&server, "2025-11-25").await;
        let said = text(&wire.call("stubborn", json!({})).await);
        assert!(said.contains("the deadline of 0.001 s"), "{said}");
        assert!(said.ends_with(&format!("raise {raise}.")), "{said}");
    }
}

#[tokio::test]
async fn access_control_counts_requests() {
    let requests = NonZeroU32::new(3).unwrap();
    let limits = ServerLimits {
        rate: Some(RequestRate::per_minute(requests)),
        sessions: 1,
        streams: 2,
        streams_per_client: Some(2),
        ..ServerLimits::default()
    };
    let mut setup = ServerSetup { limits, ..setup(FixtureProvider::new()) };
    setup.keys = vec![key("ann", &["*"])];
    setup.auth_required = true;
    let server = McpServer::new(setup).unwrap();
    assert!(server.needs_token());
    for unknown in [CallerCredentials::default(), CallerCredentials::token("nope")] {
        assert!(server.identify(&unknown).is_none());
        server.count_unknown_caller();
    }
    let principal = server.identify(&CallerCredentials::token("ann-token")).unwrap();
    let caller = Caller { principal, via: ConnectionKind::Http, remote: None };
    let passed = (0..5).filter(|_| server.admit(&caller).is_ok()).count();
    assert_eq!(passed, 3);
    assert!(server.admit(&caller).unwrap_err().as_secs() > 0);
    let session = server.open_session(&caller).unwrap();
    // Another caller's session may make room, so this is not a refusal yet.
    let full = server.open_session(&caller).err().unwrap();
    assert!(!full.is_own_share && full.retry_after > Duration::ZERO, "{full:?}");
    server.count_no_capacity();
    drop(session);
    assert!(server.open_session(&caller).is_ok());
    let _streams = [server.open_stream(&caller).unwrap(), server.open_stream(&caller).unwrap()];
    assert!(server.open_stream(&caller).is_err());
    let metrics = server.metrics();
    for line in
        ["reason=\"token\"} 2", "reason=\"rate\"} 3", "reason=\"seat\"} 2", "docent_streams 2"]
    {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

async fn gathered(wire: &mut WireClient, result: &Value) -> String {
    let link = result["content"]
        .as_array()
        .unwrap()
        .iter()
        .find(|block| block["type"] == "resource_link")
        .unwrap();
    let base = link["uri"].as_str().unwrap().strip_suffix('2').unwrap().to_owned();
    let mut text = result["content"][0]["text"].as_str().unwrap().to_owned();
    for part in 2..=result["_meta"]["docent/parts"].as_u64().unwrap() {
        let reply = wire.ask("resources/read", json!({"uri": format!("{base}{part}")})).await;
        text.push_str(reply["result"]["contents"][0]["text"].as_str().unwrap());
    }
    text
}

#[tokio::test]
async fn a_large_answer_comes_in_parts_for_its_owner() {
    let limits = ServerLimits { page_bytes: 8192, ..ServerLimits::default() };
    let mut setup = ServerSetup { limits, ..setup(FixtureProvider::new()) };
    setup.keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    let server = McpServer::new(setup).unwrap();
    let mut ann = WireClient::legacy_as(
        &server,
        "2025-11-25",
        json!({}),
        Some(origin(&server, Some("ann-token"))),
    )
    .await;
    let mut bob = WireClient::legacy_as(
        &server,
        "2025-11-25",
        json!({}),
        Some(origin(&server, Some("bob-token"))),
    )
    .await;
    let result = ann.call("big", json!({"size": 50_000})).await["result"].clone();
    assert!(result.to_string().len() <= 8192, "{}", result.to_string().len());
    let whole = gathered(&mut ann, &result).await;
    let want: String = "0123456789".repeat(5000);
    assert!(whole == want, "the parts differ from the whole");
    assert_eq!(result["structuredContent"]["size"], 50_000);
    assert_eq!(result["_meta"]["docent/cut"], json!(["/text"]));
    let link = result["content"].as_array().unwrap().last().unwrap()["uri"].as_str().unwrap();
    let structured = format!("{}structured", link.strip_suffix('2').unwrap());
    let reply = ann.ask("resources/read", json!({"uri": structured})).await;
    let stored: Value =
        serde_json::from_str(reply["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(stored["text"], want);
    assert_eq!(
        code(&bob.ask("resources/read", json!({"uri": link})).await),
        -32002,
        "another caller's parts are hidden"
    );
    let reply = ann.ask("resources/read", json!({"uri": "memo://long"})).await;
    assert!(reply["result"]["_meta"]["docent/parts"].as_u64().unwrap() > 2, "{reply}");
    assert!(reply["result"].to_string().len() <= 8192);
}

#[tokio::test]
async fn a_stopping_server_ends_running_calls_and_accepts_no_more() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let id = wire.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    server.stop();
    for (method, params) in [
        ("tools/call", json!({"name": "echo", "arguments": {"text": "late"}})),
        ("resources/read", json!({"uri": "memo://a"})),
        ("prompts/get", json!({"name": "greet", "arguments": {"name": "a"}})),
    ] {
        let reply = wire.ask(method, params).await;
        assert_eq!(
            (code(&reply), reply["error"]["message"].as_str()),
            (-32000, Some("shutting down"))
        );
    }
    let mut drained = Box::pin(server.wait_until_idle());
    let early =
        std::future::poll_fn(|cx| std::task::Poll::Ready(drained.as_mut().poll(cx).is_ready()))
            .await;
    assert!(!early, "a call still runs");
    gate.let_through(1);
    drained.await;
    assert_eq!(text(&wire.answer(&id).await), "waited");
}

#[tokio::test(start_paused = true)]
async fn a_hurrying_server_answers_with_what_there_is() {
    let limits = ServerLimits {
        calls_in_flight: 2,
        tool_timeout: Duration::from_hours(1),
        ..ServerLimits::default()
    };
    let server = McpServer::new(ServerSetup { limits, ..setup(FixtureProvider::new()) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let mut begun = Vec::new();
    for tool in ["patient", "stubborn"] {
        let params = json!({"name": tool, "_meta": {"progressToken": tool}});
        begun.push(wire.begin("tools/call", params).await);
        wire.notified("notifications/progress").await;
    }
    let in_line = wire.begin("tools/call", json!({"name": "stubborn"})).await;
    wire.ask("ping", json!({})).await;
    server.request_shutdown();
    server.request_shutdown();
    let mut answers = HashMap::new();
    for _ in 0..3 {
        let answer = wire.read().await;
        answers.insert(answer["id"].as_i64().unwrap(), answer);
    }
    let late = wire.call("echo", json!({"text": "late"})).await;
    for refused in [&answers[&in_line.as_i64().unwrap()], &late] {
        assert_eq!(
            (code(refused), refused["error"]["message"].as_str()),
            (-32000, Some("shutting down"))
        );
    }
    let words = "Partial result: the server is shutting down, and the call ended early. \
                 Try again once the server is back.";
    let cases = [
        (format!("found 2\nfound 3\n{words}"), json!({"found": 3, "partial": true})),
        (format!("a piece\n{words}"), json!({"partial": true})),
    ];
    for (id, (said, structured)) in begun.iter().zip(cases) {
        let reply = &answers[&id.as_i64().unwrap()];
        assert_eq!((text(reply), &reply["result"]["structuredContent"]), (said, &structured));
        assert_eq!(reply["result"]["isError"], false, "{reply}");
    }
    server.wait_until_idle().await;
}

#[tokio::test]
async fn an_invalid_setup_is_refused() {
    let cases: [(ServerSetup, &str); 4] = [
        (
            ServerSetup { auth_required: true, ..setup(FixtureProvider::new()) },
            "no key is configured",
        ),
        (
            ServerSetup {
                providers: vec![FixtureProvider::new(), FixtureProvider::new()],
                ..setup(FixtureProvider::new())
            },
            "two providers have the key",
        ),
        (
            ServerSetup {
                limits: ServerLimits { calls_in_flight: 0, ..ServerLimits::default() },
                ..setup(FixtureProvider::new())
            },
            "calls_in_flight",
        ),
        (
            ServerSetup {
                providers: vec![FixtureProvider::new(), {
                    let other = FixtureProvider::called("other");
                    other.extra.lock().unwrap().push(docent_tool::erase(crate::fixture::EchoTool));
                    other
                }],
                ..setup(FixtureProvider::new())
            },
            "`echo` is offered by `fixture` and by `other`",
        ),
    ];
    for (setup, want) in cases {
        let error: ServerSetupError = McpServer::new(setup).unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[tokio::test]
async fn subscriptions_count_as_streams() {
    let limits = ServerLimits { streams: 1, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(FixtureProvider::new()) }).unwrap();
    let mut wire = WireClient::open(&server);
    let mut params = modern(json!({}));
    params["notifications"] = json!({"toolsListChanged": true});
    let first = wire.begin("subscriptions/listen", params.clone()).await;
    wire.notified("notifications/subscriptions/acknowledged").await;
    let reply = wire.ask("subscriptions/listen", params.clone()).await;
    assert_eq!(code(&reply), -32000, "{reply}");
    assert_eq!(reply["error"]["data"], json!({"retryAfter": 5, "retryAfterMs": 5000}), "{reply}");
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": first}})).await;
    // The slot is free once the handler of the first has seen its end, which takes a turn or two.
    while server.metrics().contains("docent_streams 1") {
        tokio::task::yield_now().await;
    }
    wire.begin("subscriptions/listen", params).await;
    wire.notified("notifications/subscriptions/acknowledged").await;
}
