//! Versions and capabilities.

use crate::{
    fixture::FixtureProvider,
    wire::{MODERN, WireClient, code, modern, setup},
};
use docent_server::McpServer;
use serde_json::json;

#[tokio::test]
async fn versions_are_negotiated() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let cases = [
        ("1.0", "1.0"),
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        (MODERN, "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ];
    for (asked, want) in cases {
        let mut wire = WireClient::open(&server);
        let result = wire.initialize(asked, json!({})).await["result"].clone();
        assert_eq!(result["protocolVersion"], want, "{asked}");
        assert_eq!(result["serverInfo"], json!({"name": "fixture", "version": "1.2.3"}));
        assert_eq!(result["instructions"], "Use with care.");
        let capabilities = &result["capabilities"];
        assert_eq!(capabilities["resources"], json!({"subscribe": true, "listChanged": true}));
        assert_eq!(capabilities["tools"], json!({"listChanged": true}));
        for name in ["prompts", "logging", "completions"] {
            assert!(capabilities[name].is_object(), "{name}: {capabilities}");
        }
        assert!(capabilities.get("extensions").is_none(), "{capabilities}");
    }
}

#[tokio::test]
async fn the_newest_revision_discovers() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::open(&server);
    let found = wire.ask("server/discover", modern(json!({}))).await["result"].clone();
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)), "{found}");
    assert_eq!(found["resultType"], "complete");
    assert!(
        found["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object(),
        "{found}"
    );
    assert_eq!(found["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
}

#[tokio::test]
async fn both_eras_share_a_connection() {
    let server = McpServer::new(setup(FixtureProvider::new())).unwrap();
    let mut wire = WireClient::legacy(&server, "2024-11-05").await;
    let old = wire.ask("tools/list", json!({})).await;
    assert!(old["result"].get("resultType").is_none());
    let new = wire.ask("tools/list", modern(json!({}))).await;
    assert_eq!(new["result"]["resultType"], "complete");
    assert_eq!(
        (new["result"]["ttlMs"].as_u64(), &new["result"]["cacheScope"]),
        (Some(0), &json!("public"))
    );
    assert_eq!(code(&wire.ask("resources/read", json!({"uri": "memo://none"})).await), -32002);
    let mut params = modern(json!({}));
    params["uri"] = json!("memo://none");
    assert_eq!(code(&wire.ask("resources/read", params).await), -32602);
}
