//! One client that takes all that it can get, and another one that is still served.

use crate::{
    fixture::{FixtureProvider, acting, said},
    wire::{WireClient, code, key, modern, origin, setup, text},
};
use docent_server::{McpServer, RequestRate, ServerLimits, ServerSetup};
use docent_tool::{
    AnyTool, BoxedFuture, CallContext, CompletionRequest, CompletionValues, ShareSlot,
    TemplateInfo, ToolProvider,
};
use docent_transport::{AccessControl, Caller, CallerCredentials, ConnectionKind, PrincipalKind};
use serde_json::json;
use std::{
    num::NonZeroU32,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};
use tokio::sync::{Notify, mpsc};

/// Blocking work that is counted when it begins and lasts until it is released.
struct HeavyTool {
    begun: mpsc::Sender<()>,
    may_end: (Mutex<bool>, Condvar),
}

impl HeavyTool {
    fn new() -> (Arc<Self>, mpsc::Receiver<()>) {
        let (begun, begins) = mpsc::channel(64);
        (Arc::new(Self { begun, may_end: Default::default() }), begins)
    }

    fn work(&self) {
        self.begun.try_send(()).unwrap();
        let may_end = self.may_end.0.lock().unwrap();
        drop(self.may_end.1.wait_while(may_end, |may_end| !*may_end).unwrap());
    }

    fn let_go(&self) {
        *self.may_end.0.lock().unwrap() = true;
        self.may_end.1.notify_all();
    }

    fn tools(self: &Arc<Self>) -> Vec<Arc<dyn AnyTool>> {
        let heavy = Arc::clone(self);
        vec![
            acting("heavy", json!({}), move |_, context| {
                let heavy = Arc::clone(&heavy);
                async move {
                    let work = move |_: &CallContext| {
                        heavy.work();
                        Ok(())
                    };
                    context.blocking(work).await?;
                    Ok(said("done"))
                }
            }),
            acting("light", json!({}), |_, context| async move {
                context.blocking(|_| Ok(said("light"))).await
            }),
        ]
    }
}

/// A server with keys for ann and bob.
fn server(limits: ServerLimits, tools: Vec<Arc<dyn AnyTool>>) -> Arc<McpServer> {
    let fixture = FixtureProvider::new();
    fixture.extra.lock().unwrap().extend(tools);
    let keys = vec![key("ann", &["*"]), key("bob", &["*"])];
    McpServer::new(ServerSetup { limits, keys, auth_required: true, ..setup(fixture) }).unwrap()
}

async fn wire(server: &Arc<McpServer>, name: &str) -> WireClient {
    let origin = origin(server, Some(&format!("{name}-token")));
    WireClient::legacy_as(server, "2025-11-25", json!({}), Some(origin)).await
}

fn caller(server: &McpServer, name: &str) -> Caller {
    let principal = server.identify(&CallerCredentials::token(&format!("{name}-token"))).unwrap();
    Caller { principal, via: ConnectionKind::Http, remote: None }
}

#[tokio::test]
async fn one_client_s_heavy_calls_leave_threads_for_another() {
    let (heavy, mut begins) = HeavyTool::new();
    let limits = ServerLimits { blocking_threads: 4, ..ServerLimits::default() };
    let server = server(limits, heavy.tools());
    let (mut ann, mut bob) = (wire(&server, "ann").await, wire(&server, "bob").await);
    let mut begun = Vec::new();
    for _ in 0..6 {
        begun.push(ann.begin("tools/call", json!({"name": "heavy"})).await);
    }
    for _ in 0..2 {
        begins.recv().await.unwrap();
    }
    // All of ann's calls have been accepted once this is answered.
    ann.ask("ping", json!({})).await;
    assert_eq!(text(&bob.call("light", json!({})).await), "light");
    assert!(bob.ask("resources/list", json!({})).await["result"].is_object());
    assert!(begins.try_recv().is_err(), "ann has more than half of the threads");
    heavy.let_go();
    for _ in &begun {
        assert_eq!(text(&ann.read().await), "done");
    }
    assert_eq!(text(&ann.call("light", json!({})).await), "light");
}

#[tokio::test]
async fn a_call_without_a_thread_in_time_says_when_to_retry() {
    let (heavy, mut begins) = HeavyTool::new();
    let tool_timeouts = [("light".to_owned(), Duration::from_millis(20))].into();
    let limits = ServerLimits { blocking_threads: 1, tool_timeouts, ..ServerLimits::default() };
    let server = server(limits, heavy.tools());
    let mut ann = wire(&server, "ann").await;
    let first = ann.begin("tools/call", json!({"name": "heavy"})).await;
    begins.recv().await.unwrap();
    let reply = ann.call("light", json!({})).await;
    assert_eq!(code(&reply), -32000, "{reply}");
    assert_eq!(reply["error"]["data"], json!({"retryAfter": 1, "retryAfterMs": 1000}), "{reply}");
    heavy.let_go();
    assert_eq!(text(&ann.answer(&first).await), "done");
    // Its thread is free shortly after the answer.
    while ann.call("light", json!({})).await["error"]["code"] == -32000 {}
}

#[tokio::test]
async fn a_thread_stays_taken_until_its_work_has_ended() {
    let (heavy, mut begins) = HeavyTool::new();
    let tool_timeouts = [("heavy".to_owned(), Duration::from_millis(1))].into();
    let limits = ServerLimits { blocking_threads: 1, tool_timeouts, ..ServerLimits::default() };
    let server = server(limits, heavy.tools());
    let (mut ann, mut bob) = (wire(&server, "ann").await, wire(&server, "bob").await);
    // The call is answered at its deadline; its work continues. On a busy machine a call may end before its work
    // begins.
    while begins.try_recv().is_err() {
        ann.call("heavy", json!({})).await;
    }
    let waits = bob.begin("tools/call", json!({"name": "light"})).await;
    bob.ask("ping", json!({})).await;
    assert!(bob.seen.is_empty(), "{:?}", bob.seen);
    heavy.let_go();
    assert_eq!(text(&bob.answer(&waits).await), "light");
}

/// Completes with another server's answer, once it arrives.
#[derive(Default)]
struct RemoteCompleter {
    asked: Notify,
    may_answer: Notify,
}

impl ToolProvider for RemoteCompleter {
    fn key(&self) -> &'static str {
        "remote"
    }

    fn needs_thread(&self) -> bool {
        false
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        let (uri_template, name) = ("far://{name}".into(), "far".into());
        vec![TemplateInfo { uri_template, name, ..TemplateInfo::default() }]
    }

    fn complete<'a>(&'a self, _: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        Box::pin(async {
            self.asked.notify_one();
            self.may_answer.notified().await;
            CompletionValues::from(vec!["x".to_owned()])
        })
    }
}

#[tokio::test]
async fn a_completion_that_waits_for_another_server_takes_no_thread() {
    let (heavy, _begins) = HeavyTool::new();
    let (fixture, remote) = (FixtureProvider::new(), Arc::new(RemoteCompleter::default()));
    fixture.extra.lock().unwrap().extend(heavy.tools());
    let local = Arc::clone(&fixture) as Arc<dyn ToolProvider>;
    let providers = vec![local, Arc::clone(&remote) as Arc<dyn ToolProvider>];
    let limits = ServerLimits { blocking_threads: 1, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { providers, limits, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let template = json!({"type": "ref/resource", "uri": "far://{name}"});
    let params = json!({"ref": template, "argument": {"name": "name", "value": ""}});
    let waits = wire.begin("completion/complete", params).await;
    remote.asked.notified().await;
    assert_eq!(text(&wire.call("light", json!({})).await), "light");
    remote.may_answer.notify_one();
    let reply = wire.answer(&waits).await;
    assert_eq!(reply["result"]["completion"]["values"], json!(["x"]), "{reply}");
}

#[tokio::test]
async fn a_clients_key_is_the_same_in_all_its_sessions() {
    let whose = acting("whose", json!({}), |_, context| async move {
        Ok(said(format!("{}/{}", context.client(), context.client_key())))
    });
    let server = server(ServerLimits::default(), vec![whose]);
    let mut names = Vec::new();
    for name in ["ann", "ann", "bob"] {
        let called = text(&wire(&server, name).await.call("whose", json!({})).await);
        let (client, key) = called.split_once('/').unwrap();
        names.push((client.to_owned(), key.to_owned()));
    }
    assert_ne!(names[0].0, names[1].0, "each session has a name of its own");
    assert_eq!(names[0].1, names[1].1);
    assert_ne!(names[1].1, names[2].1);
}

#[tokio::test]
async fn one_client_leaves_sessions_and_streams_for_another() {
    let server =
        server(ServerLimits { sessions: 4, streams: 8, ..ServerLimits::default() }, Vec::new());
    let (ann, bob) = (caller(&server, "ann"), caller(&server, "bob"));
    let mut sessions: Vec<_> = (0..2).map(|_| server.open_session(&ann).unwrap()).collect();
    let mut streams: Vec<_> = (0..4).map(|_| server.open_stream(&ann).unwrap()).collect();
    for overload in
        [server.open_session(&ann).err().unwrap(), server.open_stream(&ann).err().unwrap()]
    {
        assert!(overload.is_own_share && overload.retry_after > Duration::ZERO, "{overload:?}");
    }
    // From another address it is the same client.
    let elsewhere = Caller { remote: Some([10, 0, 0, 1].into()), ..ann.clone() };
    assert!(server.open_session(&elsewhere).is_err());
    let _of_bob = (server.open_session(&bob).unwrap(), server.open_stream(&bob).unwrap());
    drop((sessions.pop(), streams.pop()));
    assert!(server.open_session(&ann).is_ok() && server.open_stream(&ann).is_ok());
}

#[tokio::test]
async fn clients_without_a_key_are_distinguished_by_address() {
    let limits = ServerLimits { sessions: 4, ..ServerLimits::default() };
    let server = McpServer::new(ServerSetup { limits, ..setup(FixtureProvider::new()) }).unwrap();
    let principal = server.identify(&CallerCredentials::default()).unwrap();
    assert_eq!(principal.kind, PrincipalKind::Anonymous);
    let at = |address: [u8; 4]| Caller {
        principal: principal.clone(),
        via: ConnectionKind::Http,
        remote: Some(address.into()),
    };
    let greedy = at([10, 0, 0, 1]);
    let _held: Vec<_> = (0..2).map(|_| server.open_session(&greedy).unwrap()).collect();
    assert!(server.open_session(&greedy).err().unwrap().is_own_share);
    assert!(server.open_session(&at([10, 0, 0, 2])).is_ok());
}

#[tokio::test]
async fn one_client_leaves_subscriptions_for_another() {
    let server = server(ServerLimits { streams: 2, ..ServerLimits::default() }, Vec::new());
    let open = |name: &str| {
        WireClient::open_as(&server, Some(origin(&server, Some(&format!("{name}-token")))))
    };
    let (mut ann, mut bob) = (open("ann"), open("bob"));
    let mut params = modern(json!({}));
    params["notifications"] = json!({"toolsListChanged": true});
    ann.begin("subscriptions/listen", params.clone()).await;
    ann.notified("notifications/subscriptions/acknowledged").await;
    let reply = ann.ask("subscriptions/listen", params.clone()).await;
    assert_eq!(code(&reply), -32000, "{reply}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("streams_per_client"), "{reply}");
    assert_eq!(reply["error"]["data"]["retryAfterMs"], 5000, "{reply}");
    bob.begin("subscriptions/listen", params).await;
    bob.notified("notifications/subscriptions/acknowledged").await;
}

#[tokio::test]
async fn one_client_leaves_index_work_for_another() {
    let held: Arc<Mutex<Vec<ShareSlot>>> = Arc::default();
    let keep = Arc::clone(&held);
    let takes = acting("takes", json!({}), move |_, context| {
        let slot = context.index_slot();
        let got = slot.is_some();
        keep.lock().unwrap().extend(slot);
        async move { Ok(said(got.to_string())) }
    });
    let server = server(ServerLimits::default(), vec![takes]);
    let (mut ann, mut bob) = (wire(&server, "ann").await, wire(&server, "bob").await);
    while text(&ann.call("takes", json!({})).await) == "true" {}
    assert_eq!(text(&bob.call("takes", json!({})).await), "true");
    held.lock().unwrap().clear();
    assert_eq!(text(&ann.call("takes", json!({})).await), "true");
}

#[tokio::test]
async fn the_client_on_pipes_has_its_own_rate() {
    let rate = |requests| Some(RequestRate::per_minute(NonZeroU32::new(requests).unwrap()));
    for (stdio_rate, want) in [(None, 500), (rate(7), 7)] {
        let limits = ServerLimits { rate: rate(100), stdio_rate, ..ServerLimits::default() };
        let server =
            McpServer::new(ServerSetup { limits, ..setup(FixtureProvider::new()) }).unwrap();
        let principal = server.identify(&CallerCredentials::default()).unwrap();
        let passed = |via, remote| {
            let caller = Caller { principal: principal.clone(), via, remote };
            (0..500).filter(|_| server.admit(&caller).is_ok()).count()
        };
        assert_eq!(passed(ConnectionKind::Stdio, None), want);
        // A slow machine may earn one more while it counts.
        let network = passed(ConnectionKind::Http, Some([10, 0, 0, 1].into()));
        assert!((100..110).contains(&network), "{network}");
    }
}
