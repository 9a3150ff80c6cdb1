//! Malformed and malicious files.

use crate::fixtures;
use docent_registry::{
    ConfigContents, ConfigFormat, McpClient, McpServerEntry, read, read_tables, with_server,
    without_server,
};
use serde_json::json;
use std::path::Path;

fn forms() -> Vec<ConfigFormat> {
    McpClient::ALL
        .into_iter()
        .map(ConfigFormat::Client)
        .chain([ConfigFormat::Block, ConfigFormat::Registry])
        .collect()
}

fn read_all(bytes: &[u8]) -> Vec<ConfigContents> {
    forms().into_iter().map(|form| read(form, Path::new("f"), bytes)).collect()
}

#[test]
fn nothing_gets_past_a_problem() {
    let deep_arrays = "[".repeat(100_000);
    let deep_objects = "{\"mcpServers\":".repeat(100_000);
    let deep_yaml = format!("extensions: {}", "{a: ".repeat(50_000));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nextensions: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    let texts: [&[u8]; 10] = [
        b"\xff\xfe{\0}\0",
        b"\x80",
        deep_arrays.as_bytes(),
        deep_objects.as_bytes(),
        deep_yaml.as_bytes(),
        bomb.as_bytes(),
        b"null",
        b"\"text\"",
        b"{\"mcpServers\": 1, \"servers\": 1, \"context_servers\": 1}",
        b"{",
    ];
    for text in texts {
        for reading in read_all(text) {
            assert!(reading.servers.is_empty());
        }
        let Ok(text) = std::str::from_utf8(text) else { continue };
        for client in McpClient::ALL {
            let server = McpServerEntry::program("docent", "docent", &[]);
            // The result does not matter here, only that there is one.
            let edited = with_server(client, Some(text), "docent", &server, true).ok();
            let out = without_server(client, text, "docent", true).ok();
            assert!(out.is_none_or(|out| !out.changed), "{edited:?}");
        }
    }
}

#[test]
fn an_empty_file_has_no_servers() {
    for text in ["", " \r\n\t", "\u{feff}", "\u{feff}\n"] {
        for form in McpClient::ALL.into_iter().map(ConfigFormat::Client) {
            let reading = read(form, Path::new("f"), text.as_bytes());
            assert_eq!(reading, ConfigContents::default(), "{form:?} {text:?}");
        }
    }
}

#[test]
fn a_huge_file_is_refused_and_a_large_one_read() {
    let huge = vec![b' '; (32 << 20) + 1];
    for reading in read_all(&huge) {
        let problem = reading.problems.first().unwrap();
        assert!(problem.what.contains("larger than"), "{problem}");
    }
    let many: serde_json::Map<_, _> =
        (0..20_000).map(|index| (format!("s{index}"), json!({"command": "x"}))).collect();
    let text = json!({ "mcpServers": many }).to_string();
    let reading = read(ConfigFormat::Client(McpClient::Cursor), Path::new("f"), text.as_bytes());
    assert_eq!((reading.servers.len(), reading.problems.len()), (20_000, 0));
    let server = McpServerEntry::program("docent", "docent", &[]);
    let edited = with_server(McpClient::Cursor, Some(&text), "docent", &server, false).unwrap();
    let out = without_server(McpClient::Cursor, &edited.text, "docent", false).unwrap();
    assert_eq!(out.text, text);
}

#[test]
fn a_repeated_key_is_reported() {
    let text = br#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#;
    let reading = read(ConfigFormat::Client(McpClient::ClaudeCode), Path::new("f"), text);
    let way = reading.servers.first().map(McpServerEntry::summary);
    assert_eq!((reading.servers.len(), way.as_deref()), (1, Some("y")));
    let problem = reading.problems.first().unwrap().to_string();
    assert_eq!(problem, "f: \"a\": it occurs twice, and the last one is used; remove one");
    for (client, text) in [
        (McpClient::Codex, "[mcp_servers.a]\ncommand = 'x'\n[mcp_servers.a]\ncommand = 'y'\n"),
        (McpClient::Goose, "extensions:\n  a: {type: stdio, cmd: x}\n  a: {type: stdio, cmd: y}\n"),
    ] {
        let reading = read(ConfigFormat::Client(client), Path::new("f"), text.as_bytes());
        assert_eq!((reading.servers.len(), reading.problems.len()), (0, 1), "{client}");
    }
}

#[test]
fn wrong_types_are_reported_field_by_field() {
    let check = |entry: serde_json::Value, field: &str| {
        let tables = json!({"bad": entry, "good": {"command": "x"}});
        let reading = read_tables(Path::new("f"), &tables);
        let names: Vec<_> = reading.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["good"], "{entry}");
        let problem = reading.problems.first().unwrap();
        assert_eq!(problem.entry.as_deref(), Some("bad"));
        assert_eq!(problem.field.as_deref(), Some(field), "{entry}");
        assert!(!problem.remedy.is_empty());
    };
    check(json!({"command": 1}), "command");
    check(json!({"command": ""}), "command");
    check(json!({"command": ["x", 1]}), "command");
    check(json!({"command": {"args": []}}), "command");
    check(json!({"command": "x", "args": "y"}), "args");
    check(json!({"command": "x", "args": [[]]}), "args");
    check(json!({"command": "x", "env": []}), "env");
    check(json!({"command": "x", "env": {"A": null}}), "env.A");
    check(json!({"command": "x", "cwd": []}), "cwd");
    check(json!({"command": "x", "disabled": "no"}), "disabled");
    check(json!({"command": "x", "inherit_env": [1]}), "inherit_env");
    check(json!({"command": "x", "type": "http"}), "url");
    check(json!({"command": "x", "url": "https://a/"}), "type");
    check(json!({"url": "file:///etc/passwd"}), "url");
    check(json!({"url": "example.com"}), "url");
    check(json!({"url": "https://a/", "headers": 1}), "headers");
    check(json!({"mcp": 1, "command": "x"}), "mcp");
    check(json!({}), "command");
    let reading = read_tables(Path::new("f"), &json!({"bad": 1, "worse": null}));
    assert_eq!((reading.servers.len(), reading.problems.len()), (0, 2));
}

/// An entry added to a damaged file can be read back, and removing it leaves no entry of that name.
fn survives(client: McpClient, text: &str) {
    let server = McpServerEntry::program("docent", "docent", &["serve", "a b"]);
    let Ok(edited) = with_server(client, Some(text), "docent", &server, true) else { return };
    let entries = |text: &str| {
        let reading = read(ConfigFormat::Client(client), Path::new("f"), text.as_bytes());
        let ours = reading.servers.into_iter().filter(|server| server.name == "docent");
        ours.map(|server| server.way).collect::<Vec<_>>()
    };
    assert_eq!(entries(&edited.text), [server.way], "{client}: {text}");
    let out = without_server(client, &edited.text, "docent", edited.block)
        .unwrap_or_else(|problem| panic!("{client}: {problem}\n{}", edited.text));
    assert_eq!(entries(&out.text), [], "{client}: {text}");
}

#[test]
fn a_damaged_file_is_refused_or_edited_whole() {
    for client in McpClient::ALL {
        let text = fixtures::of(client);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(31).collect();
        for at in places {
            let (before, after) = text.split_at(at);
            survives(client, before);
            let mut rest = after.chars();
            rest.next();
            survives(client, &format!("{before}{}", rest.as_str()));
            for put in ["\n", " ", "#", "//", "\"", "{", "}", "[", ",", ":", "\t", "\0", "docent"] {
                survives(client, &format!("{before}{put}{after}"));
            }
        }
    }
}
