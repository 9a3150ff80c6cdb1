//! A server on a real socket: calls stay open as streams that send what the test asks for.

use crate::stage::{CallBehavior, session};
use docent_hub::{ServerSpec, ServerTransport};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A server over Streamable HTTP. Dropping or stopping it closes all its connections.
pub(crate) struct HttpTestServer {
    url: String,
    shared: Arc<HttpTestState>,
    running: DropGuard,
}

struct HttpTestState {
    tools: Value,
    received: Mutex<Vec<Value>>,
    /// Open calls, by the name of the tool.
    calls: Mutex<HashMap<String, (Value, mpsc::Sender<Value>)>>,
}

impl HttpTestServer {
    pub(crate) async fn start(tools: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (heard, calls) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(HttpTestState { tools, received: heard, calls });
        let (ending, serving) = (CancellationToken::new(), Arc::clone(&shared));
        let token = ending.clone();
        tokio::spawn(async move {
            let accepting = async {
                loop {
                    let (socket, _) = listener.accept().await.unwrap();
                    let (shared, token) = (Arc::clone(&serving), token.clone());
                    tokio::spawn(async move {
                        token.run_until_cancelled(serve(socket, &shared)).await;
                    });
                }
            };
            token.run_until_cancelled(accepting).await;
        });
        Self { url, shared, running: ending.drop_guard() }
    }

    pub(crate) fn spec(&self, name: &str) -> ServerSpec {
        let (url, headers) = (self.url.clone(), BTreeMap::new());
        let mut spec =
            ServerSpec::new(name, ServerTransport::Remote { url, sse: Some(false), headers });
        spec.timeout = Duration::from_secs(5);
        spec
    }

    /// Whether this tool is being called.
    pub(crate) fn is_called(&self, tool: &str) -> bool {
        self.shared.calls.lock().unwrap().contains_key(tool)
    }

    /// Sends a message on the stream of a call.
    pub(crate) fn say(&self, tool: &str, message: Value) {
        self.shared.calls.lock().unwrap()[tool].1.try_send(message).unwrap();
    }

    /// Answers a call.
    pub(crate) fn answer(&self, tool: &str, text: &str) {
        let (id, stream) = self.shared.calls.lock().unwrap().remove(tool).unwrap();
        let content = json!([{"type": "text", "text": text}]);
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}});
        stream.try_send(answer).unwrap();
    }

    /// The response that it received for this id.
    pub(crate) fn response_to(&self, id: &str) -> Option<Value> {
        let heard = self.shared.received.lock().unwrap();
        heard.iter().find(|message| message["id"] == id && message.get("method").is_none()).cloned()
    }

    pub(crate) fn stop(self) {
        drop(self.running);
    }
}

async fn serve(socket: TcpStream, shared: &HttpTestState) {
    let mut socket = BufReader::new(socket);
    while let Some((method, body)) = request(&mut socket).await {
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        shared.received.lock().unwrap().push(message.clone());
        if message["method"] == "tools/call" {
            return call(socket, &message, shared).await;
        }
        let said = session(shared.tools.clone(), |_| CallBehavior::Says(Vec::new()))(&message);
        let (status, body) = match said {
            _ if method != "POST" => ("405 Method Not Allowed", String::new()),
            CallBehavior::Says(all) if !all.is_empty() => ("200 OK", all[0].to_string()),
            _ => ("202 Accepted", String::new()),
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        if socket.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn call(mut socket: BufReader<TcpStream>, message: &Value, shared: &HttpTestState) {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: open\n\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let (stream, mut says) = mpsc::channel(64);
    let name = message["params"]["name"].as_str().unwrap().to_owned();
    shared.calls.lock().unwrap().insert(name, (message["id"].clone(), stream));
    while let Some(said) = says.recv().await {
        if socket.write_all(format!("data: {said}\n\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn request(socket: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut first, mut length) = (String::new(), 0);
    socket.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some((first.split(' ').next()?.to_owned(), body))
}
