//! Each client's file: read, with docent added, and restored; and malformed files.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod fixtures;
mod hostile;
mod install;
mod places;
mod plan;
mod reading;
mod variables;
