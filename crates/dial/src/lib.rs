//! Client transports for other MCP servers: messages out, events in.
//!
//! A [`ClientTransport`] sends JSON-RPC messages to one server; everything that comes back goes to a [`TransportListener`]
//! at once, on the task that read it. This crate knows how messages are transported, not what they mean.

mod answers;
mod detect;
pub mod events;
pub mod headers;
pub mod http;
mod http_sender;
mod message;
pub mod oauth;
pub mod pipes;
mod sign_in;
pub mod sse;
mod tls;
mod transport;
pub mod websocket;

pub use detect::open_detecting;
pub use http_sender::HttpSettings;
pub use sign_in::{Challenge, SignIn};
pub use transport::{
    ClientTransport, Outgoing, Running, TransportEvent, TransportFailure, TransportListener,
};
