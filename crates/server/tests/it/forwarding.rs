//! What a client receives while a call runs.

use crate::{
    fixture::{FixtureProvider, acting, said},
    wire::{WireClient, modern, origin, setup, text},
};
use docent_server::McpServer;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn progress_grows_and_comes_before_the_answer() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    for tool in ["steps", "slow_steps"] {
        let params = json!({"name": tool, "_meta": {"progressToken": "t1"}});
        wire.ask("tools/call", params).await;
        let steps: Vec<&Value> = wire.seen.iter().map(|message| &message["params"]).collect();
        let done: Vec<f64> = steps.iter().map(|step| step["progress"].as_f64().unwrap()).collect();
        assert_eq!(done, [1.0, 2.0, 3.0], "{tool}");
        assert!(steps.iter().all(|step| step["progressToken"] == "t1"
            && step["total"] == 3.0
            && step["message"].is_string()));
        wire.call(tool, json!({})).await;
        assert!(wire.seen.is_empty(), "no progress was requested: {:?}", wire.seen);
    }
}

/// The steps that a client receives of a tool that reports `count` of them, with a pause after each.
async fn steps_heard(count: u32, pause: Duration) -> Vec<f64> {
    let fixture = FixtureProvider::new();
    fixture.extra.lock().unwrap().push(acting("many", json!({}), move |_, context| async move {
        for done in 1..=count {
            context.progress(done.into(), Some(count.into()), "");
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(said("done"))
    }));
    let server = McpServer::new(setup(fixture)).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    wire.ask("tools/call", json!({"name": "many", "_meta": {"progressToken": 1}})).await;
    let steps = wire.seen.iter().map(|message| message["params"]["progress"].as_f64().unwrap());
    steps.collect()
}

/// The clock is paused while work is pending, so that a busy machine makes no difference.
#[tokio::test(start_paused = true)]
async fn a_client_hears_of_at_most_ten_steps_a_second_and_of_the_last() {
    for (count, pause, expected) in [
        (3, 0, 3..=3),
        (10, 0, 10..=10),
        (1000, 0, 10..=10),
        (30, 200, 30..=30),
        (500, 10, 45..=60),
        (2000, 5, 90..=110),
    ] {
        let heard = steps_heard(count, Duration::from_millis(pause)).await;
        assert!(heard.is_sorted_by(|one, other| one < other), "{heard:?}");
        assert_eq!(heard.last(), Some(&f64::from(count)), "{count} every {pause} ms");
        assert!(expected.contains(&heard.len()), "{} of {count} every {pause} ms", heard.len());
    }
}

#[tokio::test]
async fn log_lines_follow_the_session_s_level() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    let cases = [
        (None, vec!["info", "error"]),
        (Some("debug"), vec!["debug", "info", "error"]),
        (Some("error"), vec!["error"]),
        (Some("emergency"), vec![]),
    ];
    for (level, want) in cases {
        if let Some(level) = level {
            assert_eq!(
                wire.ask("logging/setLevel", json!({"level": level})).await["result"],
                json!({})
            );
        }
        wire.call("logs", json!({})).await;
        let levels: Vec<&str> =
            wire.seen.iter().map(|message| message["params"]["level"].as_str().unwrap()).collect();
        assert_eq!(levels, want, "{level:?}");
        assert!(wire.seen.iter().all(|message| message["params"]["logger"] == "fixture"));
    }
    let mut plain = WireClient::legacy(&server, "1.0").await;
    plain.call("logs", json!({})).await;
    assert!(plain.seen.is_empty(), "the plain dialect hears none until it asks");
    let mut other = WireClient::legacy(&server, "2025-06-18").await;
    other.call("logs", json!({})).await;
    assert_eq!(other.seen.len(), 2, "a level belongs to its session");
}

#[tokio::test]
async fn log_lines_follow_the_request_s_level_in_the_newest_revision() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    wire.ask("logging/setLevel", json!({"level": "debug"})).await;
    for (level, want) in [(None, 0), (Some("info"), 2), (Some("debug"), 3)] {
        let mut params = modern(json!({}));
        params["name"] = json!("logs");
        if let Some(level) = level {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        wire.ask("tools/call", params).await;
        assert_eq!(wire.seen.len(), want, "{level:?}");
    }
}

#[tokio::test]
async fn messages_of_another_server_are_forwarded_unchanged() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    wire.ask("logging/setLevel", json!({"level": "debug"})).await;
    wire.ask("tools/call", json!({"name": "relays", "_meta": {"progressToken": 7}})).await;
    let written = |mut message: Value| {
        docent_wire::put_back(&mut message);
        message["params"].take()
    };
    let received: Vec<Value> = wire.seen.into_iter().map(written).collect();
    let step = json!({"progressToken": 7, "progress": 1, "total": 3, "odd": 1});
    let line =
        json!({"level": "error", "logger": "other", "data": "said", "odd": 2, "_meta": {"own": 1}});
    assert_eq!(received, [step, line]);
}

#[tokio::test]
async fn pieces_come_first_in_the_answer_and_as_messages() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-06-18").await;
    assert_eq!(text(&wire.call("emits", json!({})).await), "first\nsecond\nlast");
    assert!(wire.seen.is_empty());
    let reply =
        wire.ask("tools/call", json!({"name": "emits", "_meta": {"progressToken": 7}})).await;
    assert_eq!(text(&reply), "first\nsecond\nlast");
    let received: Vec<&str> =
        wire.seen.iter().map(|message| message["params"]["message"].as_str().unwrap()).collect();
    assert_eq!(received, ["first", "second"]);
}

#[tokio::test]
async fn pieces_stream_to_a_caller_that_wants_them() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut origin = origin(&server, None);
    origin.streams = true;
    let mut wire = WireClient::legacy_as(&server, "1.0", json!({}), Some(origin)).await;
    let id = wire.begin("tools/call", json!({"name": "emits"})).await;
    let reply = wire.answer(&id).await;
    assert_eq!(text(&reply), "last", "what has been sent is not sent twice");
    let pieces: Vec<Value> = wire.seen.iter().map(|message| message["params"].clone()).collect();
    let piece = |text: &str| json!({"requestId": id, "content": [{"type": "text", "text": text}]});
    assert_eq!(pieces, [piece("first"), piece("second")]);
    assert_eq!(wire.methods_seen(), ["docent/partial", "docent/partial"]);
}
