//! Ways to another MCP server: messages out, events in.
//!
//! A [`Line`] carries JSON-RPC messages to one server; whatever comes back reaches a [`Listener`] at once, on the task that
//! read it. This crate knows how messages travel, and nothing of what they ask or answer.

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
