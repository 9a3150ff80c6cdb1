//! The four discovery tools, and whether a list shows them or all others.

use crate::{
    stage::{
        ScriptedClient, TestWorkerStarter, context, hub, hub_set, session, spec, text, tool, words,
    },
    threads::Threads,
};
use docent_hub::{CatalogExposure, Dialer, Hub, HubSettings, ServerStateStore};
use docent_script::{StartWorker, Workers};
use docent_tool::{AnyTool, ToolError, ToolOutcome, ToolProvider, no_client};
use serde_json::{Value, json};
use std::sync::{Arc, atomic::Ordering};

fn own(hub: &Arc<Hub>, name: &str) -> Arc<dyn AnyTool> {
    hub.tools().into_iter().find(|tool| tool.name() == name).unwrap()
}

/// Calls one of the four for a client whose own calls reach the servers.
async fn ask(hub: &Arc<Hub>, name: &str, arguments: Value) -> Result<ToolOutcome, ToolError> {
    let person =
        Arc::new(ScriptedClient { hub: Some(Arc::clone(hub)), ..ScriptedClient::default() });
    own(hub, name).call(arguments.as_object().unwrap().clone(), &context(&person)).await
}

fn said(outcome: &ToolOutcome) -> String {
    let word = |block: &docent_tool::AnswerBlock| match block {
        docent_tool::AnswerBlock::Text { text, .. } => text.clone(),
        other => words(&ToolOutcome { content: vec![other.clone()], ..ToolOutcome::default() }),
    };
    outcome.content.iter().map(word).collect()
}

async fn call_text(hub: &Arc<Hub>, name: &str, arguments: Value) -> String {
    said(&ask(hub, name, arguments).await.unwrap_or_else(|error| panic!("{error}")))
}

async fn refused(hub: &Arc<Hub>, name: &str, arguments: Value) -> String {
    ask(hub, name, arguments).await.unwrap_err().to_string()
}

/// A server with renamed and redescribed tools, one of which is hidden.
fn changed() -> (Arc<TestWorkerStarter>, Arc<Hub>) {
    let scripts = Arc::new(TestWorkerStarter::default());
    let all = json!([tool("add"), tool("sub"), tool("drop_all")]);
    scripts.put("py", session(all, |message| text(message, "ok")));
    let mut py = spec("py");
    py.rename.insert("add".into(), "plus".into());
    py.describe.insert("add".into(), "Sums up.".into());
    py.hide.push("drop_*".into());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![py]);
    (scripts, hub)
}

#[tokio::test]
async fn other_names_and_words_are_found_and_shown() {
    let (_scripts, hub) = changed();
    for arguments in [json!({"query": "sums up"}), json!({"query": "does sub"})] {
        let listed = call_text(&hub, "list_mcp_capabilities", arguments).await;
        assert!(listed.contains("py (2 tools)"), "{listed}");
        assert!(!listed.contains("drop_all") && !listed.contains("- add"), "{listed}");
    }
    let listed =
        call_text(&hub, "list_mcp_capabilities", json!({"query": "sums up", "limit": 1})).await;
    assert!(listed.contains("- plus: Sums up."), "{listed}");
    let all = call_text(&hub, "describe_mcp", json!({"id": "py"})).await;
    assert!(
        all.contains("\"plus\"") && all.contains("Sums up.") && all.contains("\"sub\""),
        "{all}"
    );
    assert!(!all.contains("drop_all") && !all.contains("\"add\""), "{all}");
    for name in ["plus", "add"] {
        let one = call_text(&hub, "describe_mcp", json!({"id": "py", "tools": [name]})).await;
        assert!(one.contains("\"plus\"") && !one.contains("\"sub\""), "{one}");
    }
    for hidden in ["drop_all", "py__drop_all"] {
        let error = refused(&hub, "describe_mcp", json!({"id": "py", "tools": [hidden]})).await;
        assert!(error.contains("it has [\"plus\", \"sub\"]"), "{error}");
    }
}

#[tokio::test]
async fn a_tool_is_called_by_the_names_that_a_model_may_know() {
    let (scripts, hub) = changed();
    for name in ["plus", "add", "sub", "py__sub"] {
        let arguments = json!({"server": "py", "tool": name});
        assert_eq!(call_text(&hub, "call_mcp_tool", arguments).await, "ok", "{name}");
    }
    let code = "import { plus, sub, $call } from \"mcp-clients/py\";\n\
                await plus(); await sub(); await $call(\"plus\"); await $call(\"add\");\n\
                return Object.keys(mcp.py).join()";
    let ended = call_text(&hub, "execute_mcp_code", json!({"code": code})).await;
    assert_eq!(ended, "plus,sub");
    let calls = scripts.of("tools/call");
    let called: Vec<_> =
        calls.iter().map(|call| call["params"]["name"].as_str().unwrap()).collect();
    assert_eq!(called, ["add", "add", "sub", "sub", "add", "sub", "add", "add"]);
    let error = refused(&hub, "call_mcp_tool", json!({"server": "py", "tool": "drop_all"})).await;
    assert!(error.contains("has no tool \"drop_all\""), "{error}");
    let error = refused(&hub, "call_mcp_tool", json!({"server": "py", "tool": "plu"})).await;
    assert!(error.contains("did you mean plus?"), "{error}");
}

#[tokio::test]
async fn scripts_see_new_names_and_descriptions() {
    let (_scripts, hub) = changed();
    ask(&hub, "list_mcp_capabilities", json!({})).await.unwrap();
    let read = hub.read("docent://mcp-clients/py.d.ts", &no_client()).await.unwrap().unwrap();
    let types = format!("{read:?}");
    assert!(types.contains("Sums up.") && types.contains("export function plus("), "{types}");
    assert!(!types.contains("Does add.") && !types.contains("drop_all"), "{types}");
}

#[tokio::test]
async fn an_unknown_server_is_an_error_of_the_argument_that_named_it() {
    let (_scripts, hub) = changed();
    ask(&hub, "list_mcp_capabilities", json!({})).await.unwrap();
    for (name, arguments, want) in [
        (
            "describe_mcp",
            json!({"id": "nope"}),
            "argument `id`: no server named \"nope\" is available to you",
        ),
        ("call_mcp_tool", json!({"server": "nope", "tool": "x"}), "argument `server`: no server"),
        (
            "execute_mcp_code",
            json!({"code": "1", "allowedMcpIds": ["nope"]}),
            "argument `allowedMcpIds`: no",
        ),
    ] {
        let error = refused(&hub, name, arguments).await;
        assert!(error.contains(want) && error.contains("[\"py\"]"), "{error}");
    }
}

#[tokio::test]
async fn an_argument_that_is_misspelt_is_not_one_that_is_left_out() {
    let (scripts, hub) = changed();
    for (name, arguments) in [
        ("execute_mcp_code", json!({"code": "await mcp.py.sub()", "allowedMcpIDs": ["zzz"]})),
        ("execute_mcp_code", json!({"code": "await mcp.py.sub()", "limits": {"time": 5}})),
        ("call_mcp_tool", json!({"server": "py", "tool": "sub", "argument": {}})),
        ("list_mcp_capabilities", json!({"querry": "x"})),
        ("describe_mcp", json!({"id": "py", "tool": ["sub"]})),
    ] {
        let schema = own(&hub, name).info().input_schema;
        assert_eq!(schema["additionalProperties"], false, "{name}: the schema tells callers");
        let error = refused(&hub, name, arguments).await;
        assert!(error.contains("unknown field"), "{error}");
    }
    let limits = &own(&hub, "execute_mcp_code").info().input_schema["properties"]["limits"];
    assert_eq!(limits["additionalProperties"], false);
    assert_eq!(scripts.of("tools/call").len(), 0);
}

#[tokio::test]
async fn what_a_script_says_is_bounded_and_says_so() {
    let (_scripts, hub) = changed();
    let run = |code: &str, limits: Value| json!({"code": code, "limits": limits});
    let long = run("return \"x\".repeat(500)", json!({"outputBytes": 60}));
    let long_text = call_text(&hub, "execute_mcp_code", long).await;
    assert!(long_text.len() < 100 && long_text.ends_with("\n(cut at 60 bytes)"), "{long_text}");
    let loud = run("console.log(\"x\".repeat(500)); return 1", json!({"outputBytes": 60}));
    let loud_text = call_text(&hub, "execute_mcp_code", loud).await;
    assert!(loud_text.starts_with("1\n\nconsole:\nlog: xxx"), "{loud_text}");
    assert!(loud_text.ends_with("x\n(cut at 60 bytes)"), "{loud_text}");
    let whole =
        call_text(&hub, "execute_mcp_code", json!({"code": "return \"x\".repeat(500)"})).await;
    assert_eq!(whole, "x".repeat(500));
    let failed =
        run("console.log(\"y\".repeat(500)); throw new Error(\"no\")", json!({"outputBytes": 60}));
    let error = refused(&hub, "execute_mcp_code", failed).await;
    assert!(error.starts_with("no (line 1") && error.ends_with("y\n(cut at 60 bytes)"), "{error}");
}

#[tokio::test]
async fn scripts_of_all_sessions_of_a_client_count_as_its_own() {
    let threads = Arc::new(Threads::default());
    let workers = Workers::new(Arc::clone(&threads) as Arc<dyn StartWorker>);
    let settings = HubSettings { workers: Some(workers), ..HubSettings::default() };
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("py", session(json!([tool("add")]), |message| text(message, "ok")));
    let hub =
        Hub::new(settings, Arc::clone(&scripts) as Arc<dyn Dialer>, ServerStateStore::disabled());
    hub.configure(vec![spec("py")]);
    for (session, client, started) in
        [("ann#1", "ann", 1), ("ann#2", "ann", 1), ("bob#3", "bob", 2)]
    {
        let person = Arc::new(ScriptedClient {
            name: session.into(),
            client_key: client.into(),
            hub: Some(Arc::clone(&hub)),
            ..ScriptedClient::default()
        });
        let arguments = json!({"code": "return 1"}).as_object().unwrap().clone();
        own(&hub, "execute_mcp_code").call(arguments, &context(&person)).await.unwrap();
        // A worker runs the scripts of one client alone.
        assert_eq!(threads.0.load(Ordering::SeqCst), started, "{session}");
    }
}

#[tokio::test]
async fn calls_of_a_script_are_bounded_and_counted() {
    let (scripts, hub) = changed();
    let code = "await mcp.py.sub();\nthrow new Error(\"two\")";
    let error = refused(&hub, "execute_mcp_code", json!({"code": code})).await;
    assert!(
        error.starts_with("two (line 2") && error.ends_with("\n1 call had been made"),
        "{error}"
    );
    let code = "for (let i = 0; i < 9; i++) await mcp.py.sub();";
    let arguments = json!({"code": code, "limits": {"calls": 2}});
    let error = refused(&hub, "execute_mcp_code", arguments).await;
    assert!(error.starts_with("no more than 2 calls"), "{error}");
    assert!(error.ends_with("\n2 calls had been made"), "{error}");
    assert_eq!(scripts.of("tools/call").len(), 3);
}

#[tokio::test]
async fn a_list_of_nothing_can_not_be_asked_for() {
    let (_scripts, hub) = changed();
    let schema = own(&hub, "list_mcp_capabilities").info().input_schema;
    assert_eq!(schema["properties"]["limit"], json!({"type": "integer", "minimum": 1}));
    let arguments = json!({"query": "sums up", "limit": 0});
    assert!(call_text(&hub, "list_mcp_capabilities", arguments).await.contains("plus"));
}

#[tokio::test]
async fn auto_lists_four_tools_where_all_would_take_too_much() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("small", session(json!([tool("a")]), |message| text(message, "ok")));
    let mut wordy = tool("a");
    wordy["description"] = json!("Adds one number to another. ".repeat(200));
    scripts.put("wordy", session(json!([wordy]), |message| text(message, "ok")));
    for (servers, exposure, four) in [
        (&["small"][..], CatalogExposure::Auto, false),
        (&["small", "wordy"], CatalogExposure::Auto, true),
        (&["small", "wordy"], CatalogExposure::Direct, false),
        (&["small"], CatalogExposure::Discover, true),
    ] {
        let settings = HubSettings { exposure, auto_tokens: 500, ..HubSettings::default() };
        let specs = servers.iter().map(|name| spec(name)).collect();
        let hub = hub_set(&scripts, ServerStateStore::disabled(), specs, settings);
        for part in hub.parts() {
            part.settled().await;
        }
        let shown =
            |tools: Vec<Arc<dyn AnyTool>>| tools.iter().filter(|tool| !tool.info().hidden).count();
        let listed: usize = hub.parts().iter().map(|part| shown(part.tools())).sum();
        let want = if four { (4, 0) } else { (0, servers.len()) };
        assert_eq!((shown(hub.tools()), listed), want, "{servers:?} {exposure:?}");
        hub.close().await;
    }
}
