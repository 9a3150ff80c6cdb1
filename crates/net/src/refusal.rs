//! Why an address was not fetched: it may not be, or it can't be.

use crate::{address::AddressClass, policy::PolicySetting};
use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

/// Why an address may not be fetched. Nothing was sent to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchRefusal {
    /// Another scheme than http and https.
    #[error("{url} is not fetched: only http and https are")]
    Scheme {
        /// What was asked for.
        url: String,
    },
    /// An IPv4 address that is not written as four numbers.
    #[error(
        "the host is {address} in another notation, which is not fetched; write it plainly, as {address}"
    )]
    Notation {
        /// What is meant.
        address: Ipv4Addr,
    },
    /// A user or a password before the host. The address is not repeated, for what it holds.
    #[error("an address of {host} with a user or a password in it is not fetched; leave them out")]
    Credentials {
        /// Where it points.
        host: String,
    },
    /// No rule names the host and its port.
    #[error("the policy does not name {host}; add it to policy.network.hosts in {setting}")]
    NotNamed {
        /// As a rule names it.
        host: String,
        /// Where rules are set.
        setting: PolicySetting,
    },
    /// The host's name leads to somewhere inside.
    #[error("{host} is at {address}, a {class} address; {}", way_inside(*class, setting))]
    Inside {
        /// The name.
        host: String,
        /// What it stands for.
        address: IpAddr,
        /// What kind that is.
        class: AddressClass,
        /// Where rules are set.
        setting: PolicySetting,
    },
    /// From https to http.
    #[error("{from} redirects to {to}, which is not encrypted; ask for that one if it is meant")]
    Downgrade {
        /// The encrypted one.
        from: String,
        /// The other.
        to: String,
    },
    /// A redirect of a request that carries a body or a key.
    #[error(
        "{from} sends this request on to {to}; what it carries is meant for {from} alone and goes no further"
    )]
    Forwarded {
        /// The host that was asked.
        from: String,
        /// Where it points: a scheme and a host.
        to: String,
    },
    /// A key for a server that is reached in the open.
    #[error("{host} is not encrypted, so no key is sent to it; give its address with https")]
    Unencrypted {
        /// Whom.
        host: String,
    },
    /// A key that no header can hold. It is not repeated.
    #[error("the key for {host} can't be sent: it holds characters that no key has; set it again")]
    BadSecret {
        /// Whom it is for.
        host: String,
    },
    /// Round and round.
    #[error("{url} redirects more than {limit} times; ask for the last one: {last}")]
    Redirects {
        /// The first.
        url: String,
        /// The last.
        last: String,
        /// How many are followed.
        limit: usize,
    },
}

/// How such an address is reached all the same.
fn how_to_allow(class: AddressClass, setting: &PolicySetting) -> String {
    if class.at_home() {
        format!("if the name may lead there, add it to policy.network.private_hosts in {setting}")
    } else {
        format!(
            "such an address is reached only where policy.network.hosts in {setting} names it and the URL does too"
        )
    }
}

/// Why there is no answer to use.
#[derive(Debug, thiserror::Error)]
pub enum GuardedFetchError {
    /// It may not be fetched.
    #[error(transparent)]
    Refused(#[from] FetchRefusal),
    /// There is no connection, or it broke.
    #[error("{host} can't be reached")]
    Unreachable {
        /// Whom.
        host: String,
        /// Why.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The answer takes too long.
    #[error("{host} has not answered in full within {} s", tenths(*limit))]
    TimedOut {
        /// Who.
        host: String,
        /// How long it had.
        limit: Duration,
    },
    /// The answer is too large, unpacked or not.
    #[error("{url} has more than {limit} bytes, the most that is fetched")]
    TooLarge {
        /// Which.
        url: String,
        /// How many it may have.
        limit: u64,
    },
    /// The answer makes no sense.
    #[error("the answer of {url} can't be read")]
    Garbled {
        /// Which.
        url: String,
        /// What is wrong with it.
        #[source]
        source: io::Error,
    },
}

/// Seconds, to a tenth.
fn tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

impl GuardedFetchError {
    /// Whether a later try may fare better.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_in_seconds_that_people_read() {
        for (millis, want) in [(1_798, "1.8 s"), (10_000, "10 s"), (250, "0.3 s")] {
            let limit = Duration::from_millis(millis) + Duration::from_micros(504);
            let told = GuardedFetchError::TimedOut { host: "a.test".to_owned(), limit }.to_string();
            assert_eq!(told, format!("a.test has not answered in full within {want}"));
        }
    }

    #[test]
    fn a_name_that_leads_inside_is_told_what_lets_it() {
        for (address, want) in [
            ("127.0.0.1", "add it to policy.network.private_hosts in /x/docent.toml"),
            ("10.0.0.1", "add it to policy.network.private_hosts in /x/docent.toml"),
            ("fd00::1", "add it to policy.network.private_hosts in /x/docent.toml"),
            // Where clouds serve their metadata: no name leads there.
            ("169.254.169.254", "where policy.network.hosts in /x/docent.toml names it"),
            ("0.0.0.0", "where policy.network.hosts in /x/docent.toml names it"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            let host = "docs.test".to_owned();
            let setting = PolicySetting::File("/x/docent.toml".to_owned());
            let class = AddressClass::of(address);
            let told = FetchRefusal::Inside { host, address, class, setting }.to_string();
            assert!(told.contains(want), "{told}");
        }
    }
}
