//! One connection: its bytes, and its timeouts.
//!
//! hyper's own timer for headers also runs between two requests and restarts for each, so timeouts are tracked here:
//! the stream and the service record what the connection waits for, and the driver checks the clock.

use super::{HttpLimits, connection_slots::ConnectionPermit};
use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use socket2::SockRef;
use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Instant,
};
use tokio_rustls::server::TlsStream;

/// No deadline.
const NO_DEADLINE: u64 = u64::MAX;

/// Determines when a connection has waited too long. Times are milliseconds since it opened.
///
/// Only the connection's own task accesses it, so relaxed atomics suffice.
pub(super) struct ConnectionClock {
    opened: Instant,
    head: Duration,
    idle: Duration,
    write: Duration,
    body: Duration,
    /// The rest of an oversized body is being discarded while its response is sent.
    lingering: AtomicBool,
    /// No byte of the next request has arrived.
    between: AtomicBool,
    /// The next read asks the system itself for bytes, instead of the runtime's cached readiness.
    looking: AtomicBool,
    reading_until: AtomicU64,
    writing_until: AtomicU64,
}

impl ConnectionClock {
    /// A connection that has just opened, with the timeout of one head for its first request.
    pub(super) fn new(bounds: &HttpLimits) -> Self {
        let HttpLimits { head, idle, write, body, .. } = *bounds;
        let clock = Self {
            opened: Instant::now(),
            head,
            idle,
            write,
            body,
            lingering: AtomicBool::new(false),
            between: AtomicBool::new(false),
            looking: AtomicBool::new(false),
            reading_until: AtomicU64::new(NO_DEADLINE),
            writing_until: AtomicU64::new(NO_DEADLINE),
        };
        clock.reading_until.store(clock.after(head), Ordering::Relaxed);
        clock
    }

    fn after(&self, wait: Duration) -> u64 {
        let at = self.opened.elapsed().saturating_add(wait).as_millis();
        u64::try_from(at).unwrap_or(NO_DEADLINE)
    }

    /// Bytes arrived: the first of them start a head.
    fn read(&self) {
        if self.between.load(Ordering::Relaxed) {
            self.between.store(false, Ordering::Relaxed);
            self.reading_until.store(self.after(self.head), Ordering::Relaxed);
        }
    }

    /// A head is complete. Its body has its own timeout, and its response may take any time.
    pub(super) fn answer(&self) {
        self.lingering.store(false, Ordering::Relaxed);
        // It may have arrived with the previous request, so that no byte of it was read separately.
        self.between.store(false, Ordering::Relaxed);
        self.reading_until.store(NO_DEADLINE, Ordering::Relaxed);
    }

    /// A response was handed over: the next request may arrive.
    fn answered(&self) {
        if self.lingering.load(Ordering::Relaxed) {
            return;
        }
        self.between.store(true, Ordering::Relaxed);
        self.reading_until.store(self.after(self.idle), Ordering::Relaxed);
    }

    /// The request is answered before its body has arrived. Until the next head is complete, the connection has the
    /// timeout of one body: bytes of this one must not be taken for the beginning of a head.
    pub(super) fn linger(&self) {
        self.lingering.store(true, Ordering::Relaxed);
        self.between.store(false, Ordering::Relaxed);
        self.reading_until.store(self.after(self.body), Ordering::Relaxed);
    }

    /// Makes the next read a last check, if that can matter: on a busy machine the timer of a connection can fire long
    /// before its task runs, and a request that arrived in between is not late.
    pub(super) fn look(&self) -> bool {
        let between = self.is_between();
        self.looking.store(between, Ordering::Relaxed);
        between
    }

    /// Whether the connection is only waiting for the next request.
    pub(super) fn is_between(&self) -> bool {
        self.between.load(Ordering::Relaxed)
            && self.writing_until.load(Ordering::Relaxed) == NO_DEADLINE
    }

    fn wrote<T>(&self, polled: &Poll<T>) {
        if polled.is_ready() {
            self.writing_until.store(NO_DEADLINE, Ordering::Relaxed);
        } else if self.writing_until.load(Ordering::Relaxed) == NO_DEADLINE {
            self.writing_until.store(self.after(self.write), Ordering::Relaxed);
        }
    }

    /// The current deadline of the connection.
    pub(super) fn due(&self) -> Option<Instant> {
        let reading = self.reading_until.load(Ordering::Relaxed);
        let writing = self.writing_until.load(Ordering::Relaxed);
        let first = reading.min(writing);
        (first != NO_DEADLINE).then(|| self.opened + Duration::from_millis(first))
    }
}

/// A plain or TLS stream.
pub(super) enum SocketStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl SocketStream {
    /// Whether the system has unread bytes.
    fn has_unread(&self) -> bool {
        let socket = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        let mut one = [MaybeUninit::uninit()];
        SockRef::from(socket).peek(&mut one).is_ok_and(|bytes| bytes > 0)
    }
}

/// A stream that records what it waits for. It keeps the connection's slot, also once it is a WebSocket.
pub(super) struct TimedIo {
    pub(super) stream: SocketStream,
    pub(super) clock: Arc<ConnectionClock>,
    pub(super) _place: ConnectionPermit,
}

/// Forwards a call to the inner stream.
macro_rules! on {
    ($io:expr, $call:ident $(, $argument:expr)*) => {
        match &mut $io.stream {
            SocketStream::Plain(stream) => Pin::new(stream).$call($($argument),*),
            SocketStream::Tls(stream) => Pin::new(stream.as_mut()).$call($($argument),*),
        }
    };
}

impl AsyncRead for TimedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = on!(self, poll_read, cx, buffer);
        if self.clock.looking.swap(false, Ordering::Relaxed)
            && polled.is_pending()
            && self.stream.has_unread()
        {
            // They have started a head, although the runtime does not know yet.
            self.clock.read();
        }
        let done = ready!(polled);
        if buffer.filled().len() > before {
            self.clock.read();
        }
        Poll::Ready(done)
    }
}

impl AsyncWrite for TimedIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = on!(self, poll_write, cx, bytes);
        self.clock.wrote(&polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = on!(self, poll_write_vectored, cx, slices);
        self.clock.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            SocketStream::Plain(stream) => stream.is_write_vectored(),
            SocketStream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = on!(self, poll_flush, cx);
        self.clock.wrote(&polled);
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = on!(self, poll_shutdown, cx);
        self.clock.wrote(&polled);
        polled
    }
}

/// The body of a response. Its end starts the wait for the next request.
pub(super) struct TimedBody {
    pub(super) body: Body,
    pub(super) clock: Arc<ConnectionClock>,
}

impl Drop for TimedBody {
    fn drop(&mut self) {
        self.clock.answered();
    }
}

impl hyper::body::Body for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    /// The time left until the connection is closed.
    #[track_caller]
    fn check(clock: &ConnectionClock, want: Option<u64>) {
        let left = clock.due().map(|due| due.saturating_duration_since(Instant::now()));
        assert_eq!(left, want.map(seconds));
    }

    /// A connection that has been answered, the peer's end of it, and its clock.
    async fn answered() -> (TimedIo, std::net::TcpStream, Arc<ConnectionClock>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, remote) = listener.accept().await.unwrap();
        let bounds =
            HttpLimits { head: seconds(10), idle: Duration::ZERO, ..HttpLimits::default() };
        let clock = Arc::new(ConnectionClock::new(&bounds));
        clock.answer();
        clock.answered();
        let place = Arc::new(super::super::connection_slots::ConnectionSlots::new(1, 1))
            .take(remote.ip())
            .unwrap();
        (
            TimedIo {
                stream: SocketStream::Plain(stream),
                clock: Arc::clone(&clock),
                _place: place,
            },
            peer,
            clock,
        )
    }

    /// Reads without updating the runtime's readiness; returns whether the connection is to be closed.
    fn is_due_after_a_look(io: &mut TimedIo, clock: &ConnectionClock) -> bool {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut bytes = [0; 64];
        assert!(clock.due().is_some_and(|due| due <= Instant::now()));
        assert!(clock.look());
        let polled = Pin::new(io).poll_read(&mut cx, &mut ReadBuf::new(&mut bytes));
        assert!(polled.is_pending(), "the runtime already knows of the bytes");
        clock.due().is_some_and(|due| due <= Instant::now())
    }

    #[tokio::test]
    async fn a_request_before_the_end_of_the_wait_is_seen() {
        use std::io::Write;
        for _ in 0..200 {
            let (mut io, mut peer, clock) = answered().await;
            // Nothing has arrived: the wait is over.
            assert!(is_due_after_a_look(&mut io, &clock));
            peer.write_all(b"GET / HTTP/1.1\r\n").unwrap();
            // The rest of the head has its usual timeout, and no check extends it.
            assert!(!is_due_after_a_look(&mut io, &clock));
            assert!(!clock.look());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_wait_has_its_end() {
        let bounds = HttpLimits {
            head: seconds(10),
            idle: seconds(120),
            write: seconds(30),
            ..HttpLimits::default()
        };
        let clock = ConnectionClock::new(&bounds);
        let (stuck, moved) = (Poll::<()>::Pending, Poll::Ready(()));
        tokio::time::advance(seconds(4)).await;
        clock.read();
        check(&clock, Some(6));
        clock.answer();
        check(&clock, None);
        clock.wrote(&stuck);
        tokio::time::advance(seconds(7)).await;
        // A retry does not count as progress.
        clock.wrote(&stuck);
        check(&clock, Some(23));
        clock.wrote(&moved);
        check(&clock, None);
        clock.answered();
        check(&clock, Some(120));
        tokio::time::advance(seconds(60)).await;
        clock.read();
        check(&clock, Some(10));
        tokio::time::advance(seconds(9)).await;
        clock.read();
        check(&clock, Some(1));
        clock.wrote(&stuck);
        check(&clock, Some(1));
        clock.wrote(&moved);
        clock.answered();
        // A head that arrived with the previous request: the next bytes are its body.
        clock.answer();
        clock.read();
        check(&clock, None);
    }
}
