//! Configurable access control, a handler that echoes, and raw peers.

use docent_traffic::Traffic;
use docent_transport::{
    AccessControl, Caller, CallerContext, CallerCredentials, ClientKey, MissingScope, NoCapacity,
    Principal, PrincipalKind, SlotGuard,
    http::{
        self, ConnectionStats, EnabledProtocols, HttpLimits, HttpServerSetup, LiveProtectedResource,
    },
    stdio::{self, Stdio},
    tls::TlsSettings,
};
use docent_wire::HandshakePolicy;
use futures::future::{BoxFuture, FutureExt};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomNotification,
        ErrorCode, InitializeRequestParams, InitializeResult, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
        ServerNotification, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{
        AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
        DuplexStream, Lines, ReadHalf,
    },
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Maximum bytes of a message in these tests.
pub(crate) const LIMIT: usize = 4096;

#[derive(Clone, Copy)]
pub(crate) struct TestAccess {
    pub(crate) token: Option<&'static str>,
    pub(crate) requests: usize,
    pub(crate) seats: usize,
    /// Sessions, and as many streams, that one client may have.
    pub(crate) share: usize,
    /// Counts refused callers.
    pub(crate) unknown_callers: Option<&'static AtomicUsize>,
}

impl Default for TestAccess {
    fn default() -> Self {
        Self {
            token: None,
            requests: usize::MAX,
            seats: usize::MAX,
            share: usize::MAX,
            unknown_callers: None,
        }
    }
}

struct CountingAccess {
    door: TestAccess,
    admitted: AtomicUsize,
    learnt: AtomicUsize,
    sessions: SlotLog,
    streams: SlotLog,
}

/// Slots in use, by client.
type SlotLog = Arc<Mutex<Vec<ClientKey>>>;

struct CountedSlot(SlotLog, ClientKey);

impl Drop for CountedSlot {
    fn drop(&mut self) {
        let mut taken = self.0.lock().unwrap();
        let at = taken.iter().position(|client| *client == self.1).unwrap();
        taken.swap_remove(at);
    }
}

impl TestAccess {
    fn seat(
        self,
        seats: &SlotLog,
        what: &'static str,
        caller: &Caller,
    ) -> Result<SlotGuard, NoCapacity> {
        let mut taken = seats.lock().unwrap();
        let client = caller.client();
        let is_own_share = taken.iter().filter(|one| **one == client).count() >= self.share;
        if is_own_share || taken.len() >= self.seats {
            return Err(NoCapacity { what, is_own_share, retry_after: Duration::from_secs(7) });
        }
        taken.push(client.clone());
        Ok(Box::new(CountedSlot(Arc::clone(seats), client)))
    }
}

impl AccessControl for CountingAccess {
    fn needs_token(&self) -> bool {
        self.door.token.is_some()
    }
    fn identify(&self, shown: &CallerCredentials<'_>) -> Option<Principal> {
        if let Some(certificate) = shown.certificate {
            let name = certificate.names.join(" ");
            return Some(Principal { kind: PrincipalKind::Certificate, ..principal(&name) });
        }
        // Two keys, so that one caller can try another's session.
        match (self.door.token, shown.token) {
            (None, _) => {
                Some(Principal { kind: PrincipalKind::Anonymous, ..principal("anonymous") })
            }
            (Some(known), Some(shown)) if known == shown => Some(principal("first")),
            (Some(_), Some("second-token")) => Some(principal("second")),
            (Some(_), Some("signed-token")) if self.learnt.load(Ordering::SeqCst) > 0 => {
                Some(Principal { kind: PrincipalKind::Oauth, ..principal("subject") })
            }
            _ => None,
        }
    }
    fn count_unknown_caller(&self) {
        if let Some(counter) = self.door.unknown_callers {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    }
    fn fetch_unknown_keys<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        async move {
            tokio::task::yield_now().await;
            let knows = token == "signed-token";
            self.learnt.fetch_add(usize::from(knows), Ordering::SeqCst);
            knows
        }
        .boxed()
    }
    fn refusal_reason(&self, token: &str) -> Option<String> {
        (token == "odd").then(|| "it is \"odd\"\r\nx: y".to_owned())
    }
    fn missing_scope(&self, caller: &Caller, tool: &str) -> Option<MissingScope> {
        assert_eq!(caller.principal.kind, PrincipalKind::Oauth);
        tool.contains("forbidden").then(|| MissingScope { scope: format!("to \"{tool}\"") })
    }
    fn admit(&self, _: &Caller) -> Result<(), Duration> {
        let before = self.admitted.fetch_add(1, Ordering::SeqCst);
        if before < self.door.requests { Ok(()) } else { Err(Duration::from_secs(30)) }
    }
    fn open_session(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity> {
        self.door.seat(&self.sessions, "sessions", caller)
    }
    fn open_stream(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity> {
        let door = TestAccess { seats: usize::MAX, ..self.door };
        door.seat(&self.streams, "streams", caller)
    }
}

fn principal(name: &str) -> Principal {
    let kind = PrincipalKind::Key;
    Principal { name: name.into(), scopes: Arc::from(["*".to_owned()]), kind, grant: None }
}

pub(crate) fn guarded(door: TestAccess) -> Arc<dyn AccessControl> {
    let (admitted, learnt, sessions, streams) = Default::default();
    Arc::new(CountingAccess { door, admitted, learnt, sessions, streams })
}

/// Answers `tools/call` with what it received; `wait` never ends, `pieces` emits two pieces first, `last` sends a
/// message and answers when the server has begun to close, `none` does not exist, and headers repeat an argument of
/// `marked`. Counts how many wait.
#[derive(Clone)]
pub(crate) struct EchoServer {
    closing: CancellationToken,
    waiting: Arc<AtomicUsize>,
}

impl ServerHandler for EchoServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let schema = json!({"properties": {"deep": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}});
        let schema = schema.as_object().filter(|_| name == "marked").cloned()?;
        Some(Tool::new(name.to_owned(), "", schema))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let dialect = docent_wire::Dialect::negotiate(request.protocol_version.as_str());
        context.peer.set_peer_info(request);
        let mut info = self.get_info();
        info.protocol_version =
            serde_json::from_value::<ProtocolVersion>(json!(dialect.version())).unwrap();
        Ok(info)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::default())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let origin = CallerContext::from_extensions(&context.extensions).cloned().unwrap();
        match &*request.name {
            "wait" => {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                context.ct.cancelled().await;
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                return Err(ErrorData::internal_error("cancelled", None));
            }
            "none" => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "none", None)),
            // Long enough for its answer to be sent as events.
            "later" => tokio::time::sleep(Duration::from_millis(100)).await,
            "last" => {
                let params = json!({"level": "info", "data": "begun"});
                let begun = CustomNotification::new("notifications/message", Some(params));
                let note = ServerNotification::CustomNotification(begun);
                context.peer.send_notification(note).await.unwrap();
                self.closing.cancelled().await;
                // By then everything that ends with the server has ended.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            "pieces" => {
                for text in ["one", "two"] {
                    let params = json!({"requestId": context.id, "content": [{"type": "text", "text": text}]});
                    let piece = CustomNotification::new("docent/partial", Some(params));
                    let note = ServerNotification::CustomNotification(piece);
                    context.peer.send_notification(note).await.unwrap();
                }
            }
            _ => {}
        }
        let seen = json!({
            "arguments": request.arguments, "principal": &*origin.caller.principal.name,
            "via": origin.caller.via.name(), "streams": origin.streams,
        });
        Ok(CallToolResult::success(vec![ContentBlock::text(seen.to_string())]).into())
    }
}

/// Serves a pair of pipes.
pub(crate) fn serve_on(
    setup: Stdio,
    reader: impl AsyncRead + Unpin + Send + 'static,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> JoinHandle<std::io::Result<()>> {
    let echo = EchoServer { closing: setup.closing.clone(), waiting: Arc::default() };
    tokio::spawn(stdio::serve_on(echo, setup, reader, writer))
}

/// A server on pipes, and the other end of them.
pub(crate) struct PipeClient {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<tokio::io::WriteHalf<DuplexStream>>,
    pub(crate) closing: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl PipeClient {
    pub(crate) fn open(door: TestAccess, handshake: HandshakePolicy) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let closing = CancellationToken::new();
        let setup = Stdio {
            door: guarded(door),
            principal: None,
            traffic: None,
            handshake,
            message_bytes: LIMIT,
            closing: closing.clone(),
        };
        let serving = serve_on(setup, reader, writer);
        let (reader, writer) = tokio::io::split(ours);
        Self { lines: BufReader::new(reader).lines(), writer: Some(writer), closing, serving }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(text.as_bytes()).await.unwrap();
        writer.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn read(&mut self) -> Value {
        let line = timeout(Duration::from_secs(10), self.lines.next_line()).await.expect("silence");
        serde_json::from_str(&line.unwrap().expect("closed")).unwrap()
    }

    pub(crate) async fn ask(&mut self, message: Value) -> Value {
        self.send(&message.to_string()).await;
        self.read().await
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        self.ask(request(0, "initialize", &json!({"protocolVersion": version}))).await
    }

    /// Whether the server ends by itself, with the input still open.
    pub(crate) async fn ended(mut self) -> bool {
        while let Ok(Some(_)) = self.lines.next_line().await {}
        timeout(Duration::from_secs(30), self.serving).await.is_ok_and(|ended| ended.is_ok())
    }

    /// Ends the input and waits for the server to end; returns its remaining messages.
    pub(crate) async fn close(mut self) -> Vec<Value> {
        self.writer.take().unwrap().shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Ok(Some(line)) = self.lines.next_line().await {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        timeout(Duration::from_secs(10), self.serving)
            .await
            .expect("still serving")
            .unwrap()
            .unwrap();
        rest
    }
}

/// A request.
pub(crate) fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A server on a socket of its own.
pub(crate) struct TestSite {
    pub(crate) port: u16,
    pub(crate) closing: CancellationToken,
    pub(crate) serving: JoinHandle<std::io::Result<()>>,
    pub(crate) tally: Arc<ConnectionStats>,
    pub(crate) waiting: Arc<AtomicUsize>,
}

/// Options of a site beside its access control.
#[derive(Default)]
pub(crate) struct SiteOptions {
    pub(crate) bounds: HttpLimits,
    pub(crate) tls: Option<Arc<TlsSettings>>,
    pub(crate) oauth: LiveProtectedResource,
    pub(crate) traffic: Option<Arc<Traffic>>,
}

impl TestSite {
    pub(crate) async fn open(door: TestAccess) -> Self {
        Self::build(door, SiteOptions::default()).await
    }

    pub(crate) async fn bounded(bounds: HttpLimits) -> Self {
        Self::build(TestAccess::default(), SiteOptions { bounds, ..SiteOptions::default() }).await
    }

    pub(crate) async fn build(door: TestAccess, build: SiteOptions) -> Self {
        let tally = Arc::<ConnectionStats>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let closing = CancellationToken::new();
        let web = HttpServerSetup {
            access: guarded(door),
            enabled: EnabledProtocols { http: true, sse: true, websocket: true },
            name: "docent".into(),
            version: "1".into(),
            hosts: vec!["docent.example".into()],
            origins: vec!["https://app.example".into()],
            handshake: HandshakePolicy::Required,
            message_bytes: LIMIT,
            limits: build.bounds,
            stats: Arc::clone(&tally),
            tls: build.tls,
            protected: build.oauth,
            pages: None,
            traffic: build.traffic,
            metrics: Arc::new(String::new),
            tools: Arc::new(Vec::new),
            closing: closing.clone(),
            stopped: closing.clone(),
        };
        let waiting = Arc::<AtomicUsize>::default();
        let echo = EchoServer { closing: closing.clone(), waiting: Arc::clone(&waiting) };
        let serving = tokio::spawn(http::serve(listener, Arc::new(move || echo.clone()), web));
        Self { port, closing, serving, tally, waiting }
    }

    /// One request on a connection of its own: status, headers in lower case, body.
    pub(crate) async fn send(
        &self,
        head: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String, String) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        socket.write_all(self.raw(head, headers, body).as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        timeout(Duration::from_secs(10), socket.read_to_end(&mut reply))
            .await
            .expect("hangs")
            .unwrap();
        let reply = String::from_utf8(reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), body.to_owned())
    }

    pub(crate) fn raw(&self, head: &str, headers: &[(&str, &str)], body: &str) -> String {
        let host = ("Host".to_owned(), format!("127.0.0.1:{}", self.port));
        let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let given = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let lines: Vec<String> = given
            .chain((!has_host).then_some(host))
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!(
            "{head} HTTP/1.1\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{body}",
            lines.concat(),
            body.len()
        )
    }

    /// A JSON POST.
    pub(crate) async fn post(
        &self,
        headers: &[(&str, &str)],
        message: &Value,
    ) -> (u16, String, String) {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend_from_slice(headers);
        self.send("POST /mcp", &all, &message.to_string()).await
    }
}
