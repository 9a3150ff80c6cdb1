use super::*;
use axum::{
    Router,
    extract::WebSocketUpgrade,
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::StreamExt;
use std::sync::Arc;
use tokio::{net::TcpListener, process::Command, sync::broadcast};

/// Answers with its params, after a notification and a question.
fn answer(text: &str) -> Vec<String> {
    let Ok(message) = serde_json::from_str::<Value>(text) else {
        return vec![
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}})
                .to_string(),
        ];
    };
    let (Some(id), Some(_)) = (message.get("id"), message.get("method")) else { return vec![] };
    vec![
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"for": id}})
            .to_string(),
        json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}).to_string(),
        json!({"jsonrpc": "2.0", "id": id, "result": message["params"]}).to_string(),
    ]
}

async fn stream_of_answers(body: String) -> Response {
    let frames = answer(&body);
    if frames.is_empty() {
        return axum::http::StatusCode::ACCEPTED.into_response();
    }
    let stream =
        frames.iter().map(|frame| format!("data: {frame}\n\n")).collect::<Vec<_>>().concat();
    ([("content-type", "text/event-stream"), ("mcp-session-id", "s1")], stream).into_response()
}

/// Answers with the headers that the protocol or the test set.
async fn headers_heard(headers: HeaderMap, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let Some(id) = message.get("id") else {
        return axum::http::StatusCode::ACCEPTED.into_response();
    };
    let is_relevant = |name: &str| name.starts_with("mcp-") || name == "authorization";
    let headers: Object = headers
        .iter()
        .filter(|(name, _)| is_relevant(name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
        .collect();
    let result =
        json!({"headers": headers, "protocolVersion": message["params"]["protocolVersion"]});
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    ([("content-type", "application/json"), ("mcp-session-id", "s1")], answer).into_response()
}

fn sse_pair() -> Router {
    let (frames, _) = broadcast::channel::<String>(16);
    let frames = Arc::new(frames);
    let stream = {
        let frames = Arc::clone(&frames);
        move || {
            let received = frames.subscribe();
            let rest = futures::stream::unfold(received, |mut received| async {
                let frame = received.recv().await.ok()?;
                Some((
                    Ok::<_, std::io::Error>(format!("event: message\ndata: {frame}\n\n")),
                    received,
                ))
            });
            let first =
                futures::stream::iter([Ok("event: endpoint\ndata: /message?s=1\n\n".to_owned())]);
            let body = axum::body::Body::from_stream(first.chain(rest));
            std::future::ready(([("content-type", "text/event-stream")], body).into_response())
        }
    };
    let message = move |body: String| {
        for frame in answer(&body) {
            frames.send(frame).unwrap();
        }
        std::future::ready(axum::http::StatusCode::ACCEPTED)
    };
    Router::new().route("/sse", get(stream)).route("/message", post(message))
}

async fn socket(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|mut socket| async move {
        while let Some(Ok(axum::extract::ws::Message::Text(text))) = socket.recv().await {
            for frame in answer(&text) {
                socket.send(axum::extract::ws::Message::text(frame)).await.unwrap();
            }
        }
    })
}

async fn serve() -> String {
    let router = sse_pair()
        .route("/mcp", post(stream_of_answers))
        .route("/headers", post(headers_heard))
        .route("/ws", get(socket));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address.to_string()
}

/// A minimal server; `cat` would answer a request with itself.
fn shell() -> Command {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        r#"echo started >&2; while read -r line; do case "$line" in
          *'"method":"echo"'*) echo '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'
          echo '{"jsonrpc":"2.0","id":1,"result":{"n":1}}';; esac; done"#,
    ]);
    command
}

#[tokio::test]
async fn every_transport_carries_the_same_conversation() {
    let at = serve().await;
    let peers = [
        HttpTestClient::new_http(&format!("http://{at}/mcp")).unwrap().boxed(),
        SseTestClient::connect_sse(&format!("http://{at}/sse")).await.unwrap().boxed(),
        WsTestClient::connect_ws(&format!("ws://{at}/ws")).await.unwrap().boxed(),
    ];
    for peer in peers {
        let mut peer = peer.reply_with("roots/list", json!({"roots": []}));
        peer.notify("notifications/initialized", json!({})).await.unwrap();
        let got = peer.ask("echo", json!({"n": 1})).await.unwrap();
        assert_eq!(got, json!({"jsonrpc": "2.0", "id": 1, "result": {"n": 1}}));
        let heard = peer.take_messages();
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert_eq!(heard[0]["params"]["for"], 1);
        peer.send_text("{").await.unwrap();
        assert_eq!(peer.answer_to(&json!(2)).await.unwrap()["error"]["code"], -32700);
    }
}

#[tokio::test]
async fn a_child_answers_and_ends() {
    let mut child = ChildTestClient::spawn(shell()).unwrap();
    assert_eq!(child.ask("echo", json!({})).await.unwrap()["result"]["n"], 1);
    assert_eq!(child.notification("notifications/message").await.unwrap()["params"], json!({}));
    child.close_input();
    assert!(child.end().await.unwrap().success());
    assert_eq!(child.log(), ["started"]);
}

#[tokio::test]
async fn a_timeout_reports_what_was_received() {
    let mut child =
        ChildTestClient::spawn(shell()).unwrap().with_timeout(Duration::from_millis(50));
    let error = child.ask("unknown", json!({})).await.unwrap_err();
    assert!(
        matches!(&error, TestClientError::TimedOut { waiting_for, .. } if waiting_for == "request 1"),
        "{error}"
    );
}

#[tokio::test]
async fn http_headers_follow_the_message_and_the_session() {
    let at = serve().await;
    let mut peer = HttpTestClient::new_http(&format!("http://{at}/headers"))
        .unwrap()
        .header("authorization", "Bearer t");
    let first = peer.open("2025-06-18").await.unwrap();
    assert_eq!(first["result"]["headers"], json!({"authorization": "Bearer t"}));
    let second = peer.ask("tools/call", json!({"name": "echo"})).await.unwrap();
    let want = json!({"authorization": "Bearer t", "mcp-session-id": "s1", "mcp-protocol-version": "2025-06-18"});
    assert_eq!(second["result"]["headers"], want);
    assert_eq!((peer.session().as_deref(), peer.statuses()), (Some("s1"), vec![200, 202, 200]));

    let mut peer = HttpTestClient::new_http(&format!("http://{at}/headers")).unwrap();
    peer.open("2026-07-28").await.unwrap();
    let called = peer.ask("tools/call", json!({"name": "echo"})).await.unwrap();
    assert_eq!(called["result"]["headers"]["mcp-name"], "echo");
    assert_eq!(called["result"]["headers"]["mcp-method"], "tools/call");
    assert_eq!(called["result"]["headers"]["mcp-protocol-version"], "2026-07-28");
}

#[tokio::test]
async fn an_http_error_keeps_its_status() {
    let at = serve().await;
    let mut peer = HttpTestClient::new_http(&format!("http://{at}/nowhere")).unwrap();
    let refused = [
        peer.ask("ping", json!({})).await.unwrap_err(),
        SseTestClient::connect_sse(&format!("http://{at}/nowhere")).await.unwrap_err(),
        WsTestClient::connect_ws(&format!("ws://{at}/nowhere")).await.unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, TestClientError::Status { status: 404, .. }), "{error}");
    }
}
