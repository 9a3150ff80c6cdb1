//! Incidents that other servers had, tried on the real binary: each is refused, and the server goes on.

use crate::{
    Place,
    serving::{LEGACY, call, listen, serve},
};
use docent_testkit::{Child, HttpPeer};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::fs::symlink,
    thread,
    time::Duration,
};

const SECRET: &str = "the-contents-of-a-secret";

async fn told(server: &mut Child, tool: &str, arguments: Value) -> String {
    server.ask("tools/call", call(tool, arguments)).await.unwrap().to_string()
}

#[tokio::test]
async fn nothing_outside_the_root_is_read() {
    let place = Place::new();
    let (project, outside) = (place.project(), place.0.path().join("project-evil"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.py"), format!("def {SECRET}(): pass\n").replace('-', "_")).unwrap();
    symlink(&outside, project.join("link")).unwrap();
    symlink(outside.join("a.py"), project.join("b.py")).unwrap();
    place.write("ok.py", "def fine(): pass\n");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let evil = outside.join("a.py").display().to_string();
    for path in [
        "../project-evil/a.py",
        &evil,
        &format!("file://{evil}"),
        "link/a.py",
        "b.py",
        "%2e%2e/project-evil/a.py",
        "ok.py/../../project-evil/a.py",
        "ok.py\u{0}/../a.py",
        r"C:\a.py",
        r"..\project-evil\a.py",
    ] {
        let told = told(&mut server, "parse_files", json!({"files": [path]})).await;
        assert!(!told.contains("the_contents") && !told.contains("evil/a.py\""), "{path}: {told}");
    }
    let told = told(&mut server, "parse_files", json!({"files": ["ok.py"]})).await;
    assert!(told.contains("ok.py"), "{told}");
}

#[tokio::test]
async fn a_hard_link_to_a_denied_file_is_no_way_in() {
    let place = Place::new();
    let (project, keys) = (place.project(), place.0.path().join(".ssh"));
    fs::create_dir(&keys).unwrap();
    let source = format!("def {}(): pass\n", SECRET.replace('-', "_"));
    fs::write(keys.join("id_ed25519"), &source).unwrap();
    place.write(".env", &source).write("fine.py", "def fine(): pass\n");
    fs::hard_link(project.join(".env"), project.join("notes.py")).unwrap();
    fs::hard_link(keys.join("id_ed25519"), project.join("key.py")).unwrap();
    fs::hard_link(project.join("fine.py"), project.join("again.py")).unwrap();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for file in ["notes.py", "key.py", "."] {
        let told = told(&mut server, "parse_files", json!({"files": [file]})).await;
        assert!(!told.contains("the_contents"), "{file}: {told}");
    }
    let told = told(&mut server, "outline", json!({"path": "again.py"})).await;
    assert!(told.contains("fine"), "a second name alone is no harm: {told}");
}

#[test]
fn arguments_and_environment_of_a_program_are_what_they_are() {
    let place = Place::new();
    let python = "/usr/bin/python3";
    let told = "import sys, os, json; print(json.dumps([sys.argv[1:], dict(os.environ)]))";
    place.settings(&format!(
        "policy.downstream.deny = [\"curl\"]\n[mcp_servers.told]\ncommand = {python:?}\nargs = [\"-c\", {told:?}]\n\
         env = {{ LD_PRELOAD = \"/tmp/evil.so\", NODE_OPTIONS = \"--require x\", PYTHONPATH = \"/tmp\", BASH_ENV = \"x\", PLAIN = \"1\" }}\n"
    ));
    let odd = ["; touch pwned", "$(touch pwned)", "`id`", "a b\n\"c'", "--help", "|", "&&"];
    let args = [&["run", "--", python, "-c", told][..], &odd].concat();
    let secrets = [("MCP_API_KEY", "inbound-token"), ("DOCENT_SERVER_AUTH_TOKEN", "inbound-token")];
    let run = crate::Run::of(place.command(&args).envs(secrets).env("PATH", "/usr/bin:/bin"));
    run.ends(0);
    let said: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(said[0], json!(odd), "each is one argument, and no shell sees it");
    assert!(!place.project().join("pwned").exists());
    assert!(!run.out.contains("inbound-token"), "the inbound token is passed on: {}", run.out);
    // What a registry adds to the environment makes no loader run anything.
    let run = place.run(&["run", "told"]);
    let environment = serde_json::from_str::<Value>(&run.ends(0).out).unwrap()[1].clone();
    assert_eq!(environment["PLAIN"], "1", "{environment}");
    for name in ["LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH", "BASH_ENV"] {
        assert_eq!(environment[name], Value::Null, "{name}");
        assert!(run.err.contains(name), "the drop of {name} is not told: {}", run.err);
    }
    place.run(&["run", "--", "/usr/bin/curl"]).ends(1).says("`policy.downstream.deny` names it");
    place.run(&["run", "nobody"]).ends(2).says("a program comes after --");
    // A repository says of no program what it is.
    place.write("docent.toml", &format!("mcp_servers.told.command = {python:?}\n"));
    place.run(&["run", "told"]).ends(1).says("somebody else's");
}

#[test]
fn a_program_is_held_to_the_roots() {
    let place = Place::new();
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
    let place = Place::new();
    let mut server = serve(&place, &[], &[("DOCENT_POLICY_SANDBOX_MODE", "strict")]);
    server.open(LEGACY).await.unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", server.process_id().unwrap()));
    let status = status.unwrap();
    assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    let told = told(&mut server, "analyze_repository", json!({"path": "."})).await;
    assert!(told.contains("\"isError\":false"), "{told}");
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
    let place = Place::new();
    let (_server, address) = listen(&place, &["--transport", "http,sse,websocket"], &[]).await;
    let upgrade = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (method, path, more) in [
        ("POST", "/mcp", "content-length: 2\r\n"),
        ("GET", "/sse", ""),
        ("GET", "/ws", upgrade),
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
    let place = Place::new();
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
        HttpPeer::new_http(&uri).unwrap().header("authorization", &format!("Bearer {token}"))
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
    let place = Place::new();
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
        let told = told(&mut server, "parse_files", json!({"files": [pattern]})).await;
        assert!(told.contains("jsonrpc"), "{told}");
    }
    let many: Vec<String> = (0..50_000).map(|n| format!("none-{n}.py")).collect();
    told(&mut server, "parse_files", json!({"files": many})).await;
    assert!(server.ask("ping", json!({})).await.unwrap().get("result").is_some());
}

#[tokio::test]
async fn hidden_text_and_secrets_in_files_are_shown_and_taken_out() {
    let place = Place::new();
    let token = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
    place.write(
        "trap.py",
        &format!("def trap():\n    \"\"\"Adds \u{202e}numbers\u{200b}.\"\"\"\n    key = \"{token}\"\n    return key\n"),
    );
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let told = told(&mut server, "read_symbol", json!({"symbol": "trap"})).await;
    assert!(told.contains("trap.py"), "{told}");
    assert!(!told.contains(&token) && told.contains("[redacted: "), "{told}");
    assert!(!told.contains('\u{202e}') && told.contains("<U+202E>"), "{told}");
    let uri = format!("ast://project/{}", "trap.py");
    let read = server.ask("resources/read", json!({"uri": uri})).await.unwrap().to_string();
    assert!(!read.contains(&token) && !read.contains('\u{202e}'), "{read}");
}

#[tokio::test]
async fn a_name_with_line_ends_writes_one_line() {
    let place = Place::new();
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
    let place = Place::new();
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
    let mut peer = HttpPeer::new_http(&format!("http://{address}/mcp")).unwrap();
    // Those that hold their places are cut off, so that there is one for a client that speaks.
    let mut answered = false;
    for _ in 0..50 {
        answered = peer.open(LEGACY).await.is_ok();
        if answered {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(answered, "nobody else was answered");
    drop(idle);
}

/// A web server that answers each path with what it is told to; counts what it is asked.
fn site(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut asked = [0; 8192];
            let read = stream.read(&mut asked).unwrap_or(0);
            let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
            let path = asked.split(' ').nth(1).unwrap_or("/").to_owned();
            stream.write_all(answer(&path).as_bytes()).unwrap_or_default();
            stream.shutdown(Shutdown::Write).unwrap_or_default();
        }
    });
    address
}

fn page(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn no_address_leads_inside() {
    let inside = site(|_| page(&format!("<html><body><main><p>{SECRET}</p></main></body></html>")));
    let port = inside.rsplit(':').next().unwrap().to_owned();
    let away = inside.clone();
    let outside = site(move |path| match path {
        "/redirect" => {
            format!("HTTP/1.1 302 Found\r\nlocation: http://{away}/\r\ncontent-length: 0\r\n\r\n")
        }
        _ => page(
            "<html><head><title>Fine</title></head><body><main><h1>Fine</h1><p>A page that is meant to be read by anybody who asks for it, and long enough to be one.</p></main></body></html>",
        ),
    });
    let place = Place::new();
    // `localhost` is named, and still leads inside: only `private_hosts` may.
    place.settings(&format!("policy.network.hosts = [\"{outside}\", \"localhost:{port}\"]\n"));
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let fine =
        told(&mut server, "fetch_page", json!({"url": format!("http://{outside}/fine")})).await;
    assert!(fine.contains("meant to be read") && fine.contains("data, not instructions"), "{fine}");
    for url in [
        format!("http://{inside}/"),
        format!("http://{outside}/redirect"),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0177.0.0.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("http://user:pass@{outside}/"),
        "file:///etc/passwd".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ] {
        let told = told(&mut server, "fetch_page", json!({"url": url})).await;
        assert!(!told.contains(SECRET) && told.contains("\"isError\":true"), "{url}: {told}");
    }
}

#[tokio::test]
async fn the_web_is_off_until_hosts_are_named() {
    let place = Place::new();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let told = told(&mut server, "web_search", json!({"query": "mcp"})).await;
    assert!(told.contains("[policy.network]") && told.contains("html.duckduckgo.com"), "{told}");
    assert!(told.contains("Search error: ") && told.contains("\"isError\":true"), "{told}");
}
