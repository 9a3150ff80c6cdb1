//! stdio, Streamable HTTP, plain POST, the older SSE pair and WebSocket: framing, limits, headers.
//!
//! A transport bounds bytes, asks the [`AccessControl`] whether a caller may connect, and passes decoded messages to an `rmcp`
//! service with their [`CallerContext`] attached. It must not know tools, policy or configuration.

mod access_control;
mod frame_json;
mod frame_transport;
pub mod http;
mod lines;
mod message;
pub mod stdio;
pub mod tls;

pub use access_control::{
    AccessControl, Caller, CallerContext, CallerCredentials, ClientKey, ConnectionKind,
    MissingScope, NoCapacity, Principal, PrincipalKind, SlotGuard, TokenGrant, retry_data,
};
pub use lines::{FrameTooLong, LineFrames};
pub use tls::Certificate;
