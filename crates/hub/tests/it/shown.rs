//! Which servers lists and searches show.

use crate::stage::{TestWorkerStarter, hub, session, spec, text, tool, tools};
use docent_hub::{DiscoveryVisibility, Hub, ServerStateStore};
use docent_tool::{Object, ToolProvider, no_client};
use serde_json::{Value, json};
use std::sync::Arc;

async fn asked(hub: &Arc<Hub>, name: &str, arguments: Value) -> Value {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    let all = hub.tools();
    let tool = all.iter().find(|tool| tool.name() == name).unwrap();
    tool.call(arguments.into_iter().collect::<Object>(), &no_client())
        .await
        .unwrap()
        .structured
        .unwrap()
}

async fn found(hub: &Arc<Hub>, arguments: Value) -> Vec<String> {
    let answer = asked(hub, "list_mcp_capabilities", arguments).await;
    let ids = answer["servers"].as_array().unwrap().iter().map(|server| server["id"].as_str());
    let mut ids: Vec<String> = ids.map(|id| id.unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn servers(names: &[&str]) -> Arc<TestWorkerStarter> {
    let scripts = Arc::new(TestWorkerStarter::default());
    for name in names {
        scripts.put(name, session(json!([tool("weather")]), |message| text(message, "fine")));
    }
    scripts
}

#[tokio::test]
async fn some_servers_are_shown_only_when_they_are_named() {
    let scripts = servers(&["open", "by-name", "trial"]);
    let (mut named, mut trial) = (spec("by-name"), spec("trial"));
    named.about.visibility = Some(DiscoveryVisibility::OptIn);
    trial.about.visibility = Some(DiscoveryVisibility::Experimental);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("open"), named, trial]);
    for (arguments, want) in [
        (json!({}), vec!["open"]),
        (json!({"query": "weather"}), vec!["open"]),
        (json!({"query": "weather of By-Name"}), vec!["by-name", "open"]),
        (json!({"query": "weather, by trial"}), vec!["open", "trial"]),
        (json!({"query": "experimental weather"}), vec!["open", "trial"]),
        (json!({"query": "the name of the weather"}), vec!["open"]),
    ] {
        assert_eq!(found(&hub, arguments.clone()).await, want, "{arguments}");
    }
    let shown: Vec<String> = hub.resources().await.into_iter().map(|one| one.name).collect();
    assert_eq!(shown, ["open.d.ts"]);
    let described = asked(&hub, "describe_mcp", json!({"id": "by-name"})).await;
    assert_eq!(described["tools"][0]["name"], "weather", "who names it may use it");
}

#[tokio::test]
async fn lists_leave_out_what_is_not_always_shown() {
    let scripts = servers(&["open", "named", "asked"]);
    let (mut named, mut on_request) = (spec("named"), spec("asked"));
    named.about.visibility = Some(DiscoveryVisibility::OptIn);
    on_request.about.on_request = true;
    let all = hub(&scripts, ServerStateStore::disabled(), vec![spec("open"), named, on_request]);
    let listed: Vec<String> = tools(&all)
        .await
        .into_values()
        .map(|tool| tool.info())
        .filter(|info| !info.hidden)
        .map(|info| info.name)
        .collect();
    assert_eq!(listed, ["open__weather"]);
    assert!(
        all.tools().iter().all(|tool| !tool.info().hidden),
        "without these, the others can't be found"
    );
    assert_eq!(found(&all, json!({"query": "weather"})).await, ["asked", "open"]);
    let open = hub(&servers(&["open"]), ServerStateStore::disabled(), vec![spec("open")]);
    assert!(open.tools().iter().all(|tool| tool.info().hidden));
    tools(&open).await;
    assert_eq!(open.tokens(), all.tokens(), "what is not listed costs nothing");
}
