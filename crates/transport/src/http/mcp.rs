//! `/mcp`: decides whether a request is plain, part of a session or stateless, and dispatches it.

use super::{
    RouterState, State,
    body::{error_response, keep_while_reading, read_json, retry_later_response},
    events::{event, respond, resumable_event},
    listen::ConnectionPeer,
    oauth, plain,
    recording::record_body,
    session,
    session_channel::SessionChannelError,
    stateless,
};
use crate::{
    Caller, CallerContext, NoCapacity, SlotGuard,
    access_control::count_request,
    message::{self, decode, fill_opening, wire_id},
};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use docent_traffic::{Direction, Tap};
use docent_wire::{Dialect, Envelope, Id, MessageError, WireFrame, code, modern_version, read};
use futures::{StreamExt, stream};
use http_body_util::{BodyExt as _, Collected};
use rmcp::{
    ServerHandler,
    model::{ClientJsonRpcMessage, JsonRpcMessage},
    transport::streamable_http_server::session::{SessionId, SessionManager},
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const SESSION_HEADER: &str = "mcp-session-id";
pub(super) const VERSION_HEADER: &str = "mcp-protocol-version";

/// Any request to the endpoint.
pub(super) async fn handle<H: ServerHandler>(shared: State<H>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let Some(origin) = parts.extensions.get::<CallerContext>().cloned() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let Some(id) = text(&parts.headers, SESSION_HEADER) else {
        return serve(&shared, PostSender { origin, tap: None }, parts, body).await;
    };
    let Some(visit) = shared.sessions.begin_use(id, &origin.caller.principal) else {
        return not_found();
    };
    let visitor = PostSender { origin, tap: visit.tap.clone() };
    keep_while_reading(serve(&shared, visitor, parts, body).await, visit)
}

/// The sender of a request, and its session's tap if it has one.
struct PostSender {
    origin: CallerContext,
    tap: Option<Tap>,
}

/// Records a request outside of sessions together with others on the same connection, in a separate id space.
fn alone<H: ServerHandler>(
    shared: &RouterState<H>,
    origin: &CallerContext,
    parts: &Parts,
) -> Option<Tap> {
    let traffic = shared.web.traffic.as_ref().filter(|traffic| traffic.is_on())?;
    let peer = parts.extensions.get::<ConnectionPeer>()?;
    Some(peer.tap.get_or_init(|| origin.caller.tap(traffic)).separate_ids())
}

async fn serve<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    visitor: PostSender,
    parts: Parts,
    body: Body,
) -> Response {
    match parts.method {
        Method::POST => post(shared, visitor, parts, body).await,
        Method::GET => record_body(listen(shared, &visitor.origin, parts).await, visitor.tap),
        Method::DELETE => pass(shared, parts, Bytes::new()).await,
        _ => {
            let allowed = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
            (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)]).into_response()
        }
    }
}

/// The stream of server messages in a session.
async fn listen<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
    parts: Parts,
) -> Response {
    let seat = match shared.web.access.open_stream(&origin.caller) {
        Ok(seat) => seat,
        Err(overload) => return no_capacity_response(&overload),
    };
    let response = pass(shared, parts, Bytes::new()).await;
    keep_while_reading(response, seat)
}

async fn post<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    mut visitor: PostSender,
    mut parts: Parts,
    body: Body,
) -> Response {
    let peer = parts.extensions.get::<ConnectionPeer>();
    let bytes = match read_json(&parts.headers, body, &shared.web, peer).await {
        Ok(bytes) => bytes,
        Err(response) => {
            return record_body(
                response,
                visitor.tap.or_else(|| alone(shared, &visitor.origin, &parts)),
            );
        }
    };
    tracing::debug!(target: "mcp::protocol", "[MCP →] {}", String::from_utf8_lossy(&bytes).trim_end());
    let frame = read(&bytes);
    let is_plain = is_plain(&parts.headers, &frame);
    if !is_plain && opens_session(&parts.headers, &frame) {
        visitor.tap = shared.tap(&visitor.origin.caller);
    } else if visitor.tap.is_none() {
        visitor.tap = alone(shared, &visitor.origin, &parts);
    }
    if let Some(tap) = &visitor.tap {
        if is_plain {
            tap.speaks(Dialect::Plain.version());
        }
        visitor.origin.recorded = tap.record_message(Direction::In, &bytes, None);
        parts.extensions.insert(visitor.origin.clone());
    }
    let tap = visitor.tap.clone();
    record_body(answer(shared, visitor, parts, &bytes, frame, is_plain).await, tap)
}

/// Whether this request starts a new session.
fn opens_session(headers: &HeaderMap, frame: &WireFrame<'_>) -> bool {
    let opens = |envelope: &Envelope<'_>| matches!(envelope, Envelope::Request { method, .. } if method == "initialize");
    !headers.contains_key(SESSION_HEADER)
        && matches!(frame, WireFrame::One(Ok(envelope)) if opens(envelope))
}

async fn answer<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    PostSender { origin, tap }: PostSender,
    parts: Parts,
    bytes: &Bytes,
    frame: WireFrame<'_>,
    is_plain: bool,
) -> Response {
    if (is_plain || in_session(&parts.headers))
        && let Some(refusal) = unknown_version(&parts.headers)
    {
        return error_response(StatusCode::BAD_REQUEST, &refusal);
    }
    if let Some(response) = oauth::missing_scope_response(shared, &origin, &frame) {
        return response;
    }
    if is_plain {
        return plain::answer(shared, &origin, frame).await;
    }
    match frame {
        WireFrame::One(Ok(envelope)) => match check(&envelope, &origin) {
            // Clients of session-based revisions take a status other than 200 for a broken transport.
            Err(refusal) if in_session(&parts.headers) => error_response(StatusCode::OK, &refusal),
            Err(refusal) if refusal.code == code::METHOD_NOT_FOUND => {
                error_response(StatusCode::NOT_FOUND, &refusal)
            }
            Err(refusal) => error_response(StatusCode::BAD_REQUEST, &refusal),
            Ok(CheckedMessage::Opening(opening)) => {
                open(shared, &origin, tap, parts, opening).await
            }
            Ok(CheckedMessage::Shutdown(id)) => session::end_session(shared, &parts.headers, &id),
            Ok(CheckedMessage::Request(request)) if in_session(&parts.headers) => {
                session::answer(shared, &origin, &parts.headers, *request).await
            }
            Ok(CheckedMessage::Answer(answer)) if in_session(&parts.headers) => {
                session::accept(shared, &parts.headers, *answer).await
            }
            Ok(CheckedMessage::Stateless(request)) => {
                match stateless::answer(shared, &parts.headers, *request).await {
                    Some(response) => response,
                    None => pass(shared, parts, bytes.clone()).await,
                }
            }
            Ok(_) => pass(shared, parts, bytes.clone()).await,
        },
        WireFrame::One(Err(refusal)) => error_response(StatusCode::BAD_REQUEST, &refusal),
        WireFrame::Batch(verdicts) => batch(shared, &origin, &parts.headers, verdicts).await,
        WireFrame::Empty => {
            let refusal = MessageError::new(None, code::PARSE, "Parse error: the body is empty");
            error_response(StatusCode::BAD_REQUEST, &refusal)
        }
    }
}

/// A plain request has no sign of a session, of the stateless revision, or of accepting events.
fn is_plain(headers: &HeaderMap, frame: &WireFrame<'_>) -> bool {
    let wants_events = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok())
        .any(|accept| accept.contains("text/event-stream"));
    let is_modern = |envelope: &Envelope<'_>| match envelope {
        Envelope::Request { params, .. } | Envelope::Notification { params, .. } => {
            params.and_then(modern_version).is_some()
        }
        Envelope::Response { .. } => false,
    };
    let signs = headers.contains_key(SESSION_HEADER)
        || text(headers, VERSION_HEADER) == Some(Dialect::V2026_07_28.version())
        || headers.contains_key("mcp-method")
        || matches!(frame, WireFrame::One(Ok(envelope)) if is_modern(envelope));
    !wants_events && !signs
}

/// The error code for an unknown protocol version.
const UNSUPPORTED_VERSION: i32 = -32022;

/// Rejects an unknown protocol version.
fn unknown_version(headers: &HeaderMap) -> Option<MessageError> {
    let version =
        text(headers, VERSION_HEADER).filter(|version| Dialect::of_version(version).is_none())?;
    let message = format!("Unsupported protocol version: {version}");
    let supported = Dialect::ALL.map(Dialect::version);
    let data = json!({ "supported": supported, "requested": version });
    Some(MessageError::new(None, UNSUPPORTED_VERSION, message).with(data))
}

/// In a session, and not in the stateless revision.
fn in_session(headers: &HeaderMap) -> bool {
    headers.contains_key(SESSION_HEADER)
        && text(headers, VERSION_HEADER) != Some(Dialect::V2026_07_28.version())
}

enum CheckedMessage {
    /// `initialize`, with missing members filled in.
    Opening(Value),
    /// `shutdown`, which ends a session.
    Shutdown(Id),
    /// A request of a session-based revision.
    Request(Box<ClientJsonRpcMessage>),
    /// A request that carries its revision.
    Stateless(Box<ClientJsonRpcMessage>),
    /// The answer to a request of ours.
    Answer(Box<ClientJsonRpcMessage>),
    /// Anything else.
    Other,
}

/// Rejects methods that the request's revision lacks, and invalid parameters of known methods.
fn check(envelope: &Envelope<'_>, origin: &CallerContext) -> Result<CheckedMessage, MessageError> {
    if matches!(envelope, Envelope::Response { .. }) {
        let answer = decode(envelope, origin)?;
        return Ok(
            answer.map_or(CheckedMessage::Other, |answer| CheckedMessage::Answer(Box::new(answer)))
        );
    }
    let Envelope::Request { id, method, params } = envelope else {
        return Ok(CheckedMessage::Other);
    };
    let modern = params.and_then(modern_version);
    let revision = modern.as_deref().and_then(Dialect::of_version);
    if revision.is_some_and(|dialect| !dialect.has_method(method)) {
        return Err(MessageError::unknown_method(Some(id.clone()), method));
    }
    if method == "shutdown" && modern.is_none() {
        return Ok(CheckedMessage::Shutdown(id.clone()));
    }
    if method == "initialize" {
        let params =
            params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
        let filled = fill_opening(params);
        let opening =
            json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": filled });
        return Ok(CheckedMessage::Opening(opening));
    }
    Ok(match decode(envelope, origin)? {
        Some(message) if modern.is_none() => CheckedMessage::Request(Box::new(message)),
        Some(message) => CheckedMessage::Stateless(Box::new(message)),
        None => CheckedMessage::Other,
    })
}

/// Opens a session, if there is a slot for it.
async fn open<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
    tap: Option<Tap>,
    parts: Parts,
    opening: Value,
) -> Response {
    let seat = match take_slot(shared, &origin.caller) {
        Ok(seat) => seat,
        Err(overload) => return no_capacity_response(&overload),
    };
    // Set even if recording begins later.
    if let (Some(tap), Some(name)) = (&tap, opening["params"]["clientInfo"]["name"].as_str()) {
        tap.set_peer(name);
    }
    let response = pass(shared, parts, opening.to_string().into()).await;
    if let Some(id) = text(response.headers(), SESSION_HEADER) {
        shared.sessions.own(id, &origin.caller, seat, tap);
    }
    response
}

/// A slot for a session, if necessary taken from an idle one. A caller that has used its share gives up one of its own
/// sessions.
pub(super) fn take_slot<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    caller: &Caller,
) -> Result<SlotGuard, NoCapacity> {
    let web = &shared.web;
    loop {
        let overload = match web.access.open_session(caller) {
            Ok(seat) => return Ok(seat),
            Err(overload) => overload,
        };
        let owner = overload.is_own_share.then(|| caller.client());
        if !shared.sessions.make_room(web.limits.session, owner.as_ref()) {
            web.access.count_no_capacity();
            return Err(overload);
        }
        web.stats.count_ended_sessions(1);
    }
}

/// Passes a request to the SDK. Its future is large, and would otherwise be part of every request's future.
async fn pass<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    parts: Parts,
    bytes: Bytes,
) -> Response {
    let request = Request::from_parts(parts, Body::from(bytes));
    let answer = Box::pin(shared.streamable.handle(request)).await;
    let is_stream =
        answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if is_stream {
        let put_back = |bytes: Bytes| message::put_back(&bytes).map_or(bytes, Bytes::from);
        return answer.map(|body| Body::new(body.map_frame(move |frame| frame.map_data(put_back))));
    }
    let (mut parts, body) = answer.into_parts();
    // It has been read completely.
    let bytes = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let Some(changed) = message::put_back(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(changed))
}

/// Handles each message of an array separately, with their events in one stream.
async fn batch<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
    headers: &HeaderMap,
    verdicts: Vec<Result<Envelope<'_>, MessageError>>,
) -> Response {
    let session = text(headers, SESSION_HEADER).unwrap_or_default();
    let dialect =
        shared.sessions.dialect_for(session, &origin.caller.principal).unwrap_or(Dialect::FALLBACK);
    if !dialect.has_batches() {
        let version = dialect.version();
        let message = format!(
            "Invalid Request: {version} does not support batches: send one message at a time"
        );
        return error_response(
            StatusCode::BAD_REQUEST,
            &MessageError::new(None, code::INVALID_REQUEST, message),
        );
    }
    let id: SessionId = session.into();
    let origin = CallerContext { dialect: Some(dialect), ..origin.clone() };
    let error_event =
        |refusal: &MessageError| event("message", refusal.to_value().to_string().as_bytes());
    let (mut refusals, mut streams) = (Vec::new(), Vec::new());
    for (at, verdict) in verdicts.into_iter().enumerate() {
        match admit_member(shared, &origin, at, verdict) {
            Err(refusal) => refusals.push(error_event(&refusal)),
            Ok(None) => {}
            Ok(Some(JsonRpcMessage::Request(request))) => {
                let asked = wire_id(&request.id);
                match shared.sessions.create_stream(&id, JsonRpcMessage::Request(request)).await {
                    Ok(messages) => {
                        streams.push(messages.map(|said| resumable_event(&said)).boxed());
                    }
                    Err(error @ SessionChannelError::Taken) => {
                        refusals.push(error_event(&session::id_in_use_error(Some(asked), &error)));
                    }
                    Err(_) => return not_found(),
                }
            }
            Ok(Some(message)) => {
                if shared.sessions.accept_message(&id, message).await.is_err() {
                    return not_found();
                }
            }
        }
    }
    if refusals.is_empty() && streams.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    respond(stream::iter(refusals).chain(stream::select_all(streams)))
}

/// Prepares and counts one member of an array; the first was counted with the request.
fn admit_member<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
    at: usize,
    verdict: Result<Envelope<'_>, MessageError>,
) -> Result<Option<ClientJsonRpcMessage>, MessageError> {
    let envelope = verdict?;
    if let Envelope::Request { id, method, .. } = &envelope {
        if method == "initialize" {
            let message = "Invalid Request: initialize cannot be part of a batch";
            return Err(MessageError::new(Some(id.clone()), code::INVALID_REQUEST, message));
        }
        if at > 0 {
            count_request(&*shared.web.access, &origin.caller, id)?;
        }
    }
    decode(&envelope, &origin.nth(at))
}

/// This caller has no session with that id.
pub(super) fn not_found() -> Response {
    let message = "Session not found: it has ended or never existed; send initialize again";
    error_response(StatusCode::NOT_FOUND, &MessageError::new(None, code::INVALID_REQUEST, message))
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// No capacity: 429 if the caller itself has used its share, 503 if all clients together have used everything.
pub(super) fn no_capacity_response(overload: &NoCapacity) -> Response {
    let status = if overload.is_own_share {
        StatusCode::TOO_MANY_REQUESTS
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    retry_later_response(status, overload.to_string(), overload.retry_after)
}
