//! HTTP/1.1 on a blocking socket: complete replies, and event streams that stay open.

use crate::bench::reply::{self, HttpReply};
use anyhow::{Context, Result, bail};
use rustix::net::sockopt;
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// A server that doesn't accept written bytes for this long is stuck.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to a port of this machine.
pub(super) fn connect(port: u16) -> Result<TcpStream> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).context("connecting")?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    Ok(stream)
}

/// Ends a connection with a reset instead of an orderly close.
pub(super) fn reset(stream: &TcpStream) {
    // If the option can't be set, the connection still ends.
    sockopt::set_socket_linger(stream, Some(Duration::ZERO)).ok();
}

/// The connection ended before any byte of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClosedBeforeReply;

impl std::fmt::Display for ClosedBeforeReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server closed the connection")
    }
}

impl std::error::Error for ClosedBeforeReply {}

/// One connection.
#[derive(Debug)]
pub(super) struct RawHttpConnection {
    pub(super) stream: TcpStream,
    buffer: Vec<u8>,
}

impl RawHttpConnection {
    /// Opens a connection.
    pub(super) fn open(port: u16) -> Result<Self> {
        Ok(Self { stream: connect(port)?, buffer: Vec::new() })
    }

    /// Sends a request with a JSON body; `head` has the request line and complete header lines.
    pub(super) fn post(&mut self, head: &str, body: &str) -> Result<()> {
        let request = format!(
            "{head}Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.write(&request)
    }

    /// Sends a request without a body.
    pub(super) fn get(&mut self, head: &str) -> Result<()> {
        self.write(&format!("{head}Host: 127.0.0.1\r\n\r\n"))
    }

    fn write(&mut self, request: &str) -> Result<()> {
        self.stream.write_all(request.as_bytes()).map_err(|problem| match problem.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                anyhow::Error::new(problem).context(ClosedBeforeReply)
            }
            _ => anyhow::Error::new(problem).context("writing"),
        })
    }

    /// Returns the next complete reply, or `None` when time is up.
    pub(super) fn reply(&mut self, deadline: Instant) -> Result<Option<HttpReply>> {
        loop {
            if let Some((reply, taken)) = reply::parse(&self.buffer)? {
                self.buffer.drain(..taken);
                return Ok(Some(reply));
            }
            if !self.fill(deadline)? {
                return Ok(None);
            }
        }
    }

    /// Reads available bytes; false when time is up. The end of the stream is an error.
    fn fill(&mut self, deadline: Instant) -> Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) if self.buffer.is_empty() => Err(ClosedBeforeReply.into()),
            Ok(0) => bail!("the server closed the connection in the middle of a reply"),
            Ok(read) => {
                self.buffer.extend_from_slice(bytes.get(..read).unwrap_or_default());
                Ok(true)
            }
            Err(problem) if is_timeout(problem.kind()) => Ok(false),
            Err(problem)
                if problem.kind() == ErrorKind::ConnectionReset && self.buffer.is_empty() =>
            {
                Err(problem).context(ClosedBeforeReply)
            }
            Err(problem) => Err(problem).context("reading"),
        }
    }
}

/// Whether this is one of the two error kinds of a read timeout.
pub(super) fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// An open stream of server-sent events.
#[derive(Debug)]
pub(super) struct RawEventStream {
    wire: RawHttpConnection,
    decoded: Vec<u8>,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RawEvent {
    pub(super) name: String,
    pub(super) data: String,
}

impl RawEventStream {
    /// Requests the stream and reads the head of the reply.
    pub(super) fn open(mut wire: RawHttpConnection, head: &str, deadline: Instant) -> Result<Self> {
        wire.get(head)?;
        loop {
            if let Some(at) = reply::find(&wire.buffer, b"\r\n\r\n") {
                let head: Vec<u8> = wire.buffer.drain(..at + 4).collect();
                let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
                if !head.starts_with("http/1.1 200") || !head.contains("chunked") {
                    bail!("no event stream: {head}");
                }
                return Ok(Self { wire, decoded: Vec::new() });
            }
            if !wire.fill(deadline)? {
                bail!("no event stream in time");
            }
        }
    }

    /// Returns the next event, or `None` when time is up.
    pub(super) fn next(&mut self, deadline: Instant) -> Result<Option<RawEvent>> {
        loop {
            while take_chunk(&mut self.wire.buffer, &mut self.decoded)? {}
            if let Some(event) = take_event(&mut self.decoded) {
                return Ok(Some(event));
            }
            if !self.wire.fill(deadline)? {
                return Ok(None);
            }
        }
    }

    /// The socket, to end it in another way than by dropping it.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.wire.stream
    }
}

/// Moves the content of one complete chunk; false if there is none yet.
fn take_chunk(buffer: &mut Vec<u8>, decoded: &mut Vec<u8>) -> Result<bool> {
    let Some(line) = reply::find(buffer, b"\r\n") else { return Ok(false) };
    let size = String::from_utf8_lossy(buffer.get(..line).unwrap_or_default()).into_owned();
    let size = size.split(';').next().unwrap_or_default().trim();
    let Ok(size) = usize::from_str_radix(size, 16) else { bail!("invalid chunk size: {size:?}") };
    if size == 0 {
        bail!("the server ended the event stream");
    }
    let start = line + 2;
    let Some(content) = buffer.get(start..start + size) else { return Ok(false) };
    if buffer.len() < start + size + 2 {
        return Ok(false);
    }
    decoded.extend_from_slice(content);
    buffer.drain(..start + size + 2);
    Ok(true)
}

/// Takes one complete event, which ends with an empty line.
fn take_event(decoded: &mut Vec<u8>) -> Option<RawEvent> {
    let end = reply::find(decoded, b"\n\n")?;
    let text: Vec<u8> = decoded.drain(..end + 2).collect();
    let text = String::from_utf8_lossy(&text);
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    Some(RawEvent { name: field("event"), data: field("data") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_events_may_be_split_anywhere() {
        let whole = b"14\r\nevent: endpoint\ndata\r\n3;x=y\r\n: a\r\n2\r\n\n\n\r\n";
        for cut in 0..=whole.len() {
            let (mut buffer, mut decoded) = (Vec::new(), Vec::new());
            let mut found = Vec::new();
            for part in [&whole[..cut], &whole[cut..]] {
                buffer.extend_from_slice(part);
                while take_chunk(&mut buffer, &mut decoded).unwrap() {}
                found.extend(take_event(&mut decoded));
            }
            let expected = RawEvent { name: "endpoint".into(), data: "a".into() };
            assert_eq!(found, [expected], "cut at {cut}");
            assert!(buffer.is_empty() && decoded.is_empty());
        }
    }

    #[test]
    fn a_stream_that_ends_or_breaks_is_an_error() {
        for text in ["0\r\n\r\n", "xyz\r\n", "\r\n"] {
            take_chunk(&mut text.as_bytes().to_vec(), &mut Vec::new()).unwrap_err();
        }
    }
}
