//! Which hosts and origins a request may name.

use crate::fixture::{TestAccess, TestSite};

/// The status of a request with one more header.
async fn status(site: &TestSite, head: &str, headers: &[(&str, &str)]) -> u16 {
    site.send(head, headers, "").await.0
}

#[tokio::test]
async fn a_host_that_can_be_read_in_two_ways_is_refused() {
    let site = TestSite::open(TestAccess::default()).await;
    let port = site.port;
    let own = format!("127.0.0.1:{port}");
    let userinfo = format!("127.0.0.1:{port}@evil.example");
    for host in
        ["localhost", "LOCALHOST:1", "[::1]", "10.1.2.3", "Docent.Example", "docent.example:81"]
    {
        assert_eq!(status(&site, "GET /healthz", &[("Host", host)]).await, 200, "{host}");
    }
    for host in [
        &*userinfo,
        "[::ffff:8.8.8.8]",
        "[::ffff:127.0.0.1]",
        "[::8.8.8.8]",
        "[::1].evil.example",
        "[::1]evil.example",
        "localhost.",
        "localhost:",
        "localhost:0x50",
        "localhost@evil.example",
        "localhost.evil.example",
        "docent.example.",
        "docent.example.evil.example",
        "evil.example#docent.example",
        "localhost, evil.example",
        "127.1",
        "2130706433",
        "",
    ] {
        for route in ["GET /healthz", "POST /mcp", "GET /sse", "GET /ws", "OPTIONS /mcp"] {
            assert_eq!(status(&site, route, &[("Host", host)]).await, 403, "{route} {host:?}");
        }
    }
    for (target, host, want) in [
        (format!("http://{own}/healthz"), own.clone(), 200),
        ("http://evil.example/healthz".into(), own.clone(), 403),
        (format!("http://{userinfo}/healthz"), own.clone(), 403),
        (format!("http://{own}/healthz"), "localhost".into(), 403),
        (format!("http://{own}/healthz"), "evil.example".into(), 403),
        ("http://[::ffff:127.0.0.1]/healthz".into(), "[::ffff:127.0.0.1]".into(), 403),
    ] {
        let got = status(&site, &format!("GET {target}"), &[("Host", &host)]).await;
        assert_eq!(got, want, "{target} {host}");
    }
    let twice = [("Host", &*own), ("Host", &*own)];
    assert!(matches!(status(&site, "GET /healthz", &twice).await, 400 | 403));
}

#[tokio::test]
async fn an_origin_is_read_as_strictly_as_a_host() {
    let site = TestSite::open(TestAccess::default()).await;
    let port = site.port;
    let host = format!("127.0.0.1:{port}");
    for (host, origin, want) in [
        (&*host, format!("http://127.0.0.1:{port}"), 200),
        (&host, format!("HTTP://127.0.0.1:{port}"), 200),
        ("localhost", "http://localhost".into(), 200),
        ("localhost:80", "http://LOCALHOST".into(), 200),
        (&host, "https://app.example".into(), 200),
        (&host, "https://APP.example:443".into(), 200),
        (&host, "https://app.example:8443".into(), 403),
        (&host, "http://app.example".into(), 403),
        (&host, "https://app.example.evil.example".into(), 403),
        (&host, "https://app.example.".into(), 403),
        (&host, "https://app.example@evil.example".into(), 403),
        (&host, "null".into(), 403),
        (&host, "http://127.0.0.1".into(), 403),
        (&host, format!("ftp://127.0.0.1:{port}"), 403),
        (&host, format!("http://127.0.0.1:{port}@evil.example"), 403),
        (&host, format!("http://127.0.0.1:{port}/"), 403),
        (&host, format!("http://127.0.0.1:{port}, http://evil.example"), 403),
        (&host, format!("http://[::ffff:127.0.0.1]:{port}"), 403),
        ("[::1]", "http://[::1].evil.example".into(), 403),
        ("localhost", "http://localhost.".into(), 403),
    ] {
        let headers = [("Host", host), ("Origin", &origin)];
        for route in ["GET /healthz", "OPTIONS /mcp"] {
            let want = if want == 200 && route.starts_with("OPTIONS") { 204 } else { want };
            assert_eq!(status(&site, route, &headers).await, want, "{route} {host} {origin}");
        }
    }
}
