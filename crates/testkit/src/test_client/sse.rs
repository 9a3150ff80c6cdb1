//! The legacy SSE transport: a stream of server messages, and a URL to post to.

use super::{
    INBOX_CAPACITY, MessageInbox, TestClient, TestClientError, TestTransport, deliver,
    events::AnswerEvents,
    http::{body_text, exchange, parse},
};
use bytes::Bytes;
use docent_tool::BoxedFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

/// A client of an SSE endpoint.
pub type SseTestClient = TestClient<SseTestTransport>;

/// Posts each message; answers arrive on the stream.
#[derive(Debug)]
pub struct SseTestTransport {
    messages: Uri,
    headers: HeaderMap,
    reading: JoinSet<()>,
}

impl SseTestClient {
    /// Opens the stream at this URL, such as `http://127.0.0.1:8001/sse`, and waits for the URL for posts.
    pub async fn connect_sse(uri: &str) -> Result<Self, TestClientError> {
        Self::connect_sse_with(uri, &[]).await
    }

    /// The same, with these headers on the stream and on each post.
    pub async fn connect_sse_with(
        uri: &str,
        extra: &[(&'static str, &str)],
    ) -> Result<Self, TestClientError> {
        let uri = parse(uri)?;
        let mut headers = HeaderMap::new();
        if let Some(host) = uri.authority().and_then(|a| HeaderValue::from_str(a.as_str()).ok()) {
            headers.insert(header::HOST, host);
        }
        for (name, value) in extra {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        let mut request = request(Method::GET, &uri, &headers, Bytes::new());
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = exchange(request).await?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(TestClientError::Status { status, body: body_text(response).await? });
        }
        let mut events = AnswerEvents::new(response);
        let messages = message_address(&uri, &mut events).await?;
        let (inbox, received) = mpsc::channel(INBOX_CAPACITY);
        let mut reading = JoinSet::new();
        reading.spawn(read(events, inbox));
        Ok(Self::new(SseTestTransport { messages, headers, reading }, received))
    }

    /// Whether the server keeps the stream open.
    pub fn is_open(&mut self) -> bool {
        self.wire.reading.try_join_next().is_none() && !self.wire.reading.is_empty()
    }
}

impl TestTransport for SseTestTransport {
    fn send(&mut self, text: String) -> BoxedFuture<'_, Result<(), TestClientError>> {
        Box::pin(async move {
            let mut request = request(Method::POST, &self.messages, &self.headers, text.into());
            request
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let response = exchange(request).await?;
            let status = response.status().as_u16();
            if status < 300 {
                return Ok(());
            }
            Err(TestClientError::Status { status, body: body_text(response).await? })
        })
    }
}

fn request(method: Method, uri: &Uri, headers: &HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri.clone();
    *request.headers_mut() = headers.clone();
    request
}

/// Reads the URL for posts from the first event; it may be relative.
async fn message_address(stream: &Uri, events: &mut AnswerEvents) -> Result<Uri, TestClientError> {
    let closed =
        || TestClientError::Closed { waiting_for: "the endpoint event".into(), heard: Vec::new() };
    let first = timeout(super::DEFAULT_TIMEOUT, events.next())
        .await
        .map_err(|_| closed())?
        .ok_or_else(closed)?;
    if first.name.as_deref() != Some("endpoint") {
        let source = format!("the first event is {first:?}").into();
        return Err(TestClientError::Broken {
            what: "waiting for the endpoint event".into(),
            source,
        });
    }
    if first.data.starts_with("http") {
        return parse(&first.data);
    }
    let authority = stream.authority().map(ToString::to_string).unwrap_or_default();
    parse(&format!("http://{authority}{}", first.data))
}

async fn read(mut events: AnswerEvents, inbox: MessageInbox) {
    while let Some(event) = events.next().await {
        if !deliver(&inbox, &event.data).await {
            return;
        }
    }
}
