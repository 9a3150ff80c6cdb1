//! Code mode in front of servers that ask the person at the client during a call, for clients with and without
//! sessions.

use crate::{
    TestHome,
    serving::{LEGACY, MODERN, audit_lines, call, serve},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};

/// A server in the shell's own words. `count` counts its calls, `ask` asks by a request of its own, `form` by its
/// result.
pub(crate) const SERVER: &str = r#"
n=0
say() { printf '%s\n' "$1"; }
text() { say '{"jsonrpc":"2.0","id":'"$1"',"result":{"content":[{"type":"text","text":"'"$2"'"}]}}'; }
question='{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}'
while IFS= read -r line; do
  id="${line#*\"id\":}"; id="${id%%[,\}]*}"
  name="${line#*\"content\":\{\"name\":\"}"; name="${name%%\"*}"
  case "$line" in
    *'"id":"q'*) text "$asked" "hello $name" ;;
    *'"method":"initialize"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
    *'"method":"tools/list"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"count","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}},{"name":"form","inputSchema":{"type":"object"}}]}}' ;;
    *'"name":"count"'*) n=$((n + 1)); text "$id" "$n" ;;
    *'"name":"ask"'*) asked="$id"; say '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":'"$question"'}' ;;
    *'"name":"form"'*'"inputResponses"'*) text "$id" "bye $name" ;;
    *'"name":"form"'*) say '{"jsonrpc":"2.0","id":'"$id"',"result":{"resultType":"input_required","requestState":"s1","inputRequests":{"who":{"method":"elicitation/create","params":'"$question"'}}}}' ;;
    *'"id":'*) say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"no such method"}}' ;;
  esac
done
"#;

/// Settings with that server, and others.
pub(crate) fn settings(place: &TestHome, top: &str) -> String {
    let script = place.project().join("server.sh");
    let script = script.to_str().unwrap();
    format!("{top}\n[mcp_servers.s]\ncommand = \"/bin/sh\"\nargs = [{script:?}]\n")
}

fn served(place: &TestHome, top: &str) -> ChildTestClient {
    place.write("server.sh", SERVER);
    place.settings(&settings(place, top));
    let accepts = json!({"action": "accept", "content": {"name": "Ann"}});
    serve(place, &[], &[])
        .with_capabilities(json!({"elicitation": {}}))
        .reply_with("elicitation/create", accepts)
}

fn run(code: &str) -> Value {
    call("execute_mcp_code", json!({"code": code}))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

const CODE: &str = "const before = await mcp.s.count();\n\
    const said = [await mcp.s.ask(), await mcp.s.form()];\n\
    return [before, ...said, await mcp.s.count()].join()";

#[tokio::test]
async fn a_script_goes_on_with_the_answer_of_a_client_with_a_session() {
    let place = TestHome::new();
    let mut server = served(&place, "");
    server.open(LEGACY).await.unwrap();
    let answer = server.ask("tools/call", run(CODE)).await.unwrap();
    assert_eq!(text(&answer), "1,hello Ann,bye Ann,2", "{answer}");
}

/// What is asked in a result, answered by name.
fn answered(asked: &Value, mut params: Value, name: &str) -> Value {
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let asks = asked["result"]["inputRequests"].as_object().unwrap();
    let accepts = json!({"action": "accept", "content": {"name": name}});
    let answers: serde_json::Map<String, Value> =
        asks.keys().map(|key| (key.clone(), accepts.clone())).collect();
    params["inputResponses"] = answers.into();
    params["requestState"] = asked["result"]["requestState"].clone();
    params
}

#[tokio::test]
async fn a_script_goes_on_where_it_was_when_a_client_without_a_session_answers() {
    let place = TestHome::new();
    let mut server = served(&place, "");
    server.open(MODERN).await.unwrap();
    let first = server.ask("tools/call", run(CODE)).await.unwrap();
    let second = server.ask("tools/call", answered(&first, run(CODE), "Bea")).await.unwrap();
    let third = server.ask("tools/call", answered(&second, run(CODE), "Cid")).await.unwrap();
    // What was called before a question is not called again.
    assert_eq!(text(&third), "1,hello Bea,bye Cid,2", "{third}");
    let lines = audit_lines(&place.project().join(".docent/audit.jsonl"));
    let counts = lines.iter().filter(|line| line["tool"] == "s__count").count();
    assert_eq!(counts, 2, "{lines:?}");
    // A state is good for one answer.
    let again = server.ask("tools/call", answered(&second, run(CODE), "Dan")).await.unwrap();
    assert!(text(&again).contains("run it again"), "{again}");
}

/// One stream names no call, so that a question may be put to the client for another call of the same script than the
/// one it is about. Whether two questions come in one result or in two depends on when the server asks them.
#[tokio::test]
async fn questions_of_calls_that_run_together_are_all_answered() {
    let place = TestHome::new();
    let mut server = served(&place, "");
    server.open(MODERN).await.unwrap();
    let code = "return (await Promise.all([mcp.s.ask(), mcp.s.count(), mcp.s.form()])).join()";
    let mut answer = server.ask("tools/call", run(code)).await.unwrap();
    for _ in 0..2 {
        if answer["result"]["resultType"] == "input_required" {
            let params = answered(&answer, run(code), "Eva");
            answer = server.ask("tools/call", params).await.unwrap();
        }
    }
    assert_eq!(text(&answer), "hello Eva,1,bye Eva", "{answer}");
}

#[tokio::test]
async fn another_script_can_not_take_the_place_of_one_that_waits() {
    let place = TestHome::new();
    let mut server = served(&place, "");
    server.open(MODERN).await.unwrap();
    let first = server.ask("tools/call", run(CODE)).await.unwrap();
    let other = answered(&first, run("return await mcp.s.count()"), "Eva");
    let second = server.ask("tools/call", other).await.unwrap();
    assert!(text(&second).contains("send the same code"), "{second}");
}

#[tokio::test]
async fn one_client_has_few_scripts_that_wait_for_its_answers() {
    let place = TestHome::new();
    let mut server = served(&place, "");
    server.open(MODERN).await.unwrap();
    let code = "return await mcp.s.form()";
    let mut asked = Vec::new();
    for _ in 0..4 {
        asked.push(server.ask("tools/call", run(code)).await.unwrap());
    }
    let refused = server.ask("tools/call", run(code)).await.unwrap();
    assert!(text(&refused).contains("4 scripts of this client are already waiting"), "{refused}");
    for question in asked {
        let params = answered(&question, run(code), "Flo");
        let answer = server.ask("tools/call", params).await.unwrap();
        assert_eq!(text(&answer), "bye Flo", "{answer}");
    }
}

#[tokio::test]
async fn a_call_of_a_script_is_approved_by_a_client_without_a_session() {
    let place = TestHome::new();
    let mut server = served(&place, "policy.tools.approve = [\"s__count\"]");
    server.open(MODERN).await.unwrap();
    let code = "await mcp.s.form(); return [await mcp.s.count(), await mcp.s.count()].join()";
    let approves = |asked: &Value| {
        let mut params = answered(asked, run(code), "Ann");
        for answer in params["inputResponses"].as_object_mut().unwrap().values_mut() {
            answer["content"] = json!({"approve": true, "name": "Ann"});
        }
        params
    };
    let mut answer = server.ask("tools/call", run(code)).await.unwrap();
    for _ in 0..3 {
        answer = server.ask("tools/call", approves(&answer)).await.unwrap();
    }
    assert_eq!(text(&answer), "1,2", "{answer}");
}
