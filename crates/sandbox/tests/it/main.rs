//! The sandbox against the running kernel: real children that try to get out, and ordinary work that must go on.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod arguments;
mod bubblewrap;
mod escape;
mod here;
mod kernels;
mod stage;
mod work;
