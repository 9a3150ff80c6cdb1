//! Load over HTTP: keep-alive connections that each make one call after another, all on one thread.

use super::{
    load::{LoadResult, LoadStretch, RunningStretch, Stopwatch},
    message::{self, SESSION_REVISION, STATELESS_REVISION},
    reply::{self, HttpReply},
};
use anyhow::{Context, Result, ensure};
use std::fmt::{self, Write as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

/// How a call is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostForm {
    /// Streamable HTTP, 2025-11-25: one session per connection.
    Session,
    /// Streamable HTTP, 2026-07-28: no handshake and no session.
    Stateless,
    /// Plain JSON requests and replies, without a session or an event stream.
    Plain,
}

impl fmt::Display for PostForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Stateless => "stateless",
            Self::Plain => "plain POST",
        })
    }
}

/// The port and path of an echo server, and the names of its tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EchoEndpoint {
    pub(crate) port: u16,
    pub(crate) path: String,
    /// Calls take turns among them.
    pub(crate) tools: Vec<String>,
}

impl EchoEndpoint {
    /// The endpoint's usual path.
    pub(crate) fn at(port: u16) -> Self {
        Self { port, path: "/mcp".to_owned(), tools: vec![message::ECHO.to_owned()] }
    }
}

/// One client connection.
#[derive(Debug)]
pub(crate) struct PostConnection {
    stream: TcpStream,
    tools: Vec<String>,
    form: PostForm,
    /// The request up to the value of Content-Length.
    head: String,
    buffer: Vec<u8>,
    last_id: u32,
}

impl PostConnection {
    /// Connects, and does the handshake if the form has one.
    pub(crate) async fn open(port: u16, form: PostForm) -> Result<Self> {
        Self::open_at(&EchoEndpoint::at(port), form).await
    }

    /// Connects to any endpoint.
    pub(crate) async fn open_at(endpoint: &EchoEndpoint, form: PostForm) -> Result<Self> {
        let EchoEndpoint { port, path, tools } = endpoint;
        let (port, tools) = (*port, tools.clone());
        let stream =
            TcpStream::connect(("127.0.0.1", port)).await.context("connecting to the server")?;
        stream.set_nodelay(true)?;
        let accept = match form {
            PostForm::Plain => "application/json",
            PostForm::Session | PostForm::Stateless => "application/json, text/event-stream",
        };
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nAccept: {accept}\r\n"
        );
        if form == PostForm::Stateless {
            write!(
                head,
                "MCP-Protocol-Version: {STATELESS_REVISION}\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"
            )?;
        }
        let mut connection =
            Self { stream, tools, form, head, buffer: Vec::new(), last_id: message::INITIALIZE_ID };
        if form == PostForm::Session {
            connection.shake_hands().await?;
        }
        Ok(connection)
    }

    async fn shake_hands(&mut self) -> Result<()> {
        let reply = self.post(&message::initialize()).await?;
        let mut answered = false;
        for message in reply.messages() {
            answered |= message::is_initialized(message)?;
        }
        ensure!(
            reply.status == 200 && answered,
            "initialize got {}: {}",
            reply.status,
            reply.text()
        );
        let session = reply.session.context("the answer to initialize has no Mcp-Session-Id")?;
        write!(
            self.head,
            "Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {SESSION_REVISION}\r\n"
        )?;
        let reply = self.post(message::INITIALIZED).await?;
        ensure!(
            reply.status == 202,
            "notifications/initialized got {}: {}",
            reply.status,
            reply.text()
        );
        Ok(())
    }

    /// Makes one call and checks its answer.
    pub(crate) async fn call(&mut self) -> Result<()> {
        self.last_id += 1;
        let body = match self.form {
            PostForm::Stateless => message::stateless_call(self.last_id),
            PostForm::Session | PostForm::Plain => {
                message::call(message::tool_for(&self.tools, self.last_id), self.last_id)
            }
        };
        let reply = self.post(&body).await?;
        let mut answered = None;
        for message in reply.messages() {
            answered = answered.or(message::answered_call(message)?);
        }
        ensure!(
            reply.status == 200 && answered == Some(self.last_id),
            "call {} got {}: {}",
            self.last_id,
            reply.status,
            reply.text()
        );
        Ok(())
    }

    async fn post(&mut self, body: &str) -> Result<HttpReply> {
        let request = format!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.write_all(request.as_bytes()).await.context("writing to the server")?;
        loop {
            if let Some((reply, taken)) = reply::parse(&self.buffer)? {
                self.buffer.drain(..taken);
                return Ok(reply);
            }
            let read =
                self.stream.read_buf(&mut self.buffer).await.context("reading from the server")?;
            ensure!(read > 0, "the server closed the connection");
        }
    }

    async fn drive(mut self, stretch: RunningStretch) -> Result<(Self, u32)> {
        let mut calls = 0;
        while stretch.continues(calls) {
            self.call().await?;
            calls += 1;
        }
        Ok((self, calls))
    }
}

/// Keeps this many connections busy, first unmeasured, then measured.
pub(crate) async fn load(
    (port, form): (u16, PostForm),
    connections: u32,
    warm: LoadStretch,
    measured: LoadStretch,
) -> Result<LoadResult> {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(PostConnection::open(port, form).await?);
    }
    let (open, _) = drive_all(open, warm.begin(connections)).await?;
    let watch = Stopwatch::start()?;
    let (_open, calls) = drive_all(open, measured.begin(connections)).await?;
    watch.stop(calls)
}

/// Keeps all connections busy until the stretch ends.
pub(crate) async fn drive_all(
    connections: Vec<PostConnection>,
    stretch: RunningStretch,
) -> Result<(Vec<PostConnection>, u32)> {
    let mut running: JoinSet<_> = connections.into_iter().map(|one| one.drive(stretch)).collect();
    let (mut open, mut calls) = (Vec::new(), 0);
    while let Some(done) = running.join_next().await {
        let (connection, made) = done.context("a connection's task ended early")??;
        open.push(connection);
        calls += made;
    }
    Ok((open, calls))
}
