//! One request to a server on behalf of a client: retried where that is safe, while the server's questions are answered
//! in the way of either revision.

use super::{
    DownstreamServer,
    connection::{DownstreamConnection, ServerUnavailable},
    locked,
    pages::URL_ELICITATION_REQUIRED,
    questions::{OpenCallGuard, ServerQuestion},
    stateless_terms::StatelessClientTerms,
};
use crate::{
    PeerRequest, ProtocolMode, RequestError, TimeLimit,
    parts::CollectedParts,
    spec::{digest, hex},
};
use docent_dial::TransportFailure;
use docent_tool::{CallContext, ClientQuery, InputNeeded, Object, Progress, ToolError};
use docent_traffic::TrafficDetails;
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
pub(crate) const MAX_ATTEMPTS: u32 = 3;
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Maximum rounds of questions in one request.
const MAX_INPUT_ROUNDS: usize = 16;
/// How long a request waits for a client that answers by asking again.
const PARKED_CALL_TTL: Duration = Duration::from_mins(10);
const MAX_PARKED_CALLS: usize = 256;

/// A request to a server.
pub(crate) struct ExchangeRequest<'a> {
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
enum CarriedCallState {
    /// The request is parked here.
    Parked { id: String },
    /// The server waits for these answers, and gets its own state back.
    Needed { requests: Object, state: Value },
}

/// A running request.
struct OpenExchange {
    reply: docent_tool::BoxedFuture<'static, Result<Value, ExchangeFailure>>,
    open_call: OpenCallGuard,
    activity: Arc<Notify>,
    steps: Arc<Mutex<ProgressRelay>>,
    /// The total time limit. The time that its client takes to answer questions doesn't count.
    limit: Arc<TimeLimit>,
    /// When it started to wait for its client to come back.
    parked_at: Option<tokio::time::Instant>,
    questions: usize,
    /// Its permit among the calls of the server; released while it waits for its client.
    permit: Option<OwnedSemaphorePermit>,
}

/// Forwards the progress of a call. While the call waits for its client, only the newest step is kept.
struct ProgressRelay {
    context: Arc<Mutex<CallContext>>,
    is_parked: bool,
    missed: Option<Progress>,
}

impl ProgressRelay {
    fn report(&mut self, step: Progress) {
        if self.is_parked {
            self.missed = Some(step);
        } else {
            locked(&self.context).report(step);
        }
    }

    fn resume(&mut self, context: &CallContext) {
        *locked(&self.context) = context.clone();
        self.is_parked = false;
        if let Some(step) = self.missed.take() {
            context.report(step);
        }
    }
}

/// Why there is no result.
enum ExchangeFailure {
    HeldBack(String),
    Unavailable(ServerUnavailable),
    Request(RequestError),
}

/// A parked request, its question and key, and the task that drops it in the end.
type ParkedCall = (OpenExchange, ServerQuestion, String, AbortOnDropHandle<()>);

/// Requests that wait for a client to come back.
#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

impl DownstreamServer {
    /// Sends a request to the server and answers its questions.
    pub(crate) async fn exchange(
        &self,
        asking: &ExchangeRequest<'_>,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let carried = context.state().and_then(|state| serde_json::from_str(&state).ok());
        let mut extra = Object::new();
        match carried {
            Some(CarriedCallState::Parked { id }) => {
                let parked = locked(&self.parked.0).remove(&id);
                let Some((mut open, question, key, _)) = parked else {
                    return Err(ToolError::failed(
                        "the call waited too long for an answer and was dropped; call again",
                    ));
                };
                if let Some(parked_at) = open.parked_at.take() {
                    open.limit.excuse(parked_at.elapsed());
                }
                locked(&open.steps).resume(context);
                open.open_call.mark_present();
                self.resume_question(&mut open, question, key, context).await?;
                let result = self.drive(open, context).await;
                return self.answer_input_requests(asking, result, context, &mut extra).await;
            }
            Some(CarriedCallState::Needed { requests, state }) => {
                extra = self.answers(requests, state, context).await?;
            }
            None => {}
        }
        let result = self.exchange_with_retries(asking, &extra, context).await;
        self.answer_input_requests(asking, result, context, &mut extra).await
    }

    /// Answers the server's requests for input until it returns a result.
    async fn answer_input_requests(
        &self,
        asking: &ExchangeRequest<'_>,
        first: Result<Value, ToolError>,
        context: &CallContext,
        extra: &mut Object,
    ) -> Result<Value, ToolError> {
        let mut result = first?;
        for _ in 0..MAX_INPUT_ROUNDS {
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            let requests = match result.get_mut("inputRequests").map(Value::take) {
                Some(Value::Object(requests)) => requests,
                _ => Object::new(),
            };
            let state = result.get_mut("requestState").map(Value::take).unwrap_or_default();
            *extra = self.answers(requests, state, context).await?;
            result = self.exchange_with_retries(asking, extra, context).await?;
        }
        Err(ToolError::failed(format!(
            "the server `{}` did not stop asking for input",
            self.name()
        )))
    }

    /// Drops a parked request whose client does not come back.
    pub(crate) fn abandon_parked(&self, state: &str) {
        if let Ok(CarriedCallState::Parked { id }) = serde_json::from_str(state) {
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
                Some("sampling/createMessage") => ClientQuery::Sample(params),
                Some("elicitation/create") => ClientQuery::Elicit(params),
                Some("roots/list") => ClientQuery::Roots,
                _ => continue,
            };
            if let ClientQuery::Elicit(params) = &ask {
                self.pages.remember(params, context);
            }
            match context.ask(&own, ask.clone()).await {
                Ok(answer) => drop(responses.insert(key.clone(), answer)),
                Err(ToolError::NeedsInput(needed)) => open.extend(needed.asks),
                Err(ToolError::ClientLacks(_)) if ask == ClientQuery::Roots => {
                    responses.insert(key.clone(), self.own_roots());
                }
                Err(error) => return Err(error),
            }
        }
        if !open.is_empty() {
            let carried = serde_json::to_string(&CarriedCallState::Needed { requests, state });
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

    async fn exchange_with_retries(
        &self,
        asking: &ExchangeRequest<'_>,
        extra: &Object,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let more = TrafficDetails { parent: context.recorded(), attempt };
            let open = self.start(asking, extra, context, more).await?;
            let lost = match self.follow(open, context).await {
                Ok(result) => return Ok(result),
                Err(AttemptError::Reported(error)) => return Err(error),
                Err(AttemptError::Lost(lost)) => lost,
            };
            let Some(pause) = self.pause_before_retry(asking, &lost, attempt) else {
                if let ExchangeFailure::Request(RequestError::Rpc {
                    code: URL_ELICITATION_REQUIRED,
                    data,
                    ..
                }) = &lost
                {
                    self.pages.remember_all(data.as_ref(), context);
                }
                return Err(self.tool_error(lost));
            };
            tracing::debug!(server = self.name(), attempt, "retrying the request");
            tokio::time::sleep(pause).await;
        }
    }

    /// How long to wait before another attempt; `None` when there is none.
    fn pause_before_retry(
        &self,
        asking: &ExchangeRequest<'_>,
        lost: &ExchangeFailure,
        attempt: u32,
    ) -> Option<Duration> {
        let retry = self.spec.retry.as_ref().filter(|_| asking.may_retry);
        if let (Some(retry), ExchangeFailure::Request(RequestError::Rpc { code, .. })) =
            (retry, lost)
            && retry.codes.contains(code)
        {
            return (attempt <= retry.attempts).then(|| retry.pause(attempt));
        }
        let is_worth_it = attempt < MAX_ATTEMPTS && is_retryable(lost, asking.may_repeat);
        is_worth_it.then(|| FIRST_RETRY_PAUSE.saturating_mul(1 << (attempt - 1)))
    }

    async fn drive(&self, open: OpenExchange, context: &CallContext) -> Result<Value, ToolError> {
        self.follow(open, context).await.map_err(|ended| match ended {
            AttemptError::Reported(error) => error,
            AttemptError::Lost(lost) => self.tool_error(lost),
        })
    }

    async fn start(
        &self,
        asking: &ExchangeRequest<'_>,
        extra: &Object,
        context: &CallContext,
        more: TrafficDetails,
    ) -> Result<OpenExchange, ToolError> {
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
        let steps = ProgressRelay { context: Arc::clone(&shared), is_parked: false, missed: None };
        let steps = Arc::new(Mutex::new(steps));
        let heard = Arc::new(Notify::new());
        let asked = self.open_calls.open_call(&shared);
        let words = StatelessClientTerms::from_context(context);
        words.merge_sampling(&mut locked(&self.shared.sampling));
        let follower = Arc::clone(&steps);
        let limit = Arc::new(TimeLimit::new(self.spec.call_limit(asking.is_task)));
        let mut request = PeerRequest {
            params,
            headers: asking.headers.clone(),
            progress: Some(Box::new(move |progress| locked(&follower).report(progress))),
            timeout: Some(self.spec.timeout),
            activity: Arc::clone(&heard),
            limit: Some(Arc::clone(&limit)),
            more,
            caller: Some(asked.number()),
        };
        let (method, is_task, tool) =
            (asking.method, asking.is_task, asking.tool.map(str::to_owned));
        let reply = Box::pin(async move {
            let connection = this.connection().await.map_err(ExchangeFailure::Unavailable)?;
            let is_changed = |tool: &String| this.known().is_held_back(tool);
            if tool.as_ref().is_some_and(&is_changed) {
                this.reload_approvals();
            }
            // A server that was started for this call may have listed a changed definition only now.
            if let Some(tool) = tool.filter(&is_changed) {
                return Err(ExchangeFailure::HeldBack(tool));
            }
            this.check_responsive().map_err(ExchangeFailure::Unavailable)?;
            let _busy = connection.track_request();
            if connection.era == ProtocolMode::Stateless {
                words.add_to_request(&mut request.params);
            } else {
                this.sync_log_level(&connection).await;
            }
            let began = Instant::now();
            let result = send_request(&this, &connection, method, request, is_task).await;
            this.record_outcome(&connection, began, &result);
            result.map_err(ExchangeFailure::Request)
        });
        Ok(OpenExchange {
            reply,
            open_call: asked,
            activity: heard,
            steps,
            limit,
            parked_at: None,
            questions: 0,
            permit,
        })
    }

    /// Updates the server's health after an answer or a failure.
    fn record_outcome(
        &self,
        connection: &DownstreamConnection,
        began: Instant,
        result: &Result<Value, RequestError>,
    ) {
        match result {
            Ok(result) if CollectedParts::is_partial(result) => {
                self.counters.record_failure("the rest of an answer did not arrive".into());
            }
            Ok(_) | Err(RequestError::Rpc { .. }) => self.record_answer(),
            Err(error @ (RequestError::TimedOut(_) | RequestError::OverLimit(_))) => {
                self.counters.record_timeout(error.to_string());
                locked(&self.backoff).record_timeout(began);
            }
            Err(RequestError::Failed(failure @ TransportFailure::Unreachable(_))) => {
                self.drop_unreachable(connection, failure);
            }
            Err(error) => self.counters.record_failure(error.to_string()),
        }
    }

    /// Waits for the answer, and forwards the server's questions to the client meanwhile.
    async fn follow(
        &self,
        mut open: OpenExchange,
        context: &CallContext,
    ) -> Result<Value, AttemptError> {
        loop {
            tokio::select! {
                biased;
                reply = &mut open.reply => return reply.map_err(AttemptError::Lost),
                question = open.open_call.questions.recv() => {
                    let Some(question) = question else { continue };
                    open.questions += 1;
                    // No two questions share a key, so that no answer is given to another question.
                    let key = format!("{}-{}-{}", self.name(), open.open_call.number(), open.questions);
                    let asked_at = tokio::time::Instant::now();
                    let put = tokio::select! {
                        biased;
                        () = question.wait_withdrawn() => None,
                        put = self.ask_client(&question, &key, context) => Some(put),
                    };
                    open.limit.excuse(asked_at.elapsed());
                    match put {
                        None => open.activity.notify_one(),
                        Some(QuestionOutcome::Answer(answer)) => {
                            question.answer(answer).await;
                            open.activity.notify_one();
                        }
                        Some(QuestionOutcome::Later(needed)) => {
                            return Err(AttemptError::Reported(self.park(open, question, key, needed)));
                        }
                    }
                }
                stop = context.stopped() => return Err(AttemptError::Reported(ToolError::Stopped(stop))),
            }
        }
    }

    async fn ask_client(
        &self,
        question: &ServerQuestion,
        key: &str,
        context: &CallContext,
    ) -> QuestionOutcome {
        match context.ask(key, question.ask.clone()).await {
            Ok(answer) => QuestionOutcome::Answer(Ok(answer)),
            Err(ToolError::ClientLacks(_)) if question.ask == ClientQuery::Roots => {
                QuestionOutcome::Answer(Ok(self.own_roots()))
            }
            Err(ToolError::NeedsInput(needed)) => QuestionOutcome::Later(needed),
            Err(error) => QuestionOutcome::Answer(Err(RequestError::Rpc {
                code: -32600,
                message: error.to_string(),
                data: None,
            })),
        }
    }

    /// Sends the returning client's answer to the server.
    async fn resume_question(
        &self,
        open: &mut OpenExchange,
        question: ServerQuestion,
        key: String,
        context: &CallContext,
    ) -> Result<(), ToolError> {
        match self.ask_client(&question, &key, context).await {
            QuestionOutcome::Answer(answer) => {
                question.answer(answer).await;
                open.activity.notify_one();
                Ok(())
            }
            QuestionOutcome::Later(_) if question.is_withdrawn() => Ok(()),
            QuestionOutcome::Later(_) => Err(ToolError::failed(
                "the server's question was not answered; call again and answer it",
            )),
        }
    }

    /// Parks a request until its client comes back with an answer.
    fn park(
        &self,
        mut open: OpenExchange,
        question: ServerQuestion,
        key: String,
        needed: InputNeeded,
    ) -> ToolError {
        let mut parked = locked(&self.parked.0);
        if parked.len() >= MAX_PARKED_CALLS {
            return ToolError::failed(
                "too many calls are waiting for their clients to answer; answer some, or try again in ten minutes",
            );
        }
        let mut random = [0_u8; 16];
        if let Err(error) = getrandom::fill(&mut random) {
            return ToolError::failed(format!("cannot generate random bytes: {error}"));
        }
        let id = hex(&random);
        let state = serde_json::to_string(&CarriedCallState::Parked { id: id.clone() }).ok();
        open.open_call.mark_away();
        open.parked_at = Some(tokio::time::Instant::now());
        locked(&open.steps).is_parked = true;
        open.permit = None;
        let (this, own) = (std::sync::Weak::clone(&self.this), id.clone());
        let given_up = tokio::spawn(async move {
            tokio::time::sleep(PARKED_CALL_TTL).await;
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
    fn tool_error(&self, lost: ExchangeFailure) -> ToolError {
        let name = self.name();
        match lost {
            ExchangeFailure::HeldBack(tool) => self.held_back(&tool),
            ExchangeFailure::Unavailable(ServerUnavailable(why)) => {
                ToolError::failed(format!("the server `{name}` is not available: {why}"))
            }
            ExchangeFailure::Request(RequestError::Rpc { code, message, data }) => {
                let code = i32::try_from(code).unwrap_or(-32603);
                ToolError::Refused { code, message, data: Some(add_server_name(data, name)) }
            }
            ExchangeFailure::Request(RequestError::TimedOut(time)) => ToolError::failed(format!(
                "the server `{name}` did not answer within {} s, and the call was cancelled; raise its `timeout_ms` if it needs longer",
                time.as_secs_f64()
            )),
            ExchangeFailure::Request(RequestError::OverLimit(time)) => ToolError::failed(format!(
                "the server `{name}` reported progress but did not answer within {} s, and the call was cancelled; raise its `max_timeout_ms` if it needs longer",
                time.as_secs_f64()
            )),
            ExchangeFailure::Request(RequestError::Failed(failure @ TransportFailure::Lost(_))) => {
                ToolError::failed(
                    self.with_recent_stderr(&format!("the server `{name}`: {failure}")),
                )
            }
            ExchangeFailure::Request(RequestError::Failed(failure)) => {
                ToolError::failed(format!("the server `{name}`: {failure}"))
            }
        }
    }
}

/// How one attempt ended without a result.
enum AttemptError {
    Lost(ExchangeFailure),
    Reported(ToolError),
}

/// The outcome of a question.
enum QuestionOutcome {
    Answer(Result<Value, RequestError>),
    Later(InputNeeded),
}

async fn send_request(
    server: &DownstreamServer,
    connection: &DownstreamConnection,
    method: &str,
    request: PeerRequest,
    is_task: bool,
) -> Result<Value, RequestError> {
    if is_task && connection.era != ProtocolMode::Stateless {
        return server.run_task(connection, request).await;
    }
    connection.peer.request(method, request).await
}

fn is_retryable(lost: &ExchangeFailure, may_repeat: bool) -> bool {
    let ExchangeFailure::Request(error) = lost else { return false };
    match error {
        // Nothing was sent, or the server did not know the session.
        RequestError::Failed(
            TransportFailure::Unreachable(_) | TransportFailure::Refused { status: 404, .. },
        ) => true,
        RequestError::Failed(
            TransportFailure::Lost(_) | TransportFailure::Refused { status: 502..=504, .. },
        )
        | RequestError::Rpc { code: -32603, .. } => may_repeat,
        _ => false,
    }
}

/// Adds the server's configured name to its error data. A name that the server sent itself is kept separately, because
/// it may be that of another server.
fn add_server_name(data: Option<Value>, name: &str) -> Value {
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
