//! One call and its answer, successful or not.

use crate::{
    fixture::FixtureProvider,
    wire::{WireClient, code, key, legacy_dialects, modern, origin, setup, text},
};
use docent_server::{AuditSink, McpServer, ServerLimits};
use docent_tool::{AnyTool, BoxedFuture, CallContext, Object, ToolError, ToolInfo, ToolOutcome};
use docent_wire::Dialect;
use serde_json::{Value, json};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tracing_subscriber::{fmt::MakeWriter, layer::SubscriberExt};

/// Captured log output.
#[derive(Clone, Default)]
struct CapturedTrace(Arc<Mutex<Vec<u8>>>);

impl CapturedTrace {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn begin(&self) -> tracing::subscriber::DefaultGuard {
        let layer = tracing_subscriber::fmt::layer().with_writer(self.clone()).with_ansi(false);
        tracing::subscriber::set_default(tracing_subscriber::registry().with(layer))
    }
}

impl io::Write for CapturedTrace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for CapturedTrace {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn an_answer_has_text_structure_and_no_error_flag() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    for dialect in legacy_dialects() {
        let mut wire = WireClient::legacy(&server, dialect.version()).await;
        let result =
            wire.call("echo", json!({"text": "hi", "voice": "loud"})).await["result"].clone();
        let want = json!({"content": [{"type": "text", "text": "HI"}], "structuredContent": {"text": "HI"}, "isError": false});
        assert_eq!(result, want, "{dialect:?}");
    }
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call("echo", json!({"text": "hi"}), json!({}), json!({})).await;
    assert_eq!(
        (&reply["result"]["resultType"], &reply["result"]["isError"]),
        (&json!("complete"), &json!(false))
    );
}

#[tokio::test]
async fn bad_arguments_follow_the_revision() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let cases = [
        (json!({}), "text", "is required"),
        (json!({"text": ""}), "text", "must be 1-100000 characters"),
        (json!({"text": "a", "voice": "shrill"}), "voice", "must be one of quiet, loud"),
        (
            json!({"text": "a", "voise": "loud"}),
            "voise",
            "is not a parameter; did you mean `voice`?",
        ),
    ];
    for dialect in legacy_dialects() {
        let mut wire = WireClient::legacy(&server, dialect.version()).await;
        for (arguments, parameter, reason) in &cases {
            let reply = wire.call("echo", arguments.clone()).await;
            if dialect >= Dialect::V2025_11_25 {
                assert_eq!(reply["result"]["isError"], true, "{dialect:?} {reply}");
                assert!(
                    text(&reply).contains(parameter) && text(&reply).contains(reason),
                    "{reply}"
                );
            } else {
                assert_eq!(code(&reply), -32602, "{dialect:?} {reply}");
                let data = &reply["error"]["data"];
                assert_eq!(
                    (&data["parameter"], &data["reason"]),
                    (&json!(parameter), &json!(reason))
                );
                assert!(data["details"].is_string(), "{data}");
            }
        }
    }
    let mut wire = WireClient::open(&server);
    let reply = wire.modern_call("echo", json!({}), json!({}), json!({})).await;
    assert_eq!(reply["result"]["isError"], true);
}

#[tokio::test]
async fn unknown_names_are_reported() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let reply = wire.call("ecko", json!({})).await;
    assert_eq!(code(&reply), -32602);
    let data = &reply["error"]["data"];
    assert_eq!(data["closest"][0], "echo");
    assert!(data["available"].as_array().unwrap().contains(&json!("big")), "{data}");
    let reply = wire.ask("no/such", json!({})).await;
    assert_eq!((code(&reply), &reply["error"]["data"]["method"]), (-32601, &json!("no/such")));
    let reply = wire.ask("tools/call", json!({"arguments": {}})).await;
    assert_eq!((code(&reply), &reply["error"]["data"]["parameter"]), (-32602, &json!("name")));
}

/// Counts how often its full info is requested.
struct InfoCountingTool(Arc<AtomicUsize>);

impl AnyTool for InfoCountingTool {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn info(&self) -> ToolInfo {
        self.0.fetch_add(1, Ordering::SeqCst);
        ToolInfo { name: self.name().into(), ..ToolInfo::default() }
    }

    fn call<'a>(
        &'a self,
        _: Object,
        _: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(async { Ok(ToolOutcome::default()) })
    }
}

#[tokio::test]
async fn an_unknown_name_computes_no_definition() {
    let (fixture, times) = (FixtureProvider::new(), Arc::new(AtomicUsize::new(0)));
    fixture.extra.lock().unwrap().push(Arc::new(InfoCountingTool(Arc::clone(&times))));
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let before = times.load(Ordering::SeqCst);
    assert_eq!(code(&wire.call("unknown_tool", json!({})).await), -32602);
    assert_eq!(times.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn a_failure_is_an_answer_with_its_code() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2024-11-05").await;
    let reply = wire.call("fails", json!({})).await;
    assert_eq!(reply["result"]["isError"], true);
    assert_eq!(text(&reply), "Error: The index is locked\nStop the other server.");
    let want = json!({"code": -32002, "kind": "database", "message": "The index is locked"});
    assert_eq!(reply["result"]["structuredContent"]["error"], want);
}

#[tokio::test]
async fn a_panic_ends_only_its_call_and_is_logged() {
    let log = CapturedTrace::default();
    let _logging = log.begin();
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    for (tool, words) in [("panics", "the boom"), ("panics_later", "the boom below")] {
        let reply = wire.call(tool, json!({})).await;
        assert_eq!(code(&reply), -32603, "{reply}");
        assert!(!reply.to_string().contains("boom"), "{reply}");
        let reference = reply["error"]["data"]["reference"].as_str().unwrap();
        let logged = log.text();
        let line = logged
            .lines()
            .find(|line| line.contains(reference))
            .unwrap_or_else(|| panic!("{logged}"));
        assert!(line.contains(words) && line.contains("ERROR"), "{line}");
    }
    assert_eq!(text(&wire.call("echo", json!({"text": "alive"})).await), "alive");
    assert!(server.metrics().contains("docent_tool_panics_total 2\n"), "{}", server.metrics());
    let reply = wire.ask("resources/read", json!({"uri": "memo://panics"})).await;
    assert_eq!(code(&reply), -32603);
}

#[tokio::test]
async fn each_call_has_a_span_with_its_trace_and_one_line() {
    let log = CapturedTrace::default();
    let layer = tracing_subscriber::fmt::layer().with_writer(log.clone()).with_ansi(false);
    let filter = tracing_subscriber::EnvFilter::new("docent::tools=debug");
    let _logging =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(filter).with(layer));
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let params = json!({"name": "echo", "arguments": {"text": "hush-hush"}, "_meta": {"traceparent": trace}});
    wire.ask("tools/call", params).await;
    let logged = log.text();
    assert_eq!(logged.lines().count(), 1, "{logged}");
    assert!(
        logged.contains("DEBUG") && logged.contains("docent::tools") && logged.contains("echo"),
        "{logged}"
    );
    assert!(logged.contains(trace), "{logged}");
    assert!(!logged.contains("hush-hush"), "{logged}");
}

fn hurried(timeout: Duration) -> ServerLimits {
    ServerLimits { tool_timeout: timeout, ..ServerLimits::default() }
}

#[tokio::test]
async fn a_deadline_returns_partial_results() {
    let limits = hurried(Duration::from_millis(20));
    let server =
        McpServer::new(docent_server::ServerSetup { limits, ..setup(FixtureProvider::new()) })
            .unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let reply = wire.call("patient", json!({})).await;
    let result = &reply["result"];
    assert_eq!(result["structuredContent"], json!({"found": 3, "partial": true}));
    assert!(
        text(&reply).starts_with("found 2\nfound 3\nPartial result: the deadline of 0.02 s"),
        "{reply}"
    );
    assert_eq!(result["isError"], false);
    let reply = wire.call("stubborn", json!({})).await;
    assert_eq!(reply["result"]["structuredContent"], json!({"partial": true}));
    assert!(text(&reply).starts_with("a piece\nPartial result"), "{reply}");
}

#[tokio::test]
async fn a_tool_may_have_its_own_timeout() {
    let tool_timeouts = [("stubborn".to_owned(), Duration::from_millis(1))].into();
    let limits = ServerLimits { tool_timeouts, ..ServerLimits::default() };
    let server =
        McpServer::new(docent_server::ServerSetup { limits, ..setup(FixtureProvider::new()) })
            .unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    assert!(text(&wire.call("stubborn", json!({})).await).contains("deadline of 0.001 s"));
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_silent() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let id = wire.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    gate.left.notified().await;
    assert_eq!(gate.inside.load(Ordering::SeqCst), 0);
    wire.ask("ping", json!({})).await;
    wire.ask("ping", json!({})).await;
    assert!(wire.seen.is_empty(), "{:?}", wire.seen);
    server.wait_until_idle().await;
    assert!(
        server
            .metrics()
            .contains("docent_tool_calls_total{tool=\"waits\",outcome=\"cancelled\"} 1\n")
    );
}

#[tokio::test]
async fn clients_with_the_same_id_get_their_own_answers() {
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut ann = WireClient::legacy(&server, "2025-11-25").await;
    let mut bob = WireClient::legacy(&server, "2025-11-25").await;
    let token = json!({"progressToken": "same"});
    let waiting = ann.begin("tools/call", json!({"name": "waits", "_meta": token})).await;
    gate.entered.notified().await;
    let other = bob.begin("tools/call", json!({"name": "steps", "_meta": token})).await;
    assert_eq!(waiting, other);
    assert_eq!(text(&bob.answer(&other).await), "done");
    assert_eq!(bob.methods_seen().len(), 3);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}});
    bob.send(&cancel).await;
    bob.ask("ping", json!({})).await;
    gate.let_through(1);
    assert_eq!(text(&ann.answer(&waiting).await), "waited");
    assert!(ann.seen.is_empty(), "{:?}", ann.seen);
}

#[tokio::test]
async fn every_request_leaves_one_line_before_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let setup = docent_server::ServerSetup {
        audit: AuditSink::to_file(&path, 1 << 20),
        keys: vec![key("ann", &["fixture:*"])],
        limits: hurried(Duration::from_millis(1)),
        ..setup(fixture)
    };
    let server = McpServer::new(setup).unwrap();
    let ann = origin(&server, Some("ann-token"));
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", json!({}), Some(ann)).await;
    let last = || -> Value {
        let text = std::fs::read_to_string(&path).unwrap();
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    };
    let cases = [
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"text": "hush-hush"}}),
            "tool",
            "echo",
            "ok",
        ),
        ("tools/call", json!({"name": "echo", "arguments": {}}), "tool", "echo", "error"),
        ("tools/call", json!({"name": "fails"}), "tool", "fails", "error"),
        ("tools/call", json!({"name": "patient"}), "tool", "patient", "partial"),
        ("tools/call", json!({"name": "nothing"}), "tool", "nothing", "refused"),
        ("resources/read", json!({"uri": "memo://a"}), "uri", "memo://a", "ok"),
        ("resources/read", json!({"uri": "memo://none"}), "uri", "memo://none", "error"),
        (
            "prompts/get",
            json!({"name": "greet", "arguments": {"name": "bob"}}),
            "prompt",
            "greet",
            "ok",
        ),
        ("prompts/get", json!({"name": "unknown"}), "prompt", "unknown", "error"),
    ];
    for (method, params, field, target, outcome) in cases {
        wire.ask(method, params).await;
        let line = last();
        assert_eq!(
            (&line["method"], &line[field], &line["outcome"]),
            (&json!(method), &json!(target), &json!(outcome))
        );
        assert_eq!(
            (&line["principal"], &line["client"], &line["transport"]),
            (&json!("ann"), &json!("tester/9"), &json!("http"))
        );
        assert_eq!(line["digest"].as_str().unwrap().len(), 64);
        assert!(
            line["duration_ms"].is_number()
                && line["bytes"].is_number()
                && line["time"].is_string(),
            "{line}"
        );
    }
    let id = wire.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    server.wait_until_idle().await;
    assert_eq!(last()["outcome"], "cancelled");
    let all = std::fs::read_to_string(&path).unwrap();
    assert_eq!(all.lines().count(), 10, "one line for each request");
    assert!(!all.contains("hush-hush") && !all.contains("ann-token"), "{all}");
}

#[tokio::test]
async fn the_newest_revision_s_client_is_named_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let setup = docent_server::ServerSetup {
        audit: AuditSink::to_file(&path, 1 << 20),
        ..setup(FixtureProvider::new())
    };
    let server = McpServer::new(setup).unwrap();
    let mut wire = WireClient::open(&server);
    let mut params = modern(json!({}));
    params["uri"] = json!("memo://a");
    wire.ask("resources/read", params).await;
    let line: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((&line["client"], &line["principal"]), (&json!("tester/9"), &json!("anonymous")));
}

#[tokio::test]
async fn audit_lines_distinguish_cancelled_from_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    let setup = docent_server::ServerSetup {
        audit: AuditSink::to_file(&path, 1 << 20),
        limits: ServerLimits { calls_in_flight: 1, ..ServerLimits::default() },
        ..setup(fixture)
    };
    let server = McpServer::new(setup).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let first = wire.begin("tools/call", json!({"name": "waits"})).await;
    gate.entered.notified().await;
    let second = wire.begin("tools/call", json!({"name": "emits"})).await;
    wire.ask("ping", json!({})).await;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": second}})).await;
    wire.ask("ping", json!({})).await;
    gate.let_through(1);
    wire.answer(&first).await;
    server.wait_until_idle().await;
    server.stop();
    wire.ask("resources/read", json!({"uri": "memo://a"})).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<_> = lines.iter().map(|line| (&line["method"], &line["outcome"])).collect();
    let (call, read) = (json!("tools/call"), json!("resources/read"));
    assert_eq!(
        outcomes,
        [(&call, &json!("cancelled")), (&call, &json!("ok")), (&read, &json!("refused"))],
        "{text}"
    );
}
