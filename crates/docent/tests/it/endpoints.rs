//! Who gets in: where the server listens, and what each key opens.

use crate::{
    TestHome,
    serving::{LEGACY, MODERN, call, listen, listening_sockets, serve},
};
use docent_testkit::{HttpTestClient, WsTestClient};
use serde_json::{Value, json};

#[tokio::test]
async fn the_socket_is_on_loopback_by_default() {
    let place = TestHome::new();
    let key = [("MCP_API_KEY", "a-key-of-some-length")];
    for (args, environment, want) in [
        (&["--transport", "http"][..], &[][..], "0100007F"),
        (&["--transport", "http,sse,websocket"], &[], "0100007F"),
        (&["--transport", "http", "--host", "0.0.0.0"], &key, "00000000"),
        (&["--transport", "http", "--host", "0.0.0.0", "--allow-open"], &[], "00000000"),
    ] {
        let (server, _) = listen(&place, args, environment).await;
        assert_eq!(listening_sockets(&server), [want], "{args:?}");
    }
    let mut pipes = serve(&place, &[], &[]);
    pipes.open(LEGACY).await.unwrap();
    assert_eq!(listening_sockets(&pipes), [""; 0], "stdio alone needs no socket");
}

const KEYS: &str = r#"
[[server.auth.keys]]
name = "reader"
token = "reader-token-0123456789"
scopes = ["docs:*"]

[[server.auth.keys]]
name = "surveyor"
token = "surveyor-token-0123456789"
scopes = ["analyze_repository"]
"#;

fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_key_sees_and_calls_what_its_scopes_name() {
    let place = TestHome::new();
    place.write("docent.toml", KEYS);
    let (_server, address) = listen(&place, &["--transport", "http,websocket"], &[]).await;
    let uri = format!("http://{address}/mcp");
    let peer = |token: &str| {
        HttpTestClient::new_http(&uri).unwrap().header("authorization", &format!("Bearer {token}"))
    };
    let (search, analyze) = (
        call("search_documentation", json!({"query": "rules"})),
        call("analyze_repository", json!({"path": ".", "depth": "quick"})),
    );
    let cases = [
        (
            "reader-token-0123456789",
            &["search_documentation", "get_document", "list_collections"][..],
            true,
            false,
        ),
        ("surveyor-token-0123456789", &["analyze_repository"], false, true),
    ];
    for (token, want, searches, analyzes) in cases {
        for revision in [LEGACY, MODERN] {
            let mut peer = peer(token);
            peer.open(revision).await.unwrap();
            assert_eq!(names(&peer.ask("tools/list", json!({})).await.unwrap()), want);
            for (request, allowed) in [(&search, searches), (&analyze, analyzes)] {
                let answer = peer.ask("tools/call", request.clone()).await.unwrap();
                assert_eq!(answer.get("result").is_some(), allowed, "{token}: {answer}");
                let output = answer["error"]["message"].as_str().unwrap_or("scopes");
                assert!(output.contains("scopes"), "{answer}");
            }
        }
    }
    let mut stranger = peer("nobodys-token");
    let refused = stranger.ask("tools/list", json!({})).await.unwrap_err().to_string();
    assert!(refused.starts_with("HTTP 401"), "{refused}");
}

#[tokio::test]
async fn a_socket_and_pipes_take_the_key_in_initialize() {
    let place = TestHome::new();
    place.write("docent.toml", KEYS);
    let (_server, address) = listen(&place, &["--transport", "websocket"], &[]).await;
    let params = |token: &str| {
        json!({
            "protocolVersion": LEGACY, "capabilities": {}, "auth": {"type": "bearer", "token": token},
            "clientInfo": {"name": "test", "version": "1"},
        })
    };
    let sockets = [
        WsTestClient::connect_ws(&format!("ws://{address}/ws")).await.unwrap().boxed(),
        serve(&place, &[], &[]).boxed(),
    ];
    for mut peer in sockets {
        let refused = peer.ask("initialize", params("nobodys-token")).await.unwrap();
        assert!(refused.get("error").is_some(), "{refused}");
        let opened = peer.ask("initialize", params("reader-token-0123456789")).await.unwrap();
        assert_eq!(opened["result"]["serverInfo"]["name"], "docent", "{opened}");
        peer.notify("notifications/initialized", json!({})).await.unwrap();
        let list = peer.ask("tools/list", json!({})).await.unwrap();
        assert_eq!(names(&list), ["search_documentation", "get_document", "list_collections"]);
    }
}
