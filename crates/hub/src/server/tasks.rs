//! Tools that a server of revision 2025-11-25 runs only as tasks: started, followed, and fetched.

use super::{DownstreamServer, connection::DownstreamConnection};
use crate::{PeerRequest, RequestError};
use docent_dial::TransportFailure;
use docent_tool::Object;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// How long the server is asked to keep a task.
pub(crate) const TASK_TTL: Duration = Duration::from_hours(1);

impl DownstreamServer {
    /// Runs a call as a task and waits for its result. The request for the result stays open until then, and the server
    /// may ask questions in the meantime.
    pub(crate) async fn run_task(
        &self,
        connection: &DownstreamConnection,
        mut request: PeerRequest,
    ) -> Result<Value, RequestError> {
        let (heard, limit, caller) =
            (Arc::clone(&request.activity), request.limit.clone(), request.caller);
        let ttl = u64::try_from(TASK_TTL.as_millis()).unwrap_or(u64::MAX);
        request.params.insert("task".into(), json!({"ttl": ttl}));
        let created = connection.peer.request("tools/call", request).await?;
        let Some(id) = created.pointer("/task/taskId").and_then(Value::as_str) else {
            // It answered at once, which is fine.
            return Ok(created);
        };
        let mut params = Object::new();
        params.insert("taskId".into(), id.into());
        let mut cancel = CancelTask { connection, id: id.to_owned(), done: false };
        let fetch = PeerRequest {
            timeout: Some(TASK_TTL),
            activity: heard,
            limit,
            caller,
            ..PeerRequest::new(params)
        };
        let result = connection.peer.request("tasks/result", fetch).await;
        cancel.done = true;
        match result {
            Err(RequestError::Rpc { code: -32601, .. }) => Err(TransportFailure::Malformed(
                "it created a task but does not support tasks/result".into(),
            )
            .into()),
            other => other,
        }
    }
}

/// Cancels a task at the server when its caller stops waiting.
struct CancelTask<'a> {
    connection: &'a DownstreamConnection,
    id: String,
    done: bool,
}

impl Drop for CancelTask<'_> {
    fn drop(&mut self) {
        self.connection.peer.forget_task(&self.id);
        if self.done {
            return;
        }
        let id = std::mem::take(&mut self.id);
        let peer = Arc::clone(&self.connection.peer);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let mut params = Object::new();
            params.insert("taskId".into(), id.into());
            let request =
                PeerRequest { timeout: Some(Duration::from_secs(10)), ..PeerRequest::new(params) };
            if let Err(error) = peer.request("tasks/cancel", request).await {
                tracing::debug!(%error, "failed to cancel a task");
            }
        });
    }
}
