//! `SearXNG`: a self-hosted metasearch engine, which answers in JSON if its settings allow it.

use crate::{
    error::ProviderError,
    json,
    provider::{ProviderKey, join_path},
    query::WebQuery,
    search::{ProviderResults, WebHit, host_of},
};
use docent_net::{FetchRequest, GuardedClient};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

#[derive(Deserialize)]
struct SearxngResponse {
    results: Vec<SearxngResult>,
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

#[derive(Deserialize)]
struct SearxngResult {
    /// `None` for answers that are not pages.
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default, rename = "publishedDate")]
    published: Option<String>,
    #[serde(default)]
    engine: Option<String>,
}

pub(crate) fn ask(
    query: &WebQuery,
    base: &Url,
    key: Option<&ProviderKey>,
    client: &GuardedClient,
) -> Result<ProviderResults, ProviderError> {
    let mut url = join_path(base, "search");
    url.query_pairs_mut().append_pair("q", query.text()).append_pair("format", "json");
    if let Some(region) = &query.region {
        url.query_pairs_mut().append_pair("language", &region.locale());
    }
    if let Some(time) = query.time {
        url.query_pairs_mut().append_pair("time_range", time.word());
    }
    let mut request = FetchRequest::get(url);
    if let Some(key) = key {
        request = request.secret("authorization", format!("Bearer {}", key.expose()));
    }
    let response = json::send(request, client)?;
    let host = host_of(base);
    match response.status {
        200 => {}
        // From its proxy: an instance itself has no keys.
        401 if key.is_none() => return Err(ProviderError::KeyMissing { provider: "searxng" }),
        401 => {
            return Err(ProviderError::KeyRefused { host, provider: "searxng", status: 401 });
        }
        // A proxy may return this too.
        403 => return Err(ProviderError::JsonOff { host, has_key: key.is_some() }),
        _ => return Err(ProviderError::of_status(&host, &response)),
    }
    let page: SearxngResponse = json::read(&response)?;
    if page.results.is_empty() && !page.unresponsive_engines.is_empty() {
        return Err(ProviderError::EnginesFailed {
            host,
            engines: engine_names(&page.unresponsive_engines),
        });
    }
    let hit = |one: SearxngResult| WebHit {
        title: one.title.unwrap_or_default(),
        url: one.url.unwrap_or_default(),
        snippet: one.content.unwrap_or_default(),
        date: one.published,
        source: one.engine,
        provider: "searxng",
    };
    Ok(ProviderResults { results: page.results.into_iter().map(hit).collect(), notes: Vec::new() })
}

/// Formats `[["google", "timeout"], …]`.
fn engine_names(engines: &[Value]) -> String {
    let one = |engine: &Value| {
        let words = engine.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(": ")
    };
    let all: Vec<String> = engines.iter().take(10).map(one).collect();
    crate::text::truncate(&crate::text::fold(&all.join(", ")), 300)
}
