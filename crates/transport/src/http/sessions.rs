//! Sessions of Streamable HTTP: each has a channel, an owner, a slot and a dialect.
//!
//! Many clients leave without ending their session. An idle session is ended after a while: a client that comes back to
//! it gets 404 and starts another, as the protocol specifies.

use super::session_channel::{
    SessionChannel, SessionChannelError, SessionServerEnd, StreamTicket, new_channel,
};
use crate::{Caller, ClientKey, Principal, SlotGuard, message::to_value};
use docent_traffic::Tap;
use docent_wire::{Dialect, needs_shaping};
use futures::{Stream, StreamExt, future::Either};
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, CustomNotification, CustomResult, JsonRpcMessage,
        ServerJsonRpcMessage, ServerNotification, ServerResult,
    },
    transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager},
};
use serde_json::Value;
use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use uuid::Uuid;

struct SessionRecord {
    principal: Principal,
    client: ClientKey,
    dialect: Dialect,
    used: Arc<Mutex<SessionUsage>>,
    tap: Option<Tap>,
    _slot: SlotGuard,
}

impl SessionRecord {
    /// Since when it has been idle; `None` while it is in use.
    fn unused_since(&self) -> Option<Instant> {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        (used.open == 0).then_some(used.last)
    }
}

/// Open requests and streams of a session.
#[derive(Clone, Copy)]
struct SessionUsage {
    open: usize,
    /// When the last of them began or ended.
    last: Instant,
}

/// A request or stream of a session. The session is in use until it is dropped.
pub(super) struct SessionUse {
    used: Arc<Mutex<SessionUsage>>,
    /// Records the session's messages.
    pub(super) tap: Option<Tap>,
}

impl SessionUse {
    fn begin(known: &SessionRecord) -> Self {
        known.used.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
        Self { used: Arc::clone(&known.used), tap: known.tap.clone() }
    }
}

impl Drop for SessionUse {
    fn drop(&mut self) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.open = used.open.saturating_sub(1);
        used.last = Instant::now();
    }
}

/// When every slot is taken, a session that has been idle for this fraction of its timeout makes room for a new one.
const IDLE_FRACTION: u32 = 30;

/// Sessions by id. An id is not authentication: only the principal that opened the session may use it.
#[derive(Default)]
pub(super) struct SessionStore {
    open: Mutex<HashMap<SessionId, OpenSession>>,
    known: Mutex<HashMap<SessionId, SessionRecord>>,
}

/// A session, from its first message.
#[derive(Clone)]
struct OpenSession {
    line: SessionChannel,
    dialect: Dialect,
}

impl SessionStore {
    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, SessionRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &SessionId) -> Result<OpenSession, SessionChannelError> {
        self.open().get(id).cloned().ok_or(SessionChannelError::Ended)
    }

    /// Stores the owner of a session. It keeps its slot until it ends.
    pub(super) fn own(&self, id: &str, caller: &Caller, seat: SlotGuard, tap: Option<Tap>) {
        let id: SessionId = id.into();
        // A session that has already ended must not leave an owner behind.
        if let Ok(OpenSession { dialect, .. }) = self.find(&id) {
            let used = Arc::new(Mutex::new(SessionUsage { open: 0, last: Instant::now() }));
            if let Some(tap) = &tap {
                tap.speaks(dialect.version());
            }
            let (principal, client) = (caller.principal.clone(), caller.client());
            self.known()
                .insert(id, SessionRecord { principal, client, dialect, used, tap, _slot: seat });
        }
    }

    /// Uses a session, if it belongs to this principal.
    pub(super) fn begin_use(&self, id: &str, principal: &Principal) -> Option<SessionUse> {
        // Under the lock: a session is either used or ended, never both.
        let known = self.known();
        known.get(id).filter(|one| one.principal.is_same(principal)).map(SessionUse::begin)
    }

    /// Ends the sessions that have been idle for this long; returns how many. The others drop answers that were not
    /// fetched.
    pub(super) fn end_unused(&self, idle: Duration) -> usize {
        self.open().values().for_each(|one| one.line.forget_left());
        let is_over =
            |one: &SessionRecord| one.unused_since().is_some_and(|at| at.elapsed() >= idle);
        let unused: Vec<_> = self.known().extract_if(|_, one| is_over(one)).collect();
        for (id, _) in &unused {
            self.end(id);
        }
        unused.len()
    }

    /// Ends one session so that another can begin: the one idle for longest, of `owner`, or else of the client with the
    /// most sessions. False if all are in use, or were until a moment ago.
    pub(super) fn make_room(&self, idle: Duration, owner: Option<&ClientKey>) -> bool {
        let mut known = self.known();
        let chosen = longest_unused(&known, idle / IDLE_FRACTION, owner);
        let ended = chosen.and_then(|id| known.remove_entry(&id));
        drop(known);
        if let Some((id, _)) = &ended {
            self.end(id);
        }
        ended.is_some()
    }

    /// Ends a session, if it exists.
    pub(super) fn end(&self, id: &SessionId) {
        self.open().remove(id);
        self.known().remove(id);
    }

    /// Sends a request in a session: returns its messages, and the ticket of their stream.
    pub(super) async fn ask(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<
        (impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, StreamTicket),
        SessionChannelError,
    > {
        let OpenSession { line, dialect } = self.find(id)?;
        let reader = line.send_request(message).await?;
        let ticket = reader.ticket();
        Ok((shape_stream(dialect, reader), ticket))
    }

    /// The dialect of a session, if it belongs to this principal.
    pub(super) fn dialect_for(&self, id: &str, principal: &Principal) -> Option<Dialect> {
        self.known()
            .get(id)
            .filter(|known| known.principal.is_same(principal))
            .map(|known| known.dialect)
    }
}

/// Among the clients, the one with the most sessions idle for `least` or longer; of those, the longest idle session.
/// Only of one client, if `owner` is given. No client loses a session because another one opens many.
fn longest_unused(
    known: &HashMap<SessionId, SessionRecord>,
    least: Duration,
    owner: Option<&ClientKey>,
) -> Option<SessionId> {
    let mut owners: HashMap<&ClientKey, (usize, Instant, &SessionId)> = HashMap::new();
    for (id, one) in known {
        if owner.is_some_and(|owner| *owner != one.client) {
            continue;
        }
        let Some(since) = one.unused_since().filter(|at| at.elapsed() >= least) else { continue };
        let (count, oldest, which) = owners.entry(&one.client).or_insert((0, since, id));
        *count += 1;
        if since < *oldest {
            (*oldest, *which) = (since, id);
        }
    }
    let most = owners.into_values().max_by_key(|(count, oldest, _)| (*count, Reverse(*oldest)))?;
    Some(Arc::clone(most.2))
}

fn requested_dialect(message: &ClientJsonRpcMessage) -> Dialect {
    match message {
        JsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::InitializeRequest(opening) => {
                Dialect::negotiate(opening.params.protocol_version.as_str())
            }
            _ => Dialect::FALLBACK,
        },
        _ => Dialect::FALLBACK,
    }
}

/// The message in the form of an older revision. Its type is lost: it is only serialized from here on.
fn shape_for(dialect: Dialect, message: &ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
    let mut value = to_value(dialect, message).ok()?;
    match message {
        JsonRpcMessage::Response(response) => {
            let result = ServerResult::CustomResult(CustomResult(value.get_mut("result")?.take()));
            Some(JsonRpcMessage::response(result, response.id.clone()))
        }
        JsonRpcMessage::Notification(_) => {
            let method = value.get("method").and_then(Value::as_str)?.to_owned();
            let params = value.get_mut("params").map(Value::take);
            let custom = CustomNotification::new(method, params);
            Some(JsonRpcMessage::notification(ServerNotification::CustomNotification(custom)))
        }
        _ => None,
    }
}

fn shape_stream<S>(
    dialect: Dialect,
    stream: S,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static
where
    S: Stream<Item = ServerSseMessage> + Send + Sync + 'static,
{
    if !needs_shaping(dialect) {
        return Either::Left(stream);
    }
    Either::Right(stream.map(move |mut event| {
        if let Some(message) = &event.message
            && let Some(message) = shape_for(dialect, message)
        {
            event.message = Some(Arc::new(message));
        }
        event
    }))
}

/// A session whose `initialize` is unanswered. Dropping it ends the session.
struct OpeningSession<'a> {
    sessions: &'a SessionStore,
    id: &'a SessionId,
}

impl Drop for OpeningSession<'_> {
    fn drop(&mut self) {
        self.sessions.end(self.id);
    }
}

impl SessionManager for SessionStore {
    type Error = SessionChannelError;
    type Transport = SessionServerEnd;

    async fn create_session(&self) -> Result<(SessionId, SessionServerEnd), SessionChannelError> {
        let id: SessionId = Uuid::new_v4().to_string().into();
        let (line, server) = new_channel();
        self.open().insert(Arc::clone(&id), OpenSession { line, dialect: Dialect::FALLBACK });
        Ok((id, server))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionChannelError> {
        // A client that leaves before the answer never learns of the session. There is no await between the answer and
        // `own`, so that a session which stays open has an owner.
        let opening = OpeningSession { sessions: self, id };
        let dialect = requested_dialect(&message);
        let line = {
            let mut open = self.open();
            let one = open.get_mut(id).ok_or(SessionChannelError::Ended)?;
            one.dialect = dialect;
            one.line.clone()
        };
        let reader = line.send_request(message).await?;
        let ticket = reader.ticket();
        let mut said = reader.filter_map(async |event| event.message).boxed();
        let answer = said.next().await.ok_or(SessionChannelError::Ended)?;
        ticket.forget();
        std::mem::forget(opening);
        let shaped = if needs_shaping(dialect) { shape_for(dialect, &answer) } else { None };
        Ok(shaped.unwrap_or_else(|| Arc::unwrap_or_clone(answer)))
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionChannelError> {
        Ok(self.open().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionChannelError> {
        self.end(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionChannelError>
    {
        self.ask(id, message).await.map(|(stream, _)| stream)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionChannelError> {
        self.find(id)?.line.send(message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionChannelError>
    {
        let OpenSession { line, dialect } = self.find(id)?;
        Ok(shape_stream(dialect, line.listen()?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionChannelError>
    {
        let OpenSession { line, dialect } = self.find(id)?;
        Ok(shape_stream(dialect, line.resume(&last_event_id)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectionKind, PrincipalKind};

    const HOUR: Duration = Duration::from_hours(1);

    fn principal(name: &str) -> Principal {
        let kind = PrincipalKind::Key;
        Principal { name: name.into(), scopes: Arc::from([]), kind, grant: None }
    }

    fn caller(name: &str) -> Caller {
        Caller { principal: principal(name), via: ConnectionKind::Http, remote: None }
    }

    impl SessionStore {
        fn begin(&self, id: &str, owner: &str) {
            let dialect = Dialect::FALLBACK;
            self.open().insert(id.into(), OpenSession { line: new_channel().0, dialect });
            self.own(id, &caller(owner), Box::new(()), None);
        }

        #[track_caller]
        fn check(&self, want: &str) {
            let mut ids: Vec<String> = self.known().keys().map(ToString::to_string).collect();
            ids.sort_unstable();
            assert_eq!(ids.join(" "), want);
            assert_eq!(self.open().len(), ids.len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_end_after_their_idle_timeout() {
        let sessions = SessionStore::default();
        for id in ["asked", "left", "listens"] {
            sessions.begin(id, "a");
        }
        let stream = sessions.begin_use("listens", &principal("a")).unwrap();
        assert!(sessions.begin_use("left", &principal("b")).is_none());
        tokio::time::advance(HOUR / 2).await;
        drop(sessions.begin_use("asked", &principal("a")).unwrap());
        assert_eq!(sessions.end_unused(HOUR), 0);
        tokio::time::advance(HOUR / 2).await;
        assert_eq!(sessions.end_unused(HOUR), 1);
        sessions.check("asked listens");
        assert!(sessions.begin_use("left", &principal("a")).is_none());
        tokio::time::advance(HOUR * 9).await;
        assert_eq!(sessions.end_unused(HOUR), 1);
        drop(stream);
        assert_eq!(sessions.end_unused(HOUR), 0);
        tokio::time::advance(HOUR).await;
        assert_eq!(sessions.end_unused(HOUR), 1);
        sessions.check("");
    }

    #[tokio::test]
    async fn a_session_whose_client_left_while_it_opened_is_gone() {
        use futures::FutureExt;
        use rmcp::transport::Transport;
        let opening = || {
            let params = serde_json::json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
            });
            let opening = serde_json::json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            serde_json::from_value::<ClientJsonRpcMessage>(opening).unwrap()
        };
        let sessions = SessionStore::default();
        let (id, mut server) = sessions.create_session().await.unwrap();
        assert!(sessions.initialize_session(&id, opening()).now_or_never().is_none());
        sessions.check("");
        assert!(server.receive().await.is_some());
        assert!(server.receive().await.is_none());

        let (id, mut server) = sessions.create_session().await.unwrap();
        let answer = async {
            assert!(server.receive().await.is_some());
            let answer = serde_json::json!({ "jsonrpc": "2.0", "id": 0, "result": {} });
            server.send(serde_json::from_value(answer).unwrap()).await.unwrap();
        };
        let (opened, ()) = tokio::join!(sessions.initialize_session(&id, opening()), answer);
        opened.unwrap();
        sessions.own(&id, &caller("a"), Box::new(()), None);
        sessions.check(&id);
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_with_most_sessions_loses_the_longest_idle_one() {
        let sessions = SessionStore::default();
        for (id, owner) in [("1", "a"), ("2", "b"), ("3", "b"), ("4", "b"), ("5", "a"), ("6", "b")]
        {
            sessions.begin(id, owner);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(!sessions.make_room(HOUR, None));
        tokio::time::advance(HOUR / IDLE_FRACTION).await;
        let visit = sessions.begin_use("2", &principal("b")).unwrap();
        for want in ["1 2 4 5 6", "2 4 5 6", "2 5 6", "2 6", "2"] {
            assert!(sessions.make_room(HOUR, None));
            sessions.check(want);
        }
        assert!(!sessions.make_room(HOUR, None));
        drop(visit);
        assert!(!sessions.make_room(HOUR, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_used_its_share_loses_its_own_sessions() {
        let sessions = SessionStore::default();
        for (id, owner) in [("1", "a"), ("2", "b"), ("3", "a"), ("4", "a")] {
            sessions.begin(id, owner);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tokio::time::advance(HOUR / IDLE_FRACTION).await;
        let owner = caller("b").client();
        assert!(sessions.make_room(HOUR, Some(&owner)));
        sessions.check("1 3 4");
        assert!(!sessions.make_room(HOUR, Some(&owner)));
    }
}
