//! The guard and the crawler against a server on this machine.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod crawl;
mod faults;
mod guard;
mod interrupted;
mod manners;
mod request;
mod server;
