//! The supervisor at work: real programs that behave and misbehave, and parents that are killed.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod ending;
mod orders;
mod parent;
mod stage;
mod starting;
