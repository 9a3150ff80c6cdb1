//! Lines 678 to 747: what goes over the wire, seen by a person.

use super::{
    lifecycle::{documented_server, opened, opening},
    server::{Orchestrator, exchange, post},
};
use crate::{
    CliRun, TestHome,
    inspect::inspect,
    seeds::SeedTable,
    serving::{self, listen},
};
use docent_testkit::{ChildTestClient, WsTestClient};
use serde_json::{Value, json};
use std::{fs, fs::File};

pub(super) async fn walk(walk: &mut SeedTable) {
    let orchestra = Orchestrator::new(&documented_server(), "");
    traces(walk, &orchestra).await;
    pipelines(walk, &orchestra.place);
    curl(walk, &orchestra.place).await;
    inspector(walk, &orchestra).await;
}

async fn traces(walk: &mut SeedTable, orchestra: &Orchestrator) {
    walk.at("680-692");
    let mut docent = orchestra.start(&[("DEBUG", "mcp:*")]);
    exchange(&mut docent, opening()).await;
    docent.send(&opened()).await.unwrap();
    exchange(&mut docent, json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    check_hop(&mut docent, false).await;
    check_hop(&mut docent, true).await;
    walk.at("694-700");
    let program = orchestra.program();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let mut command = orchestra.place.command(&[&["tools", "--"], &*program].concat());
    let run = CliRun::of(command.env("DEBUG", "mcp:*"));
    run.ends(0).prints("search_cloudflare_documentation");
    let mut lines = run.err.lines();
    for want in [
        r#"[MCP →] {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"#,
        r#"[MCP ←] {"jsonrpc":"2.0","id":1,"result":{"#,
        r#"[MCP →] {"jsonrpc":"2.0","id":2,"method":"tools/list""#,
        r#"[MCP ←] {"jsonrpc":"2.0","id":2,"result":{"tools":["#,
    ] {
        assert!(lines.any(|line| line.contains(want)), "no {want} in its place in {}", run.err);
    }
}

/// Checks that the opening and the list are traced, between docent and its client or between docent and the server.
async fn check_hop(docent: &mut ChildTestClient, is_of_server: bool) {
    for (id, method, result) in [(1, "initialize", "protocolVersion"), (2, "tools/list", "tools")] {
        let sent = format!("\"id\":{id},\"method\":\"{method}\"");
        for (arrow, words) in [("[MCP →]", sent.as_str()), ("[MCP ←]", result)] {
            let is_it = |line: &&String| {
                line.contains(arrow)
                    && line.contains(words)
                    && line.contains(&format!("\"id\":{id}"))
                    && line.contains("server=\"cloudflare\"") == is_of_server
            };
            super::server::until(|| docent.log().iter().any(|line| is_it(&line))).await;
        }
    }
}

/// Pipes these words into `docent serve`, as `echo` does.
fn piped(place: &TestHome, words: &str, args: &[&str]) -> Vec<Value> {
    let file = place.project().join("input");
    fs::write(&file, words).unwrap();
    let mut command = place.command(&[&["serve"], args].concat());
    let run = CliRun::of(command.stdin(File::open(&file).unwrap()));
    run.ends(0).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn pipelines(walk: &mut SeedTable, place: &TestHome) {
    walk.at("706-709");
    assert_eq!(piped(place, "", &[]), [Value::Null; 0], "logs go to stderr");
    walk.at("711-713");
    let answers = piped(
        place,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}\n",
        &[],
    );
    assert_eq!((answers.len(), &answers[0]["id"]), (1, &json!(1)), "{answers:?}");
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "docent", "{answers:?}");
    walk.differs("715-717");
    let list = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
    let refused = &piped(place, list, &[])[0]["error"];
    assert_eq!(refused["code"], -32600, "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("--handshake optional"), "{refused}");
    let answers = piped(place, list, &["--handshake", "optional"]);
    assert_eq!(answers[0]["id"], 2, "{answers:?}");
    assert!(answers[0]["result"]["tools"].is_array(), "{answers:?}");
}

async fn curl(walk: &mut SeedTable, place: &TestHome) {
    walk.at("720-726");
    let (_server, address) = listen(place, &["--transport", "http"], &[]).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let (status, answer) = post(&address, "/rpc", "", &asked).await;
    assert_eq!((status, &answer["id"]), (200, &json!(1)), "{answer}");
    assert!(answer["result"]["tools"].is_array(), "{answer}");
}

async fn inspector(walk: &mut SeedTable, orchestra: &Orchestrator) {
    walk.at("730-739");
    let program = orchestra.program();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let (_inspecting, printed) = inspect(&orchestra.place, &[&["--"], &*program].concat());
    let (address, path) = printed.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (status, page) = serving::get(address, &format!("/{path}")).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("<html"), "{page}");
    let (_, about) = serving::get(address, &format!("/{path}api/about")).await;
    let about: Value = serde_json::from_str(&about).unwrap();
    assert_eq!((&about["target"], &about["docent"]), (&json!("server"), &json!(false)), "{about}");
    walk.at("741-745");
    let headers = [("origin", &*format!("http://{address}"))];
    let line = format!("ws://{address}/{path}line");
    let mut page = WsTestClient::connect_ws_with(&line, &headers).await.unwrap();
    let unknown = json!({"name": "unknown_tool", "arguments": {}});
    for message in [
        opening(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": unknown}),
    ] {
        page.send(&message).await.unwrap();
        let is_answer = |said: &Value| said["m"]["id"] == message["id"];
        page.await_message("the server's answer", is_answer).await.unwrap();
    }
    let (_, traffic) = serving::get(address, &format!("/{path}api/traffic")).await;
    let traffic: Value = serde_json::from_str(&traffic).unwrap();
    let entries = traffic["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["method"] == "tools/list"), "{traffic}");
    let is_error = |entry: &Value| entry["kind"] == "error" && entry["code"] == -32601;
    assert!(entries.iter().any(is_error), "{traffic}");
    let (status, validator) = serving::get(address, &format!("/{path}schema.js")).await;
    assert!(status == 200 && validator.contains("export function check("), "{validator}");
}
