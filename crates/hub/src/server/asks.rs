//! What a server asks: passed on to the client whose call it is about.

use super::{Downstream, locked};
use crate::{Peer, RequestError};
use docent_tool::{Ask, CallContext, Level, Object};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::mpsc;

/// Questions of one call that wait to be asked.
const WAITING: usize = 16;
/// Lines of logs that wait to be told.
const MOST_LINES: usize = 64;

/// A question of a server, and where its answer goes.
pub(crate) struct Question {
    pub(crate) ask: Ask,
    peer: Arc<Peer>,
    id: Value,
}

impl Question {
    pub(crate) async fn answer(self, answer: Result<Value, RequestError>) {
        self.peer.answer(self.id, answer).await;
    }
}

/// The calls that are open at a server. A question of the server names no call, so it goes to the newest, and to nobody
/// where calls of several clients are open: an answer of one client must not reach another's call.
#[derive(Default)]
pub(crate) struct Asks {
    next: AtomicU64,
    open: Arc<Mutex<Vec<Slot>>>,
}

struct Slot {
    number: u64,
    client: String,
    /// Its client is gone for a while, and comes back with an answer.
    away: bool,
    questions: mpsc::Sender<Question>,
    context: Arc<Mutex<CallContext>>,
}

/// A call that can be asked, until it is dropped.
pub(crate) struct Asked {
    number: u64,
    open: Arc<Mutex<Vec<Slot>>>,
    pub(crate) questions: mpsc::Receiver<Question>,
}

impl Asked {
    /// Tells this call from all others.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Nobody is at the call for now. It still counts: a question may be about it.
    pub(crate) fn leave(&self) {
        let mut open = locked(&self.open);
        if let Some(slot) = open.iter_mut().find(|slot| slot.number == self.number) {
            slot.away = true;
        }
    }

    /// Somebody is at the call again.
    pub(crate) fn come_back(&self) {
        let mut open = locked(&self.open);
        if let Some(slot) = open.iter_mut().find(|slot| slot.number == self.number) {
            slot.away = false;
            slot.client = locked(&slot.context).client().to_owned();
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        locked(&self.open).retain(|slot| slot.number != self.number);
    }
}

impl Asks {
    pub(crate) fn enter(&self, context: &Arc<Mutex<CallContext>>) -> Asked {
        let (sender, questions) = mpsc::channel(WAITING);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let client = locked(context).client().to_owned();
        let context = Arc::clone(context);
        let slot = Slot { number, client, away: false, questions: sender, context };
        locked(&self.open).push(slot);
        Asked { number, open: Arc::clone(&self.open), questions }
    }

    /// The one client whose calls are open, and its newest call.
    fn caller(&self) -> Result<Option<Caller>, SeveralClients> {
        let open = locked(&self.open);
        let Some(newest) = open.last() else { return Ok(None) };
        if open.iter().any(|slot| slot.client != newest.client) {
            return Err(SeveralClients);
        }
        if newest.away {
            return Ok(None);
        }
        Ok(Some((newest.questions.clone(), Arc::clone(&newest.context))))
    }
}

/// Where questions of one call go, and what it is run with.
type Caller = (mpsc::Sender<Question>, Arc<Mutex<CallContext>>);

struct SeveralClients;

fn refusal(code: i64, message: impl Into<String>) -> RequestError {
    RequestError::Rpc { code, message: message.into(), data: None }
}

impl Downstream {
    pub(crate) fn asked(self: &Arc<Self>, peer: Arc<Peer>, id: Value, method: &str, params: Value) {
        let ask = match method {
            "ping" => return reply(peer, id, Ok(json!({}))),
            "sampling/createMessage" => Ask::Sample(params),
            "elicitation/create" => Ask::Elicit(params),
            "roots/list" => Ask::Roots,
            other => {
                return reply(peer, id, Err(refusal(-32601, format!("Method not found: {other}"))));
            }
        };
        let is_roots = ask == Ask::Roots;
        let caller = match self.asks.caller() {
            Ok(Some((caller, _))) => caller,
            Ok(None) | Err(SeveralClients) if is_roots => {
                return reply(peer, id, Ok(self.own_roots()));
            }
            Ok(None) => {
                let told =
                    format!("nobody can be asked: no call is open that {method} could be about");
                return reply(peer, id, Err(refusal(-32600, told)));
            }
            Err(SeveralClients) => {
                let told = format!(
                    "nobody can be asked: calls of several clients are open, and {method} names none"
                );
                return reply(peer, id, Err(refusal(-32600, told)));
            }
        };
        let question = Question { ask, peer, id };
        if let Err(
            mpsc::error::TrySendError::Full(lost) | mpsc::error::TrySendError::Closed(lost),
        ) = caller.try_send(question)
        {
            reply(lost.peer, lost.id, Err(refusal(-32600, "too many questions are open")));
        }
    }

    /// What a server is told of folders when no client can be asked.
    pub(crate) fn own_roots(&self) -> Value {
        let roots: Vec<Value> = self.spec.roots.iter().map(|uri| json!({"uri": uri})).collect();
        json!({"roots": roots})
    }

    /// A line of the server's log: to the client whose call is open, or to all that listen.
    pub(crate) fn said(&self, params: &Value) {
        let rest = params.as_object().into_iter().flatten();
        let rest = rest.filter(|(name, _)| !["level", "logger", "data"].contains(&name.as_str()));
        let extra: Object = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        let level = level(params.get("level").and_then(Value::as_str).unwrap_or("info"));
        let own = params.get("logger").and_then(Value::as_str);
        let logger =
            own.map_or_else(|| self.name().to_owned(), |own| format!("{}/{own}", self.name()));
        let data = params.get("data").cloned().unwrap_or_default();
        if let Ok(Some((_, context))) = self.asks.caller() {
            return locked(&context).relay(level, &logger, data, extra);
        }
        // Lines must not crowd out changes, which wait in the same line.
        if self.shared.changes.len() >= MOST_LINES {
            return;
        }
        let provider = self.name().to_owned();
        self.tell(docent_tool::Change::Said { provider, level, logger, data, extra });
    }
}

fn reply(peer: Arc<Peer>, id: Value, answer: Result<Value, RequestError>) {
    // A server that asks and does not read the answers gets no more of them.
    if let Some(turn) = peer.turn_to_answer() {
        tokio::spawn(async move {
            peer.answer(id, answer).await;
            drop(turn);
        });
    }
}

const LEVELS: [(&str, Level); 8] = [
    ("debug", Level::Debug),
    ("info", Level::Info),
    ("notice", Level::Notice),
    ("warning", Level::Warning),
    ("error", Level::Error),
    ("critical", Level::Critical),
    ("alert", Level::Alert),
    ("emergency", Level::Emergency),
];

fn level(name: &str) -> Level {
    LEVELS.iter().find(|(known, _)| *known == name).map_or(Level::Info, |(_, level)| *level)
}

/// The protocol's word for a level.
pub(crate) fn level_name(level: Level) -> &'static str {
    LEVELS.iter().find(|(_, known)| *known == level).map_or("info", |(name, _)| *name)
}
