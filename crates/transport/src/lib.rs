//! stdio, Streamable HTTP, plain POST, the older SSE pair and WebSocket: framing, limits, headers.
//!
//! A transport bounds bytes, asks the [`AccessControl`] whether a caller may connect, and passes decoded messages to an `rmcp`
//! service with their [`CallerContext`] attached. It must not know tools, policy or configuration.

mod access_control;
pub mod http;
mod lines;
mod frame_transport;
mod message;
pub mod stdio;
pub mod tls;

pub use access_control::{
    Caller, ClientKey, AccessControl, TokenGrant, MissingScope, CallerContext, NoCapacity, Principal, PrincipalKind, SlotGuard, CallerCredentials,
    ConnectionKind, retry_data,
};
pub use lines::{LineFrames, FrameTooLong};
pub use tls::Certificate;
