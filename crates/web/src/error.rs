//! Errors of search providers, and what to do about them.

use crate::allow::what_to_add;
use docent_net::{FetchRefusal, FetchResponse, GuardedFetchError, PolicySetting};
use std::time::Duration;

/// Why a provider failed.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// It requires a bot check.
    #[error("{host} requires a bot check; wait a few minutes, or configure another provider")]
    Challenge {
        /// The host or provider.
        host: String,
    },
    /// It accepted the request but sent no results.
    #[error(
        "{host} returned 202 Accepted without results, probably a rate limit; wait a few minutes"
    )]
    Accepted {
        /// The host or provider.
        host: String,
    },
    /// Its page has an unknown layout.
    #[error("the page of {host} has an unknown layout: it has no {expected}")]
    UnknownLayout {
        /// The host or provider.
        host: String,
        /// What was expected.
        expected: &'static str,
    },
    /// Its page is incomplete.
    #[error("the page of {host} is truncated before any result; try again")]
    CutOff {
        /// The host or provider.
        host: String,
    },
    /// Its page is empty.
    #[error("{host} sent an empty page; try again, or configure another provider")]
    Empty {
        /// The host or provider.
        host: String,
    },
    /// It limits the rate of requests.
    #[error("{host} is rate limiting requests{}", wait(*retry_after))]
    RateLimited {
        /// The host or provider.
        host: String,
        /// Requested delay.
        retry_after: Option<Duration>,
    },
    /// It requires a key, and none is configured.
    #[error(
        "{provider} requires a key; set one under [web] in the operator's own docent.toml, or remove {provider}"
    )]
    KeyMissing {
        /// The host or provider.
        provider: &'static str,
    },
    /// It rejected the key.
    #[error("{host} rejected the {provider} key (status {status}); set a valid one")]
    KeyRefused {
        /// The host or provider.
        host: String,
        /// Provider name in the configuration.
        provider: &'static str,
        /// Status code.
        status: u16,
    },
    /// The quota is used up.
    #[error("the quota of this key at {host} is used up (status {status})")]
    UsedUp {
        /// The host or provider.
        host: String,
        /// Status code.
        status: u16,
    },
    /// The instance does not serve JSON.
    #[error(
        "{host} does not serve JSON (status 403); add json to search.formats in its settings.yml and restart it{}",
        or_another_key(*has_key)
    )]
    JsonOff {
        /// The host or provider.
        host: String,
        /// Whether a key was sent, which may be the cause.
        has_key: bool,
    },
    /// Its response is not valid JSON.
    #[error("{host} sent an invalid JSON response: {reason}")]
    NotJson {
        /// The host or provider.
        host: String,
        /// The cause.
        reason: String,
    },
    /// Its engines failed, so that an empty result means nothing.
    #[error("{host} found nothing because its engines failed: {engines}")]
    EnginesFailed {
        /// The host or provider.
        host: String,
        /// The engines, and why they failed.
        engines: String,
    },
    /// The query is too long.
    #[error("{provider} accepts at most {most}; shorten the query")]
    TooLong {
        /// The host or provider.
        provider: &'static str,
        /// The limit.
        most: &'static str,
    },
    /// An unexpected status.
    #[error("{host} returned status {status}")]
    Status {
        /// The host or provider.
        host: String,
        /// Status code, such as 500.
        status: u16,
    },
    /// The policy does not allow it, but allows another provider.
    #[error("the policy does not allow {}; {}", hosts.join(" or "), what_to_add(hosts, false, setting))]
    NotAllowed {
        /// Hosts, as written in rules.
        hosts: Vec<String>,
        /// Where the policy is configured.
        setting: PolicySetting,
    },
    /// It redirects the search.
    #[error(
        "{host} redirects this search to {to}, which is not followed; {}set its URL under [web] in the operator's own docent.toml",
        without_marks(*has_mark)
    )]
    SentOn {
        /// The host or provider.
        host: String,
        /// Target of the redirect.
        to: String,
        /// Whether a word starts with `!`, which redirects to another engine.
        has_mark: bool,
    },
    /// Refused for another reason.
    #[error(transparent)]
    Refused(FetchRefusal),
    /// No response in time.
    #[error("{0}")]
    TimedOut(#[source] GuardedFetchError),
    /// No connection, or a malformed response.
    #[error("{}", .0.to_chain())]
    Unreachable(#[source] GuardedFetchError),
}

fn wait(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(time) => format!("; retry after {} s", time.as_secs()),
        None => "; wait a few minutes, or configure another provider".to_owned(),
    }
}

const fn or_another_key(has_key: bool) -> &'static str {
    if has_key { ", or set a key that its proxy accepts" } else { "" }
}

const fn without_marks(has_mark: bool) -> &'static str {
    if has_mark { "remove words that start with `!`, or " } else { "" }
}

impl ProviderError {
    /// Whether an immediate retry would exceed a rate limit.
    pub(crate) const fn ends_the_service(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::UsedUp { .. })
    }

    /// Maps an unexpected status.
    pub(crate) fn of_status(host: &str, response: &FetchResponse) -> Self {
        let host = host.to_owned();
        match response.status {
            429 => Self::RateLimited { host, retry_after: response.retry_after() },
            status => Self::Status { host, status },
        }
    }
}

impl From<GuardedFetchError> for ProviderError {
    fn from(error: GuardedFetchError) -> Self {
        match error {
            GuardedFetchError::Refused(FetchRefusal::NotNamed { host, setting }) => {
                Self::NotAllowed { hosts: vec![host], setting }
            }
            GuardedFetchError::Refused(FetchRefusal::Forwarded { from, to }) => {
                Self::SentOn { host: from, to, has_mark: false }
            }
            GuardedFetchError::Refused(refusal) => Self::Refused(refusal),
            late @ GuardedFetchError::TimedOut { .. } => Self::TimedOut(late),
            other => Self::Unreachable(other),
        }
    }
}

/// Failure of a provider.
#[derive(Debug, thiserror::Error)]
#[error("{provider}: {error}")]
pub struct ProviderFailure {
    /// Name of the provider.
    pub provider: &'static str,
    /// The cause.
    #[source]
    pub error: ProviderError,
}
