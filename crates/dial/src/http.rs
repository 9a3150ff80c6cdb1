//! Streamable HTTP: every message is a POST, and its answer is the response, as JSON or as an event stream.
//!
//! Supports revisions with and without sessions. With sessions there is also an event stream for messages that the
//! server sends on its own, and broken streams are resumed; without sessions, closing a stream cancels its request.

mod event_stream;
mod exchange;

pub use crate::http_sender::HttpSettings;
use crate::{
    ClientTransport, Outgoing, Running, TransportEvent, TransportFailure, TransportListener,
    headers, http_sender::HttpRequestDraft, http_sender::HttpSender,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long a server may take to acknowledge the end of the session.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the line. Nothing is sent before the first message.
#[expect(
    clippy::unused_async,
    reason = "all transports have the same signature, and the others do wait"
)]
pub async fn open(
    settings: HttpSettings,
    listener: Arc<dyn TransportListener>,
) -> Result<Arc<dyn ClientTransport>, TransportFailure> {
    Ok(Arc::new(HttpTransport { post: Arc::new(HttpState::new(&settings, listener)?) }))
}

/// The line as its owner sees it. Dropping it ends everything that still runs.
struct HttpTransport {
    post: Arc<HttpState>,
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.post.ending.cancel();
    }
}

/// State that the line shares with its tasks.
struct HttpState {
    courier: HttpSender,
    listener: Arc<dyn TransportListener>,
    terms: Mutex<SessionTerms>,
    /// The requests that wait for answers, by id. The number distinguishes a request from a later one with the same id.
    open: Mutex<HashMap<String, (u64, CancellationToken)>>,
    opened: AtomicU64,
    event_stream: Mutex<Option<CancellationToken>>,
    ending: CancellationToken,
    closed: AtomicBool,
    tasks: TaskTracker,
}

/// The session and the revision that both sides agreed on.
#[derive(Default, Clone)]
struct SessionTerms {
    session: Option<String>,
    version: Option<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The locked values are consistent at every moment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ClientTransport for HttpTransport {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>> {
        Box::pin(async move {
            let post = &self.post;
            if post.ending.is_cancelled() {
                return Err(TransportFailure::Unreachable("the connection is closed".to_owned()));
            }
            let awaited = awaited(&outgoing.message);
            if awaited.is_empty() {
                return post.send_one_way(outgoing).await;
            }
            post.start_request(outgoing, awaited);
            Ok(())
        })
    }

    fn set_revision(&self, version: &str) {
        locked(&self.post.terms).version = Some(version.to_owned());
    }

    fn cancels_by_closing(&self) -> bool {
        true
    }

    fn abandon(&self, id: &Value) {
        if let Some((_, running)) = locked(&self.post.open).remove(&id.to_string()) {
            running.cancel();
        }
    }

    fn close(&self) -> Running<'_, ()> {
        Box::pin(async move {
            let post = &self.post;
            post.ending.cancel();
            post.tasks.close();
            post.tasks.wait().await;
            if post.closed.swap(true, Ordering::AcqRel) {
                return;
            }
            post.end_session().await;
            post.listener
                .event(TransportEvent::Closed(TransportFailure::Lost("docent closed it".into())));
        })
    }
}

impl HttpState {
    fn new(
        settings: &HttpSettings,
        listener: Arc<dyn TransportListener>,
    ) -> Result<Self, TransportFailure> {
        Ok(Self {
            courier: HttpSender::new(settings)?,
            listener,
            terms: Mutex::default(),
            open: Mutex::default(),
            opened: AtomicU64::new(0),
            event_stream: Mutex::new(None),
            ending: CancellationToken::new(),
            closed: AtomicBool::new(false),
            tasks: TaskTracker::new(),
        })
    }

    /// Starts a request, whose outcome is reported by events.
    fn start_request(self: &Arc<Self>, outgoing: Outgoing, awaited: Vec<Value>) {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let running = self.ending.child_token();
        let keys: Vec<_> = awaited.iter().map(Value::to_string).collect();
        for key in &keys {
            locked(&self.open).insert(key.clone(), (number, running.clone()));
        }
        let post = Arc::clone(self);
        self.tasks.spawn(async move {
            running.run_until_cancelled(post.exchange(outgoing, awaited)).await;
            let mut open = locked(&post.open);
            for key in keys {
                if open.get(&key).is_some_and(|(other, _)| *other == number) {
                    open.remove(&key);
                }
            }
        });
    }

    fn terms(&self) -> SessionTerms {
        locked(&self.terms).clone()
    }

    /// Returns the headers of a request that belongs to the session.
    fn session_fields(terms: &SessionTerms) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in
            [(headers::SESSION_HEADER, &terms.session), (headers::VERSION_HEADER, &terms.version)]
        {
            if let Some(value) = value {
                crate::http_sender::insert_if_valid(&mut fields, name, value);
            }
        }
        fields
    }

    /// Reports that the server no longer knows `session`; once, however many requests notice.
    fn session_over(&self, session: &str) {
        let mut terms = locked(&self.terms);
        if terms.session.as_deref() != Some(session) {
            return;
        }
        terms.session = None;
        drop(terms);
        if let Some(standing) = locked(&self.event_stream).take() {
            standing.cancel();
        }
        self.listener.event(TransportEvent::SessionLost);
    }

    /// Ends the session at the server, which may be unreachable or may not support that.
    async fn end_session(&self) {
        let terms = self.terms();
        if terms.session.is_none() {
            return;
        }
        let mut draft = HttpRequestDraft::listen(&self.courier.url, Self::session_fields(&terms));
        draft.method = Method::DELETE;
        let answered = timeout(SESSION_END_TIMEOUT, self.courier.send(&draft)).await;
        if !matches!(answered, Ok(Ok(_))) {
            tracing::debug!("the server did not acknowledge the end of its session");
        }
    }
}

/// Returns the ids that need answers: of a request, or of the requests of a batch.
fn awaited(message: &Value) -> Vec<Value> {
    let one = |message: &Value| {
        let id = message.get("id").filter(|id| !id.is_null())?;
        message.get("method").map(|_| id.clone())
    };
    match message {
        Value::Array(messages) => messages.iter().filter_map(one).collect(),
        message => one(message).into_iter().collect(),
    }
}

/// Adds the headers of a message. The hub creates them, so an invalid one is an error of the message.
fn add_configured_headers(
    fields: &mut HeaderMap,
    more: &[(String, String)],
) -> Result<(), TransportFailure> {
    for (name, value) in more {
        let field =
            HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let Some((name, value)) = field else {
            return Err(TransportFailure::Unreachable(format!("the header `{name}` is not valid")));
        };
        fields.insert(name, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_await_answers() {
        let check = |message: Value, expected: &[Value]| assert_eq!(awaited(&message), expected);
        check(json!({"id": 1, "method": "ping"}), &[json!(1)]);
        check(json!({"id": "a", "method": "ping"}), &[json!("a")]);
        check(json!({"method": "notifications/x"}), &[]);
        check(json!({"id": 1, "result": {}}), &[]);
        check(json!({"id": null, "method": "ping"}), &[]);
        check(
            json!([{"id": 1, "method": "a"}, {"method": "b"}, {"id": 2, "method": "c"}]),
            &[json!(1), json!(2)],
        );
        check(json!(5), &[]);
    }
}
