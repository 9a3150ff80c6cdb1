//! The audit lines of calls, and what happens to calls when they cannot be written.

use crate::{
    fixture::{FixtureProvider, acting, said},
    wire::{WireClient, code, key, origin, setup, text},
};
use docent_audit::{AuditLogSettings, VerifyOptions, WriteFailurePolicy, verify};
use docent_server::{AuditSink, McpServer, ServerLimits, ServerSetup};
use docent_tool::{ToolError, ToolOutcome};
use docent_transport::{AccessControl, Caller, CallerCredentials, ConnectionKind};
use serde_json::{Value, json};
use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

const VERSION: &str = "2025-11-25";

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A server whose log is in a folder, with a tool that counts its runs.
struct AuditedServer {
    folder: tempfile::TempDir,
    runs: Arc<AtomicUsize>,
}

impl AuditedServer {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), runs: Arc::default() }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("audit.jsonl")
    }

    fn setup(&self, on_full: WriteFailurePolicy) -> ServerSetup {
        let fixture = FixtureProvider::new();
        let runs = Arc::clone(&self.runs);
        fixture.extra.lock().unwrap().push(acting("counts", json!({}), move |_, _| {
            runs.fetch_add(1, Ordering::SeqCst);
            async { Ok(said("hush-hush")) }
        }));
        let settings = AuditLogSettings { on_full, ..AuditLogSettings::default() };
        ServerSetup { audit: AuditSink::open(self.log(), settings), ..setup(fixture) }
    }

    fn server(&self, on_full: WriteFailurePolicy) -> Arc<McpServer> {
        McpServer::new(self.setup(on_full)).unwrap()
    }

    fn intact(&self) {
        let report = verify(&self.log(), &VerifyOptions::default()).unwrap();
        assert!(report.is_intact(), "{report}");
    }
}

#[tokio::test]
async fn refusals_and_failures_record_a_reason() {
    let place = AuditedServer::new();
    let tool_rates = [("big".to_owned(), NonZeroU32::new(1).unwrap())].into();
    let mut setup = place.setup(WriteFailurePolicy::Refuse);
    setup.limits = ServerLimits { tool_rates, ..ServerLimits::default() };
    setup.keys = vec![key("ann", &["echo", "big", "panics", "fails"])];
    let server = McpServer::new(setup).unwrap();
    let ann = origin(&server, Some("ann-token"));
    let mut wire = WireClient::legacy_as(&server, VERSION, json!({}), Some(ann)).await;
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let cases = [
        ("tools/call", call("echo", json!({"text": "a"})), "ok", None),
        ("tools/call", call("counts", json!({})), "refused", Some("scope")),
        ("tools/call", call("nothing", json!({})), "refused", Some("unknown_tool")),
        ("tools/call", call("echo", json!({})), "error", Some("invalid_arguments")),
        ("tools/call", call("fails", json!({})), "error", Some("database")),
        ("tools/call", call("panics", json!({})), "error", Some("internal")),
        ("tools/call", json!({"name": 5}), "refused", Some("invalid_params")),
        ("tools/call", json!({"name": "a", "arguments": []}), "refused", Some("invalid_params")),
        ("resources/read", json!({}), "refused", Some("invalid_params")),
        ("resources/read", json!({"uri": "memo://none"}), "error", Some("not_found")),
        ("prompts/get", json!({"name": "none"}), "error", Some("invalid_arguments")),
        ("tools/call", call("big", json!({"bytes": 5})), "ok", None),
        ("tools/call", call("big", json!({"bytes": 5})), "refused", Some("rate")),
    ];
    for (at, (method, params, outcome, reason)) in cases.into_iter().enumerate() {
        let reply = wire.ask(method, params.clone()).await;
        let all = lines(&place.log());
        assert_eq!(all.len(), at + 1, "{method} {params}");
        let line = &all[at];
        assert_eq!(
            (line["outcome"].as_str(), line["reason"].as_str()),
            (Some(outcome), reason),
            "{method} {params} {reply}"
        );
        for (name, want) in [("method", json!(method)), ("principal", json!("ann"))] {
            assert_eq!(line[name], want, "{line}");
        }
        assert_eq!(line["reference"], reply["error"]["data"]["reference"], "{line}");
        assert_eq!(line["digest"].as_str().unwrap().len(), 64);
    }
    assert!(lines(&place.log())[5]["reference"].is_string());
    server.stop();
    wire.call("echo", json!({"text": "a"})).await;
    assert_eq!(lines(&place.log()).last().unwrap()["reason"], "closing");
    assert_eq!(place.runs.load(Ordering::SeqCst), 0);
    place.intact();
}

/// Checks the answer to a call that could not be recorded: the reason, and nothing of the result.
fn unrecorded(reply: &Value) {
    assert_eq!(code(reply), -32000, "{reply}");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("cannot write the audit line: "), "{message}");
    let policy = ": the call was refused by policy (audit.on_full = refuse)";
    assert!(message.ends_with(policy), "{message}");
    assert!(reply.get("result").is_none() && !reply.to_string().contains("hush-hush"), "{reply}");
    assert!(
        !message.contains("audit.jsonl") && !message.contains("/dev/"),
        "where the log is stays on the server: {message}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_call_that_can_not_be_recorded_is_not_answered_and_the_next_does_not_run() {
    let place = AuditedServer::new();
    let settings =
        AuditLogSettings { on_full: WriteFailurePolicy::Refuse, ..AuditLogSettings::default() };
    let audit = AuditSink::open(PathBuf::from("/dev/full"), settings);
    let server =
        McpServer::new(ServerSetup { audit, ..place.setup(WriteFailurePolicy::Refuse) }).unwrap();
    let mut wire = WireClient::legacy(&server, VERSION).await;
    // Nothing is known yet: the call runs, and its answer is withheld.
    unrecorded(&wire.call("counts", json!({})).await);
    assert_eq!(place.runs.load(Ordering::SeqCst), 1);
    for _ in 0..3 {
        unrecorded(&wire.call("counts", json!({})).await);
    }
    unrecorded(&wire.ask("resources/read", json!({"uri": "memo://a"})).await);
    let greet = json!({"name": "greet", "arguments": {"name": "bob"}});
    unrecorded(&wire.ask("prompts/get", greet).await);
    unrecorded(&wire.ask("tools/call", json!({"name": 5})).await);
    assert_eq!(place.runs.load(Ordering::SeqCst), 1, "refused before it runs");
    let metrics = server.metrics();
    for want in [
        "docent_audit_failures_total 7\n",
        "docent_tool_calls_total{tool=\"counts\",outcome=\"refused\"} 1\n",
    ] {
        assert!(metrics.contains(want), "{want} {metrics}");
    }
    assert!(!metrics.contains("docent_refused_total{reason=\"audit\"} 0\n"), "{metrics}");
    // Requests without an audit line continue.
    assert!(wire.ask("tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn a_log_without_a_folder_refuses_calls_until_it_exists() {
    let place = AuditedServer::new();
    let folder = place.folder.path().join("later");
    let path = folder.join("audit.jsonl");
    let settings =
        AuditLogSettings { on_full: WriteFailurePolicy::Refuse, ..AuditLogSettings::default() };
    let setup = ServerSetup {
        audit: AuditSink::open(&path, settings),
        ..place.setup(WriteFailurePolicy::Drop)
    };
    let server = McpServer::new(setup).unwrap();
    let mut wire = WireClient::legacy(&server, VERSION).await;
    unrecorded(&wire.call("counts", json!({})).await);
    assert_eq!(place.runs.load(Ordering::SeqCst), 0, "it did not run");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(text(&wire.call("counts", json!({})).await), "hush-hush");
    let all = lines(&path);
    assert_eq!((&all[0]["kind"], &all[0]["count"]), (&json!("dropped"), &json!(1)));
    assert_eq!((&all[1]["tool"], &all[1]["outcome"]), (&json!("counts"), &json!("ok")));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn calls_continue_if_that_is_the_policy_and_are_counted() {
    let place = AuditedServer::new();
    std::os::unix::fs::symlink("/dev/full", place.log()).unwrap();
    let server = place.server(WriteFailurePolicy::Drop);
    let mut wire = WireClient::legacy(&server, VERSION).await;
    for _ in 0..3 {
        assert_eq!(text(&wire.call("counts", json!({})).await), "hush-hush");
    }
    let metrics = server.metrics();
    assert!(metrics.contains("docent_audit_failures_total 3\n"), "{metrics}");
    assert!(metrics.contains("docent_refused_total{reason=\"audit\"} 0\n"), "{metrics}");
}

#[tokio::test]
async fn untrusted_names_stay_in_one_bounded_line() {
    let place = AuditedServer::new();
    let server = place.server(WriteFailurePolicy::Refuse);
    let mut wire = WireClient::legacy(&server, VERSION).await;
    let megabyte = "n\n".repeat(1 << 19);
    let names = ["a\nb", "\"}\n{\"outcome\":\"ok\"", "\u{1b}[2J\u{0}\u{2028}", &megabyte];
    for name in names {
        wire.ask("tools/call", json!({"name": name})).await;
        wire.ask("resources/read", json!({"uri": name})).await;
        wire.ask("prompts/get", json!({"name": name})).await;
    }
    let text = std::fs::read_to_string(place.log()).unwrap();
    assert_eq!(text.lines().count(), 3 * names.len());
    assert!(text.is_ascii() && text.lines().all(|line| line.len() < 8000));
    let all = lines(&place.log());
    assert_eq!(all[0]["tool"], "a\nb");
    assert!(all.iter().all(|line| line["outcome"] != "ok"));
    place.intact();
}

#[tokio::test]
async fn rejected_callers_leave_few_lines() {
    let place = AuditedServer::new();
    let mut setup = place.setup(WriteFailurePolicy::Drop);
    let rate = docent_server::RequestRate::per_minute(NonZeroU32::new(1).unwrap());
    setup.limits = ServerLimits { rate: Some(rate), ..ServerLimits::default() };
    setup.keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    setup.auth_required = true;
    let server = McpServer::new(setup).unwrap();
    let callers = ["ann-token", "bob-token"].map(|token| {
        let principal = server.identify(&CallerCredentials::token(token)).unwrap();
        Caller { principal, via: ConnectionKind::Http, remote: None }
    });
    for caller in &callers {
        assert!(server.admit(caller).is_ok());
    }
    assert!(lines(&place.log()).is_empty());
    for _ in 0..500 {
        for caller in &callers {
            assert!(server.admit(caller).is_err());
        }
        assert!(server.identify(&CallerCredentials::token("a-wrong-token")).is_none());
        server.count_unknown_caller();
    }
    let expected = [("ann", "rate"), ("bob", "rate"), ("", "token")];
    let all = lines(&place.log());
    let field = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let of = |line: &Value| (field(line, "principal"), field(line, "reason"));
    let first: Vec<_> = all.iter().take(3).map(of).collect();
    assert_eq!(first, expected.map(|(who, why)| (who.to_owned(), why.to_owned())));
    server.stop();
    let all = lines(&place.log());
    assert!(all.len() < 20 && all.iter().all(|line| line["outcome"] == "refused"), "{all:?}");
    for (who, why) in expected {
        let own = all.iter().filter(|line| line["principal"] == who && line["reason"] == why);
        let count: u64 = own.map(|line| line["count"].as_u64().unwrap()).sum();
        assert_eq!(count, 500, "{who} {why} {all:?}");
    }
    server.stop();
    assert_eq!(lines(&place.log()).len(), all.len(), "no request came since");
    let text = std::fs::read_to_string(place.log()).unwrap();
    assert!(!text.contains("a-wrong-token"), "{text}");
}

#[tokio::test]
async fn another_server_cannot_write_to_the_audit_log() {
    let place = AuditedServer::new();
    let fixture = FixtureProvider::new();
    let said_of_itself = || json!({"kind": "deadline", "reference": "ab12cd34", "uri": "memo://a"});
    let refuses = acting("refuses", json!({}), move |_, _| async move {
        let (message, data) = ("closing".to_owned(), Some(said_of_itself()));
        Err(ToolError::Refused { code: -32603, message, data })
    });
    let fails = acting("fails_there", json!({}), move |_, _| async move {
        let structured = Some(json!({"error": said_of_itself()}));
        Ok(ToolOutcome { structured, is_error: true, ..said("closing") })
    });
    fixture.extra.lock().unwrap().extend([refuses, fails]);
    let audit = AuditSink::to_file(place.log(), 1 << 20);
    let server = McpServer::new(ServerSetup { audit, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, VERSION).await;
    let reply = wire.call("refuses", json!({})).await;
    assert_eq!(reply["error"]["data"], said_of_itself(), "the client sees it: {reply}");
    wire.call("fails_there", json!({})).await;
    let all = lines(&place.log());
    let reasons: Vec<_> = all.iter().map(|line| line["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["refused", "failed"]);
    assert!(all.iter().all(|line| line.get("reference").is_none()), "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_log_that_another_process_holds_keeps_no_thread_of_the_server_s() {
    let place = AuditedServer::new();
    let server = place.server(WriteFailurePolicy::Drop);
    let mut wire = WireClient::legacy(&server, VERSION).await;
    let mut other = WireClient::legacy(&server, VERSION).await;
    assert_eq!(text(&wire.call("counts", json!({})).await), "hush-hush");
    let held = std::fs::File::open(place.log()).unwrap();
    held.lock().unwrap();
    let id = wire.begin("tools/call", json!({"name": "counts"})).await;
    while place.runs.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    // Otherwise the only thread would wait until the line is given up.
    assert!(other.ask("tools/list", json!({})).await["result"].is_object());
    drop(held);
    assert_eq!(text(&wire.answer(&id).await), "hush-hush");
    assert!(server.metrics().contains("docent_audit_failures_total 0\n"));
    assert_eq!(lines(&place.log()).len(), 2);
}
