//! Answers in forms that the protocol does not have: in parts, without content, with resources that are not wrapped;
//! and the messages to a server of the plain dialect.

use crate::stage::{
    CallBehavior, TestWorkerStarter, call, hub, result, session, spec, text, tool, tools, until,
    words,
};
use docent_hub::{RetryPolicy, ServerStateStore};
use docent_tool::{AnswerBlock, EXTRA, ToolError, ToolOutcome, no_client};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// The outcome of a call that the server answers with these messages, all with the id of the request.
async fn outcome(answers: Vec<Value>) -> ToolOutcome {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("act")]), move |message| {
            let answers = answers
                .iter()
                .map(|answer| json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}));
            CallBehavior::Says(answers.collect())
        }),
    );
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    call(&hub, "one__act", &no_client()).await.unwrap()
}

fn part(text: &str, partial: bool) -> Value {
    json!({"content": [{"type": "text", "text": text}], "partial": partial})
}

#[tokio::test]
async fn parts_are_collected_until_the_last() {
    let whole = outcome(vec![part("const ", true), part("foo = ", true), part("42;", false)]).await;
    assert_eq!((whole.content.len(), words(&whole).as_str()), (1, "const foo = 42;"));
    assert!(!whole.partial && !whole.meta.unwrap().contains_key(EXTRA));
}

#[tokio::test]
async fn parts_without_a_last_one_are_an_answer_that_says_so() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("act")]), |message| {
            let first =
                json!({"jsonrpc": "2.0", "id": message["id"], "result": part("const ", true)});
            CallBehavior::Last(vec![first])
        }),
    );
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let lost = call(&hub, "one__act", &no_client()).await.unwrap();
    assert!(lost.partial);
    assert_eq!(
        words(&lost),
        "const Partial result: the server `one` did not send the rest of its answer."
    );
}

#[tokio::test]
async fn a_part_starts_the_timeout_again_and_is_kept_when_it_passes() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts
        .put("one", session(json!([tool("act")]), |message| result(message, part("const ", true))));
    let mut impatient = spec("one");
    impatient.timeout = Duration::from_millis(200);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![impatient]);
    let cut = call(&hub, "one__act", &no_client()).await.unwrap();
    assert!(cut.partial && words(&cut).starts_with("const "), "{cut:?}");
    until(|| !scripts.of("notifications/cancelled").is_empty()).await;
}

#[tokio::test]
async fn an_answer_has_a_bounded_number_of_blocks() {
    let blocks = |count: usize| {
        let block = json!({"type": "image", "data": "", "mimeType": "image/png"});
        vec![block; count]
    };
    let whole = outcome(vec![json!({"content": blocks(10_002)})]).await;
    assert_eq!(whole.content.len(), 10_001);
    assert_eq!(
        words(&whole),
        "2 more blocks of this answer are left out: an answer may have 10000."
    );
    let part = json!({"content": blocks(6000), "partial": true});
    let cut = outcome(vec![part.clone(), part.clone(), part]).await;
    assert!(cut.partial && words(&cut).starts_with("2000 more blocks"), "{}", words(&cut));
}

/// A server that answers with parts that are too large in total, and never sends the last one.
fn endless(answer: Value) -> Arc<TestWorkerStarter> {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("act")]), move |message| {
            let part = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer});
            CallBehavior::Says(vec![part.clone(), part])
        }),
    );
    scripts
}

fn large_part() -> Value {
    let block = json!({"type": "image", "data": "", "mimeType": "image/png"});
    json!({"content": vec![block; 6000], "partial": true})
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_cancelled_at_its_server() {
    let scripts = endless(large_part());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    assert!(call(&hub, "one__act", &no_client()).await.unwrap().partial);
    until(|| !scripts.of("notifications/cancelled").is_empty()).await;
    let id = scripts.of("tools/call")[0]["id"].clone();
    assert_eq!(scripts.of("notifications/cancelled")[0]["params"]["requestId"], id);
}

#[tokio::test]
async fn an_incomplete_answer_is_not_kept_and_is_a_failure() {
    let mut part = large_part();
    part["ttlMs"] = json!(60_000);
    let scripts = endless(part);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    for _ in 0..2 {
        assert!(call(&hub, "one__act", &no_client()).await.unwrap().partial);
    }
    assert_eq!(scripts.of("tools/call").len(), 2);
    let health = hub.status().remove(0).health;
    assert_eq!(health.failures, 2, "{health:?}");
}

#[tokio::test]
async fn a_result_without_content_is_its_json_as_text() {
    let cases = [
        (json!({"data": [1, 2]}), r#"{"data":[1,2]}"#),
        (json!({"structuredContent": {"n": 1}}), r#"{"n":1}"#),
        (json!({"isError": false, "_meta": {"a": 1}}), "{}"),
        (json!("plain"), "plain"),
        (json!([1]), "[1]"),
    ];
    for (answer, want) in cases {
        let bare = outcome(vec![answer.clone()]).await;
        assert_eq!(words(&bare), want, "{answer}");
        if let Some(data) = answer.get("data") {
            assert_eq!(bare.meta.unwrap()[EXTRA]["data"], *data, "it stays where it was");
        }
    }
    let empty = outcome(vec![json!({"content": []})]).await;
    assert!(empty.content.is_empty(), "{empty:?}");
}

#[tokio::test]
async fn a_flat_resource_is_wrapped() {
    let flat =
        json!({"type": "resource", "uri": "file:///a", "mimeType": "text/plain", "text": "t"});
    let answer = outcome(vec![json!({"content": [flat]})]).await;
    let [AnswerBlock::Raw(block)] = answer.content.as_slice() else { panic!("{answer:?}") };
    let resource = json!({"uri": "file:///a", "mimeType": "text/plain", "text": "t"});
    assert_eq!(*block, json!({"type": "resource", "resource": resource}));
}

/// How often a tool with these annotations is called when it always fails with this code.
async fn calls(annotations: Option<Value>, code: i64, retry: Option<RetryPolicy>) -> usize {
    let scripts = Arc::new(TestWorkerStarter::default());
    let mut definition = tool("act");
    if let Some(annotations) = annotations {
        definition["annotations"] = annotations;
    }
    scripts.put(
        "one",
        session(json!([definition]), move |message| {
            let error = json!({"code": code, "message": "no"});
            CallBehavior::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})])
        }),
    );
    let hub = hub(
        &scripts,
        ServerStateStore::disabled(),
        vec![docent_hub::ServerSpec { retry, ..spec("one") }],
    );
    let failed = call(&hub, "one__act", &no_client()).await.unwrap_err();
    assert!(matches!(failed, ToolError::Refused { .. }), "{failed}");
    scripts.of("tools/call").len()
}

#[tokio::test(start_paused = true)]
async fn calls_are_repeated_where_the_user_says_so() {
    let backoff = Duration::from_secs(1);
    let retry = |attempts| Some(RetryPolicy { codes: vec![-32603, -32050], attempts, backoff });
    assert_eq!(calls(None, -32603, None).await, 1, "not without the setting");
    assert_eq!(calls(None, -32603, retry(2)).await, 3);
    assert_eq!(calls(None, -32050, retry(5)).await, 6);
    assert_eq!(calls(None, -32000, retry(2)).await, 1, "another code");
    for (annotations, want) in [
        (json!({"readOnlyHint": false}), 1),
        (json!({"destructiveHint": true}), 1),
        (json!({"destructiveHint": false}), 1),
        (json!({"idempotentHint": false}), 1),
        (json!({"destructiveHint": false, "idempotentHint": true}), 3),
        (json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": false}), 3),
        (json!({"openWorldHint": true}), 3),
    ] {
        let made = calls(Some(annotations.clone()), -32603, retry(2)).await;
        assert_eq!(made, want, "what the tool says of its writes: {annotations}");
    }
    let begin = tokio::time::Instant::now();
    calls(None, -32603, retry(2)).await;
    assert_eq!(
        begin.elapsed().as_secs(),
        3,
        "1 s before the first repetition, 2 s before the second"
    );
}

#[tokio::test]
async fn a_server_of_the_plain_dialect_is_shut_down() {
    for (version, want) in [("1.0", 1), ("2025-06-18", 0)] {
        let scripts = Arc::new(TestWorkerStarter::default());
        let inner = session(json!([tool("act")]), |message| text(message, "ok"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        scripts.put("one", move |message: &Value| {
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            noted.lock().unwrap().push(method.clone());
            let opening = json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}});
            match method.as_str() {
                "initialize" => result(message, opening),
                "shutdown" => result(message, Value::Null),
                _ => inner(message),
            }
        });
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
        tools(&hub).await;
        hub.close().await;
        assert_eq!(scripts.of("shutdown").len(), want, "{version}");
        if want == 1 {
            assert_eq!(seen.lock().unwrap().last().unwrap(), "shutdown");
        }
    }
}
