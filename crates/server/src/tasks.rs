//! Long calls of clients that support tasks: a handle at once, the answer when it is ready.

use crate::{
    call::{RunnableCall, ToolCallReply},
    call_client::{QUESTION_TIMEOUT, RemoteCallClient},
};
use docent_tool::Object;
use docent_transport::{ClientKey, Principal};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, ClientCapabilities, CreateTaskResult, DetailedTask, InputResponses},
    task_manager::{TaskExit, TaskManager, TaskOptions},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// In a tool's `_meta`: `always` makes every call a task for clients that support tasks, `required` refuses other
/// clients, `never` disables tasks. Without it, a call becomes a task when it takes long.
pub const TASK_KEY: &str = "docent/task";

/// Time after which a running call becomes a task.
pub(crate) const TASK_THRESHOLD: Duration = Duration::from_secs(2);
/// Maximum tasks, running or finished.
const MAX_TASKS: usize = 256;
/// Maximum tasks of one client, so that none can take all of them.
const MAX_TASKS_PER_CLIENT: usize = 64;
/// Time after the timeout for the grace period, the answer and the audit line.
const TASK_DEADLINE_SLACK: Duration = Duration::from_secs(10);

/// The default timeout of a call whose task is kept this long.
pub(crate) fn task_timeout(kept: Duration) -> Duration {
    kept * 9 / 10
}

/// How long the task of a call with this timeout is kept, and how far questions may extend its deadline. An expired
/// task drops its call, so the call must end before.
fn lifetime(kept: Duration, timeout: Duration) -> (Duration, Duration) {
    let needed = timeout + TASK_DEADLINE_SLACK;
    let patience = QUESTION_TIMEOUT.max(kept.saturating_sub(needed));
    (needed + patience, patience)
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
pub(crate) struct TaskStore {
    manager: TaskManager,
    known: Arc<Mutex<TaskOwners>>,
    ttl: Duration,
}

/// Every running or finished task, by its id.
type TaskOwners = HashMap<String, TaskOwner>;

struct TaskOwner {
    owner: Arc<str>,
    /// The client it is counted for: anonymous callers are one owner, and distinguished by their addresses.
    client: ClientKey,
    /// When it is forgotten: as long after its end as it may run, so at most twice that.
    until: Instant,
}

/// A running call as seen by its task.
struct TaskCall {
    listener: Arc<RemoteCallClient>,
    cancel: CancellationToken,
    owner: Arc<str>,
    client: ClientKey,
    timeout: Duration,
}

fn lock(known: &Mutex<TaskOwners>) -> MutexGuard<'_, TaskOwners> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TaskStore {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { manager: TaskManager::new(), known: Arc::default(), ttl }
    }

    pub(crate) fn running(&self) -> usize {
        self.manager.running_task_count()
    }

    /// Runs a call, answering with a task if it takes long or always does. `request` is cancelled with the request.
    pub(crate) async fn run(
        &self,
        mut call: RunnableCall,
        request: CancellationToken,
    ) -> Result<CallToolResponse, ErrorData> {
        let at_once = matches!(call.task_use(), TaskUse::Always | TaskUse::Required);
        let (listener, owner, timeout) = (call.listener(), call.owner(), call.timeout);
        let (cancel, client) = (call.cancel(), call.caller.caller.client());
        // Kept for as long as the request is open. Tasks have a limit of their own: if they kept call permits, a client
        // with many tasks could call nothing else.
        let _place = call.take_place();
        let mut work: TaskFuture = Box::pin(call.perform());
        if !at_once {
            let early = tokio::time::timeout(
                TASK_THRESHOLD,
                until_cancelled(work.as_mut(), &request, &cancel),
            )
            .await;
            if let Ok(ended) = early {
                return ended?.try_into();
            }
        }
        let followed = TaskCall { listener, cancel: cancel.clone(), owner, client, timeout };
        match self.hand_over(work, followed) {
            Ok(task) => Ok(CallToolResponse::Task(task)),
            Err(work) => until_cancelled(work, &request, &cancel).await?.try_into(),
        }
    }

    /// Turns a call into a task, or returns it if there are too many.
    fn hand_over(&self, work: TaskFuture, call: TaskCall) -> Result<CreateTaskResult, TaskFuture> {
        let TaskCall { listener, cancel, owner, client, timeout } = call;
        // Locked until the task is stored, so that a task that ends immediately finds itself.
        let mut known = lock(&self.known);
        let now = Instant::now();
        known.retain(|_, task| now < task.until);
        let own = known.values().filter(|task| task.client == client).count();
        if known.len() >= MAX_TASKS || own >= MAX_TASKS_PER_CLIENT {
            return Err(work);
        }
        let (ttl, patience) = lifetime(self.ttl, timeout);
        let millis = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(millis).with_poll_interval_ms(500);
        let all = Arc::clone(&self.known);
        let task = self.manager.spawn(options, move |task| {
            listener.follow(task.clone(), patience);
            Box::pin(async move {
                let mut work = work;
                let ended = tokio::select! {
                    ended = &mut work => ended,
                    () = task.cancelled() => {
                        cancel.cancel();
                        work.await
                    }
                };
                if let Some(own) = lock(&all).get_mut(task.task_id()) {
                    own.until = Instant::now() + ttl;
                }
                match ended? {
                    ToolCallReply::Answer(result) => Ok(result),
                    ToolCallReply::Cancelled => Err(TaskExit::Cancelled),
                    // Questions of a task are asked through the task, so this is unreachable.
                    ToolCallReply::NeedsInput(_) => Err(ErrorData::internal_error(
                        "a task asked a question outside of the task",
                        None,
                    )
                    .into()),
                }
            })
        });
        known.insert(task.task_id.clone(), TaskOwner { owner, client, until: now + ttl * 2 });
        Ok(CreateTaskResult::new(task))
    }

    /// Another caller's task is reported as unknown, and so is one's own once the key was removed or the token has
    /// expired.
    fn check(&self, id: &str, who: &Principal) -> Result<(), ErrorData> {
        let is_own = |task: &TaskOwner| task.owner == who.name && !who.scopes.is_empty();
        if lock(&self.known).get(id).is_some_and(is_own) {
            return Ok(());
        }
        Err(ErrorData::invalid_params(
            format!("unknown task: {}", crate::catalog::truncate(id)),
            None,
        ))
    }

    pub(crate) fn get(&self, id: &str, who: &Principal) -> Result<DetailedTask, ErrorData> {
        self.check(id, who)?;
        self.manager.get_task(id)
    }

    pub(crate) fn update(
        &self,
        id: &str,
        who: &Principal,
        responses: InputResponses,
    ) -> Result<(), ErrorData> {
        self.check(id, who)?;
        self.manager.update_task(id, responses)
    }

    /// Withdraws a question whose answer is no longer needed: it would stay open for as long as the task runs.
    pub(crate) fn withdraw_question(&self, id: &str, key: &str) {
        // If the task is gone, so is the question.
        self.manager.update_task(id, [(key.to_owned(), Value::Null)]).unwrap_or_default();
    }

    pub(crate) fn cancel(&self, id: &str, who: &Principal) -> Result<(), ErrorData> {
        self.check(id, who)?;
        self.manager.cancel_task(id)
    }

    /// Cancels every task; each ends by itself, and writes its audit line.
    pub(crate) fn stop(&self) {
        for id in lock(&self.known).keys() {
            // A finished task needs no cancelling.
            self.manager.cancel_task(id).unwrap_or_default();
        }
    }

    /// Drops every task.
    pub(crate) fn drop_all(&self) {
        self.manager.shutdown();
    }
}

/// A call that continues in the background.
type TaskFuture = std::pin::Pin<Box<dyn Future<Output = Result<ToolCallReply, ErrorData>> + Send>>;

/// Before a call becomes a task, cancelling the request cancels it.
async fn until_cancelled(
    work: impl Future<Output = Result<ToolCallReply, ErrorData>>,
    request: &CancellationToken,
    cancel: &CancellationToken,
) -> Result<ToolCallReply, ErrorData> {
    let mut work = pin!(work);
    tokio::select! {
        ended = &mut work => return ended,
        () = request.cancelled() => cancel.cancel(),
    }
    work.await
}

/// The error for a tool that requires tasks if the client does not support them.
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

    #[test]
    fn a_task_outlives_its_call() {
        let (minute, hour) = (Duration::from_mins(1), Duration::from_hours(1));
        for (kept, timeout) in [
            (hour, minute),
            (minute, hour),
            (hour, task_timeout(hour)),
            (Duration::ZERO, Duration::ZERO),
        ] {
            let (ttl, patience) = lifetime(kept, timeout);
            assert!(ttl >= kept && patience >= QUESTION_TIMEOUT, "{kept:?} {timeout:?}");
            assert_eq!(timeout + patience + TASK_DEADLINE_SLACK, ttl, "{kept:?} {timeout:?}");
        }
    }
}
