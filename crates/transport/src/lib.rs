//! stdio, Streamable HTTP, plain POST, the older SSE pair and WebSocket: framing, limits, headers.
//!
//! A transport bounds bytes, asks the [`Door`] whether a caller may connect, and passes decoded messages to an `rmcp`
//! service with their [`Origin`] attached. It must not know tools, policy or configuration.

mod door;
pub mod http;
mod lines;
mod link;
mod message;
pub mod stdio;
pub mod tls;

pub use door::{
    Caller, ClientKey, Door, Grant, Lack, Origin, Overload, Principal, PrincipalKind, Seat, Shown,
    Via, retry_data,
};
pub use lines::{Lines, TooLong};
pub use tls::Certificate;
