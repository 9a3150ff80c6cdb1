//! Searches and pages against a local server. Nothing leaves this machine.
#![expect(clippy::disallowed_methods, reason = "the tests play the web on this machine")]
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod interfaces;
mod pages;
mod search;
mod server;

use docent_net::{FetchLimits, GuardedClient, NetworkPolicy};
use server::ProviderTestServer;

/// A client that may reach only these servers.
fn client(servers: &[&ProviderTestServer]) -> GuardedClient {
    client_with(servers, FetchLimits::default())
}

fn client_with(servers: &[&ProviderTestServer], limits: FetchLimits) -> GuardedClient {
    let rules: Vec<String> = servers.iter().map(|server| server.rule()).collect();
    GuardedClient::new(NetworkPolicy::parse(rules.iter().map(String::as_str)).unwrap(), limits)
}
