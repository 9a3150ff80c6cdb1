//! Requests of a server, forwarded to the client whose call they are about.

use super::{DownstreamServer, locked};
use crate::{DownstreamPeer, RequestError, StreamOwner};
use docent_tool::{CallContext, ClientQuery, Object, SyslogLevel};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Questions of one call that may be queued.
const MAX_QUEUED_QUESTIONS: usize = 16;
/// Log lines that may be queued.
const MAX_QUEUED_LOG_LINES: usize = 64;

/// A question of a server, and where to send its answer.
pub(crate) struct ServerQuestion {
    pub(crate) ask: ClientQuery,
    from: Arc<QuestionOrigin>,
}

struct QuestionOrigin {
    peer: Arc<DownstreamPeer>,
    id: Value,
    /// Cancelled when the server withdraws the question.
    withdrawn: CancellationToken,
}

impl ServerQuestion {
    pub(crate) async fn answer(self, answer: Result<Value, RequestError>) {
        let QuestionOrigin { peer, id, withdrawn: taken_back } = &*self.from;
        if !taken_back.is_cancelled() {
            peer.answer(id.clone(), answer).await;
        }
    }

    pub(crate) fn is_withdrawn(&self) -> bool {
        self.from.withdrawn.is_cancelled()
    }

    /// Waits until the server withdraws the question.
    pub(crate) async fn wait_withdrawn(&self) {
        self.from.withdrawn.cancelled().await;
    }
}

/// The open calls of a server. A question goes to the call on whose stream it came. If the transport has a single
/// stream, the question goes to the newest call, or is refused while several clients have open calls, because it must
/// not reach the wrong client.
#[derive(Default)]
pub(crate) struct OpenCalls {
    next: AtomicU64,
    open: Arc<Mutex<Vec<OpenCallSlot>>>,
    /// Questions that the server may still withdraw.
    unanswered: Mutex<Vec<Weak<QuestionOrigin>>>,
}

struct OpenCallSlot {
    number: u64,
    client: String,
    /// Its client has left for now and comes back with an answer.
    away: bool,
    questions: mpsc::Sender<ServerQuestion>,
    context: Arc<Mutex<CallContext>>,
}

/// An open call that can receive questions, until it is dropped.
pub(crate) struct OpenCallGuard {
    number: u64,
    open: Arc<Mutex<Vec<OpenCallSlot>>>,
    pub(crate) questions: mpsc::Receiver<ServerQuestion>,
}

impl OpenCallGuard {
    /// Identifies this call.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Marks the client as away. The call still counts, because a question may be about it.
    pub(crate) fn mark_away(&self) {
        let mut open = locked(&self.open);
        if let Some(slot) = open.iter_mut().find(|slot| slot.number == self.number) {
            slot.away = true;
        }
    }

    /// Marks the client as present again.
    pub(crate) fn mark_present(&self) {
        let mut open = locked(&self.open);
        if let Some(slot) = open.iter_mut().find(|slot| slot.number == self.number) {
            slot.away = false;
            slot.client = locked(&slot.context).client().to_owned();
        }
    }
}

impl Drop for OpenCallGuard {
    /// Moves pending questions to another call of the same client, since a question on a shared stream was assigned to
    /// the newest call by assumption only. Without another call, they are refused.
    fn drop(&mut self) {
        let mut open = locked(&self.open);
        let own = open.iter().position(|slot| slot.number == self.number);
        let client = own.map(|at| open.remove(at).client);
        while let Ok(question) = self.questions.try_recv() {
            let is_next =
                |slot: &&OpenCallSlot| !slot.away && Some(&slot.client) == client.as_ref();
            let next = open.iter().rev().find(is_next).map(|slot| slot.questions.clone());
            let refused = match next {
                Some(next) => next.try_send(question).err().map(|error| match error {
                    mpsc::error::TrySendError::Full(question)
                    | mpsc::error::TrySendError::Closed(question) => question,
                }),
                None => Some(question),
            };
            if let Some(ServerQuestion { from, .. }) = refused {
                let error = rpc_error(-32600, "no client can answer: the call has ended");
                if tokio::runtime::Handle::try_current().is_ok() {
                    reply(Arc::clone(&from.peer), from.id.clone(), Err(error));
                }
            }
        }
    }
}

impl OpenCalls {
    pub(crate) fn open_call(&self, context: &Arc<Mutex<CallContext>>) -> OpenCallGuard {
        let (sender, questions) = mpsc::channel(MAX_QUEUED_QUESTIONS);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let client = locked(context).client().to_owned();
        let context = Arc::clone(context);
        let slot = OpenCallSlot { number, client, away: false, questions: sender, context };
        locked(&self.open).push(slot);
        OpenCallGuard { number, open: Arc::clone(&self.open), questions }
    }

    /// Finds the call that a message on this stream is about.
    fn target_of(&self, stream: StreamOwner) -> QuestionTarget {
        let open = locked(&self.open);
        let slot = match stream {
            StreamOwner::Caller(number) => open.iter().find(|slot| slot.number == number),
            StreamOwner::Shared if open.is_empty() => return QuestionTarget::NoCall,
            StreamOwner::Shared => {
                let newest = open.last();
                if open.iter().any(|slot| newest.is_some_and(|one| one.client != slot.client)) {
                    return QuestionTarget::SeveralClients;
                }
                newest
            }
            StreamOwner::Abandoned => None,
        };
        match slot.filter(|slot| !slot.away) {
            Some(slot) => QuestionTarget::Call(slot.questions.clone(), Arc::clone(&slot.context)),
            None => QuestionTarget::ClientAway,
        }
    }

    fn track_question(&self, asker: &Arc<QuestionOrigin>) {
        let mut unanswered = locked(&self.unanswered);
        unanswered.retain(|one| one.strong_count() > 0);
        unanswered.push(Arc::downgrade(asker));
    }

    /// Withdraws a question.
    pub(crate) fn withdraw(&self, peer: &Arc<DownstreamPeer>, id: &Value) {
        let is_meant = |one: &Arc<QuestionOrigin>| Arc::ptr_eq(&one.peer, peer) && one.id == *id;
        let unanswered = locked(&self.unanswered);
        if let Some(asker) = unanswered.iter().filter_map(Weak::upgrade).find(is_meant) {
            asker.withdrawn.cancel();
        }
    }
}

/// Which call a question or a log line is about.
enum QuestionTarget {
    /// This call: its queue of questions and its context.
    Call(mpsc::Sender<ServerQuestion>, Arc<Mutex<CallContext>>),
    /// Ambiguous: several clients have open calls.
    SeveralClients,
    /// A call whose client is away.
    ClientAway,
    /// No call is open.
    NoCall,
}

fn rpc_error(code: i64, message: impl Into<String>) -> RequestError {
    RequestError::Rpc { code, message: message.into(), data: None }
}

impl DownstreamServer {
    pub(crate) fn handle_request(
        self: &Arc<Self>,
        peer: Arc<DownstreamPeer>,
        id: Value,
        method: &str,
        params: Value,
        stream: StreamOwner,
    ) {
        let ask = match method {
            "ping" => return reply(peer, id, Ok(json!({}))),
            "sampling/createMessage" => ClientQuery::Sample(params),
            "elicitation/create" => ClientQuery::Elicit(params),
            "roots/list" => ClientQuery::Roots,
            other => {
                return reply(
                    peer,
                    id,
                    Err(rpc_error(-32601, format!("Method not found: {other}"))),
                );
            }
        };
        let (caller, context) = match self.open_calls.target_of(stream) {
            QuestionTarget::Call(caller, context) => (caller, context),
            _ if ask == ClientQuery::Roots => return reply(peer, id, Ok(self.own_roots())),
            QuestionTarget::NoCall | QuestionTarget::ClientAway => {
                let problem =
                    format!("no client can answer: no open call that {method} could be about");
                return reply(peer, id, Err(rpc_error(-32600, problem)));
            }
            QuestionTarget::SeveralClients => {
                let problem = format!(
                    "ambiguous request: calls of several clients are open, and {method} names none"
                );
                return reply(peer, id, Err(rpc_error(-32600, problem)));
            }
        };
        if let ClientQuery::Elicit(params) = &ask {
            self.pages.remember(params, &locked(&context));
        }
        let from = Arc::new(QuestionOrigin { peer, id, withdrawn: CancellationToken::new() });
        self.open_calls.track_question(&from);
        if let Err(
            mpsc::error::TrySendError::Full(lost) | mpsc::error::TrySendError::Closed(lost),
        ) = caller.try_send(ServerQuestion { ask, from })
        {
            let QuestionOrigin { peer, id, .. } = &*lost.from;
            let error = rpc_error(-32600, "too many questions are open");
            reply(Arc::clone(peer), id.clone(), Err(error));
        }
    }

    /// Returns the roots for when no client can be asked.
    pub(crate) fn own_roots(&self) -> Value {
        let roots: Vec<Value> = self.spec.roots.iter().map(|uri| json!({"uri": uri})).collect();
        json!({"roots": roots})
    }

    /// Forwards a log line to the client whose call it is about, or to all subscribers if no call is open. A line that
    /// may be about another client's call is dropped.
    pub(crate) fn forward_log(&self, params: &Value, stream: StreamOwner) {
        let rest = params.as_object().into_iter().flatten();
        let rest = rest.filter(|(name, _)| !["level", "logger", "data"].contains(&name.as_str()));
        let extra: Object = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        let level = level(params.get("level").and_then(Value::as_str).unwrap_or("info"));
        let own = params.get("logger").and_then(Value::as_str);
        let logger =
            own.map_or_else(|| self.name().to_owned(), |own| format!("{}/{own}", self.name()));
        let data = params.get("data").cloned().unwrap_or_default();
        match self.open_calls.target_of(stream) {
            QuestionTarget::Call(_, context) => {
                return locked(&context).relay(level, &logger, data, extra);
            }
            QuestionTarget::SeveralClients | QuestionTarget::ClientAway => return,
            QuestionTarget::NoCall => {}
        }
        // Log lines must not crowd out changes, which share the queue.
        if self.shared.changes.len() >= MAX_QUEUED_LOG_LINES {
            return;
        }
        let provider = self.name().to_owned();
        self.publish_change(docent_tool::ProviderChange::Said {
            provider,
            level,
            logger,
            data,
            extra,
        });
    }
}

fn reply(peer: Arc<DownstreamPeer>, id: Value, answer: Result<Value, RequestError>) {
    // A server that sends requests without reading the answers gets no more answers.
    if let Some(turn) = peer.acquire_answer_permit() {
        tokio::spawn(async move {
            peer.answer(id, answer).await;
            drop(turn);
        });
    }
}

const LOG_LEVELS: [(&str, SyslogLevel); 8] = [
    ("debug", SyslogLevel::Debug),
    ("info", SyslogLevel::Info),
    ("notice", SyslogLevel::Notice),
    ("warning", SyslogLevel::Warning),
    ("error", SyslogLevel::Error),
    ("critical", SyslogLevel::Critical),
    ("alert", SyslogLevel::Alert),
    ("emergency", SyslogLevel::Emergency),
];

fn level(name: &str) -> SyslogLevel {
    LOG_LEVELS
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(SyslogLevel::Info, |(_, level)| *level)
}

/// The protocol's name of a level.
pub(crate) fn level_name(level: SyslogLevel) -> &'static str {
    LOG_LEVELS.iter().find(|(_, known)| *known == level).map_or("info", |(name, _)| *name)
}
