//! Signing in at other servers: `docent servers login` against an authorization server on this machine, what it keeps,
//! and what becomes of it in `docent serve`.

use crate::{
    CliRun, TestHome,
    serving::{LEGACY, call, ends_well, serve},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

/// How the authorization server behaves.
#[derive(Clone, Copy, Default)]
struct AuthorityBehavior {
    /// Seconds that tokens last.
    lasts: Option<u64>,
    /// The person says no.
    denies: bool,
}

#[derive(Default)]
struct AuthorityRecords {
    /// The one token that is good.
    good: Option<String>,
    /// The one token that another is got with.
    refreshes: Option<String>,
    /// What each token was given for.
    grants: Vec<String>,
}

/// A server that is its own authorization server.
#[derive(Clone)]
struct OauthAuthority {
    base: String,
    manners: AuthorityBehavior,
    books: Arc<Mutex<AuthorityRecords>>,
}

impl OauthAuthority {
    fn start(manners: AuthorityBehavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let authority = Self { base, manners, books: Arc::default() };
        let serving = authority.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serving = serving.clone();
                thread::spawn(move || serving.serve(stream));
            }
        });
        authority
    }

    fn books(&self) -> MutexGuard<'_, AuthorityRecords> {
        self.books.lock().unwrap()
    }

    fn grants(&self) -> Vec<String> {
        self.books().grants.clone()
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some(asked) = RecordedRequest::read(&stream) else { return };
        let (status, fields, body) = self.answer(&asked);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{fields}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).unwrap_or_default();
    }

    /// Status, header fields and body.
    fn answer(&self, asked: &RecordedRequest) -> (&'static str, String, Value) {
        let base = &self.base;
        let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
        let plain = |body: Value| ("200 OK", String::new(), body);
        match path {
            "/mcp" => self.resource(asked),
            "/.well-known/oauth-protected-resource/mcp" => plain(json!({
                "resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["read"],
            })),
            "/.well-known/oauth-authorization-server" => plain(json!({
                "issuer": base,
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            })),
            "/register" => {
                let mut body: Value = serde_json::from_str(&asked.body).unwrap();
                body["client_id"] = json!("registered");
                ("201 Created", String::new(), body)
            }
            "/authorize" => {
                let given = form(query);
                let brings = if self.manners.denies { "error=access_denied" } else { "code=right" };
                let back = format!("{}?{brings}&state={}", given["redirect_uri"], given["state"]);
                ("302 Found", format!("location: {back}\r\n"), Value::Null)
            }
            "/token" => self.token(&form(&asked.body)),
            _ => ("404 Not Found", String::new(), Value::Null),
        }
    }

    fn resource(&self, asked: &RecordedRequest) -> (&'static str, String, Value) {
        let good = self.books().good.clone();
        if good.is_none() || asked.bearer != good {
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.base);
            let challenge = format!(
                "www-authenticate: Bearer resource_metadata=\"{metadata}\", scope=\"read\"\r\n"
            );
            return ("401 Unauthorized", challenge, Value::Null);
        }
        let message: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": {"name": "acme", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [
                {"name": "whoami", "description": "Says who calls.", "inputSchema": {"type": "object"}},
            ]}),
            Some("tools/call") => json!({"content": [{"type": "text", "text": "a known user"}]}),
            Some(_) if message.get("id").is_none() => {
                return ("202 Accepted", String::new(), Value::Null);
            }
            _ => return ("405 Method Not Allowed", String::new(), Value::Null),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        ("200 OK", String::new(), answer)
    }

    fn token(&self, asked: &HashMap<String, String>) -> (&'static str, String, Value) {
        let mut books = self.books();
        let is_right = match asked["grant_type"].as_str() {
            "authorization_code" => asked["code"] == "right" && asked.contains_key("code_verifier"),
            "refresh_token" => Some(&asked["refresh_token"]) == books.refreshes.as_ref(),
            other => panic!("{other}"),
        };
        books.grants.push(asked["grant_type"].clone());
        if !is_right {
            return ("400 Bad Request", String::new(), json!({"error": "invalid_grant"}));
        }
        let number = books.grants.len();
        let (token, refresh) =
            (format!("secret-token-{number}"), format!("secret-refresh-{number}"));
        let mut body = json!({
            "access_token": token, "token_type": "Bearer", "refresh_token": refresh, "scope": "read",
        });
        if let Some(lasts) = self.manners.lasts {
            body["expires_in"] = json!(lasts);
        }
        (books.good, books.refreshes) = (Some(token), Some(refresh));
        ("200 OK", String::new(), body)
    }
}

/// A request as it came.
struct RecordedRequest {
    target: String,
    bearer: Option<String>,
    body: String,
}

impl RecordedRequest {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let target = line.split(' ').nth(1)?.to_owned();
        let (mut bearer, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "authorization" => bearer = value.strip_prefix("Bearer ").map(str::to_owned),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { target, bearer, body: String::from_utf8(body).ok()? })
    }
}

fn form(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// Goes wherever a page leads, as a browser does. What the last one says.
fn visit(address: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let mut stream = TcpStream::connect(&host).unwrap();
    let target = &url[url::Position::BeforePath..];
    let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    match page.lines().find_map(|line| line.strip_prefix("location: ")) {
        Some(further) => visit(further),
        None => page,
    }
}

/// A place whose settings name the server.
fn place_for(authority: &OauthAuthority) -> TestHome {
    let place = TestHome::new();
    place.settings(&format!("[mcp_servers.acme]\nurl = \"{}/mcp\"\n", authority.base));
    place
}

/// Runs `docent servers login acme` with a user who follows the address that it prints. Returns the last page too.
fn log_in(place: &TestHome) -> (CliRun, String) {
    let mut command = place.command(&["servers", "login", "acme"]);
    // No program of this machine is to open the page.
    command.env("PATH", place.project()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stderr.take().unwrap());
    let mut err = String::new();
    let mut page = String::new();
    while output.read_line(&mut err).unwrap() > 0 {
        let last = err.lines().last().unwrap_or_default();
        if let Some(address) = last.strip_prefix("Sign in here: ") {
            page = visit(address);
        }
    }
    let ended = child.wait_with_output().unwrap();
    let out = String::from_utf8(ended.stdout).unwrap();
    (CliRun { code: ended.status.code().unwrap(), out, err }, page)
}

/// Returns the only file with tokens, which no other user of this machine can read, and its contents.
#[track_caller]
fn kept(place: &TestHome) -> (PathBuf, Value) {
    let folder = place.0.path().join(".cache/docent/tokens");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!((mode(&folder), mode(&files[0])), (0o700, 0o600));
    let record = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    (files[0].clone(), record)
}

#[test]
fn a_login_is_kept_and_used() {
    let authority = OauthAuthority::start(AuthorityBehavior::default());
    let place = place_for(&authority);
    let refused = place.run(&["call", "whoami", "acme"]);
    refused.ends(1).says("docent servers login acme");
    let (run, page) = log_in(&place);
    run.ends(0).prints("Signed in to acme.");
    assert!(page.contains("You are signed in"), "{page}");
    let (_, record) = kept(&place);
    assert_eq!(record["access_token"], "secret-token-1");
    assert_eq!(record["refresh_token"], "secret-refresh-1");
    let used = place.run(&["call", "whoami", "acme"]);
    used.ends(0).prints("a known user");
    assert_eq!(authority.grants(), ["authorization_code"]);
    for run in [refused, run, used] {
        assert!(!format!("{}{}", run.out, run.err).contains("secret-"), "{} {}", run.out, run.err);
    }
}

#[test]
fn a_login_that_is_refused_says_why_and_keeps_nothing() {
    let authority =
        OauthAuthority::start(AuthorityBehavior { denies: true, ..AuthorityBehavior::default() });
    let place = place_for(&authority);
    let (run, page) = log_in(&place);
    run.ends(1).says("access_denied");
    assert!(page.contains("Sign-in failed"), "{page}");
    assert!(authority.grants().is_empty());
    place.run(&["call", "whoami", "acme"]).ends(1).says("docent servers login acme");
}

/// Inside the sandbox of `docent serve`: a token that ends, and one that the server refuses, are replaced without
/// anybody, and what is new is kept where the next docent finds it.
#[tokio::test]
async fn a_token_is_refreshed_while_serving() {
    let authority =
        OauthAuthority::start(AuthorityBehavior { lasts: Some(1), ..AuthorityBehavior::default() });
    let place = place_for(&authority);
    let (run, _) = log_in(&place);
    run.ends(0);
    let mut server = serve(&place, &[], &[("DOCENT_HUB_EXPOSURE", "direct")]);
    server.open(LEGACY).await.unwrap();
    let whoami = || call("acme__whoami", json!({}));
    let answer = server.ask("tools/call", whoami()).await.unwrap();
    assert!(answer.to_string().contains("a known user"), "{answer}");
    let refreshed = authority.grants();
    assert_eq!(refreshed[..2], ["authorization_code", "refresh_token"]);
    // The server forgets every token, whatever time it had left.
    authority.books().good = None;
    let answer = server.ask("tools/call", whoami()).await.unwrap();
    assert!(answer.to_string().contains("a known user"), "{answer}");
    assert!(authority.grants().len() > refreshed.len());
    let (_, record) = kept(&place);
    assert_eq!(record["access_token"].as_str(), authority.books().good.as_deref());
    assert_eq!(record["refresh_token"].as_str(), authority.books().refreshes.as_deref());
    server.close_input();
    ends_well(&mut server).await;
    assert!(!server.log().join("\n").contains("secret-"), "{:?}", server.log());
    place.run(&["call", "whoami", "acme"]).ends(0).prints("a known user");
}

/// A script's call says what is missing, and is made once the user has logged in. Its server is a remote one alone, so
/// that nothing but scripts needs a program to be started.
#[tokio::test]
async fn a_script_calls_a_server_that_needs_a_login() {
    let authority =
        OauthAuthority::start(AuthorityBehavior { lasts: Some(1), ..AuthorityBehavior::default() });
    let place = place_for(&authority);
    let code =
        "import { $call } from 'mcp-clients/acme'; return (await $call('whoami')).content[0].text";
    let script = || call("execute_mcp_code", json!({"code": code}));
    let (run, _) = log_in(&place);
    run.ends(0);
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let answer = server.ask("tools/call", script()).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "a known user", "{answer}");
    // The server forgets every token, and none can be refreshed.
    authority.books().good = None;
    authority.books().refreshes = None;
    let answer = server.ask("tools/call", script()).await.unwrap();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer.to_string().contains("docent servers login acme"), "{answer}");
    let (run, _) = log_in(&place);
    run.ends(0);
    let answer = server.ask("tools/call", script()).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "a known user", "{answer}");
    let code = format!("code={code}");
    place.run(&["call", "execute_mcp_code", &code]).ends(0).prints("a known user");
}

#[test]
fn without_a_refresh_token_the_user_must_log_in_again() {
    let authority = OauthAuthority::start(AuthorityBehavior::default());
    let place = place_for(&authority);
    log_in(&place).0.ends(0);
    authority.books().good = None;
    authority.books().refreshes = None;
    place.run(&["call", "whoami", "acme"]).ends(1).says("docent servers login acme");
    assert_eq!(authority.grants(), ["authorization_code", "refresh_token"]);
    log_in(&place).0.ends(0);
    place.run(&["call", "whoami", "acme"]).ends(0).prints("a known user");
    kept(&place);
}
