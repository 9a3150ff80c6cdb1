//! Clients that connect, do the handshake and then stay silent, over legacy SSE and WebSocket.

use super::{message, reply};
use anyhow::{Context, Result, ensure};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// A server that is silent for longer has dropped the client.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// A connected client after its handshake; dropping it disconnects.
#[derive(Debug)]
pub(crate) struct IdleClient {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl IdleClient {
    /// Connects over legacy SSE: a stream, and posts to the URL that it names.
    pub(crate) fn sse(port: u16) -> Result<Self> {
        let mut client = Self::connect(port)?;
        client.write(
            format!(
                "GET /sse HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n"
            )
            .as_bytes(),
        )?;
        let head = client.read_until(b"\r\n\r\n")?;
        client.heard.drain(..head);
        // The first event names the URL to post to.
        let mark = b"data:";
        let start = client.read_until(mark)? + mark.len();
        client.heard.drain(..start);
        let end = client.read_until(b"\n")?;
        let endpoint =
            String::from_utf8_lossy(client.heard.get(..end).unwrap_or_default()).trim().to_owned();
        post(port, &endpoint, &message::initialize())?;
        client.read_until(br#""protocolVersion""#)?;
        post(port, &endpoint, message::INITIALIZED)?;
        client.heard = Vec::new();
        Ok(client)
    }

    /// Connects over WebSocket.
    pub(crate) fn web_socket(port: u16) -> Result<Self> {
        let mut client = Self::connect(port)?;
        client.write(
            format!(
                "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ZG9jZW50LWJlbmNobWFyaw==\r\n\
                 Sec-WebSocket-Protocol: mcp\r\n\r\n"
            )
            .as_bytes(),
        )?;
        client.read_until(b"\r\n\r\n")?;
        let status =
            String::from_utf8_lossy(client.heard.get(..12).unwrap_or_default()).into_owned();
        ensure!(status.ends_with("101"), "the upgrade was answered with {status}");
        client.write(&text_frame(&message::initialize()))?;
        client.read_until(br#""protocolVersion""#)?;
        client.write(&text_frame(message::INITIALIZED))?;
        client.heard = Vec::new();
        Ok(client)
    }

    fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("connecting to the server")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok(Self { stream, heard: Vec::new() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("writing to the server")
    }

    /// Reads until the mark has arrived; returns its position.
    fn read_until(&mut self, mark: &[u8]) -> Result<usize> {
        loop {
            if let Some(at) = reply::find(&self.heard, mark) {
                return Ok(at);
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes).with_context(|| {
                format!(
                    "waiting for {:?}, after {:?}",
                    String::from_utf8_lossy(mark),
                    self.received_text()
                )
            })?;
            ensure!(read > 0, "the server closed the connection after {:?}", self.received_text());
            self.heard.extend_from_slice(bytes.get(..read).unwrap_or_default());
        }
    }

    fn received_text(&self) -> String {
        String::from_utf8_lossy(&self.heard).into_owned()
    }
}

/// Posts on a separate connection, closed after the reply: an idle client only keeps its stream open.
fn post(port: u16, path: &str, body: &str) -> Result<()> {
    let mut client = IdleClient::connect(port)?;
    client.write(
        format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .as_bytes(),
    )?;
    client.read_until(b"\r\n\r\n")?;
    let status = String::from_utf8_lossy(client.heard.get(9..12).unwrap_or_default()).into_owned();
    ensure!(status.starts_with('2'), "POST {path} was answered with {:?}", client.received_text());
    Ok(())
}

/// Encodes a client's text frame. RFC 6455 requires a mask; a zero mask leaves the text as it is.
fn text_frame(text: &str) -> Vec<u8> {
    const FINAL_TEXT: u8 = 0x81;
    const MASKED: u8 = 0x80;
    const TWO_BYTE_LENGTH: u8 = 0x7e;
    const EIGHT_BYTE_LENGTH: u8 = 0x7f;
    let mut frame = vec![FINAL_TEXT];
    match (u8::try_from(text.len()), u16::try_from(text.len())) {
        (Ok(short @ ..=125), _) => frame.push(MASKED | short),
        (_, Ok(medium)) => {
            frame.push(MASKED | TWO_BYTE_LENGTH);
            frame.extend(medium.to_be_bytes());
        }
        _ => {
            frame.push(MASKED | EIGHT_BYTE_LENGTH);
            frame.extend((text.len() as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_lengths() {
        let check = |length: usize, header: &[u8]| {
            let frame = text_frame(&"x".repeat(length));
            assert_eq!(frame.get(..header.len()), Some(header), "{length}");
            assert_eq!(frame.len(), header.len() + 4 + length, "{length}");
        };
        check(0, &[0x81, 0x80]);
        check(125, &[0x81, 0xfd]);
        check(126, &[0x81, 0xfe, 0, 126]);
        check(65_535, &[0x81, 0xfe, 255, 255]);
        check(65_536, &[0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
