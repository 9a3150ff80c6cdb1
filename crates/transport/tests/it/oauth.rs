//! OAuth over HTTP: where tokens come from, why one is rejected, which scope is missing.

use crate::fixture::{SiteOptions, TestAccess, TestSite, request};
use docent_transport::http::{LiveProtectedResource, ProtectedResource};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::tungstenite::Message;

const RESOURCE: &str = "https://docent.example/base/mcp";
const METADATA: &str =
    "resource_metadata=\"https://docent.example/.well-known/oauth-protected-resource/base/mcp\"";
const SIGNED: (&str, &str) = ("Authorization", "Bearer signed-token");
const JSON: (&str, &str) = ("Content-Type", "application/json");
const BOTH: (&str, &str) = ("Accept", "application/json, text/event-stream");
const LOCKED: TestAccess = TestAccess {
    token: Some("t"),
    requests: usize::MAX,
    seats: usize::MAX,
    share: usize::MAX,
    unknown_callers: None,
};

fn document() -> Value {
    json!({"resource": RESOURCE, "authorization_servers": ["https://issuer.example"]})
}

/// A resource with its document.
fn protected_resource(resource: &str, document: &Value) -> Arc<ProtectedResource> {
    Arc::new(ProtectedResource::new(resource, document).unwrap())
}

async fn open(door: TestAccess) -> TestSite {
    let oauth = Arc::new(RwLock::new(Some(protected_resource(RESOURCE, &document()))));
    TestSite::build(door, SiteOptions { oauth, ..SiteOptions::default() }).await
}

fn call(name: &str) -> Value {
    request(1, "tools/call", &json!({ "name": name }))
}

#[tokio::test]
async fn the_metadata_needs_no_token() {
    let site = open(LOCKED).await;
    let page = ("Origin", "https://app.example");
    for path in ["", "/mcp", "/base/mcp"] {
        let route = format!("GET /.well-known/oauth-protected-resource{path}");
        let (status, head, body) = site.send(&route, &[page], "").await;
        assert_eq!(status, 200, "{route}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), document());
        assert!(head.contains("access-control-allow-origin: https://app.example"), "{head}");
        assert!(head.contains("cache-control: public"), "{head}");
        let foreign = [("Origin", "https://evil.example")];
        assert_eq!(site.send(&route, &foreign, "").await.0, 403, "{route}");
    }
    for route in [
        "GET /.well-known/oauth-protected-resource/other",
        "GET /.well-known/oauth-protected-resourceful",
        "POST /.well-known/oauth-protected-resource",
    ] {
        assert_eq!(site.send(route, &[], "").await.0, 401, "{route}");
    }
    let none = TestSite::open(TestAccess::default()).await;
    assert_eq!(none.send("GET /.well-known/oauth-protected-resource", &[], "").await.0, 404);
}

#[tokio::test]
async fn the_metadata_changes_while_the_server_runs() {
    let oauth = LiveProtectedResource::default();
    let site = TestSite::build(
        LOCKED,
        SiteOptions { oauth: Arc::clone(&oauth), ..SiteOptions::default() },
    )
    .await;
    let moved = json!({"resource": "https://moved.example/mcp", "authorization_servers": []});
    let written = moved.to_string();
    let metadata = "https://moved.example/.well-known/oauth-protected-resource/mcp";
    let named = format!("resource_metadata=\"{metadata}\"");
    let next = Some(protected_resource("https://moved.example/mcp", &moved));
    for (door, status) in [(None, 401), (next, 200), (None, 401)] {
        let is_offered = door.is_some();
        *oauth.write().unwrap() = door;
        let (got, head, body) =
            site.send("GET /.well-known/oauth-protected-resource/mcp", &[], "").await;
        assert_eq!(got, status, "{head}");
        assert_eq!(body == written, is_offered, "{body}");
        let (_, head, _) = site.send("POST /mcp", &[], "").await;
        assert_eq!(head.contains(&named), is_offered, "{head}");
    }
}

#[tokio::test]
async fn a_rejection_names_the_authorization_server() {
    let site = open(LOCKED).await;
    let why = |words: &str| format!(", error=\"invalid_token\", error_description=\"{words}\"");
    for (auth, why) in [
        (None, None),
        (Some("Bearer wrong"), Some(why("the token is not valid here"))),
        (Some("Bearer odd"), Some(why("it is oddx: y"))),
        (Some("Basic x"), None),
    ] {
        let headers: Vec<_> = auth.iter().map(|auth| ("Authorization", *auth)).collect();
        let (status, head, body) = site.send("POST /mcp", &headers, "").await;
        assert_eq!((status, body.as_str()), (401, r#"{"detail":"Invalid API key"}"#));
        let challenge = head.lines().find(|line| line.starts_with("www-authenticate: ")).unwrap();
        let why = why.unwrap_or_default();
        let want = format!("www-authenticate: bearer realm=\"docent\", {METADATA}{why}");
        assert_eq!(challenge, want, "{auth:?}");
    }
}

#[tokio::test]
async fn a_token_in_an_address_is_refused() {
    let upgrade = [
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let ping = request(1, "ping", &json!({})).to_string();
    for door in [LOCKED, TestAccess::default()] {
        let site = open(door).await;
        for query in ["access_token=t", "x=1&token=t", "api_key=t", "Access_Token=t", "token"] {
            for (route, headers) in [
                ("POST /mcp", &[JSON][..]),
                ("GET /mcp", &[][..]),
                ("GET /sse", &[][..]),
                ("POST /message", &[JSON][..]),
                ("GET /metrics", &[][..]),
                ("GET /ws", &upgrade[..]),
                ("GET /", &upgrade[..]),
            ] {
                let (status, ..) = site.send(&format!("{route}?{query}"), headers, &ping).await;
                assert_eq!(status, 401, "{route} {query}");
            }
        }
        // The header decides, and other members of the address are irrelevant.
        let first = ("Authorization", "Bearer t");
        assert_eq!(site.send("POST /mcp?token=wrong", &[JSON, first], &ping).await.0, 200);
        assert_eq!(site.send("POST /mcp?tokens=t&a=token", &[JSON, first], &ping).await.0, 200);
        assert_eq!(site.send("GET /healthz?token=t", &[], "").await.0, 200);
    }
}

#[tokio::test]
async fn an_unknown_token_is_looked_up_once() {
    let site = open(LOCKED).await;
    for _ in 0..2 {
        let (status, _, body) = site.post(&[SIGNED], &call("echo")).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("subject"), "{body}");
    }
    assert_eq!(site.post(&[("Authorization", "Bearer wrong")], &call("echo")).await.0, 401);
}

/// A token that is unknown at first and valid after all counts nothing; a refused one counts once, on each transport.
#[tokio::test]
async fn refused_tokens_are_counted_once() {
    static UNKNOWN: AtomicUsize = AtomicUsize::new(0);
    let site = open(TestAccess { unknown_callers: Some(&UNKNOWN), ..LOCKED }).await;
    assert_eq!(site.post(&[SIGNED], &call("echo")).await.0, 200);
    assert_eq!(UNKNOWN.load(Ordering::SeqCst), 0);
    assert_eq!(site.post(&[("Authorization", "Bearer wrong")], &call("echo")).await.0, 401);
    assert_eq!(UNKNOWN.load(Ordering::SeqCst), 1);
    assert_eq!(site.post(&[], &call("echo")).await.0, 401);
    assert_eq!(UNKNOWN.load(Ordering::SeqCst), 2);
    let stream = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    let address = format!("ws://127.0.0.1:{}/ws", site.port);
    let (mut socket, _) = tokio_tungstenite::client_async(address, stream).await.unwrap();
    let auth = json!({"auth": {"type": "bearer", "token": "wrong"}});
    socket.send(Message::text(request(1, "initialize", &auth).to_string())).await.unwrap();
    let answer = timeout(Duration::from_secs(10), socket.next()).await.unwrap();
    assert!(answer.unwrap().unwrap().into_text().unwrap().contains("Invalid API key"));
    assert_eq!(UNKNOWN.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn failed_token_lookups_are_counted_first() {
    let site = open(TestAccess { requests: 0, ..LOCKED }).await;
    assert_eq!(site.post(&[SIGNED], &call("echo")).await.0, 429);
}

#[tokio::test]
async fn a_sockets_unknown_token_is_looked_up_too() {
    for (token, is_known) in [("signed-token", true), ("wrong", false)] {
        let site = open(LOCKED).await;
        let stream = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
        let address = format!("ws://127.0.0.1:{}/ws", site.port);
        let (mut socket, _) = tokio_tungstenite::client_async(address, stream).await.unwrap();
        let auth = json!({"auth": {"type": "bearer", "token": token}});
        for id in [1, 2] {
            let opening = request(id, "initialize", &auth).to_string();
            socket.send(Message::text(opening)).await.unwrap();
            let answer = timeout(Duration::from_secs(10), socket.next()).await.unwrap();
            let answer = answer.unwrap().unwrap().into_text().unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["id"], id);
            assert_eq!(answer["result"].is_object(), is_known, "{token}: {answer}");
            if is_known {
                break;
            }
        }
    }
}

#[track_caller]
fn check_lack(reply: &(u16, String, String)) {
    let (status, head, body) = reply;
    assert_eq!(*status, 403, "{body}");
    let challenge = head.lines().find(|line| line.starts_with("www-authenticate: ")).unwrap();
    assert!(challenge.contains("bearer error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains(&format!(", scope=\"to forbidden\", {METADATA}")), "{challenge}");
    assert!(challenge.contains("error_description="), "{challenge}");
    let error: Value = serde_json::from_str(body).unwrap();
    assert!(error["error"]["code"].is_number() && error["id"] == 1, "{body}");
}

#[tokio::test]
async fn a_missing_scope_is_named() {
    let site = open(LOCKED).await;
    let batch = json!([request(2, "ping", &json!({})), call("forbidden")]);
    for message in [call("forbidden"), batch] {
        check_lack(&site.post(&[SIGNED], &message).await);
        check_lack(&site.post(&[SIGNED, BOTH], &message).await);
    }
    // Anything but a tool is hidden from callers that may not see it.
    let prompt = request(1, "prompts/get", &json!({"name": "forbidden"}));
    assert_ne!(site.post(&[SIGNED], &prompt).await.0, 403);
    assert_eq!(site.post(&[SIGNED], &call("echo")).await.0, 200);
    // Callers with a configured key get the error from the server itself.
    assert_eq!(site.post(&[("Authorization", "Bearer t")], &call("forbidden")).await.0, 200);
}

#[tokio::test]
async fn a_missing_scope_is_named_in_a_session() {
    let site = open(LOCKED).await;
    let opening = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (_, head, _) = site.post(&[SIGNED, BOTH], &request(0, "initialize", &opening)).await;
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let headers = [SIGNED, BOTH, ("Mcp-Session-Id", id)];
    check_lack(&site.post(&headers, &call("forbidden")).await);
    assert_eq!(site.post(&headers, &call("echo")).await.0, 200);
}

#[tokio::test]
async fn a_missing_scope_is_named_on_the_older_pair() {
    let site = open(LOCKED).await;
    let mut stream = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    stream.write_all(site.raw("GET /sse", &[SIGNED], "").as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    let headers = [SIGNED, JSON];
    let reply = site.send("POST /message", &headers, &call("forbidden").to_string()).await;
    check_lack(&reply);
    assert_eq!(site.send("POST /message", &headers, &call("echo").to_string()).await.0, 202);
}
