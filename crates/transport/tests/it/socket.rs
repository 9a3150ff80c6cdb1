//! The older SSE pair and WebSocket, byte by byte.

use crate::fixture::{LIMIT, TestAccess, TestSite, request};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::tungstenite::{self, Message, client::IntoClientRequest};

struct SseReader {
    socket: TcpStream,
    seen: String,
}

impl SseReader {
    async fn open(site: &TestSite, headers: &[(&str, &str)]) -> Self {
        let mut socket = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
        socket.write_all(site.raw("GET /sse", headers, "").as_bytes()).await.unwrap();
        Self { socket, seen: String::new() }
    }

    /// The data of the next event.
    async fn next(&mut self) -> String {
        loop {
            if let Some((event, rest)) = self.seen.split_once("\n\n")
                && let Some((_, data)) = event.split_once("data: ")
            {
                let data = data.to_owned();
                self.seen = String::from(rest);
                return data;
            }
            let mut bytes = [0; 4096];
            let read = timeout(Duration::from_secs(10), self.socket.read(&mut bytes))
                .await
                .expect("silence")
                .unwrap();
            assert!(read > 0, "the stream ended: {}", self.seen);
            self.seen += &String::from_utf8_lossy(&bytes[..read]);
        }
    }
}

#[tokio::test]
async fn posts_are_answered_on_their_stream() {
    let site = TestSite::open(TestAccess::default()).await;
    let mut events = SseReader::open(&site, &[]).await;
    let endpoint = events.next().await;
    assert!(endpoint.starts_with("/message?sessionId="), "{endpoint}");
    let json = ("Content-Type", "application/json");
    let opening = request(1, "initialize", &json!({"protocolVersion": "2024-11-05"})).to_string();
    assert_eq!(site.send(&format!("POST {endpoint}"), &[json], &opening).await.0, 202);
    assert_eq!(serde_json::from_str::<Value>(&events.next().await).unwrap()["id"], 1);
    // With one stream open, a post without a session id belongs to it.
    let ping = request(2, "ping", &json!({})).to_string();
    assert_eq!(site.send("POST /message", &[json], &ping).await.0, 202);
    assert_eq!(serde_json::from_str::<Value>(&events.next().await).unwrap()["id"], 2);
    assert_eq!(site.send("POST /message?sessionId=none-such", &[json], &ping).await.0, 404);
    let second = SseReader::open(&site, &[]).await;
    let mut second = second;
    second.next().await;
    assert_eq!(site.send("POST /message", &[json], &ping).await.0, 404, "which of two?");
}

#[tokio::test]
async fn answers_and_cancellations_without_a_session_id_are_refused() {
    let json = ("Content-Type", "application/json");
    let note =
        |method: &str| json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}});
    let answer = json!({"jsonrpc": "2.0", "id": 0, "result": {"action": "accept"}});
    let cancelled = note("notifications/cancelled");
    let open = TestSite::open(TestAccess::default()).await;
    let mut events = SseReader::open(&open, &[]).await;
    let endpoint = events.next().await;
    for (message, status) in [
        (request(2, "ping", &json!({})), 202),
        (note("notifications/initialized"), 202),
        (cancelled.clone(), 400),
        (note("notifications/roots/list_changed"), 400),
        (answer.clone(), 400),
        (json!([request(3, "ping", &json!({})), cancelled]), 400),
    ] {
        let text = message.to_string();
        let (got, _, body) = open.send("POST /message", &[json], &text).await;
        assert_eq!(got, status, "{text}");
        assert_eq!(body.contains("sessionId"), status == 400, "{body}");
        assert_eq!(open.send(&format!("POST {endpoint}"), &[json], &text).await.0, 202, "{text}");
    }
    // An authenticated caller has a stream of its own.
    let known = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let bearer = ("Authorization", "Bearer t");
    let mut events = SseReader::open(&known, &[bearer]).await;
    events.next().await;
    let (status, ..) = known.send("POST /message", &[json, bearer], &answer.to_string()).await;
    assert_eq!(status, 202);
}

#[tokio::test]
async fn a_stream_belongs_to_its_principal() {
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let mut events = SseReader::open(&site, &[("Authorization", "Bearer t")]).await;
    let endpoint = events.next().await;
    let headers = [("Content-Type", "application/json"), ("Authorization", "Bearer second-token")];
    let ping = request(2, "ping", &json!({})).to_string();
    assert_eq!(site.send(&format!("POST {endpoint}"), &headers, &ping).await.0, 404);
}

type TestWebSocket = tokio_tungstenite::WebSocketStream<TcpStream>;

async fn connect(site: &TestSite, path: &str, token: Option<&str>) -> TestWebSocket {
    try_connect(site, path, token).await.unwrap()
}

/// A socket, or the status of the rejection.
async fn try_connect(
    site: &TestSite,
    path: &str,
    token: Option<&str>,
) -> Result<TestWebSocket, u16> {
    let stream = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    let mut request = format!("ws://127.0.0.1:{}{path}", site.port).into_client_request().unwrap();
    request.headers_mut().insert("Sec-WebSocket-Protocol", "mcp".parse().unwrap());
    if let Some(token) = token {
        request.headers_mut().insert("Authorization", format!("Bearer {token}").parse().unwrap());
    }
    match tokio_tungstenite::client_async(request, stream).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(refused)) => Err(refused.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

async fn ask(socket: &mut TestWebSocket, message: &str) -> Value {
    use futures::{SinkExt, StreamExt};
    socket.send(Message::text(message)).await.unwrap();
    loop {
        let frame = timeout(Duration::from_secs(10), socket.next())
            .await
            .expect("silence")
            .expect("closed")
            .unwrap();
        if let Message::Text(text) = frame {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

#[tokio::test]
async fn sockets_speak_at_both_paths_and_survive_bad_frames() {
    let site = TestSite::open(TestAccess::default()).await;
    for path in ["/", "/ws"] {
        let mut socket = connect(&site, path, None).await;
        let answer = ask(&mut socket, &request(1, "initialize", &json!({})).to_string()).await;
        assert_eq!(answer["id"], 1);
        assert_eq!(ask(&mut socket, "{broken").await["error"]["code"], -32700);
        let long = request(2, "ping", &json!({"x": "a".repeat(LIMIT)})).to_string();
        assert_eq!(ask(&mut socket, &long).await["error"]["code"], -32600);
        assert_eq!(ask(&mut socket, &request(3, "ping", &json!({})).to_string()).await["id"], 3);
    }
}

#[tokio::test]
async fn a_socket_without_a_token_accepts_only_initialize() {
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let mut socket = connect(&site, "/ws", None).await;
    assert!(
        ask(&mut socket, &request(1, "tools/list", &json!({})).to_string()).await["error"]
            .is_object()
    );
    let opening = json!({"auth": {"type": "bearer", "token": "t"}});
    assert!(
        ask(&mut socket, &request(2, "initialize", &opening).to_string()).await["result"]
            .is_object()
    );
    let mut socket = connect(&site, "/ws", Some("t")).await;
    assert!(
        ask(&mut socket, &request(1, "initialize", &json!({})).to_string()).await["result"]
            .is_object()
    );
    let answer =
        ask(&mut socket, &request(2, "tools/call", &json!({"name": "echo"})).to_string()).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("\"principal\":\"first\"") && text.contains("\"via\":\"websocket\""),
        "{text}"
    );
}

const SHOWN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"auth":{"type":"bearer","token":"t"}}}"#;

/// Stops the clock until the returned sender is dropped: no timeout expires, however slow the machine is.
fn stop_clock() -> std::sync::mpsc::Sender<()> {
    let (goes_on, waits) = std::sync::mpsc::channel();
    tokio::time::pause();
    // The clock of a test jumps ahead when nothing else is pending, and not while this is.
    tokio::task::spawn_blocking(move || waits.recv());
    goes_on
}

#[tokio::test]
async fn a_socket_takes_its_slot_with_its_token() {
    let _still = stop_clock();
    let site =
        TestSite::open(TestAccess { token: Some("t"), seats: 1, ..TestAccess::default() }).await;
    let mut first = connect(&site, "/ws", None).await;
    let mut second = connect(&site, "/ws", None).await;
    let known = connect(&site, "/ws", Some("t")).await;
    assert_eq!(try_connect(&site, "/ws", Some("t")).await.err(), Some(503));
    let refused = ask(&mut first, SHOWN).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("limits.sessions"), "{refused}");
    drop(known);
    let begun = std::time::Instant::now();
    while ask(&mut first, SHOWN).await["result"].is_null() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the seat is not given back");
    }
    assert!(ask(&mut second, SHOWN).await["error"].is_object());
}

#[tokio::test]
async fn sockets_without_a_token_have_their_own_slots() {
    let _still = stop_clock();
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let mut locked = Vec::new();
    let refused = loop {
        match try_connect(&site, "/ws", None).await {
            Ok(socket) => locked.push(socket),
            Err(status) => break status,
        }
    };
    assert_eq!((refused, locked.len()), (503, 64));
    connect(&site, "/ws", Some("t")).await;
    assert!(ask(&mut locked[0], SHOWN).await["result"].is_object());
    connect(&site, "/ws", None).await;
}

#[tokio::test]
async fn sockets_without_a_token_are_counted() {
    let site =
        TestSite::open(TestAccess { token: Some("t"), requests: 1, ..TestAccess::default() }).await;
    connect(&site, "/ws", Some("t")).await;
    connect(&site, "/ws", None).await;
    assert_eq!(try_connect(&site, "/ws", None).await.err(), Some(429));
    connect(&site, "/ws", Some("t")).await;
}
