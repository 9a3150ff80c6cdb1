//! Serves the standard input and output of the process.

use crate::{
    AccessControl, Caller, CallerCredentials, ConnectionKind, Principal,
    frame_transport::{FrameTransport, Frames, LinkSetup},
    lines::{FrameTooLong, LineFrames},
};
use bytes::{Bytes, BytesMut};
use docent_traffic::Traffic;
use docent_wire::{HandshakePolicy, Nesting};
use rmcp::{ServerHandler, service::serve_directly};
use std::{io, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::UnixStream,
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// Maximum frames waiting for a slow reader.
const MAX_QUEUED_FRAMES: usize = 256;

/// Settings of [`serve`].
#[derive(Clone)]
pub struct Stdio {
    /// Access control.
    pub door: Arc<dyn AccessControl>,
    /// The principal, if it is known; then no token is required.
    pub principal: Option<Principal>,
    /// Whether the peer must open with `initialize`.
    pub handshake: HandshakePolicy,
    /// Maximum bytes of a message.
    pub message_bytes: usize,
    /// The traffic recording.
    pub traffic: Option<Arc<Traffic>>,
    /// Ends the connection: nothing more is read, running requests are answered. The end of the input cancels it.
    pub closing: CancellationToken,
}

/// Serves the process's own stdin and stdout until stdin ends or `closing` is cancelled.
pub async fn serve<H: ServerHandler>(handler: H, setup: Stdio) -> io::Result<()> {
    // Node gives its children sockets; a shell gives them pipes. Both can be driven without a thread per read.
    if let Some((reader, writer)) = socket_pair() {
        return serve_on(handler, setup, reader, writer).await;
    }
    let (reader, writer) = rmcp::transport::stdio_pipes();
    serve_on(handler, setup, reader, writer).await
}

/// Serves any pair of streams.
pub async fn serve_on<H, R, W>(handler: H, setup: Stdio, reader: R, writer: W) -> io::Result<()>
where
    H: ServerHandler,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let locked = setup.principal.is_none() && setup.door.needs_token();
    let principal = setup.principal.or_else(|| setup.door.identify(&CallerCredentials::default()));
    let principal = principal.unwrap_or_else(Principal::unknown);
    let (out, frames) = mpsc::channel(MAX_QUEUED_FRAMES);
    let caller = Caller { principal, via: ConnectionKind::Stdio, remote: None };
    let opening = LinkSetup {
        tap: setup.traffic.map(|traffic| caller.tap(&traffic)),
        caller,
        locked,
        take_slots: None,
        handshake: setup.handshake,
        message_bytes: setup.message_bytes,
        counted: false,
        certificate: None,
        access: setup.door,
        closing: setup.closing,
    };
    let frames_in = UntilEnd::new(reader, setup.message_bytes, opening.closing.clone());
    let link = FrameTransport::new(frames_in, out, opening);
    let writing = tokio::spawn(write_lines(writer, frames));
    let running = serve_directly(handler, link, None);
    running.waiting().await.map_err(io::Error::other)?;
    writing.await.map_err(io::Error::other)?
}

/// The end of the input closes the connection: earlier requests are still answered.
///
/// A line with only an opening bracket starts a pretty-printed message on several lines, which ends where its brackets
/// close.
struct UntilEnd<R> {
    lines: LineFrames<R>,
    limit: usize,
    laid_out: BytesMut,
    nesting: Nesting,
    closing: CancellationToken,
}

impl<R: AsyncRead + Unpin + Send> UntilEnd<R> {
    fn new(reader: R, limit: usize, closing: CancellationToken) -> Self {
        let (laid_out, nesting) = Default::default();
        Self { lines: LineFrames::new(reader, limit), limit, laid_out, nesting, closing }
    }

    /// Adds a line to a message that spans several lines; returns the message once it is complete.
    fn add(&mut self, line: &Bytes) -> Option<Result<Bytes, FrameTooLong>> {
        let depth = self.nesting.feed(line, usize::MAX);
        self.laid_out.extend_from_slice(line);
        if depth > 0 && self.laid_out.len() <= self.limit {
            return None;
        }
        let whole = std::mem::take(&mut self.laid_out).freeze();
        self.nesting = Nesting::default();
        Some(if whole.len() > self.limit { Err(FrameTooLong) } else { Ok(whole) })
    }
}

impl<R: AsyncRead + Unpin + Send> Frames for UntilEnd<R> {
    const AHEAD: bool = true;

    async fn next(&mut self) -> Option<Result<Bytes, FrameTooLong>> {
        loop {
            match self.lines.next().await {
                Some(Ok(line))
                    if !self.laid_out.is_empty() || matches!(line.trim_ascii(), b"{" | b"[") =>
                {
                    if let Some(whole) = self.add(&line) {
                        return Some(whole);
                    }
                }
                None if !self.laid_out.is_empty() => {
                    return Some(Ok(std::mem::take(&mut self.laid_out).freeze()));
                }
                None => {
                    self.closing.cancel();
                    std::future::pending::<()>().await;
                }
                frame => return frame,
            }
        }
    }
}

/// Writes frames as lines, batching those that are ready.
async fn write_lines<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut frames: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut lines = Vec::with_capacity(8 * 1024);
    while let Some(first) = frames.recv().await {
        let mut next = Some(first);
        while let Some(frame) = next {
            tracing::debug!(target: "mcp::protocol", "[MCP ←] {}", String::from_utf8_lossy(&frame));
            lines.extend_from_slice(&frame);
            lines.push(b'\n');
            next = if lines.len() < 64 * 1024 { frames.try_recv().ok() } else { None };
        }
        writer.write_all(&lines).await?;
        writer.flush().await?;
        lines.clear();
        lines.shrink_to(64 * 1024);
    }
    Ok(())
}

fn socket_pair() -> Option<(UnixStream, UnixStream)> {
    use std::os::{fd::AsFd, unix::net::UnixStream as Blocking};
    let open = |fd: std::os::fd::BorrowedFd<'_>| {
        let stream = Blocking::from(fd.try_clone_to_owned().ok()?);
        stream.peer_addr().ok()?;
        stream.set_nonblocking(true).ok()?;
        UnixStream::from_std(stream).ok()
    };
    Some((open(io::stdin().as_fd())?, open(io::stdout().as_fd())?))
}
