//! A question to a client: its waiting time, and cancelling it when the answer is no longer needed.

use crate::tasks::TaskStore;
use rmcp::{
    Peer, RoleServer,
    model::{CancelledNotification, CancelledNotificationParam, RequestId, ServerNotification},
};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Time that the client took to answer, which does not count against the call.
#[derive(Default)]
pub(crate) struct ClientWaitTime {
    total: Duration,
    questions: usize,
    since: Option<Instant>,
}

impl ClientWaitTime {
    pub(crate) fn so_far(&self) -> Duration {
        self.total + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

/// A question that waits for its answer.
pub(crate) struct QuestionTimer<'a>(&'a Mutex<ClientWaitTime>);

impl<'a> QuestionTimer<'a> {
    pub(crate) fn begin(waits: &'a Mutex<ClientWaitTime>) -> Self {
        let mut now = waits.lock().unwrap_or_else(PoisonError::into_inner);
        now.questions += 1;
        now.since.get_or_insert_with(Instant::now);
        drop(now);
        Self(waits)
    }
}

impl Drop for QuestionTimer<'_> {
    fn drop(&mut self) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.questions -= 1;
        if now.questions == 0 {
            now.total = now.so_far();
            now.since = None;
        }
    }
}

/// A question sent to a client. Dropping it cancels the question there.
pub(crate) struct PendingQuestion<'a> {
    peer: &'a Peer<RoleServer>,
    id: Option<RequestId>,
}

impl<'a> PendingQuestion<'a> {
    pub(crate) fn new(peer: &'a Peer<RoleServer>, id: &RequestId) -> Self {
        Self { peer, id: Some(id.clone()) }
    }

    pub(crate) fn answered(mut self) {
        self.id = None;
    }
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let reason = Some("the answer is no longer needed".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let notification =
            ServerNotification::CancelledNotification(CancelledNotification::new(params));
        let peer = self.peer.clone();
        // The client may be gone.
        runtime
            .spawn(async move { peer.send_notification(notification).await.unwrap_or_default() });
    }
}

/// A question shown by a task. Dropping it withdraws the question.
pub(crate) struct TaskQuestion<'a> {
    tasks: &'a TaskStore,
    task: &'a str,
    key: Option<&'a str>,
}

impl<'a> TaskQuestion<'a> {
    pub(crate) fn new(tasks: &'a TaskStore, task: &'a str, key: &'a str) -> Self {
        Self { tasks, task, key: Some(key) }
    }

    pub(crate) fn answered(mut self) {
        self.key = None;
    }
}

impl Drop for TaskQuestion<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.tasks.withdraw_question(self.task, key);
        }
    }
}
