//! A caller in memory: keeps what a call tells, and answers what it asks.

use docent_tool::{
    ClientQuery, CallClient, AnswerBlock, CallContext, InputNeeded, SyslogLevel, Object, Progress, BoxedFuture, ToolError,
};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Everything that a call told.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct RecordedCall {
    /// How far it came, step by step.
    pub progress: Vec<Progress>,
    /// Its log lines.
    pub log: Vec<(SyslogLevel, Value)>,
    /// The pieces of its answer.
    pub emitted: Vec<AnswerBlock>,
}

/// Listens to one call.
#[derive(Debug, Default)]
pub struct CallRecorder {
    call: Mutex<RecordedCall>,
    answers: Object,
    lacks: Vec<&'static str>,
    state: Option<String>,
}

impl CallRecorder {
    /// Answers the question of this key; a question without an answer ends the call with what it needs.
    #[must_use]
    pub fn answer(mut self, key: &str, answer: Value) -> Self {
        self.answers.insert(key.to_owned(), answer);
        self
    }

    /// Has a client without this capability: `sampling`, `elicitation` or `roots`.
    #[must_use]
    pub fn without_capability(mut self, capability: &'static str) -> Self {
        self.lacks.push(capability);
        self
    }

    /// Hands this back to the tool.
    #[must_use]
    pub fn state(mut self, state: &str) -> Self {
        self.state = Some(state.to_owned());
        self
    }

    /// A context that reports here, and can be cancelled by its token.
    pub fn context(self) -> (Arc<Self>, CallContext) {
        let recorder = Arc::new(self);
        let context = CallContext::new(Arc::clone(&recorder) as _, CancellationToken::new(), None);
        (recorder, context)
    }

    /// What was told so far.
    pub fn recorded(&self) -> RecordedCall {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, RecordedCall> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallClient for CallRecorder {
    fn progress(&self, progress: Progress) {
        self.lock().progress.push(progress);
    }

    fn log(&self, level: SyslogLevel, _logger: &str, data: Value) {
        self.lock().log.push((level, data));
    }

    fn emit(&self, block: AnswerBlock) -> BoxedFuture<'_, ()> {
        self.lock().emitted.push(block);
        Box::pin(std::future::ready(()))
    }

    fn ask<'a>(&'a self, key: &'a str, ask: ClientQuery) -> BoxedFuture<'a, Result<Value, ToolError>> {
        let capability = match ask {
            ClientQuery::Sample(_) => "sampling",
            ClientQuery::Elicit(_) => "elicitation",
            ClientQuery::Roots => "roots",
        };
        let answer = if self.lacks.contains(&capability) {
            Err(ToolError::ClientLacks(capability))
        } else if let Some(answer) = self.answers.get(key) {
            Ok(answer.clone())
        } else {
            Err(ToolError::NeedsInput(InputNeeded {
                asks: vec![(key.to_owned(), ask)],
                state: None,
            }))
        };
        Box::pin(std::future::ready(answer))
    }

    fn state(&self) -> Option<String> {
        self.state.clone()
    }
}
