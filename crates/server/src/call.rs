//! One `tools/call`, from an admitted route to its answer.

use crate::{
    Screening,
    admit::Place,
    approval,
    audience::Listener,
    audit::Ending,
    cursor::Forged,
    finish::{self, Failed, Finish, Finished},
    guest::Guest,
    metrics::Outcome,
    policy::Admitted,
    record::Line,
    run::{Bounds, Ended, bounded},
    server::{Permit, Server},
    tasks::TaskUse,
    validate::Problem,
};
use docent_tool::{CallContext, InputNeeded, Object, ToolError};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ErrorCode, InputRequiredResult},
};
use serde_json::json;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// Rounds of questions in one call, so that a tool that never stops asking is stopped.
const MOST_ROUNDS: usize = 16;

/// A call that may run.
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    pub(crate) admitted: Admitted,
    pub(crate) arguments: Object,
    pub(crate) listener: Arc<Listener>,
    pub(crate) bounds: Bounds,
    pub(crate) timeout: Duration,
    pub(crate) screening: Screening,
    pub(crate) guest: Guest,
    pub(crate) line: Line,
    /// Kept until the answer is ready. A call that becomes a task gives up its call permit earlier.
    pub(crate) permit: Permit,
}

/// The reply to a call.
pub(crate) enum Reply {
    Answer(CallToolResult),
    NeedsInput(InputRequiredResult),
    /// The client no longer waits for the answer.
    Cancelled,
}

impl TryFrom<Reply> for CallToolResponse {
    type Error = ErrorData;

    fn try_from(reply: Reply) -> Result<Self, ErrorData> {
        match reply {
            Reply::Answer(result) => Ok(Self::Complete(result)),
            Reply::NeedsInput(result) => Ok(Self::InputRequired(result)),
            Reply::Cancelled => Err(cancelled()),
        }
    }
}

/// The answer to a cancelled request, which is never sent.
pub(crate) fn cancelled() -> ErrorData {
    ErrorData::new(ErrorCode(-32000), "cancelled", None)
}

/// The purpose that a client's state is sealed for: only this caller, and only this target.
pub(crate) fn purpose(guest: &Guest, method: &str, target: &str) -> String {
    format!("state|{}|{method}|{target}", guest.principal().name)
}

/// The error for state that came back changed, too late, or in the wrong request.
pub(crate) fn bad_state(Forged: Forged) -> ErrorData {
    finish::invalid_params(&Problem::new(
        "requestState",
        "is not a state that this server issued for this request",
    ))
}

impl Call {
    pub(crate) fn task_use(&self) -> TaskUse {
        self.admitted.route().tasks
    }

    pub(crate) fn listener(&self) -> Arc<Listener> {
        Arc::clone(&self.listener)
    }

    pub(crate) fn cancel(&self) -> CancellationToken {
        self.bounds.cancel.clone()
    }

    pub(crate) fn owner(&self) -> Arc<str> {
        Arc::clone(&self.guest.principal().name)
    }

    /// Takes the call permit out of the call: a task is counted among the tasks instead.
    pub(crate) fn take_place(&mut self) -> Option<Place> {
        self.permit.place.take()
    }

    /// Validates the arguments, runs the tool, builds the answer, and writes one audit line.
    pub(crate) async fn perform(mut self) -> Result<Reply, ErrorData> {
        let name = self.admitted.route().info.name.clone();
        let span = self.span(&name);
        let ended = async {
            let ended = self.rounds().await;
            let ending: &Ending = match &ended {
                Ok((_, ending)) => ending,
                Err(failed) => &failed.ending,
            };
            self.line.close(ending)?;
            let (outcome, bytes) = (ending.outcome.name(), ending.bytes);
            let took = self.line.entry().began().elapsed();
            tracing::debug!(target: "docent::tools", tool = name, outcome, ?took, bytes, "called");
            let screening = &self.screening;
            ended.map(|(reply, _)| reply).map_err(|failed| screening.error(failed.error))
        }
        .instrument(span)
        .await;
        drop(self.permit);
        ended
    }

    /// A span costs more than a small call, so it is only created if it is exported or everything is logged.
    fn span(&self, tool: &str) -> tracing::Span {
        let parent = self.line.entry().traceparent();
        let Some(adopt) = self.server.adopt_trace() else {
            return tracing::debug_span!(target: "docent::tools", "call", tool, traceparent = parent);
        };
        let span = tracing::info_span!(target: "docent::tools", "call", tool, traceparent = parent);
        if let Some(parent) = parent {
            adopt(&span, parent);
        }
        span
    }

    fn finish(&self) -> Finish<'_> {
        Finish {
            route: self.admitted.route(),
            dialect: self.guest.dialect,
            owner: &self.guest.principal().name,
            results: self.server.results(),
            screening: &self.screening,
            page_bytes: self.server.limits().page_bytes,
            timeout: self.timeout,
            timed_by: self.admitted.timed_by(self.timeout),
            closing: self.listener.hurried().initialized(),
            overdue: Instant::now() >= self.bounds.deadline,
        }
    }

    async fn rounds(&mut self) -> Result<(Reply, Ending), Failed> {
        let route = Arc::clone(self.admitted.route());
        let mut arguments = match route.input.check(std::mem::take(&mut self.arguments)) {
            Ok(arguments) => Some(arguments),
            Err(problem) => return self.finish().bad_arguments(&problem).map(answered),
        };
        let again = self.listener.may_run_again();
        for _ in 0..MOST_ROUNDS {
            let given = if again { arguments.clone() } else { arguments.take() };
            let Some(given) = given else { break };
            self.listener.begin_round();
            let context = CallContext::new(
                Arc::clone(&self.listener) as Arc<dyn docent_tool::Audience>,
                self.bounds.cancel.clone(),
                Some(self.bounds.deadline),
            );
            let work: docent_tool::Running<'_, _> = match self.admitted.approval() {
                None => route.tool.call(given, &context),
                Some(rule) => Box::pin(async {
                    approval::ask(&context, &route.info, &given, (rule, 0)).await?;
                    route.tool.call(given, &context).await
                }),
            };
            let ended = bounded(work, &self.bounds, &self.listener).await;
            let needed = match ended {
                Ended::Done(Err(ToolError::NeedsInput(needed))) => needed,
                other => return self.end(other),
            };
            if !(again && self.listener.answers_at_once()) {
                return self.ask_by_result(needed);
            }
            let asked =
                bounded(Box::pin(self.listener.put(needed)), &self.bounds, &self.listener).await;
            match asked {
                Ended::Done(Ok(())) => {}
                Ended::Done(Err(error)) => return self.end(Ended::Done(Err(error))),
                Ended::Panicked(words) => return self.end(Ended::Panicked(words)),
                Ended::Cancelled => return self.end(Ended::Cancelled),
                Ended::Late => return self.end(Ended::Late),
            }
        }
        Err(finish::internal(&route.info.name, "the tool did not stop asking questions"))
    }

    fn ask_by_result(&self, needed: InputNeeded) -> Result<(Reply, Ending), Failed> {
        if !self.guest.is_modern() {
            let lacking = needed.asks.first().map_or("questions", |(_, ask)| capability(ask));
            return self.finish().error(ToolError::ClientLacks(lacking), Vec::new()).map(answered);
        }
        let purpose = purpose(&self.guest, "tools/call", &self.admitted.route().info.name);
        match self.listener.input_required(needed, self.server.seal(), &purpose) {
            Ok(result) => {
                let asks = Ending { reason: Some("needs_input"), ..Ending::new(Outcome::Ok, 0) };
                Ok((Reply::NeedsInput(result), asks))
            }
            Err(error) => self.finish().error(error, Vec::new()).map(answered),
        }
    }

    fn end(&self, ended: Ended<docent_tool::Outcome>) -> Result<(Reply, Ending), Failed> {
        let emitted = self.listener.take_emitted();
        let cancelled = self.bounds.cancel.is_cancelled();
        let given_up = || Ok((Reply::Cancelled, Ending::new(Outcome::Cancelled, 0)));
        match ended {
            Ended::Cancelled => given_up(),
            Ended::Done(Err(ToolError::Stopped(_))) if cancelled => given_up(),
            Ended::Done(Ok(outcome)) => Ok(answered(self.finish().answer(outcome, emitted))),
            Ended::Done(Err(error)) => self.finish().error(error, emitted).map(answered),
            Ended::Late => Ok(answered(self.finish().late(emitted))),
            Ended::Panicked(words) => {
                self.server.counters().panics.fetch_add(1, Ordering::Relaxed);
                Err(finish::internal(&self.admitted.route().info.name, &format!("panic: {words}")))
            }
        }
    }
}

fn answered((result, ending): Finished) -> (Reply, Ending) {
    (Reply::Answer(result), ending)
}

/// The client capability needed to answer.
pub(crate) fn capability(ask: &docent_tool::Ask) -> &'static str {
    match ask {
        docent_tool::Ask::Sample(_) => "sampling",
        docent_tool::Ask::Elicit(_) => "elicitation",
        docent_tool::Ask::Roots => "roots",
    }
}

/// The error for a tool outside the principal's scopes.
pub(crate) fn out_of_scope(guest: &Guest, tool: &str, rule: &str) -> ErrorData {
    let name = &guest.principal().name;
    let message = format!("`{name}` may not use the tool `{tool}`: refused by {rule}");
    ErrorData::new(
        ErrorCode(-32000),
        message,
        Some(json!({"tool": tool, "scopes": &*guest.principal().scopes, "rule": rule})),
    )
}
