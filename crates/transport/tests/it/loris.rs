//! Peers that are slow on purpose: each is disconnected, and no other client waits for it.

use crate::fixture::{SiteOptions, TestAccess, TestSite, request};
use docent_transport::http::HttpLimits;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::{io::ErrorKind, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

/// A timeout that a test waits for.
const SHORT: Duration = Duration::from_millis(400);
/// A timeout that no test waits for.
const LONG: Duration = Duration::from_mins(10);
/// By then a working timeout has long been applied.
const PATIENCE: Duration = Duration::from_mins(1);
/// Pause between two bytes of a slow peer.
const DRIP: Duration = Duration::from_millis(20);

/// Limits that nothing here reaches.
fn wide() -> HttpLimits {
    HttpLimits {
        head: LONG,
        body: LONG,
        idle: LONG,
        tls_handshake: LONG,
        write: LONG,
        ping: LONG,
        silence: LONG,
        ..HttpLimits::default()
    }
}

async fn connect(site: &TestSite) -> TcpStream {
    TcpStream::connect(("127.0.0.1", site.port)).await.unwrap()
}

/// Everything until the connection is closed in any way.
async fn read_all(socket: &mut (impl AsyncReadExt + Unpin)) -> String {
    let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
    let reading = async {
        while let Ok(read @ 1..) = socket.read(&mut bytes).await {
            all.extend_from_slice(&bytes[..read]);
        }
    };
    timeout(PATIENCE, reading).await.expect("never closed");
    String::from_utf8_lossy(&all).into_owned()
}

/// Sends a byte from time to time until the connection is closed; returns what was received.
async fn drip(socket: TcpStream) -> String {
    let (mut reader, mut writer) = socket.into_split();
    let dripping = tokio::spawn(async move {
        while writer.write_all(b"x").await.is_ok() {
            sleep(DRIP).await;
        }
    });
    let heard = read_all(&mut reader).await;
    dripping.abort();
    heard
}

async fn is_answered(site: &TestSite) {
    let (status, _, body) = site.post(&[], &request(1, "ping", &json!({}))).await;
    assert_eq!(status, 200, "{body}");
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

const UPGRADE: &str = "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test]
async fn slow_heads_are_cut_off() {
    let site = TestSite::bounded(HttpLimits { head: SHORT, ..wide() }).await;
    let mut slow = Vec::new();
    for line in [
        "",
        "GET / HTTP/1.1",
        "POST /mcp HTTP/1.1",
        "GET /sse HTTP/1.1",
        "POST /message HTTP/1.1",
        "GET /ws HTTP/1.1",
    ] {
        let mut socket = connect(&site).await;
        if !line.is_empty() {
            let head = format!("{line}\r\n{UPGRADE}X-Slow: ");
            socket.write_all(head.as_bytes()).await.unwrap();
        }
        slow.push(tokio::spawn(drip(socket)));
    }
    // And one that never sends anything.
    let mut silent = connect(&site).await;
    is_answered(&site).await;
    for dripping in slow {
        assert_eq!(dripping.await.unwrap(), "");
    }
    assert_eq!(read_all(&mut silent).await, "");
    assert_eq!(site.tally.timed_out(), 7);
}

/// A connection on which one request has been answered.
async fn used(site: &TestSite) -> TcpStream {
    let mut socket = connect(site).await;
    socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut heard = String::new();
    while !heard.ends_with("ok\n") {
        let mut bytes = [0; 512];
        let read = timeout(PATIENCE, socket.read(&mut bytes)).await.unwrap().unwrap();
        assert!(read > 0, "closed after {heard}");
        heard += &String::from_utf8_lossy(&bytes[..read]);
    }
    socket
}

#[tokio::test]
async fn slow_heads_are_cut_off_on_a_connection_that_was_used() {
    let site = TestSite::bounded(HttpLimits { head: SHORT, ..wide() }).await;
    let socket = used(&site).await;
    let mut idle = used(&site).await;
    assert_eq!(drip(socket).await, "");
    // Between two requests there is more time than for a head.
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    assert!(read_all(&mut idle).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let site = TestSite::bounded(HttpLimits { idle: SHORT, ..wide() }).await;
    let mut socket = used(&site).await;
    assert_eq!(read_all(&mut socket).await, "");
    assert_eq!((site.tally.idle(), site.tally.timed_out()), (1, 0));
}

#[tokio::test]
async fn an_open_answer_is_not_cut_off() {
    let bounds = HttpLimits { head: SHORT, idle: SHORT, body: SHORT, write: SHORT, ..wide() };
    let site = TestSite::bounded(bounds).await;
    let mut stream = connect(&site).await;
    stream.write_all(site.raw("GET /sse", &[], "").as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    let mut call = connect(&site).await;
    let wait = request(7, "tools/call", &json!({"name": "wait"})).to_string();
    let headers = [JSON];
    call.write_all(site.raw("POST /mcp", &headers, &wait).as_bytes()).await.unwrap();
    sleep(SHORT * 4).await;
    let ping = request(2, "ping", &json!({})).to_string();
    assert_eq!(site.send("POST /message", &headers, &ping).await.0, 202);
    let mut heard = String::new();
    while !heard.contains("\"id\":2") {
        let mut bytes = [0; 512];
        let read = timeout(PATIENCE, stream.read(&mut bytes)).await.unwrap().unwrap();
        assert!(read > 0, "closed after {heard}");
        heard += &String::from_utf8_lossy(&bytes[..read]);
    }
    let not_yet = call.try_read(&mut [0; 64]).unwrap_err();
    assert_eq!(not_yet.kind(), ErrorKind::WouldBlock, "the call is still open");
    assert_eq!(site.tally.timed_out(), 0);
}

#[tokio::test]
async fn slow_bodies_hear_408() {
    let site = TestSite::bounded(HttpLimits { body: SHORT, ..wide() }).await;
    let mut stream = connect(&site).await;
    stream.write_all(site.raw("GET /sse", &[], "").as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    let mut slow = Vec::new();
    for route in ["/mcp", "/", "/message"] {
        for length in ["Content-Length: 4000", "Transfer-Encoding: chunked"] {
            let mut socket = connect(&site).await;
            let head = format!(
                "POST {route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{length}\r\n\r\nfff\r\n"
            );
            socket.write_all(head.as_bytes()).await.unwrap();
            slow.push((route, length, tokio::spawn(drip(socket))));
        }
    }
    is_answered(&site).await;
    for (route, length, dripping) in slow {
        let heard = dripping.await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 408"), "{route} {length}: {heard}");
        assert!(heard.contains("connection: close"), "{heard}");
    }
    assert_eq!(site.tally.timed_out(), 6);
}

#[tokio::test]
async fn a_body_that_keeps_its_pace_has_time() {
    // Each byte earns another second.
    let site = TestSite::bounded(HttpLimits { body: SHORT, body_rate: 1, ..wide() }).await;
    let mut socket = connect(&site).await;
    let body = request(1, "ping", &json!({})).to_string();
    let whole = site.raw("POST /mcp", &[("Content-Type", "application/json")], &body);
    let (begun, rest) = whole.split_at(whole.len() - 30);
    socket.write_all(begun.as_bytes()).await.unwrap();
    for byte in rest.bytes() {
        sleep(DRIP * 2).await;
        socket.write_all(&[byte]).await.unwrap();
    }
    let heard = read_all(&mut socket).await;
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
}

#[tokio::test]
async fn a_flood_from_one_address_leaves_room_for_others() {
    let site = TestSite::bounded(HttpLimits { connections_per_address: 50, ..wide() }).await;
    let mut held = Vec::new();
    for at in 0..2000 {
        let mut socket = connect(&site).await;
        if at < 50 {
            held.push(socket);
        } else {
            let heard = read_all(&mut socket).await;
            assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 503"), "{at}: {heard}");
        }
    }
    assert_eq!(site.tally.turned_away(), 1950);
    // Linux has all of 127.0.0.0/8 on loopback.
    if cfg!(target_os = "linux") {
        let other = TcpSocket::new_v4().unwrap();
        other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let mut other =
            other.connect(format!("127.0.0.1:{}", site.port).parse().unwrap()).await.unwrap();
        other.write_all(site.raw("GET /healthz", &[], "").as_bytes()).await.unwrap();
        assert!(read_all(&mut other).await.starts_with("HTTP/1.1 200"));
    }
    // A released slot is taken again.
    held.truncate(40);
    while site.tally.turned_away() < 3000 {
        let mut socket = connect(&site).await;
        let asked = socket.write_all(site.raw("GET /healthz", &[], "").as_bytes()).await;
        if asked.is_ok() && read_all(&mut socket).await.starts_with("HTTP/1.1 200") {
            return;
        }
    }
    panic!("no place came free");
}

#[tokio::test]
async fn a_full_listener_says_so_and_recovers() {
    let site = TestSite::bounded(HttpLimits { connections: 20, head: SHORT, ..wide() }).await;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(connect(&site).await);
    }
    let mut late = connect(&site).await;
    assert!(read_all(&mut late).await.starts_with("HTTP/1.1 503"));
    assert_eq!(site.tally.turned_away(), 1);
    for mut socket in held {
        assert_eq!(read_all(&mut socket).await, "");
    }
    is_answered(&site).await;
}

#[tokio::test]
async fn a_socket_keeps_its_slot() {
    let site = TestSite::bounded(HttpLimits { connections: 1, ..wide() }).await;
    let mut socket = connect(&site).await;
    socket.write_all(format!("GET /ws HTTP/1.1\r\n{UPGRADE}\r\n").as_bytes()).await.unwrap();
    let mut bytes = [0; 12];
    socket.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"HTTP/1.1 101");
    let mut second = connect(&site).await;
    assert!(read_all(&mut second).await.starts_with("HTTP/1.1 503"));
}

#[tokio::test]
async fn oversized_heads_hear_431() {
    let site = TestSite::open(TestAccess::default()).await;
    let one = format!("X-Long: {}\r\n", "a".repeat(70_000));
    let many = "X-Short: a\r\n".repeat(101);
    let fits = format!("X-Fits: {}\r\n", "a".repeat(600)).repeat(90);
    for (headers, want) in [(one, "431"), (many, "431"), (fits, "200")] {
        let mut socket = connect(&site).await;
        let whole = format!(
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n"
        );
        // The answer may arrive, and the connection be closed, before all of it is sent.
        let _sent = socket.write_all(whole.as_bytes()).await;
        let heard = read_all(&mut socket).await;
        assert_eq!(heard.split(' ').nth(1), Some(want), "{heard}");
    }
    is_answered(&site).await;
}

/// A connection with next to no buffer for what it does not read.
async fn narrow(site: &TestSite) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(format!("127.0.0.1:{}", site.port).parse().unwrap()).await.unwrap()
}

fn long_call(id: i64) -> Value {
    request(id, "tools/call", &json!({"name": "echo", "arguments": {"x": "a".repeat(3500)}}))
}

#[tokio::test]
async fn slow_readers_of_answers_are_disconnected() {
    let site = TestSite::bounded(HttpLimits { write: SHORT, ..wide() }).await;
    let mut socket = narrow(&site).await;
    let body = long_call(1).to_string();
    let whole = site
        .raw("POST /mcp", &[("Content-Type", "application/json")], &body)
        .replace("Connection: close\r\n", "");
    let sending = async { while socket.write_all(whole.as_bytes()).await.is_ok() {} };
    timeout(PATIENCE, sending).await.expect("never closed");
    is_answered(&site).await;
}

#[tokio::test]
async fn slow_readers_of_streams_are_disconnected() {
    let site = TestSite::bounded(HttpLimits { write: SHORT, ..wide() }).await;
    let mut stream = narrow(&site).await;
    stream.write_all(site.raw("GET /sse", &[], "").as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    let headers = [JSON];
    let opening = request(0, "initialize", &json!({"protocolVersion": "2024-11-05"})).to_string();
    let (status, ..) = site.send("POST /message", &headers, &opening).await;
    assert_eq!(status, 202);
    let posting = async {
        for id in 1.. {
            // The stream is gone once it cannot be found.
            if site.send("POST /message", &headers, &long_call(id).to_string()).await.0 == 404 {
                return;
            }
        }
    };
    timeout(PATIENCE, posting).await.expect("never closed");
    is_answered(&site).await;
}

type Socket = tokio_tungstenite::WebSocketStream<TcpStream>;

async fn upgraded(site: &TestSite, stream: TcpStream) -> Socket {
    let request = format!("ws://127.0.0.1:{}/ws", site.port).into_client_request().unwrap();
    tokio_tungstenite::client_async(request, stream).await.unwrap().0
}

#[tokio::test]
async fn slow_readers_of_sockets_are_disconnected() {
    let site = TestSite::bounded(HttpLimits { write: SHORT, ..wide() }).await;
    let mut socket = upgraded(&site, narrow(&site).await).await;
    let opening = request(0, "initialize", &json!({})).to_string();
    socket.send(Message::text(opening)).await.unwrap();
    let sending = async {
        for id in 1.. {
            if socket.send(Message::text(long_call(id).to_string())).await.is_err() {
                return;
            }
        }
    };
    timeout(PATIENCE, sending).await.expect("never closed");
    is_answered(&site).await;
}

/// A socket driven by hand: it answers no ping.
async fn by_hand(site: &TestSite) -> TcpStream {
    let mut socket = connect(site).await;
    socket.write_all(format!("GET /ws HTTP/1.1\r\n{UPGRADE}\r\n").as_bytes()).await.unwrap();
    socket
}

#[tokio::test]
async fn sockets_that_answer_no_ping_are_closed() {
    let bounds = HttpLimits { ping: SHORT / 8, silence: SHORT, ..wide() };
    let site = TestSite::bounded(bounds).await;
    let mut dead = by_hand(&site).await;
    // A frame of 126 bytes or more, sent byte by byte.
    let mut slow = by_hand(&site).await;
    slow.write_all(&[0x81, 0xFE, 0x0F, 0xA0, 0, 0, 0, 0]).await.unwrap();
    let slow = tokio::spawn(drip(slow));
    let stream = connect(&site).await;
    let mut honest = upgraded(&site, stream).await;
    // A peer that sends nothing but answers pings stays.
    let listening = tokio::spawn(timeout(SHORT * 4, async move {
        while let Some(Ok(frame)) = honest.next().await {
            assert!(frame.is_ping(), "{frame}");
        }
    }));
    assert!(read_all(&mut dead).await.starts_with("HTTP/1.1 101"));
    assert!(slow.await.unwrap().starts_with("HTTP/1.1 101"));
    assert!(listening.await.unwrap().is_err(), "an honest socket was closed");
    is_answered(&site).await;
}

#[tokio::test]
async fn unfinished_tls_handshakes_are_cut_off() {
    let keys = crate::tls::TlsKeyFiles::new();
    let bounds = HttpLimits { tls_handshake: SHORT, ..wide() };
    let tls = Some(keys.tls(None, false));
    let site = TestSite::build(
        TestAccess::default(),
        SiteOptions { bounds, tls, ..SiteOptions::default() },
    )
    .await;
    let mut silent = connect(&site).await;
    let mut slow = connect(&site).await;
    // The beginning of a ClientHello.
    slow.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]).await.unwrap();
    let slow = tokio::spawn(drip(slow));
    let heard = crate::tls::ask(&site, keys.client(None), "GET /healthz").await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    assert_eq!(read_all(&mut silent).await, "");
    assert!(!slow.await.unwrap().contains("HTTP"));
    assert_eq!(site.tally.handshakes_failed(), 2);
}
