//! Responses of search providers: results are plain, bounded and can be opened, and no error reveals the key.
#![no_main]

mod answer;

use answer::{SITE, is_plain};
use docent_net::Url;
use docent_web::{ProviderKey, SearchProvider, WebQuery, search};
use libfuzzer_sys::fuzz_target;

const KEY: &str = "hunter2hunter2";

fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first() else { return };
    let base = Url::parse(SITE).expect("a URL");
    let key = ProviderKey::parse(KEY);
    let provider = match how & 3 {
        0 => SearchProvider::DuckDuckGo { html: base.clone(), lite: base },
        1 => SearchProvider::SearXng { base, key },
        2 => SearchProvider::Brave { base, key },
        _ => SearchProvider::Tavily { base, key },
    };
    let client = match (how >> 2) & 3 {
        0 => answer::raw(rest.to_vec()),
        1 => answer::body(202, "text/html", rest),
        _ => answer::body(200, "application/json", rest),
    };
    let query = WebQuery::parse("oil lamp", 5).expect("a query");
    match search(&query, &[provider], &client, &|| false) {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && text.len() < 10_000 && !text.contains(KEY), "{text}");
        }
        Ok(found) => {
            assert!(found.results.len() <= 5);
            for hit in &found.results {
                let url = Url::parse(&hit.url).expect("an address");
                assert!(matches!(url.scheme(), "http" | "https") && hit.url.len() <= 2000);
                assert!(!hit.title.is_empty() && is_plain(&hit.title, 300), "{hit:?}");
                assert!(is_plain(&hit.snippet, 1000), "{hit:?}");
                let facts = hit.date.iter().chain(&hit.source);
                assert!(facts.into_iter().all(|fact| is_plain(fact, 300)), "{hit:?}");
            }
        }
    }
});
