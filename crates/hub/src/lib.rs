//! Downstream MCP servers as one [`Provider`](docent_tool::Provider).
//!
//! A [`Hub`] contains a [`Downstream`] for each configured server. No server is started before it is needed: what it
//! offers is remembered from the last run and refreshed when it runs. The [`Dialer`] opens connections; this crate
//! speaks JSON-RPC over the [`Line`](docent_dial::Line) that it returns.

mod discover;
mod handshake;
mod hears;
mod hub;
mod memory;
mod parts;
mod peer;
mod server;
mod spec;
mod stderr;
mod tokens;
mod tolerant;
mod waiting;

pub use handshake::{Opened, handshake};
pub use hears::{Hears, Stream};
pub use hub::{Hub, Settings};
pub use memory::{Memory, Remembered};
pub use peer::{Era, Peer, Request, RequestError};
pub use server::{Downstream, Health, Held, Named, SchemaCheck, State, Status};
pub use spec::{About, Dialer, Exposure, Retry, Spec, Visibility, Way};
pub use stderr::{Pace, Tail, Told};
pub use tokens::estimate as estimate_tokens;
pub use waiting::TimeLimit;
