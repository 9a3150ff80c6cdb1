//! Bytes to messages and messages to bytes, in the dialect of whoever is at the other end.
//!
//! [`read`] turns a frame into envelopes and refuses what is malformed; a [`Conversation`] decides which of them may be
//! heard, by how the peer opened; [`shape`] writes an answer as the peer's revision has it. No I/O, no clock, no
//! runtime: everything here is a function of its arguments.

mod conversation;
mod dialect;
mod envelope;
mod extra;
mod shape;

pub use conversation::{Conversation, Gate, Handshake, modern_version};
pub use dialect::Dialect;
pub use envelope::{Envelope, Frame, Id, Nesting, Refusal, code, read};
pub use extra::{EXTRA, lost, put_back, put_back_in_text};
pub use shape::{METADATA, PARTIAL, SCORE, needs_shaping, partial, shape, shape_message};
