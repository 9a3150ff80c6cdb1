//! The channel of a session: messages of its client on the way in, and messages of the server on the way out, each on
//! the stream that it belongs to.
//!
//! A stream outlives its connection. A client that reconnects with an event id continues after that event. Unread
//! answers are kept for a while, and so are the last ones that were read: a connection can break while they are in
//! transit.

use futures::Stream;
use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, GetExtensions, GetMeta, JsonRpcMessage,
        ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification,
    },
    service::OriginatingRequestId,
    transport::{Transport, streamable_http_server::session::ServerSseMessage},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, timeout},
};

/// Maximum messages of a client that the server has not read yet. Further ones wait.
const MAX_QUEUED_MESSAGES: usize = 16;

/// Maximum events of a stream that are kept for a reconnecting client; as many may wait for its reader.
const MAX_KEPT_EVENTS: usize = 16;

/// Maximum streams of a session with an unread answer.
const MAX_UNREAD_STREAMS: usize = 16;

/// Maximum bytes of all streams of a session with an unread answer, except the newest.
const MAX_UNREAD_STREAM_BYTES: usize = 1024 * 1024;

/// Maximum streams of a session that were read to the end. Every client has some.
const MAX_READ_STREAMS: usize = 4;

/// Maximum bytes of all streams of a session that were read to the end.
const MAX_READ_STREAM_BYTES: usize = 128 * 1024;

/// How long either kind of stream is kept.
const FINISHED_STREAM_TTL: Duration = Duration::from_mins(1);

/// How long a client may take to send `initialize`.
const INITIALIZE_TIMEOUT: Duration = Duration::from_mins(1);

/// A session without messages for this long is closed, whether a stream is open or not.
const SESSION_IDLE_TIMEOUT: Duration = Duration::from_hours(4);

/// The reconnection delay sent to clients.
const RECONNECT_DELAY: Duration = Duration::from_secs(3);

/// Why a session cannot do what is requested.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionChannelError {
    #[error("the session has ended")]
    Ended,
    #[error(
        "a request with this id is still being answered: resume its stream, cancel it, or use another id"
    )]
    Taken,
    #[error("unknown event id {0:?}")]
    Event(String),
}

/// The client's end.
#[derive(Clone)]
pub(super) struct SessionChannel {
    inbox: mpsc::Sender<Box<ClientJsonRpcMessage>>,
    outbox: Arc<SessionOutbox>,
}

/// The server's end. Dropping it ends every stream.
pub(super) struct SessionServerEnd {
    inbox: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
    outbox: Arc<SessionOutbox>,
    patience: Duration,
}

/// Both ends of a new channel.
pub(super) fn new_channel() -> (SessionChannel, SessionServerEnd) {
    let (sender, inbox) = mpsc::channel(MAX_QUEUED_MESSAGES);
    let outbox = Arc::<SessionOutbox>::default();
    let server =
        SessionServerEnd { inbox, outbox: Arc::clone(&outbox), patience: INITIALIZE_TIMEOUT };
    (SessionChannel { inbox: sender, outbox }, server)
}

impl SessionChannel {
    /// Passes a message on to the server.
    pub(super) async fn send(
        &self,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionChannelError> {
        // Only a cancellation that is actually sent ends a stream, not one whose client left before there was room.
        let room = self.inbox.reserve().await.map_err(|_| SessionChannelError::Ended)?;
        if let JsonRpcMessage::Notification(sent) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &sent.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.outbox.streams().cancel(id);
        }
        room.send(Box::new(message));
        Ok(())
    }

    /// Passes a request on; the server's messages for it arrive on the returned stream.
    pub(super) async fn send_request(
        &self,
        message: ClientJsonRpcMessage,
    ) -> Result<SessionStreamReader, SessionChannelError> {
        // Only a request that is actually sent opens a stream, not one whose client left before there was room.
        let room = self.inbox.reserve().await.map_err(|_| SessionChannelError::Ended)?;
        let key = match &message {
            JsonRpcMessage::Request(request) => {
                let token = request.request.get_meta().get_progress_token();
                let number = self.outbox.streams().open(request.id.clone(), token);
                Some(number.ok_or(SessionChannelError::Taken)?)
            }
            // Only a request has an answer.
            _ => None,
        };
        let reader = self.read(key, None).ok_or(SessionChannelError::Ended)?;
        room.send(Box::new(message));
        Ok(reader)
    }

    /// Messages that belong to no request. With several listeners, the first receives them, and the next one once it
    /// has left.
    pub(super) fn listen(&self) -> Result<SessionStreamReader, SessionChannelError> {
        self.read(None, None).ok_or(SessionChannelError::Ended)
    }

    fn read(&self, key: Option<u64>, after: Option<usize>) -> Option<SessionStreamReader> {
        let id = self.outbox.streams().join(key, after)?;
        Some(SessionStreamReader { outbox: Arc::clone(&self.outbox), key, id })
    }

    /// Continues after an event. The previous reader of the stream becomes the second, in case this one leaves.
    pub(super) fn resume(&self, event: &str) -> Result<SessionStreamReader, SessionChannelError> {
        let found = parse_event(event).and_then(|(index, key)| self.read(key, Some(index)));
        found.ok_or_else(|| SessionChannelError::Event(event.to_owned()))
    }

    /// Drops the answers that no client came back for.
    pub(super) fn forget_left(&self) {
        self.outbox.streams().forget_left();
    }
}

impl Transport<RoleServer> for SessionServerEnd {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let outbox = Arc::clone(&self.outbox);
        async move {
            outbox.say(message).await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = timeout(self.patience, self.inbox.recv()).await.ok()??;
        self.patience = SESSION_IDLE_TIMEOUT;
        Some(*message)
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.outbox.close();
        Ok(())
    }
}

impl Drop for SessionServerEnd {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

/// The server's messages, until they are read.
#[derive(Default)]
struct SessionOutbox {
    streams: Mutex<SessionStreams>,
    /// Notified when a reader took something or left.
    room: Notify,
}

impl SessionOutbox {
    fn streams(&self) -> MutexGuard<'_, SessionStreams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message on its stream. Waits for a slow reader; without a reader it does not wait.
    async fn say(&self, message: ServerJsonRpcMessage) {
        let message = Arc::new(message);
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            if self.streams().put(&message) {
                return;
            }
            room.await;
        }
    }

    fn close(&self) {
        self.streams().close();
        self.room.notify_waiters();
    }
}

/// The streams of a session. The one without a number belongs to no request.
struct SessionStreams {
    common: StreamBuffer,
    requests: BTreeMap<u64, StreamBuffer>,
    opened: u64,
    readers: u64,
    is_closed: bool,
}

impl Default for SessionStreams {
    fn default() -> Self {
        // rmcp opens the common stream with an event 0 of its own.
        let common = StreamBuffer { next: 1, given: 1, ..StreamBuffer::default() };
        Self { common, requests: BTreeMap::new(), opened: 0, readers: 0, is_closed: false }
    }
}

impl SessionStreams {
    fn channel(&mut self, key: Option<u64>) -> Option<&mut StreamBuffer> {
        match key {
            Some(number) => self.requests.get_mut(&number),
            None => Some(&mut self.common),
        }
    }

    /// A stream for a request; `None` while another request with its id runs, whether or not its client still waits:
    /// their answers could not be distinguished. A cancelled request is the exception, though it may still run: the
    /// service withholds its answer, so nothing shows when it ends. A client that reuses its id, which the protocol
    /// forbids, may get the first one's answer.
    fn open(&mut self, id: RequestId, token: Option<ProgressToken>) -> Option<u64> {
        let has_id = |one: &StreamBuffer| one.request.as_ref() == Some(&id);
        if self.requests.values().any(|one| has_id(one) && one.over.is_none()) {
            return None;
        }
        // The client that used this id before has left, and asks again.
        self.requests.retain(|_, one| !(has_id(one) && one.is_left()));
        let number = self.opened;
        self.opened += 1;
        let mut channel = StreamBuffer { request: Some(id), token, ..StreamBuffer::default() };
        channel.push(Some(number), None);
        self.requests.insert(number, channel);
        Some(number)
    }

    /// Adds a reader to a stream: after the others, or before them to resume after an event.
    fn join(&mut self, key: Option<u64>, after: Option<usize>) -> Option<u64> {
        self.readers += 1;
        let id = self.readers;
        let channel = self.channel(key)?;
        match after {
            Some(index) => {
                let next = index.checked_add(1).filter(|next| *next <= channel.next)?;
                channel.given = next.max(channel.first_kept());
                channel.readers.push_front((id, None));
            }
            None => channel.readers.push_back((id, None)),
        }
        Some(id)
    }

    /// Stores a message, unless its stream has a slow reader.
    fn put(&mut self, message: &Arc<ServerJsonRpcMessage>) -> bool {
        if self.is_closed {
            return true;
        }
        let (key, is_last) = match self.route(message) {
            MessageRoute::Request { number, is_last } => (Some(number), is_last),
            MessageRoute::Common => (None, false),
            MessageRoute::Nowhere => return true,
        };
        let Some(channel) = self.channel(key) else { return true };
        if !channel.has_room() {
            return false;
        }
        if let (JsonRpcMessage::Request(asked), Some(_)) = (&**message, key) {
            channel.asked.push(asked.id.clone());
        }
        channel.push(key, Some(Arc::clone(message)));
        if is_last {
            channel.over = Some(Instant::now());
            self.drop_surplus();
        }
        true
    }

    fn route(&self, message: &ServerJsonRpcMessage) -> MessageRoute {
        let open = |is_it: &dyn Fn(&StreamBuffer) -> bool| {
            let mut found = self.requests.iter().rev();
            found.find(|(_, one)| one.over.is_none() && is_it(one)).map(|(number, _)| *number)
        };
        let asked_by = |id: &RequestId| open(&|one| one.request.as_ref() == Some(id));
        let part_of = |number: Option<u64>| match number {
            Some(number) => MessageRoute::Request { number, is_last: false },
            None => MessageRoute::Common,
        };
        // An answer only belongs on the stream of its request: a client that cancelled it wants none.
        let answer_to = |id: &RequestId| match asked_by(id) {
            Some(number) => MessageRoute::Request { number, is_last: true },
            None => MessageRoute::Nowhere,
        };
        match message {
            JsonRpcMessage::Response(answer) => answer_to(&answer.id),
            JsonRpcMessage::Error(error) => {
                error.id.as_ref().map_or(MessageRoute::Common, answer_to)
            }
            JsonRpcMessage::Request(asked) => {
                let origin = asked.request.extensions().get::<OriginatingRequestId>();
                part_of(origin.and_then(|origin| asked_by(&origin.0)))
            }
            JsonRpcMessage::Notification(sent) => part_of(match &sent.notification {
                ServerNotification::ProgressNotification(progress) => {
                    open(&|one| one.token.as_ref() == Some(&progress.params.progress_token))
                }
                ServerNotification::CancelledNotification(cancelled) => {
                    let id = cancelled.params.request_id.as_ref();
                    id.and_then(|id| open(&|one| one.asked.contains(id)))
                }
                _ => None,
            }),
        }
    }

    /// Ends the stream of a cancelled request.
    fn cancel(&mut self, id: &RequestId) {
        for (_, mut channel) in
            self.requests.extract_if(.., |_, one| one.request.as_ref() == Some(id))
        {
            channel.wake_all();
        }
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.common.wake_all();
        self.requests.values_mut().for_each(StreamBuffer::wake_all);
    }

    /// Drops the oldest finished streams without a reader, and streams that are too large to keep.
    fn drop_surplus(&mut self) {
        let mut ended: Vec<_> = self.requests.iter_mut().filter(|(_, one)| one.is_left()).collect();
        ended.sort_unstable_by_key(|(number, one)| Reverse((one.over, **number)));
        let (mut left, mut read) = ((0, 0), (0, 0));
        let mut surplus = Vec::new();
        for (number, one) in ended {
            let is_done = one.is_done();
            let ((count, sum), max_streams, max_bytes) = if is_done {
                (&mut read, MAX_READ_STREAMS, MAX_READ_STREAM_BYTES)
            } else {
                (&mut left, MAX_UNREAD_STREAMS, MAX_UNREAD_STREAM_BYTES)
            };
            // The newest unread one is kept regardless of its size.
            let bytes = if is_done || *count > 0 { one.bytes() } else { 0 };
            if *count >= max_streams || *sum + bytes > max_bytes {
                surplus.push(*number);
                continue;
            }
            *count += 1;
            *sum += bytes;
        }
        for number in surplus {
            self.requests.remove(&number);
        }
    }

    fn forget_left(&mut self) {
        self.requests.retain(|_, one| {
            let is_late = one.over.is_some_and(|at| at.elapsed() >= FINISHED_STREAM_TTL);
            !(is_late && one.is_left())
        });
    }
}

enum MessageRoute {
    /// `is_last` for the answer, which ends the stream.
    Request {
        number: u64,
        is_last: bool,
    },
    Common,
    Nowhere,
}

/// One stream.
#[derive(Default)]
struct StreamBuffer {
    /// The request whose answer it carries.
    request: Option<RequestId>,
    token: Option<ProgressToken>,
    /// Requests to the client on this stream.
    asked: Vec<RequestId>,
    events: VecDeque<ServerSseMessage>,
    /// Index of the next event to store, and of the next one to deliver.
    next: usize,
    given: usize,
    /// The first reads; the others wait for it to leave.
    readers: VecDeque<(u64, Option<Waker>)>,
    /// When the answer was stored.
    over: Option<Instant>,
    /// Size of its events, once computed.
    bytes: Option<usize>,
}

impl StreamBuffer {
    fn has_room(&self) -> bool {
        self.readers.is_empty() || self.next - self.given < MAX_KEPT_EVENTS
    }

    fn first_kept(&self) -> usize {
        self.next - self.events.len()
    }

    /// Appends an event: a message, or without one an event that a client can resume from before the first message.
    fn push(&mut self, key: Option<u64>, message: Option<Arc<ServerJsonRpcMessage>>) {
        let mut event = ServerSseMessage::default();
        event.event_id = Some(match key {
            Some(number) => format!("{}/{number}", self.next),
            None => self.next.to_string(),
        });
        event.retry = message.is_none().then_some(RECONNECT_DELAY);
        event.message = message;
        self.events.push_back(event);
        self.next += 1;
        self.trim();
        self.wake_first();
    }

    /// Drops events that were delivered long ago, or that no client will come back for.
    fn trim(&mut self) {
        while self.events.len() > MAX_KEPT_EVENTS
            && (self.first_kept() < self.given || self.readers.is_empty())
        {
            self.events.pop_front();
        }
        self.given = self.given.max(self.first_kept());
    }

    fn give(&mut self) -> Option<ServerSseMessage> {
        let event = self.events.get(self.given - self.first_kept())?.clone();
        self.given += 1;
        self.trim();
        Some(event)
    }

    fn is_done(&self) -> bool {
        self.over.is_some() && self.given == self.next
    }

    /// Whether it is finished and has no reader.
    fn is_left(&self) -> bool {
        self.over.is_some() && self.readers.is_empty()
    }

    /// The serialized size of the events of a finished stream.
    fn bytes(&mut self) -> usize {
        let messages = self.events.iter().filter_map(|event| event.message.as_deref());
        *self.bytes.get_or_insert_with(|| messages.map(written_bytes).sum())
    }

    fn wake_first(&mut self) {
        if let Some(waker) = self.readers.front_mut().and_then(|(_, waker)| waker.take()) {
            waker.wake();
        }
    }

    fn wake_all(&mut self) {
        self.readers.iter_mut().filter_map(|(_, waker)| waker.take()).for_each(Waker::wake);
    }
}

/// The serialized size of a message.
fn written_bytes(message: &ServerJsonRpcMessage) -> usize {
    struct ByteCountWriter(usize);
    impl io::Write for ByteCountWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCountWriter(0);
    // A message that cannot be serialized takes no space when it is sent either.
    serde_json::to_writer(&mut count, message).map_or(0, |()| count.0)
}

fn parse_event(event: &str) -> Option<(usize, Option<u64>)> {
    match event.split_once('/') {
        Some((index, number)) => Some((index.parse().ok()?, Some(number.parse().ok()?))),
        None => Some((event.parse().ok()?, None)),
    }
}

/// Whether an event belongs to a request's stream.
pub(super) fn is_of_request(event: &str) -> bool {
    parse_event(event).is_some_and(|(_, number)| number.is_some())
}

/// Reads one stream.
pub(super) struct SessionStreamReader {
    outbox: Arc<SessionOutbox>,
    key: Option<u64>,
    id: u64,
}

impl SessionStreamReader {
    pub(super) fn ticket(&self) -> StreamTicket {
        StreamTicket { outbox: Arc::clone(&self.outbox), key: self.key }
    }
}

/// Identifies a stream whose answer was read without sending the client an event id: it can never be resumed.
pub(super) struct StreamTicket {
    outbox: Arc<SessionOutbox>,
    key: Option<u64>,
}

impl StreamTicket {
    pub(super) fn forget(self) {
        if let Some(number) = self.key {
            self.outbox.streams().requests.remove(&number);
        }
    }
}

impl Stream for SessionStreamReader {
    type Item = ServerSseMessage;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut streams = self.outbox.streams();
        let is_closed = streams.is_closed;
        let Some(channel) = streams.channel(self.key) else { return Poll::Ready(None) };
        let is_first = channel.readers.front().is_some_and(|(id, _)| *id == self.id);
        let event = if is_first { channel.give() } else { None };
        if event.is_none() && !is_closed && !channel.is_done() {
            let place = channel.readers.iter_mut().find(|(id, _)| *id == self.id);
            let Some((_, waker)) = place else { return Poll::Ready(None) };
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        if channel.is_done() {
            channel.wake_all();
        }
        drop(streams);
        self.outbox.room.notify_waiters();
        Poll::Ready(event)
    }
}

impl Drop for SessionStreamReader {
    fn drop(&mut self) {
        let mut streams = self.outbox.streams();
        if let Some(channel) = streams.channel(self.key) {
            channel.readers.retain(|(id, _)| *id != self.id);
            channel.wake_first();
            if channel.is_left() {
                streams.drop_surplus();
            }
        }
        drop(streams);
        self.outbox.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, StreamExt};
    use serde_json::{Value, json};

    fn message<T: serde::de::DeserializeOwned>(mut message: Value) -> T {
        message["jsonrpc"] = "2.0".into();
        serde_json::from_value(message).unwrap()
    }

    fn request(id: u64) -> ClientJsonRpcMessage {
        let token = format!("token {id}");
        let params = json!({ "name": "x", "_meta": { "progressToken": token } });
        message(json!({ "id": id, "method": "tools/call", "params": params }))
    }

    fn answer(id: u64) -> ServerJsonRpcMessage {
        long_answer(id, 0)
    }

    fn long_answer(id: u64, bytes: usize) -> ServerJsonRpcMessage {
        let text = json!({ "type": "text", "text": "x".repeat(bytes) });
        message(json!({ "id": id, "result": { "content": [text] } }))
    }

    fn progress(of: u64, progress: f32) -> ServerJsonRpcMessage {
        let params = json!({ "progressToken": format!("token {of}"), "progress": progress });
        message(json!({ "method": "notifications/progress", "params": params }))
    }

    fn log(data: usize) -> ServerJsonRpcMessage {
        let params = json!({ "level": "info", "data": data });
        message(json!({ "method": "notifications/message", "params": params }))
    }

    fn cancelled(id: u64) -> Value {
        json!({ "method": "notifications/cancelled", "params": { "requestId": id } })
    }

    fn question(id: u64, of: u64) -> ServerJsonRpcMessage {
        let mut question: ServerJsonRpcMessage = message(json!({ "id": id, "method": "ping" }));
        if let JsonRpcMessage::Request(asked) = &mut question {
            let of = OriginatingRequestId(RequestId::Number(of.cast_signed()));
            asked.request.extensions_mut().insert(of);
        }
        question
    }

    /// What can be read now, each event by its id and subject; "end" once the stream is finished.
    fn heard(reader: &mut SessionStreamReader) -> String {
        let mut heard = Vec::new();
        while let Some(event) = reader.next().now_or_never() {
            let Some(event) = event else {
                heard.push("end".to_owned());
                break;
            };
            let said = event.message.map(|message| serde_json::to_value(&*message).unwrap());
            let said = said.unwrap_or_default();
            let params = &said["params"];
            let names =
                [&said["method"], &said["id"], &params["progressToken"], &params["progress"]];
            let names = names.into_iter().filter(|name| !name.is_null()).map(Value::to_string);
            let all: Vec<String> = event.event_id.into_iter().chain(names).collect();
            heard.push(all.join(" ").replace('"', ""));
        }
        heard.join(", ")
    }

    #[tokio::test]
    async fn every_message_comes_on_its_own_stream() {
        let (line, mut server) = new_channel();
        let mut first = line.send_request(request(1)).await.unwrap();
        let mut second = line.send_request(request(2)).await.unwrap();
        let mut common = line.listen().unwrap();
        let cancels = message(cancelled(70));
        for said in [progress(2, 0.5), log(0), question(70, 1), question(71, 9), cancels, answer(2)]
        {
            server.send(said).await.unwrap();
        }
        assert_eq!(heard(&mut first), "0/0, 1/0 ping 70, 2/0 notifications/cancelled");
        let of_second = "0/1, 1/1 notifications/progress token 2 0.5, 2/1 2, end";
        assert_eq!(heard(&mut second), of_second);
        assert_eq!(heard(&mut common), "1 notifications/message, 2 ping 71");
        server.send(progress(2, 0.75)).await.unwrap();
        server.send(answer(1)).await.unwrap();
        server.send(answer(1)).await.unwrap();
        assert_eq!(heard(&mut first), "3/0 1, end");
        assert_eq!(heard(&mut common), "3 notifications/progress token 2 0.75");
    }

    #[tokio::test]
    async fn a_cancelled_request_ends_without_an_answer() {
        let (line, mut server) = new_channel();
        let mut reader = line.send_request(request(1)).await.unwrap();
        let mut common = line.listen().unwrap();
        line.send(message(cancelled(1))).await.unwrap();
        server.send(answer(1)).await.unwrap();
        assert_eq!(heard(&mut reader), "end");
        assert_eq!(heard(&mut common), "");
        assert!(matches!(server.receive().await, Some(JsonRpcMessage::Request(_))));
        assert!(matches!(server.receive().await, Some(JsonRpcMessage::Notification(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_waits_for_a_client_that_lost_its_stream() {
        let (line, mut server) = new_channel();
        let mut reader = line.send_request(request(1)).await.unwrap();
        server.send(progress(1, 0.25)).await.unwrap();
        assert_eq!(heard(&mut reader), "0/0, 1/0 notifications/progress token 1 0.25");
        drop(reader);
        server.send(progress(1, 0.5)).await.unwrap();
        server.send(answer(1)).await.unwrap();
        tokio::time::advance(FINISHED_STREAM_TTL / 2).await;
        line.forget_left();
        let mut again = line.resume("0/0").unwrap();
        let from_there = "1/0 notifications/progress token 1 0.25, 2/0 notifications/progress token 1 0.5, 3/0 1, end";
        assert_eq!(heard(&mut again), from_there);
        drop(again);

        drop(line.send_request(request(2)).await.unwrap());
        server.send(answer(2)).await.unwrap();
        tokio::time::advance(FINISHED_STREAM_TTL).await;
        line.forget_left();
        assert!(line.resume("0/0").is_err());
        assert!(line.resume("0/1").is_err());
    }

    /// Requests this many answers of this size, and reads them or leaves; returns the numbers of the streams that are
    /// still kept.
    async fn kept(times: u64, bytes: usize, reads: bool) -> Vec<u64> {
        let (line, mut server) = new_channel();
        for id in 0..times {
            let mut reader = line.send_request(request(id)).await.unwrap();
            server.receive().await.unwrap();
            if reads {
                server.send(long_answer(id, bytes)).await.unwrap();
                assert_eq!(heard(&mut reader), format!("0/{id}, 1/{id} {id}, end"));
            } else {
                drop(reader);
                server.send(long_answer(id, bytes)).await.unwrap();
            }
        }
        let mut kept = Vec::new();
        for id in 0..times {
            if let Ok(mut reader) = line.resume(&format!("0/{id}")) {
                assert_eq!(heard(&mut reader), format!("1/{id} {id}, end"));
                kept.push(id);
                // Reading this must not push out the next one.
                reader.ticket().forget();
            }
        }
        kept
    }

    #[tokio::test]
    async fn unread_answers_are_few() {
        assert_eq!(kept(19, 0, false).await, (3..19).collect::<Vec<_>>());
        assert_eq!(kept(6, MAX_UNREAD_STREAM_BYTES / 2 - 100, false).await, [3, 4, 5]);
        assert_eq!(kept(3, MAX_UNREAD_STREAM_BYTES * 2, false).await, [2]);
    }

    #[tokio::test]
    async fn the_last_answers_read_can_be_read_again() {
        assert_eq!(kept(6, 0, true).await, [2, 3, 4, 5]);
        assert_eq!(kept(6, MAX_READ_STREAM_BYTES / 2 - 100, true).await, [4, 5]);
        assert_eq!(kept(3, MAX_READ_STREAM_BYTES, true).await, Vec::<u64>::new());
        let (line, mut server) = new_channel();
        let mut reader = line.send_request(request(1)).await.unwrap();
        server.send(answer(1)).await.unwrap();
        assert_eq!(heard(&mut reader), "0/0, 1/0 1, end");
        reader.ticket().forget();
        assert!(line.resume("0/0").is_err());
    }

    /// Requests an answer of this size, and reads it.
    async fn answered(line: &SessionChannel, server: &mut SessionServerEnd, id: u64, bytes: usize) {
        let mut reader = line.send_request(request(id)).await.unwrap();
        server.receive().await.unwrap();
        server.send(long_answer(id, bytes)).await.unwrap();
        assert_eq!(heard(&mut reader), format!("0/{id}, 1/{id} {id}, end"));
    }

    #[tokio::test]
    async fn the_last_answers_read_are_those_that_ended_last() {
        let (line, mut server) = new_channel();
        let mut slow = line.send_request(request(0)).await.unwrap();
        for id in 1..=MAX_READ_STREAMS as u64 {
            answered(&line, &mut server, id, 0).await;
        }
        server.send(answer(0)).await.unwrap();
        assert_eq!(heard(&mut slow), "0/0, 1/0 0, end");
        drop(slow);
        assert!(line.resume("0/1").is_err());
        assert!(line.resume("0/0").is_ok());
    }

    #[tokio::test]
    async fn the_last_unread_answers_are_those_that_ended_last() {
        let (line, mut server) = new_channel();
        let all = MAX_UNREAD_STREAMS as u64;
        for id in 0..=all {
            drop(line.send_request(request(id)).await.unwrap());
            server.receive().await.unwrap();
        }
        for id in 1..=all {
            server.send(answer(id)).await.unwrap();
        }
        server.send(long_answer(0, MAX_UNREAD_STREAM_BYTES * 2)).await.unwrap();
        assert!(line.resume("0/1").is_err());
        assert_eq!(heard(&mut line.resume("0/0").unwrap()), "1/0 0, end");
        assert_eq!(heard(&mut line.resume("0/2").unwrap()), "1/2 2, end");
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_to_keep_pushes_out_no_other() {
        let (line, mut server) = new_channel();
        for (id, bytes) in [(0, 0), (1, 0), (2, MAX_READ_STREAM_BYTES)] {
            answered(&line, &mut server, id, bytes).await;
        }
        assert!(line.resume("0/2").is_err());
        for id in 0..2 {
            let mut reader = line.resume(&format!("0/{id}")).unwrap();
            assert_eq!(heard(&mut reader), format!("1/{id} {id}, end"));
        }
    }

    #[tokio::test]
    async fn every_reader_of_a_stream_sees_its_end() {
        let (line, mut server) = new_channel();
        let mut first = line.send_request(request(1)).await.unwrap();
        let mut second = line.resume("0/0").unwrap();
        assert_eq!(heard(&mut first), "");
        server.send(answer(1)).await.unwrap();
        assert_eq!(heard(&mut second), "1/0 1, end");
        assert_eq!(heard(&mut first), "end");
        assert_eq!(heard(&mut line.resume("1/0").unwrap()), "end");
    }

    #[tokio::test]
    async fn a_reconnecting_reader_continues_after_the_event() {
        let (line, mut server) = new_channel();
        for number in 0..MAX_KEPT_EVENTS + 4 {
            server.send(log(number)).await.unwrap();
        }
        let mut first = line.listen().unwrap();
        let heard_first = heard(&mut first);
        assert!(heard_first.starts_with("5 notifications/message, 6 "), "{heard_first}");
        let mut second = line.listen().unwrap();
        let mut third = line.resume("19").unwrap();
        assert_eq!(heard(&mut third), "20 notifications/message");
        server.send(log(0)).await.unwrap();
        assert_eq!([heard(&mut first), heard(&mut second)], ["", ""]);
        drop(third);
        assert_eq!(heard(&mut second), "");
        assert_eq!(heard(&mut first), "21 notifications/message");
        drop(first);
        server.send(log(0)).await.unwrap();
        assert_eq!(heard(&mut second), "22 notifications/message");
        for unknown in ["23", "18446744073709551615", "0/0", "1/", "x", ""] {
            assert!(line.resume(unknown).is_err(), "{unknown}");
        }
    }

    #[tokio::test]
    async fn a_slow_reader_is_waited_for_until_it_leaves() {
        let (line, mut server) = new_channel();
        let mut reader = line.listen().unwrap();
        for number in 0..MAX_KEPT_EVENTS {
            server.send(log(number)).now_or_never().unwrap().unwrap();
        }
        let mut waits = Box::pin(server.send(log(0)));
        assert!(waits.as_mut().now_or_never().is_none());
        // Another stream is unaffected.
        let mut other = line.send_request(request(1)).await.unwrap();
        server.send(answer(1)).now_or_never().unwrap().unwrap();
        assert_eq!(heard(&mut other), "0/0, 1/0 1, end");
        assert!(reader.next().await.is_some());
        waits.as_mut().now_or_never().unwrap().unwrap();
        let mut waits = Box::pin(server.send(log(0)));
        assert!(waits.as_mut().now_or_never().is_none());
        drop(reader);
        waits.as_mut().now_or_never().unwrap().unwrap();
    }

    #[tokio::test]
    async fn an_id_is_free_again_once_its_request_is_answered_or_cancelled() {
        let (line, mut server) = new_channel();
        let reader = line.send_request(request(1)).await.unwrap();
        assert!(matches!(line.send_request(request(1)).await, Err(SessionChannelError::Taken)));
        drop(reader);
        // Its answer would be mistaken for that of the second.
        assert!(matches!(line.send_request(request(1)).await, Err(SessionChannelError::Taken)));
        server.send(answer(1)).await.unwrap();
        drop(line.send_request(request(1)).await.unwrap());
        assert!(matches!(line.send_request(request(1)).await, Err(SessionChannelError::Taken)));
        line.send(message(cancelled(1))).await.unwrap();
        let mut again = line.send_request(request(1)).await.unwrap();
        server.send(answer(1)).await.unwrap();
        assert_eq!(heard(&mut again), "0/2, 1/2 1, end");
    }

    #[tokio::test]
    async fn a_request_that_was_not_sent_leaves_its_id_free() {
        let (line, mut server) = new_channel();
        for id in 0..MAX_QUEUED_MESSAGES as u64 {
            drop(line.send_request(request(id)).await.unwrap());
        }
        assert!(line.send_request(request(99)).now_or_never().is_none());
        server.receive().await.unwrap();
        line.send_request(request(99)).await.unwrap();
    }

    #[tokio::test]
    async fn a_cancellation_that_was_not_sent_ends_nothing() {
        let (line, mut server) = new_channel();
        let mut reader = line.send_request(request(0)).await.unwrap();
        for id in 1..MAX_QUEUED_MESSAGES as u64 {
            drop(line.send_request(request(id)).await.unwrap());
        }
        assert!(line.send(message(cancelled(0))).now_or_never().is_none());
        server.send(answer(0)).await.unwrap();
        assert_eq!(heard(&mut reader), "0/0, 1/0 0, end");
    }

    #[tokio::test]
    async fn streams_end_with_the_server_once_they_are_read() {
        let (line, mut server) = new_channel();
        let mut reader = line.send_request(request(1)).await.unwrap();
        let mut common = line.listen().unwrap();
        let (woken, mut ended) = mpsc::channel(1);
        let waits = tokio::spawn(async move {
            while let Some(event) = common.next().await {
                woken.send(event.event_id).await.unwrap();
            }
        });
        server.send(log(1)).await.unwrap();
        assert_eq!(ended.recv().await, Some(Some("1".to_owned())));
        server.send(answer(1)).await.unwrap();
        drop(server);
        waits.await.unwrap();
        assert_eq!(heard(&mut reader), "0/0, 1/0 1, end");
        assert!(matches!(line.send(request(2)).await, Err(SessionChannelError::Ended)));
        assert!(matches!(line.send_request(request(3)).await, Err(SessionChannelError::Ended)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_session_ends() {
        let (line, mut server) = new_channel();
        let begun = Instant::now();
        assert!(server.receive().await.is_none());
        assert_eq!(begun.elapsed(), INITIALIZE_TIMEOUT);
        line.send(request(1)).await.unwrap();
        assert!(server.receive().await.is_some());
        assert!(server.receive().await.is_none());
        assert_eq!(begun.elapsed(), INITIALIZE_TIMEOUT + SESSION_IDLE_TIMEOUT);
        drop(line);
        assert!(server.receive().await.is_none());
        assert_eq!(begun.elapsed(), INITIALIZE_TIMEOUT + SESSION_IDLE_TIMEOUT);
    }
}
