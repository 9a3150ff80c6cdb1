//! Records the messages on every connection: a ring of messages with their times, answers matched to their requests,
//! and docent's requests to servers matched to the client requests that caused them.
//!
//! Code that moves messages has a [`Tap`] for each connection and passes it what it sees; the inspector reads
//! [`Traffic`]. While recording is off, which is the default, a tap costs one relaxed load. The recording is bounded in
//! entries and bytes, and secrets are removed from every text before it is kept. This crate must not know transports,
//! servers or tools.
//!
//! # Design
//!
//! Each connection has a `Tap`: pipes, SSE and WebSocket; HTTP sessions, plain and stateless requests, whose responses are read
//! as they leave; downstream servers; and connections of the inspector. With recording on, a message is parsed as far as its
//! summary needs, redacted, and put into a ring that is limited in entries and bytes. The number of a request in the ring
//! travels with it, so that what the hub sends because of it appears beside it.

mod entry;
mod message;
mod ring;
mod tap;
mod traffic;
mod waiting;

pub use entry::{Capture, ConnectionInfo, Direction, Hop, TrafficEntry, TrafficKind, TrafficPage};
pub use tap::{Tap, TrafficDetails};
pub use traffic::Traffic;
