//! What was said on every connection: a ring of messages with their times, answers beside their requests, and the
//! requests that docent sent to servers beside the client's that made it send them.
//!
//! Whoever moves messages has a [`Tap`] for each connection and tells it what goes by; whoever shows them reads
//! [`Traffic`]. Off, which is how it starts, a tap costs one relaxed load. What is kept is bounded in entries and bytes,
//! and secrets are out of every text before it is kept. It must not know transports, servers or tools.

mod entry;
mod message;
mod ring;
mod tap;
mod traffic;
mod waiting;

pub use entry::{Capture, ConnectionInfo, Direction, TrafficEntry, Hop, TrafficKind, TrafficPage};
pub use tap::{TrafficDetails, Tap};
pub use traffic::Traffic;
