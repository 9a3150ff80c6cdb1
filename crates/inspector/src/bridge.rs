//! The page's connection to a server: a WebSocket at one end, a [`ClientTransport`] at the other. Messages pass unchanged.

use crate::{InspectorTarget, State, TargetConnection};
use axum::{
    extract::{
        FromRequestParts, Query, Request,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    response::{IntoResponse, Response},
};
use docent_dial::{ClientTransport, Outgoing, TransportEvent, TransportFailure, TransportListener};
use docent_traffic::{ConnectionInfo, Direction, Hop, Tap, TrafficDetails, TrafficKind};
use futures::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};
use tokio::sync::{Notify, mpsc};

/// Messages queued for the page; a page that falls further behind is disconnected.
const PAGE_QUEUE_CAPACITY: usize = 4096;
/// Messages queued for the server.
const SERVER_QUEUE_CAPACITY: usize = 256;
/// Maximum bytes of one message from the page.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// How often a program's standard error is polled.
const STDERR_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long a server may take to start.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
pub(crate) struct BridgeQuery {
    target: Option<String>,
    agreed: Option<String>,
}

pub(crate) async fn upgrade(
    state: State,
    Query(wish): Query<BridgeQuery>,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(refused) => return refused.into_response(),
    };
    upgrade.max_message_size(MAX_MESSAGE_BYTES).on_upgrade(move |socket| run(state, wish, socket))
}

/// The requested target, if it may be opened.
fn choose(targets: Vec<InspectorTarget>, wish: &BridgeQuery) -> Result<InspectorTarget, String> {
    let mut all = targets.into_iter();
    let chosen = match &wish.target {
        Some(name) => all.find(|target| target.name == *name),
        None => all.next(),
    };
    let chosen = chosen.ok_or("no such server is configured; choose another one")?;
    if chosen.asks && wish.agreed.is_none() {
        return Err(format!("confirm first that `{}` may be started", chosen.way));
    }
    Ok(chosen)
}

async fn run(state: State, wish: BridgeQuery, socket: WebSocket) {
    let (mut sink, mut frames) = socket.split();
    let (to_page, mut from_server) = mpsc::channel::<Value>(PAGE_QUEUE_CAPACITY);
    let opened = match choose(state.backend.targets(), &wish) {
        Ok(target) => open(&state, &target, to_page.clone()).await,
        Err(why) => Err(why),
    };
    let (bridge, mut stderr) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            // The page may already be gone.
            drop(sink.send(text(&json!({"closed": why}))).await);
            drop(sink.close().await);
            return;
        }
    };
    let (asked, asking) = mpsc::channel(SERVER_QUEUE_CAPACITY);
    let sending = tokio::spawn(Arc::clone(&bridge).send_all(asking, to_page));
    let mut looks = tokio::time::interval(STDERR_POLL_INTERVAL);
    loop {
        let said = tokio::select! {
            frame = frames.next() => match frame {
                Some(Ok(Message::Text(frame))) => match serde_json::from_str(&frame) {
                    Ok(message) => match asked.try_send(message) {
                        Ok(()) => continue,
                        Err(_) => json!({"closed": "the server does not read its input"}),
                    },
                    Err(error) => json!({"noise": format!("the page sent invalid JSON: {error}")}),
                },
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
            },
            Some(said) = from_server.recv() => said,
            () = bridge.events.page_overflow.notified() => {
                json!({"closed": "the page is too slow for the server's messages"})
            }
            _ = looks.tick() => {
                let Some(more) = &mut stderr else { continue };
                for line in more() {
                    bridge.events.send_to_page(json!({"stderr": line}));
                }
                continue;
            }
        };
        let last = said.get("closed").is_some();
        if sink.send(text(&said)).await.is_err() || last {
            break;
        }
    }
    sending.abort();
    bridge.line.close().await;
    drop(sink.close().await);
}

fn text(value: &Value) -> Message {
    Message::Text(value.to_string().into())
}

type Stderr = Option<Box<dyn FnMut() -> Vec<String> + Send>>;

async fn open(
    state: &State,
    target: &InspectorTarget,
    page_sender: mpsc::Sender<Value>,
) -> Result<(Arc<Bridge>, Stderr), String> {
    let (behind, line, tap, openings) = Default::default();
    let ear = Arc::new(BridgeEvents { page_sender, page_overflow: behind, line, tap, openings });
    let opening = state.backend.open(target, Arc::clone(&ear) as Arc<dyn TransportListener>);
    let TargetConnection { line, via, stderr } =
        tokio::time::timeout(CONNECT_TIMEOUT, opening).await.map_err(|_| {
            format!("the server did not start within {} s", CONNECT_TIMEOUT.as_secs())
        })??;
    let peer = target.name.clone();
    let tap =
        via.map(|via| state.traffic.connection(ConnectionInfo { hop: Hop::Server, peer, via }));
    ear.line.get_or_init(|| Arc::downgrade(&line));
    if let Some(tap) = tap {
        ear.tap.get_or_init(|| tap);
    }
    Ok((Arc::new(Bridge { line, events: ear }), stderr))
}

/// Forwards the page's messages to the server.
struct Bridge {
    line: Arc<dyn ClientTransport>,
    events: Arc<BridgeEvents>,
}

impl Bridge {
    async fn send_all(
        self: Arc<Self>,
        mut asking: mpsc::Receiver<Value>,
        page_sender: mpsc::Sender<Value>,
    ) {
        while let Some(message) = asking.recv().await {
            let id = message.get("id").cloned();
            if let Err(failure) = self.send(message).await
                && let Some(id) = id
            {
                self.events.report_lost(&id, &failure);
            }
            if page_sender.is_closed() {
                return;
            }
        }
    }

    async fn send(&self, message: Value) -> Result<(), TransportFailure> {
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        match (method, message.get("id")) {
            ("initialize" | "server/discover", Some(id)) => self.events.opens(id, method),
            ("notifications/cancelled", None) => {
                if let Some(id) = message.pointer("/params/requestId") {
                    self.line.abandon(id);
                }
                // Where closing the stream cancels, no message is needed.
                if self.events.is_stateless() && self.line.cancels_by_closing() {
                    return Ok(());
                }
            }
            _ => {}
        }
        if let Some(tap) = self.events.tap.get() {
            tap.record_value(Direction::Out, &message, TrafficDetails::default());
        }
        self.line.send(Outgoing::from(message)).await
    }
}

/// The revision without sessions.
const STATELESS_REVISION: &str = "2026-07-28";

/// Receives the server's messages and events.
struct BridgeEvents {
    page_sender: mpsc::Sender<Value>,
    /// Signals that the page is too far behind.
    page_overflow: Notify,
    /// Set once the connection is open; the server may send messages before.
    line: OnceLock<Weak<dyn ClientTransport>>,
    tap: OnceLock<Tap>,
    openings: Mutex<PendingHandshakes>,
}

/// Pending handshakes, whose responses determine the protocol revision.
#[derive(Default)]
struct PendingHandshakes {
    /// Requests by the text of their id, and whether they use the revision without sessions.
    asked: HashSet<(String, bool)>,
    stateless: bool,
}

impl BridgeEvents {
    fn send_to_page(&self, said: Value) {
        // A dropped message cannot be recovered, so the page is disconnected.
        if self.page_sender.try_send(said).is_err() {
            self.page_overflow.notify_one();
        }
    }

    fn openings(&self) -> MutexGuard<'_, PendingHandshakes> {
        self.openings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opens(&self, id: &Value, method: &str) {
        self.openings().asked.insert((id.to_string(), method == "server/discover"));
    }

    fn is_stateless(&self) -> bool {
        self.openings().stateless
    }

    /// The revision that a response determines, if any.
    fn settle_revision(&self, message: &Value) -> Option<String> {
        let (id, result) = (message.get("id")?.to_string(), message.get("result")?);
        let mut openings = self.openings();
        let stateless =
            [false, true].into_iter().find(|kind| openings.asked.remove(&(id.clone(), *kind)))?;
        openings.stateless = stateless;
        if stateless {
            return Some(STATELESS_REVISION.to_owned());
        }
        result.get("protocolVersion")?.as_str().map(str::to_owned)
    }

    fn report_lost(&self, id: &Value, failure: &TransportFailure) {
        if let Some(tap) = self.tap.get() {
            tap.note(TrafficKind::Lost, &failure.to_string(), Some(id));
        }
        self.send_to_page(json!({"lost": {"id": id, "why": failure.to_string()}}));
    }
}

impl TransportListener for BridgeEvents {
    fn event(&self, event: TransportEvent) {
        let tap = self.tap.get();
        let note = |kind, text: &str| {
            if let Some(tap) = tap {
                tap.note(kind, text, None);
            }
        };
        match event {
            TransportEvent::Message { message, .. } => {
                if let Some(version) = self.settle_revision(&message)
                    && let Some(line) = self.line.get().and_then(Weak::upgrade)
                {
                    line.set_revision(&version);
                }
                if let Some(tap) = tap {
                    tap.record_value(Direction::In, &message, TrafficDetails::default());
                }
                self.send_to_page(json!({"m": message}));
            }
            TransportEvent::Noise(text) => {
                note(TrafficKind::Noise, &text);
                self.send_to_page(json!({"noise": text}));
            }
            TransportEvent::Lost { id, failure } => self.report_lost(&id, &failure),
            TransportEvent::SessionLost => self.send_to_page(json!({"session": "lost"})),
            TransportEvent::Closed(failure) => {
                note(TrafficKind::Closed, &failure.to_string());
                self.send_to_page(json!({"closed": failure.to_string()}));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, asks: bool) -> InspectorTarget {
        InspectorTarget { name: name.into(), kind: "server", way: format!("run {name}"), asks }
    }

    #[test]
    fn a_target_that_needs_confirmation_is_opened_only_with_it() {
        let all = || vec![target("first", false), target("second", true)];
        let wish = |name: Option<&str>, agreed: bool| BridgeQuery {
            target: name.map(str::to_owned),
            agreed: agreed.then(String::new),
        };
        let chosen = |wish: &BridgeQuery| choose(all(), wish).map(|target| target.name);
        assert_eq!(chosen(&wish(None, false)).as_deref(), Ok("first"));
        assert_eq!(chosen(&wish(Some("second"), true)).as_deref(), Ok("second"));
        assert!(chosen(&wish(Some("second"), false)).is_err_and(|why| why.contains("run second")));
        assert!(chosen(&wish(Some("third"), true)).is_err());
    }

    #[test]
    fn responses_determine_the_revision() {
        let (page_sender, _receiver) = mpsc::channel(1);
        let (behind, line, tap, openings) = Default::default();
        let ear = BridgeEvents { page_sender, page_overflow: behind, line, tap, openings };
        ear.opens(&json!(1), "initialize");
        ear.opens(&json!("1"), "server/discover");
        let initialized = json!({"id": 1, "result": {"protocolVersion": "2024-11-05"}});
        assert_eq!(ear.settle_revision(&json!({"id": 2, "result": {}})), None);
        assert_eq!(ear.settle_revision(&initialized).as_deref(), Some("2024-11-05"));
        assert_eq!(ear.settle_revision(&initialized), None, "once");
        assert!(!ear.is_stateless());
        assert_eq!(
            ear.settle_revision(&json!({"id": "1", "result": {}})).as_deref(),
            Some("2026-07-28")
        );
        assert!(ear.is_stateless());
    }
}
