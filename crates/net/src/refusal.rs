//! Why a URL was not fetched: it is refused, or fetching failed.

use crate::{address::AddressClass, policy::PolicySetting};
use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

/// Why a URL may not be fetched. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchRefusal {
    /// A scheme other than http and https.
    #[error("cannot fetch {url}: only http and https are supported")]
    Scheme {
        /// The requested URL.
        url: String,
    },
    /// An IPv4 address not written as four numbers.
    #[error("the host is an unusual notation of {address}; write it as {address}")]
    Notation {
        /// The IPv4 address.
        address: Ipv4Addr,
    },
    /// A user or password before the host. The message does not repeat the URL.
    #[error("the URL of {host} contains a user or password; remove them")]
    Credentials {
        /// The host.
        host: String,
    },
    /// No rule allows the host and port.
    #[error("the policy does not allow {host}; add it to policy.network.hosts in {setting}")]
    NotNamed {
        /// Host, as written in a rule.
        host: String,
        /// Where the policy is configured.
        setting: PolicySetting,
    },
    /// The host resolves to a non-public address.
    #[error("{host} resolves to {address}, a {class} address; {}", how_to_allow(*class, setting))]
    Inside {
        /// The host name.
        host: String,
        /// Its address.
        address: IpAddr,
        /// Class of the address.
        class: AddressClass,
        /// Where the policy is configured.
        setting: PolicySetting,
    },
    /// A redirect from https to http.
    #[error(
        "{from} redirects to {to}, which is not encrypted; request that URL directly if intended"
    )]
    Downgrade {
        /// The https URL.
        from: String,
        /// The http URL.
        to: String,
    },
    /// A redirect of a request with a body or a key.
    #[error(
        "{from} redirects this request to {to}; its body or key is for {from} only and is not forwarded"
    )]
    Forwarded {
        /// The requested host.
        from: String,
        /// Target of the redirect: scheme and host.
        to: String,
    },
    /// A key for a server without encryption.
    #[error("no key is sent to {host} without encryption; use its https URL")]
    Unencrypted {
        /// The host.
        host: String,
    },
    /// A key that is not valid in a header. The message does not repeat it.
    #[error("the key for {host} contains invalid characters; set it again")]
    BadSecret {
        /// The host.
        host: String,
    },
    /// Too many redirects.
    #[error("{url} redirects more than {limit} times; request the last URL: {last}")]
    Redirects {
        /// First URL.
        url: String,
        /// Last URL.
        last: String,
        /// Maximum number of redirects.
        limit: usize,
    },
}

/// How to allow such an address.
fn how_to_allow(class: AddressClass, setting: &PolicySetting) -> String {
    if class.at_home() {
        format!("to allow that, add the name to policy.network.private_hosts in {setting}")
    } else {
        format!(
            "such an address must be listed in policy.network.hosts in {setting} and written in the URL"
        )
    }
}

/// Why a fetch failed.
#[derive(Debug, thiserror::Error)]
pub enum GuardedFetchError {
    /// The URL may not be fetched.
    #[error(transparent)]
    Refused(#[from] FetchRefusal),
    /// The connection failed or broke.
    #[error("cannot reach {host}")]
    Unreachable {
        /// The host.
        host: String,
        /// The cause.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The response took too long.
    #[error("{host} did not send a complete response within {} s", tenths(*limit))]
    TimedOut {
        /// The host.
        host: String,
        /// The time limit.
        limit: Duration,
    },
    /// The response is too large, compressed or not.
    #[error("{url} is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The URL.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The response is malformed.
    #[error("cannot read the response of {url}")]
    Garbled {
        /// The URL.
        url: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Seconds, to a tenth.
fn tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

impl GuardedFetchError {
    /// Whether a later attempt may succeed.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_shown_in_readable_seconds() {
        for (millis, want) in [(1_798, "1.8 s"), (10_000, "10 s"), (250, "0.3 s")] {
            let limit = Duration::from_millis(millis) + Duration::from_micros(504);
            let text = GuardedFetchError::TimedOut { host: "a.test".to_owned(), limit }.to_string();
            assert_eq!(text, format!("a.test did not send a complete response within {want}"));
        }
    }

    #[test]
    fn a_name_with_a_private_address_says_how_to_allow_it() {
        for (address, want) in [
            ("127.0.0.1", "add the name to policy.network.private_hosts in /x/docent.toml"),
            ("10.0.0.1", "add the name to policy.network.private_hosts in /x/docent.toml"),
            ("fd00::1", "add the name to policy.network.private_hosts in /x/docent.toml"),
            // Where clouds serve their metadata: no name leads there.
            ("169.254.169.254", "listed in policy.network.hosts in /x/docent.toml"),
            ("0.0.0.0", "listed in policy.network.hosts in /x/docent.toml"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            let host = "docs.test".to_owned();
            let setting = PolicySetting::File("/x/docent.toml".to_owned());
            let class = AddressClass::of(address);
            let text = FetchRefusal::Inside { host, address, class, setting }.to_string();
            assert!(text.contains(want), "{text}");
        }
    }
}
