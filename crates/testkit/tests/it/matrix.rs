//! Tests that the same requests over every transport, in every revision, give the same answers.

use docent_testkit::{
    ChildTestClient, HttpTestClient, SseTestClient, TestClient, TestTransport, WsTestClient,
};
use serde_json::{Value, json};
use tokio::process::Command;

const REVISIONS: [&str; 6] =
    ["1.0", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

type AnyTestClient = TestClient<Box<dyn TestTransport>>;

fn fixture(arguments: &[&str]) -> ChildTestClient {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    command.args(arguments);
    ChildTestClient::spawn(command).unwrap()
}

/// Starts a fixture on a free port; returns it with its address.
async fn listening() -> (ChildTestClient, String) {
    let mut server = fixture(&["--port", "0"]);
    let line = server.log_line("listening on http://").await.unwrap();
    let (_, address) = line.split_once("http://").unwrap();
    (server, address.to_owned())
}

async fn peers(address: &str) -> Vec<(&'static str, AnyTestClient)> {
    vec![
        ("stdio", fixture(&["--stdio"]).boxed()),
        ("http", HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap().boxed()),
        (
            "sse",
            SseTestClient::connect_sse(&format!("http://{address}/sse")).await.unwrap().boxed(),
        ),
        (
            "websocket",
            WsTestClient::connect_ws(&format!("ws://{address}/ws")).await.unwrap().boxed(),
        ),
    ]
}

fn requests() -> Vec<(&'static str, Value)> {
    let call = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    vec![
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        call("echo", json!({"message": "grüße"})),
        call("test_multiple_content_types", json!({})),
        call("test_error_handling", json!({})),
        call("pieces", json!({"count": 3})),
        call("echo", json!({"message": 5})),
        call("echo", json!({})),
        call("no_such_tool", json!({})),
        ("tools/call", json!({})),
        ("resources/read", json!({"uri": "test://static-binary"})),
        ("resources/read", json!({"uri": "test://nowhere"})),
        (
            "prompts/get",
            json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
        ),
        ("prompts/get", json!({"name": "test_prompt_with_arguments"})),
        ("prompts/get", json!({"name": "no_such_prompt"})),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                "argument": {"name": "arg1", "value": "par"}
            }),
        ),
        ("no/such/method", json!({})),
    ]
}

/// All answers, without their ids.
async fn conversation(peer: &mut AnyTestClient, revision: &str) -> Vec<Value> {
    let opened = peer.open(revision).await.unwrap();
    assert!(opened.get("result").is_some(), "{revision}: {opened}");
    let mut answers = vec![opened];
    for (method, params) in requests() {
        answers.push(peer.ask(method, params).await.unwrap());
    }
    for answer in &mut answers {
        answer.as_object_mut().unwrap().remove("id");
    }
    answers
}

#[tokio::test]
async fn every_transport_gives_the_same_answers() {
    let (_server, address) = listening().await;
    let mut differences = Vec::new();
    for revision in REVISIONS {
        let mut stdio: Option<Vec<Value>> = None;
        for (transport, mut peer) in peers(&address).await {
            let answers = conversation(&mut peer, revision).await;
            let stdio = stdio.get_or_insert_with(|| answers.clone());
            for (n, (got, want)) in answers.iter().zip(stdio).enumerate() {
                if got != want {
                    let asked = n
                        .checked_sub(1)
                        .map_or("opening".into(), |n| format!("{:?}", requests()[n]));
                    differences.push(format!(
                        "{revision} {transport} {asked}\n  got {got}\n  stdio {want}"
                    ));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn every_transport_lets_a_tool_ask_the_client() {
    let (_server, address) = listening().await;
    let reply = json!({"action": "accept", "content": {"username": "ada", "email": "a@b.c"}});
    for (transport, peer) in peers(&address).await {
        let mut peer = peer
            .with_capabilities(json!({"elicitation": {}}))
            .reply_with("elicitation/create", reply.clone());
        peer.open("2025-11-25").await.unwrap();
        let call = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
        let answer = peer.ask("tools/call", call).await.unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("ada"), "{transport}: {answer}");
    }
}

#[tokio::test]
async fn every_transport_carries_log_lines_progress_and_updates() {
    let (_server, address) = listening().await;
    for (transport, peer) in peers(&address).await {
        let mut peer = if transport == "http" { http_with_stream(&address).await } else { peer };
        if transport != "http" {
            peer.open("2025-06-18").await.unwrap();
        }
        peer.ask("logging/setLevel", json!({"level": "info"})).await.unwrap();
        let call = json!({"name": "test_tool_with_logging", "arguments": {}});
        peer.ask("tools/call", call).await.unwrap();
        for want in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            let line = peer.notification("notifications/message").await.unwrap();
            assert_eq!(line["params"]["data"], want, "{transport}");
        }
        let meta = json!({"progressToken": "p"});
        let call = json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": meta});
        peer.ask("tools/call", call).await.unwrap();
        for want in [0.0, 50.0, 100.0] {
            let step = peer.notification("notifications/progress").await.unwrap();
            assert_eq!(step["params"]["progress"].as_f64(), Some(want), "{transport}");
        }
        peer.ask("resources/subscribe", json!({"uri": "test://tick"})).await.unwrap();
        let touch = json!({"name": "touch_resource", "arguments": {"uri": "test://tick"}});
        peer.ask("tools/call", touch).await.unwrap();
        let updated = peer.notification("notifications/resources/updated").await.unwrap();
        assert_eq!(updated["params"]["uri"], "test://tick", "{transport}");
    }
}

/// A session with an open stream for unsolicited server messages.
async fn http_with_stream(address: &str) -> AnyTestClient {
    let mut peer = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    peer.open("2025-06-18").await.unwrap();
    peer.listen().await.unwrap();
    peer.boxed()
}

#[tokio::test]
async fn a_session_that_was_ended_is_gone() {
    let (_server, address) = listening().await;
    let mut peer = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    peer.open("2025-06-18").await.unwrap();
    assert!(peer.close().await.unwrap() < 300);
    peer.ask("ping", json!({})).await.ok();
    assert_eq!(peer.statuses().last(), Some(&404));
}

#[tokio::test]
async fn a_panic_ends_its_call_alone() {
    let (_server, address) = listening().await;
    for (transport, mut peer) in peers(&address).await {
        peer.open("2025-11-25").await.unwrap();
        let answer =
            peer.ask("tools/call", json!({"name": "panic", "arguments": {}})).await.unwrap();
        let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(refused, "{transport}: {answer}");
        let echo = json!({"name": "echo", "arguments": {"message": "still here"}});
        let answer = peer.ask("tools/call", echo).await.unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "still here", "{transport}");
    }
}
