//! The transports on real pipes and real sockets, with a minimal handler.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails where it stands")]

mod fixture;
mod hosts;
mod http;
mod loris;
mod oauth;
mod opening;
mod oversize;
mod pipes;
mod shares;
mod socket;
mod stateless;
mod tls;
