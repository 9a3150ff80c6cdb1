//! Servers that break the rules: each fault loses one request, with a clear error, and the next one works.

use crate::{
    events::RecordedEvents,
    server::{ResponseStep, ScriptedHttpServer, json, send, stream, whole, with},
    streamable::{answer, line, notification, request},
};
use docent_dial::{HttpSettings, TransportFailure, http, websocket};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

#[tokio::test]
async fn a_fault_is_the_loss_of_one_request() {
    let check = |steps: fn() -> Vec<ResponseStep>,
                 kind: fn(&TransportFailure) -> bool,
                 expected: &'static str| async move {
        let server = ScriptedHttpServer::start(move |seen| match seen.rpc().as_str() {
            "bad" => steps(),
            _ => json(&answer(2)),
        })
        .await;
        let heard = RecordedEvents::new();
        let mut settings = HttpSettings::new(server.url("/"));
        settings.message_bytes = 1000;
        settings.idle_timeout = Duration::from_millis(300);
        let line = http::open(settings, heard.clone()).await.unwrap();
        line.send(request(1, "bad")).await.unwrap();
        let (id, failure) = heard.lost().await;
        assert_eq!(id, 1);
        assert!(kind(&failure), "{failure:?}");
        assert!(failure.to_string().contains(expected), "{failure}");
        line.send(request(2, "good")).await.unwrap();
        assert_eq!(heard.message().await["id"], 2);
        assert!(heard.is_quiet().await);
    };
    let lost = |failure: &TransportFailure| matches!(failure, TransportFailure::Lost(_));
    let malformed = |failure: &TransportFailure| matches!(failure, TransportFailure::Malformed(_));

    check(|| vec![ResponseStep::Cut], lost, "connection was lost").await;
    check(|| vec![ResponseStep::Reset], lost, "connection was lost").await;
    check(
        || vec![send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"a"), ResponseStep::Reset],
        lost,
        "connection was lost",
    )
    .await;
    check(
        || vec![send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"a"), ResponseStep::Cut],
        lost,
        "connection was lost",
    )
    .await;
    check(
        || vec![send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"a"), ResponseStep::Hold],
        lost,
        "stalled",
    )
    .await;
    check(|| vec![send("nonsense\r\n\r\n"), ResponseStep::Cut], lost, "connection was lost").await;
    check(|| json(&"x".repeat(1001)), malformed, "longer than 1000 bytes").await;
    check(
        || {
            let mut steps = vec![send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
            )];
            steps.extend((0..20).map(|_| send("x".repeat(100))));
            steps
        },
        malformed,
        "longer than 1000 bytes",
    )
    .await;
    check(
        || {
            let mut steps = stream("data: ");
            steps.extend((0..20).map(|_| send("x".repeat(100))));
            steps
        },
        malformed,
        "more than 1000 bytes",
    )
    .await;
    check(|| whole("200 OK", "text/html", "<html>"), malformed, "text/html").await;
    check(|| json("{\"jsonrpc\": "), malformed, "not valid JSON").await;
    check(|| json(""), malformed, "empty").await;
    check(|| whole("202 Accepted", "text/plain", "ok"), malformed, "empty, with status 202").await;
    check(|| json("[]"), malformed, "no answer").await;
}

#[tokio::test]
async fn a_refusal_says_what_the_server_said() {
    let check = |steps: fn() -> Vec<ResponseStep>, code: u16, expected: &'static str| async move {
        let server = ScriptedHttpServer::start(move |_| steps()).await;
        let heard = RecordedEvents::new();
        let line = line(server.url("/"), &heard).await;
        line.send(request(1, "x")).await.unwrap();
        match heard.lost().await.1 {
            TransportFailure::Refused { status, text } => {
                assert_eq!((status, text.as_str()), (code, expected));
            }
            other => panic!("{other:?}"),
        }
    };
    check(|| whole("404 Not Found", "text/plain", "no\nsuch\u{1b} page"), 404, "no such page")
        .await;
    check(|| whole("503 Service Unavailable", "", ""), 503, "").await;
    check(
        || whole("403 Forbidden", "application/json", r#"{"error":"denied"}"#),
        403,
        r#"{"error":"denied"}"#,
    )
    .await;
    check(
        || with("Retry-After: 7\r\n", "429 Too Many Requests", "", "slow down"),
        429,
        "slow down (retry after 7 s)",
    )
    .await;
    check(|| with("Retry-After: 7\r\n", "429 Too Many Requests", "", ""), 429, "(retry after 7 s)")
        .await;
    check(
        || {
            vec![
                send("HTTP/1.1 500 Oops\r\nContent-Length: 9999999999\r\n\r\nhalf"),
                ResponseStep::Cut,
            ]
        },
        500,
        "",
    )
    .await;
}

#[tokio::test]
async fn without_a_sign_in_a_challenge_says_that_the_key_is_refused() {
    let server = ScriptedHttpServer::start(|_| {
        with("WWW-Authenticate: Bearer\r\n", "401 Unauthorized", "", "")
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    line.send(request(1, "x")).await.unwrap();
    let failure = heard.lost().await.1;
    let TransportFailure::Refused { status: 401, text } = failure else { panic!("{failure:?}") };
    assert!(text.contains("rejected the key"), "{text}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/?key=secret", socket.local_addr().unwrap());
    drop(socket);
    let heard = RecordedEvents::new();
    let line = line(url, &heard).await;
    line.send(request(1, "x")).await.unwrap();
    let (_, failure) = heard.lost().await;
    assert!(matches!(failure, TransportFailure::Unreachable(_)), "{failure:?}");
    assert!(
        failure.to_string().contains("refused") && !failure.to_string().contains("secret"),
        "{failure}"
    );
    let failure = line.send(notification("notifications/x")).await.unwrap_err();
    assert!(matches!(failure, TransportFailure::Unreachable(_)), "{failure:?}");
}

#[tokio::test]
async fn a_notification_without_an_acknowledgment_is_reported() {
    let server = ScriptedHttpServer::start(|_| vec![ResponseStep::Hold]).await;
    let heard = RecordedEvents::new();
    let mut settings = HttpSettings::new(server.url("/"));
    settings.idle_timeout = Duration::from_millis(100);
    let line = http::open(settings, heard.clone()).await.unwrap();
    let failure = line.send(notification("notifications/x")).await.unwrap_err();
    assert!(failure.to_string().contains("no acknowledgment"), "{failure}");
}

#[tokio::test]
async fn tls_to_a_plain_server_has_a_clear_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let secure = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.read_u8().await.unwrap();
            socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            // Unread bytes would reset the connection before the answer is read.
            socket.read_to_end(&mut Vec::new()).await.unwrap_or_default();
        }
    });
    let heard = RecordedEvents::new();
    let line = http::open(HttpSettings::new(secure.clone()), heard.clone()).await.unwrap();
    line.send(request(1, "any")).await.unwrap();
    let (_, failure) = heard.lost().await;
    assert!(matches!(failure, TransportFailure::Unreachable(_)), "{failure:?}");
    assert!(failure.to_string().contains("does not use TLS"), "{failure}");
    let socket = HttpSettings::new(secure.replacen("https:", "wss:", 1));
    let failure = websocket::open(socket, heard).await.err().unwrap();
    assert!(failure.to_string().contains("does not use TLS"), "{failure}");
}
