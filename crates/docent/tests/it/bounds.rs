//! What one call, message or client may take, and that clients don't meet.

use crate::{
    CliRun, TestHome,
    serving::{LEGACY, audit_lines, call, endless, endless_call, ends_well, listen, serve, ticks},
};
use docent_testkit::{HttpTestClient, TestClient, TestTransport, WsTestClient};
use serde_json::{Value, json};
use std::{fs, time::Duration};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_thread_keeps_little_of_what_it_gives_back() {
    let place = TestHome::new();
    let mut command = place.command(&["--version"]);
    let run = CliRun::of(command.env("_RJEM_MALLOC_CONF", "stats_print:true"));
    run.ends(0);
    assert!(run.err.contains("opt.tcache_max: 4096"), "{}", run.err);
}

#[tokio::test]
async fn the_environment_sets_limits() {
    let place = TestHome::new();
    endless(&place);
    let environment =
        [("DOCENT_LIMITS_TOOL_TIMEOUT_MS", "300"), ("DOCENT_LIMITS_MESSAGE_BYTES", "2048")];
    let mut server = serve(&place, &[], &environment);
    server.open(LEGACY).await.unwrap();
    let late = server.ask("tools/call", endless_call()).await.unwrap();
    assert_eq!(late["result"]["structuredContent"]["partial"], true, "{late}");
    let long = json!({"query": "q".repeat(3000)});
    let refused = server.ask("tools/call", call("search_documentation", long)).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(server.ask("ping", json!({})).await.unwrap().get("result").is_some());

    let mut paged = serve(&place, &[], &[("DOCENT_LIMITS_PAGE_BYTES", "1024")]);
    paged.open(LEGACY).await.unwrap();
    let request = call("analyze_repository", json!({"path": "endless", "depth": "quick"}));
    let first = paged.ask("tools/call", request).await.unwrap();
    let parts = first["result"]["_meta"]["docent/parts"].as_u64();
    assert!(parts.is_some_and(|parts| parts > 1), "{first}");
}

#[tokio::test]
async fn a_tool_has_a_time_and_a_rate_of_its_own() {
    let place = TestHome::new();
    endless(&place);
    place.write(
        "docent.toml",
        "[limits.tools.analyze_repository]\ntimeout_ms = 300\n[limits.tools.web_search]\nrate_per_minute = 1\n",
    );
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let late = server.ask("tools/call", endless_call()).await.unwrap();
    assert_eq!(late["result"]["structuredContent"]["partial"], true, "{late}");
    let search = || call("web_search", json!({"query": "x"}));
    let first = server.ask("tools/call", search()).await.unwrap();
    assert!(first.get("result").is_some(), "{first}");
    let second = server.ask("tools/call", search()).await.unwrap();
    assert_eq!(second["error"]["data"]["perMinute"], 1, "{second}");
}

#[tokio::test]
async fn one_line_is_enough_where_the_handshake_is_optional() {
    let place = TestHome::new();
    let mut server = serve(&place, &["--handshake", "optional"], &[]);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": call("analyze_repository", json!({"path": ".", "depth": "quick"}))});
    server.send(&request).await.unwrap();
    server.close_input();
    let answer = server.answer_to(&json!(1)).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["type"], "text", "{answer}");
    ends_well(&mut server).await;
}

#[tokio::test]
async fn a_cancelled_call_stops_its_work_and_says_nothing_more() {
    let place = TestHome::new();
    endless(&place);
    let mut server = serve(&place, &[], &[("DOCENT_LIMITS_TOOL_TIMEOUT_MS", "600000")]);
    server.open(LEGACY).await.unwrap();
    let id = server.start("tools/call", endless_call()).await.unwrap();
    let reads = |message: &Value| message.to_string().contains("files read");
    server.await_message("news that files are being read", reads).await.unwrap();
    let busy = ticks(&server);
    server.notify("notifications/cancelled", json!({"requestId": id})).await.unwrap();
    server.ask("ping", json!({})).await.unwrap();
    // The work would go on for minutes; a second in which next to nothing is done must come well before that.
    let mut idle = false;
    let mut before = busy;
    for _ in 0..15 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = ticks(&server);
        idle = now - before < 10;
        if idle {
            break;
        }
        before = now;
    }
    assert!(idle, "the work goes on after it was cancelled");
    let heard = server.take_messages();
    assert!(heard.iter().all(|message| message.get("id") != Some(&id)), "{heard:?}");
    let lines = audit_lines(&place.project().join(".docent/audit.jsonl"));
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["outcome"], "cancelled", "{lines:?}");
}

/// Asks both at the same time, with the same id and the same progress token.
async fn ask_both<A: TestTransport, B: TestTransport>(
    one: &mut TestClient<A>,
    two: &mut TestClient<B>,
) {
    let request = |path: &str| {
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "analyze_repository", "arguments": {"path": path, "depth": "deep"},
            "_meta": {"progressToken": "same"},
        }})
    };
    one.send(&request("endless")).await.unwrap();
    one.notification("notifications/progress").await.unwrap();
    two.send(&request("small")).await.unwrap();
    let path_of = |answer: &Value| answer["result"]["structuredContent"]["path"].clone();
    let small = two.answer_to(&json!(7)).await.unwrap();
    assert_eq!(path_of(&small), "small", "{small}");
    let heard = two.take_messages();
    let wrong = heard.iter().any(|message| message.to_string().contains("endless"));
    assert!(!wrong && heard.len() < 20, "another client's progress: {heard:?}");
    // To cancel one's own id leaves the other's call alone.
    two.notify("notifications/cancelled", json!({"requestId": 7})).await.unwrap();
    let endless = one.answer_to(&json!(7)).await.unwrap();
    // On a busy machine the deadline cuts the call before it has a path to tell; its own answer is partial all the
    // same.
    assert_eq!(endless["result"]["structuredContent"]["partial"], true, "{endless}");
    assert_ne!(path_of(&endless), "small", "{endless}");
}

#[tokio::test]
async fn clients_that_choose_the_same_id_never_meet() {
    let place = TestHome::new();
    endless(&place);
    fs::create_dir(place.project().join("small")).unwrap();
    place.write("small/a.md", "# A\n");
    let timeout = [("DOCENT_LIMITS_TOOL_TIMEOUT_MS", "2000")];
    let (_server, address) = listen(&place, &["--transport", "http,websocket"], &timeout).await;
    let (http, socket) = (format!("http://{address}/mcp"), format!("ws://{address}/ws"));
    let mut peers =
        [HttpTestClient::new_http(&http).unwrap(), HttpTestClient::new_http(&http).unwrap()];
    let mut sockets = [
        WsTestClient::connect_ws(&socket).await.unwrap(),
        WsTestClient::connect_ws(&socket).await.unwrap(),
    ];
    for (peer, socket) in peers.iter_mut().zip(&mut sockets) {
        peer.open(LEGACY).await.unwrap();
        socket.open(LEGACY).await.unwrap();
    }
    let [one, two] = &mut peers;
    ask_both(one, two).await;
    let [three, four] = &mut sockets;
    ask_both(three, four).await;
    ask_both(one, four).await;
}

/// Returns how many of N requests are answered, and the error of a rejected one.
async fn answered(peer: &mut TestClient<impl TestTransport>, requests: usize) -> (usize, Value) {
    let (mut answered, mut refused) = (0, Value::Null);
    for _ in 0..requests {
        let reply = peer.ask("ping", json!({})).await.unwrap();
        if reply.get("result").is_some() {
            answered += 1;
        } else {
            refused = reply;
        }
    }
    (answered, refused)
}

#[tokio::test]
async fn a_client_on_pipes_has_a_rate_only_where_one_is_set() {
    let place = TestHome::new();
    let mut free = serve(&place, &[], &[]);
    free.open(LEGACY).await.unwrap();
    assert_eq!(answered(&mut free, 150).await, (150, Value::Null));

    // An hour, so that a slow machine earns no further request while it counts.
    place.write("docent.toml", "[server.rate_limit]\nrequests = 5\nwindow = 3600000\n");
    let mut bounded = serve(&place, &[], &[]);
    bounded.open(LEGACY).await.unwrap();
    let (count, refused) = answered(&mut bounded, 8).await;
    assert_eq!(count, 4, "initialize was the first of five");
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    let data = &refused["error"]["data"];
    assert!(data["retryAfterMs"].as_u64().is_some_and(|wait| wait > 1000), "{refused}");
}

#[tokio::test]
async fn a_greedy_key_leaves_sessions_for_another() {
    let place = TestHome::new();
    place.write(
        "docent.toml",
        r#"
limits.sessions = 4

[[server.auth.keys]]
name = "greedy"
token = "greedy-token-0123456789"
scopes = ["*"]

[[server.auth.keys]]
name = "modest"
token = "modest-token-0123456789"
scopes = ["*"]
"#,
    );
    let (_server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let uri = format!("http://{address}/mcp");
    let peer = |name: &str| {
        let token = format!("Bearer {name}-token-0123456789");
        HttpTestClient::new_http(&uri).unwrap().header("authorization", &token)
    };
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut one = peer("greedy");
        one.open(LEGACY).await.unwrap();
        held.push(one);
    }
    let mut refused = peer("greedy");
    assert!(refused.open(LEGACY).await.is_err());
    assert_eq!(refused.statuses().first(), Some(&429));
    let mut other = peer("modest");
    other.open(LEGACY).await.unwrap();
    assert!(other.ask("tools/list", json!({})).await.unwrap().get("result").is_some());
    held.pop().unwrap().close().await.unwrap();
    peer("greedy").open(LEGACY).await.unwrap();
}
