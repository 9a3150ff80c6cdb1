//! Client transports for other MCP servers: messages out, events in.
//!
//! A [`ClientTransport`] sends JSON-RPC messages to one server; everything that comes back goes to a [`TransportListener`] at once, on the
//! task that read it. This crate knows how messages are transported, not what they mean.

mod answers;
mod http_sender;
mod detect;
pub mod events;
pub mod headers;
pub mod http;
mod transport;
mod message;
pub mod oauth;
pub mod pipes;
mod sign_in;
pub mod sse;
mod tls;
pub mod websocket;

pub use http_sender::HttpSettings;
pub use detect::open_detecting;
pub use transport::{TransportEvent, TransportFailure, ClientTransport, TransportListener, Outgoing, Running};
pub use sign_in::{Challenge, SignIn};
