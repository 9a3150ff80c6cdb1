//! Real children, real sockets and fixture servers, for tests only.
//!
//! [`conformance::Fixture`] is the provider that the official conformance suite expects. [`Peer`] is one raw client
//! with four wires ([`Child`], [`HttpPeer`], [`SsePeer`], [`WsPeer`]), so that one list of requests runs through every
//! transport. [`corpus`] makes collections with questions about them. [`project()`] lays out a folder to point tools at. Nothing here may be used outside tests and benches.

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
