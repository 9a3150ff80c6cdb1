//! A small embedding server on a real socket: the vector of a text is its length and its count of `a`.

use super::*;
use crate::unit::{Genre, IndexUnit};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
};

/// What the server does with its next request.
#[derive(Debug, Clone, Copy)]
enum EndpointBehavior {
    Answer,
    Refuse(u16),
    Hang,
    Garbage,
    Backwards,
    Wider,
}

struct ScriptedEndpoint {
    url: String,
    requests: Arc<Mutex<Vec<(String, serde_json::Value)>>>,
}

fn serve(acts: &'static [EndpointBehavior]) -> ScriptedEndpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    thread::spawn(move || {
        for act in acts.iter().copied().chain(std::iter::repeat(EndpointBehavior::Answer)) {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head.push_str(&line);
                if line == "\r\n" || line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            seen.lock().unwrap().push((head, body.clone()));
            let (status, answer) = answer(act, &body);
            if !matches!(act, EndpointBehavior::Hang) {
                let length = answer.len();
                let text = format!(
                    "HTTP/1.1 {status} X\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{answer}"
                );
                reader.get_mut().write_all(text.as_bytes()).unwrap();
            }
        }
    });
    ScriptedEndpoint { url, requests }
}

fn answer(act: EndpointBehavior, body: &serde_json::Value) -> (u16, String) {
    let inputs = body["input"].as_array().unwrap();
    let vector = |text: &serde_json::Value| {
        let text = text.as_str().unwrap();
        let mut numbers = vec![text.len(), text.matches('a').count() + 1];
        if matches!(act, EndpointBehavior::Wider) {
            numbers.push(1);
        }
        numbers
    };
    let mut data: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(index, text)| serde_json::json!({"index": index, "embedding": vector(text)}))
        .collect();
    if matches!(act, EndpointBehavior::Backwards) {
        data.reverse();
    }
    match act {
        EndpointBehavior::Refuse(status) => {
            (status, "model \"x\" not found, try pulling it first".into())
        }
        EndpointBehavior::Garbage => (200, "<html>".into()),
        _ => (200, serde_json::json!({"data": data}).to_string()),
    }
}

fn endpoint(url: &str) -> EmbeddingEndpoint {
    EmbeddingEndpoint {
        url: url.to_owned(),
        model: "m".into(),
        key: Some("secret".into()),
        batch: 2,
        timeout: Duration::from_secs(5),
    }
}

#[test]
fn texts_go_in_batches_and_come_back_in_order() {
    let served = serve(&[EndpointBehavior::Answer, EndpointBehavior::Backwards]);
    let remote = RemoteEmbedder::connect(endpoint(&served.url)).unwrap();
    assert_eq!(remote.identity(), &ModelIdentity { model: "m".into(), dimensions: 2 });
    let units: Vec<IndexUnit> = ["a", "bbbbbbbb", "aaaa"]
        .map(|name| IndexUnit { name: name.into(), ..IndexUnit::default() })
        .into();
    let documents: Vec<EmbeddingInput<'_>> =
        units.iter().map(|unit| EmbeddingInput { unit, path: "", genre: Genre::Code }).collect();
    let vectors = remote.documents(&documents).unwrap();
    let want = [[1.0, 2.0], [8.0, 1.0], [4.0, 5.0]].map(|numbers| Vector::new(&numbers));
    assert_eq!(vectors, want);
    let requests = served.requests.lock().unwrap();
    let sizes: Vec<usize> =
        requests.iter().map(|(_, body)| body["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [1, 2, 1]);
    let (head, body) = &requests[1];
    assert!(head.starts_with("POST /v1/embeddings "), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer secret"), "{head}");
    assert_eq!(body["model"], "m");
}

#[test]
fn a_busy_endpoint_is_asked_again() {
    let served = serve(&[
        EndpointBehavior::Refuse(429),
        EndpointBehavior::Refuse(503),
        EndpointBehavior::Hang,
        EndpointBehavior::Answer,
    ]);
    RemoteEmbedder::connect(endpoint(&served.url)).unwrap();
    assert_eq!(served.requests.lock().unwrap().len(), 4);
}

#[test]
fn each_failure_says_what_is_wrong() {
    let said = |acts: &'static [EndpointBehavior]| {
        let served = serve(acts);
        let remote = RemoteEmbedder::connect(endpoint(&served.url));
        remote.and_then(|remote| remote.query("a")).unwrap_err().to_string()
    };
    let cases: [(&'static [EndpointBehavior], &str); 3] = [
        (&[EndpointBehavior::Refuse(404)], "returned status 404: model \"x\" not found"),
        (&[EndpointBehavior::Garbage], "returned an invalid response"),
        (
            &[EndpointBehavior::Answer, EndpointBehavior::Wider],
            "3 dimensions instead of 2 as before",
        ),
    ];
    for (acts, want) in cases {
        let said = said(acts);
        assert!(said.contains(want), "{said}");
    }
    let gone = RemoteEmbedder::connect(endpoint("http://127.0.0.1:1/v1")).unwrap_err().to_string();
    assert!(gone.contains("cannot reach"), "{gone}");
    assert!(gone.contains("http://127.0.0.1:1/v1/embeddings:"), "{gone}");
    let shown = format!("{:?}", endpoint("http://x"));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn long_units_are_cut() {
    let unit = IndexUnit { name: "n".into(), body: "é".repeat(5_000), ..IndexUnit::default() };
    let text = text_of(&EmbeddingInput { unit: &unit, path: "p", genre: Genre::Prose });
    assert!(text.len() <= MAX_TEXT_CHARS && text.starts_with("n\np\né"), "{}", text.len());
}
