//! Lines 376 to 414: sizes, connections, time and security.

use super::{ANALYZE, INITIALIZE, opened};
use crate::{
    CliRun, TestHome, kernel_can_confine,
    seeds::{SeedTable, ask, text_of},
    serving::{audit_lines, call, endless, listening_sockets, serve},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink};

pub(super) async fn walk(walk: &mut SeedTable, place: &TestHome) {
    sizes(walk, place).await;
    connections(walk, place).await;
    time(walk, place).await;
    input(walk, place).await;
    sandbox(walk, place).await;
    identity(walk, place).await;
}

async fn sizes(walk: &mut SeedTable, place: &TestHome) {
    walk.at("380");
    let mut server = opened(place, &[], &[]).await;
    for (megabytes, is_served) in [(11, false), (9, true)] {
        let padding = "x".repeat(megabytes << 20);
        let ping = json!({"jsonrpc": "2.0", "id": "long", "method": "ping", "params": {"padding": padding}});
        server.send(&ping).await.unwrap();
        let answer = server.answer_to(&json!("long")).await.unwrap();
        if is_served {
            assert_eq!(answer["result"], json!({}), "{answer}");
        } else {
            assert_eq!(answer["error"]["code"], -32600, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("10 MB"), "{answer}");
        }
    }

    walk.at("381");
    let mut server = opened(place, &[], &[("DOCENT_LIMITS_PAGE_BYTES", "1024")]).await;
    let whole = text_of(&ask(&mut opened(place, &[], &[]).await, ANALYZE).await);
    let first = ask(&mut server, ANALYZE).await;
    let text = text_of(&first);
    assert!(first.to_string().len() < 4096 && text.len() < whole.len(), "{first}");
    let (_, next) =
        text.split_once("result://").unwrap_or_else(|| panic!("no next part in {text}"));
    let uri = format!("result://{}", next.split_whitespace().next().unwrap());
    let part = server.ask("resources/read", json!({"uri": uri})).await.unwrap();
    let part = part["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{part}"));
    assert!(whole.contains(part.lines().next().unwrap()), "{part:?} is not part of {whole:?}");

    walk.at("382");
    let answer = server.ask("tools/call", call("other__picture", json!({}))).await.unwrap();
    let picture = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    assert_eq!(answer["result"]["content"], json!([picture]));
}

async fn connections(walk: &mut SeedTable, place: &TestHome) {
    walk.at("386");
    let mut server = opened(place, &[], &[]).await;
    assert_eq!(listening_sockets(&server), [""; 0]);

    walk.differs("387");
    let users = json!(["my-project/src/users.ts"]);
    let plain = call("parse_files", json!({"files": users}));
    let before = server.ask("tools/call", plain.clone()).await.unwrap();
    assert!(before.to_string().contains("getUserById"), "{before}");
    let odd = call("parse_files", json!({"files": users, "options": {"language": "python"}}));
    let odd = server.ask("tools/call", odd).await.unwrap();
    assert!(!odd.to_string().contains("Successfully"), "{odd}");
    let search = call("query_annotations", json!({"query": "getUserById"}));
    let found = server.ask("tools/call", search).await.unwrap();
    assert!(text_of(&found).contains("getUserById"), "{found}");
    let after = server.ask("tools/call", plain).await.unwrap();
    assert_eq!(after["result"], before["result"]);

    walk.at("388");
    // A second client shares nothing with the first, whose handshake does not count for it.
    let mut second = serve(place, &[], &[]);
    let refused = second.ask("tools/list", json!({})).await.unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    drop(second);
    let pong = server.ask("ping", json!({})).await.unwrap();
    assert_eq!(pong["result"], json!({}));
}

async fn time(walk: &mut SeedTable, place: &TestHome) {
    walk.at("392");
    let shown = place.run(&["config", "show", "--json"]).ends(0).json();
    let setting = &shown["limits.tool_timeout_ms"];
    assert_eq!(
        (&setting["value"], &setting["source"]["kind"]),
        (&json!(30_000), &json!("default"))
    );

    walk.at("393");
    let environment = [("DOCENT_LIMITS_TOOL_TIMEOUT_MS", "150")];
    let mut command = place.command(&["config", "show", "--json"]);
    let shown = CliRun::of(command.envs(environment)).ends(0).json();
    assert_eq!(shown["limits.tool_timeout_ms"]["value"], 150);

    walk.at("394");
    let large = TestHome::new();
    endless(&large);
    let mut server = opened(&large, &[], &environment).await;
    let request = call("analyze_repository", json!({"path": "endless", "depth": "deep"}));
    let partial = server.ask("tools/call", request).await.unwrap();
    let text = text_of(&partial);
    for part in ["# Repository endless", "Partial answer. Missing: ", "limits.tool_timeout_ms"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

async fn input(walk: &mut SeedTable, place: &TestHome) {
    walk.at("400");
    let mut server = opened(place, &[], &[]).await;
    for (tool, arguments) in [
        ("parse_files", json!({"files": "users.ts"})),
        ("query_annotations", json!({"query": ""})),
        ("search_documentation", json!({"query": "x", "max_results": 0})),
        ("fetch_page", json!({"url": 5})),
        ("analyze_repository", json!({"path": ".", "breadth": "wide"})),
    ] {
        let refused = server.ask("tools/call", call(tool, arguments.clone())).await.unwrap();
        assert_eq!(refused["error"]["code"], -32602, "{tool} {arguments}: {refused}");
    }

    walk.at("401");
    refuses_paths(&mut server, &["../../../etc", "my-project/../../.."]).await;
    for uri in ["ast://project/../../etc/passwd", "file:///etc/passwd"] {
        let refused = server.ask("resources/read", json!({"uri": uri})).await.unwrap();
        assert!(refused["error"]["code"].is_i64(), "{uri}: {refused}");
    }

    walk.at("402");
    symlink("/etc", place.project().join("elsewhere")).unwrap();
    refuses_paths(&mut server, &["/etc", "elsewhere"]).await;
}

async fn refuses_paths(server: &mut ChildTestClient, paths: &[&str]) {
    for path in paths {
        let request = call("analyze_repository", json!({"path": path}));
        let refused = server.ask("tools/call", request).await.unwrap();
        assert_eq!(refused["error"]["code"], -32602, "{path}: {refused}");
        assert!(
            refused["error"]["message"].as_str().unwrap().contains("root"),
            "{path}: {refused}"
        );
    }
}

async fn sandbox(walk: &mut SeedTable, place: &TestHome) {
    walk.at("406-407");
    let report = place.run(&["doctor", "--json", "--port", "0"]).ends(0).json();
    let findings: Vec<&Value> = report["findings"].as_array().unwrap().iter().collect();
    let details = |check: &str| {
        let its = findings.iter().filter(|finding| finding["check"] == check);
        its.map(|finding| finding["detail"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
    };
    for control in ["files", "seccomp", "limits"] {
        assert!(details("sandbox").contains(control), "no {control} in {}", details("sandbox"));
    }

    let mut server = opened(place, &[], &[]).await;
    let process = server.process_id().unwrap();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    // Where the kernel has no such means, the report above gives the reason.
    if kernel_can_confine().is_ok() {
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.contains(line), "no {line} in {status}");
        }
    }

    walk.at("408");
    for (tool, arguments) in [
        ("web_search", json!({"query": "documentation"})),
        ("fetch_page", json!({"url": "http://127.0.0.1:9/"})),
    ] {
        let failed = server.ask("tools/call", call(tool, arguments)).await.unwrap();
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        assert!(text_of(&failed).contains("the network is off"), "{failed}");
    }
}

async fn identity(walk: &mut SeedTable, place: &TestHome) {
    walk.at("412");
    let mut server = serve(place, &[], &[]);
    let answer = ask(&mut server, INITIALIZE).await;
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");

    walk.at("413");
    ask(&mut server, ANALYZE).await;
    let lines = audit_lines(&place.project().join(".docent/audit.jsonl"));
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["client"], &last["tool"]),
        (&json!("Claude Desktop/0.7.0"), &json!("analyze_repository"))
    );

    walk.at("414");
    let key = "a-key-of-some-length";
    let mut server = serve(place, &["--auth", key], &[]);
    let refused = ask(&mut server, INITIALIZE).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("params.auth"), "{message}");
    assert!(message.contains("MCP_AUTH_REQUIRED=false"), "{message}");
    let mut initialize: Value = serde_json::from_str(INITIALIZE).unwrap();
    initialize["params"]["auth"] = json!({"type": "bearer", "token": key});
    let answer = ask(&mut server, &initialize.to_string()).await;
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05", "{answer}");
}
