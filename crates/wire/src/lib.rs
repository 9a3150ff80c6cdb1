//! Converts bytes to messages and messages to bytes, in the peer's dialect.
//!
//! [`read`] parses a frame into envelopes and rejects malformed ones; a [`ProtocolState`] decides which of them to
//! process, depending on how the peer opened; [`shape`] writes an answer for the peer's revision. No I/O, no clock, no
//! runtime: everything here is a function of its arguments.

mod conversation;
mod dialect;
mod envelope;
mod extra;
mod shape;

pub use conversation::{GateDecision, HandshakePolicy, ProtocolState, modern_version};
pub use dialect::Dialect;
pub use envelope::{Envelope, Id, MessageError, Nesting, WireFrame, code, read};
pub use extra::{EXTRA, lost, put_back, put_back_in_text};
pub use shape::{
    METADATA_KEY, PARTIAL_METHOD, SCORE_KEY, needs_shaping, partial, shape, shape_message,
};
