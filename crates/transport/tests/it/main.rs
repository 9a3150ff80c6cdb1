//! The transports on real pipes and real sockets, in front of a handler that does next to nothing.

mod fixture;
mod http;
mod pipes;
mod socket;
