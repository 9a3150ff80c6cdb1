//! One search: providers are asked in order until one answers, and what went wrong before that is kept.

use crate::{
    allow::{rule_of, what_to_add},
    brave, duckduckgo, links,
    provider::SearchProvider,
    query::WebQuery,
    searxng, tavily,
    error::{ProviderFailure, ProviderError},
    text::{MAX_FACT_CHARS, MAX_SNIPPET_CHARS, MAX_TITLE_CHARS, truncate, fold, bounded_text},
};
use docent_net::{GuardedClient, NetworkPolicy, PolicySetting};
use std::collections::HashSet;
use url::Url;

/// What was found.
#[derive(Debug)]
pub struct WebSearchResults {
    /// Who answered.
    pub provider: &'static str,
    /// The host that the results came from.
    pub host: String,
    /// Best first. Empty only where the provider says that there are none.
    pub results: Vec<WebHit>,
    /// What the provider could not do, for people.
    pub notes: Vec<String>,
    /// Who was asked before and did not answer.
    pub failures: Vec<ProviderFailure>,
}

/// One result. Its texts are plain text from the web: data, never instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHit {
    /// Of the page.
    pub title: String,
    /// Its address, http or https, without marks that only count visits.
    pub url: String,
    /// The part that matches; may be empty.
    pub snippet: String,
    /// When it was published, as the provider says it.
    pub date: Option<String>,
    /// The site or the engine that it is from, as the provider says it.
    pub source: Option<String>,
    /// Who found it.
    pub provider: &'static str,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Nobody is configured.
    #[error(
        "no search provider is configured; name one in web.providers of the operator's own docent.toml"
    )]
    NoProviders,
    /// No provider may be reached.
    #[error("{}; {}", why_not(*is_off), what_to_add(hosts, *is_off, setting))]
    NotAllowed {
        /// The policy names no host at all.
        is_off: bool,
        /// As rules name them.
        hosts: Vec<String>,
        /// Where hosts are named.
        setting: PolicySetting,
    },
    /// Whoever asked no longer waits.
    #[error("the search was stopped")]
    Stopped,
    /// All were asked, and none answered.
    #[error("{}", listed(.0))]
    Failed(Vec<ProviderFailure>),
}

fn why_not(is_off: bool) -> &'static str {
    if is_off {
        "the network is off: the policy names no host, so the web can't be searched"
    } else {
        "the policy of the network names none of the search providers"
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

/// What a provider's answer holds, before it is bounded.
#[derive(Debug, Default)]
pub(crate) struct ProviderResults {
    pub(crate) results: Vec<WebHit>,
    pub(crate) notes: Vec<String>,
}

/// Asks the providers in order. `stop` is asked before each request; the one under way ends within the client's limits.
pub fn search(
    query: &WebQuery,
    providers: &[SearchProvider],
    client: &GuardedClient,
    stop: &dyn Fn() -> bool,
) -> Result<WebSearchResults, SearchError> {
    check_allowed(providers, client.policy())?;
    // One that the policy refuses is not asked, and takes none of the time.
    let takes_time = |url: &Url| usize::from(client.policy().check(url).is_ok());
    let all = |provider: &SearchProvider| provider.addresses().into_iter().map(takes_time).sum::<usize>();
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
                Err(trouble) => {
                    let over = at + 1 == addresses.len() || trouble.ends_the_service();
                    failures.push(ProviderFailure { provider: provider.name(), trouble });
                    if over {
                        break;
                    }
                }
            }
        }
    }
    Err(SearchError::Failed(failures))
}

/// Whether any provider may be asked. Nothing is sent.
pub fn check_allowed(providers: &[SearchProvider], policy: &NetworkPolicy) -> Result<(), SearchError> {
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
        // Found nothing and can use nothing are two things.
        let expected = "result whose address can be opened";
        return Err(ProviderError::UnknownLayout { host: host_of(address), expected });
    }
    Ok(ProviderResults { results, notes })
}

pub(crate) fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Plain and bounded, each page once, at most as many as are wanted.
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
    fn results_are_plain_bounded_and_told_once() {
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
        assert_eq!(got[0].title.chars().count(), LONGEST_TITLE);
        assert_eq!(got[0].snippet.chars().count(), LONGEST_SNIPPET);
        assert_eq!(got[1].title, "b.test");
    }
}
