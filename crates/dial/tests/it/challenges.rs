//! Sign-in during requests: which answers are challenges, how often, and where tokens go.

use crate::{
    events::RecordedEvents,
    server::{ReceivedRequest, ResponseStep, ScriptedHttpServer, json, whole, with},
    streamable::{answer, notification, request},
};
use docent_dial::{
    Challenge, HttpSettings, Running, SignIn, TransportFailure, http, sse, websocket,
};
use std::sync::{Arc, Mutex};

/// Has a new token after each challenge, until it gives up.
#[derive(Default)]
struct ScriptedSignIn {
    challenges: Mutex<Vec<Challenge>>,
    gives_up: bool,
}

impl SignIn for ScriptedSignIn {
    fn token(&self) -> Running<'_, Option<String>> {
        let count = self.challenges.lock().unwrap().len();
        Box::pin(async move { (count > 0).then(|| format!("secret-{count}")) })
    }

    fn challenged(&self, challenge: Challenge) -> Running<'_, Result<(), TransportFailure>> {
        assert!(!format!("{challenge:?}").contains("secret"), "{challenge:?}");
        self.challenges.lock().unwrap().push(challenge);
        let gives_up = self.gives_up;
        Box::pin(async move {
            if gives_up { Err(TransportFailure::Unauthorized("not now".into())) } else { Ok(()) }
        })
    }
}

fn settings(url: String, clerk: &Arc<ScriptedSignIn>) -> HttpSettings {
    let mut settings = HttpSettings::new(url);
    // The sign-in's token replaces a configured one.
    settings.headers.push(("Authorization".into(), "Bearer old".into()));
    settings.sign_in = Some(clerk.clone());
    settings
}

fn bearer(seen: &ReceivedRequest) -> &str {
    seen.header("authorization").unwrap_or_default()
}

fn refused(status: &str, challenge: &str) -> Vec<ResponseStep> {
    with(&format!("WWW-Authenticate: {challenge}\r\n"), status, "", "no")
}

#[tokio::test]
async fn a_challenge_is_answered_and_the_message_sent_again() {
    let server = ScriptedHttpServer::start(|seen| match (bearer(seen), seen.rpc().as_str()) {
        ("Bearer old", _) => refused("401 Unauthorized", "Bearer scope=\"a\""),
        ("Bearer secret-1", "write") => {
            refused("403 Forbidden", "Bearer error=\"insufficient_scope\"")
        }
        ("Bearer secret-2", _) => json(&answer(seen.json()["id"].clone())),
        _ => whole("500 Oops", "", ""),
    })
    .await;
    let (heard, clerk) = (RecordedEvents::new(), Arc::new(ScriptedSignIn::default()));
    let line = http::open(settings(server.url("/"), &clerk), heard.clone()).await.unwrap();
    line.send(request(1, "write")).await.unwrap();
    assert_eq!(heard.message().await["id"], 1);
    let challenges = clerk.challenges.lock().unwrap().clone();
    let received: Vec<_> = challenges
        .iter()
        .map(|one| (one.status, one.www_authenticate.as_str(), one.refused.as_deref()))
        .collect();
    assert_eq!(
        received,
        [
            (401, "Bearer scope=\"a\"", None),
            (403, "Bearer error=\"insufficient_scope\"", Some("secret-1")),
        ]
    );
    let seen = server.seen();
    assert!(seen.len() == 3 && seen.iter().all(|one| one.body == seen[0].body));
}

#[tokio::test]
async fn challenges_have_an_end() {
    let check = |steps: fn() -> Vec<ResponseStep>,
                 gives_up: bool,
                 count: usize,
                 expected: &'static str| async move {
        let server = ScriptedHttpServer::start(move |_| steps()).await;
        let (heard, clerk) = (
            RecordedEvents::new(),
            Arc::new(ScriptedSignIn { gives_up, ..ScriptedSignIn::default() }),
        );
        let line = http::open(settings(server.url("/"), &clerk), heard.clone()).await.unwrap();
        line.send(request(1, "x")).await.unwrap();
        let (_, failure) = heard.lost().await;
        assert!(failure.to_string().contains(expected), "{failure}");
        assert_eq!(clerk.challenges.lock().unwrap().len(), count);
        let error = line.send(notification("notifications/x")).await.unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    };
    check(|| refused("401 Unauthorized", "Bearer"), false, 2, "still answers 401").await;
    check(|| refused("401 Unauthorized", "Bearer"), true, 1, "not now").await;
    check(|| refused("403 Forbidden", "Bearer"), false, 0, "403: no").await;
    check(
        || refused("403 Forbidden", "Bearer error=\"insufficient_scope\""),
        false,
        2,
        "still answers 403",
    )
    .await;
}

#[tokio::test]
async fn every_way_signs_in() {
    let server = ScriptedHttpServer::start(|seen| match bearer(seen) {
        "Bearer secret-1" => whole("418 Teapot", "", "signed in"),
        _ => refused("401 Unauthorized", "Bearer"),
    })
    .await;
    let clerk = Arc::new(ScriptedSignIn::default());
    let failure =
        sse::open(settings(server.url("/"), &clerk), RecordedEvents::new()).await.err().unwrap();
    assert!(matches!(failure, TransportFailure::Refused { status: 418, .. }), "{failure:?}");
    let clerk = Arc::new(ScriptedSignIn::default());
    let url = server.url("/").replace("http", "ws");
    let failure =
        websocket::open(settings(url, &clerk), RecordedEvents::new()).await.err().unwrap();
    assert!(matches!(failure, TransportFailure::Refused { status: 418, .. }), "{failure:?}");
    assert_eq!(clerk.challenges.lock().unwrap().len(), 1);
}
