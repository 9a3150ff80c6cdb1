//! An in-memory client of one call: records what the call reports, and answers its questions.

use docent_tool::{
    AnswerBlock, BoxedFuture, CallClient, CallContext, ClientQuery, InputNeeded, Object, Progress,
    SyslogLevel, ToolError,
};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Everything that a call reported.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct RecordedCall {
    /// Its progress, step by step.
    pub progress: Vec<Progress>,
    /// Its log lines.
    pub log: Vec<(SyslogLevel, Value)>,
    /// The blocks of its answer sent early.
    pub emitted: Vec<AnswerBlock>,
}

/// Records one call.
#[derive(Debug, Default)]
pub struct CallRecorder {
    call: Mutex<RecordedCall>,
    answers: Object,
    lacks: Vec<&'static str>,
    state: Option<String>,
}

impl CallRecorder {
    /// Sets the answer to the question with this key; a question without one ends the call with `NeedsInput`.
    #[must_use]
    pub fn answer(mut self, key: &str, answer: Value) -> Self {
        self.answers.insert(key.to_owned(), answer);
        self
    }

    /// Removes a client capability: `sampling`, `elicitation` or `roots`.
    #[must_use]
    pub fn without_capability(mut self, capability: &'static str) -> Self {
        self.lacks.push(capability);
        self
    }

    /// Returns this state to the tool.
    #[must_use]
    pub fn state(mut self, state: &str) -> Self {
        self.state = Some(state.to_owned());
        self
    }

    /// Creates a context that reports here and can be cancelled with its token.
    pub fn context(self) -> (Arc<Self>, CallContext) {
        let recorder = Arc::new(self);
        let context = CallContext::new(Arc::clone(&recorder) as _, CancellationToken::new(), None);
        (recorder, context)
    }

    /// What was recorded so far.
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

    fn ask<'a>(
        &'a self,
        key: &'a str,
        ask: ClientQuery,
    ) -> BoxedFuture<'a, Result<Value, ToolError>> {
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
