//! Refusals and limits of the client.

use crate::server::{CrawlerReply, CrawlerTestServer};
use docent_net::{
    AddressLookup, BodyLimit, CacheValidators, FetchLimits, FetchRefusal, FetchRequest,
    FetchResponse, GuardedClient, GuardedFetchError, HostRule, NetworkPolicy,
};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use url::Url;

/// Limits for tests in which time runs out.
fn quick_limits() -> FetchLimits {
    let (connect, whole) = (Duration::from_millis(300), Duration::from_millis(600));
    FetchLimits { connect, total: whole, ..bounded_limits() }
}

/// Limits for other tests, with enough time for a busy machine.
fn bounded_limits() -> FetchLimits {
    FetchLimits { body: 100_000, ..FetchLimits::default() }
}

fn client(server: &CrawlerTestServer) -> GuardedClient {
    GuardedClient::new(NetworkPolicy::parse([server.rule().as_str()]).unwrap(), bounded_limits())
}

fn get(client: &GuardedClient, url: &Url) -> Result<FetchResponse, GuardedFetchError> {
    client.get(url, &CacheValidators::default())
}

/// Answers with the first list, then the second, and the last one from then on.
#[derive(Debug)]
struct ScriptedLookup {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl ScriptedLookup {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let read = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(read).collect(), asked: AtomicUsize::new(0) })
    }
}

impl AddressLookup for ScriptedLookup {
    fn addresses(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let at = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        Ok(self.answers[at].iter().map(|address| SocketAddr::new(*address, port)).collect())
    }
}

#[test]
fn a_named_address_is_fetched_under_our_name_and_without_cookies() {
    let server =
        CrawlerTestServer::start(|_| CrawlerReply::html("hello").with("set-cookie", "a=b; Path=/"));
    let client = client(&server);
    for _ in 0..2 {
        let answer = get(&client, &server.url("/a?b=c")).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, b"hello".as_slice()));
        assert_eq!(answer.media_type().as_deref(), Some("text/html"));
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert_eq!(request.path, "/a?b=c");
        let own = format!("docent/{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(request.header("user-agent"), Some(own.as_str()));
        assert_eq!(request.header("cookie"), None);
        assert_eq!(request.header("accept-encoding"), Some("gzip"));
    }
}

#[test]
fn what_is_not_named_is_not_asked() {
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("secret"));
    let client =
        GuardedClient::new(NetworkPolicy::parse(["docs.example.com"]).unwrap(), bounded_limits());
    let message = get(&client, &server.url("/")).unwrap_err().to_string();
    let want = format!(
        "the policy does not allow {}; add it to policy.network.hosts in ~/.config/docent/docent.toml",
        server.address
    );
    assert_eq!(message, want);
    assert!(server.asked().is_empty());
}

#[test]
fn names_that_lead_inside_are_refused() {
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("secret"));
    let port = server.address.port();
    let url = Url::parse(&format!("http://docs.test:{port}/")).unwrap();
    for addresses in [
        &["127.0.0.1"][..],
        &["93.184.216.34", "127.0.0.1"],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["0.0.0.0"],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["fd00::1"],
        &["100.64.0.1"],
    ] {
        let rule = format!("docs.test:{port}");
        // Allowing the address does not allow names that resolve to it.
        let policy = NetworkPolicy::parse([rule.as_str(), server.rule().as_str()]).unwrap();
        let client =
            GuardedClient::with_lookup(policy, bounded_limits(), ScriptedLookup::new(&[addresses]));
        let error = get(&client, &url).unwrap_err();
        let refused = matches!(error, GuardedFetchError::Refused(FetchRefusal::Inside { .. }));
        assert!(refused, "{addresses:?}: {error:?}");
        assert!(error.to_string().starts_with("docs.test resolves to "), "{error}");
    }
    assert!(server.asked().is_empty());
}

/// A client for which `docs.test` may resolve to this machine.
fn at_home(server: &CrawlerTestServer, lookup: Arc<ScriptedLookup>) -> (GuardedClient, Url) {
    let rule = format!("docs.test:{}", server.address.port());
    let hosts = vec![HostRule::parse(&rule).unwrap().with_private()];
    let policy = NetworkPolicy { hosts, ..NetworkPolicy::default() };
    (
        GuardedClient::with_lookup(policy, bounded_limits(), lookup),
        Url::parse(&format!("http://{rule}/")).unwrap(),
    )
}

#[test]
fn the_address_that_was_checked_is_the_one_that_is_reached() {
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("hello"));
    // docs.test does not exist: only the checked address can lead to the server.
    let lookup = ScriptedLookup::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let (client, url) = at_home(&server, Arc::clone(&lookup));
    assert_eq!(get(&client, &url).unwrap().body, b"hello");
    assert_eq!(lookup.asked.load(Ordering::SeqCst), 1, "a second lookup could answer otherwise");
    let host = format!("docs.test:{}", server.address.port());
    assert_eq!(server.asked()[0].header("host"), Some(host.as_str()));
    // The name has moved: even an open connection is no longer used.
    let error = get(&client, &url).unwrap_err();
    assert!(matches!(error, GuardedFetchError::Refused(FetchRefusal::Inside { .. })), "{error:?}");
    assert!(server.asked().is_empty());
}

#[test]
fn a_lookup_without_an_end_ends() {
    #[derive(Debug)]
    struct HangingLookup;
    impl AddressLookup for HangingLookup {
        fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
            thread::sleep(Duration::from_secs(20));
            Ok(Vec::new())
        }
    }
    let policy = NetworkPolicy::parse(["docs.test"]).unwrap();
    let client = GuardedClient::with_lookup(policy, quick_limits(), Arc::new(HangingLookup));
    let error = get(&client, &Url::parse("http://docs.test/").unwrap()).unwrap_err();
    assert!(matches!(error, GuardedFetchError::TimedOut { .. }), "{error:?}");
    let none = ScriptedLookup::new(&[&[]]);
    let client = GuardedClient::with_lookup(client.policy().clone(), quick_limits(), none);
    let error = get(&client, &Url::parse("http://docs.test/").unwrap()).unwrap_err();
    assert_eq!(error.to_chain(), "cannot reach docs.test: host not found");
}

#[test]
fn every_redirect_is_checked() {
    let inside = CrawlerTestServer::start(|_| CrawlerReply::html("secret"));
    let other = inside.address;
    let server = CrawlerTestServer::start(move |asked| match asked.path.as_str() {
        "/port" => CrawlerReply::to(&format!("http://{other}/")),
        "/host" => CrawlerReply::to("http://localhost/"),
        "/odd" => CrawlerReply::to("http://0x7f.1/"),
        "/metadata" => CrawlerReply::to("http://169.254.169.254/latest/meta-data"),
        "/file" => CrawlerReply::to("file:///etc/passwd"),
        "/credentials" => CrawlerReply::to("//me:secret@127.0.0.1/"),
        "/deep" => CrawlerReply::to("/port"),
        path => panic!("{path}"),
    });
    let client = client(&server);
    for path in ["/port", "/host", "/odd", "/metadata", "/file", "/credentials", "/deep"] {
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(matches!(error, GuardedFetchError::Refused(_)), "{path}: {error:?}");
        assert!(!error.to_string().contains("secret"), "{path}: {error}");
    }
    assert!(inside.asked().is_empty());
}

#[test]
fn redirects_have_an_end() {
    let server =
        CrawlerTestServer::start(|asked| match asked.path.trim_start_matches('/').parse::<u32>() {
            Ok(0) => CrawlerReply::html("end"),
            Ok(left) => CrawlerReply::to(&format!("/{}", left - 1)),
            Err(_) => CrawlerReply::to(&asked.path),
        });
    let client = client(&server);
    let answer = get(&client, &server.url("/5")).unwrap();
    assert_eq!((answer.url, answer.body.as_slice()), (server.url("/0"), b"end".as_slice()));
    for path in ["/6", "/loop"] {
        server.asked();
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(error.to_string().contains("redirects more than 5 times"), "{error}");
        assert_eq!(server.asked().len(), 6, "{path}");
    }
    let once = client.get_once(&server.url("/5"), &CacheValidators::default()).unwrap();
    assert_eq!((once.status, once.redirect()), (301, Ok(Some(server.url("/4")))));
}

#[test]
fn a_redirect_writes_an_address_plainly() {
    let server = CrawlerTestServer::start(|asked| match asked.path.as_str() {
        "/end" => CrawlerReply::html("secret"),
        place => CrawlerReply::to(place.trim_start_matches("/to?")),
    });
    let (client, port) = (client(&server), server.address.port());
    let plain = server.url(&format!("/to?//127.0.0.1:{port}/end"));
    assert_eq!(get(&client, &plain).unwrap().body, b"secret");
    for host in ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "%31%32%37.0.0.1"] {
        for place in [format!("//{host}:{port}/end"), format!("http://{host}:{port}/end")] {
            server.asked();
            let url = server.url(&format!("/to?{place}"));
            let error = get(&client, &url).unwrap_err();
            let refused =
                matches!(error, GuardedFetchError::Refused(FetchRefusal::Notation { .. }));
            assert!(refused, "{place}: {error:?}");
            assert!(error.to_string().contains("write it as 127.0.0.1"), "{error}");
            let error = client.send(&FetchRequest::get(url), BodyLimit::First(10)).unwrap_err();
            assert!(
                matches!(error, GuardedFetchError::Refused(FetchRefusal::Notation { .. })),
                "{error:?}"
            );
            let asked = server.asked();
            assert_eq!(asked.len(), 2, "{place} was followed: {asked:?}");
        }
    }
}

#[test]
fn a_redirect_in_letters_that_are_not_encoded_is_followed_and_checked() {
    let server = CrawlerTestServer::start(|asked| match asked.path.as_str() {
        "/wiki/K%C3%B6ln" => CrawlerReply::html("here"),
        "/path" => CrawlerReply::to("/wiki/Köln"),
        _ => {
            let host = asked.header("host").unwrap().replacen('1', "\u{ff11}", 1);
            CrawlerReply::to(&format!("//{host}/path"))
        }
    });
    let client = client(&server);
    assert_eq!(get(&client, &server.url("/path")).unwrap().body, b"here");
    server.asked();
    let error = get(&client, &server.url("/host")).unwrap_err();
    assert!(
        matches!(error, GuardedFetchError::Refused(FetchRefusal::Notation { .. })),
        "{error:?}"
    );
    assert_eq!(server.paths(), ["/host"]);
}

/// A megabyte in about a thousand bytes.
fn bomb() -> Vec<u8> {
    use io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&vec![b'a'; 1 << 20]).unwrap();
    packer.finish().unwrap()
}

#[test]
fn answers_are_bounded_packed_and_unpacked() {
    let server = CrawlerTestServer::start(|asked| match asked.path.as_str() {
        "/fits" => CrawlerReply::new(200).body(&vec![b'a'; 100_000]),
        "/sized" => CrawlerReply::new(200).body(&vec![b'a'; 100_001]),
        "/chunked" => CrawlerReply::new(200).body(&vec![b'a'; 1 << 20]).chunked(),
        "/bomb" => CrawlerReply::new(200).body(&bomb()).with("content-encoding", "gzip"),
        "/torn" => CrawlerReply::new(200).body(&bomb()[..500]).with("content-encoding", "gzip"),
        "/brotli" => CrawlerReply::new(200).body(b"x").with("content-encoding", "br"),
        _ => CrawlerReply::new(404).body(&vec![b'a'; 1 << 20]),
    });
    let client = client(&server);
    assert_eq!(get(&client, &server.url("/fits")).unwrap().body.len(), 100_000);
    for path in ["/sized", "/chunked", "/bomb"] {
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(
            matches!(error, GuardedFetchError::TooLarge { limit: 100_000, .. }),
            "{path}: {error:?}"
        );
        let first = BodyLimit::First(1_000);
        let cut = client.get_body(&server.url(path), &CacheValidators::default(), first).unwrap();
        assert_eq!(cut.body, vec![b'a'; 1_000], "{path}");
    }
    let large = BodyLimit::AtMost(2 << 20);
    let whole = client.get_body(&server.url("/bomb"), &CacheValidators::default(), large).unwrap();
    assert_eq!(whole.body.len(), 1 << 20);
    get(&client, &server.url("/torn")).unwrap_err();
    let error = get(&client, &server.url("/brotli")).unwrap_err();
    assert!(matches!(error, GuardedFetchError::Garbled { .. }), "{error:?}");
    let missing = get(&client, &server.url("/missing")).unwrap();
    assert_eq!((missing.status, missing.body.len()), (404, 0));
}

#[test]
fn slow_answers_end_at_the_deadline() {
    let pause = Duration::from_millis(20);
    let server = CrawlerTestServer::start(move |asked| match asked.path.as_str() {
        "/drip" => CrawlerReply::new(200).body(&[b'a'; 10_000]).drip(pause),
        "/packed" => {
            CrawlerReply::new(200).body(&bomb()).with("content-encoding", "gzip").drip(pause)
        }
        "/round" => CrawlerReply::to("/round").drip(Duration::from_millis(5)),
        _ => {
            thread::sleep(Duration::from_secs(20));
            CrawlerReply::new(200)
        }
    });
    let client = GuardedClient::new(client(&server).policy().clone(), quick_limits());
    for path in ["/drip", "/packed", "/round", "/silent"] {
        let begun = Instant::now();
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(matches!(error, GuardedFetchError::TimedOut { .. }), "{path}: {error:?}");
        // Far from both the limit and what the server would take.
        assert!(begun.elapsed() < Duration::from_secs(10), "{path}");
    }
}

#[test]
fn validators_are_sent_back() {
    let server = CrawlerTestServer::start(|asked| {
        let same = asked.header("if-none-match") == Some("\"1\"")
            && asked.header("if-modified-since") == Some("Wed, 21 Oct 2015 07:28:00 GMT");
        let reply = if same { CrawlerReply::new(304) } else { CrawlerReply::html("hello") };
        reply.with("etag", "\"1\"").with("last-modified", "Wed, 21 Oct 2015 07:28:00 GMT")
    });
    let client = client(&server);
    let first = get(&client, &server.url("/")).unwrap();
    let second = client.get(&server.url("/"), &first.validators()).unwrap();
    assert_eq!((first.status, second.status), (200, 304));
    let hostile = CacheValidators { etag: Some("a\r\nx: y".to_owned()), last_modified: None };
    client.get(&server.url("/"), &hostile).unwrap_err();
    assert!(server.asked().iter().all(|asked| asked.header("x").is_none()));
}

#[test]
fn proxies_of_the_environment_are_not_asked() {
    const TARGET: &str = "DOCENT_NET_TEST_TARGET";
    if let Some(target) = std::env::var_os(TARGET) {
        let url = Url::parse(target.to_str().unwrap()).unwrap();
        let rule = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let client = GuardedClient::new(
            NetworkPolicy::parse([rule.as_str()]).unwrap(),
            FetchLimits::default(),
        );
        assert_eq!(get(&client, &url).unwrap().body, b"direct");
        return;
    }
    let server = CrawlerTestServer::start(|_| CrawlerReply::html("direct"));
    let proxy = CrawlerTestServer::start(|_| CrawlerReply::html("proxied"));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "guard::proxies_of_the_environment_are_not_asked"]);
    child.env(TARGET, server.url("/").as_str());
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        child.env(name, format!("http://{}", proxy.address));
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(proxy.asked().is_empty());
    assert_eq!(server.paths(), ["/"]);
}

#[test]
fn a_connection_that_breaks_is_a_failure_that_may_pass() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::clone(&log);
    thread::spawn(move || {
        for stream in listener.incoming() {
            seen.lock().unwrap().push(stream.is_ok());
        }
    });
    let rule = address.to_string();
    let client =
        GuardedClient::new(NetworkPolicy::parse([rule.as_str()]).unwrap(), bounded_limits());
    let error = get(&client, &Url::parse(&format!("http://{address}/")).unwrap()).unwrap_err();
    assert!(error.is_passing(), "{error:?}");
    assert!(!log.lock().unwrap().is_empty());
}
