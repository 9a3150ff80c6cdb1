//! Signing in, against a server that is its own authorization server.

use crate::{
    events::RecordedEvents,
    server::{ReceivedRequest, ResponseStep, ScriptedHttpServer, json as answered, whole, with},
    streamable::{answer, request},
};
use base64::{Engine, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use docent_dial::{
    HttpSettings, SignIn, TransportFailure, http,
    oauth::{
        Browser, FileTokenStore, MemoryTokenStore, OauthClient, OauthSettings, OauthSignIn,
        SigningAlgorithm, TokenStore,
    },
};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use url::Url;

/// How the authorization server behaves.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent fault")]
struct AuthServerBehavior {
    /// Tokens last this long.
    expires_in: Option<u64>,
    /// Refreshing is refused.
    no_refresh: bool,
    /// The redirect names another issuer.
    wrong_issuer: bool,
    /// The user refuses.
    denies: bool,
    /// It claims to be another issuer, at a URL that the SDK does not check.
    impostor: bool,
}

/// An issuer with an earlier sign-in.
const OTHER: &str = "https://other.test";

struct ScriptedAuthServer {
    manners: AuthServerBehavior,
    tokens: AtomicUsize,
    /// The scopes of each token that is good.
    good: Mutex<HashMap<String, String>>,
    /// The challenge and the scope of each code.
    codes: Mutex<HashMap<String, (String, String)>>,
}

fn form(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

impl ScriptedAuthServer {
    fn answer(&self, seen: &ReceivedRequest) -> Vec<ResponseStep> {
        let base = format!("http://{}", seen.header("host").unwrap());
        let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
        match path {
            "/mcp" => self.resource(seen, &base),
            "/prm" => {
                let issuer = if self.manners.impostor { format!("{base}/x/.well-known/as") } else { base.clone() };
                answered(
                    &json!({"resource": format!("{base}/mcp"), "authorization_servers": [issuer], "scopes_supported": ["read"]}).to_string(),
                )
            }
            "/x/.well-known/as" => answered(
                &json!({
                    "issuer": OTHER,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                })
                .to_string(),
            ),
            "/.well-known/oauth-authorization-server" => answered(
                &json!({
                    "issuer": base,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "private_key_jwt"],
                    "authorization_response_iss_parameter_supported": true,
                })
                .to_string(),
            ),
            "/register" => {
                let mut body = seen.json();
                body["client_id"] = json!("registered");
                whole("201 Created", "application/json", &body.to_string())
            }
            "/authorize" => self.authorize(&form(query), &base),
            "/token" => self.token(&form(&seen.body)),
            _ => whole("404 Not Found", "", ""),
        }
    }

    fn resource(&self, seen: &ReceivedRequest, base: &str) -> Vec<ResponseStep> {
        let token = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let scope = token.and_then(|token| self.good.lock().unwrap().get(token).cloned());
        let metadata = format!("resource_metadata=\"{base}/prm\"");
        match scope {
            None => with(
                &format!("WWW-Authenticate: Bearer {metadata}, scope=\"read\"\r\n"),
                "401 Unauthorized",
                "",
                "",
            ),
            Some(scope)
                if seen.rpc() == "never" || seen.rpc() == "write" && !scope.contains("write") =>
            {
                with(
                    &format!(
                        "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"write\", {metadata}\r\n"
                    ),
                    "403 Forbidden",
                    "",
                    "",
                )
            }
            Some(_) => answered(&answer(seen.json()["id"].clone())),
        }
    }

    fn authorize(&self, asked: &HashMap<String, String>, base: &str) -> Vec<ResponseStep> {
        assert_eq!(asked["code_challenge_method"], "S256");
        assert_eq!(asked["resource"], format!("{base}/mcp"));
        let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
        let code = format!("code-{}", self.codes.lock().unwrap().len());
        let scope = asked.get("scope").cloned().unwrap_or_default();
        let challenge = asked["code_challenge"].clone();
        self.codes.lock().unwrap().insert(code.clone(), (challenge, scope));
        let issuer = if self.manners.wrong_issuer { "https://evil.test" } else { base };
        {
            let mut pairs = back.query_pairs_mut();
            pairs.append_pair("state", &asked["state"]).append_pair("iss", issuer);
            let brings =
                if self.manners.denies { ("error", "access_denied") } else { ("code", &*code) };
            pairs.append_pair(brings.0, brings.1);
        }
        with(&format!("Location: {back}\r\n"), "302 Found", "", "")
    }

    fn token(&self, asked: &HashMap<String, String>) -> Vec<ResponseStep> {
        assert!(asked["resource"].ends_with("/mcp"));
        let refused = |why: &str| {
            whole("400 Bad Request", "application/json", &json!({"error": why}).to_string())
        };
        let scope = match asked["grant_type"].as_str() {
            "authorization_code" => {
                let Some((challenge, scope)) = self.codes.lock().unwrap().remove(&asked["code"])
                else {
                    return refused("invalid_grant");
                };
                let digest = Sha256::digest(&asked["code_verifier"]);
                assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(digest), challenge);
                scope
            }
            "refresh_token" if self.manners.no_refresh => return refused("invalid_grant"),
            "refresh_token" => {
                assert!(asked["refresh_token"].starts_with("secret-refresh-"));
                asked.get("scope").cloned().unwrap_or_default()
            }
            "client_credentials" => {
                let secret =
                    asked.get("client_secret").is_some_and(|secret| secret == "secret-own");
                let assertion = asked.get("client_assertion").map(|text| claims(text));
                if !secret && assertion.is_none_or(|claims| claims["sub"] != "machine") {
                    return refused("invalid_client");
                }
                "read".to_owned()
            }
            other => panic!("{other}"),
        };
        let number = self.tokens.fetch_add(1, Ordering::SeqCst);
        let token = format!("secret-token-{number}");
        self.good.lock().unwrap().clear();
        self.good.lock().unwrap().insert(token.clone(), scope.clone());
        let mut body = json!({"access_token": token, "token_type": "Bearer", "refresh_token": format!("secret-refresh-{number}"), "scope": scope});
        if let Some(lasts) = self.manners.expires_in {
            body["expires_in"] = json!(lasts);
        }
        answered(&body.to_string())
    }
}

fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

async fn authority(manners: AuthServerBehavior) -> (ScriptedHttpServer, Arc<ScriptedAuthServer>) {
    let authority = Arc::new(ScriptedAuthServer {
        manners,
        tokens: AtomicUsize::new(0),
        good: Mutex::default(),
        codes: Mutex::default(),
    });
    let shared = authority.clone();
    (ScriptedHttpServer::start(move |seen| shared.answer(seen)).await, authority)
}

/// Follows the page's redirects, as a consenting user would, or does nothing.
struct ScriptedBrowser {
    agrees: bool,
    pages: AtomicUsize,
}

impl Browser for ScriptedBrowser {
    fn open(&self, url: &str) -> Result<(), String> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        if self.agrees {
            let url = url.to_owned();
            tokio::spawn(async move {
                let _there = rustls::crypto::ring::default_provider().install_default();
                let client = reqwest::Client::builder().no_proxy().build().unwrap();
                client.get(url).send().await.unwrap();
            });
        }
        Ok(())
    }
}

fn person(agrees: bool) -> Arc<ScriptedBrowser> {
    Arc::new(ScriptedBrowser { agrees, pages: AtomicUsize::new(0) })
}

fn settings(
    server: &ScriptedHttpServer,
    store: &Arc<dyn TokenStore>,
    person: Option<&Arc<ScriptedBrowser>>,
) -> OauthSettings {
    let mut settings = OauthSettings::new("acme", server.url("/mcp"), store.clone());
    settings.browser = person.map(|person| person.clone() as Arc<dyn Browser>);
    settings
}

/// Returns the outcomes of requests with these methods on one line.
async fn ask(
    settings: OauthSettings,
    methods: &[&str],
) -> (Vec<Result<(), TransportFailure>>, Arc<OauthSignIn>) {
    let url = settings.url.clone();
    let sign_in = Arc::new(OauthSignIn::new(settings).unwrap());
    let heard = RecordedEvents::new();
    let mut settings = HttpSettings::new(url);
    settings.sign_in = Some(sign_in.clone());
    let line = http::open(settings, heard.clone()).await.unwrap();
    let mut outcomes = Vec::new();
    for (id, method) in methods.iter().enumerate() {
        line.send(request(id, method)).await.unwrap();
        outcomes.push(match heard.next().await {
            docent_dial::TransportEvent::Message { message, .. } => {
                assert_eq!(message["id"], id);
                Ok(())
            }
            docent_dial::TransportEvent::Lost { failure, .. } => {
                assert!(!failure.to_string().contains("secret-"), "{failure}");
                Err(failure)
            }
            other => panic!("{other:?}"),
        });
    }
    assert!(!format!("{sign_in:?}").contains("secret-"));
    (outcomes, sign_in)
}

fn count(server: &ScriptedHttpServer, path: &str) -> usize {
    server.seen().iter().filter(|seen| seen.path.split('?').next() == Some(path)).count()
}

fn memory() -> Arc<dyn TokenStore> {
    Arc::new(MemoryTokenStore::default())
}

#[tokio::test]
async fn a_person_signs_in_once() {
    let (server, _) = authority(AuthServerBehavior::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn TokenStore> = Arc::new(FileTokenStore::new(folder.path().join("tokens")));
    let person = person(true);
    let (outcomes, _) = ask(settings(&server, &store, Some(&person)), &["ping", "ping"]).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(person.pages.load(Ordering::SeqCst), 1);
    assert_eq!((count(&server, "/register"), count(&server, "/token")), (1, 1));
    let registered =
        server.seen().into_iter().find(|seen| seen.path == "/register").unwrap().json();
    assert!(registered["redirect_uris"][0].as_str().unwrap().starts_with("http://127.0.0.1:"));

    // Another run finds the token in the store.
    let (outcomes, _) = ask(settings(&server, &store, None), &["ping"]).await;
    assert!(outcomes[0].is_ok(), "{outcomes:?}");
    assert_eq!(count(&server, "/token"), 1);
}

#[tokio::test]
async fn many_requests_wait_for_one_sign_in() {
    let (server, _) = authority(AuthServerBehavior::default()).await;
    let person = person(true);
    let mut line_settings = HttpSettings::new(server.url("/mcp"));
    let sign_in = OauthSignIn::new(settings(&server, &memory(), Some(&person))).unwrap();
    line_settings.sign_in = Some(Arc::new(sign_in));
    let heard = RecordedEvents::new();
    let line = http::open(line_settings, heard.clone()).await.unwrap();
    for id in 0..10 {
        line.send(request(id, "ping")).await.unwrap();
    }
    for _ in 0..10 {
        heard.message().await;
    }
    assert_eq!(person.pages.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_token_that_ends_is_refreshed_and_kept() {
    let (server, _) =
        authority(AuthServerBehavior { expires_in: Some(5), ..AuthServerBehavior::default() })
            .await;
    let (store, person) = (memory(), person(true));
    let (outcomes, sign_in) =
        ask(settings(&server, &store, Some(&person)), &["ping", "ping"]).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(person.pages.load(Ordering::SeqCst), 1);
    let token = sign_in.token().await;
    let kept = store.load(&server.url("/mcp"), None).unwrap().unwrap();
    assert_eq!(token, kept.access_token);
    assert_ne!(token.as_deref(), Some("secret-token-0"));
    assert_eq!(kept.refresh_token, token.map(|token| token.replace("token", "refresh")));
}

#[tokio::test]
async fn a_token_that_is_refused_is_refreshed() {
    let (server, authority) = authority(AuthServerBehavior::default()).await;
    let (store, person) = (memory(), person(true));
    let (_, _) = ask(settings(&server, &store, Some(&person)), &["ping"]).await;
    authority.good.lock().unwrap().clear();
    let (outcomes, _) = ask(settings(&server, &store, None), &["ping"]).await;
    assert!(outcomes[0].is_ok(), "{outcomes:?}");
    assert_eq!(person.pages.load(Ordering::SeqCst), 1);
}

/// The tokens of an issuer are not sent to a server that only claims to be that issuer.
#[tokio::test]
async fn a_claimed_issuer_is_not_trusted() {
    let (server, _) =
        authority(AuthServerBehavior { impostor: true, ..AuthServerBehavior::default() }).await;
    let store = memory();
    let url = server.url("/mcp");
    let kept = json!({"resource": url, "issuer": OTHER, "client_id": "me", "client_secret": "secret-own",
                      "refresh_token": "secret-refresh-0", "scopes": ["read"]});
    store.save(&serde_json::from_value(kept).unwrap()).unwrap();
    let (outcomes, _) = ask(settings(&server, &store, None), &["ping"]).await;
    match &outcomes[0] {
        Err(TransportFailure::Unauthorized(text)) => {
            assert!(text.contains(OTHER), "{text}");
            assert!(text.contains("contact the server's operator"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(count(&server, "/x/.well-known/as"), 1);
    assert_eq!(count(&server, "/token"), 0);
}

#[tokio::test]
async fn without_a_browser_the_error_names_the_command() {
    let (server, authority) =
        authority(AuthServerBehavior { no_refresh: true, ..AuthServerBehavior::default() }).await;
    let store = memory();
    let check = |outcomes: &[Result<(), TransportFailure>]| match &outcomes[0] {
        Err(TransportFailure::Unauthorized(text)) => {
            assert!(text.contains("docent servers login acme"), "{text}");
        }
        other => panic!("{other:?}"),
    };
    check(&ask(settings(&server, &store, None), &["ping"]).await.0);
    let sign_in = OauthSignIn::new(settings(&server, &store, Some(&person(true)))).unwrap();
    sign_in.login().await.unwrap();
    assert!(ask(settings(&server, &store, None), &["ping"]).await.0[0].is_ok());
    authority.good.lock().unwrap().clear();
    check(&ask(settings(&server, &store, None), &["ping"]).await.0);
    let tried = count(&server, "/token");
    check(&ask(settings(&server, &store, None), &["ping"]).await.0);
    assert_eq!(count(&server, "/token"), tried, "a final refusal is not retried");
    let kept = store.load(&server.url("/mcp"), None).unwrap().unwrap();
    assert_eq!((kept.client_id.as_str(), kept.refresh_token), ("registered", None));
    sign_in.logout().await.unwrap();
    assert!(store.load(&server.url("/mcp"), None).unwrap().is_none());
}

#[tokio::test]
async fn a_server_without_metadata_needs_a_key() {
    let server = ScriptedHttpServer::start(|_| whole("401 Unauthorized", "", "")).await;
    for (is_configured, want) in [
        (
            true,
            "set `headers = { Authorization = \"Bearer ${KEY}\" }` in its entry `mcp_servers.acme`",
        ),
        (false, "pass --header 'Authorization: Bearer KEY'"),
    ] {
        let mut settings = settings(&server, &memory(), None);
        settings.is_configured = is_configured;
        match &ask(settings, &["ping"]).await.0[0] {
            Err(TransportFailure::Refused { status: 401, text }) => {
                assert!(text.contains(want) && !text.contains("servers login"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_sign_in_names_no_server_that_is_not_configured() {
    let (server, _) = authority(AuthServerBehavior::default()).await;
    let mut settings = settings(&server, &memory(), None);
    settings.is_configured = false;
    match &ask(settings, &["ping"]).await.0[0] {
        Err(TransportFailure::Unauthorized(text)) => {
            assert!(text.contains("docent servers add NAME --url"), "{text}");
            assert!(!text.contains("login acme"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_token_with_insufficient_scopes_is_stepped_up_once() {
    let (server, _) = authority(AuthServerBehavior::default()).await;
    let (store, person) = (memory(), person(true));
    let (outcomes, _) =
        ask(settings(&server, &store, Some(&person)), &["ping", "write", "never"]).await;
    assert!(outcomes[0].is_ok() && outcomes[1].is_ok(), "{outcomes:?}");
    match &outcomes[2] {
        Err(TransportFailure::Unauthorized(text)) => {
            assert!(text.contains("permissions already"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(person.pages.load(Ordering::SeqCst), 2);
    let kept = store.load(&server.url("/mcp"), None).unwrap().unwrap();
    assert_eq!(kept.scopes, ["read", "write"]);
    assert_eq!(count(&server, "/register"), 1, "the registration is kept");
}

#[tokio::test]
async fn a_sign_in_that_fails_says_why() {
    let check = |manners: AuthServerBehavior, agrees: bool, expected: &'static str| async move {
        let (server, _) = authority(manners).await;
        let mut settings = settings(&server, &memory(), Some(&person(agrees)));
        settings.sign_in_timeout =
            if agrees { Duration::from_secs(20) } else { Duration::from_millis(100) };
        let (outcomes, sign_in) = ask(settings, &["ping"]).await;
        match &outcomes[0] {
            Err(TransportFailure::Unauthorized(text)) => assert!(text.contains(expected), "{text}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(sign_in.token().await, None);
        assert_eq!(count(&server, "/token"), 0);
    };
    check(
        AuthServerBehavior { denies: true, ..AuthServerBehavior::default() },
        true,
        "access_denied",
    )
    .await;
    check(
        AuthServerBehavior { wrong_issuer: true, ..AuthServerBehavior::default() },
        true,
        "issuer",
    )
    .await;
    check(AuthServerBehavior::default(), false, "no sign-in within").await;
}

#[tokio::test]
async fn machines_sign_in_by_themselves() {
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
        .unwrap();
    let key_pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        BASE64_STANDARD.encode(key.as_ref())
    );
    let check = |client: OauthClient, works: bool| async move {
        let (server, _) = authority(AuthServerBehavior::default()).await;
        let mut settings = settings(&server, &memory(), None);
        assert!(
            !format!("{client:?}").contains("secret-")
                && !format!("{client:?}").contains("PRIVATE")
        );
        settings.client = client;
        let (outcomes, _) = ask(settings, &["ping"]).await;
        match (&outcomes[0], works) {
            (Ok(()), true) => assert_eq!(count(&server, "/authorize"), 0),
            (Err(TransportFailure::Unauthorized(text)), false) => {
                assert!(text.contains("invalid_client"), "{text}");
            }
            (other, _) => panic!("{other:?}"),
        }
    };
    let machine =
        |id: &str, secret: &str| OauthClient::Machine { id: id.into(), secret: secret.into() };
    check(machine("machine", "secret-own"), true).await;
    check(machine("machine", "secret-other"), false).await;
    let keyed = |id: &str| OauthClient::MachineKey {
        id: id.into(),
        key_pem: key_pem.clone(),
        algorithm: SigningAlgorithm::Es256,
    };
    check(keyed("machine"), true).await;
    check(keyed("stranger"), false).await;
}

#[tokio::test]
async fn a_client_that_is_registered_does_not_register() {
    let (server, _) = authority(AuthServerBehavior::default()).await;
    let person = person(true);
    let mut settings = settings(&server, &memory(), Some(&person));
    settings.client =
        OauthClient::Registered { id: "known".into(), secret: Some("secret-own".into()) };
    settings.scopes = vec!["read".into(), "extra".into()];
    let (outcomes, _) = ask(settings, &["ping"]).await;
    assert!(outcomes[0].is_ok(), "{outcomes:?}");
    assert_eq!(count(&server, "/register"), 0);
    let page = server.seen().into_iter().find(|seen| seen.path.starts_with("/authorize")).unwrap();
    assert!(
        page.path.contains("client_id=known") && page.path.contains("scope=read+extra"),
        "{}",
        page.path
    );
}
