//! What servers ask, and who is asked.

use crate::stage::{
    Does, Person, Scripts, call, context, hub, result, session, spec, text, tool, until, words,
};
use docent_hub::Memory;
use docent_tool::{Ask, ToolError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Asks before it answers, and answers with what it was told.
fn asking() -> impl Fn(&Value) -> Does + Send + Sync {
    let open: Mutex<Vec<Value>> = Mutex::default();
    let base = session(json!([tool("ask")]), |_| Does::Says(Vec::new()));
    move |message: &Value| {
        if message["method"] == "tools/call" {
            let mut open = open.lock().unwrap();
            open.push(message["id"].clone());
            let question = json!({"jsonrpc": "2.0", "id": format!("q{}", open.len()), "method": "elicitation/create", "params": {"message": "Who?"}});
            return Does::Says(vec![question]);
        }
        if message["id"].as_str().is_some_and(|id| id.starts_with('q')) {
            let id = open.lock().unwrap().remove(0);
            let told = message.get("result").or(message.get("error")).cloned().unwrap();
            return text(&json!({"id": id}), &told.to_string());
        }
        base(message)
    }
}

#[tokio::test]
async fn a_question_goes_to_the_client_whose_call_it_is() {
    let scripts = Arc::new(Scripts::default());
    scripts.put("one", asking());
    let hub = hub(&scripts, Memory::none(), vec![spec("one")]);
    let person = Arc::new(Person {
        at_once: Some(json!({"action": "accept", "content": {"name": "Ann"}})),
        ..Person::default()
    });
    let outcome = call(&hub, "one__ask", &context(&person)).await.unwrap();
    assert!(words(&outcome).contains("Ann"), "{}", words(&outcome));
    assert_eq!(*person.asked.lock().unwrap(), [Ask::Elicit(json!({"message": "Who?"}))]);
}

#[tokio::test]
async fn nobody_is_asked_where_two_clients_could_be_meant() {
    let scripts = Arc::new(Scripts::default());
    scripts.put("one", |message: &Value| {
        if message["id"] == "q" {
            return Does::Says(vec![]);
        }
        session(json!([tool("wait")]), |_| Does::Says(Vec::new()))(message)
    });
    let hub = hub(&scripts, Memory::none(), vec![spec("one")]);
    let people: Vec<_> = ["ann", "bob"]
        .map(|name| {
            Arc::new(Person { name: name.into(), at_once: Some(json!({})), ..Person::default() })
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
    let scripts = Arc::new(Scripts::default());
    scripts.put("one", asking());
    let hub = hub(&scripts, Memory::none(), vec![spec("one")]);
    let first = Arc::new(Person { name: "ann#1".into(), ..Person::default() });
    let Err(ToolError::NeedsInput(needed)) = call(&hub, "one__ask", &context(&first)).await else {
        panic!()
    };
    let (key, ask) = needed.asks[0].clone();
    assert_eq!(ask, Ask::Elicit(json!({"message": "Who?"})));
    let second = Arc::new(Person {
        name: "ann#2".into(),
        state: Mutex::new(needed.state.clone()),
        ..Person::default()
    });
    second
        .answers
        .lock()
        .unwrap()
        .insert(key, json!({"action": "accept", "content": {"name": "Bea"}}));
    let outcome = call(&hub, "one__ask", &context(&second)).await.unwrap();
    assert!(words(&outcome).contains("Bea"));
    assert_eq!(scripts.of("tools/call").len(), 1, "the same call went on");
    let third = Arc::new(Person { state: Mutex::new(needed.state), ..Person::default() });
    let error = call(&hub, "one__ask", &context(&third)).await.unwrap_err();
    assert!(error.to_string().contains("call again"), "{error}");
}

#[tokio::test]
async fn a_result_that_needs_input_is_answered_and_asked_again() {
    let scripts = Arc::new(Scripts::default());
    scripts.put("one", session(json!([tool("ask")]), |message| match message["params"].get("inputResponses") {
        None => result(message, json!({"resultType": "input_required", "requestState": "s1", "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}}})),
        Some(answers) => {
            assert_eq!(message["params"]["requestState"], "s1");
            text(message, &answers["who"]["content"]["name"].to_string())
        }
    }));
    let hub = hub(&scripts, Memory::none(), vec![spec("one")]);
    let answer = json!({"action": "accept", "content": {"name": "Cid"}});
    let person = Arc::new(Person { at_once: Some(answer.clone()), ..Person::default() });
    assert_eq!(words(&call(&hub, "one__ask", &context(&person)).await.unwrap()), "\"Cid\"");
    let later = Arc::new(Person::default());
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
    let scripts = Arc::new(Scripts::default());
    scripts.put("one", session(json!([tool("wait")]), |_| Does::Says(Vec::new())));
    let hub = hub(&scripts, Memory::none(), vec![spec("one")]);
    crate::stage::tools(&hub).await;
    let mut changes = docent_tool::Provider::changes(&*hub).unwrap();
    let line = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "alone", "odd": 1, "_meta": {"own": 1}}});
    scripts.say(line.clone());
    let data = json!("alone");
    let extra = json!({"odd": 1, "_meta": {"own": 1}}).as_object().unwrap().clone();
    let said = docent_tool::Change::Said {
        provider: "one".into(),
        level: docent_tool::Level::Error,
        logger: "one".into(),
        data,
        extra: extra.clone(),
    };
    crate::stage::told(&mut changes, &said).await;
    let person = Arc::new(Person::default());
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
