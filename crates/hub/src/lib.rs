//! Downstream MCP servers as one [`Provider`](docent_tool::Provider).
//!
//! A [`Hub`] contains a [`DownstreamServer`] for each configured server. No server is started before it is needed: what it
//! offers is remembered from the last run and refreshed when it runs. The [`Dialer`] opens connections; this crate
//! speaks JSON-RPC over the [`Line`](docent_dial::Line) that it returns.

mod discover;
mod handshake;
mod hub;
mod lenient;
mod parts;
mod peer;
mod server;
mod server_events;
mod server_state;
mod spec;
mod stderr;
mod tokens;
mod waiting;

pub use handshake::{HandshakeResult, handshake};
pub use hub::{Hub, HubSettings};
pub use peer::{DownstreamPeer, PeerRequest, ProtocolMode, RequestError};
pub use server::{
    DownstreamServer, Health, HeldDefinition, PublicName, SchemaCheck, ServerState, ServerStatus,
};
pub use server_events::{ServerEvents, StreamOwner};
pub use server_state::{ServerStateStore, StoredServerState};
pub use spec::{
    CatalogExposure, Dialer, DiscoveryVisibility, RetryPolicy, ServerDescription, ServerSpec,
    ServerTransport,
};
pub use stderr::{LogThrottle, StderrTail, ThrottleDecision};
pub use tokens::estimate as estimate_tokens;
pub use waiting::TimeLimit;
