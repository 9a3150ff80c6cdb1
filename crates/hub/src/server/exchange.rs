//! One request to a server on behalf of a client: retried where that is safe, while the server's questions are answered
//! in the way of either revision.

use super::{
    Downstream,
    asks::{Asked, Question, level_name},
    connection::{Connection, Unavailable, capabilities},
    locked,
    pages::VISIT_FIRST,
};
use crate::{
    Era, Request, RequestError, TimeLimit,
    parts::CollectedParts,
    spec::{digest, hex},
};
use docent_dial::Failure;
use docent_tool::{Ask, CallContext, InputNeeded, Level, Object, Progress, ToolError};
use docent_traffic::More;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_util::task::AbortOnDropHandle;

/// Maximum number of attempts.
pub(crate) const TRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Maximum rounds of questions in one request.
const MOST_ROUNDS: usize = 16;
/// How long a request waits for a client that answers by asking again.
const PARKED_FOR: Duration = Duration::from_mins(10);
const MOST_PARKED: usize = 256;

/// A request to a server.
pub(crate) struct Asking<'a> {
    pub(crate) method: &'static str,
    /// The called tool.
    pub(crate) tool: Option<&'a str>,
    pub(crate) params: &'a Object,
    pub(crate) headers: Vec<(String, String)>,
    /// Whether a second request does no harm.
    pub(crate) may_repeat: bool,
    /// Whether the server's `retry` setting applies.
    pub(crate) may_retry: bool,
    /// Whether the server runs it only as a task.
    pub(crate) is_task: bool,
}

/// State that a client sends back with its answers.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Carried {
    /// The request is parked here.
    Parked { id: String },
    /// The server waits for these answers, and gets its own state back.
    Needed { requests: Object, state: Value },
}

/// A running request.
struct Open {
    reply: docent_tool::Running<'static, Result<Value, Lost>>,
    asked: Asked,
    heard: Arc<Notify>,
    steps: Arc<Mutex<Steps>>,
    /// The total time limit. The time that its client takes to answer questions doesn't count.
    limit: Arc<TimeLimit>,
    /// When it started to wait for its client to come back.
    parked_at: Option<tokio::time::Instant>,
    questions: usize,
    /// Its permit among the calls of the server; released while it waits for its client.
    permit: Option<OwnedSemaphorePermit>,
}

/// Forwards the progress of a call. While the call waits for its client, only the newest step is kept.
struct Steps {
    context: Arc<Mutex<CallContext>>,
    is_parked: bool,
    missed: Option<Progress>,
}

impl Steps {
    fn report(&mut self, step: Progress) {
        if self.is_parked {
            self.missed = Some(step);
        } else {
            locked(&self.context).report(step);
        }
    }

    fn come_back(&mut self, context: &CallContext) {
        *locked(&self.context) = context.clone();
        self.is_parked = false;
        if let Some(step) = self.missed.take() {
            context.report(step);
        }
    }
}

/// Why there is no result.
enum Lost {
    HeldBack(String),
    Unavailable(Unavailable),
    Request(RequestError),
}

/// A parked request, its question and key, and the task that drops it in the end.
type Waiting = (Open, Question, String, AbortOnDropHandle<()>);

/// Requests that wait for a client to come back.
#[derive(Default)]
pub(crate) struct Parked(Mutex<HashMap<String, Waiting>>);

impl Downstream {
    /// Sends a request to the server and answers its questions.
    pub(crate) async fn exchange(
        &self,
        asking: &Asking<'_>,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let carried = context.state().and_then(|state| serde_json::from_str(&state).ok());
        let mut extra = Object::new();
        match carried {
            Some(Carried::Parked { id }) => {
                let parked = locked(&self.parked.0).remove(&id);
                let Some((mut open, question, key, _)) = parked else {
                    return Err(ToolError::failed(
                        "the call waited too long for an answer and was dropped; call again",
                    ));
                };
                if let Some(parked_at) = open.parked_at.take() {
                    open.limit.excuse(parked_at.elapsed());
                }
                locked(&open.steps).come_back(context);
                open.asked.come_back();
                self.put(&mut open, question, key, context).await?;
                let result = self.drive(open, context).await;
                return self.end(asking, result, context, &mut extra).await;
            }
            Some(Carried::Needed { requests, state }) => {
                extra = self.answers(requests, state, context).await?;
            }
            None => {}
        }
        let result = self.tries(asking, &extra, context).await;
        self.end(asking, result, context, &mut extra).await
    }

    /// Answers the server's requests for input until it returns a result.
    async fn end(
        &self,
        asking: &Asking<'_>,
        first: Result<Value, ToolError>,
        context: &CallContext,
        extra: &mut Object,
    ) -> Result<Value, ToolError> {
        let mut result = first?;
        for _ in 0..MOST_ROUNDS {
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            let requests = match result.get_mut("inputRequests").map(Value::take) {
                Some(Value::Object(requests)) => requests,
                _ => Object::new(),
            };
            let state = result.get_mut("requestState").map(Value::take).unwrap_or_default();
            *extra = self.answers(requests, state, context).await?;
            result = self.tries(asking, extra, context).await?;
        }
        Err(ToolError::failed(format!("the server `{}` did not stop asking for input", self.name())))
    }

    /// Drops a parked request whose client does not come back.
    pub(crate) fn give_up(&self, state: &str) {
        if let Ok(Carried::Parked { id }) = serde_json::from_str(state) {
            drop(locked(&self.parked.0).remove(&id));
        }
    }

    /// Forwards a server's questions to the client; returns the parameters with the answers.
    async fn answers(
        &self,
        requests: Object,
        state: Value,
        context: &CallContext,
    ) -> Result<Object, ToolError> {
        let (mut responses, mut open) = (Object::new(), Vec::new());
        for (key, request) in &requests {
            // The server's own key could collide with that of another question.
            let own = digest(&json!([self.name(), key, request, state]));
            let params = request.get("params").cloned().unwrap_or_default();
            let ask = match request.get("method").and_then(Value::as_str) {
                Some("sampling/createMessage") => Ask::Sample(params),
                Some("elicitation/create") => Ask::Elicit(params),
                Some("roots/list") => Ask::Roots,
                _ => continue,
            };
            if let Ask::Elicit(params) = &ask {
                self.pages.remember(params, context);
            }
            match context.ask(&own, ask.clone()).await {
                Ok(answer) => drop(responses.insert(key.clone(), answer)),
                Err(ToolError::NeedsInput(needed)) => open.extend(needed.asks),
                Err(ToolError::ClientLacks(_)) if ask == Ask::Roots => {
                    responses.insert(key.clone(), self.own_roots());
                }
                Err(error) => return Err(error),
            }
        }
        if !open.is_empty() {
            let carried = serde_json::to_string(&Carried::Needed { requests, state });
            let state = Some(carried.map_err(|error| ToolError::Bug(Box::new(error)))?);
            return Err(ToolError::NeedsInput(InputNeeded { asks: open, state }));
        }
        let mut extra = Object::new();
        if !responses.is_empty() {
            extra.insert("inputResponses".into(), responses.into());
        }
        if !state.is_null() {
            extra.insert("requestState".into(), state);
        }
        Ok(extra)
    }

    async fn tries(
        &self,
        asking: &Asking<'_>,
        extra: &Object,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let more = More { parent: context.recorded(), attempt };
            let open = self.start(asking, extra, context, more).await?;
            let lost = match self.follow(open, context).await {
                Ok(result) => return Ok(result),
                Err(Ended::Told(error)) => return Err(error),
                Err(Ended::Lost(lost)) => lost,
            };
            let Some(pause) = self.pause_before_retry(asking, &lost, attempt) else {
                if let Lost::Request(RequestError::Rpc { code: VISIT_FIRST, data, .. }) = &lost {
                    self.pages.remember_all(data.as_ref(), context);
                }
                return Err(self.told(lost));
            };
            tracing::debug!(server = self.name(), attempt, "retrying the request");
            tokio::time::sleep(pause).await;
        }
    }

    /// How long to wait before another attempt; `None` when there is none.
    fn pause_before_retry(
        &self,
        asking: &Asking<'_>,
        lost: &Lost,
        attempt: u32,
    ) -> Option<Duration> {
        let retry = self.spec.retry.as_ref().filter(|_| asking.may_retry);
        if let (Some(retry), Lost::Request(RequestError::Rpc { code, .. })) = (retry, lost)
            && retry.codes.contains(code)
        {
            return (attempt <= retry.attempts).then(|| retry.pause(attempt));
        }
        let is_worth_it = attempt < TRIES && is_worth_another_try(lost, asking.may_repeat);
        is_worth_it.then(|| FIRST_PAUSE.saturating_mul(1 << (attempt - 1)))
    }

    async fn drive(&self, open: Open, context: &CallContext) -> Result<Value, ToolError> {
        self.follow(open, context).await.map_err(|ended| match ended {
            Ended::Told(error) => error,
            Ended::Lost(lost) => self.told(lost),
        })
    }

    async fn start(
        &self,
        asking: &Asking<'_>,
        extra: &Object,
        context: &CallContext,
        more: More,
    ) -> Result<Open, ToolError> {
        let gone =
            || ToolError::failed(format!("the server `{}` is no longer configured", self.name()));
        let this = self.this.upgrade().ok_or_else(gone)?;
        let turn = Arc::clone(&self.permits).acquire_owned();
        let Ok(permit) = tokio::time::timeout(self.spec.timeout, turn).await else {
            let (name, most) = (self.name(), self.spec.concurrency);
            return Err(ToolError::failed(format!(
                "the server `{name}` is busy with {most} calls; try again, or raise its `concurrency`"
            )));
        };
        let permit = permit.ok();
        let mut params = asking.params.clone();
        params.extend(extra.clone());
        let shared = Arc::new(Mutex::new(context.clone()));
        let steps = Steps { context: Arc::clone(&shared), is_parked: false, missed: None };
        let steps = Arc::new(Mutex::new(steps));
        let heard = Arc::new(Notify::new());
        let asked = self.asks.enter(&shared);
        let words = Words::of(context);
        words.add_to(&mut locked(&self.shared.sampling));
        let follower = Arc::clone(&steps);
        let limit = Arc::new(TimeLimit::new(self.spec.call_limit(asking.is_task)));
        let mut request = Request {
            params,
            headers: asking.headers.clone(),
            progress: Some(Box::new(move |progress| locked(&follower).report(progress))),
            patience: Some(self.spec.timeout),
            heard: Arc::clone(&heard),
            limit: Some(Arc::clone(&limit)),
            more,
            caller: Some(asked.number()),
        };
        let (method, is_task, tool) =
            (asking.method, asking.is_task, asking.tool.map(str::to_owned));
        let reply = Box::pin(async move {
            let connection = this.connection().await.map_err(Lost::Unavailable)?;
            let is_changed = |tool: &String| this.known().is_held_back(tool);
            if tool.as_ref().is_some_and(&is_changed) {
                this.look_for_approval();
            }
            // A server that was started for this call may have listed a changed definition only now.
            if let Some(tool) = tool.filter(&is_changed) {
                return Err(Lost::HeldBack(tool));
            }
            this.may_be_asked().map_err(Lost::Unavailable)?;
            let _busy = connection.busy();
            if connection.era == Era::Stateless {
                words.say_in(&mut request.params);
            } else {
                this.level_told(&connection).await;
            }
            let began = Instant::now();
            let result = ask(&this, &connection, method, request, is_task).await;
            this.noted(&connection, began, &result);
            result.map_err(Lost::Request)
        });
        Ok(Open { reply, asked, heard, steps, limit, parked_at: None, questions: 0, permit })
    }

    /// Updates the server's health after an answer or a failure.
    fn noted(&self, connection: &Connection, began: Instant, result: &Result<Value, RequestError>) {
        match result {
            Ok(result) if CollectedParts::is_partial(result) => {
                self.counters.failed("the rest of an answer did not arrive".into());
            }
            Ok(_) | Err(RequestError::Rpc { .. }) => self.is_well(),
            Err(error @ (RequestError::TimedOut(_) | RequestError::OverLimit(_))) => {
                self.counters.timed_out(error.to_string());
                locked(&self.backoff).was_silent(began);
            }
            Err(RequestError::Failed(failure @ Failure::Unreachable(_))) => {
                self.out_of_reach(connection, failure);
            }
            Err(error) => self.counters.failed(error.to_string()),
        }
    }

    /// Waits for the answer, and forwards the server's questions to the client meanwhile.
    async fn follow(&self, mut open: Open, context: &CallContext) -> Result<Value, Ended> {
        loop {
            tokio::select! {
                biased;
                reply = &mut open.reply => return reply.map_err(Ended::Lost),
                question = open.asked.questions.recv() => {
                    let Some(question) = question else { continue };
                    open.questions += 1;
                    // No two questions share a key, so that no answer is given to another question.
                    let key = format!("{}-{}-{}", self.name(), open.asked.number(), open.questions);
                    let asked_at = tokio::time::Instant::now();
                    let put = tokio::select! {
                        biased;
                        () = question.taken_back() => None,
                        put = self.ask_client(&question, &key, context) => Some(put),
                    };
                    open.limit.excuse(asked_at.elapsed());
                    match put {
                        None => open.heard.notify_one(),
                        Some(Put::Answer(answer)) => {
                            question.answer(answer).await;
                            open.heard.notify_one();
                        }
                        Some(Put::Later(needed)) => {
                            return Err(Ended::Told(self.park(open, question, key, needed)));
                        }
                    }
                }
                stop = context.stopped() => return Err(Ended::Told(ToolError::Stopped(stop))),
            }
        }
    }

    async fn ask_client(&self, question: &Question, key: &str, context: &CallContext) -> Put {
        match context.ask(key, question.ask.clone()).await {
            Ok(answer) => Put::Answer(Ok(answer)),
            Err(ToolError::ClientLacks(_)) if question.ask == Ask::Roots => {
                Put::Answer(Ok(self.own_roots()))
            }
            Err(ToolError::NeedsInput(needed)) => Put::Later(needed),
            Err(error) => Put::Answer(Err(RequestError::Rpc {
                code: -32600,
                message: error.to_string(),
                data: None,
            })),
        }
    }

    /// Sends the returning client's answer to the server.
    async fn put(
        &self,
        open: &mut Open,
        question: Question,
        key: String,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        match self.ask_client(&question, &key, context).await {
            Put::Answer(answer) => {
                question.answer(answer).await;
                open.heard.notify_one();
                Ok(())
            }
            Put::Later(_) if question.is_taken_back() => Ok(()),
            Put::Later(_) => Err(ToolError::failed(
                "the server's question was not answered; call again and answer it",
            )),
        }
    }

    /// Parks a request until its client comes back with an answer.
    fn park(
        &self,
        mut open: Open,
        question: Question,
        key: String,
        needed: InputNeeded,
    ) -> ToolError {
        let mut parked = locked(&self.parked.0);
        if parked.len() >= MOST_PARKED {
            return ToolError::failed(
                "too many calls are waiting for their clients to answer; answer some, or try again in ten minutes",
            );
        }
        let mut random = [0_u8; 16];
        if let Err(error) = getrandom::fill(&mut random) {
            return ToolError::failed(format!("cannot generate random bytes: {error}"));
        }
        let id = hex(&random);
        let state = serde_json::to_string(&Carried::Parked { id: id.clone() }).ok();
        open.asked.leave();
        open.parked_at = Some(tokio::time::Instant::now());
        locked(&open.steps).is_parked = true;
        open.permit = None;
        let (this, own) = (std::sync::Weak::clone(&self.this), id.clone());
        let given_up = tokio::spawn(async move {
            tokio::time::sleep(PARKED_FOR).await;
            if let Some(this) = this.upgrade() {
                // Dropping it cancels its request at the server.
                let waited = locked(&this.parked.0).remove(&own);
                drop(waited);
            }
        });
        parked.insert(id, (open, question, key, AbortOnDropHandle::new(given_up)));
        drop(parked);
        ToolError::NeedsInput(InputNeeded { asks: needed.asks, state })
    }

    /// Converts a failure to an error for the client, with the server's name.
    fn told(&self, lost: Lost) -> ToolError {
        let name = self.name();
        match lost {
            Lost::HeldBack(tool) => self.held_back(&tool),
            Lost::Unavailable(Unavailable(why)) => {
                ToolError::failed(format!("the server `{name}` is not available: {why}"))
            }
            Lost::Request(RequestError::Rpc { code, message, data }) => {
                let code = i32::try_from(code).unwrap_or(-32603);
                ToolError::Refused { code, message, data: Some(named(data, name)) }
            }
            Lost::Request(RequestError::TimedOut(time)) => ToolError::failed(format!(
                "the server `{name}` did not answer within {} s, and the call was cancelled; raise its `timeout_ms` if it needs longer",
                time.as_secs_f64()
            )),
            Lost::Request(RequestError::OverLimit(time)) => ToolError::failed(format!(
                "the server `{name}` reported progress but did not answer within {} s, and the call was cancelled; raise its `max_timeout_ms` if it needs longer",
                time.as_secs_f64()
            )),
            Lost::Request(RequestError::Failed(failure @ Failure::Lost(_))) => {
                ToolError::failed(self.with_last_words(&format!("the server `{name}`: {failure}")))
            }
            Lost::Request(RequestError::Failed(failure)) => {
                ToolError::failed(format!("the server `{name}`: {failure}"))
            }
        }
    }
}

/// Client information that each request to a server without sessions carries.
struct Words {
    level: Option<Level>,
    /// The client's sampling capabilities.
    sampling: Object,
}

impl Words {
    fn of(context: &CallContext) -> Self {
        let sampling = match context.capabilities().remove("sampling") {
            Some(Value::Object(able)) => able,
            _ => Object::new(),
        };
        Self { level: context.level(), sampling }
    }

    /// Merges the sampling capabilities into those announced to servers with sessions, before the caller is known.
    fn add_to(&self, all: &mut Object) {
        for (able, how) in &self.sampling {
            all.entry(able.clone()).or_insert_with(|| how.clone());
        }
    }

    fn say_in(self, params: &mut Object) {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        let Value::Object(meta) = meta else { return };
        if let Some(level) = self.level {
            meta.insert("io.modelcontextprotocol/logLevel".into(), level_name(level).into());
        }
        let able = capabilities(&self.sampling);
        meta.insert("io.modelcontextprotocol/clientCapabilities".into(), able);
    }
}

/// How one attempt ended without a result.
enum Ended {
    Lost(Lost),
    Told(ToolError),
}

/// The outcome of a question.
enum Put {
    Answer(Result<Value, RequestError>),
    Later(InputNeeded),
}

async fn ask(
    server: &Downstream,
    connection: &Connection,
    method: &str,
    request: Request,
    is_task: bool,
) -> Result<Value, RequestError> {
    if is_task && connection.era != Era::Stateless {
        return server.run_task(connection, request).await;
    }
    connection.peer.request(method, request).await
}

fn is_worth_another_try(lost: &Lost, may_repeat: bool) -> bool {
    let Lost::Request(error) = lost else { return false };
    match error {
        // Nothing was sent, or the server did not know the session.
        RequestError::Failed(Failure::Unreachable(_) | Failure::Refused { status: 404, .. }) => {
            true
        }
        RequestError::Failed(Failure::Lost(_) | Failure::Refused { status: 502..=504, .. })
        | RequestError::Rpc { code: -32603, .. } => may_repeat,
        _ => false,
    }
}

/// Adds the server's configured name to its error data. A name that the server sent itself is kept separately, because
/// it may be that of another server.
fn named(data: Option<Value>, name: &str) -> Value {
    match data {
        None | Some(Value::Null) => json!({"server": name}),
        Some(Value::Object(mut fields)) => {
            let own = fields.insert("server".into(), name.into());
            if let Some(own) = own.filter(|own| own.as_str() != Some(name)) {
                fields.insert("serverSaid".into(), own);
            }
            Value::Object(fields)
        }
        Some(other) => json!({"server": name, "data": other}),
    }
}
