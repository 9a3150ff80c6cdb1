//! What a server says by itself on one connection, and who takes it.

use docent_dial::Failure;
use serde_json::Value;

/// Whose stream something came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Everybody's: it does not say whom it is about.
    Shared,
    /// That of a request of this caller.
    Of(u64),
    /// That of a request that nobody waits for any more.
    Abandoned,
}

/// Whoever takes what a server says by itself. Called on the reading task: it must not wait.
pub trait Hears: Send + Sync {
    /// The server asks. The answer goes to [`Peer::answer`](crate::Peer::answer).
    fn asked(&self, id: Value, method: &str, params: Value, stream: Stream);
    /// The server tells.
    fn told(&self, method: &str, params: Value, stream: Stream);
    /// The server wrote something that is no message.
    fn noise(&self, text: String);
    /// The session is gone, and the connection isn't.
    fn session_lost(&self);
    /// The server keeps sending messages about requests that have ended. Nothing is asked on the connection any more, and it
    /// should be closed.
    fn overrun(&self, failure: &Failure) {
        self.closed(failure);
    }
    /// The connection is gone.
    fn closed(&self, failure: &Failure);
}
