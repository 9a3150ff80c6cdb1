//! Who can be asked for results, and with which key.

use std::fmt;
use url::Url;

/// A secret. It never prints: not in errors, not in logs, not in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(String);

impl ProviderKey {
    /// A key; surrounding white space is no part of it. Blank ones are none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// For the header that carries it, and for nothing else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A search provider, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchProvider {
    /// The two pages that need no script. No key.
    DuckDuckGo {
        /// Asked first.
        html: Url,
        /// Asked when the first gives nothing that can be used.
        lite: Url,
    },
    /// An instance of `SearXNG`.
    SearXng {
        /// Such as `https://search.example.org/`.
        base: Url,
        /// Sent as a bearer token, to the proxy that stands before an instance which is not for everybody.
        key: Option<ProviderKey>,
    },
    /// Brave's interface.
    Brave {
        /// Where it is.
        base: Url,
        /// Sent as `X-Subscription-Token`.
        key: Option<ProviderKey>,
    },
    /// Tavily's interface.
    Tavily {
        /// Where it is.
        base: Url,
        /// Sent as a bearer token.
        key: Option<ProviderKey>,
    },
}

impl SearchProvider {
    /// `DuckDuckGo` at its own addresses.
    pub fn duckduckgo() -> Result<Self, url::ParseError> {
        let html = Url::parse("https://html.duckduckgo.com/html/")?;
        Ok(Self::DuckDuckGo { html, lite: Url::parse("https://lite.duckduckgo.com/lite/")? })
    }

    /// Brave at its own address.
    pub fn brave(key: Option<ProviderKey>) -> Result<Self, url::ParseError> {
        Ok(Self::Brave { base: Url::parse("https://api.search.brave.com/")?, key })
    }

    /// Tavily at its own address.
    pub fn tavily(key: Option<ProviderKey>) -> Result<Self, url::ParseError> {
        Ok(Self::Tavily { base: Url::parse("https://api.tavily.com/")?, key })
    }

    /// As configurations and results name it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DuckDuckGo { .. } => "duckduckgo",
            Self::SearXng { .. } => "searxng",
            Self::Brave { .. } => "brave",
            Self::Tavily { .. } => "tavily",
        }
    }

    /// The addresses that it is asked at.
    pub fn addresses(&self) -> Vec<&Url> {
        match self {
            Self::DuckDuckGo { html, lite } => vec![html, lite],
            Self::SearXng { base, .. } | Self::Brave { base, .. } | Self::Tavily { base, .. } => {
                vec![base]
            }
        }
    }
}

/// An address below a base that may or may not end with a slash.
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
        assert_eq!(key.as_ref().map(Key::expose), Some("hunter2"));
        let provider = SearchProvider::brave(key).unwrap();
        assert!(!format!("{provider:?} {provider:#?}").contains("hunter2"));
        assert_eq!(Key::parse(" \n"), None);
    }

    #[test]
    fn paths_are_put_below_a_base() {
        for (base, want) in [
            ("https://a.test", "https://a.test/search"),
            ("https://a.test/", "https://a.test/search"),
            ("https://a.test/x/?y#z", "https://a.test/x/search"),
        ] {
            assert_eq!(below(&Url::parse(base).unwrap(), "search").as_str(), want, "{base}");
        }
    }
}
