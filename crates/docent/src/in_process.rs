//! Runs docent's own server in process, with the same session, checks and results as for any client.

use crate::shell::{
    connection::{ReplyFuture, RpcError, ServerCard, ServerConnection, ServerNotice},
    questions::ClientRequestHandler,
};
use anyhow::{Context as _, anyhow, bail};
use docent_server::{McpServer, ServerSetup};
use docent_transport::stdio::{self, Stdio};
use docent_wire::HandshakePolicy;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
        split,
    },
    sync::mpsc,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// Buffer size of the in-memory pipe.
const PIPE_BUFFER_BYTES: usize = 1 << 20;
/// Maximum number of queued messages per request.
const MAX_QUEUED_MESSAGES: usize = 64;
/// The protocol revision of the session.
const PROTOCOL_REVISION: &str = "2025-11-25";
/// The JSON-RPC code of an internal error.
const INTERNAL_ERROR: i64 = -32603;

/// The result of a tool call.
#[derive(Debug)]
pub(crate) struct ToolReply {
    /// The text blocks of its content, concatenated.
    pub(crate) text: String,
    /// Its `structuredContent`.
    pub(crate) structured: Value,
    /// Whether it failed; the text then gives the reason.
    pub(crate) is_error: bool,
}

/// The progress of a call, as reported by the server.
#[derive(Debug)]
pub(crate) struct ProgressUpdate {
    pub(crate) done: u64,
    pub(crate) total: Option<u64>,
    pub(crate) message: String,
}

/// Calls a tool of a server that is created for this call alone.
pub(crate) async fn call(
    setup: ServerSetup,
    tool: &str,
    arguments: Value,
    on_step: impl Fn(ProgressUpdate) + Send + Sync,
) -> anyhow::Result<ToolReply> {
    let local = LocalSession::open(setup, None).await?;
    let params = json!({"name": tool, "arguments": arguments});
    let on_note = |note| {
        if let Some(step) = step(note) {
            on_step(step);
        }
    };
    let answer = local.request("tools/call", params, &on_note).await;
    answer.map(|result| reply(&result)).map_err(|error| match error.reason() {
        Some(reason) => anyhow!("{}: {reason}", error.message),
        None => anyhow!("{}", error.message),
    })
}

fn step(note: ServerNotice) -> Option<ProgressUpdate> {
    let ServerNotice::Progress { done, total, message } = note else { return None };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of files")]
    let count = |count: f64| count as u64;
    let message = message.unwrap_or_default();
    Some(ProgressUpdate { done: count(done), total: total.map(count), message })
}

fn reply(result: &Value) -> ToolReply {
    let blocks = result.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    ToolReply {
        text: texts.collect(),
        is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
        structured: result.get("structuredContent").cloned().unwrap_or_default(),
    }
}

type SharedWriter = Arc<tokio::sync::Mutex<WriteHalf<DuplexStream>>>;

/// Pending requests, by id.
type PendingRequests = Arc<Mutex<HashMap<u64, mpsc::Sender<Value>>>>;

fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open session with docent's own server, which ends with it.
pub(crate) struct LocalSession {
    writer: SharedWriter,
    waiting: PendingRequests,
    next: AtomicU64,
    card: ServerCard,
    server: Arc<McpServer>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for LocalSession {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl LocalSession {
    /// Starts a server and performs the handshake. Its requests go to `questions`.
    pub(crate) async fn open(
        setup: ServerSetup,
        questions: Option<Arc<ClientRequestHandler>>,
    ) -> anyhow::Result<Self> {
        let message_bytes = setup.limits.message_bytes;
        let server = McpServer::new(setup)?;
        let session = server.session();
        let (here, there) = tokio::io::duplex(PIPE_BUFFER_BYTES);
        let (reader, writer) = split(there);
        let pipes = Stdio {
            door: Arc::clone(&server) as _,
            principal: None,
            traffic: None,
            handshake: HandshakePolicy::Required,
            message_bytes,
            closing: CancellationToken::new(),
        };
        let serving = tokio::spawn(async move {
            // Callers that wait for an answer get an error.
            stdio::serve_on(session, pipes, reader, writer).await.unwrap_or_default();
        });
        let capabilities = questions.as_ref().map_or_else(|| json!({}), |one| one.capabilities());
        let (reader, writer) = split(here);
        let writer: SharedWriter = Arc::new(tokio::sync::Mutex::new(writer));
        let waiting = PendingRequests::default();
        let ear =
            LocalClient { writer: Arc::clone(&writer), waiting: Arc::clone(&waiting), questions };
        let hearing = tokio::spawn(ear.listen(reader));
        let (next, card) = (AtomicU64::new(1), ServerCard::default());
        let mut local = Self { writer, waiting, next, card, server, tasks: [serving, hearing] };
        let hello = json!({
            "protocolVersion": PROTOCOL_REVISION,
            "capabilities": capabilities,
            "clientInfo": {"name": "docent", "version": env!("CARGO_PKG_VERSION")},
        });
        match local.request("initialize", hello, &|_| {}).await {
            Ok(result) => local.card = ServerCard::from_result(&result),
            Err(error) => bail!("cannot open a session with docent's own server: {error}"),
        }
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        send(&local.writer, &ready).await.context("cannot send to the server")?;
        Ok(local)
    }

    /// Returns every callable tool, with the key of its provider.
    pub(crate) fn definitions(&self) -> Vec<(String, Value)> {
        self.server.definitions()
    }

    async fn exchange(
        &self,
        method: &str,
        mut params: Value,
        on_note: &(dyn Fn(ServerNotice) + Send + Sync),
    ) -> Result<Value, RpcError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(params) = params.as_object_mut() {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert("progressToken".into(), id.into());
            }
        }
        let gone = || RpcError {
            code: INTERNAL_ERROR,
            message: "the server closed the connection without answering".into(),
            data: None,
        };
        let (heard, mut hear) = mpsc::channel(MAX_QUEUED_MESSAGES);
        lock(&self.waiting).insert(id, heard);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if send(&self.writer, &request).await.is_err() {
            lock(&self.waiting).remove(&id);
            return Err(gone());
        }
        while let Some(mut message) = hear.recv().await {
            if message.get("method").is_some() {
                on_note(ServerNotice::from_notification(message));
            } else if let Some(error) = message.get("error") {
                return Err(RpcError::from_value(error));
            } else {
                return Ok(message.get_mut("result").map(Value::take).unwrap_or_default());
            }
        }
        Err(gone())
    }
}

impl ServerConnection for LocalSession {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(ServerNotice) + Send + Sync),
    ) -> ReplyFuture<'a> {
        Box::pin(self.exchange(method, params, on_note))
    }

    fn server(&self) -> &ServerCard {
        &self.card
    }

    fn unlisted_tool(&self, name: &str) -> Option<Value> {
        let all = self.server.definitions().into_iter().map(|(_, tool)| tool);
        all.into_iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name))
    }
}

async fn send(writer: &SharedWriter, message: &Value) -> io::Result<()> {
    let mut line = message.to_string();
    line.push('\n');
    writer.lock().await.write_all(line.as_bytes()).await
}

/// Reads the server's messages and dispatches them.
struct LocalClient {
    writer: SharedWriter,
    waiting: PendingRequests,
    questions: Option<Arc<ClientRequestHandler>>,
}

impl LocalClient {
    async fn listen(self, reader: ReadHalf<DuplexStream>) {
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            let id = message.get("id").cloned();
            match (message.get("method").is_some(), id) {
                (true, Some(id)) => self.answer_request(id, message),
                (true, None) => self.deliver_notice(&message).await,
                (false, id) => {
                    let id = id.and_then(|id| id.as_u64());
                    let waiting = id.and_then(|id| lock(&self.waiting).remove(&id));
                    if let Some(waiting) = waiting {
                        // If the caller has stopped waiting, drop the answer.
                        waiting.send(message).await.unwrap_or_default();
                    }
                }
            }
        }
        // Pending requests end here without an answer.
        lock(&self.waiting).clear();
    }

    /// Delivers a notification to the request it refers to, or else to all pending ones.
    async fn deliver_notice(&self, message: &Value) {
        let token = message.pointer("/params/progressToken").and_then(Value::as_u64);
        let all: Vec<_> = {
            let waiting = lock(&self.waiting);
            let is_for = |id: &u64| token.is_none_or(|token| token == *id);
            waiting.iter().filter(|(id, _)| is_for(id)).map(|(_, one)| one.clone()).collect()
        };
        for one in all {
            one.send(message.clone()).await.unwrap_or_default();
        }
    }

    /// Answers a request of the server on a separate task: the user may take long, and other messages must not wait.
    fn answer_request(&self, id: Value, message: Value) {
        let (writer, questions) = (Arc::clone(&self.writer), self.questions.clone());
        tokio::spawn(async move {
            let answer = tokio::task::spawn_blocking(move || {
                let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
                let params = message.get("params").unwrap_or(&Value::Null);
                let not_found =
                    || RpcError { code: -32601, message: "Method not found".into(), data: None };
                questions.ok_or_else(not_found)?.answer(method, params)
            });
            let answer = answer.await.unwrap_or_else(|error| {
                Err(RpcError { code: INTERNAL_ERROR, message: error.to_string(), data: None })
            });
            let reply = match answer {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.json()}),
            };
            // If the server is gone, the answer is dropped.
            send(&writer, &reply).await.unwrap_or_default();
        });
    }
}
