//! Callers of a team: access tokens of an issuer, and client certificates, through the real binary.

use crate::{
    CliRun, TestHome,
    serving::{LEGACY, MODERN, call, ends_well, listen, serve, signal},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use docent_testkit::{HttpTestClient, WsTestClient};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use rustix::process::Signal;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// An issuer of tokens on this machine.
struct TokenIssuer {
    address: String,
    keys: Arc<Mutex<Vec<(String, Ed25519KeyPair)>>>,
    /// Whether it has stopped answering.
    is_silent: Arc<AtomicBool>,
}

fn new_key() -> Ed25519KeyPair {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()
}

fn encoded(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

impl TokenIssuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let keys = Arc::new(Mutex::new(vec![("first".to_owned(), new_key())]));
        let is_silent = Arc::new(AtomicBool::new(false));
        let issuer = Self {
            address: address.clone(),
            keys: Arc::clone(&keys),
            is_silent: Arc::clone(&is_silent),
        };
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                if is_silent.load(Ordering::SeqCst) {
                    continue;
                }
                let mut asked = [0; 4096];
                let read = stream.read(&mut asked).unwrap_or(0);
                let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
                let body = if asked.starts_with("GET /keys ") {
                    let keys = keys.lock().unwrap();
                    let one = |(id, key): &(String, Ed25519KeyPair)| {
                        let x = BASE64_URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
                        json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "alg": "EdDSA", "x": x})
                    };
                    json!({"keys": keys.iter().map(one).collect::<Vec<_>>()})
                } else {
                    json!({"issuer": address, "jwks_uri": format!("{address}/keys")})
                };
                let body = body.to_string();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).unwrap_or_default();
            }
        });
        issuer
    }

    fn token(&self, audience: &str, scope: &str, seconds: i64) -> String {
        let keys = self.keys.lock().unwrap();
        let (id, key) = keys.last().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let now = i64::try_from(now).unwrap();
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": id});
        let claims = json!({
            "iss": self.address, "aud": audience, "sub": "ann", "client_id": "editor", "scope": scope,
            "iat": now - 10, "exp": now + seconds, "jti": "1",
        });
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()).as_ref());
        format!("{signed}.{signature}")
    }
}

const RESOURCE: &str = "https://docent.example.com/mcp";

fn settings(issuer: &TokenIssuer) -> String {
    format!(
        "[server.oauth]\nresource = \"{RESOURCE}\"\n[[server.oauth.issuers]]\nissuer = \"{}\"\n\
         scopes = {{ \"docent.read\" = [\"docs:*\"], \"docent.all\" = [\"*\"] }}\n",
        issuer.address
    )
}

/// One POST with a token; the head and the body of the answer.
fn post(address: &str, token: &str, body: &Value) -> String {
    post_to(address, "/mcp", token, body)
}

fn post_to(address: &str, path: &str, token: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         accept: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn an_issuer_s_token_opens_what_its_scopes_say() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let peer = |token: &str| {
        let uri = format!("http://{address}/mcp");
        HttpTestClient::new_http(&uri).unwrap().header("authorization", &format!("Bearer {token}"))
    };
    let reads = issuer.token(RESOURCE, "docent.read other", 600);
    for revision in [LEGACY, MODERN] {
        let mut ann = peer(&reads);
        ann.open(revision).await.unwrap();
        let list = ann.ask("tools/list", json!({})).await.unwrap().to_string();
        assert!(list.contains("search_documentation") && !list.contains("parse_files"), "{list}");
    }
    // Where a token falls short, the client hears which scope to ask for.
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("parse_files", json!({"files": ["a"]}))});
    let answer = post(&address, &reads, &asked);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let head = answer.to_ascii_lowercase();
    assert!(head.contains("insufficient_scope") && head.contains("docent.all"), "{answer}");
    assert!(!answer.contains("docent.read\""), "{answer}");
    // Keys are turned over; the new one is learned with the first token that it signed.
    issuer.keys.lock().unwrap().push(("second".into(), new_key()));
    for (token, status) in [
        (issuer.token("https://elsewhere.example/mcp", "docent.all", 600), 401),
        (issuer.token(RESOURCE, "docent.all", -600), 401),
        (format!("{}x", issuer.token(RESOURCE, "docent.all", 600)), 401),
        ("not-a-token".to_owned(), 401),
    ] {
        let answer = post(&address, &token, &asked);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{token}: {answer}");
        assert!(answer.contains("resource_metadata="), "{answer}");
        assert!(answer.contains("Invalid API key"), "{answer}");
    }
    let log = server.log().concat();
    assert!(!log.contains(reads.split('.').nth(2).unwrap()), "a token is in the log: {log}");
    // The document that a client without a token is led to.
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let (status, body) = crate::serving::get(&address, &path).await;
        let document: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status, 200);
        assert_eq!(document["resource"], RESOURCE);
        assert_eq!(document["authorization_servers"], json!([issuer.address]));
    }
}

#[tokio::test]
async fn a_refused_token_hears_why() {
    let (issuer, stranger) = (TokenIssuer::start(), TokenIssuer::start());
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (_server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    // From here on the keys are at hand.
    let answer = post(&address, &issuer.token(RESOURCE, "docent.all", 600), &asked);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for (token, why) in [
        (
            issuer.token("https://elsewhere.example/mcp", "docent.all", 600),
            "the token's audience is another resource",
        ),
        (issuer.token(RESOURCE, "docent.all", -600), "the token has expired"),
        (stranger.token(RESOURCE, "docent.all", 600), "the token's issuer is not trusted here"),
        ("not-a-token".to_owned(), "the token is malformed"),
    ] {
        let answer = post(&address, &token, &asked);
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        let output = format!(", error=\"invalid_token\", error_description=\"{why}");
        assert!(answer.contains(&output) && !answer.contains(&token), "{answer}");
    }
}

#[tokio::test]
async fn a_refused_token_counts_once() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (_server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let good = issuer.token(RESOURCE, "docent.all", 600);
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert!(post(&address, &good, &asked).starts_with("HTTP/1.1 200"));
    assert!(post(&address, "not-a-token", &asked).starts_with("HTTP/1.1 401"));
    let metrics = ureq::get(format!("http://{address}/metrics"))
        .header("Authorization", &format!("Bearer {good}"));
    let text = metrics.call().unwrap().body_mut().read_to_string().unwrap();
    assert!(text.contains("docent_refused_total{reason=\"token\"} 1\n"), "{text}");
}

#[tokio::test]
async fn an_issuer_s_algorithms_and_leeway_are_settings() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    let with = |more: &str| format!("{}{more}\n", settings(&issuer));
    place.settings(&with("algorithms = [\"RS256\", \"HS256\"]"));
    place.run(&["serve"]).ends(1).says("`algorithms`: write some of RS256, PS256, ES256");
    place.settings(&with("leeway_ms = 300001"));
    place.run(&["serve"]).ends(1).says("`leeway`: must be at most five minutes");
    place.settings(&with("algorithms = [\"EdDSA\"]\nleeway_ms = 0"));
    let (mut server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let check = |seconds, want: &str| {
        let answer = post(&address, &issuer.token(RESOURCE, "docent.all", seconds), &asked);
        assert!(answer.contains(want), "{answer}");
    };
    check(600, "HTTP/1.1 200");
    check(-20, "the token has expired");
    place.settings(&with("algorithms = [\"RS256\"]"));
    signal(&server, Signal::HUP);
    server.log_line("configuration reloaded").await.unwrap();
    check(600, "the token's algorithm is not allowed");
}

#[tokio::test]
async fn a_token_that_passes_the_door_opens_its_scopes() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (_server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    // Past its end, and within the minute by which clocks may differ.
    let answer = post(&address, &issuer.token(RESOURCE, "docent.all", -20), &asked);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("parse_files"), "{answer}");
}

#[tokio::test]
async fn a_socket_ends_with_its_own_token() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (_server, address) = listen(&place, &["--transport", "http,websocket"], &[]).await;
    let connect = async |seconds| {
        let bearer = format!("Bearer {}", issuer.token(RESOURCE, "docent.all", seconds));
        let uri = format!("ws://{address}/ws");
        let mut peer =
            WsTestClient::connect_ws_with(&uri, &[("authorization", &bearer)]).await.ok()?;
        peer.open(LEGACY).await.ok()?;
        Some(peer)
    };
    let sees = async |peer: &mut WsTestClient| {
        let list = peer.ask("tools/list", json!({})).await.unwrap();
        !list["result"]["tools"].as_array().unwrap().is_empty()
    };
    let mut lasting = connect(600).await.unwrap();
    // Three seconds are left of the minute by which clocks may differ. A machine that takes longer tries again.
    let mut ending = None;
    for _ in 0..10 {
        if let Some(mut peer) = connect(-57).await
            && sees(&mut peer).await
        {
            ending = Some(peer);
            break;
        }
    }
    let mut ending = ending.unwrap();
    while sees(&mut ending).await {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(sees(&mut lasting).await, "a token that lasts has ended with another of its subject");
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let answer = post(&address, &issuer.token(RESOURCE, "docent.read", 600), &asked);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!sees(&mut ending).await, "a token that has ended came back with another");
}

#[tokio::test]
async fn a_narrower_map_of_scopes_holds_on_an_open_socket() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (mut server, address) = listen(&place, &["--transport", "http,websocket"], &[]).await;
    let bearer = format!("Bearer {}", issuer.token(RESOURCE, "docent.all", 600));
    let uri = format!("ws://{address}/ws");
    let mut peer =
        WsTestClient::connect_ws_with(&uri, &[("authorization", &bearer)]).await.unwrap();
    peer.open(LEGACY).await.unwrap();
    let list = peer.ask("tools/list", json!({})).await.unwrap().to_string();
    assert!(list.contains("search_documentation") && list.contains("parse_files"), "{list}");
    place.settings(&settings(&issuer).replace("[\"*\"]", "[\"docs:*\"]"));
    signal(&server, Signal::HUP);
    server.log_line("configuration reloaded").await.unwrap();
    let list = peer.ask("tools/list", json!({})).await.unwrap().to_string();
    assert!(list.contains("search_documentation") && !list.contains("parse_files"), "{list}");
}

#[tokio::test]
async fn a_post_to_a_stream_opens_what_its_own_token_does() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (_server, address) = listen(&place, &["--transport", "sse"], &[]).await;
    let mut stream = TcpStream::connect(&address).unwrap();
    let bearer = issuer.token(RESOURCE, "docent.all", 600);
    write!(
        stream,
        "GET /sse HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {bearer}\r\n\r\n"
    )
    .unwrap();
    let mut events = BufReader::new(stream).lines().map(Result::unwrap);
    let mut event = |part: &str| events.find(|line| line.contains(part)).unwrap();
    let endpoint = event("data: /message").replace("data: ", "");
    let start = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start});
    post_to(&address, &endpoint, &bearer, &opening);
    event("serverInfo");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    post_to(&address, &endpoint, &bearer, &ready);
    for (scope, sees_all) in [("docent.read", false), ("docent.all", true)] {
        let asked = json!({"jsonrpc": "2.0", "id": scope, "method": "tools/list"});
        post_to(&address, &endpoint, &issuer.token(RESOURCE, scope, 600), &asked);
        let list = event(&format!("\"id\":\"{scope}\""));
        assert!(list.contains("search_documentation"), "{list}");
        assert_eq!(list.contains("parse_files"), sees_all, "{list}");
    }
}

#[tokio::test]
async fn a_reload_that_is_refused_leaves_no_issuer_behind() {
    let (first, second) = (TokenIssuer::start(), TokenIssuer::start());
    let place = TestHome::new();
    // The sandbox would not open the port of the second issuer.
    let of = |issuer| format!("policy.sandbox.mode = \"off\"\n{}", settings(issuer));
    place.settings(&of(&first));
    let (mut server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let check = |when: &str| {
        for (issuer, status) in [(&first, 200), (&second, 401)] {
            let answer = post(&address, &issuer.token(RESOURCE, "docent.all", 600), &asked);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{when}: {answer}");
        }
    };
    check("at the start");
    let key = |name: &str| {
        format!(
            "[[server.auth.keys]]\nname = \"{name}\"\ntoken = \"a-token-of-two-keys\"\nscopes = [\"*\"]\n"
        )
    };
    place.settings(&format!("{}{}{}", of(&second), key("one"), key("two")));
    signal(&server, Signal::HUP);
    server.log_line("keeping the previous one").await.unwrap();
    check("after a reload that was refused");
    place.settings(&of(&first));
    signal(&server, Signal::HUP);
    server.log_line("configuration reloaded").await.unwrap();
    check("after the first reload");
}

#[tokio::test]
async fn a_reload_keeps_the_keys_of_an_issuer_that_is_silent() {
    let issuer = TokenIssuer::start();
    let place = TestHome::new();
    place.settings(&settings(&issuer));
    let (mut server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let check = |when: &str| {
        let answer = post(&address, &issuer.token(RESOURCE, "docent.all", 600), &asked);
        assert!(answer.starts_with("HTTP/1.1 200"), "{when}: {answer}");
    };
    check("at the start");
    issuer.is_silent.store(true, Ordering::SeqCst);
    let host = "policy.network.hosts = [\"docs.example.com\"]";
    place.settings(&format!("{host}\n{}", settings(&issuer)));
    signal(&server, Signal::HUP);
    server.log_line("configuration reloaded").await.unwrap();
    check("after a host was added");
}

#[tokio::test]
async fn a_reload_shows_clients_the_new_issuer() {
    let (first, second) = (TokenIssuer::start(), TokenIssuer::start());
    let place = TestHome::new();
    // The sandbox would not open the port of the second issuer.
    let of = |issuer, resource| {
        format!("policy.sandbox.mode = \"off\"\n{}", settings(issuer).replace(RESOURCE, resource))
    };
    place.settings(&of(&first, RESOURCE));
    let (mut server, address) = listen(&place, &["--transport", "http"], &[]).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let check = async |issuer: &TokenIssuer, resource: &str| {
        let path = "/.well-known/oauth-protected-resource/mcp";
        let (_, body) = crate::serving::get(&address, path).await;
        let document: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(document["resource"], resource);
        assert_eq!(document["authorization_servers"], json!([issuer.address]));
        let answer = post(&address, "not-a-token", &asked);
        let named = format!("resource_metadata=\"{}\"", resource.replace("/mcp", path));
        assert!(answer.contains(&named), "{answer}");
        let answer = post(&address, &issuer.token(resource, "docent.all", 600), &asked);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    check(&first, RESOURCE).await;
    let moved = "https://moved.example.com/mcp";
    place.settings(&of(&second, moved));
    signal(&server, Signal::HUP);
    server.log_line("configuration reloaded").await.unwrap();
    check(&second, moved).await;
}

/// An authority, and a certificate that it signed, as PEM files in a folder.
struct ClientCertificates {
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl ClientCertificates {
    fn new() -> Self {
        let mut params = CertificateParams::new(vec!["authority.example".into()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self {
            authority: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap(),
        }
    }

    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.authority).unwrap().pem(), key.serialize_pem())
    }
}

/// Asks for the list of tools over TLS.
fn tools_over_tls(
    address: &str,
    authority: &str,
    shown: Option<&(String, String)>,
) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => config
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    let mut session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    let mut stream = rustls::Stream::new(&mut session, &mut socket);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if answer.is_empty() => Err(error.to_string()),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

#[tokio::test]
async fn a_client_is_known_by_its_certificate() {
    let place = TestHome::new();
    let (ours, theirs) = (ClientCertificates::new(), ClientCertificates::new());
    let folder = place.0.path().join("tls");
    fs::create_dir(&folder).unwrap();
    let (certificate, key) = ours.sign("localhost");
    for (name, text) in
        [("server.pem", &certificate), ("server.key", &key), ("ca.pem", &ours.authority.pem())]
    {
        fs::write(folder.join(name), text).unwrap();
    }
    place.settings(&format!(
        "[server.tls]\ncertificate = {:?}\nkey = {:?}\nclient_ca = {:?}\n\
         [[server.auth.certificates]]\nname = \"builder\"\nsubject = \"*.ci.example.com\"\nscopes = [\"docs:*\"]\n",
        folder.join("server.pem"),
        folder.join("server.key"),
        folder.join("ca.pem"),
    ));
    let mut server = serve(&place, &["--transport", "http", "--port", "0"], &[]);
    let line = server.log_line("listening on https://").await.unwrap();
    let address = line.split_once("https://").unwrap().1.trim().to_owned();
    let authority = ours.authority.pem();
    let ask = |shown: Option<(String, String)>| {
        let (address, authority) = (address.clone(), authority.clone());
        tokio::task::spawn_blocking(move || tools_over_tls(&address, &authority, shown.as_ref()))
    };
    let known = ask(Some(ours.sign("one.ci.example.com"))).await.unwrap().unwrap();
    assert!(known.starts_with("HTTP/1.1 200"), "{known}");
    assert!(known.contains("search_documentation") && !known.contains("parse_files"), "{known}");
    for shown in [None, Some(ours.sign("someone.example.com"))] {
        let stranger = ask(shown).await.unwrap().unwrap();
        assert!(stranger.starts_with("HTTP/1.1 401"), "{stranger}");
    }
    let forged = ask(Some(theirs.sign("one.ci.example.com"))).await.unwrap();
    assert!(forged.is_err(), "{forged:?}");
}

#[tokio::test]
async fn the_record_of_calls_is_checked_read_and_counted() {
    let place = TestHome::new();
    place.write("a.py", "def a(): pass\n");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for file in ["a.py", "a.py", "none.py"] {
        let request = call("parse_files", json!({"files": [file]}));
        server.ask("tools/call", request).await.unwrap();
    }
    server.ask("tools/call", call("no_such_tool", json!({}))).await.unwrap();
    server.close_input();
    ends_well(&mut server).await;
    let report = place.run(&["audit", "verify", "--json"]).ends(0).json();
    assert_eq!((&report["lines"], &report["problem_count"]), (&json!(4), &json!(0)), "{report}");
    let stats = place.run(&["audit", "stats", "--json"]).ends(0).json();
    assert_eq!(stats["by_tool"]["parse_files"], 3, "{stats}");
    let output = place.run(&["audit", "tail", "-n", "2"]);
    assert_eq!(output.ends(0).out.lines().count(), 2, "{}", output.out);
    output.prints("no_such_tool");
    let refused = place.run(&["audit", "tail", "--outcome", "refused", "--json"]);
    assert!(refused.ends(0).out.contains("unknown_tool"), "{}", refused.out);
    let last = report["last"].as_str().unwrap();
    place.run(&["audit", "verify", "--expect", last]).ends(0);
    // An edited line, and one that is missing.
    let log = place.project().join(".docent/audit.jsonl");
    let whole = fs::read_to_string(&log).unwrap();
    let check = |text: &str| -> CliRun {
        fs::write(&log, text).unwrap();
        place.run(&["audit", "verify"])
    };
    check(&whole.replacen("parse_files", "parse_filez", 1)).ends(1);
    check(
        &whole
            .lines()
            .filter(|line| !line.contains("\"seq\":2,"))
            .fold(String::new(), |all, line| all + line + "\n"),
    )
    .ends(1);
    let cut = whole.lines().take(3).fold(String::new(), |all, line| all + line + "\n");
    check(&cut).ends(0);
    place.run(&["audit", "verify", "--expect", last]).ends(1);
}

#[tokio::test]
async fn with_refuse_nothing_happens_unrecorded() {
    let place = TestHome::new();
    place.settings(
        "audit.on_full = \"refuse\"\naudit.file = \"/dev/full\"\npolicy.sandbox.mode = \"off\"\n",
    );
    place.write("a.py", "def a(): pass\n");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for _ in 0..2 {
        let request = call("parse_files", json!({"files": ["a.py"]}));
        let answer = server.ask("tools/call", request).await.unwrap();
        assert!(answer["error"]["message"].as_str().unwrap().contains("audit"), "{answer}");
    }
}
