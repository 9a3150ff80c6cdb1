//! The tests of this crate that need no more than its public interface.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod complexity_gate;
mod hostile;
mod packs;
