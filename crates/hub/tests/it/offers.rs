//! Resources, templates, prompts and completions: their contents, and their owners.

use crate::stage::{CallBehavior, ScriptedClient, TestWorkerStarter, context, hub, result, spec};
use docent_hub::{Hub, ServerStateStore};
use docent_tool::{
    AnswerBlock, CompletionRequest, CompletionTarget, Contents, FailureKind, Object, ToolError,
    ToolProvider, no_client,
};
use serde_json::{Value, json};
use std::sync::Arc;

const META: &str = "/params/_meta/note";

/// A server of this version with a resource, a template and a prompt; `who` is what its resources hold.
fn offering(
    version: &'static str,
    can: Value,
    who: &'static str,
) -> impl Fn(&Value) -> CallBehavior {
    move |message: &Value| {
        let error = |code: i64| {
            let error = json!({"code": code, "message": "Resource not found"});
            CallBehavior::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})])
        };
        let is_new = version == "2026-07-28";
        match message["method"].as_str().unwrap_or_default() {
            "initialize" if is_new => error(-32601),
            "initialize" | "server/discover" => result(
                message,
                json!({"protocolVersion": version, "capabilities": can, "serverInfo": {"name": "s", "version": "1"}}),
            ),
            "resources/list" => {
                result(message, json!({"resources": [{"uri": "a:one", "name": "one", "odd": 1}]}))
            }
            "resources/templates/list" => {
                let template = json!({"uriTemplate": "t:{x}", "name": "t", "odd": 1});
                result(message, json!({"resourceTemplates": [template]}))
            }
            "prompts/list" => result(
                message,
                json!({"prompts": [{"name": "p", "odd": 1, "arguments": [{"name": "x", "odd": 1}]}]}),
            ),
            "resources/read" => match message["params"]["uri"].as_str() {
                Some("t:none") if is_new => error(-32602),
                Some("t:none") if version == "1.0" => error(-32003),
                Some("t:none") => error(-32002),
                Some("t:other") => error(-32099),
                uri => result(
                    message,
                    json!({"contents": [{"uri": uri, "text": who, "odd": 1}], "odd": 1, "_meta": {"own": 1}}),
                ),
            },
            "prompts/get" => result(
                message,
                json!({"messages": [
                    {"role": "user", "content": {"type": "text", "text": "a"}},
                    {"role": "assistant", "content": {"type": "resource_link", "uri": "t:1", "name": "n"}, "odd": 1},
                ], "odd": 1, "_meta": {"own": 1}}),
            ),
            "completion/complete" => result(
                message,
                json!({"completion": {"values": [who], "total": 50, "hasMore": true, "odd": 1}, "odd": 1, "_meta": {"own": 1}}),
            ),
            _ => CallBehavior::Says(Vec::new()),
        }
    }
}

fn everything() -> Value {
    json!({"resources": {"subscribe": true}, "prompts": {}, "completions": {}})
}

async fn parts(hub: &Arc<Hub>) -> Vec<Arc<dyn ToolProvider>> {
    let parts = hub.parts();
    for part in &parts {
        part.settled().await;
    }
    parts
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn what_has_no_place_travels_and_what_the_client_says_reaches_the_server() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", offering("2025-11-25", everything(), "one"));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let part = parts(&hub).await.remove(0);
    let person =
        Arc::new(ScriptedClient { meta: object(json!({"note": 1})), ..ScriptedClient::default() });
    let context = context(&person);

    let reading = part.read("a:one", &context).await.unwrap().unwrap();
    assert_eq!(reading.meta, Some(object(json!({"own": 1, "docent/extra": {"odd": 1}}))));
    let [Contents::Raw(contents)] = &reading.contents[..] else { panic!("{reading:?}") };
    assert_eq!(contents["odd"], 1);
    let answer = part.prompt("one__p", &Object::new(), &context).await.unwrap();
    let meta = answer.meta.unwrap();
    assert_eq!(meta["docent/extra"], json!({"messages": [{}, {"odd": 1}], "odd": 1}));
    assert_eq!((&meta["own"], &meta["docent/origin"]["server"]), (&json!(1), &json!("one")));
    let mut asked = CompletionRequest::new(CompletionTarget::Prompt("one__p".into()), "x", "");
    asked.meta = context.meta();
    let completed = part.complete(&asked).await;
    assert_eq!(completed.values, ["one"]);
    assert_eq!((completed.total, completed.more), (Some(50), Some(true)));
    let extra = json!({"own": 1, "docent/extra": {"completion": {"odd": 1}, "odd": 1}});
    assert_eq!(completed.meta, Some(object(extra)));
    for method in ["resources/read", "prompts/get", "completion/complete"] {
        assert_eq!(scripts.of(method)[0].pointer(META), Some(&json!(1)), "{method}");
    }
    assert_eq!(part.resources().await[0].extra, object(json!({"odd": 1})));
    assert_eq!(part.templates()[0].extra, object(json!({"odd": 1})));
    let prompt = part.prompts().remove(0);
    assert_eq!(prompt.extra["odd"], 1);
    assert_eq!(prompt.extra["arguments"], json!([{"name": "x", "odd": 1}]));
}

#[tokio::test]
async fn a_template_of_two_servers_is_distinguished() {
    let scripts = Arc::new(TestWorkerStarter::default());
    for who in ["one", "two"] {
        scripts.put(who, offering("2025-11-25", everything(), who));
    }
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one"), spec("two")]);
    let parts = parts(&hub).await;
    let cases = [(&parts[0], "t:{x}", "one"), (&parts[1], "docent+two:t:{x}", "two")];
    for (part, template, who) in cases {
        assert_eq!(part.templates()[0].uri_template, template);
        let target = || CompletionTarget::Template(template.into());
        assert_eq!(part.complete(&CompletionRequest::new(target(), "x", "")).await.values, [who]);
        let uri = template.replace("{x}", "1");
        let reading = part.read(&uri, &no_client()).await.unwrap().unwrap();
        let [Contents::Raw(contents)] = &reading.contents[..] else { panic!("{reading:?}") };
        assert_eq!((&contents["uri"], &contents["text"]), (&json!(uri), &json!(who)));
        // An address that a prompt mentions belongs to its server.
        let answer = part.prompt(&format!("{who}__p"), &Object::new(), &no_client()).await.unwrap();
        let AnswerBlock::Raw(link) = &answer.messages[1].content else { panic!("{answer:?}") };
        assert_eq!(link["uri"], uri);
    }
    assert!(parts[1].read("t:1", &no_client()).await.is_none());
    let target = CompletionTarget::Template("t:{x}".into());
    assert!(parts[1].complete(&CompletionRequest::new(target, "x", "")).await.values.is_empty());
    let asked = scripts.of("completion/complete");
    let uris: Vec<&Value> = asked.iter().map(|message| &message["params"]["ref"]["uri"]).collect();
    assert_eq!(uris, ["t:{x}", "t:{x}"]);
}

#[tokio::test]
async fn a_missing_resource_is_missing_in_every_revision() {
    for version in ["1.0", "2024-11-05", "2025-11-25", "2026-07-28"] {
        let scripts = Arc::new(TestWorkerStarter::default());
        scripts.put("one", offering(version, everything(), "one"));
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
        let part = parts(&hub).await.remove(0);
        let Err(ToolError::Failed(failure)) = part.read("t:none", &no_client()).await.unwrap()
        else {
            panic!("{version}")
        };
        assert_eq!(failure.kind, FailureKind::NotFound, "{version}");
        let other = part.read("t:other", &no_client()).await.unwrap();
        assert!(matches!(other, Err(ToolError::Refused { code: -32099, .. })), "{version}");
    }
}

#[tokio::test]
async fn only_a_server_that_reports_changes_is_watched() {
    for (can, watched) in [(json!({"subscribe": true}), true), (json!({}), false)] {
        let scripts = Arc::new(TestWorkerStarter::default());
        scripts.put("one", offering("2025-11-25", json!({"resources": can}), "one"));
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
        let part = parts(&hub).await.remove(0);
        assert!(part.owns("a:one") && !part.owns("b:one"));
        assert_eq!((part.can_watch("a:one"), part.watch("a:one")), (watched, watched));
    }
}
