//! Requests and notifications that a server sends on one connection, and the trait that receives them.

use docent_dial::TransportFailure;
use serde_json::Value;

/// The stream that a message came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOwner {
    /// A stream for all callers; it does not identify one.
    Shared,
    /// The stream of a request of this caller.
    Caller(u64),
    /// The stream of a request whose caller no longer waits.
    Abandoned,
}

/// Receives what a server sends on its own. Called on the reading task, so it must not block.
pub trait ServerEvents: Send + Sync {
    /// The server sent a request. The answer goes to [`DownstreamPeer::answer`](crate::DownstreamPeer::answer).
    fn on_request(&self, id: Value, method: &str, params: Value, stream: StreamOwner);
    /// The server sent a notification.
    fn on_notification(&self, method: &str, params: Value, stream: StreamOwner);
    /// The server wrote something that is not JSON-RPC.
    fn on_noise(&self, text: String);
    /// The session was lost; the connection was not.
    fn on_session_lost(&self);
    /// The server keeps sending messages about requests that have ended. No more requests are sent on the connection,
    /// and it should be closed.
    fn on_overrun(&self, failure: &TransportFailure) {
        self.on_closed(failure);
    }
    /// The connection was lost.
    fn on_closed(&self, failure: &TransportFailure);
}
