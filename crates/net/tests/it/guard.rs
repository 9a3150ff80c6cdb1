//! Refusals and limits of the client.

use crate::server::{Reply, Server};
use docent_net::{
    Body, Client, FetchError, HostRule, Limits, Lookup, Policy, Refusal, Request, Response,
    Validators,
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
fn quick() -> Limits {
    let (connect, whole) = (Duration::from_millis(300), Duration::from_millis(600));
    Limits { connect, whole, ..bounded() }
}

/// Limits for other tests, with enough time for a busy machine.
fn bounded() -> Limits {
    Limits { body: 100_000, ..Limits::default() }
}

fn client(server: &Server) -> Client {
    Client::new(Policy::parse([server.rule().as_str()]).unwrap(), bounded())
}

fn get(client: &Client, url: &Url) -> Result<Response, FetchError> {
    client.get(url, &Validators::default())
}

/// Answers with the first list, then the second, and the last one from then on.
#[derive(Debug)]
struct Scripted {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let read = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(read).collect(), asked: AtomicUsize::new(0) })
    }
}

impl Lookup for Scripted {
    fn addresses(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let at = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        Ok(self.answers[at].iter().map(|address| SocketAddr::new(*address, port)).collect())
    }
}

#[test]
fn a_named_address_is_fetched_under_our_name_and_without_cookies() {
    let server = Server::start(|_| Reply::html("hello").with("set-cookie", "a=b; Path=/"));
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
    let server = Server::start(|_| Reply::html("secret"));
    let client = Client::new(Policy::parse(["docs.example.com"]).unwrap(), bounded());
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
    let server = Server::start(|_| Reply::html("secret"));
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
        let policy = Policy::parse([rule.as_str(), server.rule().as_str()]).unwrap();
        let client = Client::with_lookup(policy, bounded(), Scripted::new(&[addresses]));
        let error = get(&client, &url).unwrap_err();
        let refused = matches!(error, FetchError::Refused(Refusal::Inside { .. }));
        assert!(refused, "{addresses:?}: {error:?}");
        assert!(error.to_string().starts_with("docs.test resolves to "), "{error}");
    }
    assert!(server.asked().is_empty());
}

/// A client for which `docs.test` may resolve to this machine.
fn at_home(server: &Server, lookup: Arc<Scripted>) -> (Client, Url) {
    let rule = format!("docs.test:{}", server.address.port());
    let hosts = vec![HostRule::parse(&rule).unwrap().with_private()];
    let policy = Policy { hosts, ..Policy::default() };
    (
        Client::with_lookup(policy, bounded(), lookup),
        Url::parse(&format!("http://{rule}/")).unwrap(),
    )
}

#[test]
fn the_address_that_was_checked_is_the_one_that_is_reached() {
    let server = Server::start(|_| Reply::html("hello"));
    // docs.test does not exist: only the checked address can lead to the server.
    let lookup = Scripted::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let (client, url) = at_home(&server, Arc::clone(&lookup));
    assert_eq!(get(&client, &url).unwrap().body, b"hello");
    assert_eq!(lookup.asked.load(Ordering::SeqCst), 1, "a second lookup could answer otherwise");
    let host = format!("docs.test:{}", server.address.port());
    assert_eq!(server.asked()[0].header("host"), Some(host.as_str()));
    // The name has moved: even an open connection is no longer used.
    let error = get(&client, &url).unwrap_err();
    assert!(matches!(error, FetchError::Refused(Refusal::Inside { .. })), "{error:?}");
    assert!(server.asked().is_empty());
}

#[test]
fn a_lookup_without_an_end_ends() {
    #[derive(Debug)]
    struct Hangs;
    impl Lookup for Hangs {
        fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
            thread::sleep(Duration::from_secs(20));
            Ok(Vec::new())
        }
    }
    let policy = Policy::parse(["docs.test"]).unwrap();
    let client = Client::with_lookup(policy, quick(), Arc::new(Hangs));
    let error = get(&client, &Url::parse("http://docs.test/").unwrap()).unwrap_err();
    assert!(matches!(error, FetchError::TimedOut { .. }), "{error:?}");
    let none = Scripted::new(&[&[]]);
    let client = Client::with_lookup(client.policy().clone(), quick(), none);
    let error = get(&client, &Url::parse("http://docs.test/").unwrap()).unwrap_err();
    assert_eq!(error.told(), "cannot reach docs.test: host not found");
}

#[test]
fn every_redirect_is_checked() {
    let inside = Server::start(|_| Reply::html("secret"));
    let other = inside.address;
    let server = Server::start(move |asked| match asked.path.as_str() {
        "/port" => Reply::to(&format!("http://{other}/")),
        "/host" => Reply::to("http://localhost/"),
        "/odd" => Reply::to("http://0x7f.1/"),
        "/metadata" => Reply::to("http://169.254.169.254/latest/meta-data"),
        "/file" => Reply::to("file:///etc/passwd"),
        "/credentials" => Reply::to("//me:secret@127.0.0.1/"),
        "/deep" => Reply::to("/port"),
        path => panic!("{path}"),
    });
    let client = client(&server);
    for path in ["/port", "/host", "/odd", "/metadata", "/file", "/credentials", "/deep"] {
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(matches!(error, FetchError::Refused(_)), "{path}: {error:?}");
        assert!(!error.to_string().contains("secret"), "{path}: {error}");
    }
    assert!(inside.asked().is_empty());
}

#[test]
fn redirects_have_an_end() {
    let server = Server::start(|asked| match asked.path.trim_start_matches('/').parse::<u32>() {
        Ok(0) => Reply::html("end"),
        Ok(left) => Reply::to(&format!("/{}", left - 1)),
        Err(_) => Reply::to(&asked.path),
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
    let once = client.get_once(&server.url("/5"), &Validators::default()).unwrap();
    assert_eq!((once.status, once.redirect()), (301, Ok(Some(server.url("/4")))));
}

#[test]
fn a_redirect_writes_an_address_plainly() {
    let server = Server::start(|asked| match asked.path.as_str() {
        "/end" => Reply::html("secret"),
        place => Reply::to(place.trim_start_matches("/to?")),
    });
    let (client, port) = (client(&server), server.address.port());
    let plain = server.url(&format!("/to?//127.0.0.1:{port}/end"));
    assert_eq!(get(&client, &plain).unwrap().body, b"secret");
    for host in ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "%31%32%37.0.0.1"] {
        for place in [format!("//{host}:{port}/end"), format!("http://{host}:{port}/end")] {
            server.asked();
            let url = server.url(&format!("/to?{place}"));
            let error = get(&client, &url).unwrap_err();
            let refused = matches!(error, FetchError::Refused(Refusal::Notation { .. }));
            assert!(refused, "{place}: {error:?}");
            assert!(error.to_string().contains("write it as 127.0.0.1"), "{error}");
            let error = client.send(&Request::get(url), Body::First(10)).unwrap_err();
            assert!(matches!(error, FetchError::Refused(Refusal::Notation { .. })), "{error:?}");
            let asked = server.asked();
            assert_eq!(asked.len(), 2, "{place} was followed: {asked:?}");
        }
    }
}

#[test]
fn a_redirect_in_letters_that_are_not_encoded_is_followed_and_checked() {
    let server = Server::start(|asked| match asked.path.as_str() {
        "/wiki/K%C3%B6ln" => Reply::html("here"),
        "/path" => Reply::to("/wiki/Köln"),
        _ => {
            let host = asked.header("host").unwrap().replacen('1', "\u{ff11}", 1);
            Reply::to(&format!("//{host}/path"))
        }
    });
    let client = client(&server);
    assert_eq!(get(&client, &server.url("/path")).unwrap().body, b"here");
    server.asked();
    let error = get(&client, &server.url("/host")).unwrap_err();
    assert!(matches!(error, FetchError::Refused(Refusal::Notation { .. })), "{error:?}");
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
    let server = Server::start(|asked| match asked.path.as_str() {
        "/fits" => Reply::new(200).body(&vec![b'a'; 100_000]),
        "/sized" => Reply::new(200).body(&vec![b'a'; 100_001]),
        "/chunked" => Reply::new(200).body(&vec![b'a'; 1 << 20]).chunked(),
        "/bomb" => Reply::new(200).body(&bomb()).with("content-encoding", "gzip"),
        "/torn" => Reply::new(200).body(&bomb()[..500]).with("content-encoding", "gzip"),
        "/brotli" => Reply::new(200).body(b"x").with("content-encoding", "br"),
        _ => Reply::new(404).body(&vec![b'a'; 1 << 20]),
    });
    let client = client(&server);
    assert_eq!(get(&client, &server.url("/fits")).unwrap().body.len(), 100_000);
    for path in ["/sized", "/chunked", "/bomb"] {
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(matches!(error, FetchError::TooLarge { limit: 100_000, .. }), "{path}: {error:?}");
        let first = Body::First(1_000);
        let cut = client.get_body(&server.url(path), &Validators::default(), first).unwrap();
        assert_eq!(cut.body, vec![b'a'; 1_000], "{path}");
    }
    let large = Body::AtMost(2 << 20);
    let whole = client.get_body(&server.url("/bomb"), &Validators::default(), large).unwrap();
    assert_eq!(whole.body.len(), 1 << 20);
    get(&client, &server.url("/torn")).unwrap_err();
    let error = get(&client, &server.url("/brotli")).unwrap_err();
    assert!(matches!(error, FetchError::Garbled { .. }), "{error:?}");
    let missing = get(&client, &server.url("/missing")).unwrap();
    assert_eq!((missing.status, missing.body.len()), (404, 0));
}

#[test]
fn slow_answers_end_at_the_deadline() {
    let pause = Duration::from_millis(20);
    let server = Server::start(move |asked| match asked.path.as_str() {
        "/drip" => Reply::new(200).body(&[b'a'; 10_000]).drip(pause),
        "/packed" => Reply::new(200).body(&bomb()).with("content-encoding", "gzip").drip(pause),
        "/round" => Reply::to("/round").drip(Duration::from_millis(5)),
        _ => {
            thread::sleep(Duration::from_secs(20));
            Reply::new(200)
        }
    });
    let client = Client::new(client(&server).policy().clone(), quick());
    for path in ["/drip", "/packed", "/round", "/silent"] {
        let begun = Instant::now();
        let error = get(&client, &server.url(path)).unwrap_err();
        assert!(matches!(error, FetchError::TimedOut { .. }), "{path}: {error:?}");
        // Far from both the limit and what the server would take.
        assert!(begun.elapsed() < Duration::from_secs(10), "{path}");
    }
}

#[test]
fn validators_are_sent_back() {
    let server = Server::start(|asked| {
        let same = asked.header("if-none-match") == Some("\"1\"")
            && asked.header("if-modified-since") == Some("Wed, 21 Oct 2015 07:28:00 GMT");
        let reply = if same { Reply::new(304) } else { Reply::html("hello") };
        reply.with("etag", "\"1\"").with("last-modified", "Wed, 21 Oct 2015 07:28:00 GMT")
    });
    let client = client(&server);
    let first = get(&client, &server.url("/")).unwrap();
    let second = client.get(&server.url("/"), &first.validators()).unwrap();
    assert_eq!((first.status, second.status), (200, 304));
    let hostile = Validators { etag: Some("a\r\nx: y".to_owned()), last_modified: None };
    client.get(&server.url("/"), &hostile).unwrap_err();
    assert!(server.asked().iter().all(|asked| asked.header("x").is_none()));
}

#[test]
fn proxies_of_the_environment_are_not_asked() {
    const TARGET: &str = "DOCENT_NET_TEST_TARGET";
    if let Some(target) = std::env::var_os(TARGET) {
        let url = Url::parse(target.to_str().unwrap()).unwrap();
        let rule = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let client = Client::new(Policy::parse([rule.as_str()]).unwrap(), Limits::default());
        assert_eq!(get(&client, &url).unwrap().body, b"direct");
        return;
    }
    let server = Server::start(|_| Reply::html("direct"));
    let proxy = Server::start(|_| Reply::html("proxied"));
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
    let client = Client::new(Policy::parse([rule.as_str()]).unwrap(), bounded());
    let error = get(&client, &Url::parse(&format!("http://{address}/")).unwrap()).unwrap_err();
    assert!(error.is_passing(), "{error:?}");
    assert!(!log.lock().unwrap().is_empty());
}
