//! Reading each client's file.

use crate::fixtures;
use docent_registry::{
    ConfigContents, ConfigFormat, EntryTransport, EntryVisibility, McpClient, McpServerEntry,
    RemoteKind, Requirement, SecretFile, SecretUse, Sensitivity, read, read_tables,
};
use serde_json::json;
use std::{path::Path, time::Duration};

fn read_fixture(client: McpClient) -> ConfigContents {
    let reading =
        read(ConfigFormat::Client(client), Path::new("file"), fixtures::of(client).as_bytes());
    assert!(
        reading.problems.iter().all(|problem| problem.file.as_deref() == Some(Path::new("file")))
    );
    reading
}

fn named<'a>(reading: &'a ConfigContents, name: &str) -> &'a McpServerEntry {
    reading.servers.iter().find(|server| server.name == name).unwrap()
}

fn problems(reading: &ConfigContents) -> Vec<String> {
    reading.problems.iter().map(ToString::to_string).collect()
}

/// A program with these arguments and variables.
fn program(command: &str, args: &[&str], env: &[(&str, &str)]) -> EntryTransport {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    EntryTransport::Program {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: env.iter().map(pair).collect(),
        inherit: Vec::new(),
        cwd: None,
    }
}

fn remote(url: &str, kind: Option<RemoteKind>, headers: &[(&str, &str)]) -> EntryTransport {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    EntryTransport::Remote {
        url: url.to_owned(),
        kind,
        headers: headers.iter().map(pair).collect(),
    }
}

#[test]
fn claude_desktop_means_what_it_writes() {
    let reading = read_fixture(McpClient::ClaudeDesktop);
    assert_eq!(problems(&reading), [""; 0]);
    let weather = named(&reading, "weather");
    assert_eq!(
        weather.way,
        program("uv", &["run", "weather.py"], &[("KEY", "abc$${NOT_A_VARIABLE}")])
    );
    assert_eq!(weather.needs(), []);
}

#[test]
fn claude_code_has_blocks_for_projects_and_one_bad_entry_hides_no_other() {
    let reading = read_fixture(McpClient::ClaudeCode);
    let headers = [("Authorization", "Bearer ${GITHUB_TOKEN}")];
    let way = remote("https://api.example.com/mcp/", Some(RemoteKind::Http), &headers);
    assert_eq!(named(&reading, "github").way, way);
    let legacy = remote("${BASE:-https://example.com}/sse", Some(RemoteKind::Sse), &[]);
    assert_eq!(named(&reading, "legacy").way, legacy);
    let db = named(&reading, "db");
    assert_eq!((db.project.as_deref(), db.disabled), (Some("/home/me/work"), true));
    assert_eq!(reading.servers.len(), 3);
    let expected = "file: \"broken\", `command`: it is missing; write the program to start";
    assert_eq!(problems(&reading), [expected]);
}

#[test]
fn an_editor_s_questions_are_needs() {
    let reading = read_fixture(McpClient::VsCode);
    assert_eq!(problems(&reading), [""; 0]);
    let server = named(&reading, "perplexity");
    let needs = [
        Requirement::Input("perplexity-key".to_owned()),
        Requirement::Editor("workspaceFolder".to_owned()),
        Requirement::File("${workspaceFolder}/.env".to_owned()),
    ];
    assert_eq!(server.needs(), needs);
    let input = reading.inputs.first().unwrap();
    assert_eq!((input.id.as_str(), input.secret), ("perplexity-key", true));
    assert_eq!(
        named(&reading, "github").way,
        remote("https://api.githubcopilot.com/mcp/", None, &[])
    );
}

#[test]
fn cursor_and_windsurf_are_read() {
    let reading = read_fixture(McpClient::Cursor);
    let web = remote("http://localhost:3000/mcp", None, &[("API_KEY", "${env:API_KEY}")]);
    assert_eq!(named(&reading, "web").way, web);
    assert_eq!(problems(&reading), [""; 0]);
    let reading = read_fixture(McpClient::Windsurf);
    let figma = named(&reading, "figma");
    assert_eq!(
        figma.way,
        remote("https://mcp.example.com/mcp", None, &[("AUTH_TOKEN", "${env:AUTH_TOKEN}")])
    );
    assert_eq!(figma.unknown.get("disabledTools"), Some(&json!(["delete"])));
    assert!(named(&reading, "gone").disabled);
}

#[test]
fn zed_is_read_in_its_old_and_its_new_shape() {
    let reading = read_fixture(McpClient::Zed);
    assert_eq!(problems(&reading), [""; 0]);
    let new = named(&reading, "new");
    assert_eq!(new.way, program("some-command", &["a", "b"], &[("K", "v")]));
    assert_eq!((new.disabled, new.timeout), (true, Some(Duration::from_secs(90))));
    assert!(new.unknown.is_empty());
    assert_eq!(named(&reading, "old").way, program("old-command", &["--stdio"], &[]));
    assert_eq!(
        named(&reading, "remote").way,
        remote("https://example.com/mcp", None, &[("A", "b")])
    );
    assert_eq!(reading.passed_over, ["postgres-context-server"]);
}

#[test]
fn codex_names_variables_in_fields_of_their_own() {
    let reading = read_fixture(McpClient::Codex);
    assert_eq!(problems(&reading), [""; 0]);
    let server = named(&reading, "context7");
    let EntryTransport::Program { env, inherit, .. } = &server.way else { panic!("{server:?}") };
    assert_eq!(env.get("MY_VAR").unwrap(), "$${literal}");
    assert_eq!(inherit, &["LOCAL_TOKEN", "OTHER"]);
    assert_eq!(server.timeout, Some(Duration::from_millis(45_500)));
    assert_eq!(server.start_timeout, Some(Duration::from_secs(20)));
    let headers = [
        ("X-Region", "us-east-1"),
        ("X-Team", "${TEAM}"),
        ("Authorization", "Bearer ${FIGMA_TOKEN}"),
    ];
    assert_eq!(named(&reading, "figma").way, remote("https://mcp.figma.com/mcp", None, &headers));
}

#[test]
fn gemini_says_sse_with_url() {
    let reading = read_fixture(McpClient::GeminiCli);
    assert_eq!(problems(&reading), [""; 0]);
    let py = named(&reading, "py");
    let EntryTransport::Program { env, cwd, .. } = &py.way else { panic!("{py:?}") };
    assert_eq!(env.get("KEY").unwrap(), "${MY_KEY:-$MY_KEY}");
    assert_eq!(env.get("URL").unwrap(), "${URL}");
    assert_eq!((cwd.as_deref(), py.timeout), (Some("./server"), Some(Duration::from_secs(15))));
    assert_eq!(py.unknown.get("trust"), Some(&json!(false)));
    let kind = |name: &str| match &named(&reading, name).way {
        EntryTransport::Remote { kind, .. } => *kind,
        way @ EntryTransport::Program { .. } => panic!("{way:?}"),
    };
    assert_eq!(kind("stream"), Some(RemoteKind::Http));
    assert_eq!(kind("events"), Some(RemoteKind::Sse));
}

#[test]
fn goose_s_own_parts_are_passed_over() {
    let reading = read_fixture(McpClient::Goose);
    assert_eq!(problems(&reading), [""; 0]);
    assert_eq!(reading.passed_over, ["developer"]);
    let fetch = named(&reading, "fetch");
    let env = [("MODE", "fast $${x}"), ("FETCH_KEY", "${FETCH_KEY}")];
    assert_eq!(fetch.way, program("uvx", &["mcp-server-fetch"], &env));
    assert_eq!((fetch.timeout, fetch.disabled), (Some(Duration::from_mins(5)), false));
    let server = named(&reading, "remote");
    let headers = [("Authorization", "Bearer abc"), ("X-Key", "${OTHER_KEY}")];
    assert_eq!(server.way, remote("https://example.com/mcp", Some(RemoteKind::Http), &headers));
    assert!(server.disabled);
    assert_eq!(server.meta.description.as_deref(), Some("Two lines\n# not a comment\n"));
}

#[test]
fn a_registry_says_what_each_server_is_for() {
    let reading =
        read(ConfigFormat::Registry, Path::new("mcp.registry.json"), fixtures::REGISTRY.as_bytes());
    let server = named(&reading, "cloudflare");
    let args = ["mcp-remote", "https://docs.example.com/sse"];
    assert_eq!(server.way, program("npx", &args, &[("TOKENS", "500")]));
    let meta = &server.meta;
    assert_eq!(meta.title.as_deref(), Some("Cloudflare platform MCP"));
    assert_eq!(meta.description.as_deref(), Some("Look things up in the platform's documentation"));
    assert_eq!(meta.tags, ["docs", "infra"]);
    assert_eq!(meta.domains, ["cloudflare", "workers"]);
    assert_eq!(meta.examples, ["Find the documentation of an API."]);
    assert_eq!(meta.sensitivity, Sensitivity::Medium);
    assert_eq!(meta.visibility, EntryVisibility::OptIn);
    assert_eq!((meta.priority, meta.auto_discover), (Some(10), Some(true)));
    assert_eq!(meta.always_allow, ["search"]);
    assert_eq!(server.unknown.get("owner"), Some(&json!("platform team")));
    let web = named(&reading, "web");
    assert_eq!(web.way, remote("https://api.example.com/mcp", Some(RemoteKind::Http), &[]));
    assert_eq!((web.meta.sensitivity, web.meta.priority), (Sensitivity::High, None));
    assert_eq!(
        problems(&reading),
        [
            "mcp.registry.json: \"web\", `tags`: it is not a list of strings; write strings in quotes between [ and ]",
            "mcp.registry.json: \"web\", `sensitivity`: unknown value; write low, medium or high; high is assumed",
            "mcp.registry.json: \"web\", `priority`: it is not a whole number up to 1000; write one from 1 to 10",
            "mcp.registry.json: \"servers[2]\": the entry has no `id`; add an `id` in quotes",
            "mcp.registry.json: \"web\": this id is repeated, and the first entry is used; give each entry its own id",
            "mcp.registry.json: \"odd\", `transport`: unknown transport; write stdio, http, sse or ws",
        ]
    );
}

#[test]
fn docent_s_own_tables_are_read() {
    let tables = json!({
        "files": {"command": "mcp-files", "args": ["--port", 80], "env": {"KEY": {"file": "~/key"}, "ON": true},
            "timeout_ms": 1500, "title": "Files", "tags": ["a"], "inherit_env": ["HOME"]},
        "socket": {"url": "wss://example.com/mcp", "bearer_token_file": "/run/token"},
        "off": {"url": "https://example.com/", "enabled": false, "headers": {"X": {"file": "x", "more": 1}}},
    });
    let reading = read_tables(Path::new("docent.toml"), &tables);
    let files = named(&reading, "files");
    let EntryTransport::Program { args, env, inherit, .. } = &files.way else {
        panic!("{files:?}")
    };
    assert_eq!((args.join(" "), inherit.join(" ")), ("--port 80".to_owned(), "HOME".to_owned()));
    assert_eq!(env.get("ON").unwrap(), "true");
    let secret =
        SecretFile { goes: SecretUse::Variable("KEY".to_owned()), path: "~/key".to_owned() };
    assert_eq!(files.secrets, [secret]);
    assert_eq!(files.timeout, Some(Duration::from_millis(1500)));
    let socket = named(&reading, "socket");
    assert_eq!(socket.way, remote("wss://example.com/mcp", Some(RemoteKind::WebSocket), &[]));
    assert_eq!(
        socket.secrets,
        [SecretFile { goes: SecretUse::Bearer, path: "/run/token".to_owned() }]
    );
    assert_eq!(
        problems(&reading),
        [
            "docent.toml: \"off\", `headers.X`: it is neither a string nor a file; write a string in quotes, or {\"file\": \"path\"}"
        ]
    );
}

#[test]
fn every_block_of_an_editor_is_read() {
    let names = |form: ConfigFormat, text: serde_json::Value| {
        let reading = read(form, Path::new("f"), text.to_string().as_bytes());
        let mut names: Vec<&str> =
            reading.servers.iter().map(|server| server.name.as_str()).collect();
        names.sort_unstable();
        (names.join(" "), problems(&reading))
    };
    let vscode = ConfigFormat::Client(McpClient::VsCode);
    let server = json!({"command": "x"});
    let nested = json!({"servers": {"a": server}});
    let both = json!({"mcp": nested, "mcp.servers": {"b": server}});
    assert_eq!(names(ConfigFormat::Block, both.clone()), ("a b".to_owned(), vec![]));
    assert_eq!(names(vscode, both), ("a b".to_owned(), vec![]));
    let dotted = json!({"mcp.servers": {"a": server}, "servers": {"b": server}});
    assert_eq!(names(vscode, dotted), ("a b".to_owned(), vec![]));
    let twice = json!({"mcp": nested, "mcp.servers": {"a": server}});
    let problem = "f: \"a\": another entry of this name under `mcp.servers` is used; remove one";
    assert_eq!(names(ConfigFormat::Block, twice), ("a".to_owned(), vec![problem.to_owned()]));
    let wrong = json!({"mcp": nested, "mcp.servers": 1});
    let problem = "f: `mcp.servers`: it is not an object of entries; write the entries between { and }, each under its name";
    assert_eq!(names(ConfigFormat::Block, wrong), ("a".to_owned(), vec![problem.to_owned()]));
}

#[test]
fn a_file_s_name_says_its_form() {
    let check = |path: &str, form: ConfigFormat| {
        assert_eq!(ConfigFormat::of(Path::new(path)), form, "{path}");
    };
    check("/a/mcp.registry.json", ConfigFormat::Registry);
    check("/a/.mcp.json", ConfigFormat::Client(McpClient::ClaudeCode));
    check("/a/.cursor/mcp.json", ConfigFormat::Client(McpClient::Cursor));
    check("/a/.vscode/mcp.json", ConfigFormat::Client(McpClient::VsCode));
    check("/a/.zed/settings.json", ConfigFormat::Client(McpClient::Zed));
    check("/a/.gemini/settings.json", ConfigFormat::Client(McpClient::GeminiCli));
    check("/a/.codex/config.toml", ConfigFormat::Client(McpClient::Codex));
    check("/a/goose/config.yaml", ConfigFormat::Client(McpClient::Goose));
    check("/a/other.json", ConfigFormat::Block);
}

#[test]
fn a_debug_line_shows_no_values() {
    let reading = read_fixture(McpClient::Goose);
    let line = format!("{:?}", named(&reading, "remote"));
    assert!(!line.contains("abc") && line.contains("Authorization"), "{line}");
    let line = named(&reading, "remote").summary();
    assert_eq!(line, "https://example.com/mcp (with Authorization, X-Key) (disabled)");
}
