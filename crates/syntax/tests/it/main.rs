//! Tests of this crate's public interface.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod complexity_gate;
mod hostile;
mod packs;
