//! The web tools of the real binary, as the user's settings have them, against a server on this machine.

use crate::{
    TestHome,
    serving::{LEGACY, call, serve},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

const KEY: &str = "key-of-a-provider-0123456789";
const FOUND: &str =
    r#"{"results": [{"url": "https://a.test/lamp", "title": "A lamp", "content": "with oil"}]}"#;

/// A server that answers by path, and remembers the heads of what it was asked.
pub(crate) struct ProviderServer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ProviderServer {
    pub(crate) fn start(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that disconnects is ignored.
                hear(&stream, &answer, &log).unwrap_or_default();
            }
        });
        Self { address, asked }
    }

    /// What it was asked since the last time: method, path and headers.
    pub(crate) fn heads(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// The path of a request, without its query.
fn path_of(head: &str) -> &str {
    let target = head.split(' ').nth(1).unwrap_or_default();
    target.split('?').next().unwrap_or_default()
}

fn hear(
    mut stream: &TcpStream,
    answer: &impl Fn(&str) -> (u16, String),
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    if head.is_empty() {
        return Ok(());
    }
    reader.read_exact(&mut vec![0; length])?;
    let (status, body) = answer(path_of(&head));
    log.lock().unwrap().push(head);
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

async fn open(place: &TestHome, environment: &[(&str, &str)]) -> ChildTestClient {
    let mut server = serve(place, &[], environment);
    server.open(LEGACY).await.unwrap();
    server
}

async fn search(server: &mut ChildTestClient) -> Value {
    let answer = server.ask("tools/call", call("web_search", json!({"query": "lamp"}))).await;
    answer.unwrap()["result"].clone()
}

#[track_caller]
fn is_found(answer: &Value) {
    let output = answer.to_string();
    assert!(answer["isError"] != true && output.contains("https://a.test/lamp"), "{output}");
}

#[tokio::test]
async fn a_search_is_answered_and_the_key_arrives_from_a_variable_or_a_file() {
    let site = ProviderServer::start(|_| (200, FOUND.to_owned()));
    let place = TestHome::new();
    let file = place.0.path().join("key-of-searxng");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    let settings = |key: &str| {
        let address = site.address;
        format!(
            "policy.network.hosts = [\"{address}\"]\nweb.providers = [\"searxng\"]\n\
             [web.searxng]\nurl = \"http://{address}/base/\"\n{key}\n"
        )
    };
    let of_a_file = format!("key_file = \"{}\"", file.display());
    let bearer = format!("authorization: bearer {}", KEY.to_ascii_lowercase());
    for (key, environment, is_sent) in [
        ("", &[("SEARX_KEY", KEY)][..], false),
        ("key_env = \"SEARX_KEY\"", &[("SEARX_KEY", KEY)], true),
        (of_a_file.as_str(), &[], true),
    ] {
        place.settings(&settings(key));
        let mut server = open(&place, environment).await;
        let answer = search(&mut server).await;
        is_found(&answer);
        assert!(!answer.to_string().contains(KEY), "{answer}");
        let heads = site.heads();
        let [head] = heads.as_slice() else { panic!("{heads:?}") };
        assert!(head.starts_with("GET /base/search?q=lamp&format=json"), "{head}");
        assert_eq!(head.to_ascii_lowercase().contains(&bearer), is_sent, "{key}: {head}");
    }
}

#[tokio::test]
async fn a_key_is_not_sent_to_a_name_without_encryption() {
    let site = ProviderServer::start(|_| (200, FOUND.to_owned()));
    let port = site.address.port();
    let place = TestHome::new();
    place.settings(&format!(
        "policy.network.private_hosts = [\"localhost:{port}\"]\nweb.providers = [\"searxng\"]\n\
         [web.searxng]\nurl = \"http://localhost:{port}/\"\nkey_env = \"SEARX_KEY\"\n"
    ));
    let mut server = open(&place, &[("SEARX_KEY", KEY)]).await;
    let output = search(&mut server).await.to_string();
    assert!(output.contains("without encryption"), "{output}");
    assert!(!output.contains(KEY) && site.heads().is_empty(), "{output}");
}

#[tokio::test]
async fn providers_are_asked_in_their_order_until_one_answers() {
    let site = ProviderServer::start(|path| match path {
        path if path.starts_with("/searxng/") => (200, FOUND.to_owned()),
        _ => (500, String::new()),
    });
    let place = TestHome::new();
    let file = place.0.path().join("key-of-brave");
    std::fs::write(&file, KEY).unwrap();
    let (address, file) = (site.address, file.display());
    place.settings(&format!(
        r#"
        policy.network.hosts = ["{address}"]
        [web]
        providers = ["tavily", "duckduckgo", "brave", "searxng"]
        [web.tavily]
        url = "http://{address}/tavily/"
        key_env = "TAVILY_KEY"
        [web.duckduckgo]
        html_url = "http://{address}/html/"
        lite_url = "http://{address}/lite/"
        [web.brave]
        url = "http://{address}/brave/"
        key_file = "{file}"
        [web.searxng]
        url = "http://{address}/searxng/"
        "#
    ));
    let mut server = open(&place, &[("TAVILY_KEY", "key-of-tavily-0123456789")]).await;
    let answer = search(&mut server).await;
    is_found(&answer);
    let output = answer.to_string();
    for part in ["tavily", "duckduckgo", "brave", "searxng"] {
        assert!(output.contains(part), "no {part} in {output}");
    }
    let heads = site.heads();
    let head = |path: &str| {
        let its = heads.iter().find(|head| path_of(head) == path);
        its.unwrap_or_else(|| panic!("{path} was not asked: {heads:#?}")).to_ascii_lowercase()
    };
    assert!(head("/tavily/search").contains("authorization: bearer key-of-tavily-0123456789"));
    assert!(head("/brave/res/v1/web/search").contains(&format!("x-subscription-token: {KEY}")));
    assert!(!head("/searxng/search").contains("authorization"));
    let asked: Vec<&str> = heads.iter().map(|head| path_of(head)).collect();
    let in_order =
        ["/tavily/search", "/html/", "/lite/", "/brave/res/v1/web/search", "/searxng/search"];
    assert_eq!(asked, in_order);
}

#[tokio::test]
async fn an_address_in_another_notation_is_not_fetched() {
    let site = ProviderServer::start(|_| (200, "{\"a\": 1}".to_owned()));
    let port = site.address.port();
    let place = TestHome::new();
    place.settings(&format!("policy.network.hosts = [\"127.0.0.1:{port}\"]\n"));
    let mut server = open(&place, &[]).await;
    for host in
        ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "%31%32%37.0.0.1", "\u{ff11}27.0.0.1"]
    {
        let url = format!("http://{host}:{port}/");
        let answer = server.ask("tools/call", call("fetch_page", json!({"url": url}))).await;
        let output = answer.unwrap()["result"].to_string();
        assert!(output.contains("write it as 127.0.0.1"), "{host}: {output}");
        assert!(output.contains("\"isError\":true"), "{host}: {output}");
    }
    assert!(site.heads().is_empty());
    let url = format!("http://127.0.0.1:{port}/");
    let answer = server.ask("tools/call", call("fetch_page", json!({"url": url}))).await.unwrap();
    assert_eq!(site.heads().len(), 1, "{answer}");
}
