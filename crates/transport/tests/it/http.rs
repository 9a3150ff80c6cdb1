//! HTTP, header by header.

use crate::fixture::{LIMIT, SiteOptions, TestAccess, TestSite, request};
use docent_transport::http::HttpLimits;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

fn ping() -> Value {
    request(1, "ping", &json!({}))
}

pub(crate) const BOTH: (&str, &str) = ("Accept", "application/json, text/event-stream");

async fn open_session(site: &TestSite, version: &str, auth: &[(&str, &str)]) -> (u16, String) {
    let opening = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let headers: Vec<_> = auth.iter().copied().chain([BOTH]).collect();
    let (status, head, body) = site.post(&headers, &request(0, "initialize", &opening)).await;
    let id =
        head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap_or_default();
    assert!(status != 200 || body.contains("serverInfo"), "{body}");
    (status, id.to_owned())
}

#[tokio::test]
async fn hosts_and_origins_are_checked_on_every_route() {
    let site = TestSite::open(TestAccess::default()).await;
    for route in [
        "GET /",
        "GET /healthz",
        "GET /sse",
        "GET /ws",
        "GET /metrics",
        "POST /mcp",
        "POST /rpc",
        "POST /message",
    ] {
        for (header, status) in
            [(("Origin", "https://evil.example"), 403), (("Host", "evil.example"), 403)]
        {
            let (got, _, _) = site.send(route, &[header], "").await;
            assert_eq!(got, status, "{route} {header:?}");
        }
    }
    let good = [
        ("Host", "docent.example"),
        ("Host", "localhost:1"),
        ("Host", "[::1]:1"),
        ("Origin", "https://app.example"),
    ];
    for header in good {
        assert_eq!(site.post(&[header], &ping()).await.0, 200, "{header:?}");
    }
    let own = format!("http://127.0.0.1:{}", site.port);
    assert_eq!(site.post(&[("Origin", &own)], &ping()).await.0, 200);
}

#[tokio::test]
async fn a_preflight_names_what_is_allowed() {
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let (status, head, _) =
        site.send("OPTIONS /mcp", &[("Origin", "https://app.example")], "").await;
    assert_eq!(status, 204);
    assert!(head.contains("access-control-allow-origin: https://app.example"), "{head}");
    assert!(head.contains("authorization"), "{head}");
    assert_eq!(site.send("OPTIONS /mcp", &[("Origin", "https://evil.example")], "").await.0, 403);
}

#[tokio::test]
async fn every_route_but_health_requires_a_token() {
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    for route in [
        "POST /mcp",
        "POST /rpc",
        "GET /mcp",
        "DELETE /mcp",
        "GET /sse",
        "POST /message",
        "GET /metrics",
        "GET /nowhere",
    ] {
        for auth in [None, Some("Bearer wrong"), Some("Basic dA=="), Some("Bearer")] {
            let headers: Vec<_> = auth.iter().map(|auth| ("Authorization", *auth)).collect();
            let (status, head, body) = site.send(route, &headers, "").await;
            assert_eq!(status, 401, "{route} {auth:?}");
            assert!(head.contains("www-authenticate: bearer"), "{head}");
            assert_eq!(body, r#"{"detail":"Invalid API key"}"#);
        }
    }
    assert_eq!(site.send("POST /mcp?token=t&access_token=t", &[], "").await.0, 401);
    for route in ["GET /", "GET /healthz", "GET /readyz"] {
        assert_eq!(site.send(route, &[], "").await.0, 200, "{route}");
    }
    assert_eq!(site.post(&[("Authorization", "bearer t")], &ping()).await.0, 200);
}

#[tokio::test]
async fn a_session_serves_only_its_principal_until_it_is_closed() {
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let first = ("Authorization", "Bearer t");
    let (status, id) = open_session(&site, "2025-06-18", &[first]).await;
    assert_eq!(status, 200);
    let with = |auth| {
        [auth, BOTH, ("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", "2025-06-18")]
    };
    assert_eq!(site.post(&with(first), &request(1, "tools/list", &json!({}))).await.0, 200);
    let second = ("Authorization", "Bearer second-token");
    assert_eq!(site.post(&with(second), &ping()).await.0, 404);
    assert_eq!(site.send("DELETE /mcp", &with(second), "").await.0, 404);
    assert!(matches!(site.send("DELETE /mcp", &with(first), "").await.0, 200..=204));
    assert_eq!(site.post(&with(first), &ping()).await.0, 404);
}

#[tokio::test]
async fn sessions_are_limited() {
    let site = TestSite::open(TestAccess { seats: 1, ..TestAccess::default() }).await;
    let (_, id) = open_session(&site, "2025-11-25", &[]).await;
    assert_eq!(open_session(&site, "2025-11-25", &[]).await.0, 503);
    let headers = [BOTH, ("Mcp-Session-Id", id.as_str())];
    site.send("DELETE /mcp", &headers, "").await;
    assert_eq!(open_session(&site, "2025-11-25", &[]).await.0, 200);
}

/// A site with this many slots, where an idle session lasts this long.
async fn forgetful(seats: usize, session: Duration) -> TestSite {
    let bounds = HttpLimits { session, ..HttpLimits::default() };
    let door = TestAccess { seats, ..TestAccess::default() };
    TestSite::build(door, SiteOptions { bounds, ..SiteOptions::default() }).await
}

#[tokio::test]
async fn an_idle_session_ends_and_one_with_a_stream_does_not() {
    let site = forgetful(usize::MAX, Duration::from_millis(1500)).await;
    let (_, left) = open_session(&site, "2025-11-25", &[]).await;
    let (_, listens) = open_session(&site, "2025-11-25", &[]).await;
    let headers = |id| [("Accept", "text/event-stream"), ("Mcp-Session-Id", id)];
    let mut stream = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    let ask = site.raw("GET /mcp", &headers(&listens), "");
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    while site.tally.sessions_ended() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let asks = |id| [BOTH, ("Mcp-Session-Id", id)];
    assert_eq!(site.post(&asks(&left), &ping()).await.0, 404);
    assert_eq!(site.post(&asks(&listens), &ping()).await.0, 200);
    drop(stream);
    while site.tally.sessions_ended() == 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(site.post(&asks(&listens), &ping()).await.0, 404);
}

#[tokio::test]
async fn the_longest_idle_session_makes_room() {
    // A thirtieth of it is half a second.
    let site = forgetful(2, Duration::from_secs(15)).await;
    let (_, first) = open_session(&site, "2025-11-25", &[]).await;
    let (_, second) = open_session(&site, "2025-11-25", &[]).await;
    let asks = |id| [BOTH, ("Mcp-Session-Id", id)];
    while open_session(&site, "2025-11-25", &[]).await.0 == 503 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(site.tally.sessions_ended(), 1);
    assert_eq!(site.post(&asks(&first), &ping()).await.0, 404);
    assert_eq!(site.post(&asks(&second), &ping()).await.0, 200);
}

#[tokio::test]
async fn the_listeners_counters_are_in_the_metrics() {
    let site = forgetful(usize::MAX, Duration::from_millis(20)).await;
    open_session(&site, "2025-11-25", &[]).await;
    while site.tally.sessions_ended() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (status, _, text) = site.send("GET /metrics", &[], "").await;
    assert_eq!(status, 200);
    for line in
        ["docent_sessions_reclaimed_total 1", "docent_connections_ended_total{reason=\"idle\"} 0"]
    {
        assert!(text.lines().any(|one| one == line), "no {line:?} in\n{text}");
    }
}

#[tokio::test]
async fn bodies_are_json_and_bounded() {
    let site = TestSite::open(TestAccess::default()).await;
    let (status, _, body) = site.send("POST /mcp", &[("Content-Type", "text/plain")], "{}").await;
    assert_eq!(status, 415);
    assert!(body.contains("-32600"), "{body}");
    let long = request(1, "ping", &json!({"x": "a".repeat(LIMIT)}));
    let (status, _, body) = site.post(&[], &long).await;
    assert_eq!(status, 413);
    assert!(body.contains("-32600") && body.contains(&LIMIT.to_string()), "{body}");
    let (status, _, body) = site
        .send("POST /mcp", &[("Content-Type", "application/json; charset=utf-8")], "{oops")
        .await;
    assert_eq!(status, 400);
    assert!(body.contains("-32700"), "{body}");
}

#[tokio::test]
async fn too_many_requests_get_a_retry_time() {
    let site = TestSite::open(TestAccess { requests: 1, ..TestAccess::default() }).await;
    assert_eq!(site.post(&[], &ping()).await.0, 200);
    let (status, head, _) = site.post(&[], &ping()).await;
    assert_eq!(status, 429);
    assert!(head.contains("retry-after: 30"), "{head}");
}

#[tokio::test]
async fn a_batch_is_an_array_in_plain_and_a_stream_in_a_session() {
    let site = TestSite::open(TestAccess::default()).await;
    let both = json!([request(1, "ping", &json!({})), request(2, "nope", &json!({}))]);
    let (_, _, body) = site.post(&[], &both).await;
    assert_eq!(serde_json::from_str::<Vec<Value>>(&body).unwrap().len(), 2);
    let (_, id) = open_session(&site, "2025-03-26", &[]).await;
    let (status, head, body) = site.post(&[BOTH, ("Mcp-Session-Id", &id)], &both).await;
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("text/event-stream"), "{head}");
    assert!(body.contains("\"id\":1") && body.contains("\"id\":2"), "{body}");
    let (_, id) = open_session(&site, "2025-06-18", &[]).await;
    assert_eq!(site.post(&[BOTH, ("Mcp-Session-Id", &id)], &both).await.0, 400);
}

#[tokio::test]
async fn a_plain_answer_can_come_in_pieces() {
    let site = TestSite::open(TestAccess::default()).await;
    let call = request(5, "tools/call", &json!({"name": "pieces", "stream": true}));
    let (_, head, body) = site.post(&[], &call).await;
    assert!(head.contains("application/x-ndjson"), "{head}");
    let partial: Vec<_> = body
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok().filter(Value::is_object))
        .map(|answer| answer["result"]["partial"].as_bool().unwrap())
        .collect();
    assert_eq!(partial, [true, true, false], "{body}");
}

#[tokio::test]
async fn the_root_is_health_for_programs_and_a_page_for_people() {
    let site = TestSite::open(TestAccess::default()).await;
    let (_, _, body) = site.send("GET /", &[("Accept", "application/json")], "").await;
    let health: Value = serde_json::from_str(&body).unwrap();
    for member in ["status", "service", "version", "protocol"] {
        assert!(health[member].is_string(), "{health}");
    }
    let (_, head, body) = site.send("GET /", &[("Accept", "text/html")], "").await;
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(
        body.contains("mcpServers") && body.contains(&format!("127.0.0.1:{}/mcp", site.port)),
        "{body}"
    );
}

#[tokio::test]
async fn closing_lets_open_requests_end() {
    let site = TestSite::open(TestAccess::default()).await;
    site.post(&[], &ping()).await;
    site.closing.cancel();
    site.serving.await.unwrap().unwrap();
}

/// Reads until the text has come, or to the end.
pub(crate) async fn read_until(socket: &mut TcpStream, text: &str) -> String {
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains(text) {
        if socket.read_buf(&mut heard).await.unwrap() == 0 {
            break;
        }
    }
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn a_resumed_stream_gets_its_answer_while_the_server_closes() {
    let site = TestSite::open(TestAccess::default()).await;
    let (_, id) = open_session(&site, "2025-11-25", &[]).await;
    let headers = [BOTH, ("Mcp-Session-Id", id.as_str()), ("Content-Type", "application/json")];
    let call = request(7, "tools/call", &json!({"name": "last"})).to_string();
    let mut lost = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    lost.write_all(site.raw("POST /mcp", &headers, &call).as_bytes()).await.unwrap();
    let heard = read_until(&mut lost, "retry: ").await;
    let event = heard.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    drop(lost);
    let back = [headers[0], headers[1], ("Last-Event-ID", event)];
    let mut again = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    again.write_all(site.raw("GET /mcp", &back, "").as_bytes()).await.unwrap();
    read_until(&mut again, "HTTP/1.1 200").await;
    site.closing.cancel();
    let rest = read_until(&mut again, "\"id\":7").await;
    assert!(rest.contains("\"id\":7"), "{rest}");
    drop(again);
    site.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_token_header_of_websockets_works_on_no_other_route() {
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let call = request(1, "tools/call", &json!({"name": "echo"})).to_string();
    let upgrade = [("Upgrade", "websocket"), ("Content-Type", "application/json")];
    for route in [
        "POST /mcp",
        "POST /rpc",
        "GET /mcp",
        "GET /sse",
        "GET /metrics",
        "GET /nowhere",
        "POST /",
        "POST /message",
        "POST /ws",
    ] {
        assert_eq!(site.send(route, &upgrade, &call).await.0, 401, "{route}");
    }
    let wrong =
        [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Authorization", "Bearer wrong")];
    for route in ["GET /", "GET /ws"] {
        assert_eq!(site.send(route, &wrong, "").await.0, 401, "{route}");
    }
}

#[tokio::test]
async fn every_member_of_a_batch_is_counted() {
    let site = TestSite::open(TestAccess { requests: 3, ..TestAccess::default() }).await;
    let many: Vec<_> = (0..50).map(|n| request(n, "ping", &json!({}))).collect();
    let (_, _, body) = site.post(&[], &json!(many)).await;
    assert_eq!(body.matches("Rate limit").count(), 47, "{body}");
}

#[tokio::test]
async fn errors_inside_a_session_are_answers() {
    let site = TestSite::open(TestAccess::default()).await;
    let (_, id) = open_session(&site, "2025-06-18", &[]).await;
    let with = |version| [BOTH, ("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", version)];
    let echo = request(1, "tools/call", &json!({"name": "echo"}));
    let (status, _, body) =
        site.post(&with("2025-06-18"), &request(1, "tools/call", &json!({}))).await;
    assert!(status == 200 && body.contains("-32602"), "{status} {body}");
    let (status, _, body) = site.post(&with("2026-07-28"), &echo).await;
    assert!(status == 400 && body.contains("-32602"), "{status} {body}");
    let (status, _, body) = site.post(&with("2099-01-01"), &echo).await;
    assert!(status == 400 && body.contains("-32022"), "{status} {body}");
}

#[tokio::test]
async fn a_bad_member_spoils_no_batch_of_a_session() {
    let site = TestSite::open(TestAccess::default()).await;
    let (_, id) = open_session(&site, "2025-03-26", &[]).await;
    let twice = r#"{"jsonrpc":"2.0","id":3,"id":4,"method":"ping"}"#;
    let batch = format!(
        r#"[{},{{"jsonrpc":"2.0","id":2}},{twice},{}]"#,
        request(1, "ping", &json!({})),
        request(5, "tools/call", &json!({}))
    );
    let headers = [BOTH, ("Mcp-Session-Id", &id), ("Content-Type", "application/json")];
    let (status, _, body) = site.send("POST /mcp", &headers, &batch).await;
    assert_eq!(status, 200, "{body}");
    assert!(
        body.contains(r#""id":1,"result""#)
            && body.contains(r#""id":2"#)
            && body.contains("duplicate field")
            && body.contains("-32602"),
        "{body}"
    );
}

#[tokio::test]
async fn guesses_at_a_token_are_counted() {
    let site =
        TestSite::open(TestAccess { token: Some("t"), requests: 1, ..TestAccess::default() }).await;
    let guess = ("Authorization", "Bearer wrong");
    assert_eq!(site.send("GET /metrics", &[guess], "").await.0, 401);
    assert_eq!(site.send("GET /metrics", &[guess], "").await.0, 429);
}

#[tokio::test]
async fn an_id_is_one_request_s_at_a_time_in_a_session() {
    let site = TestSite::open(TestAccess::default()).await;
    let (_, id) = open_session(&site, "2025-11-25", &[]).await;
    let headers = [BOTH, ("Mcp-Session-Id", id.as_str()), ("Content-Type", "application/json")];
    let wait = request(7, "tools/call", &json!({"name": "wait"})).to_string();
    let mut first = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    first.write_all(site.raw("POST /mcp", &headers, &wait).as_bytes()).await.unwrap();
    // The head of the first answer arrives once it is open as a stream of events.
    first.read_u8().await.unwrap();
    let (_, _, body) = site.post(&headers[..2], &request(7, "ping", &json!({}))).await;
    assert!(body.contains("still being answered"), "{body}");
}

#[tokio::test]
async fn an_answer_is_kept_for_a_client_that_lost_its_connection() {
    let site = TestSite::open(TestAccess::default()).await;
    let (_, id) = open_session(&site, "2025-11-25", &[]).await;
    let headers = [BOTH, ("Mcp-Session-Id", id.as_str()), ("Content-Type", "application/json")];
    let later = |id| request(id, "tools/call", &json!({"name": "later"}));
    let mut lost = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    let ask = site.raw("POST /mcp", &headers, &later(7).to_string());
    lost.write_all(ask.as_bytes()).await.unwrap();
    let heard = read_until(&mut lost, "retry: ").await;
    drop(lost);
    let event = heard.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    // Requested later, so the first has its answer too.
    site.post(&headers[..2], &later(8)).await;
    let back = [headers[0], headers[1], ("Last-Event-ID", event)];
    let (status, _, body) = site.send("GET /mcp", &back, "").await;
    assert_eq!((status, body.contains("\"id\":7")), (200, true), "{body}");
    // That connection might have broken too.
    let (status, _, body) = site.send("GET /mcp", &back, "").await;
    assert_eq!((status, body.contains("\"id\":7")), (200, true), "{body}");
    // A client that got a document knows of no event.
    let (_, kind, _) = site.post(&headers[..2], &request(9, "ping", &json!({}))).await;
    assert!(kind.contains("application/json"), "{kind}");
    let guessed = [headers[0], headers[1], ("Last-Event-ID", "0/3")];
    let (status, _, body) = site.send("GET /mcp", &guessed, "").await;
    assert_eq!((status, body.contains("\"id\":9")), (200, false), "{body}");
}

#[tokio::test]
async fn unknown_versions_are_reported() {
    let site = TestSite::open(TestAccess::default()).await;
    let (status, _, body) = site.post(&[("MCP-Protocol-Version", "1999-01-01")], &ping()).await;
    assert_eq!(status, 400);
    assert!(body.contains("-32022") && body.contains("2026-07-28"), "{body}");
}

#[tokio::test]
async fn shutdown_ends_a_session() {
    let site = TestSite::open(TestAccess::default()).await;
    let (_, id) = open_session(&site, "2025-06-18", &[]).await;
    let headers = [BOTH, ("Mcp-Session-Id", id.as_str())];
    let (status, _, body) = site.post(&headers, &request(4, "shutdown", &json!({}))).await;
    assert_eq!((status, body.contains("\"result\":null")), (200, true), "{body}");
    assert_eq!(site.post(&headers, &ping()).await.0, 404);
}

#[tokio::test]
async fn a_second_host_or_origin_is_refused() {
    let site = TestSite::open(TestAccess::default()).await;
    let hosts = [("Host", "localhost"), ("Host", "evil.example")];
    assert!(matches!(site.send("GET /healthz", &hosts, "").await.0, 400 | 403));
    let origins = [("Origin", "https://app.example"), ("Origin", "https://evil.example")];
    assert_eq!(site.send("GET /healthz", &origins, "").await.0, 403);
    assert_eq!(site.send("GET http://evil.example/healthz", &[], "").await.0, 403);
}
