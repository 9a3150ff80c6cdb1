//! A nested call: one tool uses another on behalf of the same client, with all checks that apply to the client's own
//! calls, except that it needs no call permit, because the outer call has one.

use crate::{
    approval,
    audit::AuditOutcome,
    audit_guard::{AuditGuard, RequestSubject},
    call_client::RemoteCallClient,
    metrics::RequestOutcome,
    request_caller::RequestCaller,
    server::{McpServer, RequestRefusal},
};
use docent_tool::{CallClient, CallContext, CallStop, Object, ToolError};
use rmcp::ErrorData;
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// The origin of a nested call.
pub(crate) struct NestedCall<'a> {
    /// The provider whose tool it must be: another server may have one with the same name.
    pub(crate) provider: &'a str,
    /// Its number within the outer call.
    pub(crate) nth: usize,
    /// The state it returned when it last asked the client something.
    pub(crate) state: Option<String>,
    pub(crate) server: &'a Arc<McpServer>,
    pub(crate) guest: &'a RequestCaller,
    /// The client's own name and version, if it sent them.
    pub(crate) client: Option<&'a str>,
    /// Receives what the inner call reports, and answers its questions.
    pub(crate) around: Arc<RemoteCallClient>,
    pub(crate) cancel: CancellationToken,
}

impl NestedCall<'_> {
    /// Checks, runs, and writes an audit line of its own.
    pub(crate) async fn call(
        self,
        tool: &str,
        arguments: Object,
    ) -> Result<docent_tool::ToolOutcome, ToolError> {
        let asked =
            RequestSubject { method: "tools/call", target: tool, arguments: Some(&arguments) };
        let client = || self.client.map(str::to_owned);
        let entry = self.server.open_within(self.guest, client, &asked);
        let mut line = AuditGuard::new(self.server, entry);
        let admitted = self.server.admit_within(self.guest, tool, Some(self.provider)).await;
        let (admitted, _running) = match admitted {
            Ok(admitted) => admitted,
            Err(RequestRefusal { reason, error }) => {
                line.close(&AuditOutcome::refused(reason)).map_err(refused)?;
                return Err(refused(error));
            }
        };
        let route = admitted.route();
        line.count_for(&route.stats);
        let checked = route.input.check(arguments);
        let deadline = Instant::now() + admitted.within(route.timeout);
        let context = CallContext::new(
            Arc::clone(&self.around) as Arc<dyn CallClient>,
            self.cancel.clone(),
            Some(deadline),
        )
        .with_state(self.state);
        let ended = match checked {
            Err(problem) => Err(ToolError::argument(problem.parameter, problem.reason)),
            Ok(arguments) => {
                let work = async {
                    if let Some(rule) = admitted.approval() {
                        approval::ask(&context, &route.info, &arguments, rule, self.nth).await?;
                    }
                    route.tool.call(arguments, &context).await
                };
                tokio::select! {
                    biased;
                    stop = context.stopped() => Err(ToolError::Stopped(stop)),
                    ended = work => ended,
                }
            }
        };
        let ended = self.server.screening().within(ended);
        line.close(&ending(&ended)).map_err(refused)?;
        ended
    }
}

/// The outcome for the audit line of an inner call: the reason is docent's own word, as for the outer call.
fn ending(ended: &Result<docent_tool::ToolOutcome, ToolError>) -> AuditOutcome {
    let (outcome, reason, bytes) = match ended {
        Ok(answer) if answer.is_error => (RequestOutcome::Error, Some("failed"), weight(answer)),
        Ok(answer) if answer.partial => (RequestOutcome::Partial, Some("deadline"), weight(answer)),
        Ok(answer) => (RequestOutcome::Ok, None, weight(answer)),
        Err(ToolError::Stopped(CallStop::Cancelled)) => (RequestOutcome::Cancelled, None, 0),
        Err(ToolError::Stopped(_)) => (RequestOutcome::Error, Some("deadline"), 0),
        Err(ToolError::Argument { .. }) => (RequestOutcome::Error, Some("invalid_arguments"), 0),
        Err(ToolError::Failed(failure)) => (RequestOutcome::Error, Some(failure.kind.name()), 0),
        Err(ToolError::Refused { .. }) => (RequestOutcome::Error, Some("refused"), 0),
        Err(ToolError::NeedsInput(_)) => (RequestOutcome::Ok, Some("needs_input"), 0),
        Err(_) => (RequestOutcome::Error, Some("failed"), 0),
    };
    AuditOutcome { reason, ..AuditOutcome::new(outcome, bytes) }
}

fn weight(answer: &docent_tool::ToolOutcome) -> usize {
    let text = |block: &docent_tool::AnswerBlock| match block {
        docent_tool::AnswerBlock::Text { text, .. } => text.len(),
        docent_tool::AnswerBlock::Raw(value) => value.to_string().len(),
        _ => 0,
    };
    let structured = answer.structured.as_ref().map_or(0, |value| value.to_string().len());
    answer.content.iter().map(text).sum::<usize>() + structured
}

fn refused(error: ErrorData) -> ToolError {
    ToolError::Refused { code: error.code.0, message: error.message.into_owned(), data: error.data }
}
