//! Nested calls: the same checks, approval and audit as a client's own calls.

use crate::{
    fixture::{FixtureProvider, acting, said},
    tasks::{able, settled},
    wire::{WireClient, key, origin, setup, text},
};
use docent_audit::AuditLogSettings;
use docent_server::{
    AuditSink, McpServer, PolicyAction, PolicyRule, RuleLimits, Screening, ServerSetup, TASK_KEY,
    ToolPolicy,
};
use docent_tool::{
    AnswerBlock, CallContext, Contents, FailureKind, Object, ToolError, ToolFailure, ToolOutcome,
};
use serde_json::{Value, json};
use std::{num::NonZeroU32, path::Path, sync::Arc};

fn arguments(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

fn words(outcome: &ToolOutcome) -> String {
    let word = |block: &AnswerBlock| match block {
        AnswerBlock::Text { text, .. } => text.clone(),
        other => format!("{other:?}"),
    };
    outcome.content.iter().map(word).collect()
}

/// Calls `echo` twice with the same words, and `samples` once.
async fn script(context: CallContext) -> Result<ToolOutcome, ToolError> {
    let mut output = Vec::new();
    for _ in 0..2 {
        let answer = context.call("fixture", "echo", arguments(json!({"text": "hi"}))).await;
        output.push(answer.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
    }
    let others = context.call("other", "echo", arguments(json!({"text": "hi"}))).await;
    output.push(others.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
    let bad = context.call("fixture", "echo", Object::new()).await;
    output.push(bad.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
    output.push(context.may_use("fixture", "echo").to_string());
    Ok(said(output.join("|")))
}

fn fixture() -> Arc<FixtureProvider> {
    let fixture = FixtureProvider::new();
    let outer = acting("script", json!({}), |_, context| script(context));
    let gone = acting("leaves", json!({}), |_, context: CallContext| async move {
        // Abandoned half-way: the inner call has no waiter left.
        let inner = context.call("fixture", "waits", Object::new());
        drop(tokio::time::timeout(std::time::Duration::from_millis(30), inner).await);
        Ok(said("left"))
    });
    fixture.extra.lock().unwrap().extend([outer, gone]);
    fixture
}

/// The tool and the outcome of each call on record.
pub(crate) fn lines(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let field = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let calls = lines.filter(|line| line["method"] == "tools/call");
    calls.map(|line| (field(&line, "tool"), field(&line, "outcome"))).collect()
}

#[tokio::test]
async fn each_is_checked_recorded_and_goes_to_the_provider_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = AuditSink::open(&path, AuditLogSettings::default());
    let server = McpServer::new(ServerSetup { audit, ..setup(fixture()) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let output = text(&wire.call("script", json!({})).await);
    let parts: Vec<&str> = output.split('|').collect();
    assert_eq!(parts[..2], ["hi", "hi"], "{output}");
    assert!(parts[2].contains("belongs to `fixture`, not to `other`"), "{output}");
    assert!(parts[3].contains("`text`"), "{output}");
    assert_eq!(parts[4], "true");
    let want =
        [("echo", "ok"), ("echo", "ok"), ("echo", "refused"), ("echo", "error"), ("script", "ok")];
    let want: Vec<(String, String)> = want.map(|(tool, end)| (tool.into(), end.into())).into();
    assert_eq!(lines(&path), want);
    let record = std::fs::read_to_string(&path).unwrap();
    let all = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let reasons: Vec<Value> = all
        .filter(|line| line["method"] == "tools/call")
        .map(|line| line["reason"].clone())
        .collect();
    assert_eq!(json!(reasons), json!([null, null, "unknown_tool", "invalid_arguments", null]));
}

#[tokio::test]
async fn an_abandoned_nested_call_writes_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = AuditSink::open(&path, AuditLogSettings::default());
    let server = McpServer::new(ServerSetup { audit, ..setup(fixture()) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    assert_eq!(text(&wire.call("leaves", json!({})).await), "left");
    assert_eq!(lines(&path)[0], ("waits".to_owned(), "cancelled".to_owned()));
}

#[tokio::test]
async fn nested_calls_continue_when_the_outer_call_becomes_a_task() {
    let outer = acting("long", json!({TASK_KEY: "always"}), |_, context: CallContext| async move {
        let waited = context.call("fixture", "waits", Object::new()).await?;
        let echoed = context.call("fixture", "echo", arguments(json!({"text": "hi"}))).await?;
        Ok(said(format!("{}|{}", words(&waited), words(&echoed))))
    });
    let fixture = FixtureProvider::new();
    let gate = Arc::clone(&fixture.gate);
    fixture.extra.lock().unwrap().push(outer);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = AuditSink::open(&path, AuditLogSettings::default());
    let server = McpServer::new(ServerSetup { audit, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::open(&server);
    let id =
        wire.modern_call("long", json!({}), able(), json!({})).await["result"]["taskId"].clone();
    // The request is over, and the first of them waits.
    gate.let_through(1);
    let done = settled(&mut wire, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "waited|hi", "{done}");
    let want = [("waits", "ok"), ("echo", "ok"), ("long", "ok")];
    assert_eq!(lines(&path), want.map(|(tool, end)| (tool.to_owned(), end.to_owned())));
}

#[tokio::test]
async fn a_call_for_another_provider_does_not_count() {
    let outer = acting("mistakes", json!({}), |_, context: CallContext| async move {
        let mut output = Vec::new();
        for provider in ["other", "other", "fixture", "fixture"] {
            let answer = context.call(provider, "echo", arguments(json!({"text": "hi"}))).await;
            output.push(answer.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
        }
        Ok(said(output.join("|")))
    });
    let fixture = FixtureProvider::new();
    fixture.extra.lock().unwrap().push(outer);
    let bounds = RuleLimits { rate_per_minute: NonZeroU32::new(1), timeout: None };
    let rule =
        PolicyRule::for_everybody("policy.rules[0]", vec!["echo".into()], PolicyAction::Allow);
    let policy = ToolPolicy { rules: vec![PolicyRule { bounds, ..rule }] };
    let server = McpServer::new(ServerSetup { policy, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let output = text(&wire.call("mistakes", json!({})).await);
    let parts: Vec<&str> = output.split('|').collect();
    assert!(parts[1].contains("belongs to `fixture`, not to `other`"), "{output}");
    assert_eq!(parts[2], "hi", "{output}");
    assert!(parts[3].contains("too many calls of echo"), "{output}");
}

#[tokio::test]
async fn each_needs_its_own_approval() {
    let rule =
        PolicyRule::for_everybody("policy.rules[0]", vec!["echo".into()], PolicyAction::Approve);
    let policy = ToolPolicy { rules: vec![rule] };
    let server = McpServer::new(ServerSetup { policy, ..setup(fixture()) }).unwrap();
    let able = json!({"elicitation": {}});
    let mut wire = WireClient::legacy_as(&server, "2025-06-18", able, None).await;
    let id = wire.begin("tools/call", json!({"name": "script", "arguments": {}})).await;
    for approve in [true, false] {
        let asked = wire.read().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let answer = json!({"action": "accept", "content": {"approve": approve}});
        wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await;
    }
    let output = text(&wire.answer(&id).await);
    assert!(output.starts_with("hi|`echo` was not run"), "{output}");
}

#[tokio::test]
async fn scopes_apply_to_nested_calls() {
    let keys = vec![key("ann", &["script"])];
    let server =
        McpServer::new(ServerSetup { keys, auth_required: true, ..setup(fixture()) }).unwrap();
    let origin = origin(&server, Some("ann-token"));
    let mut wire = WireClient::legacy_as(&server, "2025-11-25", json!({}), Some(origin)).await;
    let output = text(&wire.call("script", json!({})).await);
    assert!(output.starts_with("`ann` may not use the tool `echo`"), "{output}");
    assert!(output.ends_with("|false"), "{output}");
}

/// A well-formed but made-up token.
fn token() -> String {
    ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat()
}

/// Returns a secret in every way that a tool can, one at a time.
fn error_from(how: &str) -> Result<ToolOutcome, ToolError> {
    let output = format!("use {}\u{200b}", token());
    let raw = |block: Value| {
        Ok(ToolOutcome { content: vec![AnswerBlock::Raw(block)], ..ToolOutcome::default() })
    };
    let held = |contents| {
        Ok(ToolOutcome { content: vec![AnswerBlock::Embedded(contents)], ..ToolOutcome::default() })
    };
    match how {
        "text" => Ok(said(output)),
        "raw" => raw(json!({"type": "text", "text": output, "odd": output})),
        "link" => raw(json!({
            "type": "resource_link", "name": "n", "description": output, "uri": "x:y?password=hunter22",
        })),
        "held" => held(Contents::Text { uri: "x:y".into(), mime: None, text: output }),
        "held raw" => held(Contents::Raw(json!({"uri": "x:y?password=hunter22", "text": output}))),
        "structured" => {
            Ok(ToolOutcome { structured: Some(json!([output])), ..ToolOutcome::default() })
        }
        "meta" => Ok(ToolOutcome {
            meta: Some(arguments(json!({"own": output}))),
            ..ToolOutcome::default()
        }),
        "argument" => Err(ToolError::argument("a", output)),
        "failed" => Err(ToolFailure::new(FailureKind::Tool, output.clone()).hint(output).into()),
        _ => Err(ToolError::Refused {
            code: 7,
            message: output.clone(),
            data: Some(json!([output])),
        }),
    }
}

#[tokio::test]
async fn nested_results_contain_no_secrets() {
    let ways = [
        "text",
        "raw",
        "link",
        "held",
        "held raw",
        "structured",
        "meta",
        "argument",
        "failed",
        "refused",
    ];
    let fixture = FixtureProvider::new();
    let leaks = |given: Object, _: CallContext| async move {
        let how = given["how"].as_str().unwrap_or_default();
        error_from(how)
    };
    let leaks = acting("leaks", json!({}), leaks);
    let spells = acting("spells", json!({}), |given: Object, context: CallContext| async move {
        let heard = context.call("fixture", "leaks", given).await;
        Ok(said(format!("{heard:?}").chars().flat_map(|c| [c, ' ']).collect::<String>()))
    });
    fixture.extra.lock().unwrap().extend([leaks, spells]);
    let screening = Screening::new(Some(Vec::new()), true);
    let server = McpServer::new(ServerSetup { screening, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    for how in ways {
        let spelt = text(&wire.call("spells", json!({"how": how})).await).replace(' ', "");
        assert!(!spelt.contains(&token()), "{how}: {spelt}");
        assert!(spelt.contains("use[redacted:githubtoken]"), "{how}: {spelt}");
        assert!(spelt.contains("\\u{200b}"), "data stays as it is: {how}: {spelt}");
        if how == "link" || how == "held raw" {
            assert!(spelt.contains("x:y?password=hunter22"), "{how}: {spelt}");
        }
    }
}
