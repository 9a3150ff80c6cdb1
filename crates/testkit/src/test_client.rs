//! A raw test client, the same over every transport: it sends requests and notifications, and keeps received messages.
//!
//! It doesn't validate anything that a test may want to break: any text can be sent, and any received message is kept.

mod child;
mod events;
mod http;
mod sse;
mod websocket;

pub use child::{ChildPipes, ChildTestClient};
pub use http::{HttpTestClient, HttpTestTransport};
pub use sse::{SseTestClient, SseTestTransport};
pub use websocket::{WsTestClient, WsTestTransport};

use docent_tool::{BoxedFuture, Object};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use tokio::{sync::mpsc, time::timeout};

/// Long enough for a busy machine; a test that waits longer has failed.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);
/// The number of unread messages before the transport blocks.
const INBOX_CAPACITY: usize = 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestClientError {
    /// No answer in time.
    #[error("no answer to {waiting_for} within {patience:?}; received: {heard:?}")]
    TimedOut {
        /// What was awaited.
        waiting_for: String,
        /// The timeout.
        patience: Duration,
        /// The messages received instead.
        heard: Vec<Value>,
    },
    /// The server closed the connection.
    #[error(
        "the server closed the connection before {waiting_for} was answered; received: {heard:?}"
    )]
    Closed {
        /// What was awaited.
        waiting_for: String,
        /// The messages received before.
        heard: Vec<Value>,
    },
    /// An HTTP response that is not a message.
    #[error("HTTP {status}: {body}")]
    Status {
        /// The status.
        status: u16,
        /// The body, as text.
        body: String,
    },
    /// A frame that is not JSON.
    #[error("not JSON: {text}")]
    NotJson {
        /// The frame.
        text: String,
        /// The parser's error.
        #[source]
        source: serde_json::Error,
    },
    /// The connection failed or could not be opened.
    #[error("{what}")]
    Broken {
        /// What the client was doing.
        what: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl TestClientError {
    /// Adds what the client was doing to a cause.
    fn broken(what: impl Into<String>) -> impl FnOnce(BoxedError) -> Self {
        let what = what.into();
        move |source| Self::Broken { what, source }
    }
}

type BoxedError = Box<dyn std::error::Error + Send + Sync>;
/// The queue of received messages.
type MessageInbox = mpsc::Sender<Result<Value, TestClientError>>;

/// Sends text to a server. Received messages go to the client's inbox.
pub trait TestTransport: Send {
    /// Sends one frame unchanged.
    fn send(&mut self, text: String) -> BoxedFuture<'_, Result<(), TestClientError>>;
}

impl TestTransport for Box<dyn TestTransport> {
    fn send(&mut self, text: String) -> BoxedFuture<'_, Result<(), TestClientError>> {
        (**self).send(text)
    }
}

/// A client over one transport.
#[derive(Debug)]
pub struct TestClient<W> {
    wire: W,
    inbox: mpsc::Receiver<Result<Value, TestClientError>>,
    received: Vec<Value>,
    replies: HashMap<String, Value>,
    meta: Option<Value>,
    capabilities: Value,
    last_id: u64,
    timeout: Duration,
}

impl<W: TestTransport> TestClient<W> {
    fn new(wire: W, inbox: mpsc::Receiver<Result<Value, TestClientError>>) -> Self {
        Self {
            wire,
            inbox,
            received: Vec::new(),
            replies: HashMap::new(),
            meta: None,
            capabilities: json!({}),
            last_id: 0,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets the timeout for answers.
    #[must_use]
    pub fn with_timeout(mut self, patience: Duration) -> Self {
        self.timeout = patience;
        self
    }

    /// Answers server requests of this method with this result. Others get a "method not found" error.
    #[must_use]
    pub fn reply_with(mut self, method: &str, result: Value) -> Self {
        self.replies.insert(method.to_owned(), result);
        self
    }

    /// Sets the capabilities that the client declares.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Opens in a revision: with a handshake, or from 2026-07-28 on with metadata on each later request.
    /// Returns the server's description of itself.
    pub async fn open(&mut self, version: &str) -> Result<Value, TestClientError> {
        let client = json!({"name": "docent-testkit", "version": env!("CARGO_PKG_VERSION")});
        if version >= "2026-07-28" && version.len() == 10 {
            self.meta = Some(json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientInfo": client,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            }));
            return self.ask("server/discover", json!({})).await;
        }
        let params = json!({"protocolVersion": version, "capabilities": self.capabilities, "clientInfo": client});
        let answer = self.ask("initialize", params).await?;
        self.notify("notifications/initialized", json!({})).await?;
        Ok(answer)
    }

    /// Sends a request and awaits its answer: the complete message, with its `result` or `error`.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Value, TestClientError> {
        let id = self.start(method, params).await?;
        self.answer_to(&id).await
    }

    /// Sends a request and returns its id.
    pub async fn start(&mut self, method: &str, params: Value) -> Result<Value, TestClientError> {
        self.last_id += 1;
        let id = Value::from(self.last_id);
        let params = self.with_meta(params);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) -> Result<(), TestClientError> {
        let params = self.with_meta(params);
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Sends a message unchanged.
    pub async fn send(&mut self, message: &Value) -> Result<(), TestClientError> {
        self.wire.send(message.to_string()).await
    }

    /// Sends any text.
    pub async fn send_text(&mut self, text: impl Into<String>) -> Result<(), TestClientError> {
        self.wire.send(text.into()).await
    }

    /// Awaits the answer with this id. An error without an id counts as the answer to the last request.
    pub async fn answer_to(&mut self, id: &Value) -> Result<Value, TestClientError> {
        let answers = |message: &Value| {
            message.get("method").is_none()
                && matches!(message.get("id"), Some(got) if got == id || got.is_null())
        };
        self.await_message(&format!("request {id}"), answers).await
    }

    /// Awaits a notification of this method, or takes it from the kept messages.
    pub async fn notification(&mut self, method: &str) -> Result<Value, TestClientError> {
        self.await_message(method, |message| message.get("method").is_some_and(|got| got == method))
            .await
    }

    /// Awaits a matching message, or takes it from the kept messages.
    pub async fn await_message(
        &mut self,
        waiting_for: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, TestClientError> {
        if let Some(at) = self.received.iter().position(&fits) {
            return Ok(self.received.remove(at));
        }
        let patience = self.timeout;
        match timeout(patience, self.receive_until(waiting_for, fits)).await {
            Ok(received) => received,
            Err(_) => Err(TestClientError::TimedOut {
                waiting_for: waiting_for.to_owned(),
                patience,
                heard: self.received.clone(),
            }),
        }
    }

    /// Takes the kept messages that were not awaited: notifications, server requests, answers to other requests.
    pub fn take_messages(&mut self) -> Vec<Value> {
        while let Ok(Ok(message)) = self.inbox.try_recv() {
            self.received.push(message);
        }
        std::mem::take(&mut self.received)
    }

    /// The transport, for its specific methods.
    pub fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    /// Erases the transport's type, so that clients over different transports fit one list.
    pub fn boxed(self) -> TestClient<Box<dyn TestTransport>>
    where
        W: 'static,
    {
        TestClient {
            wire: Box::new(self.wire),
            inbox: self.inbox,
            received: self.received,
            replies: self.replies,
            meta: self.meta,
            capabilities: self.capabilities,
            last_id: self.last_id,
            timeout: self.timeout,
        }
    }

    fn with_meta(&self, params: Value) -> Value {
        let Some(Value::Object(meta)) = &self.meta else { return params };
        let Value::Object(mut params) = params else { return params };
        let own = params.entry("_meta").or_insert_with(|| Value::Object(Object::new()));
        if let Value::Object(own) = own {
            for (key, value) in meta {
                // Metadata set by the test takes precedence.
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        Value::Object(params)
    }

    async fn receive_until(
        &mut self,
        waiting_for: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, TestClientError> {
        loop {
            let Some(message) = self.inbox.recv().await else {
                let heard = self.received.clone();
                return Err(TestClientError::Closed { waiting_for: waiting_for.to_owned(), heard });
            };
            let message = message?;
            if fits(&message) {
                return Ok(message);
            }
            self.reply_to(&message).await?;
            self.received.push(message);
        }
    }

    /// Answers a request of the server.
    async fn reply_to(&mut self, message: &Value) -> Result<(), TestClientError> {
        let (Some(id), Some(method)) =
            (message.get("id"), message.get("method").and_then(Value::as_str))
        else {
            return Ok(());
        };
        let reply = match self.replies.get(method) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
            }
        };
        self.send(&reply).await
    }
}

/// Puts a frame into the inbox, message by message; false if the inbox is closed.
async fn deliver(inbox: &MessageInbox, text: &str) -> bool {
    match serde_json::from_str(text) {
        Ok(Value::Array(batch)) => {
            for message in batch {
                if inbox.send(Ok(message)).await.is_err() {
                    return false;
                }
            }
            true
        }
        Ok(message) => inbox.send(Ok(message)).await.is_ok(),
        Err(source) => inbox
            .send(Err(TestClientError::NotJson { text: text.to_owned(), source }))
            .await
            .is_ok(),
    }
}

#[cfg(test)]
mod tests;
