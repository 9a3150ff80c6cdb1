//! Lists and their pages, resources, prompts, completion.

use crate::{
    fixture::FixtureProvider,
    wire::{WireClient, code, legacy_dialects, setup},
};
use docent_server::{McpServer, ServerSetup};
use docent_tool::{BoxedFuture, ResourceInfo, ToolProvider};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

#[tokio::test]
async fn every_list_has_pages() {
    let server = McpServer::new(ServerSetup {
        list_page: 2,
        resource_page: 2,
        ..setup(FixtureProvider::new())
    })
    .unwrap();
    let whole = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let mut all = WireClient::legacy(&whole, "2025-11-25").await;
    for (method, field) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let want = all.ask(method, json!({})).await["result"][field].as_array().unwrap().clone();
        assert!(!want.is_empty(), "{method}");
        let mut got = Vec::new();
        let mut cursor = None;
        loop {
            let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
            let result = wire.ask(method, params).await["result"].clone();
            let page = result[field].as_array().unwrap();
            assert!(page.len() <= 2 && !page.is_empty(), "{method}");
            got.extend(page.clone());
            cursor = result.get("nextCursor").cloned();
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(got, want, "{method}");
        let reply = wire.ask(method, json!({"cursor": "2"})).await;
        assert_eq!(
            (code(&reply), &reply["error"]["data"]["parameter"]),
            (-32602, &json!("cursor")),
            "{method}"
        );
    }
}

/// Lists some resources, and counts the addresses it describes.
struct ListProvider {
    key: &'static str,
    names: &'static [&'static str],
    is_listed_last: bool,
    described: Arc<AtomicUsize>,
}

impl ToolProvider for ListProvider {
    fn key(&self) -> &str {
        self.key
    }

    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        let about = Some("short".to_owned());
        let one = |name: &&str| ResourceInfo {
            uri: format!("{}:{name}", self.key),
            name: (*name).to_owned(),
            about: about.clone(),
            ..ResourceInfo::default()
        };
        let all: Vec<ResourceInfo> = self.names.iter().map(one).collect();
        Box::pin(async move {
            assert!(!all.is_empty(), "it can't list nothing");
            all
        })
    }

    fn is_listed_last(&self) -> bool {
        self.is_listed_last
    }

    fn describe(&self, uris: Vec<String>) -> BoxedFuture<'_, Vec<Option<String>>> {
        self.described.fetch_add(uris.len(), Ordering::Relaxed);
        let one = |uri: String| (!uri.ends_with('c')).then(|| format!("about {uri}"));
        Box::pin(std::future::ready(uris.into_iter().map(one).collect()))
    }
}

#[tokio::test]
async fn resources_are_described_on_their_page_and_the_many_come_last() {
    let described = Arc::new(AtomicUsize::new(0));
    let lister = |key, names, is_listed_last| -> Arc<dyn ToolProvider> {
        Arc::new(ListProvider { key, names, is_listed_last, described: Arc::clone(&described) })
    };
    let providers =
        vec![lister("many", &["a", "b", "c", "d", "e"], true), lister("few", &["x"], false)];
    let setup = ServerSetup { providers, resource_page: 4, ..setup(FixtureProvider::new()) };
    let mut wire = WireClient::legacy(&McpServer::new(setup).unwrap(), "2025-11-25").await;
    let page = wire.ask("resources/list", json!({})).await["result"].clone();
    let shown: Vec<&str> = page["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["description"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ["about few:x", "about many:a", "about many:b", "short"]);
    assert_eq!(described.load(Ordering::Relaxed), 4, "only what is shown");
    let rest = wire.ask("resources/list", json!({"cursor": page["nextCursor"]})).await;
    let uris: Vec<&str> = rest["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris, ["many:d", "many:e"]);
}

#[tokio::test]
async fn a_list_names_the_providers_that_failed() {
    let lister = |key, names| -> Arc<dyn ToolProvider> {
        Arc::new(ListProvider { key, names, is_listed_last: false, described: Arc::default() })
    };
    let providers = vec![lister("broken", &[]), lister("few", &["x"])];
    let setup = ServerSetup { providers, ..setup(FixtureProvider::new()) };
    let mut wire = WireClient::legacy(&McpServer::new(setup).unwrap(), "2025-11-25").await;
    let answer = wire.ask("resources/list", json!({})).await["result"].clone();
    assert_eq!(answer["resources"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["_meta"]["docent/incomplete"], json!(["broken"]), "{answer}");
}

#[tokio::test]
async fn a_tool_is_described() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let listed = wire.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    assert_eq!(
        (&echo["title"], &echo["description"]),
        (&json!("Echo"), &json!("Echoes its text."))
    );
    assert_eq!(echo["inputSchema"]["required"], json!(["text"]));
    assert_eq!(echo["outputSchema"]["properties"]["text"]["type"], "string");
    assert_eq!(
        (&echo["annotations"]["readOnlyHint"], &echo["annotations"]["openWorldHint"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test]
async fn a_missing_resource_has_its_revision_s_code() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    for dialect in legacy_dialects() {
        let mut wire = WireClient::legacy(&server, dialect.version()).await;
        for uri in ["memo://none", "nowhere://x", "result://none/2"] {
            let reply = wire.ask("resources/read", json!({"uri": uri})).await;
            assert_eq!(code(&reply), i64::from(dialect.missing_resource_code()), "{dialect:?}");
            assert_eq!(reply["error"]["data"], json!({"uri": uri}));
        }
    }
}

#[tokio::test]
async fn resources_and_prompts_are_served() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let reply = wire.ask("resources/read", json!({"uri": "memo://a"})).await;
    assert_eq!(
        reply["result"]["contents"],
        json!([{"uri": "memo://a", "mimeType": "text/plain", "text": "memo a"}])
    );
    let reply = wire.ask("resources/read", json!({"uri": "memo://locked"})).await;
    assert_eq!((code(&reply), &reply["error"]["data"]["kind"]), (-32603, &json!("database")));
    let reply =
        wire.ask("prompts/get", json!({"name": "greet", "arguments": {"name": "Ann"}})).await;
    assert_eq!(
        reply["result"]["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": "Greet Ann."}}])
    );
    assert_eq!(reply["result"]["description"], "A greeting");
    let reply = wire.ask("prompts/get", json!({"name": "greet"})).await;
    assert_eq!((code(&reply), &reply["error"]["data"]["parameter"]), (-32602, &json!("name")));
    let reply = wire.ask("prompts/get", json!({"name": "gret", "arguments": {}})).await;
    assert_eq!((code(&reply), &reply["error"]["data"]["closest"]), (-32602, &json!(["greet"])));
}

#[tokio::test]
async fn arguments_are_completed() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let prompt = json!({"type": "ref/prompt", "name": "greet"});
    let template = json!({"type": "ref/resource", "uri": "memo://{name}"});
    let params = |target: &serde_json::Value, typed: &str| json!({"ref": target, "argument": {"name": "name", "value": typed}});
    let reply = wire.ask("completion/complete", params(&prompt, "an")).await;
    assert_eq!(
        reply["result"]["completion"],
        json!({"values": ["ann", "anton"], "total": 2, "hasMore": false})
    );
    let reply = wire.ask("completion/complete", params(&template, "")).await;
    let completion = &reply["result"]["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
    for unknown in [
        json!({"type": "ref/prompt", "name": "none"}),
        json!({"type": "ref/resource", "uri": "none://{x}"}),
    ] {
        assert_eq!(
            code(&wire.ask("completion/complete", params(&unknown, "")).await),
            -32602,
            "{unknown}"
        );
    }
}
