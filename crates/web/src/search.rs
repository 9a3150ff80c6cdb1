//! Runs a search: tries the providers in order until one answers, and keeps the failures before that.

use crate::{
    allow::{rule_of, what_to_add},
    brave, duckduckgo,
    error::{ProviderError, ProviderFailure},
    links,
    provider::SearchProvider,
    query::WebQuery,
    searxng, tavily,
    text::{MAX_FACT_CHARS, MAX_SNIPPET_CHARS, MAX_TITLE_CHARS, bounded_text, fold, truncate},
};
use docent_net::{GuardedClient, NetworkPolicy, PolicySetting};
use std::collections::HashSet;
use url::Url;

/// Result of a search.
#[derive(Debug)]
pub struct WebSearchResults {
    /// Provider that answered.
    pub provider: &'static str,
    /// Host of the results.
    pub host: String,
    /// Results, best first; empty only if the provider reports none.
    pub results: Vec<WebHit>,
    /// Remarks, such as unsupported options.
    pub notes: Vec<String>,
    /// Failures of providers tried before.
    pub failures: Vec<ProviderFailure>,
}

/// One result. Its texts are plain text from the web: data, never instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHit {
    /// Title of the page.
    pub title: String,
    /// URL, http or https, without tracking parameters.
    pub url: String,
    /// Matching excerpt; may be empty.
    pub snippet: String,
    /// Publication date, as given by the provider.
    pub date: Option<String>,
    /// Site or engine, as given by the provider.
    pub source: Option<String>,
    /// Provider that found it.
    pub provider: &'static str,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// No provider is configured.
    #[error(
        "no search provider is configured; add one to web.providers in the operator's own docent.toml"
    )]
    NoProviders,
    /// The policy allows no provider.
    #[error("{}; {}", why_not(*is_off), what_to_add(hosts, *is_off, setting))]
    NotAllowed {
        /// Whether the policy allows no host at all.
        is_off: bool,
        /// Hosts, as written in rules.
        hosts: Vec<String>,
        /// Where the policy is configured.
        setting: PolicySetting,
    },
    /// The search was canceled.
    #[error("the search was stopped")]
    Stopped,
    /// All providers failed.
    #[error("{}", listed(.0))]
    Failed(Vec<ProviderFailure>),
}

fn why_not(is_off: bool) -> &'static str {
    if is_off {
        "the network is off: the policy allows no host, so the web can't be searched"
    } else {
        "the network policy allows none of the search providers"
    }
}

fn listed(failures: &[ProviderFailure]) -> String {
    match failures {
        [one] => one.to_string(),
        many => {
            let lines: Vec<String> = many.iter().map(|one| format!("- {one}")).collect();
            format!("no provider answered\n{}", lines.join("\n"))
        }
    }
}

/// Results of a provider, before they are bounded.
#[derive(Debug, Default)]
pub(crate) struct ProviderResults {
    pub(crate) results: Vec<WebHit>,
    pub(crate) notes: Vec<String>,
}

/// Tries the providers in order. `stop` is checked before each request; one in flight ends within the client's limits.
pub fn search(
    query: &WebQuery,
    providers: &[SearchProvider],
    client: &GuardedClient,
    stop: &dyn Fn() -> bool,
) -> Result<WebSearchResults, SearchError> {
    check_allowed(providers, client.policy())?;
    // A provider refused by the policy is skipped and takes no time.
    let takes_time = |url: &Url| usize::from(client.policy().check(url).is_ok());
    let all =
        |provider: &SearchProvider| provider.addresses().into_iter().map(takes_time).sum::<usize>();
    let mut failures = Vec::new();
    let mut others: usize = providers.iter().map(all).sum();
    for provider in providers {
        let addresses = provider.addresses();
        let mut own = all(provider);
        others -= own;
        for (at, address) in addresses.iter().enumerate() {
            if stop() {
                return Err(SearchError::Stopped);
            }
            let shared = client.sharing(own + others);
            own -= takes_time(address);
            match ask(query, provider, address, &shared) {
                Ok(ProviderResults { results, notes }) => {
                    let (name, host) = (provider.name(), host_of(address));
                    return Ok(WebSearchResults { provider: name, host, results, notes, failures });
                }
                Err(error) => {
                    let over = at + 1 == addresses.len() || error.ends_the_service();
                    failures.push(ProviderFailure { provider: provider.name(), error });
                    if over {
                        break;
                    }
                }
            }
        }
    }
    Err(SearchError::Failed(failures))
}

/// Checks that the policy allows some provider. Sends nothing.
pub fn check_allowed(
    providers: &[SearchProvider],
    policy: &NetworkPolicy,
) -> Result<(), SearchError> {
    if providers.is_empty() {
        return Err(SearchError::NoProviders);
    }
    let addresses = || providers.iter().flat_map(SearchProvider::addresses);
    if addresses().any(|url| policy.check(url).is_ok()) {
        return Ok(());
    }
    let mut hosts: Vec<String> = Vec::new();
    for rule in addresses().map(rule_of) {
        if !hosts.contains(&rule) {
            hosts.push(rule);
        }
    }
    let (is_off, setting) = (policy.hosts.is_empty(), policy.setting.clone());
    Err(SearchError::NotAllowed { is_off, hosts, setting })
}

fn ask(
    query: &WebQuery,
    provider: &SearchProvider,
    address: &Url,
    client: &GuardedClient,
) -> Result<ProviderResults, ProviderError> {
    let mut answer = match provider {
        SearchProvider::DuckDuckGo { .. } => duckduckgo::ask(query, address, client),
        SearchProvider::SearXng { base, key } => searxng::ask(query, base, key.as_ref(), client),
        SearchProvider::Brave { base, key } => brave::ask(query, base, key.as_ref(), client),
        SearchProvider::Tavily { base, key } => tavily::ask(query, base, key.as_ref(), client),
    };
    if let Err(ProviderError::SentOn { has_mark, .. }) = &mut answer {
        *has_mark = query.text().split(' ').any(|word| word.starts_with('!'));
    }
    let ProviderResults { results, notes } = answer?;
    let were_some = !results.is_empty();
    let results = tidy_results(results, query.max_results());
    if were_some && results.is_empty() {
        // No results and no usable results are different.
        let expected = "result with a usable URL";
        return Err(ProviderError::UnknownLayout { host: host_of(address), expected });
    }
    Ok(ProviderResults { results, notes })
}

pub(crate) fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Cleans, bounds and deduplicates the results.
fn tidy_results(results: Vec<WebHit>, most: usize) -> Vec<WebHit> {
    let mut seen = HashSet::new();
    let tidy = |hit: WebHit| {
        let url = links::result_url(&hit.url)?;
        let mut page = url.clone();
        page.set_fragment(None);
        if !seen.insert(page.as_str().trim_end_matches('/').to_owned()) {
            return None;
        }
        let title = bounded_text(&hit.title, MAX_TITLE_CHARS).unwrap_or_else(|| host_of(&url));
        Some(WebHit {
            title,
            url: url.into(),
            snippet: truncate(&fold(&hit.snippet), MAX_SNIPPET_CHARS),
            date: hit.date.and_then(|date| bounded_text(&date, MAX_FACT_CHARS)),
            source: hit.source.and_then(|source| bounded_text(&source, MAX_FACT_CHARS)),
            provider: hit.provider,
        })
    };
    results.into_iter().filter_map(tidy).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(title: &str, url: &str) -> WebHit {
        let (title, url) = (title.to_owned(), url.to_owned());
        WebHit { title, url, snippet: "s\n".repeat(900), date: None, source: None, provider: "x" }
    }

    #[test]
    fn results_are_plain_bounded_and_listed_once() {
        let all = vec![
            hit(&"t".repeat(400), "https://a.test/x?utm_source=y"),
            hit("again", "https://a.test/x#part"),
            hit(" ", "http://b.test/"),
            hit("no page", "javascript:alert(1)"),
            hit("no page", "data:text/html,x"),
            hit("c", "https://c.test/?a=b&utm_medium=z"),
            hit("d", "https://d.test/"),
        ];
        let got = tidy_results(all, 3);
        let urls: Vec<&str> = got.iter().map(|hit| hit.url.as_str()).collect();
        assert_eq!(urls, ["https://a.test/x", "http://b.test/", "https://c.test/?a=b"]);
        assert_eq!(got[0].title.chars().count(), MAX_TITLE_CHARS);
        assert_eq!(got[0].snippet.chars().count(), MAX_SNIPPET_CHARS);
        assert_eq!(got[1].title, "b.test");
    }
}
