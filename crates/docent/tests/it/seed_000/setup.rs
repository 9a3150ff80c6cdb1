//! Lines 318 to 374: configuration of clients, and tests by hand.

use super::INITIALIZE;
use crate::{
    TestHome,
    seeds::{SeedTable, run_with_input},
};
use serde_json::{Value, json};
use std::fs;

pub(super) fn walk(walk: &mut SeedTable, place: &TestHome) {
    clients(walk);
    by_hand(walk, place);
}

fn clients(walk: &mut SeedTable) {
    walk.at("322-334");
    let place = TestHome::new();
    place.write(
        "claude_desktop_config.json",
        r#"{
          "mcpServers": {
            "documcp": {
              "command": "node",
              "args": ["/path/to/documcp/dist/index.js"],
              "env": {
                "NODE_ENV": "production"
              }
            }
          }
        }"#,
    );
    is_imported(&place, "claude_desktop_config.json");
    assert!(settings(&place).contains("NODE_ENV = \"production\""), "{}", settings(&place));
    let shown = place.run(&["install", "claude-desktop", "--dry-run"]);
    shown.ends(0).prints("\"mcpServers\"").prints("\"docent\"").prints("\"command\"");

    walk.at("338-348");
    let place = TestHome::new();
    let block = r#"{
          "mcp.servers": {
            "documcp": {
              "transport": "stdio",
              "command": "node",
              "args": ["/path/to/documcp/dist/index.js"]
            }
          }
        }"#;
    place.write("settings.json", block);
    is_imported(&place, "settings.json");
    // The editor's own settings, without naming the file.
    let place = TestHome::new();
    let folder = place.project().join(".vscode");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.json"), "{\"editor.fontSize\": 12}").unwrap();
    place.run(&["servers", "import", "vscode"]).ends(1).says("no configuration of VS Code found");
    fs::write(folder.join("settings.json"), block).unwrap();
    is_imported(&place, "vscode");
    let shown = place.run(&["install", "vscode", "--dry-run"]);
    shown.ends(0).prints("\"docent\"").prints("\"type\": \"stdio\"");
}

#[track_caller]
fn is_imported(place: &TestHome, file: &str) {
    let run = place.run(&["servers", "import", file]);
    run.ends(0).prints("documcp  node /path/to/documcp/dist/index.js");
    let settings = settings(place);
    for line in
        ["[mcp_servers.documcp]", "command = \"node\"", "\"/path/to/documcp/dist/index.js\""]
    {
        assert!(settings.contains(line), "no {line} in {settings}");
    }
}

/// The user's own settings.
fn settings(place: &TestHome) -> String {
    fs::read_to_string(place.0.path().join(".config/docent/docent.toml")).unwrap()
}

fn by_hand(walk: &mut SeedTable, place: &TestHome) {
    walk.at("356-358");
    let echo = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}"#;
    let run = run_with_input(place, &["serve"], echo);
    let answer = run.ends(0).json();
    assert_eq!(
        (&answer["id"], &answer["result"]["serverInfo"]["name"]),
        (&json!(1), &json!("docent"))
    );

    walk.differs("364-374");
    let echo = r#"{
      "jsonrpc": "2.0",
      "id": 2,
      "method": "tools/call",
      "params": {
        "name": "analyze_repository",
        "arguments": {"path": "./test-repo"}
      }
    }"#;
    let refused = run_with_input(place, &["serve"], echo).ends(0).json();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32600)));
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("send initialize first") && message.contains("--handshake optional"),
        "{message}"
    );
    let run = run_with_input(place, &["serve", "--handshake", "optional"], echo);
    let served = answer_among(&run.ends(0).out, 2);
    assert!(
        served["result"]["content"][0]["text"].as_str().unwrap().contains("test-repo"),
        "{served}"
    );
    // Both at once, as a shell script would send them.
    let both = format!("{INITIALIZE}\n{echo}");
    let served = answer_among(&run_with_input(place, &["serve"], &both).ends(0).out, 2);
    assert_eq!(served["result"]["isError"], false, "{served}");
}

/// The answer to this request, among notifications.
fn answer_among(out: &str, id: u64) -> Value {
    let messages = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages
        .into_iter()
        .find(|message| message["id"] == id)
        .unwrap_or_else(|| panic!("no answer to {id} in {out}"))
}
