//! A server that answers by script, byte for byte, including answers that a framework would not allow.

use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::timeout,
};

/// A request as received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    /// Number of the connection.
    pub(crate) connection: usize,
    /// Number of earlier requests.
    pub(crate) number: usize,
}

impl ReceivedRequest {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub(crate) fn rpc(&self) -> String {
        self.json()["method"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What a script does next.
pub(crate) enum ResponseStep {
    Send(Vec<u8>),
    /// Until the client goes away; then a permit is added to `gone`.
    Hold,
    /// Until the test continues it.
    Await(Arc<Semaphore>),
    /// Relays texts until an empty one, which ends the connection.
    Relay(mpsc::Receiver<String>),
    /// The connection is closed.
    Cut,
    /// The connection is reset.
    Reset,
}

pub(crate) fn send(text: impl Into<String>) -> ResponseStep {
    ResponseStep::Send(text.into().into_bytes())
}

pub(crate) fn whole(status: &str, kind: &str, body: &str) -> Vec<ResponseStep> {
    with("", status, kind, body)
}

/// A whole answer with more header fields, each ended by CR LF.
pub(crate) fn with(fields: &str, status: &str, kind: &str, body: &str) -> Vec<ResponseStep> {
    let kind = if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
    let length = body.len();
    vec![send(format!("HTTP/1.1 {status}\r\n{kind}{fields}Content-Length: {length}\r\n\r\n{body}"))]
}

pub(crate) fn json(body: &str) -> Vec<ResponseStep> {
    whole("200 OK", "application/json", body)
}

pub(crate) fn status(status: &str) -> Vec<ResponseStep> {
    whole(status, "", "")
}

/// The start of a stream that ends with its connection.
pub(crate) fn stream(start: &str) -> Vec<ResponseStep> {
    vec![send(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{start}"
    ))]
}

/// A stream that is whole, and leaves its connection open.
pub(crate) fn whole_stream(text: &str) -> Vec<ResponseStep> {
    whole("200 OK", "text/event-stream; charset=utf-8", text)
}

type Script = dyn Fn(&ReceivedRequest) -> Vec<ResponseStep> + Send + Sync;

pub(crate) struct ScriptedHttpServer {
    port: u16,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    arrived: Arc<Semaphore>,
    /// Clients that disconnected while a script was waiting.
    gone: Arc<Semaphore>,
    accepting: JoinHandle<()>,
}

impl Drop for ScriptedHttpServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

struct ScriptedServerState {
    script: Box<Script>,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    arrived: Arc<Semaphore>,
    gone: Arc<Semaphore>,
}

impl ScriptedHttpServer {
    pub(crate) async fn start(
        script: impl Fn(&ReceivedRequest) -> Vec<ResponseStep> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(ScriptedServerState {
            script: Box::new(script),
            seen: Arc::default(),
            arrived: Arc::new(Semaphore::new(0)),
            gone: Arc::new(Semaphore::new(0)),
        });
        let (seen, arrived, gone) =
            (shared.seen.clone(), shared.arrived.clone(), shared.gone.clone());
        let accepting = tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, connection, shared.clone()));
            }
        });
        Self { port, seen, arrived, gone, accepting }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn seen(&self) -> Vec<ReceivedRequest> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits for N more requests.
    pub(crate) async fn arrived(&self, count: u32) {
        let waiting = self.arrived.acquire_many(count);
        timeout(crate::events::EVENT_TIMEOUT, waiting)
            .await
            .expect("no request came")
            .unwrap()
            .forget();
    }

    /// Waits until a client disconnects while a script is waiting.
    pub(crate) async fn gone(&self) {
        let waiting = self.gone.acquire();
        timeout(crate::events::EVENT_TIMEOUT, waiting)
            .await
            .expect("no client disconnected")
            .unwrap()
            .forget();
    }
}

async fn serve(stream: TcpStream, connection: usize, shared: Arc<ScriptedServerState>) {
    let mut stream = BufReader::new(stream);
    while let Some(mut seen) = request(&mut stream).await {
        seen.connection = connection;
        {
            let mut all = shared.seen.lock().unwrap();
            seen.number = all.len();
            all.push(seen.clone());
        }
        shared.arrived.add_permits(1);
        let mut ends = false;
        for step in (shared.script)(&seen) {
            match step {
                ResponseStep::Send(bytes) => {
                    ends |= String::from_utf8_lossy(&bytes).contains("Connection: close");
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                ResponseStep::Hold => {
                    let mut rest = [0; 64];
                    while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                    shared.gone.add_permits(1);
                    return;
                }
                ResponseStep::Await(signal) => signal.acquire().await.unwrap().forget(),
                ResponseStep::Relay(mut texts) => {
                    while let Some(text) = texts.recv().await.filter(|text| !text.is_empty()) {
                        if stream.write_all(text.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                    return;
                }
                ResponseStep::Cut => return,
                ResponseStep::Reset => {
                    stream.get_ref().set_zero_linger().unwrap();
                    return;
                }
            }
        }
        if ends {
            return;
        }
    }
}

async fn request(stream: &mut BufReader<TcpStream>) -> Option<ReceivedRequest> {
    let mut line = String::new();
    if stream.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let mut parts = line.split_whitespace().map(str::to_owned);
    let (method, path) = (parts.next()?, parts.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).unwrap();
    Some(ReceivedRequest { method, path, headers, body, connection: 0, number: 0 })
}
