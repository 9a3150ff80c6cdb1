//! The WebSocket transport: one text frame per message.

use super::{INBOX_CAPACITY, TestClient, TestClientError, TestTransport, deliver};
use docent_tool::BoxedFuture;
use futures::{SinkExt, StreamExt, stream::SplitSink};
use tokio::{net::TcpStream, sync::mpsc, task::JoinSet};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        Message,
        client::IntoClientRequest,
        error::Error,
        http::{HeaderName, HeaderValue},
    },
};

/// A client of a WebSocket endpoint.
pub type WsTestClient = TestClient<WsTestTransport>;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Sends each message as a text frame.
#[derive(Debug)]
pub struct WsTestTransport {
    frames: SplitSink<Socket, Message>,
    reading: JoinSet<()>,
}

impl WsTestClient {
    /// Connects to this URL, such as `ws://127.0.0.1:8001/ws`.
    pub async fn connect_ws(uri: &str) -> Result<Self, TestClientError> {
        Self::connect_ws_with(uri, &[]).await
    }

    /// The same, with these headers on the upgrade. A rejected upgrade is [`TestClientError::Status`].
    pub async fn connect_ws_with(
        uri: &str,
        extra: &[(&'static str, &str)],
    ) -> Result<Self, TestClientError> {
        let broken = |e: Error| TestClientError::broken(format!("connecting to {uri}"))(e.into());
        let mut request = uri.into_client_request().map_err(broken)?;
        for (name, value) in extra {
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        let (socket, _) = connect_async(request).await.map_err(|error| match error {
            Error::Http(response) => TestClientError::Status {
                status: response.status().as_u16(),
                body: String::from_utf8_lossy(response.body().as_deref().unwrap_or_default())
                    .into_owned(),
            },
            other => broken(other),
        })?;
        let (frames, mut received_frames) = socket.split();
        let (inbox, received) = mpsc::channel(INBOX_CAPACITY);
        let mut reading = JoinSet::new();
        reading.spawn(async move {
            while let Some(Ok(frame)) = received_frames.next().await {
                let Message::Text(text) = frame else { continue };
                if !deliver(&inbox, &text).await {
                    return;
                }
            }
        });
        Ok(Self::new(WsTestTransport { frames, reading }, received))
    }

    /// Whether the server keeps the socket open.
    pub fn is_open(&mut self) -> bool {
        self.wire.reading.try_join_next().is_none() && !self.wire.reading.is_empty()
    }

    /// Closes the socket.
    pub async fn close(&mut self) -> Result<(), TestClientError> {
        self.wire
            .frames
            .close()
            .await
            .map_err(|e| TestClientError::broken("closing the socket")(e.into()))
    }
}

impl TestTransport for WsTestTransport {
    fn send(&mut self, text: String) -> BoxedFuture<'_, Result<(), TestClientError>> {
        Box::pin(async move {
            let sent = self.frames.send(Message::text(text)).await;
            sent.map_err(|e| TestClientError::broken("writing to the socket")(e.into()))
        })
    }
}
