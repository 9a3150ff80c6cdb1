//! Attacks known from other servers, run against the real binary: each is rejected, and the server keeps running.
//!
//! Clients that choose the same id are in `bounds`, and definitions that change in the shell's hands in `peers`.

mod bombs;
mod downstream;
mod killed;
mod scripted;
mod web;

use crate::{
    TestHome, kernel_can_confine,
    serving::{LEGACY, call, listen, serve},
};
use docent_testenv::{find_program, or_skip};
use docent_testkit::{ChildTestClient, HttpTestClient};
use serde_json::{Value, json};
use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::symlink,
    process::Stdio,
    thread,
    time::Duration,
};

const SECRET: &str = "the-contents-of-a-secret";
/// The same as a definition, which an outline shows by its name.
const SOURCE: &str = "def the_contents_of_a_secret(): pass\n";
const TOKEN: &str = "ann-token-0123456789";
const UPGRADE: &str = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

async fn call_text(server: &mut ChildTestClient, tool: &str, arguments: Value) -> String {
    server.ask("tools/call", call(tool, arguments)).await.unwrap().to_string()
}

/// What the outline of a file and the file as a resource say, and that both refuse it or neither does.
async fn shown(server: &mut ChildTestClient, path: &str) -> Result<String, String> {
    let outline = server.ask("tools/call", call("outline", json!({"path": path}))).await.unwrap();
    let uri = format!("ast://project/{path}");
    let resource = server.ask("resources/read", json!({"uri": uri})).await.unwrap();
    let is_refused = outline["result"]["isError"] == json!(true);
    assert_eq!(resource.get("error").is_some(), is_refused, "{path}: {outline} {resource}");
    let has_it = |answer: &Value| answer.to_string().contains("the_contents");
    assert_ne!(has_it(&outline), is_refused, "{path}: {outline}");
    assert_ne!(has_it(&resource), is_refused, "{path}: {resource}");
    if is_refused { Err(outline.to_string()) } else { Ok(outline.to_string()) }
}

#[tokio::test]
async fn nothing_outside_the_root_is_read() {
    let place = TestHome::new();
    let (project, outside) = (place.project(), place.0.path().join("project-evil"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.py"), SOURCE).unwrap();
    place.write("ok.py", SOURCE);
    // A link that stays inside is followed.
    for (to, name) in [
        ("ok.py", "inner.py"),
        ("../project-evil", "link"),
        ("../project-evil/a.py", "b.py"),
        (&outside.join("a.py").display().to_string(), "c.py"),
    ] {
        symlink(to, project.join(name)).unwrap();
    }
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let root = project.display().to_string();
    for path in
        ["ok.py", "./ok.py", "inner.py", &format!("{root}/ok.py"), &format!("file://{root}/ok.py")]
    {
        shown(&mut server, path).await.unwrap();
    }
    let evil = outside.join("a.py").display().to_string();
    let (outside, unusable) = (format!("the served roots ({root})"), "not a usable path");
    for (path, why) in [
        ("../project-evil/a.py", outside.as_str()),
        (&evil, &outside),
        (&format!("file://{evil}"), &outside),
        ("link/a.py", &outside),
        ("b.py", &outside),
        ("c.py", &outside),
        ("ok.py/../../project-evil/a.py", &outside),
        (r"..\project-evil\a.py", &outside),
        ("%2e%2e/project-evil/a.py", unusable),
        ("ok.py\u{0}/../a.py", unusable),
        (r"C:\a.py", unusable),
    ] {
        let refused = shown(&mut server, path).await.unwrap_err();
        assert!(refused.contains(why) && !refused.contains("project-evil"), "{path}: {refused}");
    }
}

#[tokio::test]
async fn a_hard_link_to_a_denied_file_is_no_way_in() {
    let place = TestHome::new();
    let (project, keys) = (place.project(), place.0.path().join(".ssh"));
    fs::create_dir(&keys).unwrap();
    fs::write(keys.join("id_ed25519"), SOURCE).unwrap();
    place.write(".env", SOURCE).write("fine.py", "def fine(): pass\n");
    fs::hard_link(project.join(".env"), project.join("notes.py")).unwrap();
    fs::hard_link(keys.join("id_ed25519"), project.join("key.py")).unwrap();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for file in ["notes.py", "key.py"] {
        let refused = shown(&mut server, file).await.unwrap_err();
        assert!(refused.contains("another name of a file that is not served"), "{refused}");
        assert!(!refused.contains(".env") && !refused.contains(".ssh"), "{refused}");
    }
    let all = call_text(&mut server, "outline", json!({"path": "."})).await;
    assert!(all.contains("def fine()") && !all.contains("the_contents"), "{all}");
    // A second name alone is harmless.
    place.write("also.py", SOURCE);
    fs::hard_link(project.join("also.py"), project.join("again.py")).unwrap();
    shown(&mut server, "again.py").await.unwrap();
}

#[test]
fn arguments_and_environment_of_a_program_are_what_they_are() {
    or_skip!(find_program("python3"));
    let place = TestHome::new();
    let python = "/usr/bin/python3";
    let program = "import sys, os, json; print(json.dumps([sys.argv[1:], dict(os.environ)]))";
    place.settings(&format!(
        "policy.downstream.deny = [\"curl\"]\n[mcp_servers.printer]\ncommand = {python:?}\nargs = [\"-c\", {program:?}]\n\
         env = {{ LD_PRELOAD = \"/tmp/evil.so\", NODE_OPTIONS = \"--require x\", PYTHONPATH = \"/tmp\", BASH_ENV = \"x\", PLAIN = \"1\" }}\n"
    ));
    let odd = ["; touch pwned", "$(touch pwned)", "`id`", "a b\n\"c'", "--help", "|", "&&"];
    let args = [&["run", "--", python, "-c", program][..], &odd].concat();
    let secrets = [("MCP_API_KEY", "inbound-token"), ("DOCENT_SERVER_AUTH_TOKEN", "inbound-token")];
    let run = crate::CliRun::of(place.command(&args).envs(secrets).env("PATH", "/usr/bin:/bin"));
    run.ends(0);
    let said: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(said[0], json!(odd), "each is one argument, and no shell sees it");
    assert!(!place.project().join("pwned").exists());
    assert!(!run.out.contains("inbound-token"), "the inbound token is passed on: {}", run.out);
    // What a registry adds to the environment makes no loader run anything.
    let run = place.run(&["run", "printer"]);
    let environment = serde_json::from_str::<Value>(&run.ends(0).out).unwrap()[1].clone();
    assert_eq!(environment["PLAIN"], "1", "{environment}");
    for name in ["LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH", "BASH_ENV"] {
        assert_eq!(environment[name], Value::Null, "{name}");
        assert!(run.err.contains(name), "the drop of {name} is not reported: {}", run.err);
    }
    place.run(&["run", "--", "/usr/bin/curl"]).ends(1).says("`policy.downstream.deny` denies it");
    place.run(&["run", "unknown"]).ends(2).says("put it after --");
    // A repository says of no program what it is.
    let theirs = "mcp_servers.printer.command = \"/bin/false\"\nmcp_servers.theirs.command = \"/bin/true\"\n";
    place.write("docent.toml", theirs);
    let run = place.run(&["run", "printer"]);
    assert_eq!(serde_json::from_str::<Value>(&run.ends(0).out).unwrap()[1]["PLAIN"], "1");
    assert!(run.err.contains("`mcp_servers.printer` (your own settings have"), "{}", run.err);
    place.run(&["run", "theirs"]).ends(1).says("untrusted repository");
}

#[test]
fn a_program_is_held_to_the_roots() {
    or_skip!(find_program("python3"));
    or_skip!(kernel_can_confine());
    let place = TestHome::new();
    fs::write(place.0.path().join("outside.txt"), SECRET).unwrap();
    place.write("inside.txt", "inside").settings("policy.sandbox.mode = \"strict\"");
    let attempts = "import socket, os\n\
        def attempt(name, act):\n    try:\n        act(); print(name, 'done')\n    except OSError as error: print(name, 'denied')\n\
        attempt('read', lambda: open('../outside.txt').read())\n\
        attempt('inside', lambda: open('inside.txt').read())\n\
        attempt('write', lambda: open('inside.txt', 'w'))\n\
        attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))\n\
        attempt('tcp', lambda: socket.create_connection(('127.0.0.1', 9)))\n\
        attempt('unix', lambda: socket.socket(socket.AF_UNIX))\n\
        attempt('signal', lambda: os.kill(os.getppid(), 0))\n";
    let run = place.run(&["run", "--", "/usr/bin/python3", "-c", attempts]);
    run.ends(0).prints("inside done");
    for attempt in ["read", "write", "udp", "tcp", "unix", "signal"] {
        run.prints(&format!("{attempt} denied"));
    }
}

#[tokio::test]
async fn docent_itself_is_held_to_its_roots() {
    or_skip!(kernel_can_confine());
    let place = TestHome::new();
    let mut server = serve(&place, &[], &[("DOCENT_POLICY_SANDBOX_MODE", "strict")]);
    server.open(LEGACY).await.unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", server.process_id().unwrap()));
    let status = status.unwrap();
    assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    let output = call_text(&mut server, "analyze_repository", json!({"path": "."})).await;
    assert!(output.contains("\"isError\":false"), "{output}");
}

/// One request on a socket of its own; the whole answer.
fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(read) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..read]);
        if read == 0 || answer.windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_foreign_name_or_page_is_turned_away_on_every_route() {
    let place = TestHome::new();
    let (_server, address) = listen(&place, &["--transport", "http,sse,websocket"], &[]).await;
    for (method, path, more) in [
        ("POST", "/mcp", "content-length: 2\r\n"),
        ("GET", "/sse", ""),
        ("GET", "/ws", UPGRADE),
        ("GET", "/metrics", ""),
    ] {
        for head in [
            "host: rebound.evil.example\r\n".to_owned(),
            format!("host: {address}\r\norigin: https://evil.example\r\n"),
            format!("host: {address}\r\norigin: null\r\n"),
        ] {
            let answer =
                exchange(&address, &format!("{method} {path} HTTP/1.1\r\n{head}{more}\r\n"));
            assert!(answer.starts_with("HTTP/1.1 403"), "{method} {path} {head}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_token_in_an_address_and_another_s_session_open_nothing() {
    let place = TestHome::new();
    place.settings(
        "[[server.auth.keys]]\nname = \"ann\"\ntoken = \"ann-token-0123456789\"\nscopes = [\"*\"]\n\
         [[server.auth.keys]]\nname = \"bob\"\ntoken = \"bob-token-0123456789\"\nscopes = [\"*\"]\n",
    );
    let (server, address) = listen(&place, &["--transport", "http"], &[]).await;
    for name in ["token", "access_token", "api_key"] {
        let request = format!(
            "POST /mcp?{name}=ann-token-0123456789 HTTP/1.1\r\nhost: {address}\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        let answer = exchange(&address, &request);
        assert!(answer.starts_with("HTTP/1.1 401"), "{name}: {answer}");
    }
    assert!(!server.log().concat().contains("ann-token"), "{:?}", server.log());
    let uri = format!("http://{address}/mcp");
    let peer = |token: &str| {
        HttpTestClient::new_http(&uri).unwrap().header("authorization", &format!("Bearer {token}"))
    };
    let mut ann = peer("ann-token-0123456789");
    ann.open(LEGACY).await.unwrap();
    let session = ann.session().unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer bob-token-0123456789\r\nmcp-session-id: {session}\r\n\
         accept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(&address, &request);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn twisted_json_is_refused_and_the_server_goes_on() {
    let place = TestHome::new();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for (text, id) in [
        (r#"{"jsonrpc":"2.0","id":91,"Method":"tools/list"}"#.to_owned(), json!(91)),
        (
            r#"{"jsonrpc":"2.0","id":92,"method":"ping","method":"tools/list"}"#.to_owned(),
            Value::Null,
        ),
        (format!(r#"{{"jsonrpc":"2.0","id":93,"method":"ping","params":{deep}}}"#), Value::Null),
    ] {
        server.send_text(text.clone()).await.unwrap();
        let refusal = server
            .await_message("a refusal", |message| message.get("error").is_some())
            .await
            .unwrap();
        let shown: String = text.chars().take(80).collect();
        assert!(refusal["id"] == id || refusal["id"].is_null(), "{shown}: {refusal}");
    }
    // Patterns and arguments made to take for ever.
    let stars = "**/".repeat(2000) + "*a*a*a*a*a*a*b";
    let braces = "{a,{b,".repeat(200) + &"}}".repeat(200);
    for pattern in [stars, braces, "[".repeat(10_000)] {
        let output = call_text(&mut server, "parse_files", json!({"files": [pattern]})).await;
        assert!(output.contains("jsonrpc"), "{output}");
    }
    let many: Vec<String> = (0..50_000).map(|n| format!("none-{n}.py")).collect();
    call_text(&mut server, "parse_files", json!({"files": many})).await;
    assert!(server.ask("ping", json!({})).await.unwrap().get("result").is_some());
}

#[tokio::test]
async fn hidden_text_and_secrets_in_files_are_shown_and_taken_out() {
    let place = TestHome::new();
    let token = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
    place.write(
        "trap.py",
        &format!("def trap():\n    \"\"\"Adds \u{202e}numbers\u{200b}.\"\"\"\n    key = \"{token}\"\n    return key\n"),
    );
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let output = call_text(&mut server, "read_symbol", json!({"symbol": "trap"})).await;
    assert!(output.contains("trap.py"), "{output}");
    assert!(!output.contains(&token) && output.contains("[redacted: "), "{output}");
    assert!(!output.contains('\u{202e}') && output.contains("<U+202E>"), "{output}");
    let uri = format!("ast://project/{}", "trap.py");
    let read = server.ask("resources/read", json!({"uri": uri})).await.unwrap().to_string();
    assert!(!read.contains(&token) && !read.contains('\u{202e}'), "{read}");
}

#[tokio::test]
async fn a_name_with_line_ends_writes_one_line() {
    let place = TestHome::new();
    let mut server = serve(&place, &[], &[("DEBUG", "docent:tools,mcp:protocol")]);
    server.open(LEGACY).await.unwrap();
    let forged = "x\n2026-01-01T00:00:00Z ERROR docent: all is lost\r\n\u{1b}[31m";
    let answer = server.ask("tools/call", call(forged, json!({}))).await.unwrap();
    assert!(answer.get("error").is_some(), "{answer}");
    server.ask("resources/read", json!({"uri": forged})).await.unwrap();
    server.close_input();
    server.end().await.unwrap();
    for line in server.log() {
        assert!(!line.starts_with("2026-01-01T00") && !line.contains('\u{1b}'), "{line}");
    }
    let audit = fs::read_to_string(place.project().join(".docent/audit.jsonl")).unwrap();
    for line in audit.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["hash"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn slow_and_swollen_requests_are_cut_off_while_others_are_answered() {
    let place = TestHome::new();
    let bounds = [
        ("DOCENT_LIMITS_HEAD_TIMEOUT_MS", "300"),
        ("DOCENT_LIMITS_BODY_TIMEOUT_MS", "300"),
        ("DOCENT_LIMITS_CONNECTIONS_PER_ADDRESS", "40"),
    ];
    let (_server, address) = listen(&place, &["--transport", "http,sse,websocket"], &bounds).await;
    let huge =
        format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\nx: {}\r\n\r\n", "y".repeat(300_000));
    let answer = exchange(&address, &huge);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    // Half a head, half a body, and nothing at all, on the routes of every transport.
    let halves = [
        "POST /mcp HTTP/1.1\r\nhost: x".to_owned(),
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{{"
        ),
        "GET /sse HTTP/1.1\r\nhost: x".to_owned(),
        "GET /ws HTTP/1.1\r\nupgrade: websock".to_owned(),
        String::new(),
    ];
    for half in halves {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        let mut rest = Vec::new();
        // Ends only because the other side ends it.
        stream.read_to_end(&mut rest).unwrap_or_else(|error| panic!("{half:?}: {error}"));
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408"), "{half:?}: {rest}");
    }
    let idle: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(&address).ok()).collect();
    let mut peer = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    // Idle connections are closed, so that a slot is free for a client that sends requests.
    let mut answered = false;
    for _ in 0..50 {
        answered = peer.open(LEGACY).await.is_ok();
        if answered {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(answered, "no other client was answered");
    drop(idle);
}

/// Whether the other side ends a connection on which a byte comes now and then.
fn is_cut_off(mut stream: TcpStream, begun: &[u8]) -> bool {
    stream.write_all(begun).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut piece = [0; 512];
    // Twenty seconds, which is far longer than any of them has.
    for _ in 0..400 {
        match stream.read(&mut piece) {
            Ok(0) => return true,
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return true;
            }
            _ => {}
        }
        if stream.write_all(b"a").is_err() {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn a_byte_now_and_then_keeps_no_connection() {
    let place = TestHome::new();
    let bounds = [
        ("DOCENT_LIMITS_HEAD_TIMEOUT_MS", "300"),
        ("DOCENT_LIMITS_BODY_TIMEOUT_MS", "300"),
        ("MCP_API_KEY", TOKEN),
    ];
    let (_server, address) = listen(&place, &["--transport", "http,sse,websocket"], &bounds).await;
    let body = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n\
         accept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{{"
    );
    for begun in [
        "POST /mcp HTTP/1.1\r\nhost: x",
        "GET /sse HTTP/1.1\r\nhost: x",
        "GET /ws HTTP/1.1\r\nhost: x",
        &body,
    ] {
        let stream = TcpStream::connect(&address).unwrap();
        assert!(is_cut_off(stream, begun.as_bytes()), "{begun}");
    }
    // A socket that is open, and a frame on it that is never whole.
    let mut socket = TcpStream::connect(&address).unwrap();
    write!(socket, "GET /ws HTTP/1.1\r\nhost: {address}\r\n{UPGRADE}\r\n").unwrap();
    let mut head = [0; 4096];
    let read = socket.read(&mut head).unwrap();
    assert!(head[..read].starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    assert!(is_cut_off(socket, b"\x81\xfe\x10\x00mask"), "a frame");
}

#[test]
fn half_a_line_keeps_no_pipe_open_without_a_token() {
    let place = TestHome::new();
    let mut server = place
        .command(&["serve"])
        .envs([("MCP_API_KEY", TOKEN), ("MCP_AUTH_REQUIRED", "true")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut is_cut_off = false;
    for _ in 0..400 {
        is_cut_off = input.write_all(b" ").is_err();
        if is_cut_off {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    server.kill().unwrap_or_default();
    server.wait().unwrap();
    assert!(is_cut_off);
}
