//! Sessions of Streamable HTTP: `rmcp`'s own, with an owner, a seat and a dialect each.

use crate::{Principal, Seat, message::to_value};
use docent_wire::{Dialect, needs_shaping};
use futures::{Stream, StreamExt, future::Either};
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, CustomNotification, CustomResult, JsonRpcMessage,
        RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
    },
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError},
    },
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

struct Known {
    principal: Principal,
    dialect: Dialect,
    _seat: Seat,
}

/// A session in which nothing is said for this long is closed, whether a stream is open or not.
const IDLE: Duration = Duration::from_hours(4);

/// Sessions by id. An id is no authentication: it serves the principal that opened it and nobody else.
pub(super) struct Sessions {
    local: LocalSessionManager,
    known: Mutex<HashMap<SessionId, Known>>,
    dialects: Mutex<HashMap<SessionId, Dialect>>,
    asked: Arc<Mutex<HashSet<(SessionId, RequestId)>>>,
}

impl Default for Sessions {
    fn default() -> Self {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(IDLE);
        Self { local, known: Mutex::default(), dialects: Mutex::default(), asked: Arc::default() }
    }
}

/// An id that is being answered. Dropping it frees the id.
pub(super) struct Claim {
    asked: Arc<Mutex<HashSet<(SessionId, RequestId)>>>,
    key: (SessionId, RequestId),
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl Sessions {
    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dialects(&self) -> MutexGuard<'_, HashMap<SessionId, Dialect>> {
        self.dialects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an id for as long as its request is being answered; `None` while another request has it.
    pub(super) fn claim(&self, session: &SessionId, id: &RequestId) -> Option<Claim> {
        let key = (Arc::clone(session), id.clone());
        let is_free = self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        is_free.then(|| Claim { asked: Arc::clone(&self.asked), key })
    }

    /// Remembers who opened a session. It keeps its seat for as long as it lasts.
    pub(super) fn own(&self, id: &str, principal: Principal, seat: Seat) {
        let id: SessionId = id.into();
        // A session that has already ended must not leave an owner behind.
        if let Some(dialect) = self.dialects().get(&id).copied() {
            self.known().insert(id, Known { principal, dialect, _seat: seat });
        }
    }

    /// The dialect of a session, if it is this principal's.
    pub(super) fn dialect_for(&self, id: &str, principal: &Principal) -> Option<Dialect> {
        self.known()
            .get(id)
            .filter(|known| known.principal.is_same(principal))
            .map(|known| known.dialect)
    }

    fn dialect_of(&self, id: &SessionId) -> Dialect {
        self.dialects().get(id).copied().unwrap_or(Dialect::FALLBACK)
    }
}

fn asked_dialect(message: &ClientJsonRpcMessage) -> Dialect {
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

/// The same message as an older revision has it. Its type is lost: it is only written from here on.
fn shaped(dialect: Dialect, message: &ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
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

fn shaping<S>(
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
            && let Some(message) = shaped(dialect, message)
        {
            event.message = Some(Arc::new(message));
        }
        event
    }))
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.local.create_session().await?;
        self.dialects().insert(Arc::clone(&id), Dialect::FALLBACK);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let dialect = asked_dialect(&message);
        self.dialects().insert(Arc::clone(id), dialect);
        let answer = self.local.initialize_session(id, message).await?;
        Ok(if needs_shaping(dialect) { shaped(dialect, &answer).unwrap_or(answer) } else { answer })
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.dialects().remove(id);
        self.known().remove(id);
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(shaping(self.dialect_of(id), self.local.create_stream(id, message).await?))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(shaping(self.dialect_of(id), self.local.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(shaping(self.dialect_of(id), self.local.resume(id, last_event_id).await?))
    }
}
