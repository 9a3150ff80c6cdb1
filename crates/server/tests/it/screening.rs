//! What leaves for a model: without secrets, and with nothing hidden.

use crate::{
    fixture::{Fixture, acting},
    wire::{Wire, setup, text},
};
use docent_server::{Audit, Screening, Server, Setup};
use docent_tool::{Block, Outcome, ToolError};
use serde_json::json;
use std::sync::Arc;

const CONFIGURED: &str = "a-key-of-the-house";

/// A token of the right form that nobody has.
fn token() -> String {
    ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat()
}

fn fixture() -> Arc<Fixture> {
    let fixture = Fixture::new();
    let tells = |fails: bool| {
        move |_, context: docent_tool::CallContext| async move {
            let text = format!("use {} or {CONFIGURED}, \u{202e}backwards\u{200b}", token());
            if fails {
                return Err(ToolError::failed(text));
            }
            context.emit(Block::text(format!("first {}", token()))).await;
            let structured = Some(json!({"deep": [{"text": text}], "count": 1}));
            Ok(Outcome { content: vec![Block::text(text)], structured, ..Outcome::default() })
        }
    };
    let mut extra = fixture.extra.lock().unwrap();
    extra.push(acting("tells_secrets", json!({}), tells(false)));
    extra.push(acting("fails_with_secrets", json!({}), tells(true)));
    drop(extra);
    fixture
}

fn server(screening: Screening) -> Arc<Server> {
    Server::new(Setup { screening, ..setup(fixture()) }).unwrap()
}

#[tokio::test]
async fn secrets_and_hidden_characters_stay_here() {
    let server = server(Screening::new(Some(vec![CONFIGURED.into()]), true));
    for tool in ["tells_secrets", "fails_with_secrets"] {
        let mut wire = Wire::legacy(&server, "2025-11-25").await;
        let reply = wire.call(tool, json!({})).await.to_string();
        assert!(!reply.contains(&token()) && !reply.contains(CONFIGURED), "{tool}: {reply}");
        assert!(reply.contains("[redacted: "), "{tool}: {reply}");
        assert!(reply.contains("<U+202E>") && reply.contains("<U+200B>"), "{tool}: {reply}");
        assert!(!reply.contains('\u{202e}') && !reply.contains('\u{200b}'), "{tool}: {reply}");
    }
}

#[tokio::test]
async fn each_half_can_be_turned_off() {
    for (screening, has_token, is_hidden) in [
        (Screening::default(), true, true),
        (Screening::new(None, true), true, false),
        (Screening::new(Some(Vec::new()), false), false, true),
    ] {
        let mut wire = Wire::legacy(&server(screening), "2025-11-25").await;
        let told = wire.call("tells_secrets", json!({})).await;
        assert_eq!(told.to_string().contains(&token()), has_token, "{told}");
        assert_eq!(
            text(&told).contains('\u{202e}') || told.to_string().contains('\u{202e}'),
            is_hidden
        );
    }
}

#[tokio::test]
async fn the_audit_line_is_screened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let screening = Screening::new(Some(Vec::new()), true);
    let audit = Audit::to_file(&path, 1 << 20);
    let server = Server::new(Setup { screening, audit, ..setup(fixture()) }).unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25").await;
    let uri = format!("memo://{}", token());
    wire.ask("resources/read", json!({"uri": uri})).await;
    let lines = std::fs::read_to_string(&path).unwrap();
    assert!(lines.contains("resources/read") && !lines.contains(&token()), "{lines}");
}
