//! The sandbox on the running kernel: real children that try to escape, and ordinary work that must succeed.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod arguments;
mod bubblewrap;
mod escape;
mod here;
mod kernels;
mod stage;
mod work;
