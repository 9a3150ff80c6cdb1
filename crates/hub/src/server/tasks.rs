//! Tools that a server of revision 2025-11-25 runs only as tasks: started, followed, and fetched.

use super::{Downstream, connection::Connection};
use crate::{Request, RequestError};
use docent_dial::Failure;
use docent_tool::Object;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// How long the server is asked to keep a task.
pub(crate) const KEEP: Duration = Duration::from_hours(1);

impl Downstream {
    /// Runs a call as a task and waits for its result. The request for the result stays open until then, and the server
    /// may ask questions in the meantime.
    pub(crate) async fn run_task(
        &self,
        connection: &Connection,
        mut request: Request,
    ) -> Result<Value, RequestError> {
        let (heard, limit, caller) =
            (Arc::clone(&request.heard), request.limit.clone(), request.caller);
        let ttl = u64::try_from(KEEP.as_millis()).unwrap_or(u64::MAX);
        request.params.insert("task".into(), json!({"ttl": ttl}));
        let created = connection.peer.request("tools/call", request).await?;
        let Some(id) = created.pointer("/task/taskId").and_then(Value::as_str) else {
            // It answered at once, which is fine.
            return Ok(created);
        };
        let mut params = Object::new();
        params.insert("taskId".into(), id.into());
        let mut cancel = CancelTask { connection, id: id.to_owned(), done: false };
        let fetch = Request { patience: Some(KEEP), heard, limit, caller, ..Request::new(params) };
        let result = connection.peer.request("tasks/result", fetch).await;
        cancel.done = true;
        match result {
            Err(RequestError::Rpc { code: -32601, .. }) => {
                Err(Failure::Malformed("it created a task but does not support tasks/result".into()).into())
            }
            other => other,
        }
    }
}

/// Cancels a task at the server when its caller stops waiting.
struct CancelTask<'a> {
    connection: &'a Connection,
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
                Request { patience: Some(Duration::from_secs(10)), ..Request::new(params) };
            if let Err(error) = peer.request("tasks/cancel", request).await {
                tracing::debug!(%error, "failed to cancel a task");
            }
        });
    }
}
