//! The client of a running call: sends progress, log messages and pieces of the answer, and asks questions.
#![expect(
    deprecated,
    reason = "the protocol marks logging, sampling and roots as going; older revisions keep them"
)]

mod pace;
mod progress;

use crate::{
    McpServer, Screening, approval,
    call::capability,
    convert,
    cursor::CursorCodec,
    nested::NestedCall,
    questions::{ClientWaitTime, PendingQuestion, QuestionTimer, TaskQuestion},
    request_caller::{self, RequestCaller},
    verbatim,
};
use docent_tool::{
    AnswerBlock, BoxedFuture, CallClient, CallStop, ClientQuery, InnerRound, InputNeeded, Object,
    Progress, ShareSlot, SyslogLevel, ToolError, ToolOutcome, WorkSlot,
};
use docent_wire::{Dialect, PARTIAL_METHOD};
use pace::ProgressPace;
use rmcp::{
    Peer, RoleServer, ServiceError,
    model::{
        ClientCapabilities, CustomNotification, CustomRequest, InputRequests, InputRequiredResult,
        InputResponses, LoggingMessageNotification, LoggingMessageNotificationParam, ProgressToken,
        RequestId, RequestMetaObject, ServerNotification, ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext},
    task_manager::TaskContext,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    future::{poll_fn, ready},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::Poll,
    time::Duration,
};
use tokio::sync::{Notify, SetOnce};
use tokio_util::sync::CancellationToken;

/// Maximum queued notifications. A client that reads slowly misses steps, and the tool never waits for it.
const MAX_QUEUED_NOTIFICATIONS: usize = 256;
/// How long a client may take to answer a question while the call waits.
pub(crate) const QUESTION_TIMEOUT: Duration = Duration::from_mins(5);
/// How long a client may take to answer a question that is part of a result.
const SEALED_QUESTION_TTL: Duration = Duration::from_hours(1);

/// The client of one request.
pub(crate) struct RemoteCallClient {
    this: Weak<RemoteCallClient>,
    server: Arc<McpServer>,
    caller: RequestCaller,
    client: Option<String>,
    name: String,
    client_key: String,
    cancel: CancellationToken,
    peer: Peer<RoleServer>,
    request: RequestId,
    meta: RequestMetaObject,
    token: Option<ProgressToken>,
    /// The minimum log level; `None` sends nothing.
    level: Option<SyslogLevel>,
    streams: bool,
    modern: bool,
    outbox: Mutex<VecDeque<ServerNotification>>,
    ready: Notify,
    notes: Mutex<CallNotes>,
    waits: Mutex<ClientWaitTime>,
    /// Set once the request has been answered with a task: from then on, questions go through the task, and extend the
    /// deadline by at most this, so that the call ends before its task does.
    task: OnceLock<(TaskContext, Duration)>,
    /// Set for all calls at once when the server shuts down.
    shutdown_requested: Arc<SetOnce<()>>,
    screening: Screening,
}

/// State of a call: progress, emitted pieces, questions and answers.
#[derive(Default)]
struct CallNotes {
    progress: Option<f64>,
    /// The total of the last progress step.
    total: Option<f64>,
    pace: ProgressPace<Progress>,
    emitted: Vec<AnswerBlock>,
    answers: BTreeMap<String, Value>,
    asked: Vec<(String, ClientQuery)>,
    state: Option<String>,
    /// Number of nested calls.
    nested: usize,
}

/// State kept by the client between the rounds of one call.
#[derive(Serialize, Deserialize, Default)]
struct RoundState {
    answers: BTreeMap<String, Value>,
    state: Option<String>,
    /// The keys of the questions, so that only those can be answered.
    #[serde(default)]
    asked: Vec<String>,
}

impl RemoteCallClient {
    /// Takes over a request of a session, which has a number. The level was set by `logging/setLevel`, in revisions
    /// that have it.
    pub(crate) fn new(
        context: RequestContext<RoleServer>,
        guest: &RequestCaller,
        session: u64,
        session_level: Option<SyslogLevel>,
        server: &Arc<McpServer>,
    ) -> Arc<Self> {
        let client = request_caller::client_name(&context);
        let RequestContext { peer, id, meta, ct: cancel, .. } = context;
        let modern = guest.is_modern();
        let level = if modern { meta.log_level().map(convert::level) } else { session_level };
        if let Some(level) = level.filter(|_| modern) {
            // Servers with sessions get a separate request for this.
            server.set_level(level);
        }
        let name = format!("{}#{session}", guest.principal().name);
        let client_key = guest.caller.client().to_string();
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            server: Arc::clone(server),
            caller: guest.clone(),
            client,
            name,
            client_key,
            cancel,
            token: meta.get_progress_token(),
            level,
            peer,
            request: id,
            meta,
            streams: guest.streams,
            modern,
            outbox: Mutex::default(),
            ready: Notify::new(),
            notes: Mutex::default(),
            waits: Mutex::default(),
            task: OnceLock::new(),
            shutdown_requested: Arc::clone(server.shutdown_requested()),
            screening: server.screening(),
        })
    }

    /// Adds the client's answers to earlier questions. `purpose` is what the state was sealed for.
    pub(crate) fn remember(
        &self,
        responses: Option<InputResponses>,
        sealed: Option<&str>,
        seal: &CursorCodec,
        purpose: &str,
    ) -> Result<(), crate::cursor::InvalidCursor> {
        if !self.modern || (responses.is_none() && sealed.is_none()) {
            return Ok(());
        }
        let carried: RoundState =
            sealed.map(|sealed| seal.open(sealed, purpose)).transpose()?.unwrap_or_default();
        let mut notes = self.notes();
        notes.answers = carried.answers;
        notes.state = carried.state;
        // A malformed answer counts as missing: the question is asked again.
        let was_asked = |key: &String| !approval::is_key(key) || carried.asked.contains(key);
        let answers = responses.into_iter().flatten();
        notes.answers.extend(answers.filter(|(key, answer)| answer.is_object() && was_asked(key)));
        Ok(())
    }

    /// Whether a call may be repeated with answers, so that its arguments are needed again.
    pub(crate) fn may_run_again(&self) -> bool {
        if self.modern {
            return request_caller::declares_tasks(&self.meta);
        }
        self.peer.peer_info().is_some_and(|info| {
            let able = &info.capabilities;
            able.sampling.is_some() || able.elicitation.is_some() || able.roots.is_some()
        })
    }

    /// Set once the server shuts down.
    pub(crate) fn shutdown_requested(&self) -> &SetOnce<()> {
        &self.shutdown_requested
    }

    fn notes(&self) -> MutexGuard<'_, CallNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<ServerNotification>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Discards what an earlier round emitted and asked.
    pub(crate) fn begin_round(&self) {
        let mut notes = self.notes();
        notes.emitted.clear();
        notes.asked.clear();
        notes.nested = 0;
    }

    /// The emitted pieces that have not been sent.
    pub(crate) fn take_emitted(&self) -> Vec<AnswerBlock> {
        std::mem::take(&mut self.notes().emitted)
    }

    /// From now on the client follows a task: this request sends nothing more. `patience` is how far questions may
    /// extend the deadline in total.
    pub(crate) fn follow(&self, task: TaskContext, patience: Duration) {
        // A request becomes a task only once.
        self.task.set((task, patience)).unwrap_or_default();
        self.notes().pace.take_last();
        self.queue().clear();
    }

    fn is_task(&self) -> bool {
        self.task.get().is_some()
    }

    fn push(&self, notification: ServerNotification) {
        if self.is_task() {
            return;
        }
        let mut queue = self.queue();
        if queue.len() >= MAX_QUEUED_NOTIFICATIONS {
            // The newest step replaces the previous one; other notifications are dropped.
            let is_step = |queued: &ServerNotification| {
                matches!(queued, ServerNotification::ProgressNotification(_))
            };
            match queue.iter_mut().rev().find(|queued| is_step(queued) && is_step(&notification)) {
                Some(last) => *last = notification,
                None => return,
            }
        } else {
            queue.push_back(notification);
        }
        drop(queue);
        self.ready.notify_one();
    }

    fn capabilities_announced(&self) -> Option<ClientCapabilities> {
        if self.modern {
            return self.meta.client_capabilities();
        }
        Some(self.peer.peer_info()?.capabilities.clone())
    }

    fn check_able(&self, ask: &ClientQuery) -> Result<(), ToolError> {
        let able = self.capabilities_announced().unwrap_or_default();
        let tools = |params: &Value| params.get("tools").is_some_and(|tools| !tools.is_null());
        let able = match ask {
            ClientQuery::Sample(params) if tools(params) && able.sampling.is_some() => {
                let able = able.sampling.is_some_and(|sampling| sampling.tools.is_some());
                let why = "the client does not support tools in sampling: it does not announce `sampling.tools`";
                return if able { Ok(()) } else { Err(ToolError::failed(why)) };
            }
            ClientQuery::Sample(_) => able.sampling.is_some(),
            ClientQuery::Elicit(_) => able.elicitation.is_some(),
            ClientQuery::Roots => able.roots.is_some(),
        };
        if able { Ok(()) } else { Err(ToolError::ClientLacks(capability(ask))) }
    }

    /// Whether the client can be asked while the call runs.
    pub(crate) fn answers_at_once(&self) -> bool {
        !self.modern || self.is_task()
    }

    /// Asks all questions concurrently and keeps the answers for the next round.
    pub(crate) async fn put(&self, needed: InputNeeded) -> Result<(), ToolError> {
        let put = |(key, ask): (String, ClientQuery)| {
            Box::pin(async move { self.answer(&key, ask).await.map(drop) })
        };
        let mut open: Vec<_> = needed.asks.into_iter().map(put).collect();
        poll_fn(|cx| {
            let mut failed = None;
            open.retain_mut(|question| match question.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(answered) => {
                    failed = failed.take().or(answered.err());
                    false
                }
            });
            match failed {
                Some(error) => Poll::Ready(Err(error)),
                None if open.is_empty() => Poll::Ready(Ok(())),
                None => Poll::Pending,
            }
        })
        .await?;
        let mut notes = self.notes();
        notes.state = needed.state.or(notes.state.take());
        Ok(())
    }

    async fn answer(&self, key: &str, mut ask: ClientQuery) -> Result<Value, ToolError> {
        if let Some(answer) = self.notes().answers.get(key) {
            return Ok(answer.clone());
        }
        self.check_able(&ask)?;
        self.screen(key, &mut ask)?;
        let answer = if let Some((task, _)) = self.task.get() {
            let request =
                convert::input_request(&ask).map_err(|error| ToolError::Bug(Box::new(error)))?;
            let _waiting = QuestionTimer::begin(&self.waits);
            let shown = TaskQuestion::new(self.server.tasks(), task.task_id(), key);
            let asked =
                tokio::time::timeout(QUESTION_TIMEOUT, task.request_input(key, request)).await;
            let answered = asked.map_err(|_| unanswered())?;
            let answer = answered.map_err(|_| ToolError::Stopped(CallStop::Cancelled))?;
            shown.answered();
            answer
        } else if self.modern {
            self.notes().asked.push((key.to_owned(), ask.clone()));
            return Err(ToolError::NeedsInput(InputNeeded {
                asks: vec![(key.to_owned(), ask)],
                state: None,
            }));
        } else {
            self.request(ask).await?
        };
        self.notes().answers.insert(key.to_owned(), answer.clone());
        Ok(answer)
    }

    /// An approval question is for a person, who must see the unredacted call; it makes hidden characters visible
    /// itself.
    fn screen(&self, key: &str, ask: &mut ClientQuery) -> Result<(), ToolError> {
        if approval::is_key(key) { Ok(()) } else { self.screening.question(ask) }
    }

    async fn request(&self, ask: ClientQuery) -> Result<Value, ToolError> {
        let (method, params) = convert::question(ask);
        let request = ServerRequest::CustomRequest(CustomRequest::new(method, params));
        let _waiting = QuestionTimer::begin(&self.waits);
        let asked = self
            .peer
            .send_request_with_option(request, PeerRequestOptions::with_timeout(QUESTION_TIMEOUT))
            .await;
        let answered = match asked {
            Ok(question) => {
                let open = PendingQuestion::new(&self.peer, &question.id);
                let answered = question.await_response().await;
                open.answered();
                answered
            }
            Err(error) => Err(error),
        };
        match answered {
            Ok(result) => {
                serde_json::to_value(result).map_err(|error| ToolError::Bug(Box::new(error)))
            }
            Err(ServiceError::McpError(error)) => Err(ToolError::failed(format!(
                "the client did not answer {method}: {}",
                error.message
            ))),
            Err(ServiceError::TransportClosed | ServiceError::Cancelled { .. }) => {
                Err(ToolError::Stopped(CallStop::Cancelled))
            }
            Err(error) => {
                Err(ToolError::failed(format!("cannot send {method} to the client: {error}")))
            }
        }
    }

    /// The result that carries questions to a client which answers by repeating the request.
    pub(crate) fn input_required(
        &self,
        needed: InputNeeded,
        seal: &CursorCodec,
        purpose: &str,
    ) -> Result<InputRequiredResult, ToolError> {
        let mut requests = InputRequests::new();
        let mut notes = self.notes();
        let asked = std::mem::take(&mut notes.asked);
        let keys = needed.asks.iter().chain(&asked).map(|(key, _)| key.clone());
        let carried = RoundState {
            answers: notes.answers.clone(),
            asked: keys.collect(),
            state: needed.state.or_else(|| notes.state.clone()),
        };
        drop(notes);
        for (key, mut ask) in needed.asks.into_iter().chain(asked) {
            self.check_able(&ask)?;
            self.screen(&key, &mut ask)?;
            let request =
                convert::input_request(&ask).map_err(|error| ToolError::Bug(Box::new(error)))?;
            requests.insert(key, request);
        }
        let state = seal.close(&carried, purpose, Some(SEALED_QUESTION_TTL));
        Ok(InputRequiredResult::new((!requests.is_empty()).then_some(requests), Some(state)))
    }
}

impl CallClient for RemoteCallClient {
    fn progress(&self, progress: Progress) {
        if let Some((task, _)) = self.task.get() {
            task.set_status_message(self.screened(progress).message);
        } else {
            self.report(progress);
        }
    }

    fn log(&self, level: SyslogLevel, logger: &str, data: Value) {
        self.relay(level, logger, data, Object::new());
    }

    fn relay(&self, level: SyslogLevel, logger: &str, mut data: Value, extra: Object) {
        if self.level.is_none_or(|quietest| level < quietest) {
            return;
        }
        let mut extra = Value::Object(extra);
        self.screening.value(&mut data);
        self.screening.fields(&mut extra);
        let params = LoggingMessageNotificationParam::new(convert::logging_level(level), data)
            .with_logger(self.screening.screen_text(logger));
        let params = verbatim::keep(params, &extra);
        self.push(ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(
            params,
        )));
    }

    fn emit(&self, mut block: AnswerBlock) -> BoxedFuture<'_, ()> {
        if self.streams && !self.is_task() {
            let mut content = convert::content(block);
            self.screening.content(&mut content);
            let params = json!({"requestId": self.request, "content": [content]});
            let notification = CustomNotification::new(PARTIAL_METHOD, Some(params));
            return Box::pin(async move {
                let sent = self
                    .peer
                    .send_notification(ServerNotification::CustomNotification(notification))
                    .await;
                if let Err(error) = sent {
                    tracing::debug!(%error, "cannot send a piece of an answer to the client");
                }
            });
        }
        self.screening.block(&mut block);
        // In the first revision a step has no message, and would only be a number.
        if self.token.is_some()
            && self.caller.dialect != Dialect::V2024_11_05
            && let AnswerBlock::Text { text, .. } = &block
        {
            self.report_piece(text.clone());
        }
        self.notes().emitted.push(block);
        Box::pin(ready(()))
    }

    fn ask<'a>(
        &'a self,
        key: &'a str,
        ask: ClientQuery,
    ) -> BoxedFuture<'a, Result<Value, ToolError>> {
        Box::pin(self.answer(key, ask))
    }

    fn state(&self) -> Option<String> {
        self.notes().state.clone()
    }

    fn client(&self) -> &str {
        &self.name
    }

    fn client_key(&self) -> &str {
        &self.client_key
    }

    fn work_slot(&self) -> BoxedFuture<'_, WorkSlot> {
        Box::pin(async {
            let permit = self.server.shares().threads.take(self.caller.caller.client()).await;
            WorkSlot { lane: Some(permit.lane()), held: Some(Box::new(permit)) }
        })
    }

    fn index_slot(&self) -> Option<ShareSlot> {
        let permit = self.server.shares().index.try_take(self.caller.caller.client());
        permit.ok().map(|permit| Box::new(permit) as ShareSlot)
    }

    fn may_use(&self, provider: &str, tool: &str) -> bool {
        let catalogue = self.server.catalogue_with(tool);
        let route = catalogue.find(tool).filter(|route| *route.provider == *provider);
        route.is_some_and(|route| {
            self.server.settings().policy.may_use(self.caller.principal(), route)
        })
    }

    fn recorded(&self) -> Option<u64> {
        self.caller.recorded
    }

    fn level(&self) -> Option<SyslogLevel> {
        self.level
    }

    fn capabilities(&self) -> Object {
        match serde_json::to_value(self.capabilities_announced().unwrap_or_default()) {
            Ok(Value::Object(able)) => able,
            _ => Object::new(),
        }
    }

    fn pass_on(&self, method: &str, mut params: Value) {
        self.screening.fields(&mut params);
        let notification = CustomNotification::new(method, Some(params));
        let peer = self.peer.clone();
        tokio::spawn(async move {
            let notification = ServerNotification::CustomNotification(notification);
            if let Err(error) = peer.send_notification(notification).await {
                tracing::debug!(%error, "cannot send a notification to the client");
            }
        });
    }

    fn meta(&self) -> Object {
        let own = |key: &str| key == "progressToken" || key.starts_with("io.modelcontextprotocol/");
        let meta = self.meta.iter().filter(|(key, _)| !own(key));
        meta.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn call<'a>(
        &'a self,
        provider: &'a str,
        tool: &'a str,
        arguments: Object,
        round: InnerRound,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        let Some(around) = self.this.upgrade() else {
            return Box::pin(ready(Err(ToolError::Stopped(CallStop::Cancelled))));
        };
        let nth = round.nth.unwrap_or_else(|| {
            let mut notes = self.notes();
            notes.nested += 1;
            notes.nested
        });
        let nested = NestedCall {
            provider,
            nth,
            state: round.state,
            server: &self.server,
            guest: &self.caller,
            client: self.client.as_deref(),
            around,
            cancel: round.cancel.unwrap_or_else(|| self.cancel.clone()),
        };
        Box::pin(nested.call(tool, arguments))
    }

    fn time_waited(&self) -> Duration {
        let waited = self.waits.lock().unwrap_or_else(PoisonError::into_inner).so_far();
        self.task.get().map_or(waited, |(_, patience)| waited.min(*patience))
    }

    fn shutdown_requested(&self) -> Option<&SetOnce<()>> {
        Some(&self.shutdown_requested)
    }
}

/// The error for a question of a task that was not answered in time.
fn unanswered() -> ToolError {
    let seconds = QUESTION_TIMEOUT.as_secs();
    ToolError::failed(format!("no answer within {seconds} s: call again when someone can answer"))
}
