//! Sessions: the id, the event stream, resumed streams, and the end.

use crate::{
    events::RecordedEvents,
    server::{
        ReceivedRequest, ResponseStep, ScriptedHttpServer, json, send, status, stream, whole,
        whole_stream, with,
    },
    streamable::{answer, line, notification, request},
};
use docent_dial::{ClientTransport, TransportEvent, TransportFailure};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

const LIST_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

fn greeted(seen: &ReceivedRequest) -> Vec<ResponseStep> {
    let body = answer(seen.json()["id"].clone());
    with("Mcp-Session-Id: s-1\r\n", "200 OK", "application/json", &body)
}

async fn greet(line: &dyn ClientTransport, heard: &RecordedEvents) {
    line.send(request(0, "initialize")).await.unwrap();
    assert_eq!(heard.message().await["id"], 0);
    line.set_revision("2025-11-25");
    line.send(notification("notifications/initialized")).await.unwrap();
}

#[tokio::test]
async fn a_session_is_kept_and_ended() {
    let server =
        ScriptedHttpServer::start(|seen| match (seen.method.as_str(), seen.rpc().as_str()) {
            ("POST", "initialize") => greeted(seen),
            ("POST", "notifications/initialized") => status("202 Accepted"),
            ("POST", _) => json(&answer(seen.json()["id"].clone())),
            ("GET", _) => status("405 Method Not Allowed"),
            _ => status("200 OK"),
        })
        .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/mcp"), &heard).await;
    greet(line.as_ref(), &heard).await;
    assert!(
        server.seen().iter().any(|seen| seen.method == "GET"),
        "the stream is open before anything else is sent"
    );
    line.send(request(1, "tools/list")).await.unwrap();
    heard.message().await;
    line.close().await;
    assert!(matches!(heard.next().await, TransportEvent::Closed(_)));

    let seen = server.seen();
    let session: Vec<_> = seen
        .iter()
        .map(|seen| {
            (
                seen.method.as_str(),
                seen.header("mcp-session-id"),
                seen.header("mcp-protocol-version"),
            )
        })
        .collect();
    let known = (Some("s-1"), Some("2025-11-25"));
    assert_eq!(session[0], ("POST", None, None));
    assert_eq!(session[1], ("POST", known.0, known.1));
    assert!(session.contains(&("GET", known.0, known.1)), "{session:?}");
    assert_eq!(session.last().unwrap(), &("DELETE", known.0, known.1));
    assert_eq!(seen.len(), 5, "a missing stream is requested once");
}

#[tokio::test]
async fn an_event_stream_without_a_head_blocks_nothing() {
    let server =
        ScriptedHttpServer::start(|seen| match (seen.method.as_str(), seen.rpc().as_str()) {
            ("POST", "initialize") => greeted(seen),
            ("GET", _) => vec![ResponseStep::Hold],
            _ => status("202 Accepted"),
        })
        .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/mcp"), &heard).await;
    greet(line.as_ref(), &heard).await;
    line.close().await;
    server.gone().await;
}

#[tokio::test]
async fn the_event_stream_is_resumed() {
    let gets = Arc::new(AtomicUsize::new(0));
    let count = gets.clone();
    let server =
        ScriptedHttpServer::start(move |seen| match (seen.method.as_str(), seen.rpc().as_str()) {
            ("POST", "initialize") => greeted(seen),
            ("GET", _) => match count.fetch_add(1, Ordering::SeqCst) {
                0 => stream(&format!("id: 7\nretry: 1\ndata: {LIST_CHANGED}\n\n")),
                1 => vec![ResponseStep::Cut],
                2 => status("503 Service Unavailable"),
                _ => {
                    let mut steps = stream(&format!("data: {LIST_CHANGED}\n\n"));
                    steps.push(ResponseStep::Hold);
                    steps
                }
            },
            _ => status("202 Accepted"),
        })
        .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/mcp"), &heard).await;
    greet(line.as_ref(), &heard).await;
    assert_eq!(heard.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(heard.message().await["method"], "notifications/tools/list_changed");
    let asked: Vec<_> = server
        .seen()
        .iter()
        .filter(|seen| seen.method == "GET")
        .map(|seen| seen.header("last-event-id").map(str::to_owned))
        .collect();
    let seven = Some("7".to_owned());
    assert_eq!(asked, [None, seven.clone(), seven.clone(), seven]);
    line.close().await;
    server.gone().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_resumed() {
    let server = ScriptedHttpServer::start(|seen| match (seen.method.as_str(), seen.number) {
        ("POST", _) => stream("id: a\nretry: 20\ndata:\n\n"),
        (_, 1) => stream(&format!("id: b\ndata: {LIST_CHANGED}\n\ndata: cut o")),
        _ => whole_stream(&format!("id: c\ndata: {}\n\n", answer(1))),
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/mcp"), &heard).await;
    line.send(request(1, "x")).await.unwrap();
    assert_eq!(heard.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(heard.message().await["id"], 1);
    let seen = server.seen();
    let asked: Vec<_> =
        seen.iter().map(|seen| (seen.method.as_str(), seen.header("last-event-id"))).collect();
    assert_eq!(asked, [("POST", None), ("GET", Some("a")), ("GET", Some("b"))]);
}

#[tokio::test]
async fn an_answer_that_can_not_be_resumed_is_lost() {
    let check = |first: &'static str,
                 rest: fn() -> Vec<ResponseStep>,
                 modern: bool,
                 expected: &'static str| async move {
        let server = ScriptedHttpServer::start(move |seen| match seen.method.as_str() {
            "POST" => stream(first),
            _ => rest(),
        })
        .await;
        let heard = RecordedEvents::new();
        let line = line(server.url("/mcp"), &heard).await;
        if modern {
            line.set_revision("2026-07-28");
        }
        line.send(request(1, "x")).await.unwrap();
        let (id, failure) = heard.lost().await;
        assert_eq!(id, 1);
        assert!(
            matches!(failure, TransportFailure::Lost(_) | TransportFailure::Malformed(_)),
            "{failure:?}"
        );
        assert!(failure.to_string().contains(expected), "{failure}");
    };
    check("data: 1\n", Vec::new, false, "stream ended before the answer").await;
    check("id: 1\nretry: 1\n\n", Vec::new, true, "stream ended before the answer").await;
    check("id: 1\nretry: 1\n\n", || status("405 Method Not Allowed"), false, "405").await;
    check("id: 1\nretry: 1\n\n", || json("{}"), false, "application/json").await;
    check("id: 1\nretry: 1\n\n", || vec![ResponseStep::Cut], false, "5 times").await;
    check("id: 1\nretry: 1\n\n", || stream(""), false, "5 times").await;
}

#[tokio::test]
async fn a_lost_session_is_reported_once_and_can_be_restarted() {
    let greetings = AtomicUsize::new(0);
    let server = ScriptedHttpServer::start(move |seen| match (seen.method.as_str(), seen.rpc().as_str()) {
        ("POST", "initialize") => {
            let count = greetings.fetch_add(1, Ordering::SeqCst);
            let fields = format!("Mcp-Session-Id: s-{count}\r\n");
            with(&fields, "200 OK", "application/json", &answer(seen.json()["id"].clone()))
        }
        ("POST", "notifications/initialized") => status("202 Accepted"),
        ("POST", "unknown") => whole(
            "404 Not Found",
            "application/json",
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"no"}}"#,
        ),
        ("POST", _) if seen.header("mcp-session-id") == Some("s-0") => whole(
            "404 Not Found",
            "application/json",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        ("POST", _) => json(&answer(seen.json()["id"].clone())),
        ("GET", _) => {
            let mut steps = stream("");
            steps.push(ResponseStep::Hold);
            steps
        }
        _ => status("200 OK"),
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/mcp"), &heard).await;
    greet(line.as_ref(), &heard).await;
    server.arrived(3).await;
    line.send(request(9, "unknown")).await.unwrap();
    assert_eq!(heard.message().await["error"]["code"], -32601, "the session was not lost");
    for id in [1, 2] {
        line.send(request(id, "tools/list")).await.unwrap();
    }
    let mut events = Vec::new();
    for _ in 0..3 {
        events.push(heard.next().await);
    }
    assert_eq!(
        events.iter().filter(|event| matches!(event, TransportEvent::SessionLost)).count(),
        1,
        "{events:?}"
    );
    let lost = |event: &&TransportEvent| {
        matches!(
            event,
            TransportEvent::Lost { failure: TransportFailure::Refused { status: 404, .. }, .. }
        )
    };
    assert_eq!(events.iter().filter(lost).count() + 1, 3, "{events:?}");
    server.gone().await;

    greet(line.as_ref(), &heard).await;
    line.send(request(3, "tools/list")).await.unwrap();
    assert_eq!(heard.message().await["id"], 3);
    let seen = server.seen();
    let asked = seen.iter().find(|seen| seen.json()["id"] == 3).unwrap();
    assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
}

#[tokio::test]
async fn a_request_that_is_only_accepted_may_be_answered_on_the_event_stream() {
    let go = Arc::new(tokio::sync::Semaphore::new(0));
    let hold = go.clone();
    let server =
        ScriptedHttpServer::start(move |seen| match (seen.method.as_str(), seen.rpc().as_str()) {
            ("POST", "initialize") => greeted(seen),
            ("GET", _) => {
                let mut steps = stream("");
                steps.extend([
                    ResponseStep::Await(hold.clone()),
                    send(format!("data: {}\n\n", answer(1))),
                    ResponseStep::Hold,
                ]);
                steps
            }
            _ => status("202 Accepted"),
        })
        .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/mcp"), &heard).await;
    greet(line.as_ref(), &heard).await;
    line.send(request(1, "x")).await.unwrap();
    server.arrived(4).await;
    go.add_permits(1);
    assert_eq!(heard.message().await["id"], 1);
}
