//! The Brave Search API.

use crate::{
    error::ProviderError,
    json,
    provider::{ProviderKey, join_path},
    query::WebQuery,
    scan::text_of,
    search::{ProviderResults, WebHit, host_of},
};
use docent_net::{FetchRequest, GuardedClient};
use serde::Deserialize;
use url::Url;

/// Query limits; Brave answers a longer query like an invalid key.
const MAX_QUERY_CHARS: usize = 400;
const MAX_QUERY_WORDS: usize = 50;
/// Supported countries; Brave answers any other like an invalid key.
const COUNTRIES: [&str; 36] = [
    "AR", "AT", "AU", "BE", "BR", "CA", "CH", "CL", "CN", "DE", "DK", "ES", "FI", "FR", "GB", "HK",
    "ID", "IN", "IT", "JP", "KR", "MX", "MY", "NL", "NO", "NZ", "PH", "PL", "PT", "RU", "SA", "SE",
    "TR", "TW", "US", "ZA",
];

#[derive(Deserialize)]
struct BraveResponse {
    /// `search` in every search response.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// Missing if nothing was found.
    #[serde(default)]
    web: Option<BraveWebResults>,
}

#[derive(Deserialize)]
struct BraveWebResults {
    results: Vec<BraveResult>,
}

#[derive(Deserialize)]
struct BraveResult {
    url: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    page_age: Option<String>,
    #[serde(default)]
    profile: Option<BraveProfile>,
}

#[derive(Deserialize)]
struct BraveProfile {
    #[serde(default)]
    name: Option<String>,
}

pub(crate) fn ask(
    query: &WebQuery,
    base: &Url,
    key: Option<&ProviderKey>,
    client: &GuardedClient,
) -> Result<ProviderResults, ProviderError> {
    let key = key.ok_or(ProviderError::KeyMissing { provider: "brave" })?;
    let text = query.text();
    if text.chars().count() > MAX_QUERY_CHARS || text.split(' ').count() > MAX_QUERY_WORDS {
        return Err(ProviderError::TooLong {
            provider: "brave",
            most: "400 characters and 50 words",
        });
    }
    let mut url = join_path(base, "res/v1/web/search");
    url.query_pairs_mut()
        .append_pair("q", text)
        .append_pair("count", &query.max_results().to_string())
        .append_pair("text_decorations", "false")
        .append_pair("result_filter", "web");
    let mut notes = Vec::new();
    if let Some(region) = &query.region {
        let country = region.country();
        if COUNTRIES.contains(&country.as_str()) {
            url.query_pairs_mut().append_pair("country", &country);
        } else {
            notes.push(format!(
                "brave does not support the country {country}; searched without {region}"
            ));
        }
    }
    if let Some(time) = query.time {
        url.query_pairs_mut().append_pair("freshness", &format!("p{}", time.letter()));
    }
    let request = FetchRequest::get(url).secret("x-subscription-token", key.expose());
    let response = json::send(request, client)?;
    json::keyed(&response, "brave")?;
    let page: BraveResponse = json::read(&response)?;
    let results = match page.web {
        Some(web) => web.results,
        None if page.kind.as_deref() == Some("search") => Vec::new(),
        None => {
            let expected = "search results (web.results)";
            return Err(ProviderError::UnknownLayout { host: host_of(base), expected });
        }
    };
    let hit = |one: BraveResult| WebHit {
        title: text_of(&one.title),
        url: one.url,
        snippet: one.description.as_deref().map(text_of).unwrap_or_default(),
        date: one.page_age,
        source: one.profile.and_then(|profile| profile.name),
        provider: "brave",
    };
    Ok(ProviderResults { results: results.into_iter().map(hit).collect(), notes })
}
