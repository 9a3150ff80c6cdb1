//! Adding docent to each client's file, and removing it.

use crate::fixtures;
use docent_registry::{
    ConfigChange, ConfigFormat, EntryTransport, EntryVisibility, LinkPolicy, McpClient,
    McpServerEntry, RemoteKind, SecretFile, SecretUse, Sensitivity, ServerMeta, read, read_tables,
    with_server, with_table, without_server, without_table,
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

fn docent() -> McpServerEntry {
    let mut server = McpServerEntry::program(
        "docent",
        "/usr/local/bin/docent",
        &["serve", "--root", "a \"b\" ä"],
    );
    if let EntryTransport::Program { env, .. } = &mut server.way {
        env.insert("DOCENT_LOG".to_owned(), "info: on".to_owned());
    }
    server
}

fn added_lines(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let plan = ConfigChange {
        client: McpClient::Zed,
        name: "docent".to_owned(),
        path: PathBuf::from("file"),
        before: Some(before.to_owned()),
        after: after.to_owned(),
        block: false,
        links: LinkPolicy::FollowOwn,
    };
    let diff = plan.diff();
    let lines = |sign: &str, header: &str| {
        let lines = diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(header));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    (lines("+", "+++"), lines("-", "---"))
}

/// Installs, reads back, installs again, removes; the text must be unchanged.
fn round_trip(client: McpClient, text: &str, server: &McpServerEntry) -> String {
    let edited = with_server(client, Some(text), "docent", server, false)
        .unwrap_or_else(|problem| panic!("{client}: {problem}\n{text}"));
    assert!(edited.changed);
    let reading = read(ConfigFormat::Client(client), Path::new("file"), edited.text.as_bytes());
    let found = reading.servers.iter().find(|server| server.name == "docent");
    let found =
        found.unwrap_or_else(|| panic!("{client}: {:?}\n{}", reading.problems, edited.text));
    assert_eq!(found.way, server.way, "{client}");
    let again = with_server(client, Some(&edited.text), "docent", server, false).unwrap();
    assert_eq!((again.changed, &again.text), (false, &edited.text), "{client}");
    let out = without_server(client, &edited.text, "docent", edited.block).unwrap();
    assert_eq!(out.text, text, "{client}\n{}", edited.text);
    let none = without_server(client, &out.text, "docent", true).unwrap();
    assert_eq!((none.changed, &none.text), (false, &out.text));
    edited.text
}

#[test]
fn every_client_s_file_comes_back_byte_for_byte() {
    for client in McpClient::ALL {
        let text = fixtures::of(client);
        let windows = text.replace('\n', "\r\n");
        let marked = format!("\u{feff}{text}");
        let unended = text.trim_end();
        for text in [text, &windows, &marked, unended] {
            let edited = round_trip(client, text, &docent());
            assert_eq!(edited.ends_with('\n'), text.ends_with('\n'), "{client}");
            assert_eq!(edited.contains("\r\n"), text.contains("\r\n"), "{client}");
            let bare = edited.replace("\r\n", "");
            assert!(!text.contains("\r\n") || !bare.contains('\n'), "{client}");
            assert_eq!(edited.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
        }
    }
}

#[test]
fn only_our_lines_change() {
    let check = |client: McpClient, expected: &[&str], changed: &[&str]| {
        let text = fixtures::of(client);
        let server = McpServerEntry::program("docent", "docent", &["serve"]);
        let edited = with_server(client, Some(text), "docent", &server, false).unwrap();
        let (added, removed) = added_lines(text, &edited.text);
        assert_eq!(added, expected, "{client}\n{}", edited.text);
        assert_eq!(removed, changed, "{client}");
    };
    check(
        McpClient::ClaudeDesktop,
        &[
            r#"+                    "env": {"KEY": "abc${NOT_A_VARIABLE}"}},"#,
            r#"+        "docent": {"#,
            r#"+            "command": "docent","#,
            r#"+            "args": ["serve"]"#,
            r"+        }",
        ],
        &[r#"-                    "env": {"KEY": "abc${NOT_A_VARIABLE}"}}"#],
    );
    check(
        McpClient::VsCode,
        &[
            "+\t\t\"docent\": {",
            "+\t\t\t\"type\": \"stdio\",",
            "+\t\t\t\"command\": \"docent\",",
            "+\t\t\t\"args\": [\"serve\"]",
            "+\t\t},",
        ],
        &[],
    );
    check(
        McpClient::GeminiCli,
        &[
            r#"+    "events": { "url": "https://example.com/sse" }, // old"#,
            r#"+    "docent": {"#,
            r#"+      "command": "docent","#,
            r#"+      "args": ["serve"]"#,
            r"+    }",
        ],
        &[r#"-    "events": { "url": "https://example.com/sse" } // old"#],
    );
    check(
        McpClient::Codex,
        &["+", "+[mcp_servers.docent]", "+command = \"docent\"", "+args = [\"serve\"]"],
        &[],
    );
    check(
        McpClient::Goose,
        &[
            "+  docent:",
            "+    enabled: true",
            "+    type: stdio",
            "+    name: docent",
            "+    description: \"\"",
            "+    cmd: docent",
            "+    args: [\"serve\"]",
        ],
        &[],
    );
}

#[test]
fn small_and_missing_files_get_a_block() {
    for client in McpClient::ALL {
        let made = with_server(client, None, "docent", &docent(), false).unwrap();
        assert!(made.changed && made.text.ends_with('\n'), "{client}");
        let again = with_server(client, Some(&made.text), "docent", &docent(), false).unwrap();
        assert!(!again.changed, "{client}");
        let blank = with_server(client, Some(" \r\n"), "docent", &docent(), false).unwrap();
        assert!(blank.changed, "{client}");
    }
    let json = [
        "{}",
        "{}\n",
        "{\"mcpServers\": {}}",
        "{\"mcpServers\":{}}\n",
        "{\"a\":1}",
        "{\"a\": [1, 2], \"b\": null}",
        "{\n  \"mcpServers\": {}\n}\n",
        "{\n\t\"a\": 1,\n\t\"mcpServers\": {}\n}",
        "{\n    \"a\": 1\n}\n",
        "{ \"mcpServers\": { \"x\": { \"command\": \"y\" } } }",
        "{\n  \"mcpServers\":\n  {\n    \"x\": { \"command\": \"y\" } }\n}",
        "{\"mcpServers\": {\n\"x\": { \"command\": \"y\" }\n}}",
    ];
    for text in json {
        round_trip(McpClient::Windsurf, text, &docent());
    }
    let comments = [
        "{\n  // none yet\n}\n",
        "{\n  \"mcpServers\": { // none yet\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    // none yet\n  },\n}\n",
        "{ \"mcpServers\": { \"x\": { \"command\": \"y\" } /* z */ } }",
        "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\" }, // z\n    // w\n  } // v\n}",
        "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"y\" } /* , */ , /* z */ }\n}",
    ];
    for text in comments {
        round_trip(McpClient::Cursor, text, &docent());
    }
    let toml = [
        "",
        "\n",
        "a = 1",
        "a = 1\n",
        "a = 1\n\n\n",
        "# c",
        "[mcp_servers]\n",
        "[[x]]\ny = 1\n",
        "mcp_servers.x.command = \"y\"\n",
        "a = \"\"\"\n[mcp_servers.docent]\n\"\"\"\n",
    ];
    for text in toml {
        round_trip(McpClient::Codex, text, &docent());
    }
    let yaml = [
        "",
        "a: 1",
        "a: 1\n",
        "# c\n",
        "extensions: {}\n",
        "extensions: {} # none\nb: 1\n",
        "extensions: {}",
        "extensions:\n    x:\n        type: stdio\n        cmd: y\n",
        "---\nextensions:\n  x: {type: stdio, cmd: y}\n\n\n# z\n",
        "a: |\n  extensions:\nextensions: {}\n",
        "\"extensions\":\n  'x':\n    type: builtin",
    ];
    for text in yaml {
        round_trip(McpClient::Goose, text, &docent());
    }
}

#[test]
fn an_entry_of_another_is_replaced_only_when_that_is_wanted() {
    for client in McpClient::ALL {
        let text = fixtures::of(client);
        let other = McpServerEntry::program("docent", "other", &["x"]);
        let there = with_server(client, Some(text), "docent", &other, false).unwrap().text;
        let problem = with_server(client, Some(&there), "docent", &docent(), false).unwrap_err();
        let said = problem.to_string();
        assert!(said.contains("it has other x, not /usr/local/bin/docent serve"), "{said}");
        assert!(!said.contains("info: on") && said.contains("DOCENT_LOG"), "{said}");
        let replaced = with_server(client, Some(&there), "docent", &docent(), true).unwrap();
        let straight = with_server(client, Some(text), "docent", &docent(), false).unwrap();
        assert_eq!(replaced.text, straight.text, "{client}");
    }
}

#[test]
fn what_a_client_wrote_beside_our_fields_stays() {
    let text = r#"{"mcpServers": {"docent": {"command": "docent", "args": ["old"], "autoApprove": ["search"]}}}"#;
    let server = McpServerEntry::program("docent", "docent", &["serve"]);
    let edited = with_server(McpClient::Cursor, Some(text), "docent", &server, true).unwrap();
    let expected = r#"{"mcpServers": {"docent": {"command": "docent", "args": ["serve"], "autoApprove": ["search"]}}}"#;
    assert_eq!(edited.text, expected);
    let again = with_server(McpClient::Cursor, Some(expected), "docent", &server, false).unwrap();
    assert!(!again.changed);
}

#[test]
fn an_unused_field_does_not_take_effect() {
    let text =
        r#"{"mcpServers": {"docent": {"type": "stdio", "command": "x", "url": "https://a/"}}}"#;
    let server = McpServerEntry::program("docent", "docent", &["serve"]);
    let edited = with_server(McpClient::Cursor, Some(text), "docent", &server, true).unwrap();
    let expected = r#"{"mcpServers": {"docent": {"command": "docent", "args": ["serve"]}}}"#;
    assert_eq!(edited.text, expected);
}

#[test]
fn a_server_on_the_network_is_written_in_the_client_s_words() {
    let mut server =
        McpServerEntry::remote("docent", "http://127.0.0.1:8001/mcp", Some(RemoteKind::Http));
    if let EntryTransport::Remote { headers, .. } = &mut server.way {
        headers.insert("Authorization".to_owned(), "Bearer ${DOCENT_TOKEN}".to_owned());
    }
    let check = |client: McpClient, expected: Result<&str, &str>| {
        let found = with_server(client, None, "docent", &server, false);
        match (found, expected) {
            (Ok(edited), Ok(part)) => assert!(edited.text.contains(part), "{}", edited.text),
            (Err(problem), Err(part)) => assert!(problem.to_string().contains(part), "{problem}"),
            (found, expected) => panic!("{client}: {found:?}, not {expected:?}"),
        }
    };
    check(McpClient::ClaudeDesktop, Err("does not support"));
    check(McpClient::ClaudeCode, Ok("\"Authorization\": \"Bearer ${DOCENT_TOKEN}\""));
    check(McpClient::VsCode, Ok("\"Authorization\": \"Bearer ${env:DOCENT_TOKEN}\""));
    check(McpClient::Cursor, Ok("\"url\": \"http://127.0.0.1:8001/mcp\""));
    check(McpClient::Windsurf, Ok("\"serverUrl\": \"http://127.0.0.1:8001/mcp\""));
    check(McpClient::Zed, Err("Zed does not support ${DOCENT_TOKEN}"));
    check(McpClient::Codex, Ok("bearer_token_env_var = \"DOCENT_TOKEN\""));
    check(McpClient::GeminiCli, Ok("\"httpUrl\": \"http://127.0.0.1:8001/mcp\""));
    check(McpClient::Goose, Ok("Authorization: \"Bearer ${DOCENT_TOKEN}\""));
    for client in [McpClient::ClaudeCode, McpClient::Codex, McpClient::GeminiCli, McpClient::Goose]
    {
        let text = with_server(client, None, "docent", &server, false).unwrap().text;
        let reading = read(ConfigFormat::Client(client), Path::new("file"), text.as_bytes());
        let found = reading.servers.first().map(|server| &server.way);
        let Some(EntryTransport::Remote { url, headers, .. }) = found else { panic!("{found:?}") };
        assert_eq!((url.as_str(), headers.len()), ("http://127.0.0.1:8001/mcp", 1));
        assert_eq!(headers.get("Authorization").unwrap(), "Bearer ${DOCENT_TOKEN}", "{client}");
    }
}

#[test]
fn odd_files_are_left_alone() {
    let check = |client: McpClient, text: &str, part: &str| {
        let problem = with_server(client, Some(text), "docent", &docent(), true).unwrap_err();
        assert!(problem.to_string().contains(part), "{text}\n{problem}");
    };
    let odd = "can't be edited safely";
    check(McpClient::Cursor, "{\"mcpServers\": {}, \"mcpServers\": {}}", odd);
    check(McpClient::Cursor, "{\"mcpServers\": {\"docent\": {}, \"docent\": {}}}", odd);
    check(McpClient::Cursor, "{\"mcpServers\": []}", "not an object of entries");
    check(McpClient::Cursor, "[]", "not an object");
    check(McpClient::Cursor, "{\"a\" 1}", "not valid JSON");
    check(McpClient::ClaudeDesktop, "{} // no", "not valid JSON");
    check(McpClient::Codex, "mcp_servers = {}\n", odd);
    check(McpClient::Codex, "mcp_servers.docent.command = \"x\"\n", odd);
    check(McpClient::Codex, "b = 1\na = \n", "not valid TOML");
    check(McpClient::Codex, "b = 1\na = \n", "on line 2");
    check(McpClient::Goose, "extensions: {a: {type: builtin}}\n", odd);
    check(McpClient::Goose, "extensions: &x\n  a: {type: builtin}\n", odd);
    check(McpClient::Goose, "{extensions: {}}\n", odd);
    check(McpClient::Goose, "a: [\n", "not valid YAML");
    check(McpClient::Goose, "- a\n", "not an object");
}

#[test]
fn a_name_must_be_one() {
    for name in ["", " ", "a\nb"] {
        assert!(with_server(McpClient::Zed, None, name, &docent(), false).is_err(), "{name:?}");
    }
    for client in McpClient::ALL {
        for name in ["do cent", "a.b", "\"q\"", "true", "ä: #", "1"] {
            let edited = with_server(client, Some(fixtures::of(client)), name, &docent(), false)
                .unwrap_or_else(|problem| panic!("{client} {name}: {problem}"));
            let out = without_server(client, &edited.text, name, edited.block)
                .unwrap_or_else(|problem| panic!("{client} {name}: {problem}\n{}", edited.text));
            assert_eq!(out.text, fixtures::of(client), "{client} {name}");
        }
    }
}

#[test]
fn docent_s_own_file_says_all_of_a_server() {
    let text = "# mine\n[server]\nport = 8001 # here\n";
    let mut server = docent();
    server.name = "files".to_owned();
    server.timeout = Some(Duration::from_millis(1_500));
    server.env_file = Some("${HOME}/.env".to_owned());
    let goes = SecretUse::Variable("KEY".to_owned());
    server.secrets.push(SecretFile { goes, path: "/run/key".to_owned() });
    server.meta = ServerMeta {
        title: Some("Files".to_owned()),
        tags: vec!["a".to_owned(), "b".to_owned()],
        visibility: EntryVisibility::Experimental,
        sensitivity: Sensitivity::High,
        priority: Some(7),
        auto_discover: Some(false),
        ..ServerMeta::default()
    };
    let edited = with_table(Some(text), &server, false).unwrap();
    assert!(edited.text.starts_with(text), "{}", edited.text);
    assert!(!with_table(Some(&edited.text), &server, false).unwrap().changed);
    let tables: serde_json::Value = toml::from_str(&edited.text).unwrap();
    let reading = read_tables(Path::new("docent.toml"), tables.get("mcp_servers").unwrap());
    assert_eq!(reading.servers, [server.clone()], "{:?}", reading.problems);
    assert_eq!(without_table(&edited.text, "files").unwrap().text, text);
    server.meta.priority = Some(8);
    assert!(with_table(Some(&edited.text), &server, false).is_err());
    let replaced = with_table(Some(&edited.text), &server, true).unwrap();
    assert!(replaced.text.contains("priority = 8"), "{}", replaced.text);
    let remote = McpServerEntry::remote("web", "wss://example.com/", Some(RemoteKind::WebSocket));
    let edited = with_table(None, &remote, false).unwrap();
    assert_eq!(edited.text, "[mcp_servers.web]\ntype = \"ws\"\nurl = \"wss://example.com/\"\n");
}
