//! A relay that forwards connections to a server and records every byte the server sends.

use crate::bench::reply;
use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Bytes recorded per connection; the rest is forwarded but not recorded.
const MAX_RECORDED_BYTES: usize = 64 * 1024 * 1024;

type RelayBuffer = Arc<Mutex<Vec<u8>>>;

/// A relay in front of one port. Its threads end with the connections, its listener with the program.
#[derive(Debug)]
pub(super) struct Relay {
    port: u16,
    connections: Arc<Mutex<Vec<RelayBuffer>>>,
}

impl Relay {
    /// Starts listening on a free port.
    pub(super) fn start(to: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("opening the relay")?;
        let port = listener.local_addr()?.port();
        let connections: Arc<Mutex<Vec<RelayBuffer>>> = Arc::default();
        let known = Arc::clone(&connections);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // If the server is gone, the client sees a closed connection, as without a relay.
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let kept = RelayBuffer::default();
                lock(&known).push(Arc::clone(&kept));
                pass_on(client, server, kept);
            }
        });
        Ok(Self { port, connections })
    }

    /// The port it listens on.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Parses the recorded bytes as HTTP.
    pub(super) fn traffic(&self) -> RelayedTraffic {
        let mut heard = RelayedTraffic::default();
        for kept in lock(&self.connections).iter() {
            heard.read_http(&lock(kept));
        }
        heard
    }
}

fn pass_on(client: TcpStream, server: TcpStream, kept: RelayBuffer) {
    let (Ok(from_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else { return };
    thread::spawn(move || copy(from_client, to_server, |_| {}));
    thread::spawn(move || {
        copy(server, client, |bytes| {
            let mut kept = lock(&kept);
            if kept.len() + bytes.len() <= MAX_RECORDED_BYTES {
                kept.extend_from_slice(bytes);
            }
        });
    });
}

fn copy(mut from: TcpStream, mut to: TcpStream, mut seen: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read) = from.read(&mut buffer) {
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        seen(bytes);
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    // The side that ends first closes its half of the other; errors mean that the other side is already gone.
    to.shutdown(Shutdown::Write).ok();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The messages a server sent, and the ones it should not have sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RelayedTraffic {
    /// JSON-RPC responses and notifications.
    pub(super) messages: usize,
    /// Error responses to messages whose id could not be read.
    pub(super) unaddressed: u64,
    pub(super) problems: Vec<String>,
}

impl RelayedTraffic {
    /// Reads all replies of one connection.
    fn read_http(&mut self, bytes: &[u8]) {
        let mut at = 0;
        loop {
            match reply::parse(bytes.get(at..).unwrap_or_default()) {
                Ok(Some((reply, taken))) => {
                    at += taken;
                    if reply.status >= 500 {
                        self.problems.push(format!("{}: {}", reply.status, reply.text()));
                    }
                    // HTTP errors have plain JSON bodies; a success is always a message.
                    for message in reply.messages().filter(|_| reply.status == 200) {
                        self.read_message(message);
                    }
                }
                // The stream was still open.
                Ok(None) => break,
                Err(problem) => {
                    self.problems.push(format!("not HTTP: {problem:#}"));
                    break;
                }
            }
        }
    }

    /// Reads one line or one body.
    pub(super) fn read_message(&mut self, text: &[u8]) {
        let is_message = |value: &Value| value["jsonrpc"] == "2.0";
        match serde_json::from_slice::<Value>(text) {
            Ok(Value::Array(batch)) if !batch.is_empty() && batch.iter().all(is_message) => {
                self.messages += batch.len();
            }
            Ok(value) if is_message(&value) => {
                self.messages += 1;
                self.unaddressed += u64::from(value["id"].is_null() && value["error"].is_object());
            }
            _ => {
                let text: String = String::from_utf8_lossy(text).chars().take(300).collect();
                self.problems.push(format!("not JSON-RPC: {text}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(status: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn answers_are_parsed() {
        let check = |bytes: &str, messages, problem: Option<&str>| {
            let mut heard = RelayedTraffic::default();
            heard.read_http(bytes.as_bytes());
            assert_eq!(heard.messages, messages, "{bytes}: {heard:?}");
            match (problem, heard.problems.first()) {
                (Some(expected), Some(found)) => assert!(found.starts_with(expected), "{found}"),
                (expected, found) => assert!(expected.is_none() && found.is_none(), "{found:?}"),
            }
        };
        let good = http("200 OK", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        check(&good, 1, None);
        check(&format!("{good}{good}"), 2, None);
        check(&format!("{good}HTTP/1.1 200 OK\r\nContent-Le"), 1, None);
        check(&http("202 Accepted", ""), 0, None);
        check(&http("401 Unauthorized", r#"{"detail":"Invalid API key"}"#), 0, None);
        check(&http("200 OK", r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#), 1, None);
        check(&http("200 OK", r#"{"ok":true}"#), 0, Some("not JSON-RPC"));
        check(&http("200 OK", "panicked at"), 0, Some("not JSON-RPC"));
        check(&http("500 Internal Server Error", ""), 0, Some("500"));
        check("SSH-2.0\r\n\r\n", 0, Some("not HTTP"));
    }

    #[test]
    fn errors_without_an_id_are_counted() {
        let check = |text: &str, unaddressed| {
            let mut heard = RelayedTraffic::default();
            heard.read_message(text.as_bytes());
            assert_eq!((heard.messages, heard.unaddressed), (1, unaddressed), "{text}");
        };
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#, 1);
        check(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"no"}}"#, 0);
        check(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#, 0);
    }

    #[test]
    fn both_directions_are_forwarded_and_one_is_recorded() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let relay = Relay::start(server.local_addr().unwrap().port()).unwrap();
        let mut client = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
        client.write_all(b"ask\n").unwrap();
        let (mut peer, _) = server.accept().unwrap();
        let mut asked = [0; 4];
        peer.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"ask\n");
        peer.write_all(http("503 Busy", "no").as_bytes()).unwrap();
        drop(peer);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("no"), "{answer}");
        assert_eq!(relay.traffic().problems, ["503: no"]);
    }
}
