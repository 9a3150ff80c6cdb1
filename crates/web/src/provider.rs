//! Search providers and their keys.

use std::fmt;
use url::Url;

/// An API key. Never printed in errors, logs or `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(String);

impl ProviderKey {
    /// Creates a key without surrounding white space; `None` if blank.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key, only for its header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderKey(…)")
    }
}

/// A search provider and its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchProvider {
    /// The two pages without scripts. Needs no key.
    DuckDuckGo {
        /// Tried first.
        html: Url,
        /// Tried if the first fails.
        lite: Url,
    },
    /// An instance of `SearXNG`.
    SearXng {
        /// Base URL, such as `https://search.example.org/`.
        base: Url,
        /// Bearer token for the proxy of a private instance.
        key: Option<ProviderKey>,
    },
    /// The Brave Search API.
    Brave {
        /// Base URL.
        base: Url,
        /// Sent as `X-Subscription-Token`.
        key: Option<ProviderKey>,
    },
    /// The Tavily API.
    Tavily {
        /// Base URL.
        base: Url,
        /// Sent as a bearer token.
        key: Option<ProviderKey>,
    },
}

impl SearchProvider {
    /// `DuckDuckGo` at its default URLs.
    pub fn duckduckgo() -> Result<Self, url::ParseError> {
        let html = Url::parse("https://html.duckduckgo.com/html/")?;
        Ok(Self::DuckDuckGo { html, lite: Url::parse("https://lite.duckduckgo.com/lite/")? })
    }

    /// Brave at its default URL.
    pub fn brave(key: Option<ProviderKey>) -> Result<Self, url::ParseError> {
        Ok(Self::Brave { base: Url::parse("https://api.search.brave.com/")?, key })
    }

    /// Tavily at its default URL.
    pub fn tavily(key: Option<ProviderKey>) -> Result<Self, url::ParseError> {
        Ok(Self::Tavily { base: Url::parse("https://api.tavily.com/")?, key })
    }

    /// Name in configurations and results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DuckDuckGo { .. } => "duckduckgo",
            Self::SearXng { .. } => "searxng",
            Self::Brave { .. } => "brave",
            Self::Tavily { .. } => "tavily",
        }
    }

    /// URLs that it uses.
    pub fn addresses(&self) -> Vec<&Url> {
        match self {
            Self::DuckDuckGo { html, lite } => vec![html, lite],
            Self::SearXng { base, .. } | Self::Brave { base, .. } | Self::Tavily { base, .. } => {
                vec![base]
            }
        }
    }
}

/// Joins a path to a base URL with or without a trailing slash.
pub(crate) fn join_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_prints() {
        let key = ProviderKey::parse(" hunter2\n");
        assert_eq!(key.as_ref().map(ProviderKey::expose), Some("hunter2"));
        let provider = SearchProvider::brave(key).unwrap();
        assert!(!format!("{provider:?} {provider:#?}").contains("hunter2"));
        assert_eq!(ProviderKey::parse(" \n"), None);
    }

    #[test]
    fn paths_are_put_below_a_base() {
        for (base, want) in [
            ("https://a.test", "https://a.test/search"),
            ("https://a.test/", "https://a.test/search"),
            ("https://a.test/x/?y#z", "https://a.test/x/search"),
        ] {
            assert_eq!(join_path(&Url::parse(base).unwrap(), "search").as_str(), want, "{base}");
        }
    }
}
