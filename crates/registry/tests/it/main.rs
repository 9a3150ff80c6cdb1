//! Each client's file: read, written with docent in it, and put back; and files that nobody would write on purpose.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod fixtures;
mod hostile;
mod install;
mod places;
mod plan;
mod reading;
mod variables;
