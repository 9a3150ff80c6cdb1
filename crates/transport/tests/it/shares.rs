//! One client that takes all that it can get, and another one that is still served.

use crate::fixture::{TestAccess, TestSite, request};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const GREEDY: (&str, &str) = ("Authorization", "Bearer t");
const MODEST: (&str, &str) = ("Authorization", "Bearer second-token");
const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

async fn site() -> TestSite {
    TestSite::open(TestAccess { token: Some("t"), seats: 4, share: 2, ..TestAccess::default() })
        .await
}

/// Opens a session: status, head, id.
async fn open(site: &TestSite, auth: (&str, &str)) -> (u16, String, String) {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let opening = request(0, "initialize", &params);
    let (status, head, body) = site.post(&[auth, ACCEPT], &opening).await;
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    (status, format!("{head}\n\n{body}"), id.unwrap_or_default().to_owned())
}

/// Checks the response to a client that has used its share.
#[track_caller]
fn check_overload(status: u16, text: &str, what: &str) {
    assert_eq!(status, 429, "{text}");
    assert!(text.contains("retry-after: 7"), "{text}");
    let body = text.split_once("\n\n").unwrap().1;
    let reply: Value = serde_json::from_str(body).unwrap();
    assert_eq!(reply["error"]["data"], json!({"retryAfter": 7, "retryAfterMs": 7000}), "{text}");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains(&format!("limits.{what}_per_client")), "{message}");
}

#[tokio::test]
async fn one_client_leaves_sessions_for_others() {
    let site = site().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let (status, _, id) = open(&site, GREEDY).await;
        assert_eq!(status, 200);
        ids.push(id);
    }
    let (status, text, _) = open(&site, GREEDY).await;
    check_overload(status, &text, "sessions");
    assert_eq!(open(&site, MODEST).await.0, 200);
    let end = [GREEDY, ACCEPT, ("Mcp-Session-Id", &ids[0])];
    assert!(matches!(site.send("DELETE /mcp", &end, "").await.0, 200..=204));
    assert_eq!(open(&site, GREEDY).await.0, 200, "its share is free again");
}

/// Opens `GET /sse` and reads until the endpoint event, or the whole error.
async fn listen(site: &TestSite, auth: (&str, &str)) -> (TcpStream, u16, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    let asked = site.raw("GET /sse", &[auth, ("Accept", "text/event-stream")], "");
    socket.write_all(asked.as_bytes()).await.unwrap();
    let (mut read, mut buffer) = (Vec::new(), [0; 1024]);
    loop {
        let some = socket.read(&mut buffer).await.unwrap();
        read.extend_from_slice(&buffer[..some]);
        let text = String::from_utf8_lossy(&read).into_owned();
        if some == 0 || text.contains("event: endpoint") {
            let status = text.split(' ').nth(1).unwrap().parse().unwrap();
            return (socket, status, text.replace("\r\n", "\n"));
        }
    }
}

#[tokio::test]
async fn one_client_leaves_streams_for_others() {
    let site = site().await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let (socket, status, _) = listen(&site, GREEDY).await;
        assert_eq!(status, 200);
        open.push(socket);
    }
    let (_, status, text) = listen(&site, GREEDY).await;
    check_overload(status, &text, "sessions");
    assert_eq!(listen(&site, MODEST).await.1, 200);
    open.pop();
    // The slot is free once the server has seen the end of the connection.
    while listen(&site, GREEDY).await.1 != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn one_client_leaves_streams_of_sessions_for_others() {
    let site =
        TestSite::open(TestAccess { token: Some("t"), share: 1, ..TestAccess::default() }).await;
    let (_, _, greedy) = open(&site, GREEDY).await;
    let (_, _, modest) = open(&site, MODEST).await;
    let stream = |auth: (&'static str, &'static str), id: &str| {
        let fields = [auth, ("Accept", "text/event-stream"), ("Mcp-Session-Id", id)];
        let asked = site.raw("GET /mcp", &fields, "");
        let port = site.port;
        async move {
            let mut socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            socket.write_all(asked.as_bytes()).await.unwrap();
            let mut line = vec![0; 12];
            socket.read_exact(&mut line).await.unwrap();
            (socket, String::from_utf8(line).unwrap())
        }
    };
    let (first, status) = stream(GREEDY, &greedy).await;
    assert_eq!(status, "HTTP/1.1 200");
    assert_eq!(stream(GREEDY, &greedy).await.1, "HTTP/1.1 429");
    let (_open, status) = stream(MODEST, &modest).await;
    assert_eq!(status, "HTTP/1.1 200");
    drop(first);
    while stream(GREEDY, &greedy).await.1 != "HTTP/1.1 200" {
        tokio::task::yield_now().await;
    }
}
