//! The crate through its public functions.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod any_text;
mod chance;
mod described;
mod hidden;
mod json;
mod logs;
mod ordinary;
mod secrets;
