//! A nested call: one tool uses another on behalf of the same client, with all checks that apply to the client's own
//! calls, except that it needs no call permit, because the outer call has one.

use crate::{
    approval,
    audience::Listener,
    audit::Ending,
    guest::Guest,
    metrics::Outcome,
    record::{Asked, Line},
    server::{Refusal, Server},
};
use docent_tool::{Audience, CallContext, Object, Stop, ToolError};
use rmcp::ErrorData;
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// The origin of a nested call.
pub(crate) struct Nested<'a> {
    /// The provider whose tool it must be: another server may have one with the same name.
    pub(crate) provider: &'a str,
    /// Its number within the outer call.
    pub(crate) nth: usize,
    /// The state it returned when it last asked the client something.
    pub(crate) state: Option<String>,
    pub(crate) server: &'a Arc<Server>,
    pub(crate) guest: &'a Guest,
    /// The client's own name and version, if it sent them.
    pub(crate) client: Option<&'a str>,
    /// Receives what the inner call reports, and answers its questions.
    pub(crate) around: Arc<Listener>,
    pub(crate) cancel: CancellationToken,
}

impl Nested<'_> {
    /// Checks, runs, and writes an audit line of its own.
    pub(crate) async fn call(
        self,
        tool: &str,
        arguments: Object,
    ) -> Result<docent_tool::Outcome, ToolError> {
        let asked = Asked { method: "tools/call", target: tool, arguments: Some(&arguments) };
        let client = || self.client.map(str::to_owned);
        let entry = self.server.open_within(self.guest, client, &asked);
        let mut line = Line::new(self.server, entry);
        let admitted = self.server.admit_within(self.guest, tool, Some(self.provider)).await;
        let (admitted, _running) = match admitted {
            Ok(admitted) => admitted,
            Err(Refusal { reason, error }) => {
                line.close(&Ending::refused(reason)).map_err(refused)?;
                return Err(refused(error));
            }
        };
        let route = admitted.route();
        line.count_for(&route.stats);
        let checked = route.input.check(arguments);
        let deadline = Instant::now() + admitted.within(route.timeout);
        let context = CallContext::new(
            Arc::clone(&self.around) as Arc<dyn Audience>,
            self.cancel.clone(),
            Some(deadline),
        )
        .with_state(self.state);
        let ended = match checked {
            Err(problem) => Err(ToolError::argument(problem.parameter, problem.reason)),
            Ok(arguments) => {
                let work = async {
                    if let Some(rule) = admitted.approval() {
                        approval::ask(&context, &route.info, &arguments, (rule, self.nth)).await?;
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
fn ending(ended: &Result<docent_tool::Outcome, ToolError>) -> Ending {
    let (outcome, reason, bytes) = match ended {
        Ok(answer) if answer.is_error => (Outcome::Error, Some("failed"), weight(answer)),
        Ok(answer) if answer.partial => (Outcome::Partial, Some("deadline"), weight(answer)),
        Ok(answer) => (Outcome::Ok, None, weight(answer)),
        Err(ToolError::Stopped(Stop::Cancelled)) => (Outcome::Cancelled, None, 0),
        Err(ToolError::Stopped(_)) => (Outcome::Error, Some("deadline"), 0),
        Err(ToolError::Argument { .. }) => (Outcome::Error, Some("invalid_arguments"), 0),
        Err(ToolError::Failed(failure)) => (Outcome::Error, Some(failure.kind.name()), 0),
        Err(ToolError::Refused { .. }) => (Outcome::Error, Some("refused"), 0),
        Err(ToolError::NeedsInput(_)) => (Outcome::Ok, Some("needs_input"), 0),
        Err(_) => (Outcome::Error, Some("failed"), 0),
    };
    Ending { reason, ..Ending::new(outcome, bytes) }
}

fn weight(answer: &docent_tool::Outcome) -> usize {
    let text = |block: &docent_tool::Block| match block {
        docent_tool::Block::Text { text, .. } => text.len(),
        docent_tool::Block::Raw(value) => value.to_string().len(),
        _ => 0,
    };
    let structured = answer.structured.as_ref().map_or(0, |value| value.to_string().len());
    answer.content.iter().map(text).sum::<usize>() + structured
}

fn refused(error: ErrorData) -> ToolError {
    ToolError::Refused { code: error.code.0, message: error.message.into_owned(), data: error.data }
}
