//! Tokens for requests, and what to do when the server requires another one.

use crate::{Running, TransportFailure};

/// A server's request for another token.
#[derive(Clone)]
pub struct Challenge {
    /// 401, or 403 if the token's scopes are insufficient.
    pub status: u16,
    /// Value of `WWW-Authenticate`; empty without one.
    pub www_authenticate: String,
    /// The refused token, so that only the first of many requests signs in.
    pub refused: Option<String>,
}

impl std::fmt::Debug for Challenge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Challenge")
            .field("status", &self.status)
            .field("www_authenticate", &self.www_authenticate)
            .finish_non_exhaustive()
    }
}

/// Source of tokens for a server.
pub trait SignIn: Send + Sync {
    /// Returns the token to send now, if there is one.
    fn token(&self) -> Running<'_, Option<String>>;

    /// Gets another token for the server. `Ok` means that the request should be repeated.
    fn challenged(&self, challenge: Challenge) -> Running<'_, Result<(), TransportFailure>>;
}
