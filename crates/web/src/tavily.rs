//! The Tavily search API.

use crate::{
    json,
    provider::{Key, below},
    query::Query,
    search::{Answered, Hit},
    trouble::Trouble,
};
use docent_net::{Client, Request};
use serde::Deserialize;
use serde_json::json;
use url::Url;

/// Maximum length of a query in characters.
const MOST_CHARACTERS: usize = 400;

#[derive(Deserialize)]
struct Page {
    results: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    published_date: Option<String>,
}

pub(crate) fn ask(
    query: &Query,
    base: &Url,
    key: Option<&Key>,
    client: &Client,
) -> Result<Answered, Trouble> {
    let key = key.ok_or(Trouble::KeyMissing { provider: "tavily" })?;
    if query.text().chars().count() > MOST_CHARACTERS {
        return Err(Trouble::TooLong { provider: "tavily", most: "400 characters" });
    }
    let mut body = json!({
        "query": query.text(),
        "max_results": query.max_results(),
        "search_depth": "basic",
    });
    if let (Some(time), Some(members)) = (query.time, body.as_object_mut()) {
        members.insert("time_range".to_owned(), time.word().into());
    }
    let request =
        Request::post(below(base, "search"), "application/json", body.to_string().into_bytes())
            .secret("authorization", format!("Bearer {}", key.expose()));
    let response = json::send(request, client)?;
    json::keyed(&response, "tavily")?;
    let page: Page = json::read(&response)?;
    let hit = |one: One| Hit {
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
    Ok(Answered {
        results: page.results.into_iter().map(hit).collect(),
        notes: unheeded.into_iter().collect(),
    })
}
