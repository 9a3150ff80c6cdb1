//! HTTP with SSE, and detecting that a server uses it.

use crate::{
    events::RecordedEvents,
    server::{ResponseStep, ScriptedHttpServer, json, send, status, stream, whole, with},
    streamable::{answer, notification, request},
};
use docent_dial::{
    ClientTransport, HttpSettings, TransportEvent, TransportFailure, TransportListener,
    open_detecting, sse,
};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// A server of the first revision: answers to what is posted come on the stream.
async fn first_revision(refusal: &'static str) -> ScriptedHttpServer {
    let (sender, receiver) = mpsc::channel::<String>(100);
    let receiver = Mutex::new(Some(receiver));
    ScriptedHttpServer::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/sse") => {
            let mut steps = stream(": hello\n\nevent: endpoint\ndata: /messages?session=5\n\n");
            if let Some(receiver) = receiver.lock().unwrap().take() {
                steps.push(ResponseStep::Relay(receiver));
            }
            steps
        }
        ("POST", "/messages?session=5") => match seen.rpc().as_str() {
            "refused" => whole("400 Bad Request", "text/plain", "no"),
            "failed" => whole(
                "400 Bad Request",
                "application/json",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#,
            ),
            "end" => {
                sender.try_send(String::new()).unwrap();
                status("202 Accepted")
            }
            _ => {
                let id = seen.json()["id"].clone();
                if !id.is_null() {
                    sender.try_send(format!("event: message\ndata: {}\n\n", answer(id))).unwrap();
                }
                status("202 Accepted")
            }
        },
        _ => whole(refusal, "text/plain", "nothing here"),
    })
    .await
}

#[tokio::test]
async fn messages_go_to_the_address_that_the_stream_names() {
    let server = first_revision("404 Not Found").await;
    let heard = RecordedEvents::new();
    let mut settings = HttpSettings::new(server.url("/sse"));
    settings.headers.push(("X-Key".into(), "k".into()));
    let line = sse::open(settings, heard.clone()).await.unwrap();
    line.send(request(1, "initialize")).await.unwrap();
    assert_eq!(heard.message().await["id"], 1);
    line.set_revision("2024-11-05");
    line.send(notification("notifications/initialized")).await.unwrap();
    line.send(request(2, "refused")).await.unwrap();
    let (id, failure) = heard.lost().await;
    assert_eq!(id, 2);
    assert!(matches!(failure, TransportFailure::Refused { status: 400, .. }), "{failure:?}");
    line.send(request(3, "failed")).await.unwrap();
    assert_eq!(heard.message().await["id"], 3);
    let seen = server.seen();
    assert_eq!(seen[0].header("accept"), Some("text/event-stream"));
    assert!(seen.iter().all(|seen| seen.header("x-key") == Some("k")));
    line.send(notification("end")).await.unwrap();
    assert!(matches!(heard.next().await, TransportEvent::Closed(TransportFailure::Lost(_))));
    assert!(matches!(line.send(request(4, "x")).await, Err(TransportFailure::Unreachable(_))));
    line.close().await;
    assert!(heard.is_quiet().await);
}

#[tokio::test]
async fn closing_ends_the_stream() {
    let server = ScriptedHttpServer::start(|_| {
        let mut steps = stream("event: endpoint\ndata: /m\n\n");
        steps.push(ResponseStep::Hold);
        steps
    })
    .await;
    let heard = RecordedEvents::new();
    let line = sse::open(HttpSettings::new(server.url("/")), heard.clone()).await.unwrap();
    line.close().await;
    assert!(matches!(heard.next().await, TransportEvent::Closed(_)));
    server.gone().await;
}

#[tokio::test]
async fn a_stream_that_is_not_what_it_should_be_is_refused() {
    let check = |steps: fn() -> Vec<ResponseStep>, expected: &'static str| async move {
        let server = ScriptedHttpServer::start(move |_| steps()).await;
        let mut settings = HttpSettings::new(server.url("/sse"));
        settings.message_bytes = 1000;
        settings.idle_timeout = std::time::Duration::from_millis(300);
        let failure = sse::open(settings, RecordedEvents::new()).await.err().unwrap();
        assert!(failure.to_string().contains(expected), "{failure}");
    };
    check(|| stream("event: endpoint\ndata: http://127.0.0.1:1/m\n\n"), "another server").await;
    check(|| stream("event: endpoint\ndata: //evil.test/m\n\n"), "another server").await;
    check(|| stream("event: endpoint\ndata: http://[\n\n"), "not a valid URL").await;
    check(|| stream("data: x\n\n"), "ended the stream").await;
    check(|| stream(&format!("data: {}\n\n", "x".repeat(2000))), "more than 1000").await;
    check(|| json("{}"), "not an event stream").await;
    check(|| whole("404 Not Found", "", "what?"), "404: what?").await;
    check(
        || {
            vec![
                send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: wait"),
                ResponseStep::Hold,
            ]
        },
        "in time",
    )
    .await;
    check(|| with("Location: http://127.0.0.1:1/\r\n", "307 x", "", ""), "another server").await;
}

async fn detecting(
    server: &ScriptedHttpServer,
    path: &str,
    heard: &Arc<RecordedEvents>,
) -> Arc<dyn ClientTransport> {
    let heard: Arc<dyn TransportListener> = heard.clone();
    open_detecting(HttpSettings::new(server.url(path)), heard).await.unwrap()
}

#[tokio::test]
async fn a_server_without_streamable_http_is_detected() {
    for refusal in ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"] {
        let server = first_revision(refusal).await;
        let heard = RecordedEvents::new();
        let line = detecting(&server, "/sse", &heard).await;
        line.send(request(1, "initialize")).await.unwrap();
        assert_eq!(heard.message().await["id"], 1);
        line.send(notification("notifications/initialized")).await.unwrap();
        line.send(request(2, "tools/list")).await.unwrap();
        assert_eq!(heard.message().await["id"], 2);
        let tried: Vec<_> =
            server.seen().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect();
        assert_eq!(tried[..3], ["POST /sse", "GET /sse", "POST /messages?session=5"]);
        line.close().await;
        assert!(matches!(heard.next().await, TransportEvent::Closed(_)));
        assert!(heard.is_quiet().await);
    }
}

#[tokio::test]
async fn only_a_first_initialize_is_tried_twice() {
    let server =
        ScriptedHttpServer::start(|seen| match (seen.method.as_str(), seen.rpc().as_str()) {
            ("POST", "server/discover") => status("405 Method Not Allowed"),
            ("POST", "initialize") if seen.json()["id"] == 2 => json(&answer(2)),
            ("POST", "broken") => vec![ResponseStep::Cut],
            _ => status("404 Not Found"),
        })
        .await;
    let heard = RecordedEvents::new();
    let line = detecting(&server, "/", &heard).await;
    line.send(request(1, "server/discover")).await.unwrap();
    assert_eq!(
        heard.lost().await.0,
        1,
        "this is reported, so that the client tries the other protocol mode"
    );
    line.send(request(2, "initialize")).await.unwrap();
    assert_eq!(heard.message().await["id"], 2);
    line.send(request(3, "initialize")).await.unwrap();
    assert_eq!(heard.lost().await.0, 3, "a server that has answered is known");
    assert!(server.seen().iter().all(|seen| seen.method == "POST"));
}

#[tokio::test]
async fn a_server_with_neither_is_refused_once() {
    let server = ScriptedHttpServer::start(|_| whole("404 Not Found", "text/plain", "lost?")).await;
    let heard = RecordedEvents::new();
    let line = detecting(&server, "/", &heard).await;
    line.send(request(1, "initialize")).await.unwrap();
    let (id, failure) = heard.lost().await;
    assert_eq!(id, 1);
    assert!(
        matches!(failure, TransportFailure::Refused { status: 404, ref text } if text == "lost?"),
        "{failure:?}"
    );
    line.close().await;
    assert!(matches!(heard.next().await, TransportEvent::Closed(_)));
}
