//! One `tools/call`, from an admitted route to its answer.

use crate::{
    Screening,
    admission::CallPermit,
    approval,
    audit::AuditOutcome,
    audit_guard::AuditGuard,
    call_client::RemoteCallClient,
    cursor::InvalidCursor,
    metrics::RequestOutcome,
    policy::Admitted,
    request_caller::RequestCaller,
    result_builder::{self, FinishedResult, ResultBuilder, ToolCallError},
    run::{RunLimits, RunOutcome, run_bounded},
    server::{McpServer, RunPermit},
    tasks::TaskUse,
    validate::ArgumentProblem,
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
const MAX_QUESTION_ROUNDS: usize = 16;

/// A call that may run.
pub(crate) struct RunnableCall {
    pub(crate) server: Arc<McpServer>,
    pub(crate) admitted: Admitted,
    pub(crate) arguments: Object,
    pub(crate) client: Arc<RemoteCallClient>,
    pub(crate) bounds: RunLimits,
    pub(crate) timeout: Duration,
    pub(crate) screening: Screening,
    pub(crate) caller: RequestCaller,
    pub(crate) line: AuditGuard,
    /// Kept until the answer is ready. A call that becomes a task gives up its call permit earlier.
    pub(crate) permit: RunPermit,
}

/// The reply to a call.
pub(crate) enum ToolCallReply {
    Answer(CallToolResult),
    NeedsInput(InputRequiredResult),
    /// The client no longer waits for the answer.
    Cancelled,
}

impl TryFrom<ToolCallReply> for CallToolResponse {
    type Error = ErrorData;

    fn try_from(reply: ToolCallReply) -> Result<Self, ErrorData> {
        match reply {
            ToolCallReply::Answer(result) => Ok(Self::Complete(result)),
            ToolCallReply::NeedsInput(result) => Ok(Self::InputRequired(result)),
            ToolCallReply::Cancelled => Err(cancelled()),
        }
    }
}

/// The answer to a cancelled request, which is never sent.
pub(crate) fn cancelled() -> ErrorData {
    ErrorData::new(ErrorCode(-32000), "cancelled", None)
}

/// The purpose that a client's state is sealed for: only this caller, and only this target.
pub(crate) fn purpose(guest: &RequestCaller, method: &str, target: &str) -> String {
    format!("state|{}|{method}|{target}", guest.principal().name)
}

/// The error for state that came back changed, too late, or in the wrong request.
pub(crate) fn bad_state(InvalidCursor: InvalidCursor) -> ErrorData {
    result_builder::invalid_params(&ArgumentProblem::new(
        "requestState",
        "is not a state that this server issued for this request",
    ))
}

impl RunnableCall {
    pub(crate) fn task_use(&self) -> TaskUse {
        self.admitted.route().tasks
    }

    pub(crate) fn listener(&self) -> Arc<RemoteCallClient> {
        Arc::clone(&self.client)
    }

    pub(crate) fn cancel(&self) -> CancellationToken {
        self.bounds.cancel.clone()
    }

    pub(crate) fn owner(&self) -> Arc<str> {
        Arc::clone(&self.caller.principal().name)
    }

    /// Takes the call permit out of the call: a task is counted among the tasks instead.
    pub(crate) fn take_place(&mut self) -> Option<CallPermit> {
        self.permit.call_permit.take()
    }

    /// Validates the arguments, runs the tool, builds the answer, and writes one audit line.
    pub(crate) async fn perform(mut self) -> Result<ToolCallReply, ErrorData> {
        let name = self.admitted.route().info.name.clone();
        let span = self.span(&name);
        let ended = async {
            let ended = self.rounds().await;
            let ending: &AuditOutcome = match &ended {
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
        let Some(adopt) = self.server.adopt_trace_parent() else {
            return tracing::debug_span!(target: "docent::tools", "call", tool, traceparent = parent);
        };
        let span = tracing::info_span!(target: "docent::tools", "call", tool, traceparent = parent);
        if let Some(parent) = parent {
            adopt(&span, parent);
        }
        span
    }

    fn finish(&self) -> ResultBuilder<'_> {
        ResultBuilder {
            route: self.admitted.route(),
            dialect: self.caller.dialect,
            owner: &self.caller.principal().name,
            results: self.server.results(),
            screening: &self.screening,
            page_bytes: self.server.limits().page_bytes,
            timeout: self.timeout,
            timed_by: self.admitted.timed_by(self.timeout),
            closing: self.client.shutdown_requested().initialized(),
            overdue: Instant::now() >= self.bounds.deadline,
        }
    }

    async fn rounds(&mut self) -> Result<(ToolCallReply, AuditOutcome), ToolCallError> {
        let route = Arc::clone(self.admitted.route());
        let mut arguments = match route.input.check(std::mem::take(&mut self.arguments)) {
            Ok(arguments) => Some(arguments),
            Err(problem) => return self.finish().bad_arguments(&problem).map(answered),
        };
        let again = self.client.may_run_again();
        for _ in 0..MAX_QUESTION_ROUNDS {
            let given = if again { arguments.clone() } else { arguments.take() };
            let Some(given) = given else { break };
            self.client.begin_round();
            let context = CallContext::new(
                Arc::clone(&self.client) as Arc<dyn docent_tool::CallClient>,
                self.bounds.cancel.clone(),
                Some(self.bounds.deadline),
            );
            let work: docent_tool::BoxedFuture<'_, _> = match self.admitted.approval() {
                None => route.tool.call(given, &context),
                Some(rule) => Box::pin(async {
                    approval::ask(&context, &route.info, &given, rule, 0).await?;
                    route.tool.call(given, &context).await
                }),
            };
            let ended = run_bounded(work, &self.bounds, &self.client).await;
            let needed = match ended {
                RunOutcome::Done(Err(ToolError::NeedsInput(needed))) => needed,
                other => return self.end(other),
            };
            if !(again && self.client.answers_at_once()) {
                return self.ask_by_result(needed);
            }
            let asked =
                run_bounded(Box::pin(self.client.put(needed)), &self.bounds, &self.client).await;
            match asked {
                RunOutcome::Done(Ok(())) => {}
                RunOutcome::Done(Err(error)) => return self.end(RunOutcome::Done(Err(error))),
                RunOutcome::Panicked(words) => return self.end(RunOutcome::Panicked(words)),
                RunOutcome::Cancelled => return self.end(RunOutcome::Cancelled),
                RunOutcome::Late => return self.end(RunOutcome::Late),
            }
        }
        Err(result_builder::internal(&route.info.name, "the tool did not stop asking questions"))
    }

    fn ask_by_result(
        &self,
        needed: InputNeeded,
    ) -> Result<(ToolCallReply, AuditOutcome), ToolCallError> {
        if !self.caller.is_modern() {
            let lacking = needed.asks.first().map_or("questions", |(_, ask)| capability(ask));
            return self.finish().error(ToolError::ClientLacks(lacking), Vec::new()).map(answered);
        }
        let purpose = purpose(&self.caller, "tools/call", &self.admitted.route().info.name);
        match self.client.input_required(needed, self.server.cursor_codec(), &purpose) {
            Ok(result) => {
                let asks = AuditOutcome {
                    reason: Some("needs_input"),
                    ..AuditOutcome::new(RequestOutcome::Ok, 0)
                };
                Ok((ToolCallReply::NeedsInput(result), asks))
            }
            Err(error) => self.finish().error(error, Vec::new()).map(answered),
        }
    }

    fn end(
        &self,
        ended: RunOutcome<docent_tool::ToolOutcome>,
    ) -> Result<(ToolCallReply, AuditOutcome), ToolCallError> {
        let emitted = self.client.take_emitted();
        let cancelled = self.bounds.cancel.is_cancelled();
        let given_up =
            || Ok((ToolCallReply::Cancelled, AuditOutcome::new(RequestOutcome::Cancelled, 0)));
        match ended {
            RunOutcome::Cancelled => given_up(),
            RunOutcome::Done(Err(ToolError::Stopped(_))) if cancelled => given_up(),
            RunOutcome::Done(Ok(outcome)) => Ok(answered(self.finish().answer(outcome, emitted))),
            RunOutcome::Done(Err(error)) => self.finish().error(error, emitted).map(answered),
            RunOutcome::Late => Ok(answered(self.finish().late(emitted))),
            RunOutcome::Panicked(words) => {
                self.server.counters().panics.fetch_add(1, Ordering::Relaxed);
                Err(result_builder::internal(
                    &self.admitted.route().info.name,
                    &format!("panic: {words}"),
                ))
            }
        }
    }
}

fn answered((result, ending): FinishedResult) -> (ToolCallReply, AuditOutcome) {
    (ToolCallReply::Answer(result), ending)
}

/// The client capability needed to answer.
pub(crate) fn capability(ask: &docent_tool::ClientQuery) -> &'static str {
    match ask {
        docent_tool::ClientQuery::Sample(_) => "sampling",
        docent_tool::ClientQuery::Elicit(_) => "elicitation",
        docent_tool::ClientQuery::Roots => "roots",
    }
}

/// The error for a tool outside the principal's scopes.
pub(crate) fn out_of_scope(guest: &RequestCaller, tool: &str, rule: &str) -> ErrorData {
    let name = &guest.principal().name;
    let message = format!("`{name}` may not use the tool `{tool}`: refused by {rule}");
    ErrorData::new(
        ErrorCode(-32000),
        message,
        Some(json!({"tool": tool, "scopes": &*guest.principal().scopes, "rule": rule})),
    )
}
