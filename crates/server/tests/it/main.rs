//! The server through the SDK's own loop, over a pipe in memory, as raw JSON.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails where it stands")]
#![expect(clippy::needless_pass_by_value, reason = "JSON is written where it is passed")]

mod apps;
mod asking;
mod audit;
mod calls;
mod changes;
mod fixture;
mod forwarding;
mod handshake;
mod limits;
mod lists;
mod nested;
mod policy;
mod scopes;
mod screening;
mod shares;
mod tasks;
mod wire;
