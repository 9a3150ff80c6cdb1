//! What a call leaves behind: audit lines, log lines, counters and spans.

use crate::{
    TestHome, collector,
    serving::{LEGACY, MODERN, audit_lines, call, ends_well, get, listen, serve},
};
use docent_testkit::HttpTestClient;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

fn survey() -> Value {
    call("analyze_repository", json!({"path": ".", "depth": "quick"}))
}

#[tokio::test]
async fn every_call_is_on_record_before_it_is_answered() {
    let place = TestHome::new();
    let file = place.project().join(".docent/audit.jsonl");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for (at, path) in [".", "no/such/place", "."].into_iter().enumerate() {
        let request = call("analyze_repository", json!({"path": path, "depth": "quick"}));
        server.ask("tools/call", request).await.unwrap();
        assert_eq!(audit_lines(&file).len(), at + 1, "the line came after the answer");
    }
    let lines = audit_lines(&file);
    for line in &lines {
        assert_eq!(line["principal"], "anonymous", "{line}");
        assert_eq!(line["client"], concat!("docent-testkit/", env!("CARGO_PKG_VERSION")), "{line}");
        assert_eq!(
            (&line["tool"], &line["method"]),
            (&json!("analyze_repository"), &json!("tools/call"))
        );
        assert_eq!(line["transport"], "stdio");
        assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        assert!(line["duration_ms"].as_f64().is_some_and(|took| took > 0.0), "{line}");
        assert_eq!(line["digest"].as_str().map(str::len), Some(64), "{line}");
    }
    assert_eq!(
        ["ok", "error", "ok"],
        [0, 1, 2].map(|at: usize| lines[at]["outcome"].as_str().unwrap())
    );
    assert!(lines[0]["bytes"].as_u64().is_some_and(|bytes| bytes > 100), "{}", lines[0]);
    assert_eq!(lines[0]["digest"], lines[2]["digest"], "equal arguments, equal digests");
    assert_ne!(lines[0]["digest"], lines[1]["digest"]);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others can read who called what");
}

#[test]
fn a_missing_audit_log_is_reported_with_its_path() {
    let place = TestHome::new();
    for command in ["verify", "tail", "stats"] {
        let run = place.run(&["audit", command]);
        run.ends(1).says("no calls recorded yet").says(".docent/audit.jsonl");
        assert!(!run.err.contains("os error"), "{}", run.err);
    }
    place
        .run(&["audit", "tail", "--file", "none.jsonl"])
        .ends(1)
        .says("none.jsonl does not exist; name the file");
    place.settings("audit.enabled = false\n");
    place.run(&["audit", "stats"]).ends(1).says("set `audit.enabled` to true");
}

#[tokio::test]
async fn a_record_that_docent_turned_over_is_intact_and_one_that_was_emptied_is_not() {
    let place = TestHome::new();
    place.settings("audit.max_bytes = 4096\naudit.keep = 1\n");
    let file = place.project().join(".docent/audit.jsonl");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for _ in 0..30 {
        server.ask("tools/call", call("no_such_tool", json!({}))).await.unwrap();
    }
    place.run(&["audit", "verify"]).ends(0).prints("were in older files");
    fs::write(&file, "").unwrap();
    server.ask("tools/call", call("no_such_tool", json!({}))).await.unwrap();
    place.run(&["audit", "verify"]).ends(1).prints("NOT intact").prints("--rotated-elsewhere");
    place.run(&["audit", "verify", "--rotated-elsewhere"]).ends(0);
}

#[tokio::test]
async fn records_are_for_the_user_alone_wherever_they_lie() {
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    for (settings, audit) in [
        ("audit.file = \"~/records/audit.jsonl\"\n", "records/audit.jsonl"),
        ("", "project/.docent/audit.jsonl"),
    ] {
        let place = TestHome::new();
        let [audit, log] = [audit, "records/docent.log"].map(|name| place.0.path().join(name));
        place.settings(&format!("{settings}server.logging.file = \"~/records/docent.log\"\n"));
        // Created by docent, then made readable by the user.
        for _ in 0..2 {
            let mut server = serve(&place, &[], &[]);
            server.open(LEGACY).await.unwrap();
            server.ask("tools/call", survey()).await.unwrap();
            assert_eq!((mode(&audit), mode(&log)), (0o600, 0o600), "{settings}");
            server.close_input();
            ends_well(&mut server).await;
            fs::set_permissions(&audit, fs::Permissions::from_mode(0o644)).unwrap();
        }
        // A reader with access through the group keeps it.
        fs::set_permissions(&log, fs::Permissions::from_mode(0o640)).unwrap();
        let mut server = serve(&place, &[], &[]);
        server.open(LEGACY).await.unwrap();
        assert_eq!(mode(&log), 0o640);
    }
}

#[test]
fn doctor_says_which_servers_may_write_to_the_record() {
    let place = TestHome::new();
    place.settings("mcp_servers.notes.command = \"notes\"\n");
    place.run(&["doctor"]).ends(0).prints("the server notes can write to it too: set audit.file");
    place.settings("mcp_servers.notes = { command = \"notes\", sandbox = \"strict\" }\n");
    assert!(!place.run(&["doctor"]).ends(0).out.contains("can write to it too"));
}

#[tokio::test]
async fn a_root_that_cannot_be_written_to_is_served_all_the_same() {
    let place = TestHome::new();
    // The right to write stops every user but one; the file in the way stops that one too.
    place.write(".docent", "").write("README.md", "# Sample\n");
    fs::set_permissions(place.project(), fs::Permissions::from_mode(0o555)).unwrap();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let answer = server.ask("tools/call", survey()).await.unwrap();
    assert_eq!(answer["result"]["structuredContent"]["structure"]["files"], 1, "{answer}");
    let cache = place.0.path().join(".cache/docent");
    let state = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    assert_eq!(audit_lines(&state.join("audit.jsonl")).len(), 1);
    fs::set_permissions(place.project(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_record_that_can_not_be_kept_anywhere_is_counted_as_lost() {
    let place = TestHome::new();
    // A file in the way of each of the two folders.
    place.write(".docent", "");
    let cache = place.0.path().join(".cache");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("docent"), "").unwrap();
    let (_server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let mut peer = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    peer.open(LEGACY).await.unwrap();
    peer.ask("tools/call", call("no_such_tool", json!({}))).await.unwrap();
    let text = get(&address, "/metrics").await.1;
    assert!(text.contains("docent_audit_failures_total 1\n"), "{text}");
}

#[tokio::test]
async fn protocol_traces_go_to_stderr_both_ways_and_masked() {
    let place = TestHome::new();
    let environment = [("DEBUG", "mcp:protocol"), ("MCP_API_KEY", "sekrit-configured-key")];
    let mut server = serve(&place, &[], &environment);
    let opening = |token: &str| {
        json!({
            "protocolVersion": LEGACY, "capabilities": {}, "auth": {"type": "bearer", "token": token},
            "clientInfo": {"name": "test", "version": "1"},
        })
    };
    // Every line on stdout is parsed as a message; an invalid one fails these.
    server.ask("initialize", opening("sekrit-guess")).await.unwrap();
    server.ask("initialize", opening("sekrit-configured-key")).await.unwrap();
    server.ask("tools/list", json!({"note": "sekrit-configured-key"})).await.unwrap();
    server.close_input();
    ends_well(&mut server).await;
    let log = server.log();
    let traced = |mark: &str, text: &str| {
        log.iter().filter(|line| line.contains(mark) && line.contains(text)).count()
    };
    assert_eq!(traced("[MCP →]", "\"method\":\"initialize\""), 2, "{log:#?}");
    assert_eq!(traced("[MCP →]", "\"method\":\"tools/list\""), 1, "{log:#?}");
    assert_eq!(traced("[MCP ←]", "\"serverInfo\""), 1, "{log:#?}");
    assert_eq!(traced("[MCP ←]", "\"tools\":["), 1, "{log:#?}");
    assert!(!log.concat().contains("sekrit"), "{log:#?}");
    assert!(traced("[MCP →]", "\"token\":\"[redacted: ") == 2, "{log:#?}");
    assert!(server.take_messages().is_empty());
}

#[tokio::test]
async fn a_trace_of_tools_has_a_line_for_each_call() {
    let place = TestHome::new();
    let mut server = serve(&place, &[], &[("DEBUG", "docent:tools")]);
    server.open(LEGACY).await.unwrap();
    server.ask("tools/list", json!({})).await.unwrap();
    for _ in 0..2 {
        server.ask("tools/call", survey()).await.unwrap();
    }
    server.close_input();
    ends_well(&mut server).await;
    let log = server.log();
    let lines: Vec<&String> = log.iter().filter(|line| line.contains("docent::tools")).collect();
    assert_eq!(lines.len(), 2, "{log:#?}");
    assert!(lines.iter().all(|line| line.contains("analyze_repository")), "{lines:#?}");
    assert!(!log.concat().contains("[MCP"), "{log:#?}");
}

#[tokio::test]
async fn counters_count_calls_by_outcome() {
    let place = TestHome::new();
    let (_server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let mut peer = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    peer.open(LEGACY).await.unwrap();
    let none = get(&address, "/metrics").await.1;
    assert!(!none.contains("analyze_repository"), "{none}");
    for path in [".", ".", "no/such/place"] {
        peer.ask("tools/call", call("analyze_repository", json!({"path": path}))).await.unwrap();
    }
    let (status, text) = get(&address, "/metrics").await;
    assert_eq!(status, 200);
    for want in [
        "docent_tool_calls_total{tool=\"analyze_repository\",outcome=\"ok\"} 2\n",
        "docent_tool_calls_total{tool=\"analyze_repository\",outcome=\"error\"} 1\n",
        "docent_tool_call_seconds_count{tool=\"analyze_repository\"} 3\n",
        "docent_calls_in_flight 0\n",
        "docent_sessions 1\n",
        "docent_connections_ended_total{reason=\"slow\"} 0\n",
    ] {
        assert!(text.contains(want), "no {want:?} in\n{text}");
    }
    let output: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| format!("| `{name}` | {kind} |"))
        .collect();
    let reference = include_str!("../../../../docs/reference/metrics.md");
    let rows = reference.lines().filter(|line| line.starts_with("| `docent_"));
    assert_eq!(rows.count(), output.len(), "{output:#?}");
    for row in output {
        assert!(reference.contains(&row), "docs/reference/metrics.md has no {row}");
    }
}

#[tokio::test]
async fn a_call_joins_the_trace_that_its_request_names() {
    const TRACE: [u8; 16] =
        [10, 247, 101, 25, 22, 205, 67, 221, 132, 72, 235, 33, 28, 128, 49, 156];
    const PARENT: [u8; 8] = [183, 173, 107, 113, 105, 32, 51, 49];
    for revision in [LEGACY, MODERN] {
        let place = TestHome::new();
        let (endpoint, spans) = collector();
        let mut server =
            serve(&place, &[], &[("DOCENT_TELEMETRY_OTLP_ENDPOINT", endpoint.as_str())]);
        server.open(revision).await.unwrap();
        let mut request = survey();
        request["_meta"]["traceparent"] =
            json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        server.ask("tools/call", request).await.unwrap();
        server.close_input();
        ends_well(&mut server).await;
        let export = spans.recv_timeout(Duration::from_secs(20)).expect("no spans came");
        let holds = |bytes: &[u8]| export.windows(bytes.len()).any(|window| window == bytes);
        assert!(holds(b"analyze_repository"), "{}", String::from_utf8_lossy(&export));
        assert!(holds(&TRACE) && holds(&PARENT), "the span has no parent in {revision}");
    }
}
