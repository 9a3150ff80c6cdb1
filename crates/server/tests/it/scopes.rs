//! Who may use what.

use crate::{
    fixture::{Fixture, acting, said},
    wire::{Wire, code, key, modern, origin, setup, text},
};
use docent_server::{Server, Setup};
use serde_json::{Value, json};
use std::sync::Arc;

fn server() -> Arc<Server> {
    let other = Fixture::called("other");
    other
        .extra
        .lock()
        .unwrap()
        .push(acting("other_tool", json!({}), |_, _| async { Ok(said("other")) }));
    let mut setup = Setup { providers: vec![Fixture::new(), other], ..setup(Fixture::new()) };
    setup.keys = vec![
        key("all", &["*"]),
        key("suite", &["other:*"]),
        key("one", &["echo"]),
        key("none", &[]),
    ];
    setup.auth_required = true;
    Server::new(setup).unwrap()
}

async fn names(wire: &mut Wire, method: &str, field: &str) -> Vec<String> {
    let reply = wire.ask(method, json!({})).await;
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    reply["result"][field].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn a_key_opens_its_scopes_and_nothing_else() {
    let server = server();
    let cases = [
        ("suite", "other_tool", "echo", 0),
        ("one", "echo", "other_tool", 0),
        ("all", "echo", "", 3),
    ];
    for (name, may, may_not, resources) in cases {
        let token = format!("{name}-token");
        let mut wire =
            Wire::legacy_as(&server, "2025-11-25", json!({}), Some(origin(&server, Some(&token))))
                .await;
        let tools = names(&mut wire, "tools/list", "tools").await;
        assert!(
            tools.contains(&may.to_owned()) && !tools.contains(&may_not.to_owned()),
            "{name}: {tools:?}"
        );
        assert!(!text(&wire.call(may, json!({"text": "x"})).await).is_empty());
        assert_eq!(
            names(&mut wire, "resources/list", "resources").await.len(),
            resources,
            "{name}"
        );
        if may_not.is_empty() {
            continue;
        }
        let reply = wire.call(may_not, json!({"text": "x"})).await;
        assert_eq!(code(&reply), -32000, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("may not use"), "{reply}");
        let reply = wire.call("no_such_tool", json!({})).await;
        assert!(!reply["error"]["data"]["available"].to_string().contains(may_not), "{reply}");
        assert_eq!(
            code(&wire.ask("resources/read", json!({"uri": "memo://a"})).await),
            -32002,
            "{name}"
        );
        assert_eq!(
            code(
                &wire
                    .ask("prompts/get", json!({"name": "greet", "arguments": {"name": "x"}}))
                    .await
            ),
            -32602
        );
        assert_eq!(
            code(&wire.ask("resources/subscribe", json!({"uri": "memo://a"})).await),
            -32002
        );
    }
}

#[tokio::test]
async fn without_scopes_or_origin_nothing_opens() {
    let server = server();
    for origin in [None, Some(origin(&server, Some("none-token")))] {
        let mut wire = Wire::legacy_as(&server, "2025-11-25", json!({}), origin).await;
        assert!(names(&mut wire, "tools/list", "tools").await.is_empty());
        assert_eq!(code(&wire.call("echo", json!({"text": "x"})).await), -32000);
    }
}

#[tokio::test]
async fn lists_that_depend_on_the_principal_are_private() {
    let server = server();
    let mut wire = Wire::open_as(&server, Some(origin(&server, Some("all-token"))));
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let reply = wire.ask(method, modern(json!({}))).await;
        assert_eq!(reply["result"]["cacheScope"], "private", "{method}");
    }
}
