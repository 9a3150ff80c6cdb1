//! Real children, real sockets and fixture servers, for tests only.
//!
//! [`conformance::Fixture`] is the provider that the official conformance suite expects. [`TestClient`] is one raw client
//! with four wires ([`ChildTestClient`], [`HttpTestClient`], [`SseTestClient`], [`WsTestClient`]), so that one list of requests runs through every
//! transport. [`corpus`] makes collections with questions about them. [`project()`] lays out a folder to point tools at. Nothing here may be used outside tests and benches.

pub mod conformance;
pub mod corpus;
pub mod lab;
mod test_client;
mod project;
mod recorder;

pub use test_client::{
    ChildTestClient, HttpTestTransport, HttpTestClient, TestClient, TestClientError, ChildPipes, SseTestTransport, SseTestClient, WsTestTransport, TestTransport, WsTestClient,
};
pub use project::{TestProject, TestProjectBuilder, project};
pub use recorder::{CallRecorder, RecordedCall};
