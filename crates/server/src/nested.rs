//! A call within a call: one tool uses another in the name of the same client, with all that holds for the client's own
//! calls but a place in line, which the call around it has.

use crate::{
    approval,
    audience::Listener,
    audit::Ending,
    guest::Guest,
    metrics::Outcome,
    record::Asked,
    server::{Refusal, Server},
};
use docent_tool::{Audience, CallContext, Object, ToolError};
use rmcp::ErrorData;
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// Where a call within a call comes from.
pub(crate) struct Nested<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) guest: &'a Guest,
    /// The client's own name and version, as far as it told.
    pub(crate) client: Option<&'a str>,
    /// Hears what the inner call reports, and answers what it asks.
    pub(crate) around: Arc<Listener>,
    pub(crate) cancel: CancellationToken,
}

impl Nested<'_> {
    /// Checks, runs, and leaves an audit line of its own.
    pub(crate) async fn call(
        self,
        tool: &str,
        arguments: Object,
    ) -> Result<docent_tool::Outcome, ToolError> {
        let asked = Asked { method: "tools/call", target: tool, arguments: Some(&arguments) };
        let client = || self.client.map(str::to_owned);
        let entry = self.server.open_within(self.guest, client, &asked);
        let (admitted, _running) = match self.server.admit_within(self.guest, tool).await {
            Ok(admitted) => admitted,
            Err(Refusal { reason, error }) => {
                self.server.close(&entry, &Ending::refused(reason)).map_err(refused)?;
                return Err(refused(error));
            }
        };
        let route = admitted.route();
        let checked = route.input.check(arguments);
        let deadline = Instant::now() + route.timeout;
        let context = CallContext::new(
            Arc::clone(&self.around) as Arc<dyn Audience>,
            self.cancel.clone(),
            Some(deadline),
        );
        let ended = match checked {
            Err(problem) => Err(ToolError::argument(problem.parameter, problem.reason)),
            Ok(arguments) => {
                let work = async {
                    if let Some(rule) = admitted.approval() {
                        approval::ask(&context, tool, &arguments, rule).await?;
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
        let (outcome, bytes) = match &ended {
            Ok(answer) if answer.is_error => (Outcome::Error, weight(answer)),
            Ok(answer) if answer.partial => (Outcome::Partial, weight(answer)),
            Ok(answer) => (Outcome::Ok, weight(answer)),
            Err(ToolError::Stopped(docent_tool::Stop::Cancelled)) => (Outcome::Cancelled, 0),
            Err(_) => (Outcome::Error, 0),
        };
        self.server.close(&entry, &Ending::new(outcome, bytes)).map_err(refused)?;
        route.stats.count(outcome, entry.began().elapsed());
        ended
    }
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
