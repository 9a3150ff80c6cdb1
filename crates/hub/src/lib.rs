//! Other MCP servers as one [`Provider`](docent_tool::Provider).
//!
//! A [`Hub`] holds a [`DownstreamServer`] for each server that is configured. Nothing is started before it is needed: what a
//! server offers is remembered from the last time, and looked at again when it runs. How a server is reached is the
//! [`Dialer`]'s business; this crate speaks JSON-RPC over the [`Line`](docent_dial::Line) that it gets.

mod discover;
mod handshake;
mod server_events;
mod hub;
mod server_state;
mod parts;
mod peer;
mod server;
mod spec;
mod stderr;
mod tokens;
mod lenient;
mod waiting;

pub use handshake::{HandshakeResult, handshake};
pub use server_events::{ServerEvents, StreamOwner};
pub use hub::{Hub, HubSettings};
pub use server_state::{ServerStateStore, StoredServerState};
pub use peer::{ProtocolMode, DownstreamPeer, PeerRequest, RequestError};
pub use server::{DownstreamServer, Health, HeldDefinition, PublicName, SchemaCheck, ServerState, ServerStatus};
pub use spec::{ServerDescription, Dialer, CatalogExposure, RetryPolicy, ServerSpec, DiscoveryVisibility, ServerTransport};
pub use stderr::{LogThrottle, StderrTail, ThrottleDecision};
pub use tokens::estimate as estimate_tokens;
pub use waiting::TimeLimit;
