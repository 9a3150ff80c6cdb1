//! What keeps one provider from answering, and what can be done about it.

use crate::allow::what_to_add;
use docent_net::{GuardedFetchError, PolicySetting, FetchRefusal, FetchResponse};
use std::time::Duration;

/// Why one provider gave no results.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// It wants proof that a person asks.
    #[error(
        "{host} asks for proof that this is no robot; wait some minutes, or configure another provider"
    )]
    Challenge {
        /// Who.
        host: String,
    },
    /// It took the request and sent no results.
    #[error(
        "{host} answered 202 Accepted and no results, as it does when asked too often; wait some minutes"
    )]
    Accepted {
        /// Who.
        host: String,
    },
    /// Its page has changed, or is another one.
    #[error("the page of {host} has a layout that is not known: it has no {expected}")]
    UnknownLayout {
        /// Who.
        host: String,
        /// What was looked for.
        expected: &'static str,
    },
    /// Its page ends in the middle.
    #[error("the page of {host} ends in the middle, before any result; try again")]
    CutOff {
        /// Who.
        host: String,
    },
    /// There is nothing in its page.
    #[error("{host} sent an empty page; try again, or configure another provider")]
    Empty {
        /// Who.
        host: String,
    },
    /// It was asked too often.
    #[error("{host} is asked too often{}", wait(*retry_after))]
    RateLimited {
        /// Who.
        host: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// It needs a key, and none is configured.
    #[error(
        "{provider} needs a key, and none is configured; set one under [web] in the operator's own docent.toml, or leave {provider} out"
    )]
    KeyMissing {
        /// Who.
        provider: &'static str,
    },
    /// It does not take the key.
    #[error("{host} refuses the key of {provider} (status {status}); set one that is valid")]
    KeyRefused {
        /// Who.
        host: String,
        /// As the configuration names it.
        provider: &'static str,
        /// What it answered.
        status: u16,
    },
    /// The month's searches are used up.
    #[error("{host} says that the plan of this key is used up (status {status})")]
    UsedUp {
        /// Who.
        host: String,
        /// What it answered.
        status: u16,
    },
    /// An instance that answers people alone.
    #[error(
        "{host} does not answer in JSON (status 403); in its settings.yml, add json to search.formats and restart it{}",
        or_another_key(*has_key)
    )]
    JsonOff {
        /// Who.
        host: String,
        /// A key was sent, which may be what is refused.
        has_key: bool,
    },
    /// What it sends can't be read.
    #[error("{host} sent something that is not the JSON of a search: {reason}")]
    NotJson {
        /// Who.
        host: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The engines behind it failed, so that nothing found is no answer.
    #[error("{host} found nothing because the engines behind it failed: {engines}")]
    EnginesFailed {
        /// Who.
        host: String,
        /// Which, and why.
        engines: String,
    },
    /// It takes no query as long.
    #[error("{provider} takes at most {most}; shorten the query")]
    TooLong {
        /// Who.
        provider: &'static str,
        /// How much.
        most: &'static str,
    },
    /// Another status than was expected.
    #[error("{host} answered with status {status}")]
    Status {
        /// Who.
        host: String,
        /// Such as 500.
        status: u16,
    },
    /// The policy does not name it, though it names another provider.
    #[error("the policy does not name {}; {}", hosts.join(" or "), what_to_add(hosts, false, setting))]
    NotAllowed {
        /// As rules name them.
        hosts: Vec<String>,
        /// Where hosts are named.
        setting: PolicySetting,
    },
    /// It sends the search on.
    #[error(
        "{host} sends this search on to {to}, where it does not go; {}set its address under [web] in the operator's own docent.toml",
        without_marks(*has_mark)
    )]
    SentOn {
        /// Who.
        host: String,
        /// Where to.
        to: String,
        /// A word begins with `!`, which sends a search on to another engine.
        has_mark: bool,
    },
    /// The request may not be made for another reason.
    #[error(transparent)]
    Refused(FetchRefusal),
    /// No answer in time.
    #[error("{0}")]
    TimedOut(#[source] GuardedFetchError),
    /// No connection, or nothing in it that makes sense.
    #[error("{}", .0.told())]
    Unreachable(#[source] GuardedFetchError),
}

fn wait(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(time) => format!("; it says to wait {} s", time.as_secs()),
        None => "; wait some minutes, or configure another provider".to_owned(),
    }
}

const fn or_another_key(has_key: bool) -> &'static str {
    if has_key { ", or set a key that the proxy before it takes" } else { "" }
}

const fn without_marks(has_mark: bool) -> &'static str {
    if has_mark { "leave out words that begin with `!`, or " } else { "" }
}

impl ProviderError {
    /// Whether asking the same service again at once would be asking too often.
    pub(crate) const fn ends_the_service(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::UsedUp { .. })
    }

    /// A status that no provider means well by.
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

/// One provider's failure.
#[derive(Debug, thiserror::Error)]
#[error("{provider}: {trouble}")]
pub struct ProviderFailure {
    /// Who.
    pub provider: &'static str,
    /// Why.
    #[source]
    pub error: ProviderError,
}
