//! HTTP clients that receive fuzzed responses.

use docent_net::{FetchLimits, GuardedClient, NetworkPolicy};
use std::sync::LazyLock;

/// IP addresses need no lookup.
pub const SITE: &str = "http://93.184.216.34/";

static POLICY: LazyLock<NetworkPolicy> =
    LazyLock::new(|| NetworkPolicy::parse(["93.184.216.34"]).expect("a policy"));

/// Parses a response with this status, type and body.
pub fn body(status: u16, media_type: &str, body: &[u8]) -> GuardedClient {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n"
    );
    raw([head.as_bytes(), body].concat())
}

/// Parses these bytes as a complete response.
pub fn raw(bytes: Vec<u8>) -> GuardedClient {
    GuardedClient::hearing(POLICY.clone(), FetchLimits::default(), bytes)
}

/// Whether a text has no control characters and is not too long.
pub fn is_plain(text: &str, most: usize) -> bool {
    text.chars().count() <= most && !text.contains(char::is_control)
}
