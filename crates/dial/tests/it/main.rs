//! The transports, against local servers that behave and misbehave.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod challenges;
mod events;
mod faults;
mod legacy;
mod oauth;
mod server;
mod sessions;
mod sockets;
mod streamable;
