//! `DuckDuckGo`'s result pages, and its pages for blocked clients.

use crate::{
    client, client_with,
    server::{ProviderReply, ProviderRequest, ProviderTestServer},
};
use docent_net::{FetchLimits, GuardedFetchError, NetworkPolicy};
use docent_web::{
    ProviderError, Recency, Region, SearchError, SearchProvider, WebQuery, WebSearchResults, search,
};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

const HTML: &str = include_str!("../pages/duckduckgo-html.html");
const HTML_NONE: &str = include_str!("../pages/duckduckgo-html-none.html");
const LITE: &str = include_str!("../pages/duckduckgo-lite.html");
const LITE_NONE: &str = include_str!("../pages/duckduckgo-lite-none.html");
const CHALLENGE: &str = include_str!("../pages/duckduckgo-challenge.html");

fn query() -> WebQuery {
    WebQuery::parse("lamp oil", 5).unwrap()
}

fn duck(server: &ProviderTestServer) -> SearchProvider {
    SearchProvider::DuckDuckGo { html: server.url("/html/"), lite: server.url("/lite/") }
}

fn accepted_reply(body: &str) -> ProviderReply {
    ProviderReply::new(202).with("content-type", "text/html").body(body.as_bytes())
}

/// A server with these two pages.
fn serve_pages(html: ProviderReply, lite: ProviderReply) -> ProviderTestServer {
    ProviderTestServer::start(move |asked: &ProviderRequest| match asked.path.as_str() {
        "/html/" => html.clone(),
        "/lite/" => lite.clone(),
        _ => ProviderReply::new(500),
    })
}

fn ask(
    html: ProviderReply,
    lite: ProviderReply,
) -> (Result<WebSearchResults, SearchError>, Vec<ProviderRequest>) {
    let server = serve_pages(html, lite);
    let found = search(&query(), &[duck(&server)], &client(&[&server]), &|| false);
    (found, server.asked())
}

fn titles(found: &WebSearchResults) -> Vec<&str> {
    found.results.iter().map(|hit| hit.title.as_str()).collect()
}

#[test]
fn the_html_page_is_read() {
    let (found, asked) = ask(ProviderReply::html(HTML), ProviderReply::new(500));
    let found = found.unwrap();
    assert_eq!(titles(&found), ["Oil lamp & oil - Encyclopedia", "Öllampe – Größe"]);
    let first = &found.results[0];
    assert_eq!(first.url, "https://encyclopedia.test/wiki/Lamp_(oil)");
    assert_eq!(first.snippet, "An oil lamp burns oil; it's <old>.");
    assert_eq!(first.source.as_deref(), Some("encyclopedia.test/wiki/Lamp_(oil)"));
    assert_eq!(first.date.as_deref(), Some("2025-11-25T00:00:00.0000000"));
    assert_eq!((first.provider, found.provider), ("duckduckgo", "duckduckgo"));
    let second = &found.results[1];
    assert_eq!(
        (second.url.as_str(), second.snippet.as_str()),
        ("https://plain.test/no-wrapper", "")
    );
    assert!(found.failures.is_empty());
    let paths: Vec<&str> = asked.iter().map(|asked| asked.path.as_str()).collect();
    assert_eq!(paths, ["/html/"]);
    assert_eq!(asked[0].method, "POST");
}

#[test]
fn the_lite_page_is_read_when_the_other_fails_and_the_failure_is_kept() {
    for (html, message) in [
        (ProviderReply::new(500), "status 500"),
        (ProviderReply::new(403), "status 403"),
        (accepted_reply(""), "202 Accepted"),
        (accepted_reply("<html><body>wait</body></html>"), "202 Accepted"),
        (accepted_reply(CHALLENGE), "requires a bot check"),
        (ProviderReply::html(CHALLENGE), "requires a bot check"),
        (ProviderReply::html("<html><body><div class=new>x</div></body></html>"), "unknown layout"),
        (
            ProviderReply::html("<html><body><div id=links class=results>"),
            "is truncated before any result",
        ),
        (ProviderReply::html(" \n"), "empty page"),
        (ProviderReply::to("http://127.0.0.1:9/"), "redirects this search to http://127.0.0.1"),
    ] {
        let (found, asked) = ask(html, ProviderReply::html(LITE));
        let found = found.unwrap();
        assert_eq!(titles(&found), ["Oil lamp & oil", "Plain"], "{message}");
        let first = &found.results[0];
        assert_eq!(first.url, "https://encyclopedia.test/wiki/Lamp");
        assert_eq!(first.snippet, "An oil lamp burns oil.");
        assert_eq!(first.date.as_deref(), Some("2025-11-25T00:00:00.0000000"));
        assert_eq!(
            found.results[1].snippet, "",
            "an advertisement's words are not its neighbour's"
        );
        let failures: Vec<String> = found.failures.iter().map(ToString::to_string).collect();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].contains(message), "{message}: {failures:?}");
        assert_eq!(asked.len(), 2, "{message}");
    }
}

#[test]
fn nothing_found_is_an_answer_only_where_the_page_says_so() {
    let (found, asked) = ask(ProviderReply::html(HTML_NONE), ProviderReply::html(LITE));
    assert!(found.unwrap().results.is_empty());
    assert_eq!(asked.len(), 1, "it is an answer: no other provider is tried");
    let (found, _) = ask(ProviderReply::new(500), ProviderReply::html(LITE_NONE));
    assert!(found.unwrap().results.is_empty());
    let adverts = HTML.split("<div class=\"result results_links results_links_deep web-result \">");
    let only_adverts = format!("{}</body></html>", adverts.take(1).collect::<String>());
    for (name, page) in [
        ("no layout", "<html><body><p>Hello</p></body></html>".to_owned()),
        ("adverts alone", only_adverts),
        ("links to nowhere", "<a class=result__a href='javascript:x()'>x</a></html>".to_owned()),
        (
            "a link that can't be read beside the sign",
            "<a class=result__a href='//duckduckgo.com/l/?rut=0f'>x</a><p>No results.</p></html>"
                .to_owned(),
        ),
        (
            "the sign in a script",
            "<html><title>No results.</title><script>No results.</script></html>".to_owned(),
        ),
    ] {
        let (found, _) = ask(ProviderReply::html(&page), ProviderReply::html(&page));
        let Err(SearchError::Failed(failures)) = found else { panic!("{name}: {found:?}") };
        let unknown = |failure: &docent_web::ProviderFailure| {
            matches!(failure.error, ProviderError::UnknownLayout { .. })
        };
        assert!(failures.iter().all(unknown), "{name}: {failures:?}");
        assert_eq!(failures.len(), 2, "{name}");
    }
}

#[test]
fn a_search_that_is_sent_on_says_what_to_do() {
    let server =
        serve_pages(ProviderReply::to("https://elsewhere.test/"), ProviderReply::html(LITE));
    for (text, want) in [
        ("lamp oil!", "which is not followed; set its URL"),
        ("lamp !oil", "remove words that start with `!`, or set its URL"),
    ] {
        let query = WebQuery::parse(text, 5).unwrap();
        let found = search(&query, &[duck(&server)], &client(&[&server]), &|| false).unwrap();
        let message = found.failures[0].to_string();
        assert!(message.contains(want), "{text}: {message}");
    }
}

#[test]
fn a_page_cut_in_the_middle_gives_what_is_whole_of_it() {
    let (start, _) = HTML.split_once("Öllampe").unwrap();
    let (found, _) = ask(ProviderReply::html(start), ProviderReply::new(500));
    assert_eq!(titles(&found.unwrap()), ["Oil lamp & oil - Encyclopedia"]);
    for at in (0..HTML.len()).step_by(97) {
        let Some(start) = HTML.get(..at) else { continue };
        let (found, _) = ask(ProviderReply::html(start), ProviderReply::new(500));
        if let Ok(found) = found {
            assert!(!found.results.is_empty(), "an empty success, cut at {at}");
        }
    }
}

#[test]
fn a_service_that_asks_for_rest_is_not_asked_again() {
    let (found, asked) =
        ask(ProviderReply::new(429).with("retry-after", "70"), ProviderReply::html(LITE));
    let Err(SearchError::Failed(failures)) = found else { panic!("{found:?}") };
    let rate = |trouble: &ProviderError| match trouble {
        ProviderError::RateLimited { retry_after, .. } => *retry_after,
        other => panic!("{other:?}"),
    };
    assert_eq!(rate(&failures[0].error), Some(Duration::from_secs(70)));
    assert!(failures[0].to_string().contains("retry after 70 s"), "{}", failures[0]);
    assert_eq!((failures.len(), asked.len()), (1, 1));
}

#[test]
fn the_form_carries_the_words_the_region_and_the_time() {
    let server = serve_pages(ProviderReply::html(HTML), ProviderReply::new(500));
    let query = WebQuery::parse("a&kl=x größe +1", 1)
        .unwrap()
        .region(Region::parse("de-de").unwrap())
        .time(Some(Recency::Week));
    let found = search(&query, &[duck(&server)], &client(&[&server]), &|| false).unwrap();
    assert_eq!(found.results.len(), 1);
    let asked = server.asked();
    assert_eq!(asked[0].body, "q=a%26kl%3Dx+gr%C3%B6%C3%9Fe+%2B1&b=&kl=de-de&df=w");
    let form = Some("application/x-www-form-urlencoded");
    assert_eq!(asked[0].header("content-type"), form);
    assert_eq!(asked[0].header("cookie"), None);
}

#[test]
fn every_failure_is_reported_if_no_provider_answers() {
    let (found, _) = ask(accepted_reply(CHALLENGE), ProviderReply::new(403));
    let message = found.unwrap_err().to_string();
    for part in ["no provider answered", "bot check", "configure another provider", "status 403"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let Err(none) = search(&query(), &[], &client(&[]), &|| false) else { panic!("no provider") };
    assert!(none.to_string().contains("no search provider is configured"));
}

#[test]
fn the_network_is_off_until_the_policy_names_the_hosts() {
    let provider = SearchProvider::duckduckgo().unwrap();
    let off = docent_net::GuardedClient::new(NetworkPolicy::default(), FetchLimits::default());
    let message = search(&query(), std::slice::from_ref(&provider), &off, &|| false);
    let message = message.unwrap_err().to_string();
    for part in [
        "the network is off",
        "~/.config/docent/docent.toml",
        "[policy.network]\nhosts = [\"html.duckduckgo.com\", \"lite.duckduckgo.com\"]",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let server = serve_pages(ProviderReply::html(HTML), ProviderReply::new(500));
    let message = search(&query(), &[provider, duck(&server)], &off, &|| false).unwrap_err();
    let SearchError::NotAllowed { is_off: true, hosts, .. } = &message else {
        panic!("{message:?}")
    };
    assert_eq!(hosts.len(), 3, "each host once: {hosts:?}");
    assert!(server.asked().is_empty());
}

#[test]
fn a_provider_that_is_not_allowed_is_reported_beside_one_that_answers() {
    let server = serve_pages(ProviderReply::html(HTML), ProviderReply::new(500));
    let providers = [SearchProvider::duckduckgo().unwrap(), duck(&server)];
    let found = search(&query(), &providers, &client(&[&server]), &|| false).unwrap();
    assert_eq!(found.results.len(), 2);
    let message: Vec<String> = found.failures.iter().map(ToString::to_string).collect();
    assert!(message[0].contains("adds \"html.duckduckgo.com\" to the list"), "{message:?}");
}

#[test]
fn a_provider_that_is_not_named_takes_none_of_the_time() {
    let server =
        ProviderTestServer::start(|_| ProviderReply::html("<html>").drip(Duration::from_hours(1)));
    let silent = || SearchProvider::SearXng { base: server.url("/"), key: None };
    let not_named = || SearchProvider::duckduckgo().unwrap();
    let whole = Duration::from_millis(600);
    let client = client_with(&[&server], FetchLimits { total: whole, ..FetchLimits::default() });
    let providers = [not_named(), silent(), not_named(), not_named()];
    let Err(SearchError::Failed(failures)) = search(&query(), &providers, &client, &|| false)
    else {
        panic!("no provider answers");
    };
    let had = failures.iter().find_map(|failure| match &failure.error {
        ProviderError::TimedOut(GuardedFetchError::TimedOut { limit, .. }) => Some(*limit),
        _ => None,
    });
    // The failure shows the time limit, not a measured time.
    assert!(had.is_some_and(|had| had > whole / 2), "{had:?}: {failures:?}");
}

#[test]
fn bombs_endless_and_slow_pages_are_bounded() {
    let bomb = {
        use std::io::Write as _;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&vec![b'a'; 16 << 20]).unwrap();
        packer.finish().unwrap()
    };
    let packed = ProviderReply::new(200).with("content-encoding", "gzip").body(&bomb);
    let endless = ProviderReply::new(200).body(&vec![b'a'; 3 << 20]).chunked();
    let slow = ProviderReply::html("<html>").drip(Duration::from_hours(1));
    for (name, reply, want) in [
        ("bomb", packed, "the limit of 2097152 bytes"),
        ("endless", endless, "the limit of 2097152 bytes"),
        ("slow", slow, "did not send a complete response"),
    ] {
        let server = serve_pages(reply.clone(), reply);
        // Only the slow one runs out of time; the others have enough time on a busy machine.
        let whole =
            if name == "slow" { Duration::from_millis(300) } else { Duration::from_mins(1) };
        let client =
            client_with(&[&server], FetchLimits { total: whole, ..FetchLimits::default() });
        let error = search(&query(), &[duck(&server)], &client, &|| false).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(want), "{name}: {message}");
    }
}

#[test]
fn no_further_provider_is_tried_once_the_caller_is_gone() {
    let server = serve_pages(ProviderReply::new(500), ProviderReply::html(LITE));
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::SeqCst) > 0;
    let found = search(&query(), &[duck(&server)], &client(&[&server]), &stop);
    assert!(matches!(found, Err(SearchError::Stopped)), "{found:?}");
    assert_eq!(server.paths(), ["/html/"]);
}
