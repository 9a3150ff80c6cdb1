//! docent behind docent: names that can't be, and scripts under the policy and in the audit log.

use crate::{
    TestHome,
    serving::{LEGACY, audit_lines, call, serve},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};

/// docent again, as a server behind docent. Its settings are its own, without a server behind it.
fn behind(place: &TestHome, top: &str, entry: &str) {
    let docent = env!("CARGO_BIN_EXE_docent");
    let folder = std::path::Path::new(docent).parent().unwrap().to_str().unwrap();
    let home = place.project();
    let home = home.to_str().unwrap();
    place.settings(&format!(
        "{top}\npolicy.sandbox.read = [{folder:?}]\n\
         [mcp_servers.inner]\ncommand = {docent:?}\nargs = [\"serve\"]\nenv = {{ HOME = {home:?} }}\n{entry}\n"
    ));
}

async fn call_text(server: &mut ChildTestClient, tool: &str, arguments: Value) -> String {
    let answer = server.ask("tools/call", call(tool, arguments)).await.unwrap();
    answer["result"]["content"][0]["text"].as_str().unwrap_or(&answer.to_string()).to_owned()
}

#[tokio::test]
async fn a_new_name_that_can_not_be_stops_nothing() {
    let place = TestHome::new();
    let renames = "rename = { list_collections = \"outline\", index_status = \"bad name!\", web_search = \"look\" }";
    behind(&place, "hub.exposure = \"direct\"", renames);
    // The second time, what the server offers is known from the start.
    for _ in 0..2 {
        let mut server = serve(&place, &[], &[]);
        for key in ["list_collections", "index_status"] {
            let line = format!("`mcp_servers.inner.rename.{key}` is ignored");
            server.log_line(&line).await.unwrap();
        }
        server.open(LEGACY).await.unwrap();
        let listed = server.ask("tools/list", json!({})).await.unwrap();
        let listed = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<_> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        for name in ["outline", "inner__list_collections", "inner__index_status", "look"] {
            assert_eq!(
                names.iter().filter(|known| **known == name).count(),
                1,
                "{name}: {names:?}"
            );
        }
        let output = call_text(&mut server, "inner__list_collections", json!({})).await;
        assert!(!output.contains("Error"), "{output}");
    }
    place.run(&["tools"]).ends(0).prints("inner__list_collections");
}

#[tokio::test]
async fn a_script_is_held_to_the_policy_and_each_of_its_calls_is_on_record() {
    let place = TestHome::new();
    behind(&place, "policy.tools.deny = [\"inner__index_status\"]", "");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let code = "import { $call } from \"mcp-clients/inner\";\n\
        const output = [];\n\
        for (const tool of [\"list_collections\", \"index_status\", \"parse_files\"])\n\
          try { await $call(tool, {}); output.push(tool + \" done\"); } catch (e) { output.push(e.message); }\n\
        return output.join(\"|\");";
    let said = call_text(&mut server, "execute_mcp_code", json!({"code": code})).await;
    let said: Vec<&str> = said.split('|').collect();
    assert_eq!((said.len(), said[0]), (3, "list_collections done"), "{said:?}");
    assert!(said[1].contains("inner__index_status") && said[2].contains("`files`"), "{said:?}");
    let lines = audit_lines(&place.project().join(".docent/audit.jsonl"));
    let ours = lines.iter().filter(|line| line["client"].as_str().unwrap().contains("testkit"));
    let ours: Vec<_> = ours
        .map(|line| (line["tool"].as_str().unwrap(), line["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(
        ours,
        [
            ("inner__list_collections", "ok"),
            ("inner__index_status", "refused"),
            ("inner__parse_files", "error"),
            ("execute_mcp_code", "ok"),
        ]
    );
}

#[tokio::test]
async fn a_server_that_the_policy_closes_is_closed_to_scripts() {
    let place = TestHome::new();
    behind(&place, "policy.tools.deny = [\"inner:*\"]", "");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for (arguments, want) in [
        (json!({"code": "import \"mcp-clients/inner\"; return 1"}), "mcp-clients/inner"),
        (json!({"code": "return 1", "allowedMcpIds": ["inner"]}), "no server named"),
        (json!({"code": "return Object.keys(mcp).length"}), "0"),
    ] {
        let said = call_text(&mut server, "execute_mcp_code", arguments).await;
        assert!(said.contains(want), "no {want} in {said}");
    }
}

#[tokio::test]
async fn a_misspelt_argument_is_reported_with_a_suggestion() {
    let place = TestHome::new();
    behind(&place, "", "");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for (tool, arguments, want) in [
        (
            "execute_mcp_code",
            json!({"code": "return 1", "allowedMcpIDs": ["zzz"]}),
            "Error: argument `allowedMcpIDs` is not a parameter; did you mean `allowedMcpIds`?",
        ),
        (
            "execute_mcp_code",
            json!({"code": "return 1", "limits": {"time": 5}}),
            "Error: argument `limits.time` is not a parameter; did you mean `timeMs`?",
        ),
        (
            "execute_mcp_code",
            json!({"code": "throw new Error(\"two\")"}),
            "Error: two (line 1, column 11: throw new Error(\"two\"))",
        ),
        (
            "list_mcp_capabilities",
            json!({"query": "x", "limit": 0}),
            "Error: argument `limit` must be an integer of at least 1",
        ),
        (
            "describe_mcp",
            json!({"id": "nope"}),
            "Error: argument `id`: no server named \"nope\" is available to you; available: [\"inner\"]",
        ),
    ] {
        assert_eq!(call_text(&mut server, tool, arguments).await, want);
    }
}
