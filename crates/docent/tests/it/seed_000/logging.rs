//! Lines 259 to 316: traces, log lines and progress.

use super::{ANALYZE, opened};
use crate::{
    TestHome,
    seeds::{SeedTable, ask},
    serving::{LEGACY, call, serve},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::time::Instant;

pub(super) async fn walk(walk: &mut SeedTable, place: &TestHome) {
    traces(walk, place).await;
    let mut server = opened(place, &[], &[]).await;
    log_messages(walk, &mut server).await;
    progress(walk, place, &mut server).await;
}

async fn traces(walk: &mut SeedTable, place: &TestHome) {
    walk.at("263-265");
    let mut server = opened(place, &[], &[("DEBUG", "mcp:protocol")]).await;
    ask(&mut server, ANALYZE).await;
    let request = server.log_line("[MCP \u{2192}]").await.unwrap();
    assert!(request.contains("Claude Desktop"), "{request}");
    let answer = server.log_line("[MCP \u{2190}]").await.unwrap();
    assert!(answer.contains("\"serverInfo\""), "{answer}");

    walk.at("271-273");
    let mut server = opened(place, &[], &[("DEBUG", "mcp:*")]).await;
    server.ask("tools/call", call("other__picture", json!({}))).await.unwrap();
    // The answer to the client is the last message.
    server.log_line("\"docent/origin\"").await.unwrap();
    let log = server.log().join("\n");
    let lines = |of: &str| log.lines().filter(|line| line.contains(of)).count();
    // To the client and to the server behind docent, both ways.
    for name in ["other__picture", "picture"] {
        let request = format!("\"name\":\"{name}\",\"arguments\"");
        assert_eq!(lines(&request), 1, "{name} in {log}");
    }
    assert_eq!(lines("\"data\":\"iVBORw0KGgo=\""), 2, "{log}");

    walk.differs("277-279");
    let debug = [("DEBUG", "documcp:tools,docent:tools")];
    let mut server = opened(place, &[], &debug).await;
    ask(&mut server, ANALYZE).await;
    let line = server.log_line("called").await.unwrap();
    for part in ["docent::tools", "tool=\"analyze_repository\"", "outcome=\"ok\"", "took="] {
        assert!(line.contains(part), "no {part} in {line}");
    }
    let mut server = opened(place, &[], &[("DEBUG", "documcp:tools")]).await;
    ask(&mut server, ANALYZE).await;
    assert!(!server.log().join("\n").contains("docent::tools"), "{:?}", server.log());
}

async fn log_messages(walk: &mut SeedTable, server: &mut ChildTestClient) {
    walk.differs("287-297");
    ask(server, ANALYZE).await;
    let output = server.notification("notifications/message").await.unwrap();
    let params = &output["params"];
    assert_eq!((&params["level"], &params["logger"]), (&json!("info"), &json!("docent.repo")));
    let data = params["data"].as_object().unwrap();
    let (first, sentence) = data.iter().next().unwrap();
    assert_eq!(first, "message");
    assert!(sentence.as_str().unwrap().starts_with("Repository analysis completed"), "{output}");
    assert_eq!(
        (&data["path"], &data["files"], &data["partial"]),
        (&json!("my-project"), &json!(3), &json!(false))
    );
}

async fn progress(walk: &mut SeedTable, place: &TestHome, server: &mut ChildTestClient) {
    walk.differs("303-315");
    let steps = steps_of(server).await;
    // In this revision, progress has no message: pieces of the answer, which are only text, are not sent as progress.
    assert!(steps.iter().all(|step| step.get("message").is_none()), "{steps:?}");
    let is_whole = |step: &Value| step["progress"].as_f64().unwrap().fract() < f64::EPSILON;
    assert!(steps.iter().all(is_whole), "{steps:?}");
    let mut newer = serve(place, &[], &[]);
    newer.open("2025-03-26").await.unwrap();
    for steps in [steps_of(&mut newer).await, {
        let mut newest = serve(place, &[], &[]);
        newest.open(LEGACY).await.unwrap();
        steps_of(&mut newest).await
    }] {
        assert!(steps.iter().all(|step| step["message"].is_string()), "{steps:?}");
        let words: Vec<&str> = steps.iter().filter_map(|step| step["message"].as_str()).collect();
        assert!(words.contains(&"Reading manifests"), "{words:?}");
    }
}

/// The steps of a deep analysis: numbers that grow to a total, at most ten a second.
async fn steps_of(server: &mut ChildTestClient) -> Vec<Value> {
    let mut params = call("analyze_repository", json!({"path": "./my-project", "depth": "deep"}));
    params["_meta"] = json!({"progressToken": "analysis-123"});
    server.take_messages();
    let begun = Instant::now();
    let answer = server.ask("tools/call", params).await.unwrap();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    let heard = server.take_messages().into_iter();
    let steps = heard.filter(|message| message["method"] == "notifications/progress");
    let steps: Vec<Value> = steps.map(|step| step["params"].clone()).collect();
    assert!((2..=10 * seconds).contains(&steps.len()), "in {seconds} s: {steps:?}");
    assert!(steps.iter().all(|step| step["progressToken"] == "analysis-123"), "{steps:?}");
    let done: Vec<f64> = steps.iter().map(|step| step["progress"].as_f64().unwrap()).collect();
    assert!(done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
    // The walk does not know how much there is; from its end on, each step says how much.
    let total = steps.last().unwrap()["total"].clone();
    assert_eq!(total.as_f64(), done.last().copied(), "{steps:?}");
    let unknown = steps.iter().take_while(|step| step.get("total").is_none()).count();
    assert!(steps[unknown..].iter().all(|step| step["total"] == total), "{steps:?}");
    steps
}
