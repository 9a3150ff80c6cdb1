//! The inspector on the real binary: who gets in, and what it sees of every connection.

use crate::{
    TestHome,
    serving::{LEGACY, MODERN, exchange, listen},
};
use docent_testkit::{
    ChildTestClient, HttpTestClient, SseTestClient, TestClient, TestTransport, WsTestClient,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

/// A running server with an inspector, and the path of its page.
struct InspectedServer {
    _server: ChildTestClient,
    address: String,
    path: String,
}

impl InspectedServer {
    async fn open(place: &TestHome, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let (mut server, address) = listen(place, args, environment).await;
        let line = server.log_line("/inspector/").await.unwrap();
        let path = line.split_once(&address).unwrap().1.trim().to_owned();
        Self { _server: server, address, path }
    }

    /// Status, head and body.
    async fn ask(&self, head: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let host = [("Host", self.address.as_str())];
        let given = headers.iter().any(|(name, _)| *name == "Host");
        let headers = if given { headers.to_vec() } else { [&host[..], headers].concat() };
        let fields: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let fields = fields.concat();
        let raw = format!(
            "{head} HTTP/1.1\r\n{fields}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(&self.address, &raw).await
    }

    async fn api(&self, path: &str) -> Value {
        let (status, _, body) = self.ask(&format!("GET {}api/{path}", self.path), &[], "").await;
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let origin = format!("http://{}", self.address);
        let head = format!("POST {}api/{path}", self.path);
        let (status, _, body) = self.ask(&head, &[("Origin", &origin)], &body.to_string()).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    async fn record(&self, payloads: bool) {
        let capture = json!({"on": true, "payloads": payloads});
        assert_eq!(self.post("capture", &capture).await, (200, capture));
    }

    async fn entries(&self) -> Vec<Value> {
        self.api("traffic").await["entries"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn only_the_page_with_its_token_gets_in() {
    let place = TestHome::new();
    let site = InspectedServer::open(&place, &["--transport", "http"], &[]).await;
    let own = format!("http://{}", site.address);
    let (page, about) = (format!("GET {}", site.path), format!("GET {}api/about", site.path));
    let capture = format!("POST {}api/capture", site.path);
    let wrong = format!("GET /inspector/{}/", "0".repeat(64));
    for (head, headers, want) in [
        (&page, &[][..], 200),
        (&about, &[], 200),
        (&about, &[("Sec-Fetch-Site", "same-origin")], 200),
        (&about, &[("Origin", own.as_str())], 200),
        (&about, &[("Origin", "http://evil.example")], 403),
        (&about, &[("Origin", "null")], 403),
        (&about, &[("Sec-Fetch-Site", "cross-site")], 403),
        (&about, &[("Host", "evil.example")], 403),
        (&wrong, &[], 403),
        (&"GET /inspector".to_owned(), &[], 403),
        (&"GET /inspector/".to_owned(), &[], 403),
        (&capture, &[], 403),
        (&capture, &[("Origin", own.as_str())], 200),
    ] {
        let (status, _, body) = site.ask(head, headers, r#"{"on":false}"#).await;
        assert_eq!(status, want, "{head} {headers:?}: {body}");
    }
    let (_, head, body) = site.ask(&page, &[], "").await;
    for want in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "no-store"] {
        assert!(head.contains(want), "no {want} in {head}");
    }
    assert!(!body.contains("http://") && !body.contains("https://"), "{body}");
    let (_, head, _) = site.ask(&format!("GET {}frame", site.path), &[], "").await;
    assert!(head.contains("sandbox allow-scripts;") && !head.contains("allow-same-origin"));
    let socket = format!("GET {}line", site.path);
    let upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade")];
    assert_eq!(site.ask(&socket, &upgrade, "").await.0, 403, "a socket names its origin");
}

#[tokio::test]
async fn definitions_are_approved_as_they_were_shown() {
    let place = TestHome::new();
    let site = InspectedServer::open(&place, &["--transport", "http"], &[]).await;
    for (tools, want) in [(json!(["a"]), 400), (json!({}), 400), (json!({"a": {"name": "a"}}), 409)]
    {
        let asked = json!({"server": "unknown", "tools": tools});
        let (status, body) = site.post("approve", &asked).await;
        assert_eq!(status, want, "{asked}: {body}");
    }
}

#[tokio::test]
async fn it_is_not_served_where_it_is_off_or_others_listen() {
    let place = TestHome::new();
    let key = [("MCP_API_KEY", "a-key-of-some-length")];
    for (args, environment) in [
        (&["--transport", "http"][..], &[("DOCENT_SERVER_INSPECTOR", "false")][..]),
        (&["--transport", "http", "--host", "0.0.0.0"], &key),
    ] {
        let (server, address) = listen(&place, args, environment).await;
        let address = address.replace("0.0.0.0", "127.0.0.1");
        let raw = format!(
            "GET /inspector/ HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer a-key-of-some-length\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(exchange(&address, &raw).await.0, 404, "{args:?}");
        assert!(!server.log().join("\n").contains("/inspector/"));
    }
}

/// docent again, as a server behind docent.
fn behind(place: &TestHome) {
    let docent = env!("CARGO_BIN_EXE_docent");
    let folder = std::path::Path::new(docent).parent().unwrap().to_str().unwrap();
    // Settings of its own, without a server behind it.
    let home = place.project();
    let home = home.to_str().unwrap();
    place.settings(&format!(
        "hub.exposure = \"direct\"\npolicy.sandbox.read = [{folder:?}]\n\
         [mcp_servers.inner]\ncommand = {docent:?}\nargs = [\"serve\"]\nenv = {{ HOME = {home:?} }}\n"
    ));
}

/// Asks for a proxied call, and gives what was recorded of it: the client's hop and the server's, request and answer.
async fn proxied<W: TestTransport>(
    site: &InspectedServer,
    mut peer: TestClient<W>,
    revision: &str,
) -> [Value; 4] {
    let seen = site.entries().await.last().map_or(0, |entry| entry["seq"].as_u64().unwrap());
    peer.open(revision).await.unwrap();
    let params = json!({"name": "inner__list_collections", "arguments": {}});
    let answer = peer.ask("tools/call", params).await.unwrap();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let find = |entries: &[Value], kind: &str, hop: &str| {
        let is_it = |entry: &&Value| {
            entry["seq"].as_u64().unwrap() > seen
                && (&entry["kind"], &entry["hop"]) == (&json!(kind), &json!(hop))
                && entry["method"] == "tools/call"
        };
        entries.iter().find(is_it).cloned()
    };
    // The answer is recorded as it leaves, which may be a moment after it was read.
    for _ in 0..200 {
        let entries = site.entries().await;
        let four = [
            ("request", "client"),
            ("request", "server"),
            ("response", "server"),
            ("response", "client"),
        ];
        if let [Some(a), Some(b), Some(c), Some(d)] =
            four.map(|(kind, hop)| find(&entries, kind, hop))
        {
            return [a, b, c, d];
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("not all of it was recorded: {:?}", site.entries().await);
}

#[tokio::test]
async fn both_hops_of_a_call_are_paired_on_every_transport() {
    let place = TestHome::new();
    behind(&place);
    let site = InspectedServer::open(&place, &["--transport", "http,sse,websocket"], &[]).await;
    site.record(false).await;
    let address = &site.address;
    let http = || HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap().boxed();
    let socket = WsTestClient::connect_ws(&format!("ws://{address}/ws")).await.unwrap().boxed();
    let events =
        SseTestClient::connect_sse(&format!("http://{address}/sse")).await.unwrap().boxed();
    for (peer, via, revision) in [
        (http(), "http", LEGACY),
        (http(), "http", MODERN),
        (http(), "http", "2025-03-26"),
        (socket, "websocket", LEGACY),
        (events, "sse", "2024-11-05"),
    ] {
        let [asked, passed, back, answered] = proxied(&site, peer, revision).await;
        let what = format!("{via} {revision}");
        assert_eq!(
            (&asked["via"], &asked["target"]),
            (&json!(via), &json!("inner__list_collections")),
            "{what}"
        );
        assert_eq!(asked["era"], revision, "{what}");
        assert_eq!(
            (&passed["peer"], &passed["target"]),
            (&json!("inner"), &json!("list_collections")),
            "{what}"
        );
        assert_eq!(passed["parent"], asked["seq"], "{what}");
        assert_eq!((&back["answers"], &back["parent"]), (&passed["seq"], &asked["seq"]), "{what}");
        assert_eq!(
            (&answered["answers"], &answered["id"]),
            (&asked["seq"], &asked["id"]),
            "{what}"
        );
        assert!(answered["micros"].as_u64() >= back["micros"].as_u64(), "{what}");
        let call = site.api(&format!("call?seq={}", back["seq"])).await;
        let seqs: Vec<&Value> =
            call["entries"].as_array().unwrap().iter().map(|entry| &entry["seq"]).collect();
        for one in [&asked, &passed, &back, &answered] {
            assert!(seqs.contains(&&one["seq"]), "{what}: {call}");
        }
        assert_eq!(call["audit"][0]["tool"], "inner__list_collections", "{what}: {call}");
    }
}

#[tokio::test]
async fn payloads_are_kept_when_asked_for_and_secrets_are_not() {
    let place = TestHome::new();
    let key = "a-key-of-some-length";
    let site =
        InspectedServer::open(&place, &["--transport", "websocket"], &[("MCP_API_KEY", key)]).await;
    let mut quiet = WsTestClient::connect_ws_with(
        &format!("ws://{}/ws", site.address),
        &[("authorization", &format!("Bearer {key}"))],
    )
    .await
    .unwrap();
    quiet.open(LEGACY).await.unwrap();
    assert_eq!(site.entries().await.len(), 0, "nothing is recorded until it is asked for");
    site.record(false).await;
    quiet.ask("ping", json!({})).await.unwrap();
    let entries = site.entries().await;
    assert!(entries.iter().all(|entry| entry["has_payload"] == false), "{entries:?}");
    assert_eq!(entries[0]["era"], LEGACY, "what was agreed on before is known");
    site.record(true).await;
    let github = format!("ghp_{}", "A1b2C3d4E5f6".repeat(3));
    let odd = json!({"mark": "findme", "key": key, "token": github});
    quiet.ask("tools/call", json!({"name": "no_such_tool", "arguments": odd})).await.unwrap();
    let entries = site.entries().await;
    let failed = entries.iter().find(|entry| entry["kind"] == "error").unwrap();
    assert_eq!(failed["code"], -32602, "{failed}");
    let message = site.api(&format!("message?seq={}", failed["answers"])).await;
    let payload = message["payload"].as_str().unwrap();
    assert!(payload.contains("findme"), "{payload}");
    assert!(!payload.contains(key) && !payload.contains(&github), "{payload}");
}

#[tokio::test]
async fn what_a_server_says_is_shown_without_its_secrets() {
    let place = TestHome::new();
    place.settings(
        "[mcp_servers.dead]\ncommand = \"sh\"\nargs = [\"-c\", \"echo password=hunter2 >&2; exit 3\"]\n",
    );
    let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
    let site = InspectedServer::open(&place, &["--transport", "http"], &path).await;
    let mut health = site.api("health").await;
    // It is started by itself, and fails a moment later.
    for _ in 0..500 {
        if health["servers"][0]["health"]["last_failure"].is_string() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        health = site.api("health").await;
    }
    let server = &health["servers"][0];
    assert_eq!(server["stderr"][0], "password=[redacted: password]", "{health}");
    let failure = server["health"]["last_failure"].as_str().unwrap();
    assert!(
        failure.contains("last lines of its stderr: password=[redacted: password]"),
        "{failure}"
    );
    assert!(!health.to_string().contains("hunter2"), "{health}");
}

#[tokio::test]
async fn a_page_speaks_to_docent_and_starts_nothing_unasked() {
    let place = TestHome::new();
    behind(&place);
    let site = InspectedServer::open(&place, &["--transport", "http"], &[]).await;
    let line = |query: &str| format!("ws://{}{}line{query}", site.address, site.path);
    let origin = format!("http://{}", site.address);
    let headers = [("origin", origin.as_str())];
    let mut page = WsTestClient::connect_ws_with(&line(""), &headers).await.unwrap();
    page.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": LEGACY}})).await.unwrap();
    let said =
        page.await_message("docent's answer", |message| message["m"]["id"] == 1).await.unwrap();
    assert_eq!(said["m"]["result"]["protocolVersion"], LEGACY);
    let mut refused =
        WsTestClient::connect_ws_with(&line("?target=inner"), &headers).await.unwrap();
    let said =
        refused.await_message("a refusal", |message| message["closed"].is_string()).await.unwrap();
    assert!(said["closed"].as_str().unwrap().contains("confirm first"), "{said}");
    let mut agreed =
        WsTestClient::connect_ws_with(&line("?target=inner&agreed=1"), &headers).await.unwrap();
    agreed.send(&json!({"jsonrpc": "2.0", "id": "a", "method": "ping"})).await.unwrap();
    agreed
        .await_message("the inner one's answer", |message| message["m"]["id"] == "a")
        .await
        .unwrap();
}

/// Starts `docent inspect`, and gives the address that it prints.
pub(crate) fn inspect(place: &TestHome, args: &[&str]) -> (InspectProcess, String) {
    let mut command: Command = place.command(&["inspect", "--no-open"]);
    let mut child =
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (InspectProcess(child), line.trim().to_owned())
}

pub(crate) struct InspectProcess(std::process::Child);

impl Drop for InspectProcess {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

#[tokio::test]
async fn inspect_shows_docent_or_one_other_server() {
    let place = TestHome::new();
    let docent = env!("CARGO_BIN_EXE_docent");
    for (args, target, is_docent) in
        [(&[][..], "docent", true), (&["--", docent, "serve"][..], "server", false)]
    {
        let (_inspecting, printed) = inspect(&place, args);
        let (address, path) = printed.strip_prefix("http://").unwrap().split_once('/').unwrap();
        assert!(address.starts_with("127.0.0.1:"), "{printed}");
        let raw = format!(
            "GET /{path}api/about HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        );
        let (status, _, body) = exchange(address, &raw).await;
        assert_eq!(status, 200, "{body}");
        let about: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&about["target"], &about["docent"]), (&json!(target), &json!(is_docent)));
        assert_eq!(about["capture"]["on"], true, "who inspects wants to see");
    }
    place.run(&["inspect", "--no-open", "unknown"]).ends(2).says("unknown");
}
