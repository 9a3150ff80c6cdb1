//! A client that speaks raw JSON lines to a session.

use docent_server::{
    AuditSink, ExternalAuth, McpServer, McpSession, NamedKey, Screening, ServerLimits, ServerSetup,
    ToolPolicy,
};
use docent_transport::{AccessControl, Caller, CallerContext, CallerCredentials, ConnectionKind};
use docent_wire::Dialect;
use rmcp::{
    RoleServer,
    model::{GetExtensions, JsonRpcMessage},
    service::{RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

pub(crate) const MODERN: &str = "2026-07-28";

/// A server's setup with the fixture provider and defaults.
pub(crate) fn setup(provider: Arc<crate::fixture::FixtureProvider>) -> ServerSetup {
    ServerSetup {
        name: "fixture".into(),
        version: "1.2.3".into(),
        title: None,
        instructions: Some("Use with care.".into()),
        providers: vec![provider],
        keys: Vec::new(),
        external_auth: ExternalAuth::default(),
        auth_required: false,
        policy: ToolPolicy::default(),
        limits: ServerLimits::default(),
        audit: AuditSink::off(),
        screening: Screening::default(),
        list_page: 0,
        resource_page: 0,
        adopt_trace_parent: None,
    }
}

pub(crate) fn key(name: &str, scopes: &[&str]) -> NamedKey {
    NamedKey {
        name: name.into(),
        token: format!("{name}-token"),
        scopes: scopes.iter().map(ToString::to_string).collect(),
    }
}

/// What a transport would attach for a caller with this token.
pub(crate) fn origin(server: &McpServer, token: Option<&str>) -> CallerContext {
    let principal =
        server.identify(&CallerCredentials { token, certificate: None }).expect("a known token");
    CallerContext {
        caller: Caller { principal, via: ConnectionKind::Http, remote: None },
        dialect: None,
        streams: false,
        recorded: None,
    }
}

/// The origin that each request is stamped with.
type StampedContext = Arc<Mutex<Option<CallerContext>>>;

struct Stamped<T> {
    inner: T,
    origin: StampedContext,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Stamped<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.inner.receive().await?;
        let origin = self.origin.lock().unwrap().clone();
        if let (JsonRpcMessage::Request(request), Some(origin)) = (&mut message, origin) {
            request.request.extensions_mut().insert(origin);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// One connection.
pub(crate) struct WireClient {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    ids: u64,
    waiting: VecDeque<Value>,
    /// Messages that came before the answer to the last request.
    pub(crate) seen: Vec<Value>,
    running: RunningService<RoleServer, McpSession>,
    origin: StampedContext,
}

impl WireClient {
    pub(crate) fn open(server: &Arc<McpServer>) -> Self {
        Self::open_as(server, None)
    }

    pub(crate) fn open_as(server: &Arc<McpServer>, origin: Option<CallerContext>) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let origin = Arc::new(Mutex::new(origin));
        let inner = AsyncRwTransport::<RoleServer, _, _>::new(reader, writer);
        let transport = Stamped { inner, origin: Arc::clone(&origin) };
        let running = serve_directly::<_, _, _, _, rmcp::transport::TransportAdapterIdentity>(
            server.session(),
            transport,
            None,
        );
        let (reader, writer) = tokio::io::split(ours);
        let lines = BufReader::new(reader).lines();
        Self { lines, writer, ids: 0, waiting: VecDeque::new(), seen: Vec::new(), running, origin }
    }

    /// From now on, requests carry another token.
    pub(crate) fn speak_as(&self, origin: CallerContext) {
        *self.origin.lock().unwrap() = Some(origin);
    }

    /// A connection after its handshake.
    pub(crate) async fn legacy(server: &Arc<McpServer>, version: &str) -> Self {
        Self::legacy_as(server, version, json!({}), None).await
    }

    pub(crate) async fn legacy_as(
        server: &Arc<McpServer>,
        version: &str,
        able: Value,
        origin: Option<CallerContext>,
    ) -> Self {
        let mut wire = Self::open_as(server, origin);
        wire.initialize(version, able).await;
        wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        // A request is answered after the notification before it has been passed on, and its handler has run.
        wire.ask("ping", json!({})).await;
        wire
    }

    pub(crate) async fn initialize(&mut self, version: &str, able: Value) -> Value {
        let client = json!({"name": "tester", "version": "9"});
        self.ask(
            "initialize",
            json!({"protocolVersion": version, "capabilities": able, "clientInfo": client}),
        )
        .await
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> Value {
        self.ids += 1;
        let id = json!(self.ids);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// The next message.
    pub(crate) async fn read(&mut self) -> Value {
        if let Some(message) = self.waiting.pop_front() {
            return message;
        }
        let line = tokio::time::timeout(Duration::from_secs(20), self.lines.next_line())
            .await
            .expect("no message came");
        serde_json::from_str(&line.unwrap().expect("the connection ended")).unwrap()
    }

    /// The answer to a request; earlier messages are kept in `seen`.
    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        self.seen.clear();
        loop {
            let message = self.read().await;
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
            self.seen.push(message);
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(&id).await
    }

    /// The next notification with this method.
    pub(crate) async fn notified(&mut self, method: &str) -> Value {
        loop {
            let message = self.read().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Calls a tool and returns the whole message.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    pub(crate) async fn modern_call(
        &mut self,
        tool: &str,
        arguments: Value,
        able: Value,
        more: Value,
    ) -> Value {
        let mut params = modern(able);
        params["name"] = json!(tool);
        params["arguments"] = arguments;
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        self.ask("tools/call", params).await
    }

    /// Disconnects, and waits until the session is gone.
    pub(crate) async fn close(self) {
        drop((self.lines, self.writer));
        self.running.cancel().await.unwrap();
    }

    pub(crate) fn methods_seen(&self) -> Vec<&str> {
        self.seen.iter().filter_map(|message| message["method"].as_str()).collect()
    }
}

/// Parameters of the newest revision, for a client with these capabilities.
pub(crate) fn modern(able: Value) -> Value {
    json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "9"},
        "io.modelcontextprotocol/clientCapabilities": able,
    }})
}

pub(crate) fn code(message: &Value) -> i64 {
    message["error"]["code"].as_i64().unwrap_or_else(|| panic!("not an error: {message}"))
}

pub(crate) fn text(message: &Value) -> String {
    let content =
        message["result"]["content"].as_array().unwrap_or_else(|| panic!("no content: {message}"));
    content.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Every legacy version, with its dialect.
pub(crate) fn legacy_dialects() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::V2026_07_28)
}
