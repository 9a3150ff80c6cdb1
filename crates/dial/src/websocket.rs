//! WebSocket: one message per frame in both directions, with the subprotocol `mcp`.

use crate::{
    ClientTransport, HttpSettings, Outgoing, Running, TransportEvent, TransportFailure,
    TransportListener,
    answers::{self, AwaitedAnswers},
    headers,
    http_sender::{shorten, web_url},
    sign_in::Challenge,
    tls,
};
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use http::{HeaderValue, header};
use rustls::pki_types::ServerName;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Mutex,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest,
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

const SUBPROTOCOL: HeaderValue = HeaderValue::from_static("mcp");
/// How long a close frame may take to send.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum sign-ins: a first token, and one with more scopes.
const MAX_CHALLENGES: usize = 2;

trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}
type Socket = WebSocketStream<Box<dyn ByteStream>>;

/// Connects to a `ws:` or `wss:` URL; headers and tokens go with the upgrade.
pub async fn open(
    settings: HttpSettings,
    listener: Arc<dyn TransportListener>,
) -> Result<Arc<dyn ClientTransport>, TransportFailure> {
    let url = web_url(&settings.url, &["ws", "wss"])?;
    let socket = connect(&settings, &url).await?;
    let (sink, stream) = socket.split();
    let way = Arc::new(WebSocketConnection {
        sink: Mutex::new(Some(sink)),
        listener,
        idle: settings.idle_timeout,
        ending: CancellationToken::new(),
        reading: TaskTracker::new(),
    });
    let reader = Arc::clone(&way);
    way.reading.spawn(async move {
        let end = reader.ending.run_until_cancelled(reader.read(stream)).await;
        reader.ending.cancel();
        reader.sink.lock().await.take();
        let failure = end.unwrap_or_else(|| TransportFailure::Lost("docent closed it".into()));
        reader.listener.event(TransportEvent::Closed(failure));
    });
    way.reading.close();
    Ok(Arc::new(WebSocketTransport { way }))
}

struct WebSocketTransport {
    way: Arc<WebSocketConnection>,
}

impl Drop for WebSocketTransport {
    fn drop(&mut self) {
        self.way.ending.cancel();
    }
}

struct WebSocketConnection {
    /// `None` once the line has ended, so that the connection is closed with it.
    sink: Mutex<Option<SplitSink<Socket, Message>>>,
    listener: Arc<dyn TransportListener>,
    idle: Duration,
    ending: CancellationToken,
    reading: TaskTracker,
}

impl ClientTransport for WebSocketTransport {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>> {
        Box::pin(async move {
            let way = &self.way;
            if way.ending.is_cancelled() {
                return Err(TransportFailure::Unreachable("the connection is closed".to_owned()));
            }
            let sending = way.send_frame(Message::text(outgoing.message.to_string()), way.idle);
            match way.ending.run_until_cancelled(sending).await {
                Some(outcome) => outcome,
                None => Err(TransportFailure::Lost("the connection is closed".to_owned())),
            }
        })
    }

    fn close(&self) -> Running<'_, ()> {
        Box::pin(async move {
            let way = &self.way;
            if !way.ending.is_cancelled() {
                let goodbye = CloseFrame { code: CloseCode::Normal, reason: "".into() };
                if let Err(failure) =
                    way.send_frame(Message::Close(Some(goodbye)), CLOSE_TIMEOUT).await
                {
                    tracing::debug!("failed to send the close frame: {failure}");
                }
            }
            way.ending.cancel();
            way.reading.wait().await;
        })
    }
}

impl WebSocketConnection {
    async fn send_frame(&self, message: Message, limit: Duration) -> Result<(), TransportFailure> {
        let sending = async {
            match self.sink.lock().await.as_mut() {
                Some(sink) => sink.send(message).await,
                None => Err(tungstenite::Error::AlreadyClosed),
            }
        };
        match timeout(limit, sending).await {
            Ok(sent) => sent.map_err(|error| socket_failure(&error)),
            Err(_) => Err(TransportFailure::Lost("the server stopped reading".to_owned())),
        }
    }

    /// Delivers all messages until the connection ends. A silent server is pinged.
    async fn read(&self, mut stream: SplitStream<Socket>) -> TransportFailure {
        let mut asked = false;
        loop {
            let Ok(next) = timeout(self.idle, stream.next()).await else {
                if asked {
                    return TransportFailure::Lost("the server did not answer a ping".to_owned());
                }
                asked = true;
                if let Err(failure) =
                    self.send_frame(Message::Ping(Vec::new().into()), self.idle).await
                {
                    return failure;
                }
                continue;
            };
            asked = false;
            let listener = self.listener.as_ref();
            match next {
                Some(Ok(Message::Text(text))) => {
                    answers::deliver_text(
                        text.as_bytes(),
                        &mut AwaitedAnswers::default(),
                        listener,
                    );
                }
                Some(Ok(Message::Binary(bytes))) => {
                    answers::deliver_text(&bytes, &mut AwaitedAnswers::default(), listener);
                }
                Some(Ok(Message::Close(frame))) => return close_failure(frame.as_ref()),
                // The library answers pings during reads and writes, which are frequent.
                Some(Ok(_)) => {}
                Some(Err(error)) => return socket_failure(&error),
                None => return TransportFailure::Lost("the server went away".to_owned()),
            }
        }
    }
}

fn close_failure(frame: Option<&CloseFrame>) -> TransportFailure {
    let Some(frame) = frame else {
        return TransportFailure::Lost("the server closed it".to_owned());
    };
    let code = u16::from(frame.code);
    let reason = shorten(&frame.reason);
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    TransportFailure::Lost(format!("the server closed it with code {code}{reason}"))
}

fn socket_failure(error: &tungstenite::Error) -> TransportFailure {
    match error {
        tungstenite::Error::Capacity(_)
        | tungstenite::Error::Protocol(_)
        | tungstenite::Error::Utf8(_) => TransportFailure::Malformed(error.to_string()),
        other => TransportFailure::Lost(other.to_string()),
    }
}

/// Connects and upgrades. Signs in first if the server requires a token.
async fn connect(settings: &HttpSettings, url: &Url) -> Result<Socket, TransportFailure> {
    let mut challenges = 0;
    loop {
        let token = match &settings.sign_in {
            Some(sign_in) => sign_in.token().await,
            None => None,
        };
        let attempt = upgrade(settings, url, token.as_deref());
        let limit = settings.connect_timeout.saturating_add(settings.idle_timeout);
        let response = match timeout(limit, attempt).await {
            Err(_) => {
                return Err(TransportFailure::Unreachable(
                    "the WebSocket upgrade timed out".to_owned(),
                ));
            }
            Ok(Ok(Ok(socket))) => return Ok(socket),
            Ok(Ok(Err(response))) => response,
            Ok(Err(failure)) => return Err(failure),
        };
        let status = response.status().as_u16();
        let header = response.headers().get(header::WWW_AUTHENTICATE);
        let header = header.and_then(|header| header.to_str().ok()).unwrap_or_default().to_owned();
        let wants = status == 401 || status == 403 && header.contains("insufficient_scope");
        challenges += 1;
        match &settings.sign_in {
            Some(sign_in) if wants && challenges <= MAX_CHALLENGES => {
                let challenge = Challenge { status, www_authenticate: header, refused: token };
                sign_in.challenged(challenge).await?;
            }
            _ if status == 401 => {
                return Err(TransportFailure::Unauthorized(
                    "it answered 401 to the upgrade".to_owned(),
                ));
            }
            _ => {
                let body = response.body().as_deref().unwrap_or_default();
                let text = shorten(&String::from_utf8_lossy(body));
                return Err(TransportFailure::Refused { status, text });
            }
        }
    }
}

type Refused = http::Response<Option<Vec<u8>>>;

async fn upgrade(
    settings: &HttpSettings,
    url: &Url,
    token: Option<&str>,
) -> Result<Result<Socket, Box<Refused>>, TransportFailure> {
    let unusable = |error: &dyn std::fmt::Display| TransportFailure::Unreachable(error.to_string());
    let mut request = url.as_str().into_client_request().map_err(|error| unusable(&error))?;
    let fields = request.headers_mut();
    fields.extend(
        headers::parse_configured(&settings.headers).map_err(TransportFailure::Unreachable)?,
    );
    fields.insert(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
            TransportFailure::Unauthorized(
                "the token contains characters that are not allowed in a header".into(),
            )
        })?;
        fields.insert(header::AUTHORIZATION, value);
    }
    let limits = WebSocketConfig::default()
        .max_message_size(Some(settings.message_bytes))
        .max_frame_size(Some(settings.message_bytes));
    let stream = timeout(settings.connect_timeout, plain_or_encrypted(url))
        .await
        .map_err(|_| TransportFailure::Unreachable("the connection timed out".to_owned()))??;
    match client_async_with_config(request, stream, Some(limits)).await {
        Ok((socket, _)) => Ok(Ok(socket)),
        Err(tungstenite::Error::Http(response)) => Ok(Err(response)),
        Err(error) => Err(TransportFailure::Unreachable(format!("the upgrade failed: {error}"))),
    }
}

async fn plain_or_encrypted(url: &Url) -> Result<Box<dyn ByteStream>, TransportFailure> {
    let unreachable =
        |error: &dyn std::fmt::Display| TransportFailure::Unreachable(error.to_string());
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or(80);
    let stream = TcpStream::connect((bare, port)).await.map_err(|error| unreachable(&error))?;
    stream.set_nodelay(true).map_err(|error| unreachable(&error))?;
    if url.scheme() == "ws" {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(bare.to_owned()).map_err(|error| unreachable(&error))?;
    let connector =
        tokio_rustls::TlsConnector::from(tls::client().map_err(TransportFailure::Unreachable)?);
    let stream = connector.connect(name, stream).await.map_err(|error| {
        if tls::is_missing(&error) {
            return TransportFailure::Unreachable(tls::NO_TLS_HINT.to_owned());
        }
        unreachable(&error)
    })?;
    Ok(Box::new(stream))
}
