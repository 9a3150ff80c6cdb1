//! The Tavily search API.

use crate::{
    error::ProviderError,
    json,
    provider::{ProviderKey, join_path},
    query::WebQuery,
    search::{ProviderResults, WebHit},
};
use docent_net::{FetchRequest, GuardedClient};
use serde::Deserialize;
use serde_json::json;
use url::Url;

/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 400;

#[derive(Deserialize)]
struct TavilyResponse {
    results: Vec<TavilyResult>,
}

#[derive(Deserialize)]
struct TavilyResult {
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    published_date: Option<String>,
}

pub(crate) fn ask(
    query: &WebQuery,
    base: &Url,
    key: Option<&ProviderKey>,
    client: &GuardedClient,
) -> Result<ProviderResults, ProviderError> {
    let key = key.ok_or(ProviderError::KeyMissing { provider: "tavily" })?;
    if query.text().chars().count() > MAX_QUERY_CHARS {
        return Err(ProviderError::TooLong { provider: "tavily", most: "400 characters" });
    }
    let mut body = json!({
        "query": query.text(),
        "max_results": query.max_results(),
        "search_depth": "basic",
    });
    if let (Some(time), Some(members)) = (query.time, body.as_object_mut()) {
        members.insert("time_range".to_owned(), time.word().into());
    }
    let request = FetchRequest::post(
        join_path(base, "search"),
        "application/json",
        body.to_string().into_bytes(),
    )
    .secret("authorization", format!("Bearer {}", key.expose()));
    let response = json::send(request, client)?;
    json::keyed(&response, "tavily")?;
    let page: TavilyResponse = json::read(&response)?;
    let hit = |one: TavilyResult| WebHit {
        title: one.title.unwrap_or_default(),
        url: one.url,
        snippet: one.content.unwrap_or_default(),
        date: one.published_date,
        source: None,
        provider: "tavily",
    };
    let unheeded = query
        .region
        .as_ref()
        .map(|region| format!("tavily does not support regions; searched without {region}"));
    Ok(ProviderResults {
        results: page.results.into_iter().map(hit).collect(),
        notes: unheeded.into_iter().collect(),
    })
}
