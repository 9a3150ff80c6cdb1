//! The crawler respects the wishes of a site.

use crate::{
    crawl::{Fixture, ServedPages, chain, counts},
    server::{CrawlerReply, CrawlerTestServer},
};
use docent_net::{CrawlEnd, CrawlError, FetchLimits, GuardedClient, NetworkPolicy, RobotsCache};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

#[test]
fn robots_txt_is_obeyed() {
    let pages = chain();
    pages.set("/robots.txt", CrawlerReply::new(200).body(b"User-agent: *\nDisallow: /docs/b"));
    pages.set("/docs/a", CrawlerReply::to("b.html"));
    let fixture = Fixture::new(pages.serve());
    let crawled = fixture.crawl();
    assert_eq!(counts(&crawled), [1, 0, 0, 1, 0, 1], "{crawled:?}");
    assert!(crawled.problems[0].reason.contains("robots.txt"), "{crawled:?}");
    assert_eq!(fixture.server.paths(), ["/robots.txt", "/docs/", "/docs/a"]);
    pages.set("/robots.txt", CrawlerReply::new(200).body(b"User-agent: docent\nDisallow: /"));
    assert_eq!(counts(&fixture.crawl()), [0, 0, 0, 1, 0, 0]);
    assert_eq!(fixture.server.paths(), ["/robots.txt"]);
    assert!(fixture.stored_files().is_empty(), "what the site takes back is not kept");
}

#[test]
fn the_status_of_robots_txt_decides() {
    for (status, allowed) in [
        (404, true),
        (410, true),
        (401, true),
        (403, true),
        (429, false),
        (500, false),
        (503, false),
    ] {
        let pages = chain();
        let fixture = Fixture::new(pages.serve());
        fixture.crawl();
        pages.set("/robots.txt", CrawlerReply::new(status));
        fixture.server.asked();
        let crawled = fixture.crawl_into(&mut fixture.shelf());
        match &crawled {
            Ok(_) => assert!(allowed, "{status}"),
            Err(CrawlError::Robots(_)) => {
                assert!(!allowed, "{status}");
                assert_eq!(fixture.server.paths(), ["/robots.txt"]);
            }
            Err(other) => panic!("{status}: {other}"),
        }
        assert_eq!(fixture.stored_files().len(), 3, "{status}: pages stay");
    }
}

#[test]
fn robots_txt_is_asked_for_once_a_host_and_read_to_500_kb() {
    let server = CrawlerTestServer::start(|_| {
        let mut text = b"User-agent: *\nDisallow: /a\n".to_vec();
        text.extend(b"# padding\n".repeat(100_000));
        text.extend(b"Disallow: /b\n");
        CrawlerReply::new(200).body(&text)
    });
    let policy = NetworkPolicy::parse([server.rule().as_str()]).unwrap();
    let client = GuardedClient::new(policy, FetchLimits::default());
    let mut cache = RobotsCache::default();
    for (path, want) in [("/a", false), ("/b", true), ("/c", true)] {
        let url = server.url(path);
        assert_eq!(cache.rules(&client, &url).unwrap().allows(&url), want, "{path}");
    }
    assert_eq!(server.paths(), ["/robots.txt"]);
}

#[test]
fn pages_say_what_they_want() {
    let pages = ServedPages::new([
        (
            "/docs/",
            CrawlerReply::html(
                "<a href=1><a href=2><a href=3><a href=4><a href=5><a rel=nofollow href=no>",
            ),
        ),
        ("/docs/1", CrawlerReply::html("<meta name=robots content=noindex><a href=from1>")),
        ("/docs/from1", CrawlerReply::html("from1")),
        ("/docs/2", CrawlerReply::html("<meta name=robots content=nofollow><a href=no>")),
        ("/docs/3", CrawlerReply::html("3").with("x-robots-tag", "noindex")),
        ("/docs/4", CrawlerReply::html("4").with("x-robots-tag", "otherbot: noindex")),
        ("/docs/5", CrawlerReply::html("5 <a href=no>").with("x-robots-tag", "docent: none")),
        ("/docs/no", CrawlerReply::html("no")),
    ]);
    let fixture = Fixture::new(pages.serve());
    assert_eq!(counts(&fixture.crawl()), [4, 0, 0, 0, 0, 3]);
    assert_eq!(fixture.stored_files(), ["/docs/", "/docs/2", "/docs/4", "/docs/from1"]);
    assert!(!fixture.server.paths().contains(&"/docs/no".to_owned()));
}

#[test]
fn canonical_places_are_kept_instead() {
    let to = |text: &str, place: &str| {
        CrawlerReply::html(&format!("{text} <link rel=canonical href='{place}'>"))
    };
    let pages = ServedPages::new([
        (
            "/docs/",
            CrawlerReply::html("<a href=copy><a href=self><a href=outside><a href=x><a href=shut>"),
        ),
        ("/docs/shut", to("shut", "/docs/secret")),
        ("/robots.txt", CrawlerReply::new(200).body(b"User-agent: *\nDisallow: /docs/secret")),
        ("/docs/copy", to("copy", "/docs/real")),
        ("/docs/real", to("real", "/docs/real")),
        ("/docs/self", to("self", "self#top")),
        ("/docs/outside", to("outside", "/stable/outside")),
        ("/docs/x", to("x", "y")),
        ("/docs/y", to("y", "x")),
    ]);
    let fixture = Fixture::new(pages.serve());
    fixture.crawl();
    assert_eq!(
        fixture.stored_files(),
        ["/docs/", "/docs/outside", "/docs/real", "/docs/self", "/docs/shut", "/docs/y"]
    );
}

/// A server whose pages fail a number of times before they succeed.
fn shaky(
    times: usize,
    fail: impl Fn() -> CrawlerReply + Send + Sync + 'static,
) -> CrawlerTestServer {
    let asked = AtomicUsize::new(0);
    CrawlerTestServer::start(move |request| match request.path.as_str() {
        "/robots.txt" => CrawlerReply::new(404),
        _ if asked.fetch_add(1, Ordering::SeqCst) < times => fail(),
        path => CrawlerReply::html(path),
    })
}

#[test]
fn busy_sites_are_asked_again() {
    for (times, status, want, requests) in [
        (1, 429, [1, 0, 0, 0, 0, 0], 2),
        (2, 503, [1, 0, 0, 0, 0, 0], 3),
        (3, 503, [0, 0, 0, 0, 1, 0], 3),
        (1, 500, [0, 0, 0, 0, 1, 0], 1),
    ] {
        let fixture =
            Fixture::new(shaky(times, move || CrawlerReply::new(status).with("retry-after", "0")));
        let crawled = fixture.crawl();
        assert_eq!(counts(&crawled), want, "{status} {times}: {crawled:?}");
        assert_eq!(fixture.server.asked().len(), requests + 1, "{status} {times}");
    }
}

#[test]
fn a_site_that_asks_for_a_long_pause_is_left_alone() {
    let fixture = Fixture::new(shaky(1, || CrawlerReply::new(503).with("retry-after", "86400")));
    let crawled = fixture.crawl();
    assert_eq!((crawled.end, fixture.server.asked().len()), (CrawlEnd::GaveUp, 2));
    assert!(crawled.problems[0].reason.contains("retry after 86400 s"), "{crawled:?}");
    let later = fixture.crawl();
    assert_eq!((later.end, counts(&later)), (CrawlEnd::Complete, [1, 0, 0, 0, 0, 0]));
}

#[test]
fn a_site_that_fails_ten_times_in_a_row_is_given_up() {
    let links: Vec<String> = (0..50).map(|number| format!("<a href='{number}'>")).collect();
    let pages = ServedPages::new([("/docs/", CrawlerReply::html(&links.concat()))]);
    for number in 0..50 {
        pages.set(&format!("/docs/{number}"), CrawlerReply::new(500));
    }
    pages.set("/docs/4", CrawlerReply::html("4"));
    let fixture = Fixture::new(pages.serve());
    let crawled = fixture.crawl();
    assert_eq!(crawled.end, CrawlEnd::GaveUp);
    // robots.txt, the first page, four failures, a page, ten failures.
    assert_eq!(fixture.server.asked().len(), 2 + 4 + 1 + 10);
    let message = crawled.problems.last().unwrap();
    assert!(message.reason.contains("10 requests in a row failed"), "{message:?}");
    for number in 0..50 {
        pages.set(&format!("/docs/{number}"), CrawlerReply::html(&number.to_string()));
    }
    let later = fixture.crawl();
    assert_eq!((later.end, later.fetched), (CrawlEnd::Complete, 51), "{later:?}");
}

#[test]
fn requests_keep_their_distance() {
    let pages = chain();
    let mut fixture = Fixture::new(pages.serve());
    fixture.site.delay = Duration::from_millis(40);
    let begun = std::time::Instant::now();
    fixture.crawl();
    // Sleeps are never shorter than requested: one pause before each of three pages.
    assert!(begun.elapsed() >= Duration::from_millis(120));
}
