//! Searches and pages against a local server. Nothing leaves this machine.
#![expect(clippy::disallowed_methods, reason = "the tests play the web on this machine")]
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod interfaces;
mod pages;
mod search;
mod server;

use docent_net::{Client, Limits, Policy};
use server::Server;

/// A client that may reach only these servers.
fn client(servers: &[&Server]) -> Client {
    client_with(servers, Limits::default())
}

fn client_with(servers: &[&Server], limits: Limits) -> Client {
    let rules: Vec<String> = servers.iter().map(|server| server.rule()).collect();
    Client::new(Policy::parse(rules.iter().map(String::as_str)).unwrap(), limits)
}
