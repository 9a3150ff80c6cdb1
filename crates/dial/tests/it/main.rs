//! The ways to a server, against servers on this machine that do what they should, and what they should not.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod challenges;
mod faults;
mod events;
mod legacy;
mod oauth;
mod server;
mod sessions;
mod sockets;
mod streamable;
