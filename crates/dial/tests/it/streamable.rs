//! Streamable HTTP as specified: what a request contains, and every form of answer.

use crate::{
    events::RecordedEvents,
    server::{
        ResponseStep, ScriptedHttpServer, json, send, status, stream, whole, whole_stream, with,
    },
};
use docent_dial::{
    ClientTransport, HttpSettings, Outgoing, TransportEvent, TransportFailure,
    headers::{FIRST_STATELESS_REVISION, VERSION_META_KEY},
    http,
};
use serde_json::{Value, json as value};
use std::sync::Arc;

pub(crate) async fn line(url: String, heard: &Arc<RecordedEvents>) -> Arc<dyn ClientTransport> {
    http::open(HttpSettings::new(url), heard.clone()).await.unwrap()
}

pub(crate) fn request(id: impl Into<Value>, method: &str) -> Outgoing {
    value!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": {"name": "echo"}}).into()
}

pub(crate) fn notification(method: &str) -> Outgoing {
    value!({"jsonrpc": "2.0", "method": method}).into()
}

pub(crate) fn answer(id: impl Into<Value>) -> String {
    value!({"jsonrpc": "2.0", "id": id.into(), "result": {"unknown": [1.5, "é"]}}).to_string()
}

fn event(data: &str) -> String {
    format!("event: message\ndata: {data}\n\n")
}

#[tokio::test]
async fn a_message_goes_out_with_its_fields() {
    let server = ScriptedHttpServer::start(|seen| json(&answer(seen.json()["id"].clone()))).await;
    let heard = RecordedEvents::new();
    let mut settings = HttpSettings::new(server.url("/mcp?key=1"));
    settings.headers.push(("Authorization".into(), "Bearer given".into()));
    let line = http::open(settings, heard.clone()).await.unwrap();
    assert!(server.seen().is_empty(), "opening says nothing");

    line.send(request(1, "ping")).await.unwrap();
    assert_eq!(heard.message().await.to_string(), answer(1));
    line.set_revision("2025-06-18");
    line.send(request(2, "tools/call")).await.unwrap();
    heard.message().await;
    let mut modern = request("three", "tools/call");
    modern.message["params"]["_meta"] = value!({VERSION_META_KEY: FIRST_STATELESS_REVISION});
    modern.headers.push(("Mcp-Param-Region".into(), "eu".into()));
    line.send(modern.clone()).await.unwrap();
    heard.message().await;

    let seen = server.seen();
    let [first, second, third] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/mcp?key=1"));
    assert_eq!(first.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(first.header("authorization"), Some("Bearer given"));
    assert_eq!(first.header("mcp-protocol-version"), None);
    assert_eq!(first.json(), request(1, "ping").message);
    assert_eq!(second.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(second.header("mcp-method"), None);
    assert_eq!(third.header("mcp-protocol-version"), Some(FIRST_STATELESS_REVISION));
    assert_eq!(third.header("mcp-method"), Some("tools/call"));
    assert_eq!(third.header("mcp-name"), Some("echo"));
    assert_eq!(third.header("mcp-param-region"), Some("eu"));
    assert_eq!(third.json(), modern.message);
    assert!(seen.iter().all(|seen| seen.connection == 0), "one connection serves all three");
}

#[tokio::test]
async fn answers_come_in_every_shape() {
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
    let one = answer(1);
    let failed = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}"#;
    let nameless = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-5,"message":"no"}}"#;
    let cases: Vec<(Vec<ResponseStep>, Vec<&str>)> = vec![
        (json(&one), vec![&one]),
        (json(&format!("[{progress},{one}]")), vec![progress, &one]),
        (whole("200 OK", "Application/JSON; charset=utf-8", &one), vec![&one]),
        (whole("200 OK", "", &one), vec![&one]),
        (whole_stream(&event(&one)), vec![&one]),
        (
            whole_stream(&format!(
                ": hello\n\nevent: ping\ndata: 1\n\n{}{}",
                event(progress),
                event(&one)
            )),
            vec![progress, &one],
        ),
        (whole_stream(&event(&format!("[{progress},{one}]"))), vec![progress, &one]),
        (stream(&event(&one)), vec![&one]),
        (whole("400 Bad Request", "application/json", failed), vec![failed]),
        (whole("404 Not Found", "application/json", nameless), vec![failed]),
        (whole("500 Internal Server Error", "text/plain", nameless), vec![failed]),
        (
            json(r#"{"jsonrpc":"2.0","error":{"code":-5,"message":"no"}}"#),
            vec![r#"{"jsonrpc":"2.0","error":{"code":-5,"message":"no"},"id":1}"#],
        ),
    ];
    for (steps, expected) in cases {
        let steps = std::sync::Mutex::new(Some(steps));
        let server =
            ScriptedHttpServer::start(move |_| steps.lock().unwrap().take().unwrap()).await;
        let heard = RecordedEvents::new();
        let line = line(server.url("/"), &heard).await;
        line.send(request(1, "x")).await.unwrap();
        for expected in expected {
            assert_eq!(heard.message().await.to_string(), expected);
        }
        line.close().await;
        assert!(matches!(heard.next().await, TransportEvent::Closed(_)), "nothing else came");
    }
}

#[tokio::test]
async fn text_in_a_stream_that_is_not_a_message_is_ignored() {
    let server = ScriptedHttpServer::start(|_| {
        whole_stream(&format!("data: oops\n\ndata: 5\n\n{}", event(&answer(1))))
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    line.send(request(1, "x")).await.unwrap();
    assert!(matches!(heard.next().await, TransportEvent::Noise(text) if text == "oops"));
    assert!(matches!(heard.next().await, TransportEvent::Noise(text) if text == "5"));
    heard.message().await;
}

#[tokio::test]
async fn notifications_and_answers_wait_for_their_receipt() {
    let server = ScriptedHttpServer::start(|seen| match seen.rpc().as_str() {
        "notifications/refused" => whole("403 Forbidden", "text/plain", "not you"),
        "notifications/chatty" => json(r#"{"ok":true}"#),
        "notifications/answered" => json(r#"{"jsonrpc":"2.0","method":"notifications/heard"}"#),
        _ => status("202 Accepted"),
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    line.send(notification("notifications/x")).await.unwrap();
    line.send(value!({"jsonrpc": "2.0", "id": 9, "result": {}}).into()).await.unwrap();
    line.send(notification("notifications/chatty")).await.unwrap();
    assert_eq!(server.seen().len(), 3);
    let refused = line.send(notification("notifications/refused")).await.unwrap_err();
    assert!(
        matches!(refused, TransportFailure::Refused { status: 403, ref text } if text == "not you"),
        "{refused}"
    );
    assert!(heard.is_quiet().await);
    line.send(notification("notifications/answered")).await.unwrap();
    assert_eq!(heard.message().await["method"], "notifications/heard");
}

#[tokio::test]
async fn requests_run_beside_each_other() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let held = gate.clone();
    let server = ScriptedHttpServer::start(move |seen| {
        let mut steps = vec![ResponseStep::Await(held.clone())];
        steps.extend(json(&answer(seen.json()["id"].clone())));
        steps
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    for id in 0..50 {
        line.send(request(id, "x")).await.unwrap();
    }
    server.arrived(50).await;
    assert!(heard.is_quiet().await);
    gate.add_permits(50);
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(heard.message().await["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_request_that_is_abandoned_closes_its_stream() {
    let server = ScriptedHttpServer::start(|seen| match seen.rpc().as_str() {
        "slow" => {
            let mut steps =
                stream(&event(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#));
            steps.push(ResponseStep::Hold);
            steps
        }
        "silent" => vec![ResponseStep::Hold],
        _ => json(&answer(3)),
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    line.send(request(1, "slow")).await.unwrap();
    assert_eq!(heard.message().await["method"], "notifications/progress");
    line.abandon(&value!(2));
    line.abandon(&value!(1));
    server.gone().await;
    line.send(request("two", "silent")).await.unwrap();
    server.arrived(2).await;
    line.abandon(&value!("two"));
    server.gone().await;
    line.send(request(3, "x")).await.unwrap();
    assert_eq!(heard.message().await["id"], 3, "an abandoned request is not reported");
}

#[tokio::test]
async fn redirects_stay_on_the_server() {
    let check = |response: &'static str, target: &'static str, expected: Option<&'static str>| async move {
        let server = ScriptedHttpServer::start(move |seen| match seen.path.as_str() {
            "/new" => json(&answer(1)),
            "/loop" => with("Location: /loop\r\n", "308 Permanent Redirect", "", ""),
            _ => with(&format!("Location: {target}\r\n"), response, "", ""),
        })
        .await;
        let heard = RecordedEvents::new();
        let line = line(server.url("/old"), &heard).await;
        line.send(request(1, "x")).await.unwrap();
        match expected {
            None => {
                assert_eq!(heard.message().await["id"], 1);
                let seen = server.seen();
                assert_eq!(seen.last().unwrap().body, seen[0].body);
            }
            Some(expected) => {
                let (_, failure) = heard.lost().await;
                assert!(failure.to_string().contains(expected), "{failure}");
                assert!(server.seen().len() <= 4);
            }
        }
    };
    check("307 Temporary Redirect", "/new", None).await;
    check("308 Permanent Redirect", "/new", None).await;
    check("301 Moved Permanently", "/new", Some("configure that address")).await;
    check("303 See Other", "/new", Some("configure that address")).await;
    check("307 Temporary Redirect", "http://127.0.0.1:1/new", Some("another server")).await;
    check("307 Temporary Redirect", "https://localhost/new", Some("another server")).await;
    check("308 Permanent Redirect", "/loop", Some("more than 3 redirects")).await;
    check("302 Found", "http://[", Some("without a valid location")).await;
}

#[tokio::test]
async fn a_batch_is_one_exchange() {
    let server =
        ScriptedHttpServer::start(|_| json(&format!("[{},{}]", answer(2), answer(1)))).await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    let batch: Vec<_> = [1, 2, 3].map(|id| request(id, "x").message).into();
    line.send(Value::Array(batch).into()).await.unwrap();
    assert_eq!(heard.message().await["id"], 2);
    assert_eq!(heard.message().await["id"], 1);
    assert_eq!(heard.lost().await.0, 3);
}

#[tokio::test]
async fn a_closed_line_accepts_nothing_more() {
    let server =
        ScriptedHttpServer::start(|_| vec![send("HTTP/1.1 200 OK\r\n"), ResponseStep::Hold]).await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    line.send(request(1, "x")).await.unwrap();
    server.arrived(1).await;
    line.close().await;
    server.gone().await;
    assert!(matches!(heard.next().await, TransportEvent::Closed(_)));
    line.close().await;
    assert!(heard.is_quiet().await, "the end is reported once");
    assert!(matches!(line.send(request(2, "x")).await, Err(TransportFailure::Unreachable(_))));
    assert_eq!(server.seen().len(), 1, "without a session there is nothing to delete");
}

#[tokio::test]
async fn a_dropped_line_ends_its_streams() {
    let server = ScriptedHttpServer::start(|_| {
        let mut steps = stream("");
        steps.push(ResponseStep::Hold);
        steps
    })
    .await;
    let heard = RecordedEvents::new();
    let line = line(server.url("/"), &heard).await;
    line.send(request(1, "x")).await.unwrap();
    server.arrived(1).await;
    drop(line);
    server.gone().await;
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused() {
    let check = |url: &str, header: (&str, &str), expected: &'static str| {
        let mut settings = HttpSettings::new(url);
        settings.headers.push((header.0.into(), header.1.into()));
        async move {
            let failure = http::open(settings, RecordedEvents::new()).await.err().unwrap();
            assert!(failure.to_string().contains(expected), "{failure}");
        }
    };
    check("nonsense", ("x", "y"), "not a valid URL").await;
    check("ws://host/", ("x", "y"), "scheme").await;
    check("http://host/", ("accept", "y"), "set by the transport").await;
    check("http://host/", ("x", "secret\n"), "characters").await;
}
