//! Client transports for other MCP servers: messages out, events in.
//!
//! A [`Line`] sends JSON-RPC messages to one server; everything that comes back goes to a [`Listener`] at once, on the
//! task that read it. This crate knows how messages are transported, not what they mean.

mod answers;
mod courier;
mod detect;
pub mod events;
pub mod headers;
pub mod http;
mod line;
mod message;
pub mod oauth;
pub mod pipes;
mod sign_in;
pub mod sse;
mod tls;
pub mod websocket;

pub use courier::HttpSettings;
pub use detect::open_detecting;
pub use line::{Event, Failure, Line, Listener, Outgoing, Running};
pub use sign_in::{Challenge, SignIn};
