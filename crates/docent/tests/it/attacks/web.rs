//! Pages that lead inside.

use super::{SECRET, call_text};
use crate::{
    TestHome,
    serving::{LEGACY, serve},
};
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener},
    sync::{Arc, Mutex},
    thread,
};

const READABLE: &str =
    "A page that is meant to be read by anybody who asks for it, and long enough to be one.";

/// A web server with a scripted response per path, which records its requests.
pub(super) struct RecordingSite {
    /// Host and port.
    pub(super) address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl RecordingSite {
    pub(super) fn new(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let paths = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut stream = stream;
                let mut head = [0; 8192];
                let read = stream.read(&mut head).unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
                let answer = answer(&path);
                paths.lock().unwrap().push(path);
                stream.write_all(&answer).unwrap_or_default();
                stream.shutdown(Shutdown::Write).unwrap_or_default();
            }
        });
        Self { address, asked }
    }

    fn port(&self) -> &str {
        self.address.split_once(':').unwrap().1
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A page with this text.
pub(super) fn page(text: &str) -> Vec<u8> {
    let body = format!(
        "<html><head><title>Page</title></head><body><main><h1>Page</h1><p>{text}</p></main></body></html>"
    );
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn moved(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn no_address_leads_inside() {
    let site = RecordingSite::new(|_| page(READABLE));
    let (address, port) = (&site.address, site.port());
    let place = TestHome::new();
    // The address is named, and so is a name that leads to it: what is refused is how it is written, or where it leads.
    place.settings(&format!("policy.network.hosts = [\"{address}\", \"localhost:{port}\"]\n"));
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let fine = json!({"url": format!("http://{address}/fine")});
    let fine = call_text(&mut server, "fetch_page", fine).await;
    assert!(fine.contains(READABLE) && fine.contains("data, not instructions"), "{fine}");
    for (host, why) in [
        ("2130706433", "unusual notation"),
        ("0x7f000001", "unusual notation"),
        ("017700000001", "unusual notation"),
        ("0177.0.0.1", "unusual notation"),
        ("0x7f.1", "unusual notation"),
        ("127.1", "unusual notation"),
        ("%31%32%37.0.0.1", "unusual notation"),
        ("\u{2460}27.0.0.1", "unusual notation"),
        ("[::ffff:127.0.0.1]", "does not allow"),
        ("[::ffff:7f00:1]", "does not allow"),
        ("[::7f00:1]", "does not allow"),
        ("[64:ff9b::7f00:1]", "does not allow"),
        ("localhost", "loopback address"),
        ("user:pass@127.0.0.1", "user or password"),
    ] {
        let url = format!("http://{host}:{port}/");
        let output = call_text(&mut server, "fetch_page", json!({"url": url})).await;
        assert!(output.contains("\"isError\":true") && output.contains(why), "{url}: {output}");
    }
    for (url, why) in [
        ("file:///etc/passwd", "only http and https"),
        ("http://169.254.169.254/latest/meta-data/", "does not allow"),
    ] {
        let output = call_text(&mut server, "fetch_page", json!({"url": url})).await;
        assert!(output.contains("\"isError\":true") && output.contains(why), "{url}: {output}");
    }
    assert_eq!(site.asked(), ["/fine"]);
}

#[tokio::test]
async fn no_redirect_leads_inside() {
    let (inside, named) =
        (RecordingSite::new(|_| page(SECRET)), RecordingSite::new(|_| page(READABLE)));
    let ways = [
        ("/named", format!("http://{}/there", named.address)),
        ("/address", format!("http://{}/", inside.address)),
        ("/name", format!("http://localhost:{}/", inside.port())),
        ("/notation", format!("http://2130706433:{}/", named.port())),
        ("/mapped", format!("http://[::ffff:127.0.0.1]:{}/", named.port())),
        ("/file", "file:///etc/passwd".to_owned()),
    ];
    let places = ways.clone();
    let outside = RecordingSite::new(move |path| {
        let (_, to) = places.iter().find(|(from, _)| *from == path).unwrap();
        moved(to)
    });
    let place = TestHome::new();
    let (outer, known, port) = (&outside.address, &named.address, inside.port());
    place.settings(&format!(
        "policy.network.hosts = [\"{outer}\", \"{known}\", \"localhost:{port}\"]\n"
    ));
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for (path, to) in &ways {
        let url = json!({"url": format!("http://{outer}{path}")});
        let output = call_text(&mut server, "fetch_page", url).await;
        let is_fine = *path == "/named";
        assert_eq!(output.contains(READABLE), is_fine, "{to}: {output}");
        assert_eq!(output.contains("\"isError\":false"), is_fine, "{to}: {output}");
    }
    assert_eq!(outside.asked(), ways.map(|(path, _)| path));
    assert_eq!(named.asked(), ["/there"]);
    assert!(inside.asked().is_empty(), "{:?}", inside.asked());
}

#[tokio::test]
async fn the_web_is_off_until_hosts_are_named() {
    let place = TestHome::new();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let output = call_text(&mut server, "web_search", json!({"query": "mcp"})).await;
    assert!(
        output.contains("[policy.network]") && output.contains("html.duckduckgo.com"),
        "{output}"
    );
    assert!(output.contains("Search error: ") && output.contains("\"isError\":true"), "{output}");
}
