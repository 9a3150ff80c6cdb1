//! Test clients over real processes and sockets, and fixture servers, for tests only.
//!
//! [`conformance::ConformanceFixture`] is the provider that the official conformance suite expects. [`TestClient`] is a raw
//! client over four transports ([`ChildTestClient`], [`HttpTestClient`], [`SseTestClient`], [`WsTestClient`]), so that one
//! list of requests runs over each of them. [`corpus`] creates collections with questions about them. [`project()`] creates
//! a folder for tools to read. Nothing here may be used outside tests and benchmarks.

pub mod conformance;
pub mod corpus;
pub mod lab;
mod project;
mod recorder;
mod test_client;

pub use project::{TestProject, TestProjectBuilder, project};
pub use recorder::{CallRecorder, RecordedCall};
pub use test_client::{
    ChildPipes, ChildTestClient, HttpTestClient, HttpTestTransport, SseTestClient,
    SseTestTransport, TestClient, TestClientError, TestTransport, WsTestClient, WsTestTransport,
};
