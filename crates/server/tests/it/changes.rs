//! Lists and resources that change while clients are connected.

use crate::{
    fixture::{FixtureProvider, acting, said},
    wire::{WireClient, code, modern, setup, text},
};
use docent_server::{McpServer, ServerSetup};
use docent_tool::{ProviderChange, ToolProvider};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn a_changed_list_is_announced_and_served() {
    let fixture = FixtureProvider::new();
    let server = McpServer::new(setup(Arc::clone(&fixture))).unwrap();
    let mut ann = WireClient::legacy(&server, "2024-11-05").await;
    let mut bob = WireClient::legacy(&server, "2025-11-25").await;
    assert_eq!(code(&ann.call("newcomer", json!({})).await), -32602);
    fixture
        .extra
        .lock()
        .unwrap()
        .push(acting("newcomer", json!({}), |_, _| async { Ok(said("here")) }));
    fixture.changed(ProviderChange::Tools);
    ann.notified("notifications/tools/list_changed").await;
    bob.notified("notifications/tools/list_changed").await;
    assert_eq!(text(&ann.call("newcomer", json!({})).await), "here");
    fixture.changed(ProviderChange::Prompts);
    ann.notified("notifications/prompts/list_changed").await;
    fixture.changed(ProviderChange::Resources);
    ann.notified("notifications/resources/list_changed").await;
}

#[tokio::test]
async fn a_tool_that_takes_a_taken_name_is_left_out() {
    let fixture = FixtureProvider::new();
    let server = McpServer::new(setup(Arc::clone(&fixture))).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    // The fixture lists its extra tools first, so the new one has the name and the older tool is left out.
    fixture
        .extra
        .lock()
        .unwrap()
        .push(acting("fails", json!({}), |_, _| async { Ok(said("mine")) }));
    fixture.changed(ProviderChange::Tools);
    wire.notified("notifications/tools/list_changed").await;
    let listed = wire.ask("tools/list", json!({})).await;
    let count = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["name"] == "fails")
        .count();
    assert_eq!(count, 1);
    assert_eq!(
        text(&wire.call("echo", json!({"text": "on"})).await),
        "on",
        "the rest of the catalogue is served"
    );
}

#[tokio::test]
async fn names_chosen_by_other_servers_do_not_prevent_a_start() {
    let part = |key, tools: [&str; 2]| {
        let part = FixtureProvider::called(key);
        let tool = |name| acting(name, json!({}), move |_, _| async move { Ok(said(key)) });
        part.extra.lock().unwrap().extend(tools.map(tool));
        part
    };
    let fixture = FixtureProvider::new();
    let parts: [Arc<dyn ToolProvider>; 4] = [
        part("one", ["same", "echo"]),
        part("two", ["same", "bad name!"]),
        part("fixture", ["third", "fourth"]),
        part("three", ["apart", "more"]),
    ];
    fixture.parts.lock().unwrap().extend(parts);
    // A built-in provider that comes after all of them.
    let last = FixtureProvider::called("last");
    let own = acting("apart", json!({}), |_, _| async { Ok(said("last")) });
    last.extra.lock().unwrap().push(own);
    let providers: Vec<Arc<dyn ToolProvider>> = vec![fixture.clone(), last];
    let server = McpServer::new(ServerSetup { providers, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    for (tool, want) in [("same", "one"), ("apart", "last"), ("more", "three")] {
        assert_eq!(text(&wire.call(tool, json!({})).await), want, "{tool}");
    }
    assert_eq!(text(&wire.call("echo", json!({"text": "own"})).await), "own");
    assert_eq!(code(&wire.call("third", json!({})).await), -32602, "its key is taken");
}

#[tokio::test]
async fn a_subscriber_is_notified_until_it_unsubscribes() {
    let fixture = FixtureProvider::new();
    let server = McpServer::new(setup(Arc::clone(&fixture))).unwrap();
    let mut ann = WireClient::legacy(&server, "2024-11-05").await;
    let mut bob = WireClient::legacy(&server, "2024-11-05").await;
    assert_eq!(
        ann.ask("resources/subscribe", json!({"uri": "memo://a"})).await["result"],
        json!({})
    );
    let reply = ann.ask("resources/subscribe", json!({"uri": "nowhere://a"})).await;
    assert_eq!((code(&reply), &reply["error"]["data"]["uri"]), (-32002, &json!("nowhere://a")));
    fixture.changed(ProviderChange::Updated("memo://b".into()));
    fixture.changed(ProviderChange::Updated("memo://a".into()));
    let heard = ann.notified("notifications/resources/updated").await;
    assert_eq!(heard["params"]["uri"], "memo://a");
    bob.ask("ping", json!({})).await;
    assert!(bob.seen.is_empty(), "{:?}", bob.seen);
    bob.ask("resources/subscribe", json!({"uri": "memo://a"})).await;
    assert_eq!(
        ann.ask("resources/unsubscribe", json!({"uri": "memo://a"})).await["result"],
        json!({})
    );
    fixture.changed(ProviderChange::Updated("memo://a".into()));
    bob.notified("notifications/resources/updated").await;
    ann.ask("ping", json!({})).await;
    assert!(ann.seen.is_empty(), "{:?}", ann.seen);
    assert_eq!(*fixture.watched.lock().unwrap(), ["+memo://a"]);
    bob.close().await;
    assert_eq!(
        *fixture.watched.lock().unwrap(),
        ["+memo://a", "-memo://a"],
        "a session that is gone watches nothing"
    );
}

#[tokio::test]
async fn a_stream_gets_what_it_requested() {
    let fixture = FixtureProvider::new();
    let server = McpServer::new(setup(Arc::clone(&fixture))).unwrap();
    let mut wire = WireClient::open(&server);
    let mut params = modern(json!({}));
    params["notifications"] =
        json!({"toolsListChanged": true, "resourceSubscriptions": ["memo://a", "nowhere://b"]});
    let id = wire.begin("subscriptions/listen", params).await;
    let reply = wire.notified("notifications/subscriptions/acknowledged").await;
    assert_eq!(
        reply["params"]["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["memo://a"]})
    );
    // The stream watches once its handler has run; a later request is answered after that.
    wire.ask("server/discover", modern(json!({}))).await;
    fixture.changed(ProviderChange::Prompts);
    fixture.changed(ProviderChange::Tools);
    let heard = wire.read().await;
    assert_eq!(heard["method"], "notifications/tools/list_changed", "{heard}");
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    fixture.changed(ProviderChange::Updated("memo://a".into()));
    assert_eq!(wire.notified("notifications/resources/updated").await["params"]["uri"], "memo://a");
    server.stop();
    let end = wire.answer(&id).await;
    assert_eq!(end["result"]["resultType"], "complete", "a stopping server ends the stream: {end}");
    assert_eq!(fixture.watched.lock().unwrap().last().unwrap(), "-memo://a");
}
