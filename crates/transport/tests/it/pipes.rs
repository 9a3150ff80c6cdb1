//! The link, on pipes.

use crate::fixture::{LIMIT, PipeClient, TestAccess, guarded, request, serve_on};
use docent_transport::stdio::Stdio;
use docent_wire::HandshakePolicy;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

fn open() -> PipeClient {
    PipeClient::open(TestAccess::default(), HandshakePolicy::Required)
}

fn call(id: i64, tool: &str) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": {"a": 1}}))
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

#[tokio::test]
async fn malformed_and_oversized_frames_are_answered_and_the_connection_lives() {
    let mut pipes = open();
    pipes.initialize("2025-11-25").await;
    pipes.send("{broken").await;
    assert_eq!(code(&pipes.read().await), -32700);
    pipes.send(&"a".repeat(LIMIT * 40)).await;
    let answer = pipes.read().await;
    assert_eq!(code(&answer), -32600);
    assert_eq!(answer["error"]["data"]["limit"], LIMIT);
    assert_eq!(answer["id"], Value::Null);
    pipes.send("\n  \r\n").await;
    assert_eq!(pipes.ask(request(1, "ping", &json!({}))).await["id"], 1);
}

#[tokio::test]
async fn what_was_asked_is_answered_after_the_input_ends() {
    let mut pipes = open();
    pipes.send(&request(1, "initialize", &json!({})).to_string()).await;
    pipes.send(&call(2, "echo").to_string()).await;
    let mut ids: Vec<_> = pipes.close().await.iter().map(|m| m["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2)]);
}

#[tokio::test]
async fn a_batch_is_answered_as_one_array_where_the_revision_has_them() {
    let mut pipes = open();
    pipes.initialize("2025-03-26").await;
    let batch = json!([call(1, "echo"), {"jsonrpc": "2.0", "method": "notifications/x"}, request(2, "nope", &json!({})),
                       {"jsonrpc": "2.0", "id": 3}, request(4, "initialize", &json!({}))]);
    let answers = pipes.ask(batch).await;
    let mut ids: Vec<_> =
        answers.as_array().unwrap().iter().map(|a| a["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4]);
    pipes.send("[{\"jsonrpc\": \"2.0\", \"method\": \"notifications/x\"}]").await;
    assert_eq!(pipes.ask(request(9, "ping", &json!({}))).await["id"], 9);

    let mut pipes = open();
    pipes.initialize("2025-06-18").await;
    assert_eq!(code(&pipes.ask(json!([call(1, "echo")])).await), -32600);
}

#[tokio::test]
async fn a_cancelled_member_does_not_delay_its_batch() {
    let mut pipes = open();
    pipes.initialize("2025-03-26").await;
    pipes.send(&json!([call(1, "wait"), request(2, "ping", &json!({}))]).to_string()).await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    pipes.send(&cancel.to_string()).await;
    let answers = pipes.read().await;
    assert_eq!(answers.as_array().map(Vec::len), Some(1), "{answers}");
    assert_eq!(answers[0]["id"], 2);
}

#[tokio::test]
async fn an_id_that_is_being_answered_is_taken() {
    let mut pipes = open();
    pipes.initialize("2025-11-25").await;
    pipes.send(&call(1, "wait").to_string()).await;
    let answer = pipes.ask(call(1, "echo")).await;
    assert_eq!((code(&answer), answer["id"].as_i64()), (-32600, Some(1)));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("still being answered: cancel it, or use another id"), "{message}");
}

#[tokio::test]
async fn parameters_that_a_known_method_lacks_are_named() {
    let mut pipes = open();
    pipes.initialize("2025-11-25").await;
    let cases = [
        ("tools/call", json!({}), "name"),
        ("resources/read", json!({}), "uri"),
        ("logging/setLevel", json!({"level": "loud"}), "params"),
        ("tools/call", json!({"name": "x", "arguments": 5}), "params"),
    ];
    for (method, params, parameter) in cases {
        let answer = pipes.ask(request(1, method, &params)).await;
        assert_eq!(code(&answer), -32602, "{method}");
        assert_eq!(answer["error"]["data"]["parameter"], parameter, "{answer}");
    }
}

#[tokio::test]
async fn a_token_in_initialize_opens_a_locked_link() {
    let locked = || {
        PipeClient::open(
            TestAccess { token: Some("s3cret"), ..TestAccess::default() },
            HandshakePolicy::Required,
        )
    };
    let mut pipes = locked();
    assert_eq!(code(&pipes.ask(request(1, "ping", &json!({}))).await), -32600);
    let without = pipes.ask(request(1, "initialize", &json!({}))).await;
    let message = without["error"]["message"].as_str().unwrap();
    assert_eq!(code(&without), -32600);
    for named in ["MCP_API_KEY", "params.auth", "MCP_AUTH_REQUIRED=false"] {
        assert!(message.contains(named), "{message}");
    }
    assert!(!message.contains("Invalid"), "{message}");
    for (token, want) in
        [("wrong", "Invalid API key"), ("odd", "Invalid API key: it is \"odd\"\r\nx: y")]
    {
        let wrong = json!({"auth": {"type": "bearer", "token": token}});
        let answer = pipes.ask(request(2, "initialize", &wrong)).await;
        assert_eq!(answer["error"]["message"], want);
    }
    let right = json!({"auth": {"type": "bearer", "token": "s3cret"}});
    assert!(pipes.ask(request(3, "initialize", &right)).await["result"].is_object());
    let answer = pipes.ask(call(4, "echo")).await;
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("\"principal\":\"first\""),
        "{answer}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_locked_link_is_closed_when_no_token_comes() {
    let mut pipes = PipeClient::open(
        TestAccess { token: Some("s3cret"), ..TestAccess::default() },
        HandshakePolicy::Required,
    );
    pipes.ask(request(1, "ping", &json!({}))).await;
    // Nothing is sent and the input stays open: the paused clock advances to the server's timeout.
    assert!(pipes.ended().await);
}

#[tokio::test]
async fn the_rate_limit_is_an_error_that_says_when() {
    let mut pipes = PipeClient::open(
        TestAccess { requests: 2, ..TestAccess::default() },
        HandshakePolicy::Required,
    );
    pipes.initialize("2025-11-25").await;
    pipes.ask(request(1, "ping", &json!({}))).await;
    let answer = pipes.ask(request(2, "ping", &json!({}))).await;
    assert_eq!((code(&answer), answer["error"]["data"]["retryAfter"].as_i64()), (-32000, Some(30)));
}

#[tokio::test]
async fn plain_answers_come_in_pieces_when_asked() {
    let mut pipes = open();
    pipes.initialize("1.0").await;
    pipes
        .send(&request(5, "tools/call", &json!({"name": "pieces", "stream": true})).to_string())
        .await;
    let mut partial = Vec::new();
    for _ in 0..3 {
        let answer = pipes.read().await;
        assert_eq!(answer["id"], 5, "{answer}");
        partial.push(answer["result"]["partial"].as_bool().unwrap());
    }
    assert_eq!(partial, [true, true, false]);
}

#[tokio::test]
async fn closing_answers_open_requests_and_reads_no_more() {
    let mut pipes = open();
    pipes.initialize("2025-11-25").await;
    let closing = pipes.closing.clone();
    closing.cancel();
    assert!(pipes.ended().await);
}

#[tokio::test]
async fn a_cancelled_member_does_not_cut_its_batch_short() {
    let mut pipes = open();
    pipes.initialize("2025-03-26").await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let answers = pipes.ask(json!([call(1, "wait"), cancel, request(2, "ping", &json!({}))])).await;
    assert_eq!(answers[0]["id"], 2, "{answers}");
}

#[tokio::test]
async fn a_batch_has_a_bound() {
    let mut pipes = open();
    pipes.initialize("2025-03-26").await;
    let many: Vec<_> = (0..101).map(|_| json!({"jsonrpc": "2.0", "method": "x"})).collect();
    assert_eq!(code(&pipes.ask(Value::Array(many)).await), -32600);
}

#[tokio::test]
async fn initialize_can_not_be_cancelled() {
    let mut pipes = open();
    pipes.send(&request(1, "initialize", &json!({})).to_string()).await;
    pipes
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    assert!(pipes.read().await["result"].is_object());
}

#[tokio::test]
async fn parameters_are_never_read_by_position() {
    let mut pipes = open();
    pipes.initialize("2025-11-25").await;
    for params in [json!([{}, "echo", {}, null, null]), json!(5), json!("x")] {
        assert_eq!(code(&pipes.ask(request(1, "tools/call", &params)).await), -32602, "{params}");
    }
    assert!(pipes.ask(request(2, "tools/list", &Value::Null)).await["result"].is_object());
}

#[tokio::test]
async fn a_message_may_be_laid_out_over_lines() {
    let mut pipes = PipeClient::open(TestAccess::default(), HandshakePolicy::Optional);
    pipes.send("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 2,\n  \"method\": \"ping\",\n  \"params\": {\"a\": \"}\"}\n}").await;
    assert_eq!(pipes.read().await["id"], 2);
    pipes.send("{\n!\n}").await;
    assert_eq!(code(&pipes.read().await), -32700);
    assert_eq!(pipes.ask(request(3, "ping", &json!({}))).await["id"], 3);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_is_seen_while_the_output_is_not_read() {
    let (mut input, reader) = tokio::io::duplex(1 << 20);
    let (writer, output) = tokio::io::duplex(64);
    let closing = CancellationToken::new();
    let setup = Stdio {
        door: guarded(TestAccess::default()),
        principal: None,
        traffic: None,
        handshake: HandshakePolicy::Required,
        message_bytes: 1 << 20,
        closing: closing.clone(),
    };
    let serving = serve_on(setup, reader, writer);
    // Far more answers than any buffer holds for a reader.
    let lines = 4000;
    input.write_all("{broken\n".repeat(lines).as_bytes()).await.unwrap();
    drop(input);
    timeout(Duration::from_mins(1), closing.cancelled()).await.expect("the end was not heard");
    let mut answers = BufReader::new(output).lines();
    for _ in 0..lines {
        let answer =
            answers.next_line().await.unwrap().expect("what came before the end is answered");
        assert_eq!(code(&serde_json::from_str(&answer).unwrap()), -32700);
    }
    serving.await.unwrap().unwrap();
}
