//! The interface that all transports share.

use serde_json::Value;
use std::pin::Pin;

/// A boxed future for object-safe traits.
pub type Running<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One message for the server.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The whole JSON-RPC message.
    pub message: Value,
    /// Headers beyond those that follow from the message; transports without headers ignore them.
    pub headers: Vec<(String, String)>,
}

impl From<Value> for Outgoing {
    fn from(message: Value) -> Self {
        Self { message, headers: Vec::new() }
    }
}

/// A message from the server, or a change of the connection.
#[derive(Debug)]
pub enum TransportEvent {
    /// A JSON-RPC message; batches are split.
    Message {
        /// The message.
        message: Value,
        /// The id of the request on whose stream it came, if the transport has a stream per request.
        request: Option<Value>,
    },
    /// Output that is not JSON-RPC, shortened. It is ignored.
    Noise(String),
    /// A request that will get no answer. Others continue.
    Lost {
        /// The request's id.
        id: Value,
        /// Why.
        failure: TransportFailure,
    },
    /// The server no longer knows the session: the handshake must be repeated on this line.
    SessionLost,
    /// The line is closed: all open requests are lost, and no events follow.
    Closed(TransportFailure),
}

/// Why a message was not delivered, or an answer did not arrive.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TransportFailure {
    /// Nothing was sent, so a retry is safe.
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
        /// Text of the answer, shortened.
        text: String,
    },
    /// A sign-in is required.
    #[error("the server requires a sign-in: {0}")]
    Unauthorized(String),
    /// The answer violates the protocol.
    #[error("the server's answer can't be used: {0}")]
    Malformed(String),
}

/// Receives events from the server. Called on the reading task, so it must not block.
pub trait TransportListener: Send + Sync {
    /// Handles an event.
    fn event(&self, event: TransportEvent);
}

/// A connection to one server.
pub trait ClientTransport: Send + Sync {
    /// Sends a message. `Ok` means that it was sent; events report its outcome.
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>>;

    /// Sets the agreed revision, which goes with every further message if the transport has a place for it.
    fn set_revision(&self, _version: &str) {}

    /// Stops waiting for the answer to this request. Closes its stream if that is how the revision cancels requests;
    /// otherwise does nothing.
    fn abandon(&self, _id: &Value) {}

    /// Whether the revision without sessions cancels a request by closing its stream on this transport.
    fn cancels_by_closing(&self) -> bool {
        false
    }

    /// Closes the line gracefully. The last event is [`TransportEvent::Closed`].
    fn close(&self) -> Running<'_, ()>;
}
