//! One connection as an `rmcp` transport: frames in, frames out.
//!
//! A [`FrameTransport`] reads frames in the connection's dialect, answers malformed or out-of-order messages, and passes the rest
//! to the service. stdio, the older SSE pair and WebSocket differ only in their frames.

use crate::{
    AccessControl, Caller, CallerContext, CallerCredentials, Certificate, NoCapacity, Principal,
    SlotGuard,
    access_control::{count_request, retry_data, unknown_caller_message},
    frame_json::{answer_to, array, piece_of},
    lines::FrameTooLong,
    message::{decode, encode, to_value, wire_id},
};
use bytes::Bytes;
use docent_traffic::{Direction, Tap, TrafficKind};
use docent_wire::{
    Dialect, Envelope, GateDecision, HandshakePolicy, Id, MessageError, PARTIAL_METHOD,
    ProtocolState, WireFrame, code, read,
};
use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// How long a peer may take to present a required token.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(5);

/// A peer that has read nothing for this long may be gone.
const STUCK_TIMEOUT: Duration = Duration::from_secs(30);

/// A source of frames. `next` must be cancel-safe.
pub(crate) trait Frames: Send {
    /// Whether to read ahead while a peer has stopped reading, up to about the size of one message: needed if only the
    /// end of the input reveals that the peer is gone.
    const AHEAD: bool = false;

    /// The next frame; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, FrameTooLong>>> + Send;

    /// The sender of the last frame, if frames identify their senders.
    fn sender(&mut self) -> Option<Principal> {
        None
    }
}

/// Takes the slots of a connection whose peer has presented its token.
pub(crate) type SlotTaker = Box<dyn FnMut(&Caller) -> Result<SlotGuard, NoCapacity> + Send>;

/// Initial state of a connection.
pub(crate) struct LinkSetup {
    pub(crate) caller: Caller,
    /// The caller has yet to present a token.
    pub(crate) locked: bool,
    /// Set while a locked connection has no slots yet.
    pub(crate) take_slots: Option<SlotTaker>,
    pub(crate) handshake: HandshakePolicy,
    pub(crate) message_bytes: usize,
    /// Requests are counted by the transport that receives them.
    pub(crate) counted: bool,
    /// Presented again together with a token.
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) access: Arc<dyn AccessControl>,
    /// Records the messages.
    pub(crate) tap: Option<Tap>,
    pub(crate) closing: CancellationToken,
}

/// The peer disconnected.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the peer went away")]
pub(crate) struct PeerGone;

/// A request in progress.
struct InFlightRequest {
    dialect: Dialect,
    streams: bool,
    batch: Option<u64>,
    /// It is `initialize`, which cannot be cancelled.
    opens: bool,
}

/// An array whose answers are sent together.
struct PendingBatch {
    waiting: HashSet<RequestId>,
    answers: Vec<Vec<u8>>,
    /// Its members are still being read.
    reading: bool,
}

pub(crate) struct FrameTransport<F> {
    frames: F,
    out: mpsc::Sender<Vec<u8>>,
    opening: LinkSetup,
    protocol: ProtocolState,
    locked_until: Instant,
    /// A frame whose token has yet to be resolved.
    held: Option<Bytes>,
    /// The token was looked up, which happens once.
    asked: bool,
    /// The slots taken when it was unlocked.
    slots: Vec<SlotGuard>,
    /// Frames that were read ahead, and their size.
    ahead: VecDeque<Result<Bytes, FrameTooLong>>,
    ahead_bytes: usize,
    /// Since when the output has been full.
    full_since: Option<Instant>,
    /// Our own frames, until there is room for them.
    outbox: VecDeque<Vec<u8>>,
    inbox: VecDeque<RxJsonRpcMessage<RoleServer>>,
    pending: HashMap<RequestId, InFlightRequest>,
    batches: HashMap<u64, PendingBatch>,
    batches_seen: u64,
    /// The number of the current message in the traffic recording.
    recorded: Option<u64>,
}

impl<F: Frames> FrameTransport<F> {
    pub(crate) fn new(frames: F, out: mpsc::Sender<Vec<u8>>, opening: LinkSetup) -> Self {
        let protocol = ProtocolState::new(opening.handshake, opening.locked);
        let locked_until = Instant::now() + TOKEN_TIMEOUT;
        let (ahead, outbox, inbox, pending, batches) = Default::default();
        Self {
            frames,
            out,
            opening,
            protocol,
            locked_until,
            held: None,
            asked: false,
            slots: Vec::new(),
            ahead,
            ahead_bytes: 0,
            full_since: None,
            outbox,
            inbox,
            pending,
            batches,
            batches_seen: 0,
            recorded: None,
        }
    }

    fn send_frame(&mut self, value: &Value) {
        self.put_out(value.to_string().into_bytes());
    }

    fn put_out(&mut self, frame: Vec<u8>) {
        self.record_out(&frame);
        self.outbox.push_back(frame);
    }

    fn record_out(&self, frame: &[u8]) {
        if let Some(tap) = &self.opening.tap {
            tap.record_message(Direction::Out, frame, None);
        }
    }

    fn read_frames(&mut self, frame: Result<Bytes, FrameTooLong>) {
        match frame {
            Ok(bytes) if self.protocol.is_locked() => self.held = Some(bytes),
            Ok(bytes) => self.take_frame(&bytes),
            Err(FrameTooLong) => {
                if let Some(tap) = &self.opening.tap {
                    tap.note(TrafficKind::Noise, "a message over the limit", None);
                }
                self.send_frame(&MessageError::too_long(self.opening.message_bytes).to_value());
            }
        }
    }

    fn take_frame(&mut self, bytes: &[u8]) {
        self.recorded = self
            .opening
            .tap
            .as_ref()
            .and_then(|tap| tap.record_message(Direction::In, bytes, None));
        tracing::debug!(target: "mcp::protocol", "[MCP →] {}", String::from_utf8_lossy(bytes).trim_end());
        match read(bytes) {
            WireFrame::Empty => {}
            WireFrame::One(verdict) => {
                if let Some(answer) = self.take(verdict, None) {
                    self.send_frame(&answer);
                }
            }
            WireFrame::Batch(_) if !self.protocol.has_batches() => {
                let version = self.protocol.dialect().version();
                let message = format!(
                    "Invalid Request: {version} does not support batches: send one message at a time"
                );
                self.send_frame(
                    &MessageError::new(None, code::INVALID_REQUEST, message).to_value(),
                );
            }
            WireFrame::Batch(verdicts) => self.take_batch(verdicts),
        }
    }

    fn take_batch(&mut self, verdicts: Vec<Result<Envelope<'_>, MessageError>>) {
        self.batches_seen += 1;
        let key = self.batches_seen;
        self.batches.insert(
            key,
            PendingBatch { waiting: HashSet::new(), answers: Vec::new(), reading: true },
        );
        let counted = self.opening.counted;
        for verdict in verdicts {
            let verdict = verdict.and_then(|envelope| match &envelope {
                Envelope::Request { id, method, .. } if method == "initialize" => {
                    let message = "Invalid Request: initialize cannot be part of a batch";
                    Err(MessageError::new(Some(id.clone()), code::INVALID_REQUEST, message))
                }
                _ => Ok(envelope),
            });
            let answer = self.take(verdict, Some(key));
            // Members of a batch are recorded consecutively.
            self.recorded = self.recorded.map(|number| number + 1);
            // The request was counted by the transport; the other members are counted here.
            self.opening.counted = false;
            if let (Some(answer), Some(batch)) = (answer, self.batches.get_mut(&key)) {
                batch.answers.push(answer.to_string().into_bytes());
            }
        }
        self.opening.counted = counted;
        if let Some(batch) = self.batches.get_mut(&key) {
            batch.reading = false;
        }
        if let Some(frame) = self.finished_batch(key) {
            self.put_out(frame);
        }
    }

    /// The whole array, once its last answer is ready.
    fn finished_batch(&mut self, key: u64) -> Option<Vec<u8>> {
        let batch = self.batches.get(&key)?;
        if batch.reading || !batch.waiting.is_empty() {
            return None;
        }
        let answers = self.batches.remove(&key)?.answers;
        (!answers.is_empty()).then(|| array(&answers))
    }

    /// Passes a message on, or returns the answer to one that is not passed on.
    fn take(
        &mut self,
        verdict: Result<Envelope<'_>, MessageError>,
        batch: Option<u64>,
    ) -> Option<Value> {
        let envelope = match verdict {
            Ok(envelope) => envelope,
            Err(refusal) => return Some(refusal.to_value()),
        };
        match self.admit(&envelope, batch) {
            Ok(answer) => answer.map(|result| answer_to(&envelope, &result)),
            Err(refusal) => Some(refusal.to_value()),
        }
    }

    fn admit(
        &mut self,
        envelope: &Envelope<'_>,
        batch: Option<u64>,
    ) -> Result<Option<Value>, MessageError> {
        if let Some(id) = envelope.wanted() {
            self.count(id)?;
        }
        let dialect = match self.protocol.gate(envelope) {
            GateDecision::Pass(dialect) => dialect,
            GateDecision::Open(dialect, token) => self.open(envelope, dialect, token.as_deref())?,
            GateDecision::Answer(result) => return Ok(Some(result)),
            GateDecision::Refuse(refusal) => return Err(refusal),
            GateDecision::Drop => return Ok(None),
        };
        let origin = CallerContext {
            caller: self.opening.caller.clone(),
            dialect: Some(dialect),
            streams: false,
            recorded: self.recorded,
        };
        let Some(message) = decode(envelope, &origin)? else { return Ok(None) };
        match &message {
            JsonRpcMessage::Request(request) => {
                let streams = CallerContext::from_extensions(
                    rmcp::model::GetExtensions::extensions(&request.request),
                )
                .is_some_and(|origin| origin.streams);
                let opens = match &request.request {
                    ClientRequest::InitializeRequest(opening) => {
                        self.note_opening(&opening.params.client_info.name, dialect);
                        true
                    }
                    _ => false,
                };
                self.register_request(
                    &request.id,
                    InFlightRequest { dialect, streams, batch, opens },
                )?;
            }
            JsonRpcMessage::Notification(notification) => {
                if let rmcp::model::ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    if self.pending.get(id).is_some_and(|pending| pending.opens) {
                        return Ok(None);
                    }
                    self.forget_request(&id.clone());
                }
            }
            _ => {}
        }
        self.inbox.push_back(message);
        Ok(None)
    }

    /// Tells the recording the client and the dialect, which it needs even if recording begins later.
    fn note_opening(&self, client: &str, dialect: Dialect) {
        if let Some(tap) = &self.opening.tap {
            tap.set_peer(client);
            tap.speaks(dialect.version());
        }
    }

    fn count(&self, id: &Id) -> Result<(), MessageError> {
        if self.opening.counted {
            return Ok(());
        }
        count_request(&*self.opening.access, &self.opening.caller, id)
    }

    fn identify(&self, token: &str) -> Option<Principal> {
        let certificate = self.opening.certificate.as_deref();
        self.opening.access.identify(&CallerCredentials { token: Some(token), certificate })
    }

    /// The unknown token of a locked peer, if it may still be looked up.
    fn refuse_unknown_token(&mut self, bytes: &[u8]) -> Option<String> {
        if self.asked || !self.protocol.is_locked() {
            return None;
        }
        let WireFrame::One(Ok(envelope)) = read(bytes) else { return None };
        let GateDecision::Open(_, token) = self.protocol.gate(&envelope) else { return None };
        // Guesses are counted before they cost anything.
        let LinkSetup { access: door, caller, .. } = &self.opening;
        token.filter(|token| self.identify(token).is_none() && door.admit(caller).is_ok())
    }

    fn open(
        &mut self,
        envelope: &Envelope<'_>,
        dialect: Dialect,
        token: Option<&str>,
    ) -> Result<Dialect, MessageError> {
        if self.protocol.is_locked() {
            let id = envelope.wanted().cloned();
            let Some(principal) = token.and_then(|token| self.identify(token)) else {
                self.opening.access.count_unknown_caller();
                let via = self.opening.caller.via;
                let message = unknown_caller_message(&*self.opening.access, via, token);
                return Err(MessageError::new(id, code::INVALID_REQUEST, message));
            };
            let caller = Caller { principal, ..self.opening.caller.clone() };
            if let Some(take) = &mut self.opening.take_slots {
                let seats = take(&caller).map_err(|overload| {
                    let data = retry_data(overload.retry_after);
                    MessageError::new(id, code::SERVER, overload.to_string()).with(data)
                })?;
                self.slots.push(seats);
                self.opening.take_slots = None;
            }
            self.opening.caller = caller;
            self.protocol.unlock();
        }
        self.protocol.opened(dialect);
        Ok(dialect)
    }

    fn register_request(
        &mut self,
        id: &RequestId,
        pending: InFlightRequest,
    ) -> Result<(), MessageError> {
        if self.pending.contains_key(id) {
            let why = "Invalid Request: a request with this id is still being answered: cancel it, or use another id";
            return Err(MessageError::new(Some(wire_id(id)), code::INVALID_REQUEST, why));
        }
        if let Some(batch) = pending.batch.and_then(|key| self.batches.get_mut(&key)) {
            batch.waiting.insert(id.clone());
        }
        self.pending.insert(id.clone(), pending);
        Ok(())
    }

    /// A cancelled request is never answered, so nothing may wait for it. Its id is free immediately: if the client
    /// reuses it, which the protocol forbids, a late answer cannot be distinguished from that of the new request.
    fn forget_request(&mut self, id: &RequestId) {
        let Some(InFlightRequest { batch: Some(key), .. }) = self.pending.remove(id) else {
            return;
        };
        if let Some(batch) = self.batches.get_mut(&key) {
            batch.waiting.remove(id);
        }
        if let Some(frame) = self.finished_batch(key) {
            self.put_out(frame);
        }
    }

    /// The frame for a message of the service, if it results in one now.
    fn write(&mut self, message: &ServerJsonRpcMessage) -> Option<Vec<u8>> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Notification(note) => {
                return self.write_note(&note.notification, message);
            }
            JsonRpcMessage::Request(_) => None,
        };
        let Some(pending) = id.and_then(|id| self.pending.remove(id)) else {
            return Some(encode(self.protocol.dialect(), message));
        };
        if pending.batch.is_none() && !pending.streams {
            return Some(encode(pending.dialect, message));
        }
        let mut value = to_value(pending.dialect, message).ok()?;
        if pending.streams
            && let Some(Value::Object(result)) = value.get_mut("result")
        {
            result.insert("partial".into(), false.into());
        }
        let Some(key) = pending.batch else { return Some(value.to_string().into_bytes()) };
        let batch = self.batches.get_mut(&key)?;
        if let Some(id) = id {
            batch.waiting.remove(id);
        }
        batch.answers.push(value.to_string().into_bytes());
        self.finished_batch(key)
    }

    fn write_note(
        &self,
        note: &ServerNotification,
        message: &ServerJsonRpcMessage,
    ) -> Option<Vec<u8>> {
        match note {
            ServerNotification::CustomNotification(piece) if piece.method == PARTIAL_METHOD => {
                piece_of(piece.params.as_ref()?).map(|value| value.to_string().into_bytes())
            }
            _ => Some(encode(self.protocol.dialect(), message)),
        }
    }
}

/// The size that a waiting frame counts as.
fn frame_size(frame: &Result<Bytes, FrameTooLong>) -> usize {
    // Many small frames take more than their bytes.
    size_of_val(frame) + frame.as_ref().map_or(0, Bytes::len)
}

impl<F: Frames + 'static> Transport<RoleServer> for FrameTransport<F> {
    type Error = PeerGone;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), PeerGone>> + Send + 'static {
        let frame = self.write(&item).inspect(|frame| self.record_out(frame));
        // Sent immediately if there is room, so that messages keep their order.
        let late = match frame.map(|frame| self.out.try_send(frame)) {
            None | Some(Ok(())) => Ok(None),
            Some(Err(mpsc::error::TrySendError::Full(frame))) => Ok(Some(frame)),
            Some(Err(mpsc::error::TrySendError::Closed(_))) => Err(PeerGone),
        };
        let out = late.as_ref().is_ok_and(Option::is_some).then(|| self.out.clone());
        async move {
            match (late?, out) {
                (Some(frame), Some(out)) => out.send(frame).await.map_err(|_| PeerGone),
                _ => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let until = self.protocol.is_locked().then_some(self.locked_until);
            // Don't read from a peer that does not read; a locked peer gets no extra time for that.
            while !self.outbox.is_empty() || self.out.capacity() == 0 {
                let is_stuck_at = *self.full_since.get_or_insert_with(Instant::now) + STUCK_TIMEOUT;
                let may_look = F::AHEAD && self.ahead_bytes < self.opening.message_bytes;
                let frames = &mut self.frames;
                let next = async {
                    sleep_until(is_stuck_at).await;
                    frames.next().await
                };
                let room = tokio::select! {
                    biased;
                    () = at(until) => {
                        // Drop what it did not read in time.
                        self.outbox.clear();
                        return None;
                    }
                    room = self.out.reserve() => room.ok()?,
                    frame = next, if may_look && until.is_none() => {
                        let frame = frame?;
                        self.ahead_bytes += frame_size(&frame);
                        self.ahead.push_back(frame);
                        continue;
                    }
                };
                self.full_since = None;
                match self.outbox.pop_front() {
                    Some(frame) => room.send(frame),
                    None => break,
                }
            }
            self.full_since = None;
            if let Some(message) = self.inbox.pop_front() {
                return Some(message);
            }
            // Kept until the lookup has finished, because this future may be dropped before that.
            if let Some(bytes) = self.held.clone() {
                if let Some(token) = self.refuse_unknown_token(&bytes) {
                    let learning = self.opening.access.fetch_unknown_keys(&token);
                    tokio::select! {
                        biased;
                        () = at(until) => return None,
                        () = self.out.closed() => return None,
                        learnt = learning => tracing::debug!(learnt, "looked up a token"),
                    }
                    self.asked = true;
                }
                self.held = None;
                self.take_frame(&bytes);
                continue;
            }
            // Frames before the end are answered too.
            if let Some(frame) = self.ahead.pop_front() {
                self.ahead_bytes -= frame_size(&frame);
                self.read_frames(frame);
                continue;
            }
            if self.opening.closing.is_cancelled() {
                // Once the service sees the end, it drops notifications of running calls, which would wait for them. So
                // it sees the end only when nothing is left to answer; it polls again after every answer.
                if !self.pending.is_empty() {
                    self.out.closed().await;
                }
                return None;
            }
            let frame = tokio::select! {
                biased;
                () = self.opening.closing.cancelled() => continue,
                // The reader of the output is gone.
                () = self.out.closed() => return None,
                () = at(until) => return None,
                frame = self.frames.next() => frame?,
            };
            if let Some(sender) = self.frames.sender() {
                self.opening.caller.principal = sender;
            }
            self.read_frames(frame);
        }
    }

    async fn close(&mut self) -> Result<(), PeerGone> {
        while let Some(frame) = self.outbox.pop_front() {
            self.out.send(frame).await.map_err(|_| PeerGone)?;
        }
        Ok(())
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionKind;
    use tokio::time::timeout;

    struct OpenAccess;

    impl AccessControl for OpenAccess {
        fn needs_token(&self) -> bool {
            false
        }
        fn identify(&self, _: &CallerCredentials<'_>) -> Option<Principal> {
            Some(Principal::unknown())
        }
        fn admit(&self, _: &Caller) -> Result<(), Duration> {
            Ok(())
        }
        fn open_session(&self, _: &Caller) -> Result<SlotGuard, NoCapacity> {
            Ok(Box::new(()))
        }
        fn open_stream(&self, _: &Caller) -> Result<SlotGuard, NoCapacity> {
            Ok(Box::new(()))
        }
    }

    /// Frames that are all available at once, without an end.
    struct ReadyFrames(VecDeque<Bytes>);

    impl Frames for ReadyFrames {
        const AHEAD: bool = true;

        async fn next(&mut self) -> Option<Result<Bytes, FrameTooLong>> {
            match self.0.pop_front() {
                Some(frame) => Some(Ok(frame)),
                None => std::future::pending().await,
            }
        }
    }

    fn link(frames: &[&'static str], out: mpsc::Sender<Vec<u8>>) -> FrameTransport<ReadyFrames> {
        let caller =
            Caller { principal: Principal::unknown(), via: ConnectionKind::Stdio, remote: None };
        let opening = LinkSetup {
            caller,
            locked: false,
            take_slots: None,
            handshake: HandshakePolicy::Optional,
            message_bytes: 1024,
            counted: false,
            certificate: None,
            access: Arc::new(OpenAccess),
            tap: None,
            closing: CancellationToken::new(),
        };
        let frames = frames.iter().map(|frame| Bytes::from_static(frame.as_bytes()));
        FrameTransport::new(ReadyFrames(frames.collect()), out, opening)
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_has_read_since_is_not_stuck() {
        let (out, mut read) = mpsc::channel(1);
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let mut link = link(&[ping, ping], out.clone());
        out.try_send(Vec::new()).unwrap();
        assert!(timeout(STUCK_TIMEOUT / 2, link.receive()).await.is_err());
        read.recv().await.unwrap();
        assert!(link.receive().await.is_some());
        out.try_send(Vec::new()).unwrap();
        assert!(timeout(STUCK_TIMEOUT / 4 * 3, link.receive()).await.is_err());
        assert!(link.ahead.is_empty());
        assert!(timeout(STUCK_TIMEOUT, link.receive()).await.is_err());
        assert_eq!(link.ahead.len(), 1, "a peer that reads nothing may have gone away");
    }
}
