//! `initialize` that carries its token in the body, over HTTP.

use crate::{
    fixture::{LIMIT, TestAccess, TestSite, request},
    http::BOTH,
};
use serde_json::{Value, json};

fn locked() -> TestAccess {
    TestAccess { token: Some("t"), ..TestAccess::default() }
}

fn initialize(token: &str) -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
        "auth": {"type": "bearer", "token": token},
    });
    request(1, "initialize", &params)
}

#[tokio::test]
async fn initialize_shows_its_token_in_the_body_of_a_post() {
    let site = TestSite::open(locked()).await;
    let (status, head, body) = site.post(&[BOTH], &initialize("t")).await;
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("mcp-session-id") && body.contains("serverInfo"), "{head} {body}");
    let (status, _, body) = site.send("POST /", &[JSON], &initialize("t").to_string()).await;
    assert_eq!((status, body.contains("serverInfo")), (200, true), "{body}");
    let (status, _, body) = site.post(&[BOTH], &initialize("signed-token")).await;
    assert_eq!(status, 200, "a token of an issuer is found out about: {body}");
    let (status, _, body) = site.post(&[BOTH], &initialize("wrong")).await;
    assert_eq!((status, body.as_str()), (401, r#"{"detail":"Invalid API key"}"#));
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[tokio::test]
async fn later_requests_of_such_a_session_need_the_header() {
    let site = TestSite::open(locked()).await;
    let (_, head, _) = site.post(&[BOTH], &initialize("t")).await;
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let ping = request(2, "ping", &json!({}));
    let session = ("Mcp-Session-Id", id);
    assert_eq!(site.post(&[BOTH, session], &ping).await.0, 401, "the id alone");
    assert_eq!(site.post(&[BOTH, session], &initialize("t")).await.0, 401, "a second initialize");
    let other = ("Authorization", "Bearer second-token");
    assert_eq!(site.post(&[BOTH, session, other], &ping).await.0, 404, "another principal");
    let own = ("Authorization", "Bearer t");
    assert_eq!(site.post(&[BOTH, session, own], &ping).await.0, 200);
}

#[tokio::test]
async fn nothing_else_is_read_without_the_header() {
    let site = TestSite::open(locked()).await;
    let opening = initialize("t");
    let mut call = opening.clone();
    call["method"] = "tools/list".into();
    let mut long = opening.clone();
    long["params"]["padding"] = "x".repeat(LIMIT).into();
    let cases = [
        ("POST /mcp", call.to_string()),
        ("POST /mcp", json!([opening]).to_string()),
        ("POST /mcp", long.to_string()),
        ("POST /mcp", "{".into()),
        ("POST /nowhere", opening.to_string()),
        ("POST /metrics", opening.to_string()),
        ("GET /sse", opening.to_string()),
        ("GET /mcp", opening.to_string()),
        ("DELETE /mcp", opening.to_string()),
        ("POST /mcp?token=t", opening.to_string()),
    ];
    for (route, body) in cases {
        let (status, _, answer) = site.send(route, &[JSON], &body).await;
        assert_eq!((status, answer.as_str()), (401, r#"{"detail":"Invalid API key"}"#), "{route}");
    }
    let text = ("Content-Type", "text/plain");
    assert_eq!(site.send("POST /mcp", &[text], &opening.to_string()).await.0, 401);
}

#[tokio::test]
async fn guesses_in_a_body_are_counted() {
    let site = TestSite::open(TestAccess { requests: 2, ..locked() }).await;
    assert_eq!(site.post(&[BOTH], &initialize("a")).await.0, 401);
    assert_eq!(site.post(&[BOTH], &initialize("b")).await.0, 401);
    assert_eq!(site.post(&[BOTH], &initialize("t")).await.0, 429);
}

#[tokio::test]
async fn the_older_stream_needs_the_header_and_its_first_post_does_not() {
    let site = TestSite::open(locked()).await;
    let own = ("Authorization", "Bearer t");
    let posted = site.send("POST /message", &[JSON], &initialize("t").to_string()).await;
    assert_eq!(posted.0, 404, "no stream is open: {}", posted.2);
    let ping = request(2, "ping", &json!({})).to_string();
    assert_eq!(site.send("POST /message", &[JSON], &ping).await.0, 401);
    assert_eq!(site.send("POST /message", &[JSON, own], &ping).await.0, 404);
}
