//! The WebSocket transport: one text frame per message.

use super::{INBOX, Peer, PeerError, Wire, deliver};
use docent_tool::Running;
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
pub type WsPeer = Peer<WebSocket>;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Sends each message as a text frame.
#[derive(Debug)]
pub struct WebSocket {
    frames: SplitSink<Socket, Message>,
    reading: JoinSet<()>,
}

impl WsPeer {
    /// Connects to this URL, such as `ws://127.0.0.1:8001/ws`.
    pub async fn connect_ws(uri: &str) -> Result<Self, PeerError> {
        Self::connect_ws_with(uri, &[]).await
    }

    /// The same, with these headers on the upgrade. A rejected upgrade is [`PeerError::Status`].
    pub async fn connect_ws_with(
        uri: &str,
        extra: &[(&'static str, &str)],
    ) -> Result<Self, PeerError> {
        let broken = |e: Error| PeerError::broken(format!("connecting to {uri}"))(e.into());
        let mut request = uri.into_client_request().map_err(broken)?;
        for (name, value) in extra {
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        let (socket, _) = connect_async(request).await.map_err(|error| match error {
            Error::Http(response) => PeerError::Status {
                status: response.status().as_u16(),
                body: String::from_utf8_lossy(response.body().as_deref().unwrap_or_default())
                    .into_owned(),
            },
            other => broken(other),
        })?;
        let (frames, mut received_frames) = socket.split();
        let (inbox, received) = mpsc::channel(INBOX);
        let mut reading = JoinSet::new();
        reading.spawn(async move {
            while let Some(Ok(frame)) = received_frames.next().await {
                let Message::Text(text) = frame else { continue };
                if !deliver(&inbox, &text).await {
                    return;
                }
            }
        });
        Ok(Self::new(WebSocket { frames, reading }, received))
    }

    /// Whether the server keeps the socket open.
    pub fn is_open(&mut self) -> bool {
        self.wire.reading.try_join_next().is_none() && !self.wire.reading.is_empty()
    }

    /// Closes the socket.
    pub async fn close(&mut self) -> Result<(), PeerError> {
        self.wire
            .frames
            .close()
            .await
            .map_err(|e| PeerError::broken("closing the socket")(e.into()))
    }
}

impl Wire for WebSocket {
    fn send(&mut self, text: String) -> Running<'_, Result<(), PeerError>> {
        Box::pin(async move {
            let sent = self.frames.send(Message::text(text)).await;
            sent.map_err(|e| PeerError::broken("writing to the socket")(e.into()))
        })
    }
}
