//! A call within a call: one tool uses another in the name of the same client, with all that holds for the client's own
//! calls but a place in line, which the call around it has.

use crate::{
    approval,
    audience::Listener,
    audit::Ending,
    guest::Guest,
    metrics::Outcome,
    record::{Asked, Entry},
    server::{Refusal, Server},
};
use docent_tool::{Audience, CallContext, Object, ToolError};
use rmcp::ErrorData;
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// Where a call within a call comes from.
pub(crate) struct Nested<'a> {
    /// Whose tool it must be: another server may have one of the same name.
    pub(crate) provider: &'a str,
    /// Which call within the one around it.
    pub(crate) nth: usize,
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
        // A call that is dropped half-way, or panics, leaves its line as well.
        let mut line = Line { server: self.server, entry, ending: Some(Outcome::Cancelled) };
        let admitted = self.server.admit_within(self.guest, tool, Some(self.provider)).await;
        let (admitted, _running) = match admitted {
            Ok(admitted) => admitted,
            Err(Refusal { reason, error }) => {
                line.close(&Ending::refused(reason))?;
                return Err(refused(error));
            }
        };
        let route = admitted.route();
        let checked = route.input.check(arguments);
        let deadline = Instant::now() + admitted.within(route.timeout);
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
                        approval::ask(&context, tool, &arguments, (rule, self.nth)).await?;
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
        line.close(&Ending::new(outcome, bytes))?;
        route.stats.count(outcome, line.entry.began().elapsed());
        ended
    }
}

/// The audit line of a call, written once.
struct Line<'a> {
    server: &'a Arc<Server>,
    entry: Entry,
    /// How it ended, if nobody says anything else.
    ending: Option<Outcome>,
}

impl Line<'_> {
    fn close(&mut self, ending: &Ending<'_>) -> Result<(), ToolError> {
        self.ending = None;
        self.server.close(&self.entry, ending).map_err(refused)
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if let Some(outcome) = self.ending
            && let Err(error) = self.server.close(&self.entry, &Ending::new(outcome, 0))
        {
            tracing::warn!(error = %error.message, "a call that was given up is not recorded");
        }
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
