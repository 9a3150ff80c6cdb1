//! Bodies over the limit, on real sockets: they are rejected before they arrive, and the response arrives.

use crate::fixture::{LIMIT, TestAccess, TestSite};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const ROUTES: [&str; 8] = [
    "POST /mcp",
    "POST /",
    "POST /message",
    "GET /sse",
    "GET /healthz",
    "PUT /mcp",
    "POST /nowhere",
    "DELETE /mcp",
];

struct SocketPeer(TcpStream);

impl SocketPeer {
    async fn connect(site: &TestSite) -> Self {
        Self(TcpStream::connect(("127.0.0.1", site.port)).await.unwrap())
    }

    async fn write(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// The head and the body of one response with a content length.
    async fn answer(&mut self) -> (String, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.byte().await.expect("closed before an answer"));
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).await.unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    /// The next byte; `None` at the end.
    async fn byte(&mut self) -> Option<u8> {
        // Generous: tests that there is a response, not how soon.
        let read = timeout(Duration::from_mins(1), self.0.read_u8()).await.expect("no answer");
        read.ok()
    }
}

fn head(route: &str, fields: &str) -> String {
    format!(
        "{route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{fields}\r\n\r\n"
    )
}

#[tokio::test]
async fn a_length_over_the_limit_is_refused_before_the_body_comes() {
    let site = TestSite::open(TestAccess::default()).await;
    for route in ROUTES {
        for length in [LIMIT + 1, LIMIT * 8, LIMIT * 8 + 1, 99_999_999_999] {
            for expects in ["", "\r\nExpect: 100-continue"] {
                let mut peer = SocketPeer::connect(&site).await;
                peer.write(&head(route, &format!("Content-Length: {length}{expects}"))).await;
                let (head, body) = peer.answer().await;
                let at = format!("{route} {length} {expects:?}: {head}");
                assert!(head.starts_with("http/1.1 413"), "{at}");
                assert!(body.contains("-32600") && body.contains(&LIMIT.to_string()), "{at}{body}");
                let closes = length > LIMIT * 8 || !expects.is_empty();
                assert_eq!(head.contains("connection: close"), closes, "{at}");
                if !expects.is_empty() {
                    assert_eq!(peer.byte().await, None, "{at}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_refused_body_may_still_be_sent_and_the_connection_serves_the_next_request() {
    let site = TestSite::open(TestAccess::default()).await;
    let chunk = "a".repeat(LIMIT);
    for fields in ["Content-Length", "Transfer-Encoding"] {
        let mut peer = SocketPeer::connect(&site).await;
        let (begin, rest) = if fields == "Content-Length" {
            (format!("Content-Length: {}", LIMIT * 4), chunk.repeat(4))
        } else {
            let chunks = format!("{LIMIT:x}\r\n{chunk}\r\n").repeat(3);
            ("Transfer-Encoding: chunked".to_owned(), format!("{chunks}0\r\n\r\n"))
        };
        peer.write(&head("POST /mcp", &begin)).await;
        let (first, second) = rest.split_at(LIMIT * 5 / 2);
        peer.write(first).await;
        let (answer, _) = peer.answer().await;
        assert!(answer.starts_with("http/1.1 413"), "{fields}: {answer}");
        assert!(!answer.contains("connection: close"), "{fields}: {answer}");
        peer.write(second).await;
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        peer.write(&head("POST /mcp", &format!("Content-Length: {}", ping.len()))).await;
        peer.write(ping).await;
        let (answer, body) = peer.answer().await;
        assert!(answer.starts_with("http/1.1 200"), "{fields}: {answer}");
        assert!(body.contains("\"result\""), "{fields}: {body}");
    }
}

#[tokio::test]
async fn an_unauthenticated_caller_gets_that_error_first() {
    let site = TestSite::open(TestAccess { token: Some("t"), ..TestAccess::default() }).await;
    let mut peer = SocketPeer::connect(&site).await;
    peer.write(&head("POST /mcp", "Content-Length: 99999999")).await;
    let (answer, _) = peer.answer().await;
    assert!(answer.starts_with("http/1.1 401"), "{answer}");
}
