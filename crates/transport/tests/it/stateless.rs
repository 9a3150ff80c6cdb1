//! Calls of the stateless revision: their headers must match their bodies.

use crate::{
    fixture::{TestAccess, TestSite, request},
    http::{BOTH, read_until},
};
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Duration};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{sleep, timeout},
};

type Header = (&'static str, &'static str);

const VERSION: Header = ("MCP-Protocol-Version", "2026-07-28");
const METHOD: Header = ("Mcp-Method", "tools/call");

fn call(name: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    });
    request(7, "tools/call", &json!({"name": name, "arguments": arguments, "_meta": meta}))
}

/// Calls a tool on a connection that stays open.
async fn ask(site: &TestSite, name: &'static str) -> TcpStream {
    let json = ("Content-Type", "application/json");
    let headers = [BOTH, json, VERSION, METHOD, ("Mcp-Name", name)];
    let mut socket = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    let ask = site.raw("POST /mcp", &headers, &call(name, &json!({})).to_string());
    socket.write_all(ask.as_bytes()).await.unwrap();
    socket
}

#[tokio::test]
async fn a_call_is_answered_if_its_headers_agree_with_it() {
    let site = TestSite::open(TestAccess::default()).await;
    let name = ("Mcp-Name", "echo");
    let cases: [(&[Header], u16, &str); 12] = [
        (&[BOTH, VERSION, METHOD, name], 200, "principal"),
        (&[BOTH, VERSION, METHOD, ("Mcp-Name", "=?base64?ZWNobw==?=")], 200, "principal"),
        (&[BOTH, METHOD, name], 400, "requires MCP-Protocol-Version"),
        (&[BOTH, VERSION, METHOD], 400, "missing required Mcp-Name"),
        (&[BOTH, VERSION, METHOD, ("Mcp-Name", "other")], 400, "does not match"),
        (&[BOTH, VERSION, METHOD, ("Mcp-Name", "ECHO")], 400, "does not match"),
        (&[BOTH, VERSION, METHOD, name, name], 400, "duplicate"),
        (&[BOTH, VERSION, name], 400, "missing required Mcp-Method"),
        (&[BOTH, VERSION, name, ("Mcp-Method", "tools/list")], 400, "does not match"),
        (&[BOTH, VERSION, METHOD, METHOD, name], 400, "duplicate"),
        (&[BOTH, METHOD, name, ("MCP-Protocol-Version", "2025-11-25")], 400, "2025-11-25"),
        (&[("Accept", "application/json"), VERSION, METHOD, name], 406, "must accept both"),
    ];
    for (headers, status, reason) in cases {
        let (got, head, body) = site.post(headers, &call("echo", &json!({"a": 1}))).await;
        assert_eq!(got, status, "{headers:?} {body}");
        assert!(body.contains(reason), "{headers:?} {body}");
        assert!(status != 200 || head.contains("content-type: application/json"), "{head}");
    }
}

#[tokio::test]
async fn missing_call_headers_are_reported() {
    let site = TestSite::open(TestAccess::default()).await;
    let mut bare = call("echo", &json!({}));
    let meta = bare["params"]["_meta"].as_object_mut().unwrap();
    meta.remove("io.modelcontextprotocol/clientCapabilities");
    let (status, _, body) = site.post(&[BOTH, VERSION, METHOD, ("Mcp-Name", "echo")], &bare).await;
    assert!(status == 400 && body.contains("clientCapabilities"), "{status} {body}");
}

#[tokio::test]
async fn arguments_that_headers_repeat_are_compared() {
    let site = TestSite::open(TestAccess::default()).await;
    let asked = call("marked", &json!({"deep": {"a": "x"}}));
    let named = [BOTH, VERSION, METHOD, ("Mcp-Name", "marked")];
    for (value, status) in [(None, 400), (Some("y"), 400), (Some("x"), 200)] {
        let headers: Vec<_> =
            named.into_iter().chain(value.map(|value| ("Mcp-Param-A", value))).collect();
        let (got, _, body) = site.post(&headers, &asked).await;
        assert_eq!(got, status, "{value:?} {body}");
    }
}

#[tokio::test]
async fn an_error_about_the_request_itself_has_a_status() {
    let site = TestSite::open(TestAccess::default()).await;
    let headers = [BOTH, VERSION, METHOD, ("Mcp-Name", "none")];
    let (status, _, body) = site.post(&headers, &call("none", &json!({}))).await;
    assert!(status == 404 && body.contains("-32601"), "{status} {body}");
}

#[tokio::test]
async fn a_call_is_cancelled_with_its_connection() {
    let site = TestSite::open(TestAccess::default()).await;
    let socket = ask(&site, "wait").await;
    until_waiting(&site, 1).await;
    drop(socket);
    until_waiting(&site, 0).await;
}

async fn until_waiting(site: &TestSite, wanted: usize) {
    let reached = async {
        while site.waiting.load(Ordering::SeqCst) != wanted {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), reached).await.unwrap();
}

#[tokio::test]
async fn a_stream_gets_its_answer_while_the_server_closes() {
    let site = TestSite::open(TestAccess::default()).await;
    let mut socket = ask(&site, "last").await;
    let begun = read_until(&mut socket, "begun").await;
    assert!(begun.contains("text/event-stream"), "{begun}");
    site.closing.cancel();
    let rest = read_until(&mut socket, "\"id\":7").await;
    assert!(rest.contains("\"id\":7"), "{rest}");
    drop(socket);
    site.serving.await.unwrap().unwrap();
}
