//! Downstream MCP servers as one [`ToolProvider`](docent_tool::ToolProvider).
//!
//! A [`Hub`] contains a [`DownstreamServer`] for each configured server. No server is started before it is needed: what it
//! offers is remembered from the last run and refreshed when it runs. The [`Dialer`] opens connections; this crate
//! speaks JSON-RPC over the [`ClientTransport`](docent_dial::ClientTransport) that it returns.
//!
//! # Design
//!
//! The hub is one provider that represents others (`ToolProvider::parts`): each server is a provider with its own name, so that
//! scopes, rules and audit entries refer to it like to a suite. Where lists show only the four discovery tools
//! (`hub.exposure`), the tools of servers are hidden and can still be called.
//!
//! 1. `server::call` uses a cached result if the server allows it, or calls `exchange`.
//! 2. `exchange` uses a live connection or opens one, in a single task however many callers wait. The server's lists are
//!    compared with the approved definitions before its first call. A server that failed, or left three calls in a row
//!    without a response, is not tried again before a delay, which doubles (`backoff`). Requests that may be repeated, that
//!    were never sent, or whose error the entry's `retry` names, are repeated.
//! 3. `peer` assigns the request id, matches the response, forwards progress, and cancels requests that no caller waits for.
//!    Looser spellings are converted to the protocol's, and partial results are collected; everything else passes unchanged.
//!    Fields that no type knows travel in `_meta` until the message is written (`docent_wire::extra`).
//! 4. Questions and logs of the server go to the client whose call's stream they arrived on. Pipes and WebSocket have one stream
//!    for all calls: there they go to the client whose call is open, and to no client if several clients have one. A client of
//!    2026-07-28 answers by repeating its request; the call is parked until then. A server of 2026-07-28 asks through its
//!    result; it is called again with the answers.
//!
//! What docent knows of a server (revision, lists, approved definitions) is kept in the user's cache, so that a known server is
//! not started before it is needed. `call_mcp_tool` and `execute_mcp_code` call through `CallContext::call`: scopes, rules,
//! rates, validation, approval and audit are the same as for a client's own call.
//!
//! If a client without a session has to answer a question before a script can continue, the script stays suspended
//! (`discover::parked`) and continues when the client repeats its request with the answer. Running it again from the start
//! would repeat its calls.

mod discover;
mod handshake;
mod hub;
mod lenient;
mod parts;
mod peer;
mod protocol_mode;
mod server;
mod server_events;
mod server_state;
mod spec;
mod stderr;
mod tokens;
mod waiting;

pub use handshake::{HandshakeResult, handshake};
pub use hub::{Hub, HubSettings};
pub use peer::{DownstreamPeer, PeerRequest, RequestError};
pub use protocol_mode::ProtocolMode;
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
