//! Tests of the client and the crawler against a local server.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod crawl;
mod faults;
mod guard;
mod interrupted;
mod manners;
mod request;
mod server;
