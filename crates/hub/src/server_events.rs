//! What a server says by itself on one connection, and who takes it.

use docent_dial::TransportFailure;
use serde_json::Value;

/// Whose stream something came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOwner {
    /// Everybody's: it does not say whom it is about.
    Shared,
    /// That of a request of this caller.
    Caller(u64),
    /// That of a request that nobody waits for any more.
    Abandoned,
}

/// Whoever takes what a server says by itself. Called on the reading task: it must not wait.
pub trait ServerEvents: Send + Sync {
    /// The server asks. The answer goes to [`Peer::answer`](crate::Peer::answer).
    fn on_request(&self, id: Value, method: &str, params: Value, stream: StreamOwner);
    /// The server tells.
    fn on_notification(&self, method: &str, params: Value, stream: StreamOwner);
    /// The server wrote something that is no message.
    fn on_noise(&self, text: String);
    /// The session is gone, and the connection isn't.
    fn on_session_lost(&self);
    /// The server keeps sending messages about requests that have ended. Nothing is asked on the connection any more, and it
    /// should be closed.
    fn on_overrun(&self, failure: &TransportFailure) {
        self.on_closed(failure);
    }
    /// The connection is gone.
    fn on_closed(&self, failure: &TransportFailure);
}
