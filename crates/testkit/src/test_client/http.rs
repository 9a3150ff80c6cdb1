//! Streamable HTTP, and plain POST: each message is a separate HTTP request.

use super::{
    INBOX_CAPACITY, MessageInbox, TestClient, TestClientError, TestTransport, deliver,
    events::AnswerEvents,
};
use bytes::Bytes;
use docent_tool::BoxedFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::{net::TcpStream, sync::mpsc, task::JoinSet};

const SESSION_HEADER: &str = "mcp-session-id";
const VERSION_HEADER: &str = "mcp-protocol-version";

/// A client of an HTTP endpoint.
pub type HttpTestClient = TestClient<HttpTestTransport>;

/// Posts each message to one URL. The headers required by the protocol are taken from the message.
#[derive(Debug)]
pub struct HttpTestTransport {
    endpoint: HttpEndpoint,
    inbox: MessageInbox,
    running: JoinSet<()>,
}

#[derive(Debug, Clone)]
struct HttpEndpoint {
    uri: Uri,
    headers: HeaderMap,
    learned: Arc<Mutex<HttpSessionState>>,
}

/// The session state learned from the server's answers.
#[derive(Debug, Default)]
struct HttpSessionState {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    statuses: Vec<u16>,
}

impl HttpTestClient {
    /// Creates a client for this URL, such as `http://127.0.0.1:8001/mcp`. Nothing is sent yet.
    pub fn new_http(uri: &str) -> Result<Self, TestClientError> {
        let (inbox, received) = mpsc::channel(INBOX_CAPACITY);
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let endpoint = HttpEndpoint { uri: parse(uri)?, headers, learned: Arc::default() };
        Ok(Self::new(HttpTestTransport { endpoint, inbox, running: JoinSet::new() }, received))
    }

    /// Sends this header with every message; an empty value removes the header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let name = HeaderName::from_static(name);
        match HeaderValue::from_str(value) {
            Ok(value) if !value.is_empty() => drop(self.wire.endpoint.headers.insert(name, value)),
            _ => drop(self.wire.endpoint.headers.remove(name)),
        }
        self
    }

    /// Opens the session's stream for unsolicited server messages.
    pub async fn listen(&mut self) -> Result<(), TestClientError> {
        let mut request = self.wire.endpoint.request(Method::GET, None, Bytes::new());
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = exchange(request).await?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(TestClientError::Status { status, body: body_text(response).await? });
        }
        let (endpoint, inbox) = (self.wire.endpoint.clone(), self.wire.inbox.clone());
        self.wire.running.spawn(async move { endpoint.read_stream(response, &inbox).await });
        Ok(())
    }

    /// Ends the session and returns the status.
    pub async fn close(&mut self) -> Result<u16, TestClientError> {
        let request = self.wire.endpoint.request(Method::DELETE, None, Bytes::new());
        Ok(exchange(request).await?.status().as_u16())
    }

    /// The session id, once the server has assigned one.
    pub fn session(&self) -> Option<String> {
        let learned = self.wire.endpoint.session_state();
        learned.session.as_ref().and_then(|session| session.to_str().ok()).map(str::to_owned)
    }

    /// The status of each response, in order of arrival.
    pub fn statuses(&self) -> Vec<u16> {
        self.wire.endpoint.session_state().statuses.clone()
    }
}

impl TestTransport for HttpTestTransport {
    fn send(&mut self, text: String) -> BoxedFuture<'_, Result<(), TestClientError>> {
        Box::pin(async move {
            let message = serde_json::from_str::<Value>(&text).ok();
            let wants_answer =
                message.as_ref().is_none_or(|m| m.get("id").is_some() && m.get("method").is_some());
            let request = self.endpoint.request(Method::POST, message.as_ref(), text.into());
            let (endpoint, inbox) = (self.endpoint.clone(), self.inbox.clone());
            if !wants_answer && !message.is_some_and(|m| m.is_array()) {
                // The next message must not overtake this one.
                return endpoint.post(request, &inbox).await;
            }
            self.running.spawn(async move {
                if let Err(error) = endpoint.post(request, &inbox).await {
                    // This fails if the client has stopped waiting.
                    inbox.send(Err(error)).await.unwrap_or(());
                }
            });
            Ok(())
        })
    }
}

impl HttpEndpoint {
    fn session_state(&self) -> std::sync::MutexGuard<'_, HttpSessionState> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(
        &self,
        method: Method,
        message: Option<&Value>,
        body: Bytes,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        let mut headers = HeaderMap::new();
        if let Some(host) =
            self.uri.authority().and_then(|a| HeaderValue::from_str(a.as_str()).ok())
        {
            headers.insert(header::HOST, host);
        }
        let learned = self.session_state();
        if let Some(session) = &learned.session {
            headers.insert(SESSION_HEADER, session.clone());
        }
        if let Some(version) = &learned.version {
            headers.insert(VERSION_HEADER, version.clone());
        }
        drop(learned);
        headers.extend(message.map(message_headers).unwrap_or_default());
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        *request.headers_mut() = headers;
        request
    }

    async fn post(
        &self,
        request: Request<Full<Bytes>>,
        inbox: &MessageInbox,
    ) -> Result<(), TestClientError> {
        let response = exchange(request).await?;
        let status = response.status().as_u16();
        {
            let mut learned = self.session_state();
            learned.statuses.push(status);
            if let Some(session) = response.headers().get(SESSION_HEADER) {
                learned.session = Some(session.clone());
            }
        }
        let kind = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            self.read_stream(response, inbox).await;
            return Ok(());
        }
        let body = body_text(response).await?;
        if body.is_empty() && status < 300 {
            return Ok(());
        }
        match serde_json::from_str::<Value>(&body) {
            Ok(message) if message.is_array() || message.get("jsonrpc").is_some() => {
                self.take(&body, inbox).await;
                Ok(())
            }
            _ => Err(TestClientError::Status { status, body }),
        }
    }

    async fn read_stream(&self, response: Response<Incoming>, inbox: &MessageInbox) {
        let mut events = AnswerEvents::new(response);
        while let Some(event) = events.next().await {
            // An event without data only has an id to resume from.
            if !event.data.is_empty() && !self.take(&event.data, inbox).await {
                return;
            }
        }
    }

    async fn take(&self, text: &str, inbox: &MessageInbox) -> bool {
        let message = serde_json::from_str::<Value>(text).unwrap_or_default();
        let version = message.pointer("/result/protocolVersion").and_then(Value::as_str);
        // Older revisions don't define the header.
        let version = version.filter(|version| *version >= "2025-06-18");
        if let Some(version) = version.and_then(|version| HeaderValue::from_str(version).ok()) {
            self.session_state().version = Some(version);
        }
        deliver(inbox, text).await
    }
}

/// The headers that repeat parts of the message, in the revisions that have them.
fn message_headers(message: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let version = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
    let Some(version) = version.and_then(Value::as_str) else { return headers };
    let params = &message["params"];
    let method = message["method"].as_str().unwrap_or_default();
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
        _ => None,
    };
    for (header, value) in
        [(VERSION_HEADER, Some(version)), ("mcp-method", Some(method)), ("mcp-name", name)]
    {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(header, value);
        }
    }
    headers
}

/// Parses the URL of an endpoint.
pub(super) fn parse(uri: &str) -> Result<Uri, TestClientError> {
    uri.parse().map_err(|e: http::uri::InvalidUri| {
        TestClientError::broken(format!("parsing the URL {uri}"))(e.into())
    })
}

/// Sends one request on a separate connection.
pub(super) async fn exchange(
    mut request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, TestClientError> {
    let uri = std::mem::take(request.uri_mut());
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = parse(path)?;
    let broken = || TestClientError::broken(format!("talking to {uri}"));
    let stream = TcpStream::connect(authority).await.map_err(|e| broken()(e.into()))?;
    stream.set_nodelay(true).map_err(|e| broken()(e.into()))?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|e| broken()(e.into()))?;
    // Ends with the response's body; an error is visible there too.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|e| broken()(e.into()))
}

/// Reads the complete body as text.
pub(super) async fn body_text(response: Response<Incoming>) -> Result<String, TestClientError> {
    let body = response.into_body().collect().await;
    let body = body.map_err(|e| TestClientError::broken("reading the answer")(e.into()))?;
    Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
}
