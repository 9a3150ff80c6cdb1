//! Calls within calls: the same checks, approval and record as a client's own.

use crate::{
    fixture::{Fixture, acting, said},
    wire::{Wire, key, origin, setup, text},
};
use docent_audit::Settings;
use docent_server::{Action, Audit, Policy, Rule, RuleBounds, Server, Setup};
use docent_tool::{Block, CallContext, Object, Outcome, ToolError};
use serde_json::{Value, json};
use std::{num::NonZeroU32, path::Path, sync::Arc};

fn arguments(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

fn words(outcome: &Outcome) -> String {
    let word = |block: &Block| match block {
        Block::Text { text, .. } => text.clone(),
        other => format!("{other:?}"),
    };
    outcome.content.iter().map(word).collect()
}

/// Calls `echo` twice with the same words, and `samples` once.
async fn script(context: CallContext) -> Result<Outcome, ToolError> {
    let mut told = Vec::new();
    for _ in 0..2 {
        let answer = context.call(("fixture", "echo"), arguments(json!({"text": "hi"}))).await;
        told.push(answer.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
    }
    let others = context.call(("other", "echo"), arguments(json!({"text": "hi"}))).await;
    told.push(others.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
    let bad = context.call(("fixture", "echo"), Object::new()).await;
    told.push(bad.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
    told.push(context.may_use("fixture", "echo").to_string());
    Ok(said(told.join("|")))
}

fn fixture() -> Arc<Fixture> {
    let fixture = Fixture::new();
    let outer = acting("script", json!({}), |_, context| script(context));
    let gone = acting("leaves", json!({}), |_, context: CallContext| async move {
        // Given up half-way: nobody waits for the inner call.
        let inner = context.call(("fixture", "waits"), Object::new());
        drop(tokio::time::timeout(std::time::Duration::from_millis(30), inner).await);
        Ok(said("left"))
    });
    fixture.extra.lock().unwrap().extend([outer, gone]);
    fixture
}

fn lines(path: &Path) -> Vec<(String, String)> {
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
    let audit = Audit::open(&path, Settings::default());
    let server = Server::new(Setup { audit, ..setup(fixture()) }).unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25").await;
    let told = text(&wire.call("script", json!({})).await);
    let parts: Vec<&str> = told.split('|').collect();
    assert_eq!(parts[..2], ["hi", "hi"], "{told}");
    assert!(parts[2].contains("is one of `fixture`, not of `other`"), "{told}");
    assert!(parts[3].contains("`text`"), "{told}");
    assert_eq!(parts[4], "true");
    let want =
        [("echo", "ok"), ("echo", "ok"), ("echo", "refused"), ("echo", "error"), ("script", "ok")];
    let want: Vec<(String, String)> = want.map(|(tool, end)| (tool.into(), end.into())).into();
    assert_eq!(lines(&path), want);
}

#[tokio::test]
async fn one_that_is_given_up_leaves_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = Audit::open(&path, Settings::default());
    let server = Server::new(Setup { audit, ..setup(fixture()) }).unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25").await;
    assert_eq!(text(&wire.call("leaves", json!({})).await), "left");
    assert_eq!(lines(&path)[0], ("waits".to_owned(), "cancelled".to_owned()));
}

#[tokio::test]
async fn one_for_another_provider_costs_nothing_of_a_rate() {
    let outer = acting("mistakes", json!({}), |_, context: CallContext| async move {
        let mut told = Vec::new();
        for provider in ["other", "other", "fixture", "fixture"] {
            let answer = context.call((provider, "echo"), arguments(json!({"text": "hi"}))).await;
            told.push(answer.map_or_else(|error| error.to_string(), |outcome| words(&outcome)));
        }
        Ok(said(told.join("|")))
    });
    let fixture = Fixture::new();
    fixture.extra.lock().unwrap().push(outer);
    let bounds = RuleBounds { rate_per_minute: NonZeroU32::new(1), timeout: None };
    let rule = Rule::for_everybody("policy.rules[0]", vec!["echo".into()], Action::Allow);
    let policy = Policy { rules: vec![Rule { bounds, ..rule }] };
    let server = Server::new(Setup { policy, ..setup(fixture) }).unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25").await;
    let told = text(&wire.call("mistakes", json!({})).await);
    let parts: Vec<&str> = told.split('|').collect();
    assert!(parts[1].contains("is one of `fixture`, not of `other`"), "{told}");
    assert_eq!(parts[2], "hi", "{told}");
    assert!(parts[3].contains("too many calls of echo"), "{told}");
}

#[tokio::test]
async fn each_needs_its_own_approval() {
    let rule = Rule::for_everybody("policy.rules[0]", vec!["echo".into()], Action::Approve);
    let policy = Policy { rules: vec![rule] };
    let server = Server::new(Setup { policy, ..setup(fixture()) }).unwrap();
    let able = json!({"elicitation": {}});
    let mut wire = Wire::legacy_as(&server, "2025-06-18", able, None).await;
    let id = wire.begin("tools/call", json!({"name": "script", "arguments": {}})).await;
    for approve in [true, false] {
        let asked = wire.read().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let answer = json!({"action": "accept", "content": {"approve": approve}});
        wire.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await;
    }
    let told = text(&wire.answer(&id).await);
    assert!(told.starts_with("hi|`echo` was not run"), "{told}");
}

#[tokio::test]
async fn scopes_hold_within_a_call() {
    let keys = vec![key("ann", &["script"])];
    let server = Server::new(Setup { keys, auth_required: true, ..setup(fixture()) }).unwrap();
    let origin = origin(&server, Some("ann-token"));
    let mut wire = Wire::legacy_as(&server, "2025-11-25", json!({}), Some(origin)).await;
    let told = text(&wire.call("script", json!({})).await);
    assert!(told.starts_with("`ann` may not use the tool `echo`"), "{told}");
    assert!(told.ends_with("|false"), "{told}");
}
