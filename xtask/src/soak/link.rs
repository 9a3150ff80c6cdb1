//! The transports of the soak's clients: three over HTTP, the legacy pair of event stream and POST, and WebSocket.

use super::{
    http::{self, ClosedBeforeReply, RawEventStream, RawHttpConnection},
    questions::{SoakPrincipal, SoakQuestion},
};
use crate::bench::reply::HttpReply;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    fmt::Write as _,
    net::TcpStream,
    time::{Duration, Instant},
};
use tungstenite::{
    ClientRequestBuilder, HandshakeError, Message, WebSocket, protocol::WebSocketConfig,
};

/// The revision of the sessions.
const SESSION_REVISION: &str = "2025-11-25";
/// The revision without sessions.
pub(super) const STATELESS: &str = "2026-07-28";
/// The limit of a handshake on a machine busy with 200 clients.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(30);
/// docent keeps a connection open for two minutes between two requests. Closing it sooner is a bug in docent.
const MAX_IDLE_TIME: Duration = Duration::from_secs(2 * 60 - 1);

/// A client's transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SoakTransport {
    Session,
    Stateless,
    Plain,
    Sse,
    WebSocket,
}

impl SoakTransport {
    /// In the order of the table.
    pub(super) const ALL: [Self; 5] =
        [Self::Session, Self::Stateless, Self::Plain, Self::Sse, Self::WebSocket];

    /// The name in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Session => "HTTP, session",
            Self::Stateless => "HTTP, stateless",
            Self::Plain => "HTTP, plain POST",
            Self::Sse => "SSE",
            Self::WebSocket => "WebSocket",
        }
    }

    /// Assigns clients to transports evenly.
    pub(super) fn of(number: usize) -> Self {
        // Pairs of clients, so that every transport has clients of both keys.
        Self::ALL.into_iter().cycle().nth(number / 2 % Self::ALL.len()).unwrap_or(Self::Plain)
    }

    /// Whether several calls can be in flight on one connection.
    pub(super) const fn is_duplex(self) -> bool {
        matches!(self, Self::Sse | Self::WebSocket)
    }
}

/// What a connection received.
#[derive(Debug)]
pub(super) enum LinkEvent {
    Message(Value),
    /// The reply to the last request ended.
    Ended,
    /// Nothing arrived in time.
    TimedOut,
}

/// The result of cancelling a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelOutcome {
    /// The cancellation was sent to the server.
    Sent,
    /// The connection had to be dropped and can't be used again.
    Dropped,
}

/// One connected client.
pub(super) trait ClientLink {
    /// Sends a request.
    fn send(&mut self, question: &SoakQuestion) -> Result<()>;
    /// Waits for the next message.
    fn receive(&mut self, deadline: Instant) -> Result<LinkEvent>;
    /// Cancels a call.
    fn cancel(&mut self, id: u32) -> Result<CancelOutcome>;
    /// Makes the connection end with a reset instead of an orderly close.
    fn reset(&mut self);
    /// Ends the session, if the transport has a way to do so.
    fn leave(&mut self) -> Result<()>;
}

/// Connects, and does the handshake if the transport has one.
pub(super) fn open(
    port: u16,
    way: SoakTransport,
    principal: SoakPrincipal,
) -> Result<Box<dyn ClientLink>> {
    let link: Result<Box<dyn ClientLink>> = match way {
        SoakTransport::Session | SoakTransport::Stateless | SoakTransport::Plain => {
            PostLink::open(port, way, principal).map(|link| Box::new(link) as Box<dyn ClientLink>)
        }
        SoakTransport::Sse => {
            SseLink::open(port, principal).map(|link| Box::new(link) as Box<dyn ClientLink>)
        }
        SoakTransport::WebSocket => {
            WebSocketLink::open(port, principal).map(|link| Box::new(link) as Box<dyn ClientLink>)
        }
    };
    link.with_context(|| format!("opening {}", way.name()))
}

fn initialize_message() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": SESSION_REVISION,
        "capabilities": {},
        "clientInfo": {"name": "soak", "version": "1.0.0"},
    }})
}

fn initialized_message() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn cancel_message(id: u32) -> Value {
    let params = json!({"requestId": id, "reason": "cancelled by the soak"});
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// Returns the header lines of every request.
pub(super) fn authorization(principal: SoakPrincipal) -> String {
    format!("Authorization: Bearer {}\r\n", principal.token())
}

/// A connection for occasional messages while a reply is pending on another. It may be idle for minutes.
struct SideConnection {
    port: u16,
    /// The connection and the time of its last use.
    wire: Option<(RawHttpConnection, Instant)>,
}

impl SideConnection {
    /// Posts a message and waits for the reply.
    fn post(&mut self, head: &str, body: &str) -> Result<HttpReply> {
        let waited = self.wire.as_ref().is_some_and(|(_, used)| used.elapsed() > MAX_IDLE_TIME);
        let said = self.try_post(head, body);
        match said {
            // The server may close an idle connection even while a request is in transit: in HTTP, the client must
            // then retry on another connection.
            Err(problem) if waited && problem.downcast_ref::<ClosedBeforeReply>().is_some() => {
                self.wire = None;
                self.try_post(head, body)
            }
            said => said,
        }
    }

    fn try_post(&mut self, head: &str, body: &str) -> Result<HttpReply> {
        let (wire, used) = match &mut self.wire {
            Some(known) => known,
            none => none.insert((RawHttpConnection::open(self.port)?, Instant::now())),
        };
        wire.post(head, body)?;
        let reply = wire.reply(Instant::now() + HANDSHAKE_LIMIT)?.context("no answer")?;
        *used = Instant::now();
        Ok(reply)
    }
}

/// Sequential POSTs to `/mcp`.
struct PostLink {
    wire: RawHttpConnection,
    side: SideConnection,
    way: SoakTransport,
    head: String,
    /// The session's id.
    session: Option<String>,
    come: VecDeque<Value>,
    awaited: bool,
}

impl PostLink {
    fn open(port: u16, way: SoakTransport, principal: SoakPrincipal) -> Result<Self> {
        let accept = match way {
            SoakTransport::Plain => "application/json",
            _ => "application/json, text/event-stream",
        };
        let mut head = format!("POST /mcp HTTP/1.1\r\nAccept: {accept}\r\n");
        head.push_str(&authorization(principal));
        let mut link = Self {
            wire: RawHttpConnection::open(port)?,
            side: SideConnection { port, wire: None },
            way,
            head,
            session: None,
            come: VecDeque::new(),
            awaited: false,
        };
        if way == SoakTransport::Session {
            link.shake_hands()?;
        }
        Ok(link)
    }

    fn shake_hands(&mut self) -> Result<()> {
        let deadline = Instant::now() + HANDSHAKE_LIMIT;
        self.wire.post(&self.head, &initialize_message().to_string())?;
        let reply = self.wire.reply(deadline)?.context("no answer to initialize")?;
        let Some(session) = reply.session.clone().filter(|_| reply.status == 200) else {
            bail!("initialize got {}: {}", reply.status, reply.text());
        };
        write!(
            self.head,
            "Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {SESSION_REVISION}\r\n"
        )?;
        self.session = Some(session);
        self.wire.post(&self.head, &initialized_message().to_string())?;
        let reply = self.wire.reply(deadline)?.context("no answer to initialized")?;
        ensure!(reply.status == 202, "initialized got {}: {}", reply.status, reply.text());
        Ok(())
    }
}

impl ClientLink for PostLink {
    fn send(&mut self, question: &SoakQuestion) -> Result<()> {
        let stateless = self.way == SoakTransport::Stateless;
        let mut head = self.head.clone();
        if stateless {
            write!(
                head,
                "MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: {}\r\n",
                question.method
            )?;
            if !question.target.is_empty() {
                write!(head, "Mcp-Name: {}\r\n", question.target)?;
            }
        }
        self.awaited = true;
        self.wire.post(&head, &question.message(stateless).to_string())
    }

    fn receive(&mut self, deadline: Instant) -> Result<LinkEvent> {
        loop {
            if let Some(message) = self.come.pop_front() {
                return Ok(LinkEvent::Message(message));
            }
            if !self.awaited {
                return Ok(LinkEvent::Ended);
            }
            let Some(reply) = self.wire.reply(deadline)? else { return Ok(LinkEvent::TimedOut) };
            self.awaited = false;
            // The stateless revision also uses the status for some errors; what matters is that the body is an answer.
            for message in reply.messages() {
                let message = serde_json::from_slice(message).with_context(|| {
                    format!("a call got {} and not JSON: {}", reply.status, reply.text())
                })?;
                self.come.push_back(message);
            }
            ensure!(reply.status < 500, "a call got {}: {}", reply.status, reply.text());
        }
    }

    fn cancel(&mut self, id: u32) -> Result<CancelOutcome> {
        if self.way != SoakTransport::Session {
            return Ok(CancelOutcome::Dropped);
        }
        let reply = self.side.post(&self.head, &cancel_message(id).to_string())?;
        ensure!(reply.status == 202, "a cancellation got {}: {}", reply.status, reply.text());
        Ok(CancelOutcome::Sent)
    }

    fn reset(&mut self) {
        http::reset(&self.wire.stream);
    }

    fn leave(&mut self) -> Result<()> {
        if self.session.is_none() {
            return Ok(());
        }
        let head = self.head.replacen("POST", "DELETE", 1);
        self.wire.get(&head)?;
        let reply = self.wire.reply(Instant::now() + HANDSHAKE_LIMIT)?.context("no answer")?;
        ensure!(reply.status < 300, "the end of a session got {}: {}", reply.status, reply.text());
        Ok(())
    }
}

/// An event stream with separate POSTs.
struct SseLink {
    events: RawEventStream,
    wire: RawHttpConnection,
    head: String,
}

impl SseLink {
    fn open(port: u16, principal: SoakPrincipal) -> Result<Self> {
        let deadline = Instant::now() + HANDSHAKE_LIMIT;
        let key = authorization(principal);
        let ask = format!("GET /sse HTTP/1.1\r\nAccept: text/event-stream\r\n{key}");
        let mut events = RawEventStream::open(RawHttpConnection::open(port)?, &ask, deadline)?;
        let place = events.next(deadline)?.context("no endpoint event")?;
        ensure!(place.name == "endpoint", "the first event is {place:?}");
        let head = format!("POST {} HTTP/1.1\r\n{key}", place.data);
        let mut link = Self { events, wire: RawHttpConnection::open(port)?, head };
        link.post(&initialize_message())?;
        loop {
            match link.receive(deadline)? {
                LinkEvent::Message(message) if message["id"] == 0 => break,
                LinkEvent::Message(_) => {}
                LinkEvent::Ended | LinkEvent::TimedOut => bail!("no answer to initialize"),
            }
        }
        link.post(&initialized_message())?;
        Ok(link)
    }

    fn post(&mut self, message: &Value) -> Result<()> {
        self.wire.post(&self.head, &message.to_string())?;
        let reply = self.wire.reply(Instant::now() + HANDSHAKE_LIMIT)?.context("no answer")?;
        ensure!(reply.status == 202, "a message got {}: {}", reply.status, reply.text());
        Ok(())
    }
}

impl ClientLink for SseLink {
    fn send(&mut self, question: &SoakQuestion) -> Result<()> {
        self.post(&question.message(false))
    }

    fn receive(&mut self, deadline: Instant) -> Result<LinkEvent> {
        loop {
            let Some(event) = self.events.next(deadline)? else { return Ok(LinkEvent::TimedOut) };
            if !event.data.is_empty() {
                let message = serde_json::from_str(&event.data).context("not JSON")?;
                return Ok(LinkEvent::Message(message));
            }
        }
    }

    fn cancel(&mut self, id: u32) -> Result<CancelOutcome> {
        self.post(&cancel_message(id))?;
        Ok(CancelOutcome::Sent)
    }

    fn reset(&mut self) {
        http::reset(self.events.stream());
        http::reset(&self.wire.stream);
    }

    fn leave(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A WebSocket.
struct WebSocketLink(WebSocket<TcpStream>);

impl WebSocketLink {
    fn open(port: u16, principal: SoakPrincipal) -> Result<Self> {
        let address = format!("ws://127.0.0.1:{port}/ws").parse().context("the address")?;
        let request = ClientRequestBuilder::new(address)
            .with_header("Authorization", format!("Bearer {}", principal.token()))
            .with_sub_protocol("mcp");
        let stream = http::connect(port)?;
        stream.set_read_timeout(Some(HANDSHAKE_LIMIT))?;
        let config = Some(WebSocketConfig::default());
        let socket = match tungstenite::client::client_with_config(request, stream, config) {
            Ok((socket, _)) => socket,
            Err(HandshakeError::Interrupted(_)) => bail!("no upgrade in time"),
            Err(HandshakeError::Failure(problem)) => return Err(problem).context("the upgrade"),
        };
        let mut link = Self(socket);
        link.say(&initialize_message())?;
        loop {
            match link.receive(Instant::now() + HANDSHAKE_LIMIT)? {
                LinkEvent::Message(message) if message["id"] == 0 => break,
                LinkEvent::Message(_) => {}
                LinkEvent::Ended | LinkEvent::TimedOut => bail!("no answer to initialize"),
            }
        }
        link.say(&initialized_message())?;
        Ok(link)
    }

    fn say(&mut self, message: &Value) -> Result<()> {
        self.0.send(Message::text(message.to_string())).context("writing")
    }
}

impl ClientLink for WebSocketLink {
    fn send(&mut self, question: &SoakQuestion) -> Result<()> {
        self.say(&question.message(false))
    }

    fn receive(&mut self, deadline: Instant) -> Result<LinkEvent> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(LinkEvent::TimedOut);
            }
            self.0.get_mut().set_read_timeout(Some(left))?;
            match self.0.read() {
                Ok(Message::Text(text)) => {
                    let message = serde_json::from_str(&text).context("not JSON")?;
                    return Ok(LinkEvent::Message(message));
                }
                Ok(Message::Close(frame)) => bail!("the server closed the socket: {frame:?}"),
                Ok(_) => {}
                Err(tungstenite::Error::Io(problem)) if http::is_timeout(problem.kind()) => {
                    return Ok(LinkEvent::TimedOut);
                }
                Err(problem) => return Err(problem).context("reading"),
            }
        }
    }

    fn cancel(&mut self, id: u32) -> Result<CancelOutcome> {
        self.say(&cancel_message(id))?;
        Ok(CancelOutcome::Sent)
    }

    fn reset(&mut self) {
        http::reset(self.0.get_ref());
    }

    fn leave(&mut self) -> Result<()> {
        self.0.close(None)?;
        self.0.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    /// Starts a server that answers one request per connection and then closes it.
    fn closing_server() -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut read = Vec::new();
                while !read.ends_with(b"{}") {
                    let mut bytes = [0; 1024];
                    let count = stream.read(&mut bytes).unwrap();
                    read.extend_from_slice(&bytes[..count]);
                }
                stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
        });
        port
    }

    #[test]
    fn only_a_connection_idle_for_too_long_is_reopened() {
        let head = "POST /mcp HTTP/1.1\r\n";
        let check = |waited: Duration, expected: Result<u16, ClosedBeforeReply>| {
            for _ in 0..20 {
                let mut side = SideConnection { port: closing_server(), wire: None };
                assert_eq!(side.post(head, "{}").unwrap().status, 202);
                let (wire, used) = side.wire.as_mut().unwrap();
                // The connection has ended.
                wire.stream.set_read_timeout(None).unwrap();
                assert_eq!(wire.stream.peek(&mut [0]).unwrap(), 0);
                *used = used.checked_sub(waited).unwrap();
                let said = side.post(head, "{}");
                let said = said.map(|reply| reply.status).map_err(|problem| {
                    *problem
                        .downcast_ref::<ClosedBeforeReply>()
                        .unwrap_or_else(|| panic!("{problem:#}"))
                });
                assert_eq!(said, expected, "{waited:?}");
            }
        };
        check(MAX_IDLE_TIME + Duration::from_secs(1), Ok(202));
        check(Duration::from_mins(1), Err(ClosedBeforeReply));
    }

    #[test]
    fn every_transport_has_clients_of_both_keys() {
        for way in SoakTransport::ALL {
            let clients: Vec<usize> =
                (0..30).filter(|number| SoakTransport::of(*number) == way).collect();
            assert_eq!(clients.len(), 6, "{way:?}");
            assert_eq!(clients.iter().filter(|number| *number % 2 == 0).count(), 3, "{way:?}");
        }
    }
}
