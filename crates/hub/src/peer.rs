//! The client's side of one connection: request ids, answers in any order, progress, requests of the server.

use crate::{
    ProtocolMode, ServerEvents, StreamOwner, TimeLimit,
    handshake::own_name,
    lenient,
    parts::CollectedParts,
    protocol_mode::{PLAIN_VERSION, STATELESS_VERSION},
    waiting,
};
use docent_dial::{ClientTransport, Outgoing, TransportEvent, TransportFailure, TransportListener};
use docent_tool::{Object, Progress};
use docent_traffic::{Direction, Tap, TrafficDetails, TrafficKind};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

/// Messages about ended requests that a server may send until the next request. A server that ignores cancellations
/// would otherwise keep docent busy forever.
const MAX_LATE_MESSAGES: u64 = 1000;

/// Characters of a server's message that are shown within another text, such as a log line.
const MAX_SHOWN_MESSAGE_CHARS: usize = 2000;

/// Why a request has no result. `Display` truncates a server's message; the field contains all of it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RequestError {
    /// The server answered with an error.
    #[error("{} ({code})", truncate_message(.message))]
    Rpc {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
        /// Its additional data.
        data: Option<Value>,
    },
    /// The request did not reach the server, or the answer did not come back.
    #[error(transparent)]
    Failed(#[from] TransportFailure),
    /// Neither an answer nor progress arrived within this time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// It reported progress, but no answer arrived within this time.
    #[error("progress reported, but no answer within {} s", .0.as_secs_f64())]
    OverLimit(Duration),
}

fn truncate_message(message: &str) -> Cow<'_, str> {
    match message.char_indices().nth(MAX_SHOWN_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}

/// One request.
#[derive(Default)]
pub struct PeerRequest {
    /// Its parameters.
    pub params: Object,
    /// Headers beyond those that follow from it.
    pub headers: Vec<(String, String)>,
    /// Receives progress. If set, the server is asked to report it.
    pub progress: Option<Box<dyn Fn(Progress) + Send + Sync>>,
    /// The timeout; progress restarts it.
    pub timeout: Option<Duration>,
    /// Restarts the timeout as well.
    pub activity: Arc<Notify>,
    /// The total time limit, whatever progress is reported.
    pub limit: Option<Arc<TimeLimit>>,
    /// Additional fields of its traffic record.
    pub more: TrafficDetails,
    /// Identifies the caller that messages on the stream of this request are about.
    pub caller: Option<u64>,
}

impl PeerRequest {
    /// Creates a request with these parameters and nothing else.
    pub fn new(params: Object) -> Self {
        Self { params, ..Self::default() }
    }
}

/// Receives the events of a line. Created first, because the line needs it.
pub(crate) struct PeerCore {
    pending: Mutex<HashMap<u64, PendingPeerRequest>>,
    /// Tasks that a call waits for, by the server's task id.
    tasks: Mutex<HashMap<String, FollowedTask>>,
    next: AtomicU64,
    /// Messages about requests that have ended, since the last request.
    late: AtomicU64,
    events: Arc<dyn ServerEvents>,
    closed: OnceLock<TransportFailure>,
    /// The server's name in traces.
    server: String,
    /// Records the messages.
    tap: Option<Tap>,
}

struct PendingPeerRequest {
    /// `None` once the request is answered, even if the server has more to send.
    reply: Option<oneshot::Sender<Result<Value, RequestError>>>,
    progress: Option<Box<dyn Fn(Progress) + Send + Sync>>,
    activity: Arc<Notify>,
    caller: Option<u64>,
    /// Whether the server was asked for a task.
    is_task: bool,
    /// The parts of an answer that have arrived.
    parts: Option<CollectedParts>,
}

impl PendingPeerRequest {
    /// Ends a request whose answer will not come. If parts arrived, they are its answer.
    fn fail(mut self, error: RequestError) {
        let parts = self.parts.take();
        self.answer(parts.map(CollectedParts::into_result).ok_or(error));
    }

    /// Sends the answer to the caller, once.
    fn answer(&mut self, answer: Result<Value, RequestError>) {
        if let Some(reply) = self.reply.take() {
            // The caller may have stopped waiting.
            drop(reply.send(answer));
        }
    }
}

/// A running task. It reports progress under the token of the request that started it, which is already answered.
struct FollowedTask {
    token: u64,
    progress: Box<dyn Fn(Progress) + Send + Sync>,
    activity: Arc<Notify>,
    done: f64,
}

/// The progress that a status notification of a task counts as: less than any step of its own.
const TASK_STATUS_STEP: f64 = 0.001;

impl PeerCore {
    fn tasks(&self) -> MutexGuard<'_, HashMap<String, FollowedTask>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps forwarding progress of a request that was answered with a task.
    fn follow_task(&self, token: u64, pending: &mut PendingPeerRequest, result: &Value) {
        let id = result.pointer("/task/taskId").and_then(Value::as_str);
        let Some(id) = id.filter(|_| pending.is_task) else { return };
        let Some(progress) = pending.progress.take() else { return };
        let heard = Arc::clone(&pending.activity);
        self.tasks()
            .insert(id.to_owned(), FollowedTask { token, progress, activity: heard, done: 0.0 });
    }

    /// Reports a task's status notification as progress of the call that waits for it.
    fn report_task_status(&self, params: &Value) {
        let mut tasks = self.tasks();
        let id = params.get("taskId").and_then(Value::as_str);
        let Some(task) = id.and_then(|id| tasks.get_mut(id)) else { return };
        task.activity.notify_one();
        let said = params.get("statusMessage").or_else(|| params.get("status"));
        let message = said.and_then(Value::as_str).unwrap_or_default().to_owned();
        task.done += TASK_STATUS_STEP;
        (task.progress)(Progress { done: task.done, total: None, message, extra: Object::new() });
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, PendingPeerRequest>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Traces and records a message that goes to the server.
    fn record_sent(&self, message: &Value, more: TrafficDetails) {
        tracing::debug!(target: "mcp::protocol", server = self.server, "[MCP →] {message}");
        if let Some(tap) = &self.tap {
            tap.record_value(Direction::Out, message, more);
        }
    }

    fn note(&self, kind: TrafficKind, text: &str, id: Option<&Value>) {
        if let Some(tap) = &self.tap {
            tap.note(kind, text, id);
        }
    }

    fn handle_message(&self, mut message: Value, request: Option<&Value>) {
        tracing::debug!(target: "mcp::protocol", server = self.server, "[MCP ←] {message}");
        if let Some(tap) = &self.tap {
            tap.record_value(Direction::In, &message, TrafficDetails::default());
        }
        lenient::normalize_message(&mut message);
        let Value::Object(fields) = &mut message else { return };
        let id = fields.get("id").filter(|id| !id.is_null()).cloned();
        if let Some(Value::String(method)) = fields.remove("method") {
            let params = fields.remove("params").unwrap_or_default();
            match id {
                Some(id) => self.events.on_request(id, &method, params, self.stream_of(request)),
                None if method == "notifications/progress" => self.progress(&params),
                None if method == "notifications/tasks/status" => self.report_task_status(&params),
                None => self.events.on_notification(&method, params, self.stream_of(request)),
            }
            return;
        }
        let id = id.as_ref().and_then(parse_id).unwrap_or_default();
        self.handle_response(id, fields.remove("error"), fields.remove("result"));
    }

    /// Handles the answer to a request, or a part of it. Answers to abandoned requests are dropped.
    fn handle_response(&self, id: u64, error: Option<Value>, result: Option<Value>) {
        let mut all = self.pending();
        let error = error.filter(|error| !error.is_null());
        if error.is_none()
            && let Some(part) = result.as_ref().filter(|result| CollectedParts::is_partial(result))
            && let Some(pending) = all.get_mut(&id)
        {
            pending.activity.notify_one();
            // Once the answer is too large, the rest is dropped.
            let is_full =
                pending.reply.is_some() && !pending.parts.get_or_insert_default().add(part.clone());
            if let Some(parts) = pending.parts.take_if(|_| is_full) {
                // It stays among the pending requests, so that it is cancelled at the server.
                pending.answer(Ok(parts.into_result()));
            }
            return;
        }
        let removed = all.remove(&id);
        drop(all);
        let Some(mut pending) = removed else { return self.count_late() };
        let reply = match (error, result) {
            (Some(error), _) => Err(parse_rpc_error(error)),
            (None, Some(result)) => {
                self.follow_task(id, &mut pending, &result);
                Ok(match pending.parts.take() {
                    Some(parts) => parts.finish(result),
                    None => result,
                })
            }
            (None, None) => {
                Err(TransportFailure::Malformed("neither a result nor an error".into()).into())
            }
        };
        pending.answer(reply);
    }

    fn stream_of(&self, request: Option<&Value>) -> StreamOwner {
        let Some(id) = request else { return StreamOwner::Shared };
        let caller =
            parse_id(id).and_then(|id| self.pending().get(&id).map(|pending| pending.caller));
        let Some(caller) = caller else {
            self.count_late();
            return StreamOwner::Abandoned;
        };
        caller.map_or(StreamOwner::Shared, StreamOwner::Caller)
    }

    /// Counts a message about a request that has ended, and ends the connection at the limit.
    fn count_late(&self) {
        if self.late.fetch_add(1, Ordering::Relaxed) != MAX_LATE_MESSAGES {
            return;
        }
        let failure = self.closed.get_or_init(|| {
            TransportFailure::Lost(format!(
                "it sent more than {MAX_LATE_MESSAGES} messages about requests that had ended"
            ))
        });
        self.fail_all(failure);
        self.events.on_overrun(failure);
    }

    fn progress(&self, params: &Value) {
        let Some(token) = params.get("progressToken").and_then(parse_id) else { return };
        let (pending, mut tasks) = (self.pending(), self.tasks());
        let field = |name: &str| params.get(name).and_then(Value::as_f64);
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (done, total) = (field("progress").unwrap_or(0.0), field("total"));
        let mut extra = params.as_object().cloned().unwrap_or_default();
        // The caller has its own token, and the message its own field.
        extra.retain(|name, _| name != "progressToken" && name != "message");
        let step = Progress { done, total, message, extra };
        if let Some(known) = pending.get(&token) {
            known.activity.notify_one();
            if let Some(tell) = &known.progress {
                tell(step);
            }
        } else if let Some(task) = tasks.values_mut().find(|task| task.token == token) {
            task.activity.notify_one();
            task.done = step.done.max(task.done);
            (task.progress)(step);
        } else {
            drop((pending, tasks));
            self.count_late();
        }
    }

    fn fail_all(&self, failure: &TransportFailure) {
        let all: Vec<PendingPeerRequest> =
            self.pending().drain().map(|(_, pending)| pending).collect();
        for pending in all {
            pending.fail(failure.clone().into());
        }
    }
}

impl TransportListener for PeerCore {
    fn event(&self, event: TransportEvent) {
        match event {
            TransportEvent::Message { message, request } => {
                self.handle_message(message, request.as_ref());
            }
            TransportEvent::Noise(text) => {
                self.note(TrafficKind::Noise, &text, None);
                self.events.on_noise(text);
            }
            TransportEvent::Lost { id, failure } => {
                self.note(TrafficKind::Lost, &failure.to_string(), Some(&id));
                let lost = parse_id(&id).and_then(|id| self.pending().remove(&id));
                if let Some(lost) = lost {
                    lost.fail(failure.into());
                }
            }
            TransportEvent::SessionLost => self.events.on_session_lost(),
            TransportEvent::Closed(failure) => {
                let failure = self.closed.get_or_init(|| failure);
                self.note(TrafficKind::Closed, &failure.to_string(), None);
                self.fail_all(failure);
                self.events.on_closed(failure);
            }
        }
    }
}

/// Our ids are numbers; some servers send them back as text.
fn parse_id(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

fn parse_rpc_error(mut error: Value) -> RequestError {
    let message = match error.get_mut("message").map(Value::take) {
        Some(Value::String(text)) => text,
        Some(other) if !other.is_null() => other.to_string(),
        _ => error.to_string(),
    };
    let code = error.get("code").and_then(Value::as_i64).unwrap_or(-32603);
    RequestError::Rpc { code, message, data: error.get_mut("data").map(Value::take) }
}

/// The server at the other end of a line.
pub struct DownstreamPeer {
    transport: Arc<dyn ClientTransport>,
    core: Arc<PeerCore>,
    era: OnceLock<ProtocolMode>,
    /// Capabilities announced to the server.
    pub(crate) capabilities: Value,
    /// Limits the answers that are being sent.
    answers: Arc<Semaphore>,
}

/// How long a server may take to acknowledge a shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// Answers to a server that may be waiting to be sent.
const MAX_PENDING_ANSWERS: usize = 64;

impl DownstreamPeer {
    /// Opens a line with `dial`, which gets the listener for its events. `server` is its name in traces, `capabilities`
    /// what it may request; `tap` records the messages.
    pub async fn open<F>(
        server: &str,
        hears: Arc<dyn ServerEvents>,
        capabilities: Value,
        tap: Option<Tap>,
        dial: impl FnOnce(Arc<dyn TransportListener>) -> F,
    ) -> Result<Self, TransportFailure>
    where
        F: Future<Output = Result<Arc<dyn ClientTransport>, TransportFailure>>,
    {
        let core = Arc::new(PeerCore {
            pending: Mutex::default(),
            tasks: Mutex::default(),
            next: AtomicU64::new(1),
            late: AtomicU64::new(0),
            events: hears,
            closed: OnceLock::new(),
            server: server.to_owned(),
            tap,
        });
        let line = dial(Arc::clone(&core) as Arc<dyn TransportListener>).await?;
        let answers = Arc::new(Semaphore::new(MAX_PENDING_ANSWERS));
        Ok(Self { transport: line, core, era: OnceLock::new(), capabilities, answers })
    }

    /// Returns why the line was closed, if it was.
    pub fn closed(&self) -> Option<&TransportFailure> {
        self.core.closed.get()
    }

    /// Returns the server's protocol mode, once it is known.
    pub fn era(&self) -> Option<&ProtocolMode> {
        self.era.get()
    }

    pub(crate) fn set_protocol(&self, era: &ProtocolMode) {
        self.transport.set_revision(era.version());
        if let Some(tap) = &self.core.tap {
            tap.speaks(era.version());
        }
        self.era.get_or_init(|| era.clone());
    }

    /// Sends a request and waits for the answer. Dropping the future cancels the request at the server.
    pub async fn request(&self, method: &str, request: PeerRequest) -> Result<Value, RequestError> {
        let PeerRequest {
            mut params,
            headers,
            progress,
            timeout: patience,
            activity: heard,
            limit,
            more,
            caller,
        } = request;
        let id = self.core.next.fetch_add(1, Ordering::Relaxed);
        self.core.late.store(0, Ordering::Relaxed);
        if progress.is_some() || self.era.get() == Some(&ProtocolMode::Stateless) {
            self.add_meta(&mut params, progress.is_some().then_some(id));
        }
        let (reply, answered) = oneshot::channel();
        let is_task = params.contains_key("task");
        let (reply, parts) = (Some(reply), None);
        let pending = PendingPeerRequest {
            reply,
            progress,
            activity: Arc::clone(&heard),
            caller,
            is_task,
            parts,
        };
        self.core.pending().insert(id, pending);
        let mut open = InFlight { peer: self, id, done: false, cancels: method != "initialize" };
        if let Some(failure) = self.core.closed.get() {
            open.done = true;
            self.core.pending().remove(&id);
            return Err(failure.clone().into());
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let sent = self.send(Outgoing { message, headers }, more);
        let sent = match patience {
            // A server that does not read must not block the caller.
            Some(patience) => tokio::time::timeout(patience, sent)
                .await
                .map_err(|_| RequestError::TimedOut(patience))?,
            None => sent.await,
        };
        if let Err(failure) = sent {
            open.done = true;
            self.core.pending().remove(&id);
            return Err(failure.into());
        }
        match waiting::wait_for_answer(answered, patience, &heard, limit.as_deref()).await {
            Ok(result) => {
                // If the answer was too large, the server has more to send.
                open.done = !self.core.pending().contains_key(&id);
                result
            }
            // The parts that arrived in time are the answer; the rest is cancelled.
            Err(error) => {
                let parts =
                    self.core.pending().get_mut(&id).and_then(|pending| pending.parts.take());
                parts.map(CollectedParts::into_result).ok_or(error)
            }
        }
    }

    fn add_meta(&self, params: &mut Object, token: Option<u64>) {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        let Value::Object(meta) = meta else { return };
        if let Some(token) = token {
            meta.insert("progressToken".into(), token.into());
        }
        if self.era.get() == Some(&ProtocolMode::Stateless) {
            for (key, value) in self.stateless_meta() {
                meta.entry(key).or_insert(value);
            }
        }
    }

    pub(crate) fn stateless_meta(&self) -> [(String, Value); 3] {
        [
            ("io.modelcontextprotocol/protocolVersion".into(), STATELESS_VERSION.into()),
            ("io.modelcontextprotocol/clientInfo".into(), own_name()),
            ("io.modelcontextprotocol/clientCapabilities".into(), self.capabilities.clone()),
        ]
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Object) -> Result<(), TransportFailure> {
        let message = if params.is_empty() {
            json!({"jsonrpc": "2.0", "method": method})
        } else {
            json!({"jsonrpc": "2.0", "method": method, "params": params})
        };
        self.send(message.into(), TrafficDetails::default()).await
    }

    async fn send(&self, outgoing: Outgoing, more: TrafficDetails) -> Result<(), TransportFailure> {
        self.core.record_sent(&outgoing.message, more);
        self.transport.send(outgoing).await
    }

    /// Acquires a permit to send an answer, if one is free.
    pub(crate) fn acquire_answer_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.answers).try_acquire_owned().ok()
    }

    /// Stops forwarding the progress of a task.
    pub(crate) fn forget_task(&self, id: &str) {
        self.core.tasks().remove(id);
    }

    /// Answers a request of the server.
    pub async fn answer(&self, id: Value, answer: Result<Value, RequestError>) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(RequestError::Rpc { code, message, data }) => {
                let mut error = json!({"code": code, "message": message});
                if let Some(data) = data {
                    error["data"] = data;
                }
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
            Err(other) => {
                let error = json!({"code": -32603, "message": other.to_string()});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        if let Err(failure) = self.send(message.into(), TrafficDetails::default()).await {
            tracing::debug!(%failure, "failed to send an answer to the server");
        }
    }

    /// Closes the connection. A server of the plain dialect is asked to shut down first.
    pub async fn close(&self) {
        let is_plain = self.era.get().is_some_and(|era| era.version() == PLAIN_VERSION);
        if is_plain && self.closed().is_none() {
            let request = PeerRequest { timeout: Some(SHUTDOWN_TIMEOUT), ..PeerRequest::default() };
            if let Err(error) = self.request("shutdown", request).await {
                tracing::debug!(server = self.core.server, %error, "the server did not acknowledge the shutdown");
            }
        }
        self.transport.close().await;
        let failure = TransportFailure::Lost("docent closed the connection".into());
        self.core.fail_all(self.core.closed.get_or_init(|| failure));
    }
}

/// A request that waits for its answer. If dropped, it is cancelled at the server.
struct InFlight<'a> {
    peer: &'a DownstreamPeer,
    id: u64,
    done: bool,
    cancels: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        self.peer.core.tasks().retain(|_, task| task.token != self.id);
        if self.peer.core.pending().remove(&self.id).is_none() || !self.cancels {
            return;
        }
        let (line, id) = (Arc::clone(&self.peer.transport), self.id);
        let core = Arc::clone(&self.peer.core);
        let notify =
            self.peer.era.get() != Some(&ProtocolMode::Stateless) || !line.cancels_by_closing();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            line.abandon(&id.into());
            if !notify {
                return;
            }
            let params =
                json!({"requestId": id, "reason": "the caller no longer waits for the answer"});
            let message =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            core.record_sent(&message, TrafficDetails::default());
            if let Err(failure) = line.send(message.into()).await {
                tracing::debug!(%failure, "failed to send a cancellation to the server");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_shown_in_part_and_kept_whole() {
        let check = |said: &str, want: &str| {
            let error = parse_rpc_error(json!({"code": -1, "message": said}));
            assert_eq!(error.to_string(), want);
            let RequestError::Rpc { message, .. } = error else { panic!("{error}") };
            assert_eq!(message, said);
        };
        let most = "\u{fc}".repeat(MAX_SHOWN_MESSAGE_CHARS);
        check("no", "no (-1)");
        check(&most, &format!("{most} (-1)"));
        check(&format!("{most}\u{fc}no"), &format!("{most}… (-1)"));
    }
}
