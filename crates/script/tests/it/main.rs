//! Complete script runs: an engine for each, and tools that answer in memory.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

mod calls;
mod declarations;
mod errors;
mod hostile;
mod language;
mod limits;
mod stage;
mod threads;
mod values;
mod workers;
