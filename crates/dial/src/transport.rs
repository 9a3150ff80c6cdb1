//! What every way to a server has in common.

use serde_json::Value;
use std::pin::Pin;

/// A boxed future, as object-safe traits need.
pub type Running<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One message for the server.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The whole JSON-RPC message.
    pub message: Value,
    /// Header fields beyond those that follow from the message; ways without headers leave them out.
    pub headers: Vec<(String, String)>,
}

impl From<Value> for Outgoing {
    fn from(message: Value) -> Self {
        Self { message, headers: Vec::new() }
    }
}

/// What came from the server, or what became of the way to it.
#[derive(Debug)]
pub enum TransportEvent {
    /// A JSON-RPC message; batches come one by one.
    Message {
        /// The message.
        message: Value,
        /// The id of the request on whose stream it came, where the way has a stream for each.
        request: Option<Value>,
    },
    /// Something that is no JSON-RPC message, shortened. It is passed over.
    Noise(String),
    /// A request that will get no answer on this line. Others go on.
    Lost {
        /// The request's id.
        id: Value,
        /// Why.
        failure: TransportFailure,
    },
    /// The server no longer knows the session: the handshake is due again, on this line.
    SessionLost,
    /// The line is dead: every request that is open is lost, and nothing follows.
    Closed(TransportFailure),
}

/// Why a message did not get through, or an answer did not come.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransportFailure {
    /// Nothing was sent: trying again is safe.
    #[error("can't reach the server: {0}")]
    Unreachable(String),
    /// It may have been sent and acted on.
    #[error("the connection was lost: {0}")]
    Lost(String),
    /// The server refused it with this status.
    #[error("the server answered {status}{}", if text.is_empty() { String::new() } else { format!(": {text}") })]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it said, shortened.
        text: String,
    },
    /// A person has to sign in first.
    #[error("the server wants a sign-in: {0}")]
    Unauthorized(String),
    /// What came back is not what the protocol says.
    #[error("the server's answer can't be used: {0}")]
    Malformed(String),
}

/// Whoever takes what comes from the server. Called on the reading task: it must not wait.
pub trait TransportListener: Send + Sync {
    /// Something came.
    fn event(&self, event: TransportEvent);
}

/// The way to one server.
pub trait ClientTransport: Send + Sync {
    /// Hands a message over. `Ok` means that it is on its way; what becomes of it is told by events.
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>>;

    /// The revision that both sides agreed on; it goes with every further message where the transport has a place for it.
    fn set_revision(&self, _version: &str) {}

    /// Nobody waits for the answer to this request any more. Where closing its stream is how the revision cancels, it is
    /// closed; elsewhere nothing happens.
    fn abandon(&self, _id: &Value) {}

    /// Whether closing the stream of a request is how the revision without sessions cancels it here.
    fn cancels_by_closing(&self) -> bool {
        false
    }

    /// Ends the line in an orderly way. The last event is [`TransportEvent::Closed`].
    fn close(&self) -> Running<'_, ()>;
}
