//! Requests of servers, and the clients that answer them.

use crate::stage::{
    CallBehavior, ScriptedClient, TestWorkerStarter, call, context, hub, result, session, spec,
    text, tool, until, words,
};
use crate::web::HttpTestServer;
use docent_hub::ServerStateStore;
use docent_tool::{ClientQuery, ToolError};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// Asks a question before it answers, and answers with the response.
fn asking() -> impl Fn(&Value) -> CallBehavior + Send + Sync {
    let open: Mutex<Vec<Value>> = Mutex::default();
    let base = session(json!([tool("ask")]), |_| CallBehavior::Says(Vec::new()));
    move |message: &Value| {
        if message["method"] == "tools/call" {
            let mut open = open.lock().unwrap();
            open.push(message["id"].clone());
            let question = json!({"jsonrpc": "2.0", "id": format!("q{}", open.len()), "method": "elicitation/create", "params": {"message": "Who?"}});
            return CallBehavior::Says(vec![question]);
        }
        if message["id"].as_str().is_some_and(|id| id.starts_with('q')) {
            let id = open.lock().unwrap().remove(0);
            let response = message.get("result").or(message.get("error")).cloned().unwrap();
            return text(&json!({"id": id}), &response.to_string());
        }
        base(message)
    }
}

#[tokio::test]
async fn a_question_goes_to_the_client_whose_call_it_is() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", asking());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let person = Arc::new(ScriptedClient {
        at_once: Some(json!({"action": "accept", "content": {"name": "Ann"}})),
        ..ScriptedClient::default()
    });
    let outcome = call(&hub, "one__ask", &context(&person)).await.unwrap();
    assert!(words(&outcome).contains("Ann"), "{}", words(&outcome));
    assert_eq!(*person.asked.lock().unwrap(), [ClientQuery::Elicit(json!({"message": "Who?"}))]);
}

#[tokio::test]
async fn no_client_is_asked_when_two_could_be_meant() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", |message: &Value| {
        if message["id"] == "q" {
            return CallBehavior::Says(vec![]);
        }
        session(json!([tool("wait")]), |_| CallBehavior::Says(Vec::new()))(message)
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let people: Vec<_> = ["ann", "bob"]
        .map(|name| {
            Arc::new(ScriptedClient {
                name: name.into(),
                at_once: Some(json!({})),
                ..ScriptedClient::default()
            })
        })
        .into();
    for person in &people {
        let (hub, person) = (Arc::clone(&hub), Arc::clone(person));
        tokio::spawn(async move { call(&hub, "one__wait", &context(&person)).await });
    }
    until(|| scripts.of("tools/call").len() == 2).await;
    scripts.say(json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}}));
    let answer =
        || scripts.heard.lock().unwrap().iter().find(|message| message["id"] == "q").cloned();
    until(|| answer().is_some()).await;
    assert!(answer().unwrap()["error"]["message"].as_str().unwrap().contains("several clients"));
    assert!(people.iter().all(|person| person.asked.lock().unwrap().is_empty()));
}

#[tokio::test]
async fn a_call_waits_for_a_client_that_answers_by_asking_again() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", asking());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let first = Arc::new(ScriptedClient { name: "ann#1".into(), ..ScriptedClient::default() });
    let Err(ToolError::NeedsInput(needed)) = call(&hub, "one__ask", &context(&first)).await else {
        panic!()
    };
    let (key, ask) = needed.asks[0].clone();
    assert_eq!(ask, ClientQuery::Elicit(json!({"message": "Who?"})));
    let token = scripts.of("tools/call")[0]["params"]["_meta"]["progressToken"].clone();
    let step = json!({"progressToken": token, "progress": 2});
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": step}));
    // It arrives while the client is away.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let second = Arc::new(ScriptedClient {
        name: "ann#2".into(),
        state: Mutex::new(needed.state.clone()),
        ..ScriptedClient::default()
    });
    second
        .answers
        .lock()
        .unwrap()
        .insert(key, json!({"action": "accept", "content": {"name": "Bea"}}));
    let outcome = call(&hub, "one__ask", &context(&second)).await.unwrap();
    assert!(words(&outcome).contains("Bea"));
    assert_eq!(*second.steps.lock().unwrap(), [2.0]);
    assert_eq!(scripts.of("tools/call").len(), 1, "the same call went on");
    let third =
        Arc::new(ScriptedClient { state: Mutex::new(needed.state), ..ScriptedClient::default() });
    let error = call(&hub, "one__ask", &context(&third)).await.unwrap_err();
    assert!(error.to_string().contains("call again"), "{error}");
}

#[tokio::test]
async fn a_result_that_needs_input_is_answered_and_asked_again() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("ask")]), |message| match message["params"].get("inputResponses") {
        None => result(message, json!({"resultType": "input_required", "requestState": "s1", "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}}})),
        Some(answers) => {
            assert_eq!(message["params"]["requestState"], "s1");
            text(message, &answers["who"]["content"]["name"].to_string())
        }
    }));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let answer = json!({"action": "accept", "content": {"name": "Cid"}});
    let person =
        Arc::new(ScriptedClient { at_once: Some(answer.clone()), ..ScriptedClient::default() });
    assert_eq!(words(&call(&hub, "one__ask", &context(&person)).await.unwrap()), "\"Cid\"");
    let later = Arc::new(ScriptedClient::default());
    let Err(ToolError::NeedsInput(needed)) = call(&hub, "one__ask", &context(&later)).await else {
        panic!()
    };
    let key = needed.asks[0].0.clone();
    assert_ne!(key, "who", "a server does not choose what a question is known by");
    *later.state.lock().unwrap() = needed.state;
    later.answers.lock().unwrap().insert(key, answer);
    assert_eq!(words(&call(&hub, "one__ask", &context(&later)).await.unwrap()), "\"Cid\"");
    assert_eq!(scripts.of("tools/call").len(), 4);
}

#[tokio::test]
async fn lines_go_to_the_call_that_is_open_or_to_all_that_listen() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("wait")]), |_| CallBehavior::Says(Vec::new())));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    crate::stage::tools(&hub).await;
    let mut changes = docent_tool::ToolProvider::changes(&*hub).unwrap();
    let line = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "alone", "odd": 1, "_meta": {"own": 1}}});
    scripts.say(line.clone());
    let data = json!("alone");
    let extra = json!({"odd": 1, "_meta": {"own": 1}}).as_object().unwrap().clone();
    let said = docent_tool::ProviderChange::Said {
        provider: "one".into(),
        level: docent_tool::SyslogLevel::Error,
        logger: "one".into(),
        data,
        extra: extra.clone(),
    };
    crate::stage::wait_for_change(&mut changes, &said).await;
    let person = Arc::new(ScriptedClient::default());
    {
        let (hub, person) = (Arc::clone(&hub), Arc::clone(&person));
        tokio::spawn(async move { call(&hub, "one__wait", &context(&person)).await });
    }
    until(|| !scripts.of("tools/call").is_empty()).await;
    scripts.say(line);
    until(|| !person.lines.lock().unwrap().is_empty()).await;
    assert_eq!(*person.lines.lock().unwrap(), ["one: \"alone\""]);
    assert_eq!(*person.extras.lock().unwrap(), [extra]);
}

fn people() -> [Arc<ScriptedClient>; 2] {
    ["ann", "bob"].map(|name| {
        let at_once = Some(json!({"action": "accept", "content": {"name": name}}));
        Arc::new(ScriptedClient { name: name.into(), at_once, ..ScriptedClient::default() })
    })
}

fn line() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "x"}})
}

#[tokio::test]
async fn a_line_of_one_client_s_call_never_reaches_another() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("wait")]), |_| CallBehavior::Says(Vec::new())));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    crate::stage::tools(&hub).await;
    let mut changes = docent_tool::ToolProvider::changes(&*hub).unwrap();
    let people = people();
    for person in &people {
        let (hub, person) = (Arc::clone(&hub), Arc::clone(person));
        tokio::spawn(async move { call(&hub, "one__wait", &context(&person)).await });
    }
    until(|| scripts.of("tools/call").len() == 2).await;
    scripts.say(line());
    // A later message was handled, so this one was as well.
    scripts.say(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    until(|| scripts.heard.lock().unwrap().iter().any(|message| message["id"] == "p")).await;
    assert!(people.iter().all(|person| person.lines.lock().unwrap().is_empty()));
    assert!(changes.try_recv().is_err(), "it was published to all");
}

#[tokio::test]
async fn on_http_the_stream_says_whose_call_a_question_or_a_line_is_about() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let web = HttpTestServer::start(json!([tool("a"), tool("b")])).await;
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![web.spec("web")]);
    let people = people();
    let mut running = Vec::new();
    for (name, person) in ["a", "b"].into_iter().zip(&people) {
        let (hub, person) = (Arc::clone(&hub), Arc::clone(person));
        let call = async move { call(&hub, &format!("web__{name}"), &context(&person)).await };
        running.push(tokio::spawn(call));
        until(|| web.is_called(name)).await;
    }
    for tool in ["a", "b"] {
        let id = format!("q-{tool}");
        web.say(tool, line());
        web.say(tool, json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {"message": tool}}));
        until(|| web.response_to(&id).is_some()).await;
        let want = if tool == "a" { "ann" } else { "bob" };
        assert_eq!(web.response_to(&id).unwrap()["result"]["content"]["name"], want);
        web.answer(tool, tool);
    }
    for (call, person) in running.into_iter().zip(&people) {
        call.await.unwrap().unwrap();
        assert_eq!(person.asked.lock().unwrap().len(), 1);
        assert_eq!(person.lines.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_question_that_the_server_withdraws_is_withdrawn_at_the_client() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", asking());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let person = Arc::new(ScriptedClient { thinks: true, ..ScriptedClient::default() });
    let running = {
        let (hub, person) = (Arc::clone(&hub), Arc::clone(&person));
        tokio::spawn(async move { call(&hub, "one__ask", &context(&person)).await })
    };
    until(|| !person.asked.lock().unwrap().is_empty()).await;
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q1"}}));
    until(|| person.spared.load(std::sync::atomic::Ordering::Relaxed) == 1).await;
    let id = scripts.of("tools/call")[0]["id"].clone();
    scripts.say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "without"}]}}));
    assert_eq!(words(&running.await.unwrap().unwrap()), "without");
    let heard = scripts.heard.lock().unwrap();
    assert!(!heard.iter().any(|message| message["id"] == "q1"), "an unwanted answer");
}

#[tokio::test]
async fn a_parked_call_continues_without_the_answer_to_a_withdrawn_question() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", asking());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let person = Arc::new(ScriptedClient::default());
    let Err(ToolError::NeedsInput(needed)) = call(&hub, "one__ask", &context(&person)).await else {
        panic!()
    };
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q1"}}));
    let id = scripts.of("tools/call")[0]["id"].clone();
    let content = json!([{"type": "text", "text": "without"}]);
    scripts.say(json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}}));
    // A later message was handled, so this one was as well.
    scripts.say(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    until(|| scripts.heard.lock().unwrap().iter().any(|message| message["id"] == "p")).await;
    *person.state.lock().unwrap() = needed.state;
    assert_eq!(words(&call(&hub, "one__ask", &context(&person)).await.unwrap()), "without");
}

#[tokio::test]
async fn the_client_that_was_sent_to_a_page_is_notified_when_it_is_done() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("visit")]), |message| {
        let page = json!({"mode": "url", "elicitationId": "e1", "url": "https://example.com", "message": "Sign in"});
        let error = json!({"code": -32042, "message": "sign in first", "data": {"elicitations": [page]}});
        CallBehavior::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})])
    }));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let [ann, bob] = people();
    call(&hub, "one__visit", &context(&ann)).await.unwrap_err();
    let done = |id: &str| json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": id}});
    scripts.say(done("another"));
    scripts.say(done("e1"));
    until(|| !ann.passed.lock().unwrap().is_empty()).await;
    let want = ("notifications/elicitation/complete".to_owned(), json!({"elicitationId": "e1"}));
    assert_eq!(*ann.passed.lock().unwrap(), [want]);
    assert!(bob.passed.lock().unwrap().is_empty());
}

#[tokio::test]
async fn roots_are_asked_of_a_client_that_answers_by_asking_again() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let open: Mutex<Option<Value>> = Mutex::default();
    let base = session(json!([tool("look")]), |_| CallBehavior::Says(Vec::new()));
    scripts.put("one", move |message: &Value| {
        if message["method"] == "tools/call" {
            *open.lock().unwrap() = Some(message["id"].clone());
            return CallBehavior::Says(vec![
                json!({"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}),
            ]);
        }
        if message["id"] == "q1" {
            let id = open.lock().unwrap().take().unwrap();
            return text(&json!({"id": id}), &message["result"]["roots"][0]["uri"].to_string());
        }
        base(message)
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let person = Arc::new(ScriptedClient::default());
    let Err(ToolError::NeedsInput(needed)) = call(&hub, "one__look", &context(&person)).await
    else {
        panic!()
    };
    let (key, ask) = needed.asks[0].clone();
    assert_eq!(ask, ClientQuery::Roots);
    *person.state.lock().unwrap() = needed.state;
    person.answers.lock().unwrap().insert(key, json!({"roots": [{"uri": "file:///here"}]}));
    let outcome = call(&hub, "one__look", &context(&person)).await.unwrap();
    assert_eq!(words(&outcome), "\"file:///here\"");
}
