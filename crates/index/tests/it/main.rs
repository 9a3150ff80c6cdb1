//! Tests of the store: contract, crashes, concurrent processes and corruption.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests control their child processes by environment variables"
)]

mod contract;
mod crash;
mod damage;
mod embedded;
mod faults;
mod links;
mod manual;
mod memory;
mod project;
mod sharing;
