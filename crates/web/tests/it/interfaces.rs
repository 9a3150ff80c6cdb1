//! Providers with JSON APIs.

use crate::{
    client,
    server::{ProviderReply, ProviderRequest, ProviderTestServer},
};
use docent_net::{FetchLimits, GuardedClient, HostRule, NetworkPolicy};
use docent_web::{ProviderKey, Recency, Region, SearchProvider, WebQuery, search};
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    time::{Duration, Instant},
};
use url::Url;

const KEY: &str = "hunter2-key";

fn json_reply(value: &Value) -> ProviderReply {
    ProviderReply::new(200)
        .with("content-type", "application/json")
        .body(value.to_string().as_bytes())
}

fn provider(name: &str, server: &ProviderTestServer) -> SearchProvider {
    let (base, key) = (server.url("/base/"), ProviderKey::parse(KEY));
    match name {
        "searxng" => SearchProvider::SearXng { base, key },
        "brave" => SearchProvider::Brave { base, key },
        _ => SearchProvider::Tavily { base, key },
    }
}

/// The result of a provider for a response: the hits, or the error.
fn asked(
    name: &str,
    reply: ProviderReply,
) -> (Result<Vec<docent_web::WebHit>, String>, ProviderRequest) {
    let server = ProviderTestServer::start(move |_| reply.clone());
    let query = WebQuery::parse("lamp & oil", 3)
        .unwrap()
        .region(Region::parse("uk-en").unwrap())
        .time(Some(Recency::Month));
    let provider = provider(name, &server);
    let found = search(&query, &[provider], &client(&[&server]), &|| false);
    if let Err(error) = &found {
        let message = format!("{error} {error:?}");
        assert!(!message.contains(KEY), "{message}");
    }
    let found = found.map(|found| found.results).map_err(|error| error.to_string());
    (found, server.asked().remove(0))
}

#[test]
fn each_is_asked_in_its_own_way() {
    let (_, searxng) = asked("searxng", ProviderReply::new(500));
    assert_eq!(
        searxng.path,
        "/base/search?q=lamp+%26+oil&format=json&language=en-GB&time_range=month"
    );
    assert_eq!(searxng.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let (_, brave) = asked("brave", ProviderReply::new(500));
    assert_eq!(
        brave.path,
        "/base/res/v1/web/search?q=lamp+%26+oil&count=3&text_decorations=false&result_filter=web&country=GB&freshness=pm"
    );
    assert_eq!(brave.header("x-subscription-token"), Some(KEY));
    let (_, tavily) = asked("tavily", ProviderReply::new(500));
    assert_eq!((tavily.method.as_str(), tavily.path.as_str()), ("POST", "/base/search"));
    assert_eq!(tavily.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let body: Value = serde_json::from_str(&tavily.body).unwrap();
    assert_eq!(
        body,
        json!({"query": "lamp & oil", "max_results": 3, "search_depth": "basic", "time_range": "month"})
    );
    for request in [&searxng, &brave, &tavily] {
        assert_eq!(request.header("accept"), Some("application/json"));
    }
    assert!(!searxng.path.contains(KEY) && !brave.path.contains(KEY));
}

#[test]
fn an_unsupported_region_is_dropped_and_reported() {
    let page = json!({"type": "search", "results": []});
    let server = ProviderTestServer::start(move |_| json_reply(&page));
    for (name, region, country, note) in [
        ("brave", "de-de", Some("country=DE"), None),
        (
            "brave",
            "is-is",
            None,
            Some("brave does not support the country IS; searched without is-is"),
        ),
        ("tavily", "de-de", None, Some("tavily does not support regions; searched without de-de")),
    ] {
        let query = WebQuery::parse("x", 1).unwrap().region(Region::parse(region).unwrap());
        let provider = provider(name, &server);
        let found = search(&query, &[provider], &client(&[&server]), &|| false).unwrap();
        assert_eq!(found.notes.first().map(String::as_str), note, "{name} {region}");
        let path = server.paths().remove(0);
        let sent = path.split('&').find(|pair| pair.starts_with("country="));
        assert_eq!(sent, country, "{name} {region}");
    }
}

#[test]
fn answers_are_read() {
    let hit = json!({"url": "https://a.test/?utm_source=x", "title": "A <b> &amp;", "content": "Vec<T>\nis",
                     "engine": "bing", "publishedDate": "2025-01-01", "published_date": "2025-01-01"});
    for (name, page, title) in [
        (
            "searxng",
            json!({"results": [{"url": null, "title": "sum"}, {}, hit], "unresponsive_engines": [["x", "timeout"]]}),
            "A <b> &amp;",
        ),
        ("tavily", json!({"results": [hit], "answer": null}), "A <b> &amp;"),
    ] {
        let results = asked(name, json_reply(&page)).0.unwrap();
        assert_eq!(results[0].title, title, "{name}: plain text stays as it is");
        assert_eq!(results[0].url, "https://a.test/");
        assert_eq!(results[0].snippet, "Vec<T> is");
        assert_eq!(results[0].date.as_deref(), Some("2025-01-01"));
        assert_eq!(results[0].provider, name);
    }
    let hit = json!({"url": "https://a.test/", "title": "A &amp; <strong>b</strong>", "description": "it&#x27;s",
                     "page_age": "2025-01-01T00:00:00", "profile": {"name": "Site"}});
    let page = json!({"type": "search", "web": {"results": [hit]}});
    let results = asked("brave", json_reply(&page)).0.unwrap();
    assert_eq!((results[0].title.as_str(), results[0].snippet.as_str()), ("A & b", "it's"));
    assert_eq!(results[0].source.as_deref(), Some("Site"));
}

#[test]
fn no_results_differ_from_failures() {
    for (name, page, want) in [
        ("searxng", json!({"results": []}), Ok(0)),
        (
            "searxng",
            json!({"results": [], "unresponsive_engines": [["bing", "timeout"]]}),
            Err("bing: timeout"),
        ),
        ("searxng", json!({"results": [{"url": null}]}), Err("unknown layout")),
        ("searxng", json!({}), Err("sent an invalid JSON response")),
        ("brave", json!({"type": "search", "query": {}}), Ok(0)),
        ("brave", json!({"type": "ErrorResponse"}), Err("unknown layout")),
        ("brave", json!({}), Err("unknown layout")),
        ("brave", json!([]), Err("unknown layout")),
        ("brave", json!(1), Err("sent an invalid JSON response")),
        ("tavily", json!({"results": []}), Ok(0)),
        ("tavily", json!({"detail": "x"}), Err("sent an invalid JSON response")),
        ("tavily", json!({"results": [{"url": "ftp://a.test/"}]}), Err("with a usable URL")),
    ] {
        let got = asked(name, json_reply(&page)).0.map(|results| results.len());
        match (&got, want) {
            (Ok(count), Ok(want)) if *count == want => {}
            (Err(message), Err(part)) if message.contains(part) => {}
            _ => panic!("{name} {page}: {got:?}, not {want:?}"),
        }
    }
}

#[test]
fn each_failure_says_what_to_do() {
    let deep = "[".repeat(100_000);
    let long = json!({"results": "x ".repeat(100_000)});
    for (name, reply, want) in [
        ("searxng", ProviderReply::new(401), "rejected the searxng key (status 401)"),
        (
            "searxng",
            ProviderReply::new(403),
            "add json to search.formats in its settings.yml and restart it, or set a key that its proxy accepts",
        ),
        ("searxng", ProviderReply::new(429), "rate limiting"),
        ("searxng", ProviderReply::html("<html>"), "sent an invalid JSON response"),
        ("searxng", ProviderReply::new(200).body(deep.as_bytes()), "sent an invalid JSON response"),
        ("searxng", ProviderReply::new(200), "sent an invalid JSON response"),
        ("searxng", json_reply(&long), "x… (application/json)"),
        ("brave", json_reply(&json!({"web": long})), "x… (application/json)"),
        ("brave", ProviderReply::new(401), "rejected the brave key (status 401)"),
        ("brave", ProviderReply::new(422), "rejected the brave key (status 422)"),
        ("brave", ProviderReply::new(429).with("retry-after", "1"), "retry after 1 s"),
        ("tavily", ProviderReply::new(401), "rejected the tavily key"),
        ("tavily", ProviderReply::new(422), "returned status 422"),
        ("tavily", ProviderReply::new(432), "the quota of this key"),
        ("tavily", ProviderReply::new(503), "status 503"),
        (
            "searxng",
            ProviderReply::to("https://elsewhere.test/"),
            "to https://elsewhere.test, which is not followed; set its URL",
        ),
        (
            "brave",
            ProviderReply::to("https://elsewhere.test/"),
            "to https://elsewhere.test, which is not followed; set its URL",
        ),
        (
            "tavily",
            ProviderReply::to("https://elsewhere.test/"),
            "to https://elsewhere.test, which is not followed; set its URL",
        ),
    ] {
        let message = asked(name, reply).0.unwrap_err();
        assert!(message.contains(want) && message.len() < 1000, "{name}: {message:.1000}");
    }
}

#[test]
fn an_instance_without_a_key_is_sent_none_and_one_in_the_open_is_sent_no_key() {
    let page = json!({"results": [{"url": "https://a.test/", "title": "A"}]});
    let server = ProviderTestServer::start(move |asked| match asked.path.as_str() {
        path if path.starts_with("/closed/") => ProviderReply::new(401),
        path if path.starts_with("/shut/") => ProviderReply::new(403),
        _ => json_reply(&page),
    });
    let query = WebQuery::parse("x", 1).unwrap();
    let of = |path: &str| SearchProvider::SearXng { base: server.url(path), key: None };
    let found = search(&query, &[of("/")], &client(&[&server]), &|| false).unwrap();
    assert_eq!(found.results.len(), 1);
    assert_eq!(server.asked().remove(0).header("authorization"), None);
    let message = search(&query, &[of("/closed/")], &client(&[&server]), &|| false).unwrap_err();
    assert!(message.to_string().contains("searxng requires a key"), "{message}");
    let message = search(&query, &[of("/shut/")], &client(&[&server]), &|| false).unwrap_err();
    assert!(message.to_string().ends_with("settings.yml and restart it"), "{message}");
    server.asked();
    // Even if allowed: unencrypted data to another machine can be intercepted.
    let port = server.address.port();
    let rule = HostRule::parse(&format!("localhost:{port}")).unwrap().with_private();
    let policy = NetworkPolicy { hosts: vec![rule], ..NetworkPolicy::default() };
    let open = GuardedClient::new(policy, FetchLimits::default());
    let base = Url::parse(&format!("http://localhost:{port}/")).unwrap();
    let providers = [SearchProvider::SearXng { base, key: ProviderKey::parse(KEY) }];
    let message = search(&query, &providers, &open, &|| false).unwrap_err().to_string();
    assert!(message.contains("without encryption"), "{message}");
    assert!(server.asked().is_empty());
}

#[test]
fn the_next_provider_is_asked_and_all_failures_are_kept() {
    let challenge = ProviderReply::html("<html><div class=anomaly-modal__mask></div></html>");
    let duck = ProviderTestServer::start(move |_| challenge.clone());
    let page = json!({"results": [{"url": "https://a.test/", "title": "A"}]});
    let searxng = ProviderTestServer::start(move |_| json_reply(&page));
    let providers = [
        SearchProvider::DuckDuckGo { html: duck.url("/html/"), lite: duck.url("/lite/") },
        SearchProvider::Brave { base: duck.url("/"), key: None },
        provider("searxng", &searxng),
    ];
    let query = WebQuery::parse("x", 1).unwrap();
    let found = search(&query, &providers, &client(&[&duck, &searxng]), &|| false).unwrap();
    assert_eq!((found.provider, found.results.len()), ("searxng", 1));
    let who: Vec<&str> = found.failures.iter().map(|failure| failure.provider).collect();
    assert_eq!(who, ["duckduckgo", "duckduckgo", "brave"]);
    assert_eq!(duck.paths(), ["/html/", "/lite/"]);
}

#[test]
fn a_provider_that_never_answers_leaves_the_next_one_its_time() {
    let page = json!({"results": [{"url": "https://a.test/", "title": "A"}]});
    let searxng = ProviderTestServer::start(move |_| json_reply(&page));
    // Connections are established but never accepted.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = Url::parse(&format!("http://{}/", silent.local_addr().unwrap())).unwrap();
    let rules = [searxng.rule(), format!("{}:{}", base.host_str().unwrap(), base.port().unwrap())];
    let policy = NetworkPolicy::parse(rules.iter().map(String::as_str)).unwrap();
    let client = GuardedClient::new(policy, FetchLimits::default());
    let client = client.until(Instant::now() + Duration::from_secs(4));
    let providers = [SearchProvider::SearXng { base, key: None }, provider("searxng", &searxng)];
    let query = WebQuery::parse("x", 1).unwrap();
    let found = search(&query, &providers, &client, &|| false).unwrap();
    assert_eq!((found.results.len(), found.failures.len()), (1, 1));
}

#[test]
fn a_key_is_not_sent_on_even_to_a_host_that_is_named() {
    let other = ProviderTestServer::start(|_| ProviderReply::html("thanks"));
    let place = other.url("/").to_string();
    let server =
        ProviderTestServer::start(move |_| ProviderReply::new(307).with("location", &place));
    let query = WebQuery::parse("x", 1).unwrap();
    for name in ["brave", "tavily"] {
        let provider = provider(name, &server);
        search(&query, &[provider], &client(&[&server, &other]), &|| false).unwrap_err();
    }
    assert!(other.asked().is_empty());
}

#[test]
fn without_a_key_nothing_is_asked() {
    let server = ProviderTestServer::start(|_| ProviderReply::new(500));
    let query = WebQuery::parse("x", 1).unwrap();
    let base = || server.url("/");
    for provider in [
        SearchProvider::Brave { base: base(), key: None },
        SearchProvider::Tavily { base: base(), key: None },
    ] {
        let name = provider.name();
        let message = search(&query, &[provider], &client(&[&server]), &|| false).unwrap_err();
        assert!(message.to_string().contains(&format!("{name} requires a key")), "{message}");
    }
    let long = WebQuery::parse(&"word ".repeat(51), 1).unwrap();
    let brave = provider("brave", &server);
    let message = search(&long, &[brave], &client(&[&server]), &|| false).unwrap_err().to_string();
    assert!(message.contains("at most 400 characters and 50 words"), "{message}");
    assert!(server.asked().is_empty());
}

#[test]
fn a_key_is_sent_only_encrypted() {
    let base = Url::parse("http://api.example.test/").unwrap();
    let provider = SearchProvider::Brave { base, key: ProviderKey::parse(KEY) };
    let policy = NetworkPolicy::parse(["api.example.test"]).unwrap();
    let client = GuardedClient::new(policy, FetchLimits::default());
    let query = WebQuery::parse("x", 1).unwrap();
    let message = search(&query, &[provider], &client, &|| false).unwrap_err().to_string();
    assert!(message.contains("without encryption"), "{message}");
}
