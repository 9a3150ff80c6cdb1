//! A raw test client, the same over every transport: it sends requests and notifications, and keeps received messages.
//!
//! It doesn't validate anything that a test may want to break: any text can be sent, and any received message is kept.

mod child;
mod events;
mod http;
mod sse;
mod websocket;

pub use child::{Child, Pipes};
pub use http::{Http, HttpPeer};
pub use sse::{Sse, SsePeer};
pub use websocket::{WebSocket, WsPeer};

use docent_tool::{Object, Running};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use tokio::{sync::mpsc, time::timeout};

/// Long enough for a busy machine; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// The number of unread messages before the transport blocks.
const INBOX: usize = 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
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

impl PeerError {
    /// Adds what the client was doing to a cause.
    fn broken(what: impl Into<String>) -> impl FnOnce(BoxedError) -> Self {
        let what = what.into();
        move |source| Self::Broken { what, source }
    }
}

type BoxedError = Box<dyn std::error::Error + Send + Sync>;
/// The queue of received messages.
type Inbox = mpsc::Sender<Result<Value, PeerError>>;

/// Sends text to a server. Received messages go to the client's inbox.
pub trait Wire: Send {
    /// Sends one frame unchanged.
    fn send(&mut self, text: String) -> Running<'_, Result<(), PeerError>>;
}

impl Wire for Box<dyn Wire> {
    fn send(&mut self, text: String) -> Running<'_, Result<(), PeerError>> {
        (**self).send(text)
    }
}

/// A client over one transport.
#[derive(Debug)]
pub struct Peer<W> {
    wire: W,
    inbox: mpsc::Receiver<Result<Value, PeerError>>,
    heard: Vec<Value>,
    replies: HashMap<String, Value>,
    meta: Option<Value>,
    capabilities: Value,
    last_id: u64,
    patience: Duration,
}

impl<W: Wire> Peer<W> {
    fn new(wire: W, inbox: mpsc::Receiver<Result<Value, PeerError>>) -> Self {
        Self {
            wire,
            inbox,
            heard: Vec::new(),
            replies: HashMap::new(),
            meta: None,
            capabilities: json!({}),
            last_id: 0,
            patience: PATIENCE,
        }
    }

    /// Sets the timeout for answers.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Answers server requests of this method with this result. Others get a "method not found" error.
    #[must_use]
    pub fn replying(mut self, method: &str, result: Value) -> Self {
        self.replies.insert(method.to_owned(), result);
        self
    }

    /// Sets the capabilities that the client declares.
    #[must_use]
    pub fn able(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Opens in a revision: with a handshake, or from 2026-07-28 on with metadata on each later request.
    /// Returns the server's description of itself.
    pub async fn open(&mut self, version: &str) -> Result<Value, PeerError> {
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
        self.tell("notifications/initialized", json!({})).await?;
        Ok(answer)
    }

    /// Sends a request and awaits its answer: the complete message, with its `result` or `error`.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Value, PeerError> {
        let id = self.start(method, params).await?;
        self.answer_to(&id).await
    }

    /// Sends a request and returns its id.
    pub async fn start(&mut self, method: &str, params: Value) -> Result<Value, PeerError> {
        self.last_id += 1;
        let id = Value::from(self.last_id);
        let params = self.with_meta(params);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    /// Sends a notification.
    pub async fn tell(&mut self, method: &str, params: Value) -> Result<(), PeerError> {
        let params = self.with_meta(params);
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Sends a message unchanged.
    pub async fn send(&mut self, message: &Value) -> Result<(), PeerError> {
        self.wire.send(message.to_string()).await
    }

    /// Sends any text.
    pub async fn send_text(&mut self, text: impl Into<String>) -> Result<(), PeerError> {
        self.wire.send(text.into()).await
    }

    /// Awaits the answer with this id. An error without an id counts as the answer to the last request.
    pub async fn answer_to(&mut self, id: &Value) -> Result<Value, PeerError> {
        let answers = |message: &Value| {
            message.get("method").is_none()
                && matches!(message.get("id"), Some(got) if got == id || got.is_null())
        };
        self.await_message(&format!("request {id}"), answers).await
    }

    /// Awaits a notification of this method, or takes it from the kept messages.
    pub async fn notification(&mut self, method: &str) -> Result<Value, PeerError> {
        self.await_message(method, |message| message.get("method").is_some_and(|got| got == method))
            .await
    }

    /// Awaits a matching message, or takes it from the kept messages.
    pub async fn await_message(
        &mut self,
        waiting_for: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, PeerError> {
        if let Some(at) = self.heard.iter().position(&fits) {
            return Ok(self.heard.remove(at));
        }
        let patience = self.patience;
        match timeout(patience, self.receive_until(waiting_for, fits)).await {
            Ok(received) => received,
            Err(_) => Err(PeerError::TimedOut {
                waiting_for: waiting_for.to_owned(),
                patience,
                heard: self.heard.clone(),
            }),
        }
    }

    /// Takes the kept messages that were not awaited: notifications, server requests, answers to other requests.
    pub fn heard(&mut self) -> Vec<Value> {
        while let Ok(Ok(message)) = self.inbox.try_recv() {
            self.heard.push(message);
        }
        std::mem::take(&mut self.heard)
    }

    /// The transport, for its specific methods.
    pub fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    /// Erases the transport's type, so that clients over different transports fit one list.
    pub fn boxed(self) -> Peer<Box<dyn Wire>>
    where
        W: 'static,
    {
        Peer {
            wire: Box::new(self.wire),
            inbox: self.inbox,
            heard: self.heard,
            replies: self.replies,
            meta: self.meta,
            capabilities: self.capabilities,
            last_id: self.last_id,
            patience: self.patience,
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
    ) -> Result<Value, PeerError> {
        loop {
            let Some(message) = self.inbox.recv().await else {
                let heard = self.heard.clone();
                return Err(PeerError::Closed { waiting_for: waiting_for.to_owned(), heard });
            };
            let message = message?;
            if fits(&message) {
                return Ok(message);
            }
            self.reply_to(&message).await?;
            self.heard.push(message);
        }
    }

    /// Answers a request of the server.
    async fn reply_to(&mut self, message: &Value) -> Result<(), PeerError> {
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
async fn deliver(inbox: &Inbox, text: &str) -> bool {
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
        Err(source) => {
            inbox.send(Err(PeerError::NotJson { text: text.to_owned(), source })).await.is_ok()
        }
    }
}

#[cfg(test)]
mod tests;
