//! Who may use what.

use crate::{
    fixture::{FixtureProvider, acting, said},
    tasks::{able, task},
    wire::{WireClient, code, key, modern, origin, setup, text},
};
use docent_auth::{
    DocumentFetchError, DocumentFetcher, FetchedDocument, IssuerSettings, ScopeMap, TokenVerifier,
    TrustedIssuer,
};
use docent_server::{ExternalAuth, McpServer, ServerLimits, ServerSetup, TASK_KEY};
use docent_tool::{ProviderChange, SyslogLevel};
use docent_transport::{
    Caller, CallerContext, ConnectionKind, Principal, PrincipalKind, TokenGrant,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

fn server() -> Arc<McpServer> {
    let other = FixtureProvider::called("other");
    other
        .extra
        .lock()
        .unwrap()
        .push(acting("other_tool", json!({}), |_, _| async { Ok(said("other")) }));
    let mut setup = ServerSetup {
        providers: vec![FixtureProvider::new(), other],
        ..setup(FixtureProvider::new())
    };
    setup.keys = vec![
        key("all", &["*"]),
        key("suite", &["other:*"]),
        key("one", &["echo"]),
        key("none", &[]),
    ];
    setup.auth_required = true;
    McpServer::new(setup).unwrap()
}

async fn names(wire: &mut WireClient, method: &str, field: &str) -> Vec<String> {
    let reply = wire.ask(method, json!({})).await;
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    reply["result"][field].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn a_key_grants_its_scopes_only() {
    let server = server();
    let cases = [
        ("suite", "other_tool", "echo", 0),
        ("one", "echo", "other_tool", 0),
        ("all", "echo", "", 3),
    ];
    for (name, may, may_not, resources) in cases {
        let token = format!("{name}-token");
        let mut wire = WireClient::legacy_as(
            &server,
            "2025-11-25",
            json!({}),
            Some(origin(&server, Some(&token))),
        )
        .await;
        let tools = names(&mut wire, "tools/list", "tools").await;
        assert!(
            tools.contains(&may.to_owned()) && !tools.contains(&may_not.to_owned()),
            "{name}: {tools:?}"
        );
        assert!(!text(&wire.call(may, json!({"text": "x"})).await).is_empty());
        assert_eq!(
            names(&mut wire, "resources/list", "resources").await.len(),
            resources,
            "{name}"
        );
        if may_not.is_empty() {
            continue;
        }
        let reply = wire.call(may_not, json!({"text": "x"})).await;
        assert_eq!(code(&reply), -32000, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("may not use"), "{reply}");
        let reply = wire.call("no_such_tool", json!({})).await;
        assert!(!reply["error"]["data"]["available"].to_string().contains(may_not), "{reply}");
        assert_eq!(
            code(&wire.ask("resources/read", json!({"uri": "memo://a"})).await),
            -32002,
            "{name}"
        );
        assert_eq!(
            code(
                &wire
                    .ask("prompts/get", json!({"name": "greet", "arguments": {"name": "x"}}))
                    .await
            ),
            -32602
        );
        assert_eq!(
            code(&wire.ask("resources/subscribe", json!({"uri": "memo://a"})).await),
            -32002
        );
    }
}

#[tokio::test]
async fn without_scopes_or_context_nothing_is_granted() {
    let server = server();
    for origin in [None, Some(origin(&server, Some("none-token")))] {
        let mut wire = WireClient::legacy_as(&server, "2025-11-25", json!({}), origin).await;
        assert!(names(&mut wire, "tools/list", "tools").await.is_empty());
        assert_eq!(code(&wire.call("echo", json!({"text": "x"})).await), -32000);
    }
}

/// Reads up to the change of the prompt list: everything before it, except changes of lists.
async fn heard(wire: &mut WireClient) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let message = wire.read().await;
        match message["method"].as_str() {
            Some("notifications/prompts/list_changed") => return all,
            Some(method) if method.ends_with("list_changed") => {}
            _ => all.push(message["params"].clone()),
        }
    }
}

/// Whether the log line was received, and the address.
fn summed(received: &[Value]) -> (bool, bool) {
    let has = |name: &str, text: &str| received.iter().any(|one| one[name] == text);
    (has("data", "said"), has("uri", "memo://a"))
}

#[tokio::test]
async fn a_removed_key_gets_no_more_notifications() {
    let fixture = FixtureProvider::new();
    let keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    let setup = ServerSetup { keys, auth_required: true, ..setup(Arc::clone(&fixture)) };
    let mut terms = setup.live_settings();
    let server = McpServer::new(setup).unwrap();
    let as_ann = || Some(origin(&server, Some("ann-token")));
    let mut ann = WireClient::legacy_as(&server, "2025-11-25", json!({}), as_ann()).await;
    let as_bob = Some(origin(&server, Some("bob-token")));
    let mut bob = WireClient::legacy_as(&server, "2025-11-25", json!({}), as_bob).await;
    for wire in [&mut ann, &mut bob] {
        wire.ask("resources/subscribe", json!({"uri": "memo://a"})).await;
    }
    let mut stream = WireClient::open_as(&server, as_ann());
    let mut params = modern(json!({}));
    params["notifications"] =
        json!({"promptsListChanged": true, "resourceSubscriptions": ["memo://a"]});
    stream.begin("subscriptions/listen", params).await;
    stream.notified("notifications/subscriptions/acknowledged").await;
    // The stream watches once its handler has run; a later request is answered after that.
    stream.ask("server/discover", modern(json!({}))).await;
    let marked = async |wires: [&mut WireClient; 3]| {
        fixture.changed(ProviderChange::Prompts);
        let [ann, bob, stream] = wires;
        [heard(ann).await, heard(bob).await, heard(stream).await]
    };
    let collect = async |[ann, bob, stream]: [&mut WireClient; 3]| {
        let (provider, logger) = ("fixture".to_owned(), "other".to_owned());
        let (data, extra) = (json!("said"), serde_json::Map::new());
        fixture.changed(ProviderChange::Said {
            provider,
            level: SyslogLevel::Error,
            logger,
            data,
            extra,
        });
        fixture.changed(ProviderChange::Updated("memo://a".into()));
        // An address may be announced after the first mark, but arrives before the second.
        let first = marked([&mut *ann, &mut *bob, &mut *stream]).await;
        let second = marked([ann, bob, stream]).await;
        first.into_iter().zip(second).map(|(one, other)| summed(&[one, other].concat())).collect()
    };
    let received: Vec<_> = collect([&mut ann, &mut bob, &mut stream]).await;
    assert_eq!(received, [(true, true), (true, true), (false, true)]);
    terms.keys.remove(0);
    server.reload(terms).unwrap();
    for wire in [&mut ann, &mut bob, &mut stream] {
        heard(wire).await;
    }
    marked([&mut ann, &mut bob, &mut stream]).await;
    let received: Vec<_> = collect([&mut ann, &mut bob, &mut stream]).await;
    assert_eq!(received, [(false, false), (true, true), (false, false)]);
}

const ISSUER: &str = "https://login.example.com/";

/// Trusts an issuer whose keys are not needed here.
fn trusting() -> ExternalAuth {
    struct NoIssuerDocuments;
    impl DocumentFetcher for NoIssuerDocuments {
        fn get(&self, _: &str) -> Result<FetchedDocument, DocumentFetchError> {
            Err(DocumentFetchError::new("no answer"))
        }
    }
    let mut settings = IssuerSettings::new(ISSUER, vec!["docent".into()]);
    settings.scopes = ScopeMap::new(BTreeMap::new(), true).unwrap();
    let issuer = TrustedIssuer::check(settings).unwrap();
    let tokens = TokenVerifier::new(vec![issuer], Arc::new(NoIssuerDocuments)).unwrap();
    ExternalAuth::new(Some(Arc::new(tokens)), None)
}

/// A principal whose token expires then.
fn with_token(until: Option<SystemTime>) -> CallerContext {
    let scopes: Arc<[String]> = Arc::from(["*".to_owned()]);
    let grant = until.map(|until| TokenGrant { scopes: Arc::clone(&scopes), until });
    let (name, kind) = (format!("oauth:{ISSUER}#ann").into(), PrincipalKind::Oauth);
    let principal = Principal { name, scopes, kind, grant };
    let caller = Caller { principal, via: ConnectionKind::Http, remote: None };
    CallerContext { caller, dialect: None, streams: false, recorded: None }
}

#[tokio::test]
async fn a_renewed_token_applies_from_its_next_request() {
    let fixture = FixtureProvider::new();
    let setup = ServerSetup {
        external_auth: trusting(),
        auth_required: true,
        ..setup(Arc::clone(&fixture))
    };
    let server = McpServer::new(setup).unwrap();
    let (now, hour) = (SystemTime::now(), Duration::from_hours(1));
    let (fresh, ended) = (with_token(now.checked_add(hour)), with_token(now.checked_sub(hour)));
    let mut wire =
        WireClient::legacy_as(&server, "2025-11-25", json!({}), Some(fresh.clone())).await;
    let subscribed = wire.ask("resources/subscribe", json!({"uri": "memo://a"})).await;
    assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("resources/unsubscribe", json!({"uri": "memo://b"})),
        ("no/such", json!({})),
    ] {
        wire.speak_as(ended.clone());
        assert!(names(&mut wire, "tools/list", "tools").await.is_empty(), "{method}");
        fixture.changed(ProviderChange::Updated("memo://a".into()));
        let mut received = Vec::new();
        // An address may be announced after the first mark, but arrives before the second.
        for _ in 0..2 {
            fixture.changed(ProviderChange::Prompts);
            received.extend(heard(&mut wire).await);
        }
        assert_eq!(summed(&received), (false, false), "{method}: {received:?}");
        wire.speak_as(fresh.clone());
        wire.ask(method, params).await;
        fixture.changed(ProviderChange::Updated("memo://a".into()));
        let updated = wire.notified("notifications/resources/updated").await;
        assert_eq!(updated["params"]["uri"], "memo://a", "{method}");
    }
}

/// Asks for a part of an answer and about a task: returns the error codes, and 0 for an answer.
async fn reach(wire: &mut WireClient, part: &Value, id: &Value) -> Vec<i64> {
    let mut params = modern(json!({}));
    params["uri"] = part.clone();
    let mut heard = vec![wire.ask("resources/read", params).await];
    for (method, more) in [
        ("tasks/get", json!({})),
        ("tasks/update", json!({"inputResponses": {}})),
        ("tasks/cancel", json!({})),
    ] {
        heard.push(task(wire, method, id, more).await);
    }
    heard.iter().map(|reply| reply["error"]["code"].as_i64().unwrap_or(0)).collect()
}

#[tokio::test]
async fn a_removed_key_or_expired_token_cannot_read_its_own_results() {
    let fixture = FixtureProvider::new();
    let quick = acting("quick", json!({TASK_KEY: "always"}), |_, _| async { Ok(said("done")) });
    fixture.extra.lock().unwrap().push(quick);
    let (limits, keys) =
        (ServerLimits { page_bytes: 8192, ..ServerLimits::default() }, vec![key("ann", &["*"])]);
    let setup = ServerSetup {
        limits,
        keys,
        external_auth: trusting(),
        auth_required: true,
        ..setup(fixture)
    };
    let mut terms = setup.live_settings();
    let server = McpServer::new(setup).unwrap();
    let (now, hour) = (SystemTime::now(), Duration::from_hours(1));
    let mut ann = WireClient::open_as(&server, Some(origin(&server, Some("ann-token"))));
    let mut other = WireClient::open_as(&server, Some(with_token(now.checked_add(hour))));
    let mut made = Vec::new();
    for wire in [&mut ann, &mut other] {
        let big = wire.modern_call("big", json!({"size": 50_000}), able(), json!({})).await;
        let part = big["result"]["content"].as_array().unwrap().last().unwrap()["uri"].clone();
        let begun = wire.modern_call("quick", json!({}), able(), json!({})).await;
        let id = begun["result"]["taskId"].clone();
        assert_eq!(reach(wire, &part, &id).await, [0; 4], "{part} {id}");
        made.push((part, id));
    }
    terms.keys.clear();
    server.reload(terms).unwrap();
    other.speak_as(with_token(now.checked_sub(hour)));
    for (wire, (part, id)) in [&mut ann, &mut other].into_iter().zip(&made) {
        assert_eq!(reach(wire, part, id).await, [-32602; 4], "{part} {id}");
    }
}

#[tokio::test]
async fn lists_that_depend_on_the_principal_are_private() {
    let server = server();
    let mut wire = WireClient::open_as(&server, Some(origin(&server, Some("all-token"))));
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let reply = wire.ask(method, modern(json!({}))).await;
        assert_eq!(reply["result"]["cacheScope"], "private", "{method}");
    }
}
