//! Who a line is to a server: the token that goes with each request, and what is done when the server wants another.

use crate::{TransportFailure, Running};

/// A server's wish for another token.
#[derive(Clone)]
pub struct Challenge {
    /// 401, or 403 where the token does not reach far enough.
    pub status: u16,
    /// What `WWW-Authenticate` says; empty without one.
    pub www_authenticate: String,
    /// The token that was refused, so that of many requests only the first one signs in.
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

/// Where tokens for a server come from.
pub trait SignIn: Send + Sync {
    /// The token to send now, if there is one.
    fn token(&self) -> Running<'_, Option<String>>;

    /// The server wants another token. `Ok` means that there is one: the request is sent again.
    fn challenged(&self, challenge: Challenge) -> Running<'_, Result<(), TransportFailure>>;
}
