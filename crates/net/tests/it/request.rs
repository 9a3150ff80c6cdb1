//! Requests with a body or a key: they reach one URL only, and are never repeated in errors.

use crate::server::{CrawlerReply, CrawlerTestServer};
use docent_net::{
    BodyLimit, CacheValidators, FetchLimits, FetchRefusal, FetchRequest, GuardedClient,
    GuardedFetchError, NetworkPolicy,
};
use std::{
    thread,
    time::{Duration, Instant},
};

const KEY: &str = "hunter2-key";
const MAX_BODY: BodyLimit = BodyLimit::AtMost(1 << 16);

fn client(servers: &[&CrawlerTestServer]) -> GuardedClient {
    let rules: Vec<String> = servers.iter().map(|server| server.rule()).collect();
    GuardedClient::new(
        NetworkPolicy::parse(rules.iter().map(String::as_str)).unwrap(),
        FetchLimits::default(),
    )
}

#[test]
fn a_body_and_a_key_arrive_as_they_were_given() {
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("found"));
    let request = FetchRequest::post(server.url("/s"), "application/json", b"{\"q\":1}".to_vec())
        .accept("application/json")
        .secret("x-key", KEY);
    let answer = client(&[&server]).send(&request, MAX_BODY).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"found".as_slice()));
    let asked = server.asked();
    let [asked] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/s"));
    assert_eq!(asked.body, "{\"q\":1}");
    for (name, want) in [
        ("content-type", Some("application/json")),
        ("accept", Some("application/json")),
        ("x-key", Some(KEY)),
        ("cookie", None),
    ] {
        assert_eq!(asked.header(name), want, "{name}");
    }
}

/// The redirect target is allowed too: only the body or key prevents following it.
#[test]
fn what_a_request_carries_is_not_sent_on() {
    let other = CrawlerTestServer::start(|_| CrawlerReply::html("thanks for the key"));
    for status in [301, 302, 303, 307, 308] {
        let place = other.url("/take").to_string();
        let server =
            CrawlerTestServer::start(move |_| CrawlerReply::new(status).with("location", &place));
        let client = client(&[&server, &other]);
        let keyed = FetchRequest::get(server.url("/")).secret("x-key", KEY);
        let posted = FetchRequest::post(server.url("/"), "text/plain", b"mine".to_vec());
        for request in [keyed, posted] {
            let error = client.send(&request, MAX_BODY).unwrap_err();
            let refused =
                matches!(error, GuardedFetchError::Refused(FetchRefusal::Forwarded { .. }));
            assert!(refused, "{status}: {error:?}");
            assert!(!format!("{error} {error:?}").contains(KEY));
        }
        let again = FetchRequest::post(server.url("/"), "text/plain", Vec::new());
        let message = client.send(&again, MAX_BODY).unwrap_err().to_string();
        assert!(message.contains("is not forwarded"), "{message}");
    }
    assert!(other.asked().is_empty(), "nothing was sent on");
}

#[test]
fn a_request_that_carries_nothing_follows_redirects_that_the_policy_allows() {
    let other = CrawlerTestServer::start(|_| CrawlerReply::html("here"));
    let place = other.url("/b").to_string();
    let server = CrawlerTestServer::start(move |_| CrawlerReply::to(&place));
    let request = FetchRequest::get(server.url("/a")).accept("text/html");
    let answer = client(&[&server, &other]).send(&request, MAX_BODY).unwrap();
    assert_eq!(answer.url, other.url("/b"));
    let error = client(&[&server]).send(&request, MAX_BODY).unwrap_err();
    let refused = matches!(error, GuardedFetchError::Refused(FetchRefusal::NotNamed { .. }));
    assert!(refused, "{error:?}");
    assert_eq!(other.paths(), ["/b"]);
}

#[test]
fn a_key_goes_only_to_allowed_hosts_and_is_not_shown() {
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("x"));
    let request =
        FetchRequest::get(server.url("/")).secret("authorization", format!("Bearer {KEY}"));
    let none = GuardedClient::new(NetworkPolicy::default(), FetchLimits::default());
    let error = none.send(&request, MAX_BODY).unwrap_err();
    assert!(
        matches!(error, GuardedFetchError::Refused(FetchRefusal::NotNamed { .. })),
        "{error:?}"
    );
    assert!(!format!("{request:?} {error} {error:?}").contains(KEY));
    assert!(server.asked().is_empty());
    let gone = CrawlerTestServer::start(|_| CrawlerReply::new(500).drip(Duration::from_hours(1)));
    let limits = FetchLimits { total: Duration::from_millis(300), ..FetchLimits::default() };
    let client = GuardedClient::new(NetworkPolicy::parse([gone.rule().as_str()]).unwrap(), limits);
    let request = FetchRequest::get(gone.url("/")).secret("x-key", KEY);
    let error = client.send(&request, MAX_BODY).unwrap_err();
    assert!(matches!(error, GuardedFetchError::TimedOut { .. }), "{error:?}");
    assert!(!format!("{error} {error:?} {client:?}").contains(KEY));
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let server =
        CrawlerTestServer::start(|_| CrawlerReply::new(200).body(&vec![b'a'; 2000]).chunked());
    let request = FetchRequest::post(server.url("/"), "text/plain", Vec::new());
    let error = client(&[&server]).send(&request, BodyLimit::AtMost(1000)).unwrap_err();
    assert!(matches!(error, GuardedFetchError::TooLarge { .. }), "{error:?}");
}

#[test]
fn nothing_is_asked_after_the_caller_s_time_is_up() {
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("late"));
    let client = client(&[&server]).until(Instant::now());
    let asked = client.send(&FetchRequest::get(server.url("/")), MAX_BODY);
    assert!(matches!(asked, Err(GuardedFetchError::TimedOut { .. })), "{asked:?}");
    let asked = client.get(&server.url("/"), &CacheValidators::default());
    assert!(matches!(asked, Err(GuardedFetchError::TimedOut { .. })), "{asked:?}");
    // A later deadline does not extend an earlier one.
    let asked = client
        .until(Instant::now() + Duration::from_mins(1))
        .get(&server.url("/"), &CacheValidators::default());
    assert!(matches!(asked, Err(GuardedFetchError::TimedOut { .. })), "{asked:?}");
    assert!(server.asked().is_empty());
}

/// The deadline is shared by all requests of the caller.
#[test]
fn requests_of_one_caller_share_the_time() {
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("late"));
    let at = Instant::now() + Duration::from_millis(50);
    let client = client(&[&server]).until(at);
    thread::sleep(at.saturating_duration_since(Instant::now()));
    let asked = client.send(&FetchRequest::get(server.url("/")), MAX_BODY);
    assert!(matches!(asked, Err(GuardedFetchError::TimedOut { .. })), "{asked:?}");
    assert!(server.asked().is_empty());
}
