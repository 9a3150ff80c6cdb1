//! Pages that show tool results: who gets them, and how they are read.

use crate::{
    fixture::FixtureProvider,
    wire::{MODERN, WireClient, code, key, legacy_dialects, modern, origin, setup},
};
use docent_server::{McpServer, ServerLimits, ServerSetup};
use docent_tool::{App, CallContext, ToolAnswer, ToolError, TypedTool, erase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

const UI: &str = "io.modelcontextprotocol/ui";
const PAGE: App = App {
    uri: "ui://fixture/page",
    name: "page",
    title: "Page",
    about: "Shows what pictured answers",
    html: "<!doctype html>\n<title>Page</title>\n<p>It holds AKIAIOSFODNN7EXAMPLE\u{200b} as it is.</p>\n",
};

/// A tool whose results have a page.
struct PictureTool;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Picture {
    /// What is on it.
    of: &'static str,
}

impl TypedTool for PictureTool {
    const NAME: &'static str = "pictured";
    const TITLE: &'static str = "Pictured";
    const DESCRIPTION: &'static str = "Answers with a picture.";
    const APP: Option<&'static str> = Some(PAGE.uri);
    type Args = Nothing;
    type Answer = Picture;

    async fn call(&self, _: Nothing, _: &CallContext) -> Result<ToolAnswer<Picture>, ToolError> {
        Ok(ToolAnswer::new(Picture { of: "a tree" }, "A tree."))
    }
}

fn with_page(name: &'static str) -> Arc<FixtureProvider> {
    let fixture = FixtureProvider::called(name);
    fixture.extra.lock().unwrap().push(erase(PictureTool));
    fixture.apps.lock().unwrap().push(PAGE);
    fixture
}

fn server() -> Arc<McpServer> {
    McpServer::new(setup(with_page("fixture"))).unwrap()
}

fn shows_pages() -> Value {
    json!({"extensions": {UI: {"mimeTypes": ["text/html;profile=mcp-app"]}}})
}

fn pictured(listed: &Value) -> Value {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == "pictured").unwrap().clone()
}

fn pages(listed: &Value) -> Vec<Value> {
    let all = listed["result"]["resources"].as_array().unwrap().iter();
    all.filter(|one| one["uri"].as_str().unwrap().starts_with("ui://")).cloned().collect()
}

#[tokio::test]
async fn a_session_that_shows_pages_gets_them() {
    let server = server();
    for dialect in legacy_dialects() {
        let version = dialect.version();
        for (able, shows) in [
            (json!({}), false),
            (json!({"extensions": {UI: {}}}), false),
            (json!({"extensions": {UI: {"mimeTypes": ["text/plain"]}}}), false),
            (shows_pages(), ["2025-06-18", "2025-11-25"].contains(&version)),
        ] {
            let mut wire = WireClient::open(&server);
            let hello = wire.initialize(version, able.clone()).await;
            let extensions = hello["result"]["capabilities"].get("extensions").cloned();
            assert_eq!(extensions, shows.then(|| json!({UI: {}})), "{version} {able}");
            wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
            let tool = pictured(&wire.ask("tools/list", json!({})).await);
            let ui = json!({"resourceUri": PAGE.uri, "visibility": ["model", "app"]});
            assert_eq!(tool.get("_meta").cloned(), shows.then(|| json!({"ui": ui})), "{version}");
            let listed = pages(&wire.ask("resources/list", json!({})).await);
            assert_eq!(listed.len(), usize::from(shows), "{version} {able}");
        }
    }
}

#[tokio::test]
async fn the_newest_revision_declares_pages_with_each_request() {
    let server = server();
    let mut wire = WireClient::open(&server);
    let found = wire.ask("server/discover", modern(json!({}))).await;
    assert_eq!(found["result"]["capabilities"]["extensions"][UI], json!({}), "{found}");
    for (able, shows, scope) in [(json!({}), false, "public"), (shows_pages(), true, "private")] {
        let listed = wire.ask("tools/list", modern(able.clone())).await;
        assert_eq!(pictured(&listed).get("_meta").is_some(), shows, "{listed}");
        assert_eq!(listed["result"]["cacheScope"], scope);
        let listed = wire.ask("resources/list", modern(able)).await;
        assert_eq!(
            (pages(&listed).len(), &listed["result"]["cacheScope"]),
            (usize::from(shows), &json!(scope))
        );
    }
    // The capabilities of a session do not apply to a request that carries its own.
    let mut wire = WireClient::legacy_as(&server, "2025-11-25", shows_pages(), None).await;
    let listed = wire.ask("tools/list", modern(json!({}))).await;
    assert!(pictured(&listed).get("_meta").is_none(), "{listed}");
}

#[tokio::test]
async fn other_clients_see_no_pages() {
    let with = server();
    let fixture = FixtureProvider::new();
    fixture.extra.lock().unwrap().push(erase(PictureTool));
    let without = McpServer::new(setup(fixture)).unwrap();
    for dialect in legacy_dialects() {
        let mut one = WireClient::legacy(&with, dialect.version()).await;
        let mut other = WireClient::legacy(&without, dialect.version()).await;
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            let (one, other) =
                (one.ask(method, json!({})).await, other.ask(method, json!({})).await);
            assert_eq!(one["result"], other["result"], "{dialect:?} {method}");
        }
        let (one, other) =
            (one.call("pictured", json!({})).await, other.call("pictured", json!({})).await);
        assert_eq!(one["result"], other["result"], "{dialect:?}");
        assert_eq!(one["result"]["content"][0]["text"], "A tree.");
    }
    let found = WireClient::open(&without).ask("server/discover", modern(json!({}))).await;
    assert!(found["result"]["capabilities"]["extensions"].get(UI).is_none(), "{found}");
}

#[tokio::test]
async fn a_page_is_read_whole_and_unchanged() {
    let limits = ServerLimits { page_bytes: 40, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(with_page("fixture")) }).unwrap();
    let mut wire = WireClient::legacy_as(&server, "2025-11-25", shows_pages(), None).await;
    let listed = pages(&wire.ask("resources/list", json!({})).await);
    let want = json!({
        "uri": PAGE.uri, "name": "page", "title": "Page", "description": PAGE.about,
        "mimeType": "text/html;profile=mcp-app", "size": PAGE.html.len(),
    });
    assert_eq!(listed, [want]);
    let read = wire.ask("resources/read", json!({"uri": PAGE.uri})).await;
    let want = json!({
        "uri": PAGE.uri, "mimeType": "text/html;profile=mcp-app", "text": PAGE.html,
        "_meta": {"ui": {"prefersBorder": true}},
    });
    assert_eq!(read["result"]["contents"], json!([want]));
    let mut params = modern(shows_pages());
    params["uri"] = json!(PAGE.uri);
    let read = wire.ask("resources/read", params).await;
    assert_eq!(read["result"]["contents"][0]["text"], PAGE.html, "{MODERN}");
    let reply = wire.ask("resources/read", json!({"uri": "ui://fixture/none"})).await;
    assert_eq!(code(&reply), -32002);
}

#[tokio::test]
async fn a_page_is_visible_to_callers_that_may_see_its_provider() {
    let (first, second) = (with_page("first"), FixtureProvider::called("second"));
    second.apps.lock().unwrap().push(PAGE);
    let setup = ServerSetup {
        providers: vec![first, second, FixtureProvider::new()],
        keys: vec![key("all", &["*"]), key("page", &["second:*"]), key("tool", &["pictured"])],
        auth_required: true,
        ..setup(FixtureProvider::new())
    };
    let server = McpServer::new(setup).unwrap();
    for (name, listed, named) in [("all", 1, true), ("page", 1, false), ("tool", 0, false)] {
        let who = Some(origin(&server, Some(&format!("{name}-token"))));
        let mut wire = WireClient::legacy_as(&server, "2025-11-25", shows_pages(), who).await;
        assert_eq!(pages(&wire.ask("resources/list", json!({})).await).len(), listed, "{name}");
        let read = wire.ask("resources/read", json!({"uri": PAGE.uri})).await;
        assert_eq!(read.get("error").is_none(), listed == 1, "{name}");
        let tools = wire.ask("tools/list", json!({})).await["result"]["tools"].clone();
        assert_eq!(tools.to_string().contains(PAGE.uri), named, "{name}");
    }
}
