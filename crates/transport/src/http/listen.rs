//! The listener: accepts connections while there are slots, and drives each within its limits.

use super::{
    ConnectionStats, HttpLimits,
    connection::{ConnectionClock, SocketStream, TimedBody, TimedIo},
    connection_slots::{ConnectionPermit, ConnectionSlots},
};
use crate::tls::{Certificate, TlsSettings};
use axum::{Router, body::Body, http::Request};
use docent_traffic::Tap;
use futures::FutureExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use std::{
    convert::Infallible,
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, OnceLock},
    task::{Poll, ready},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::Service;

/// The response for a connection when all slots are taken.
const SERVER_FULL_RESPONSE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\n\
    content-type: text/plain\r\ncontent-length: 27\r\n\r\ntoo many open connections.\n";

/// Delay after the first failed accept, doubled each time.
const FIRST_ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(10);

/// Maximum delay after a failed accept.
const MAX_ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Maximum bytes that hyper buffers per connection in either direction, beside one chunk of a response.
const CONNECTION_BUFFER_BYTES: usize = 128 * 1024;

/// How long a peer is silent before the first TCP keepalive probe.
const KEEPALIVE_IDLE_TIME: Duration = Duration::from_mins(1);

/// Interval between TCP keepalive probes of a silent peer.
const KEEPALIVE_PROBE_INTERVAL: Duration = Duration::from_secs(15);

/// The peer of a connection. Attached to each of its requests.
#[derive(Clone)]
pub(super) struct ConnectionPeer {
    pub(super) remote: IpAddr,
    /// The certificate presented in the TLS handshake.
    pub(super) certificate: Option<Arc<Certificate>>,
    /// Records messages outside of sessions, once there are any.
    pub(super) tap: Arc<OnceLock<Tap>>,
    /// The connection's timeouts.
    pub(super) clock: Arc<ConnectionClock>,
}

/// State shared by all connections.
pub(super) struct ListenerState {
    pub(super) router: Router,
    pub(super) bounds: HttpLimits,
    pub(super) tls: Option<Arc<TlsSettings>>,
    pub(super) tally: Arc<ConnectionStats>,
    pub(super) closing: CancellationToken,
}

/// Accepts connections until the server closes, then waits for the open ones.
pub(super) async fn serve(listener: TcpListener, front: ListenerState) {
    let front = Arc::new(front);
    let HttpLimits { connections, connections_per_address, .. } = front.bounds;
    let places = Arc::new(ConnectionSlots::new(connections, connections_per_address));
    // Dropping the set ends the remaining connections.
    let mut open = JoinSet::new();
    loop {
        let (stream, remote) = tokio::select! {
            biased;
            () = front.closing.cancelled() => break,
            Some(ended) = open.join_next(), if !open.is_empty() => {
                report(&ended);
                continue;
            }
            arrived = arrival(&listener) => arrived,
        };
        let Some(place) = places.take(remote.ip()) else {
            front.tally.count_turned_away();
            refuse_connection(&stream, front.tls.is_some());
            continue;
        };
        prepare(&stream, &front.bounds);
        open.spawn(serve_connection(Arc::clone(&front), stream, remote, place));
    }
    drop(listener);
    while let Some(ended) = open.join_next().await {
        report(&ended);
    }
}

fn report(ended: &Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection task failed");
    }
}

/// A source of connections.
trait ConnectionSource {
    fn next(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl ConnectionSource for TcpListener {
    fn next(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send {
        self.accept()
    }
}

/// The next connection, retrying for as long as accepting fails.
async fn arrival(listener: &impl ConnectionSource) -> (TcpStream, SocketAddr) {
    let mut pause = FIRST_ACCEPT_RETRY_DELAY;
    loop {
        let error = match listener.next().await {
            Ok(arrived) => return arrived,
            Err(error) => error,
        };
        // A peer that left before it was accepted does not affect the next one.
        if matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
        ) {
            continue;
        }
        tracing::error!(%error, "cannot accept connections: raise the open file limit if it is reached");
        sleep(pause).await;
        pause = (pause * 2).min(MAX_ACCEPT_RETRY_DELAY);
    }
}

/// Sends 503 to a peer, as far as that is possible without waiting.
fn refuse_connection(stream: &TcpStream, encrypted: bool) {
    if encrypted {
        return;
    }
    // Unread data would make the system discard the response.
    let mut unread = [0; 4096];
    let sent = stream.try_write(SERVER_FULL_RESPONSE).and_then(|_| stream.try_read(&mut unread));
    if let Err(error) = sent {
        tracing::trace!(%error, "cannot send 503 to a refused connection");
    }
}

/// Sends small responses without delay, and detects dead peers.
fn prepare(stream: &TcpStream, bounds: &HttpLimits) {
    let probes =
        TcpKeepalive::new().with_time(KEEPALIVE_IDLE_TIME).with_interval(KEEPALIVE_PROBE_INTERVAL);
    let socket = SockRef::from(stream);
    let set = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_keepalive(&probes));
    // A peer without power acknowledges nothing; the system would retry for a quarter of an hour.
    #[cfg(target_os = "linux")]
    let set = set.and_then(|()| socket.set_tcp_user_timeout(Some(bounds.write)));
    #[cfg(not(target_os = "linux"))]
    let _unused = bounds;
    if let Err(error) = set {
        tracing::debug!(%error, "cannot set a socket option");
    }
}

/// One connection from its handshake to its end.
async fn serve_connection(
    front: Arc<ListenerState>,
    stream: TcpStream,
    remote: SocketAddr,
    place: ConnectionPermit,
) {
    let mut certificate = None;
    let remote = remote.ip();
    let stream = match &front.tls {
        None => SocketStream::Plain(stream),
        Some(tls) => {
            let shaken = tokio::select! {
                shaken = timeout(front.bounds.tls_handshake, tls.accept(stream)) => shaken,
                () = front.closing.cancelled() => return,
            };
            match shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => {
                    certificate = Certificate::of_peer(&stream).map(Arc::new);
                    SocketStream::Tls(Box::new(stream))
                }
                Err(error) => {
                    front.tally.count_failed_handshake();
                    tracing::debug!(%error, %remote, "a TLS handshake failed");
                    return;
                }
            }
        }
    };
    let clock = Arc::new(ConnectionClock::new(&front.bounds));
    let io = TimedIo { stream, clock: Arc::clone(&clock), _place: place };
    let peer =
        ConnectionPeer { remote, certificate, tap: Arc::default(), clock: Arc::clone(&clock) };
    drive(&front, io, peer, clock).await;
}

fn report_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection was lost");
    }
}

/// Serves a connection's requests until it ends, the server closes, or a timeout expires.
async fn drive(
    front: &ListenerState,
    io: TimedIo,
    peer: ConnectionPeer,
    clock: Arc<ConnectionClock>,
) {
    let noted = Arc::clone(&clock);
    let router = front.router.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        noted.answer();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer.clone());
        let clock = Arc::clone(&noted);
        router.clone().call(request).map(move |answer: Result<_, Infallible>| {
            answer.map(|response| response.map(|body| TimedBody { body, clock }))
        })
    });
    let connection = http1::Builder::new()
        .max_header_size(front.bounds.head_bytes)
        .max_buf_size(CONNECTION_BUFFER_BYTES)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    // A token of its own: polling one shared token from all connections would cause contention.
    let closing = front.closing.child_token();
    let mut closing = pin!(closing.cancelled().fuse());
    let mut alarm = pin!(sleep_until(clock.due().unwrap_or_else(Instant::now)));
    let in_time = poll_fn(|cx| {
        if closing.as_mut().poll(cx).is_ready() {
            connection.as_mut().graceful_shutdown();
        }
        if connection.as_mut().poll(cx).map(report_end).is_ready() {
            return Poll::Ready(true);
        }
        let mut looked = false;
        while let Some(due) = clock.due() {
            // Only an earlier deadline resets the timer, so that busy connections leave it alone.
            if due < alarm.deadline() {
                alarm.as_mut().reset(due);
            }
            ready!(alarm.as_mut().poll(cx));
            if due <= Instant::now() {
                if looked || !clock.look() {
                    return Poll::Ready(false);
                }
                looked = true;
                if connection.as_mut().poll(cx).map(report_end).is_ready() {
                    return Poll::Ready(true);
                }
                continue;
            }
            alarm.as_mut().reset(due);
        }
        Poll::Pending
    })
    .await;
    if !in_time && clock.is_between() {
        front.tally.count_idle();
    } else if !in_time {
        front.tally.count_timed_out();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Fails several times before it returns a connection.
    struct FailingListener {
        listener: TcpListener,
        error: fn() -> io::Error,
        left: AtomicUsize,
    }

    impl ConnectionSource for FailingListener {
        async fn next(&self) -> io::Result<(TcpStream, SocketAddr)> {
            let left = self.left.load(Ordering::SeqCst);
            if left == 0 {
                return self.listener.accept().await;
            }
            self.left.store(left - 1, Ordering::SeqCst);
            Err((self.error)())
        }
    }

    /// Checks how long the listener pauses after this many errors.
    async fn check(error: fn() -> io::Error, times: usize, want: Duration) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let failing = FailingListener { listener, error, left: AtomicUsize::new(times) };
        tokio::time::pause();
        let begun = Instant::now();
        arrival(&failing).await;
        let paused = begun.elapsed();
        tokio::time::resume();
        // The timer rounds each pause up to the millisecond.
        let most = want + Duration::from_millis(2 * times as u64);
        assert!((want..=most).contains(&paused), "{} {times}: {paused:?}", error());
    }

    #[tokio::test]
    async fn a_listener_without_free_files_pauses_and_continues() {
        let no_files = || io::Error::from_raw_os_error(24);
        let left_again = || io::ErrorKind::ConnectionAborted.into();
        check(no_files, 0, Duration::ZERO).await;
        check(no_files, 3, Duration::from_millis(10 + 20 + 40)).await;
        check(no_files, 9, Duration::from_millis(10 + 20 + 40 + 80 + 160 + 320 + 640 + 2000)).await;
        check(left_again, 9, Duration::ZERO).await;
    }

    #[test]
    fn the_response_without_a_slot_is_valid_http() {
        let text = std::str::from_utf8(SERVER_FULL_RESPONSE).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
    }
}
