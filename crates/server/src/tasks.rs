//! Long calls of clients that follow tasks: a handle at once, the answer when it is there.

use crate::{
    audience::Listener,
    call::{Call, Reply},
};
use docent_tool::Object;
use rmcp::{
    ErrorData,
    model::{CallToolResponse, ClientCapabilities, CreateTaskResult, DetailedTask, InputResponses},
    task_manager::{TaskExit, TaskManager, TaskOptions},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// In a tool's `_meta`: `always` makes every call a task for clients that follow tasks, `required` refuses clients that
/// don't, `never` keeps the tool out of tasks. Without it, a call becomes a task when it takes long.
pub const TASK_KEY: &str = "docent/task";

/// A call that has not ended by then becomes a task.
pub(crate) const LONG: Duration = Duration::from_secs(2);
/// Tasks that run at once.
const MOST_RUNNING: usize = 256;

/// How long a task may run: it must have ended by itself before the time is up for which it is kept.
pub(crate) fn longest(kept: Duration) -> Duration {
    kept * 9 / 10
}

/// When a tool's calls become tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskUse {
    WhenLong,
    Always,
    Required,
    Never,
}

impl TaskUse {
    pub(crate) fn of(meta: Option<&Object>) -> Self {
        match meta.and_then(|meta| meta.get(TASK_KEY)).and_then(Value::as_str) {
            Some("always") => Self::Always,
            Some("required") => Self::Required,
            Some("never") => Self::Never,
            _ => Self::WhenLong,
        }
    }
}

/// The tasks of a server. Each belongs to the principal that made the call.
pub(crate) struct Tasks {
    manager: TaskManager,
    owners: Mutex<HashMap<String, (Arc<str>, Instant)>>,
    ttl: Duration,
}

impl Tasks {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { manager: TaskManager::new(), owners: Mutex::default(), ttl }
    }

    pub(crate) fn running(&self) -> usize {
        self.manager.running_task_count()
    }

    /// Runs a call, answering with a task when it takes long or always does. `request` is cancelled with the request.
    pub(crate) async fn run(
        &self,
        mut call: Call,
        request: CancellationToken,
    ) -> Result<CallToolResponse, ErrorData> {
        let at_once = matches!(call.task_use(), TaskUse::Always | TaskUse::Required);
        let (listener, cancel, owner) = (call.listener(), call.cancel(), call.owner());
        // Held for as long as the request is open. Tasks have a bound of their own: were they to keep places in the lane,
        // a client that follows many could call nothing else.
        let _place = call.take_place();
        let mut work: Working = Box::pin(call.perform());
        if !at_once {
            let early =
                tokio::time::timeout(LONG, until_cancelled(work.as_mut(), &request, &cancel)).await;
            if let Ok(ended) = early {
                return ended?.try_into();
            }
        }
        if self.running() >= MOST_RUNNING {
            return until_cancelled(work, &request, &cancel).await?.try_into();
        }
        Ok(CallToolResponse::Task(self.hand_over(work, listener, cancel, owner)))
    }

    fn hand_over(
        &self,
        work: Working,
        listener: Arc<Listener>,
        cancel: CancellationToken,
        owner: Arc<str>,
    ) -> CreateTaskResult {
        let ttl = u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(ttl).with_poll_interval_ms(500);
        let task = self.manager.spawn(options, move |task| {
            listener.follow(task.clone());
            Box::pin(async move {
                let mut work = work;
                let ended = tokio::select! {
                    ended = &mut work => ended,
                    () = task.cancelled() => {
                        cancel.cancel();
                        work.await
                    }
                };
                match ended? {
                    Reply::Answer(result) => Ok(result),
                    Reply::Cancelled => Err(TaskExit::Cancelled),
                    // Questions of a task are put through the task, so this is never reached.
                    Reply::NeedsInput(_) => {
                        Err(ErrorData::internal_error("a task asked outside of the task", None)
                            .into())
                    }
                }
            })
        });
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        // A task is kept for at most twice its time: once running, once ended.
        owners.retain(|_, (_, since)| since.elapsed() < self.ttl * 2);
        owners.insert(task.task_id.clone(), (owner, Instant::now()));
        CreateTaskResult::new(task)
    }

    /// Somebody else's task is as unknown as one that never was.
    fn check(&self, id: &str, who: &str) -> Result<(), ErrorData> {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if owners.get(id).is_some_and(|(owner, _)| &**owner == who) {
            return Ok(());
        }
        Err(ErrorData::invalid_params(
            format!("unknown task: {}", crate::catalogue::clip(id)),
            None,
        ))
    }

    pub(crate) fn get(&self, id: &str, who: &str) -> Result<DetailedTask, ErrorData> {
        self.check(id, who)?;
        self.manager.get_task(id)
    }

    pub(crate) fn update(
        &self,
        id: &str,
        who: &str,
        responses: InputResponses,
    ) -> Result<(), ErrorData> {
        self.check(id, who)?;
        self.manager.update_task(id, responses)
    }

    pub(crate) fn cancel(&self, id: &str, who: &str) -> Result<(), ErrorData> {
        self.check(id, who)?;
        self.manager.cancel_task(id)
    }

    /// Cancels every task; each ends by itself, and leaves its line.
    pub(crate) fn stop(&self) {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        for id in owners.keys() {
            // One that is gone needs no cancelling.
            self.manager.cancel_task(id).unwrap_or_default();
        }
    }

    /// Drops every task.
    pub(crate) fn drop_all(&self) {
        self.manager.shutdown();
    }
}

/// A call that runs on by itself.
type Working = std::pin::Pin<Box<dyn Future<Output = Result<Reply, ErrorData>> + Send>>;

/// While a call is no task yet, cancelling the request cancels it.
async fn until_cancelled(
    work: impl Future<Output = Result<Reply, ErrorData>>,
    request: &CancellationToken,
    cancel: &CancellationToken,
) -> Result<Reply, ErrorData> {
    let mut work = pin!(work);
    tokio::select! {
        ended = &mut work => return ended,
        () = request.cancelled() => cancel.cancel(),
    }
    work.await
}

/// The tool can only answer with a task, and the client did not say that it follows them.
pub(crate) fn required() -> ErrorData {
    ErrorData::missing_required_client_capability(
        ClientCapabilities::builder().enable_tasks().build(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_says_how_it_uses_tasks() {
        let cases = [
            (json!({}), TaskUse::WhenLong),
            (json!({TASK_KEY: "always"}), TaskUse::Always),
            (json!({TASK_KEY: "required"}), TaskUse::Required),
            (json!({TASK_KEY: "never"}), TaskUse::Never),
            (json!({TASK_KEY: 5}), TaskUse::WhenLong),
        ];
        for (meta, want) in cases {
            assert_eq!(TaskUse::of(meta.as_object()), want, "{meta}");
        }
        assert_eq!(TaskUse::of(None), TaskUse::WhenLong);
    }
}
