//! Starting, failing, restarting, changing, stopping.

use crate::stage::{
    CallBehavior, TestWorkerStarter, call, hub, hub_set, result, session, spec, text, tool, tools,
    until, wait_for_change, words,
};
use crate::web::HttpTestServer;
use docent_hub::{
    CatalogExposure, HubSettings, ServerSpec, ServerState, ServerStateStore, ServerTransport,
};
use docent_tool::{ProviderChange, ToolProvider, no_client};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

#[tokio::test]
async fn a_server_that_is_known_is_not_started_before_it_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("a")]), |message| text(message, "ok")));
    let first = hub(&scripts, memory.clone(), vec![spec("one")]);
    assert_eq!(tools(&first).await.len(), 1);
    until(|| memory.load(&spec("one")).is_some()).await;
    first.close().await;
    assert_eq!(*scripts.starts.lock().unwrap(), 1);
    let second = hub(&scripts, memory, vec![spec("one")]);
    assert_eq!(tools(&second).await.len(), 1);
    assert_eq!((*scripts.starts.lock().unwrap(), second.status()[0].state), (1, ServerState::Idle));
    assert_eq!(words(&call(&second, "one__a", &no_client()).await.unwrap()), "ok");
    assert_eq!(
        (*scripts.starts.lock().unwrap(), second.status()[0].state),
        (2, ServerState::Ready)
    );
}

/// A server whose only tool has another description from its second start on.
fn changing_with_its_second_start() -> Arc<TestWorkerStarter> {
    let scripts = Arc::new(TestWorkerStarter::default());
    let starts = Arc::clone(&scripts.starts);
    scripts.put("one", move |message: &Value| {
        let mut definition = tool("a");
        if *starts.lock().unwrap() > 1 {
            definition["description"] = json!("Does something else.");
        }
        session(json!([definition]), |message| text(message, "ok"))(message)
    });
    scripts
}

fn approve_all(memory: &ServerStateStore) {
    let held = memory.load_any("one").unwrap().held_back;
    assert_eq!(memory.approve_seen("one", &held).unwrap(), ["a"]);
}

#[tokio::test]
async fn a_definition_that_changes_is_held_back_until_it_is_approved() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let scripts = changing_with_its_second_start();
    let first = hub(&scripts, memory.clone(), vec![spec("one")]);
    call(&first, "one__a", &no_client()).await.unwrap();
    until(|| memory.load(&spec("one")).is_some()).await;
    first.close().await;
    let calls = scripts.of("tools/call").len();
    let second = hub(&scripts, memory.clone(), vec![spec("one")]);
    // The server is started for this call, and only then lists the change.
    let error = call(&second, "one__a", &no_client()).await.unwrap_err();
    assert!(error.to_string().contains("held back"), "{error}");
    assert_eq!(scripts.of("tools/call").len(), calls, "nothing was called");
    assert_eq!(
        tools(&second).await["one__a"].info().description,
        "Does a.",
        "the model sees what was approved"
    );
    let held = second.status().remove(0).held_back;
    assert_eq!(held.iter().map(|held| held.tool.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(held[0].before.is_some() && held[0].before.as_ref() != Some(&held[0].after));
    until(|| memory.load(&spec("one")).is_some_and(|known| !known.held_back.is_empty())).await;
    approve_all(&memory);
    assert_eq!(
        tools(&second).await["one__a"].info().description,
        "Does something else.",
        "a list applies new approvals"
    );
    second.close().await;
    let third = hub(&scripts, memory, vec![spec("one")]);
    assert_eq!(words(&call(&third, "one__a", &no_client()).await.unwrap()), "ok");
}

/// A server that offers the tools of the list, and reports when the list changes.
fn offering(scripts: &TestWorkerStarter, offered: &Arc<Mutex<Value>>) {
    let offered = Arc::clone(offered);
    scripts.put("one", move |message: &Value| {
        let tools = offered.lock().unwrap().clone();
        session(tools, |message| text(message, "ok"))(message)
    });
}

#[tokio::test]
async fn a_tool_under_another_name_is_held_back_until_it_is_approved() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let (scripts, offered) =
        (Arc::new(TestWorkerStarter::default()), Arc::new(Mutex::new(json!([tool("a")]))));
    offering(&scripts, &offered);
    let hub = hub(&scripts, memory.clone(), vec![spec("one")]);
    assert_eq!(tools(&hub).await.keys().collect::<Vec<_>>(), ["one__a"]);
    *offered.lock().unwrap() = json!([tool("b")]);
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    until(|| !hub.status()[0].held_back.is_empty()).await;
    assert_eq!(tools(&hub).await.len(), 0, "neither the old name nor the new one is offered");
    let held = hub.status().remove(0).held_back;
    assert_eq!((held[0].tool.as_str(), &held[0].before), ("b", &None));
    let approved = memory.approve_seen("one", &memory.load_any("one").unwrap().held_back).unwrap();
    assert_eq!(approved, ["b"]);
    assert_eq!(words(&call(&hub, "one__b", &no_client()).await.unwrap()), "ok");
    // The old one is unchanged.
    *offered.lock().unwrap() = json!([tool("a"), tool("b")]);
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    until(|| hub.status()[0].tools == 2).await;
    assert!(hub.status()[0].held_back.is_empty());
}

#[tokio::test]
async fn new_tools_are_offered_where_the_entry_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let (scripts, offered) =
        (Arc::new(TestWorkerStarter::default()), Arc::new(Mutex::new(json!([tool("a")]))));
    offering(&scripts, &offered);
    let accepting = ServerSpec { accepts_new_tools: true, ..spec("one") };
    let hub = hub(&scripts, memory, vec![accepting]);
    assert_eq!(tools(&hub).await.len(), 1);
    let mut changed = tool("a");
    changed["description"] = json!("Does something else.");
    *offered.lock().unwrap() = json!([changed, tool("b")]);
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    until(|| hub.status()[0].tools == 2).await;
    assert_eq!(words(&call(&hub, "one__b", &no_client()).await.unwrap()), "ok");
    let error = call(&hub, "one__a", &no_client()).await.unwrap_err().to_string();
    assert!(error.contains("has changed since it was approved"), "{error}");
}

#[tokio::test]
async fn a_name_that_the_user_gives_a_tool_makes_no_change_of_it_a_first_one() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let scripts = changing_with_its_second_start();
    let first = hub(&scripts, memory.clone(), vec![spec("one")]);
    call(&first, "one__a", &no_client()).await.unwrap();
    until(|| memory.load(&spec("one")).is_some()).await;
    first.close().await;
    let renamed = ServerSpec { rename: [("a".into(), "mine".into())].into(), ..spec("one") };
    let second = hub(&scripts, memory, vec![renamed]);
    let error = call(&second, "mine", &no_client()).await.unwrap_err().to_string();
    assert!(error.contains("has changed since it was approved"), "{error}");
    assert_eq!(scripts.of("tools/call").len(), 1, "nothing was called but the approved one");
}

#[tokio::test]
async fn a_tool_that_can_t_be_used_hides_no_other() {
    let deep = (0..500).fold(json!({}), |inner, _| json!({"properties": {"x": inner}}));
    let with = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema});
    let offered = json!([
        tool("first"),
        with("deep", json!({"type": "object", "properties": {"x": deep}})),
        with("large", json!({"type": "object", "description": "x".repeat(1 << 20)})),
        with("refused", json!({"type": "object", "refused": true})),
        with("text", json!("object")),
        tool("last"),
    ]);
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(offered, |message| text(message, "ok")));
    let settings = HubSettings {
        exposure: CatalogExposure::Direct,
        schema_check: |schema| match schema.get("refused") {
            Some(_) => Err("it is refused".into()),
            None => Ok(()),
        },
        ..HubSettings::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let hub = hub_set(&scripts, memory.clone(), vec![spec("one")], settings);
    assert_eq!(tools(&hub).await.keys().collect::<Vec<_>>(), ["one__first", "one__last"]);
    let left_out = hub.status().remove(0).left_out;
    for (tool, why) in [
        ("deep", "nested more than 64 levels"),
        ("large", "the limit is 1048576"),
        ("refused", "its inputSchema can't be used: it is refused"),
        ("text", "its inputSchema is not an object"),
    ] {
        assert!(left_out[tool].contains(why), "{left_out:?}");
    }
    assert_eq!(left_out.len(), 4, "{left_out:?}");
    assert_eq!(memory.load_any("one").unwrap().left_out, left_out, "commands report it as well");
}

#[tokio::test]
async fn tools_that_are_left_out_count_and_are_reported_by_short_names() {
    const PAGES: u64 = 10;
    let scripts = Arc::new(TestWorkerStarter::default());
    let inner = session(json!([]), |message| text(message, "ok"));
    // Each page has a tool that can be used, and one of 2 MiB that can't.
    scripts.put("one", move |message: &Value| {
        if message["method"] != "tools/list" {
            return inner(message);
        }
        let page = message["params"]["cursor"].as_u64().unwrap_or(0);
        let large = json!({"name": format!("{page}{}", "x".repeat(2 << 20))});
        let mut list = json!({"tools": [tool(&format!("t{page}")), large]});
        if page + 1 < PAGES {
            list["nextCursor"] = json!(page + 1);
        }
        result(message, list)
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    assert_eq!(tools(&hub).await.len(), 8, "a list may have 16 MiB");
    let left_out = hub.status().remove(0).left_out;
    assert_eq!(left_out.len(), 7);
    assert!(left_out.keys().all(|name| name.chars().count() == 200));
}

#[tokio::test]
async fn unreadable_approvals_are_given_again_and_not_taken_from_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("a")]), |message| text(message, "ok")));
    let first = hub(&scripts, memory.clone(), vec![spec("one")]);
    assert_eq!(tools(&first).await.len(), 1);
    first.close().await;
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{\"tools\":").unwrap();
    // The second one finds the file that the first put in place of the damaged one.
    for _ in 0..2 {
        let hub = hub(&scripts, memory.clone(), vec![spec("one")]);
        assert_eq!(tools(&hub).await.len(), 0, "nothing is approved by being seen");
        hub.close().await;
    }
    let last = hub(&scripts, memory.clone(), vec![spec("one")]);
    assert_eq!(tools(&last).await.len(), 0);
    let held = last.status().remove(0).held_back;
    assert_eq!(held.iter().map(|held| held.tool.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(held[0].before.is_none());
    approve_all(&memory);
    assert_eq!(words(&call(&last, "one__a", &no_client()).await.unwrap()), "ok");
}

#[tokio::test]
async fn approvals_that_are_lost_while_docent_runs_let_nothing_through() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let scripts = changing_with_its_second_start();
    let first = hub(&scripts, memory.clone(), vec![spec("one")]);
    assert_eq!(tools(&first).await.len(), 1);
    first.close().await;
    let second = hub(&scripts, memory, vec![spec("one")]);
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    for _ in 0..2 {
        let error = call(&second, "one__a", &no_client()).await.unwrap_err();
        assert!(error.to_string().contains("held back"), "{error}");
        std::fs::write(&file, "").unwrap();
    }
    assert_eq!(scripts.of("tools/call").len(), 0);
}

#[tokio::test]
async fn a_list_without_end_is_read_up_to_a_bound_in_bytes() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", |message: &Value| {
        if message["method"] != "tools/list" {
            return session(json!([]), |message| text(message, "ok"))(message);
        }
        let page = message["params"]["cursor"].as_u64().unwrap_or_default();
        let mut definition = tool(&format!("t{page}"));
        definition["_meta"] = json!({"much": "x".repeat(1_000_000)});
        result(message, json!({"tools": [definition], "nextCursor": page + 1}))
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    hub.server("one").unwrap().reach().await.unwrap();
    assert_eq!(tools(&hub).await.len(), 16);
    assert_eq!(scripts.of("tools/list").len(), 17);
}

#[tokio::test]
async fn another_way_that_a_registry_names_makes_no_definition_a_first_one() {
    let folder = tempfile::tempdir().unwrap();
    let memory = ServerStateStore::new(folder.path().to_owned());
    let scripts = changing_with_its_second_start();
    let with = |variables: &[&str]| {
        let mut spec = spec("one");
        spec.keeps_pins = true;
        if let ServerTransport::Program { env, .. } = &mut spec.transport {
            env.extend(variables.iter().map(|name| ((*name).to_owned(), String::new())));
        }
        spec
    };
    let first = hub(&scripts, memory.clone(), vec![with(&[])]);
    assert_eq!(tools(&first).await.len(), 1);
    first.close().await;
    let second = hub(&scripts, memory, vec![with(&["X"])]);
    assert_eq!(tools(&second).await["one__a"].info().description, "Does a.");
    let error = call(&second, "one__a", &no_client()).await.unwrap_err();
    assert!(error.to_string().contains("held back"), "{error}");
}

#[tokio::test]
async fn a_server_that_fails_says_why_and_is_not_tried_at_once() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("gone")]);
    assert_eq!(tools(&hub).await.len(), 0);
    let status = hub.status().remove(0);
    assert_eq!(status.state, ServerState::Waiting);
    let why = status.health.last_failure.unwrap();
    assert!(why.contains("it is not installed") && why.contains("no such module"), "{why}");
}

#[tokio::test]
async fn a_server_that_dies_comes_back_for_the_next_call() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("die"), tool("live")]), |message| {
            if message["params"]["name"] == "die" {
                CallBehavior::Ends
            } else {
                text(message, "ok")
            }
        }),
    );
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let error = call(&hub, "one__die", &no_client()).await.unwrap_err();
    assert!(error.to_string().contains("connection was lost"), "{error}");
    assert_eq!(words(&call(&hub, "one__live", &no_client()).await.unwrap()), "ok");
    assert_eq!(*scripts.starts.lock().unwrap(), 2);
    assert_eq!(hub.status()[0].health.losses, 1);
}

#[tokio::test]
async fn a_warm_server_that_falls_down_at_once_is_not_restarted_in_a_rush() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", |message: &Value| {
        let said = session(json!([tool("a")]), |message| text(message, "ok"))(message);
        match (message["method"].as_str(), said) {
            (Some("tools/list"), CallBehavior::Says(all)) => CallBehavior::Last(all),
            (_, said) => said,
        }
    });
    let mut warm = spec("one");
    warm.warm = true;
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![warm]);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let starts = || *scripts.starts.lock().unwrap();
    assert!(starts() <= 4, "{} starts in 1.5 s", starts());
    while starts() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    hub.close().await;
}

#[tokio::test]
async fn addresses_outlive_a_change_of_configuration() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", |message: &Value| match message["method"].as_str() {
        Some("initialize") => result(
            message,
            json!({"protocolVersion": "2025-11-25", "capabilities": {"resources": {}}}),
        ),
        Some("resources/list") => {
            result(message, json!({"resources": [{"uri": "a:b", "name": "b"}]}))
        }
        Some("resources/read") => {
            result(message, json!({"contents": [{"uri": "a:b", "text": "x"}]}))
        }
        Some(_) => result(message, json!({})),
        None => CallBehavior::Says(Vec::new()),
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    tools(&hub).await;
    let mut other = spec("one");
    other.concurrency = 3;
    hub.configure(vec![other]);
    tools(&hub).await;
    // The previous one is being stopped meanwhile.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(hub.parts().remove(0).read("a:b", &no_client()).await.is_some_and(|read| read.is_ok()));
}

#[tokio::test]
async fn an_unused_server_is_ended() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("a")]), |message| text(message, "ok")));
    let mut short = spec("one");
    short.idle = Some(Duration::from_millis(50));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![short]);
    call(&hub, "one__a", &no_client()).await.unwrap();
    until(|| hub.status()[0].state == ServerState::Idle).await;
    assert_eq!(words(&call(&hub, "one__a", &no_client()).await.unwrap()), "ok");
}

#[tokio::test]
async fn nothing_waits_for_a_server_that_has_died() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let tools = json!([tool("a"), tool("die")]);
    scripts.put(
        "one",
        session(tools, |message| {
            if message["params"]["name"] == "die" {
                CallBehavior::Ends
            } else {
                text(message, "ok")
            }
        }),
    );
    let mut patient = spec("one");
    patient.idle = Some(Duration::from_hours(1));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![patient]);
    call(&hub, "one__a", &no_client()).await.unwrap();
    let running = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = running();
    for _ in 0..3 {
        call(&hub, "one__die", &no_client()).await.unwrap_err();
        call(&hub, "one__a", &no_client()).await.unwrap();
    }
    assert!(*scripts.starts.lock().unwrap() > 3);
    until(|| running() <= before).await;
}

#[tokio::test]
async fn changed_lists_are_refreshed_and_reported() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let more = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&more);
    scripts.put("one", move |message: &Value| {
        let tools = if now.load(Ordering::Relaxed) {
            json!([tool("a"), tool("b")])
        } else {
            json!([tool("a")])
        };
        session(tools, |message| text(message, "ok"))(message)
    });
    let accepting = ServerSpec { accepts_new_tools: true, ..spec("one") };
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![accepting]);
    assert_eq!(tools(&hub).await.len(), 1);
    let mut changes = hub.changes().unwrap();
    more.store(true, Ordering::Relaxed);
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    wait_for_change(&mut changes, &ProviderChange::Tools).await;
    assert_eq!(tools(&hub).await.len(), 2);
}

#[tokio::test]
async fn a_change_of_configuration_touches_only_what_changed() {
    let scripts = Arc::new(TestWorkerStarter::default());
    for name in ["one", "two", "three"] {
        scripts.put(name, session(json!([tool("a")]), |message| text(message, "ok")));
    }
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one"), spec("two")]);
    assert_eq!(tools(&hub).await.len(), 2);
    let mut changes = hub.changes().unwrap();
    let mut other = spec("two");
    other.hide.push("a".into());
    hub.configure(vec![spec("one"), other, spec("three")]);
    wait_for_change(&mut changes, &ProviderChange::Tools).await;
    assert_eq!(tools(&hub).await.keys().collect::<Vec<_>>(), ["one__a", "three__a"]);
    assert_eq!(*scripts.starts.lock().unwrap(), 4, "`one` was left alone");
    hub.configure(vec![spec("one"), spec("one")]);
    assert_eq!(hub.servers().len(), 1);
}

#[tokio::test]
async fn what_is_watched_is_watched_again_when_the_server_comes_back() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", |message: &Value| match message["method"].as_str() {
        Some("initialize") => result(message, json!({"protocolVersion": "2025-11-25", "capabilities": {"resources": {"subscribe": true}}})),
        Some("resources/list") => result(message, json!({"resources": [{"uri": "a:b", "name": "b", "size": 3, "icons": []}]})),
        Some("resources/templates/list") => result(message, json!({"resourceTemplates": []})),
        Some("resources/subscribe") => result(message, json!({})),
        Some("resources/read") => CallBehavior::Ends,
        _ => CallBehavior::Says(Vec::new()),
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    tools(&hub).await;
    let part = hub.parts().remove(0);
    let listed = part.resources().await;
    assert_eq!((listed[0].size, listed[0].extra.contains_key("icons")), (Some(3), true));
    assert!(part.watch("a:b") && !part.watch("c:d"));
    until(|| scripts.of("resources/subscribe").len() == 1).await;
    let mut changes = hub.changes().unwrap();
    scripts.say(json!({"jsonrpc": "2.0", "method": "resources/updated", "params": {"uri": "a:b"}}));
    wait_for_change(&mut changes, &ProviderChange::Updated("a:b".into())).await;
    part.read("a:b", &no_client()).await.unwrap().unwrap_err();
    until(|| scripts.of("resources/subscribe").len() >= 2).await;
}

#[tokio::test]
async fn a_server_on_http_that_is_gone_is_left_alone_for_a_while() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let web = HttpTestServer::start(json!([tool("a")])).await;
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![web.spec("web")]);
    let first = {
        let hub = Arc::clone(&hub);
        tokio::spawn(async move { call(&hub, "web__a", &no_client()).await })
    };
    until(|| web.is_called("a")).await;
    web.answer("a", "ok");
    assert_eq!(words(&first.await.unwrap().unwrap()), "ok");
    assert_eq!(hub.status()[0].state, ServerState::Ready);
    web.stop();
    let error = call(&hub, "web__a", &no_client()).await.unwrap_err();
    assert!(error.to_string().contains("can't reach the server"), "{error}");
    assert_eq!(hub.status()[0].state, ServerState::Waiting);
    let mut last = error;
    for _ in 0..8 {
        last = call(&hub, "web__a", &no_client()).await.unwrap_err();
    }
    assert!(last.to_string().contains("next attempt in"), "{last}");
    let starts = *scripts.starts.lock().unwrap();
    assert!(starts <= 6, "{starts} connections for nine calls");
}

#[tokio::test]
async fn a_server_that_leaves_calls_unanswered_is_left_alone_and_not_ended() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("slow")]), |_| CallBehavior::Says(Vec::new())));
    let mut short = spec("one");
    short.timeout = Duration::from_millis(20);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![short]);
    let mut errors = Vec::new();
    for _ in 0..6 {
        errors.push(call(&hub, "one__slow", &no_client()).await.unwrap_err().to_string());
    }
    assert_eq!(scripts.of("tools/call").len(), 3, "{errors:?}");
    assert!(errors[5].contains("no answer within 0.02 s; next attempt in"), "{}", errors[5]);
    let status = hub.status().remove(0);
    assert_eq!((status.state, status.health.timeouts), (ServerState::Waiting, 3));
    assert_eq!((*scripts.starts.lock().unwrap(), status.health.losses), (1, 0), "it still runs");
}

#[tokio::test]
async fn an_answer_ends_the_count_of_those_that_did_not_come() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("slow"), tool("quick")]), |message| {
            if message["params"]["name"] == "slow" {
                CallBehavior::Says(Vec::new())
            } else {
                text(message, "ok")
            }
        }),
    );
    let mut short = spec("one");
    short.timeout = Duration::from_millis(200);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![short]);
    for _ in 0..2 {
        call(&hub, "one__slow", &no_client()).await.unwrap_err();
        call(&hub, "one__slow", &no_client()).await.unwrap_err();
        assert_eq!(words(&call(&hub, "one__quick", &no_client()).await.unwrap()), "ok");
    }
}

#[tokio::test]
async fn lists_that_differ_after_a_restart_are_reported() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let starts = Arc::clone(&scripts.starts);
    scripts.put("one", move |message: &Value| {
        let again = *starts.lock().unwrap() > 1;
        let tools = if again { json!([tool("die"), tool("new")]) } else { json!([tool("die")]) };
        session(tools, |_| CallBehavior::Ends)(message)
    });
    let mut warm = spec("one");
    warm.warm = true;
    warm.accepts_new_tools = true;
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![warm]);
    assert_eq!(tools(&hub).await.len(), 1);
    let mut changes = hub.changes().unwrap();
    call(&hub, "one__die", &no_client()).await.unwrap_err();
    wait_for_change(&mut changes, &ProviderChange::Tools).await;
    assert_eq!(tools(&hub).await.keys().collect::<Vec<_>>(), ["one__die", "one__new"]);
}

#[tokio::test]
async fn a_program_that_dies_in_a_call_has_its_stderr_reported() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("die")]), |_| CallBehavior::Ends));
    scripts.words.lock().unwrap().insert("one".into(), "out of paper".into());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let error = call(&hub, "one__die", &no_client()).await.unwrap_err();
    assert!(error.to_string().ends_with("; last lines of its stderr: out of paper"), "{error}");
    scripts.words.lock().unwrap().clear();
    let error = call(&hub, "one__die", &no_client()).await.unwrap_err();
    assert!(!error.to_string().contains("paper"), "lines of the previous process: {error}");
}

#[tokio::test]
async fn the_error_of_a_slow_start_names_the_setting() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", |_: &Value| CallBehavior::Says(Vec::new()));
    let mut short = spec("one");
    short.start_timeout = Duration::from_millis(20);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![short]);
    tools(&hub).await;
    let why = hub.status().remove(0).health.last_failure.unwrap();
    assert!(why.contains("within 0.02 s; raise its `start_timeout_ms`"), "{why}");
}
