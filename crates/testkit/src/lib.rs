//! Test clients over real processes and sockets, and fixture servers, for tests only.
//!
//! [`conformance::Fixture`] is the provider that the official conformance suite expects. [`Peer`] is a raw client over
//! four transports ([`Child`], [`HttpPeer`], [`SsePeer`], [`WsPeer`]), so that one list of requests runs over each of
//! them. [`corpus`] creates collections with questions about them. [`project()`] creates a folder for tools to read.
//! Nothing here may be used outside tests and benchmarks.

pub mod conformance;
pub mod corpus;
pub mod lab;
mod peer;
mod project;
mod recorder;

pub use peer::{
    Child, Http, HttpPeer, Peer, PeerError, Pipes, Sse, SsePeer, WebSocket, Wire, WsPeer,
};
pub use project::{Project, ProjectBuilder, project};
pub use recorder::{Recorder, Told};
