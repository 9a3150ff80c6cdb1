//! How serving ends: by a signal or with the end of stdin, after what was running has been answered.

use crate::{
    TestHome,
    serving::{LEGACY, MODERN, endless, endless_call, ends_well, get, listen, serve, signal},
};
use docent_testkit::{ChildTestClient, HttpTestClient, TestClient, TestTransport, WsTestClient};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The call has begun when it is interrupted, and is over before the server would drop it.
const THREE_SECONDS: [(&str, &str); 1] = [("DOCENT_LIMITS_TOOL_TIMEOUT_MS", "3000")];

/// The call would go on for much longer than the server waits for it.
const TEN_MINUTES: [(&str, &str); 1] = [("DOCENT_LIMITS_TOOL_TIMEOUT_MS", "600000")];

/// Something that makes the server end.
type EndSignal = fn(&mut ChildTestClient);

async fn begin(peer: &mut TestClient<impl TestTransport>) -> Value {
    let id = peer.start("tools/call", endless_call()).await.unwrap();
    peer.notification("notifications/progress").await.unwrap();
    id
}

async fn answered(peer: &mut TestClient<impl TestTransport>, id: &Value) {
    let answer = peer.answer_to(id).await.unwrap();
    assert_eq!(answer["result"]["structuredContent"]["partial"], true, "{answer}");
}

#[tokio::test]
async fn a_running_call_on_pipes_is_answered_before_the_end() {
    let place = TestHome::new();
    endless(&place);
    let ends: [(&str, EndSignal); 3] = [
        ("SIGTERM", |server| signal(server, Signal::TERM)),
        ("SIGINT", |server| signal(server, Signal::INT)),
        ("end of stdin", ChildTestClient::close_input),
    ];
    for (how, end) in ends {
        let mut server = serve(&place, &[], &THREE_SECONDS);
        server.open(LEGACY).await.unwrap();
        let id = begin(&mut server).await;
        end(&mut server);
        answered(&mut server, &id).await;
        ends_well(&mut server).await;
        assert!(
            server.take_messages().iter().all(|message| message.get("method").is_some()),
            "{how}"
        );
    }
}

#[tokio::test]
async fn a_call_that_would_run_on_hands_over_what_it_has() {
    let place = TestHome::new();
    endless(&place);
    let ends: [EndSignal; 2] =
        [|server| signal(server, Signal::TERM), ChildTestClient::close_input];
    for end in ends {
        let mut server = serve(&place, &[], &TEN_MINUTES);
        server.open(LEGACY).await.unwrap();
        let id = begin(&mut server).await;
        end(&mut server);
        let answer = server.answer_to(&id).await.unwrap();
        assert_eq!(answer["result"]["structuredContent"]["partial"], true, "{answer}");
        assert!(answer["result"].to_string().contains("the server is shutting down"), "{answer}");
        ends_well(&mut server).await;
    }
}

#[tokio::test]
async fn a_running_call_on_the_network_is_answered_before_the_end() {
    let place = TestHome::new();
    endless(&place);
    for end in [Signal::TERM, Signal::INT] {
        let (mut server, address) =
            listen(&place, &["--transport", "http,websocket"], &THREE_SECONDS).await;
        let mut http = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
        let mut socket = WsTestClient::connect_ws(&format!("ws://{address}/ws")).await.unwrap();
        http.open(LEGACY).await.unwrap();
        socket.open(LEGACY).await.unwrap();
        let (by_http, by_socket) = (begin(&mut http).await, begin(&mut socket).await);
        signal(&server, end);
        // No new client is accepted while the calls finish.
        while TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        answered(&mut http, &by_http).await;
        answered(&mut socket, &by_socket).await;
        ends_well(&mut server).await;
    }
}

#[tokio::test]
async fn an_open_subscription_keeps_nothing_alive() {
    let place = TestHome::new();
    let wanted = || json!({"notifications": {"toolsListChanged": true}});
    let ends: [EndSignal; 2] =
        [ChildTestClient::close_input, |server| signal(server, Signal::TERM)];
    for end in ends {
        let mut server = serve(&place, &[], &[]);
        server.open(MODERN).await.unwrap();
        let id = server.start("subscriptions/listen", wanted()).await.unwrap();
        server.notification("notifications/subscriptions/acknowledged").await.unwrap();
        end(&mut server);
        let last = server.answer_to(&id).await.unwrap();
        assert_eq!(last["result"]["resultType"], "complete", "{last}");
        ends_well(&mut server).await;
    }
}

#[tokio::test]
async fn open_streams_and_sockets_keep_nothing_alive() {
    let place = TestHome::new();
    let (mut server, address) = listen(&place, &["--transport", "http,sse,websocket"], &[]).await;
    let uri = format!("http://{address}/mcp");
    let mut modern = HttpTestClient::new_http(&uri).unwrap();
    modern.open(MODERN).await.unwrap();
    modern
        .start("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
        .await
        .unwrap();
    modern.notification("notifications/subscriptions/acknowledged").await.unwrap();
    let mut session = HttpTestClient::new_http(&uri).unwrap();
    session.open(LEGACY).await.unwrap();
    session.listen().await.unwrap();
    let mut socket = WsTestClient::connect_ws(&format!("ws://{address}/ws")).await.unwrap();
    socket.open(LEGACY).await.unwrap();
    let mut events =
        docent_testkit::SseTestClient::connect_sse(&format!("http://{address}/sse")).await.unwrap();
    events.open(LEGACY).await.unwrap();
    assert_eq!(get(&address, "/healthz").await.0, 200);
    signal(&server, Signal::TERM);
    ends_well(&mut server).await;
}
