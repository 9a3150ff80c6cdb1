//! WebSocket, against a server made with the same library and a misbehaving one.

use crate::{
    events::RecordedEvents,
    server::{ResponseStep, ScriptedHttpServer, send, whole, with},
    streamable::{answer, notification, request},
};
use docent_dial::{HttpSettings, TransportEvent, TransportFailure, websocket};
use futures::{SinkExt, StreamExt};
use http::HeaderValue;
use std::time::Duration;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{Request, Response},
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

/// Answers requests; a few methods make it do other things. What it saw of pings and ends is what its task returns.
async fn server() -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut saw = Vec::new();
        #[expect(clippy::result_large_err, reason = "the library's signature")]
        let upgrade = |request: &Request, mut response: Response| {
            for name in ["sec-websocket-protocol", "x-key"] {
                let value = request.headers().get(name).and_then(|value| value.to_str().ok());
                saw.push(format!("{name}: {}", value.unwrap_or_default()));
            }
            let chosen = HeaderValue::from_static("mcp");
            response.headers_mut().insert("sec-websocket-protocol", chosen);
            Ok(response)
        };
        let mut socket = accept_hdr_async(stream, upgrade).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else {
                saw.push(format!("{message:?}"));
                continue;
            };
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let reply = match value["method"].as_str().unwrap() {
                "ping me" => Message::Ping(b"are you there".to_vec().into()),
                "noise" => Message::text("not json"),
                "bytes" => Message::binary(answer(value["id"].clone())),
                "huge" => Message::text("x".repeat(5000)),
                "leave" => Message::Close(Some(CloseFrame {
                    code: CloseCode::Away,
                    reason: "lunch".into(),
                })),
                "batch" => Message::text(format!("[{},{}]", answer(1), answer(2))),
                _ => Message::text(answer(value["id"].clone())),
            };
            if socket.send(reply).await.is_err() {
                break;
            }
        }
        saw
    });
    (url, task)
}

#[tokio::test]
async fn messages_go_both_ways() {
    let (url, task) = server().await;
    let heard = RecordedEvents::new();
    let mut settings = HttpSettings::new(url);
    settings.headers.push(("X-Key".into(), "k".into()));
    let line = websocket::open(settings, heard.clone()).await.unwrap();
    line.send(request(1, "x")).await.unwrap();
    assert_eq!(heard.message().await.to_string(), answer(1));
    line.send(request(2, "bytes")).await.unwrap();
    assert_eq!(heard.message().await["id"], 2);
    line.send(request(1, "batch")).await.unwrap();
    assert_eq!(heard.message().await["id"], 1);
    assert_eq!(heard.message().await["id"], 2);
    line.send(notification("noise")).await.unwrap();
    assert!(matches!(heard.next().await, TransportEvent::Noise(text) if text == "not json"));
    line.send(notification("ping me")).await.unwrap();
    line.send(request(3, "x")).await.unwrap();
    assert_eq!(heard.message().await["id"], 3);
    line.close().await;
    assert!(matches!(heard.next().await, TransportEvent::Closed(_)));
    assert!(matches!(line.send(request(4, "x")).await, Err(TransportFailure::Unreachable(_))));
    line.close().await;
    assert!(heard.is_quiet().await);
    drop(line);
    let saw = task.await.unwrap();
    assert_eq!(saw[..2], ["sec-websocket-protocol: mcp", "x-key: k"]);
    assert!(saw.iter().any(|saw| saw.starts_with("Pong")), "{saw:?}");
    assert!(saw.iter().any(|saw| saw.starts_with("Close")), "{saw:?}");
}

#[tokio::test]
async fn the_end_is_reported() {
    let check = |method: &'static str, expected: &'static str| async move {
        let (url, _task) = server().await;
        let heard = RecordedEvents::new();
        let mut settings = HttpSettings::new(url);
        settings.message_bytes = 1000;
        let line = websocket::open(settings, heard.clone()).await.unwrap();
        line.send(notification(method)).await.unwrap();
        match heard.next().await {
            TransportEvent::Closed(failure) => {
                assert!(failure.to_string().contains(expected), "{failure}");
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            line.send(notification("x")).await,
            Err(TransportFailure::Unreachable(_))
        ));
    };
    check("leave", "code 1001: lunch").await;
    check("huge", "too long").await;
}

const UPGRADE: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";

#[tokio::test]
async fn a_server_that_hangs_is_given_up() {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let server = ScriptedHttpServer::start(|seen| {
        let key = format!(
            "{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
            seen.header("sec-websocket-key").unwrap()
        );
        let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes());
        let accept = BASE64_STANDARD.encode(digest.as_ref());
        let head = format!(
            "{UPGRADE}Sec-WebSocket-Protocol: mcp\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        vec![send(head), ResponseStep::Hold]
    })
    .await;
    let heard = RecordedEvents::new();
    let mut settings = HttpSettings::new(server.url("/").replace("http", "ws"));
    settings.idle_timeout = Duration::from_millis(50);
    let _line = websocket::open(settings, heard.clone()).await.unwrap();
    match heard.next().await {
        TransportEvent::Closed(failure) => {
            assert!(failure.to_string().contains("did not answer a ping"), "{failure}");
        }
        other => panic!("{other:?}"),
    }
    server.gone().await;
}

#[tokio::test]
async fn a_failed_upgrade_is_reported() {
    let check = |steps: fn() -> Vec<ResponseStep>, expected: &'static str| async move {
        let server = ScriptedHttpServer::start(move |_| steps()).await;
        let settings = HttpSettings::new(server.url("/").replace("http", "ws"));
        let failure = websocket::open(settings, RecordedEvents::new()).await.err().unwrap();
        assert!(failure.to_string().contains(expected), "{failure}");
    };
    check(|| whole("404 Not Found", "", "nothing"), "404").await;
    check(|| with("WWW-Authenticate: Bearer\r\n", "401 Unauthorized", "", ""), "sign-in").await;
    check(|| vec![ResponseStep::Cut], "upgrade failed").await;
    check(|| vec![send(format!("{UPGRADE}\r\n"))], "upgrade failed").await;
    let failure =
        websocket::open(HttpSettings::new("http://127.0.0.1:1/"), RecordedEvents::new()).await;
    assert!(failure.err().unwrap().to_string().contains("scheme"));
    let failure =
        websocket::open(HttpSettings::new("ws://127.0.0.1:1/"), RecordedEvents::new()).await;
    assert!(matches!(failure.err().unwrap(), TransportFailure::Unreachable(_)));
}
