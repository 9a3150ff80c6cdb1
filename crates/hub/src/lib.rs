//! Other MCP servers as one [`Provider`](docent_tool::Provider).
//!
//! A [`Hub`] holds a [`Downstream`] for each server that is configured. Nothing is started before it is needed: what a
//! server offers is remembered from the last time, and looked at again when it runs. How a server is reached is the
//! [`Dialer`]'s business; this crate speaks JSON-RPC over the [`Line`](docent_dial::Line) that it gets.

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
