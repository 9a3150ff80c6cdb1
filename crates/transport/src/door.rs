//! What a transport asks of whoever guards the server, and what it tells of each caller.

use docent_wire::Dialect;
use rmcp::model::Extensions;
use std::{net::IpAddr, sync::Arc, time::Duration};

/// Who is calling, as far as keys tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The key's name, or `anonymous`.
    pub name: Arc<str>,
    /// Tool names, suites (`code:*`) or `*`.
    pub scopes: Arc<[String]>,
}

impl Principal {
    /// Somebody who has yet to show a token: may do nothing.
    pub(crate) fn unknown() -> Self {
        Self { name: "unknown".into(), scopes: Arc::from([]) }
    }
}

/// How a caller reaches us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// Pipes.
    Stdio,
    /// Streamable HTTP or a plain POST.
    Http,
    /// The older stream with posts beside it.
    Sse,
    /// A socket of text frames.
    WebSocket,
}

impl Via {
    /// Its name in configuration, logs and audit lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "websocket",
        }
    }
}

/// One end of a conversation. Rate limits count by this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who.
    pub principal: Principal,
    /// How.
    pub via: Via,
    /// From where.
    pub remote: Option<IpAddr>,
}

/// Travels with every request into the server, among the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Who sent it.
    pub caller: Caller,
    /// The dialect it was read in; `None` where the session knows better.
    pub dialect: Option<Dialect>,
    /// The caller wants pieces of the answer as they come.
    pub streams: bool,
}

impl Origin {
    /// Finds the origin among a request's extensions, wherever the transport could put it.
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get::<Self>().or_else(|| {
            extensions
                .get::<http::request::Parts>()
                .and_then(|parts| parts.extensions.get::<Self>())
        })
    }
}

/// Kept for as long as a session or a stream is open; dropping it makes room for the next.
pub type Seat = Box<dyn Send + Sync>;

/// Guards the server. Every transport asks it the same questions.
pub trait Door: Send + Sync + 'static {
    /// Whether a caller must show a token.
    fn needs_token(&self) -> bool;
    /// Who a token belongs to. Without a token: anonymous where none is needed. `None` is a refusal.
    fn identify(&self, token: Option<&str>) -> Option<Principal>;
    /// Counts one request; an error says how long to wait.
    fn admit(&self, caller: &Caller) -> Result<(), Duration>;
    /// Takes a seat for a session; `None` when all are taken.
    fn open_session(&self) -> Option<Seat>;
    /// Takes a seat for an open stream; `None` when all are taken.
    fn open_stream(&self) -> Option<Seat>;
}
