//! A request in a session: answered as one JSON document if possible, otherwise as a stream of events.

use super::{
    RouterState,
    body::{error_response, json, json_bytes},
    events::{respond, resumable_event},
    mcp::{SESSION_HEADER, not_found, text},
    session_channel::{SessionChannelError, StreamTicket},
};
use crate::{
    CallerContext,
    message::{put_back, wire_id},
};
use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use docent_wire::{Id, MessageError, code};
use futures::{Stream, StreamExt, stream};
use rmcp::{
    ServerHandler,
    model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager as _,
    },
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// An answer that takes longer is sent as events, which keep the connection alive and can be resumed.
const JSON_RESPONSE_WINDOW: Duration = Duration::from_millis(20);

/// Ends a session at the client's request.
pub(super) fn end_session<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    headers: &HeaderMap,
    id: &Id,
) -> Response {
    if let Some(session) = text(headers, SESSION_HEADER) {
        shared.sessions.end(&session.into());
    }
    json(&json!({ "jsonrpc": "2.0", "id": id, "result": null }))
}

/// Answers one request.
pub(super) async fn answer<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
    headers: &HeaderMap,
    mut request: ClientJsonRpcMessage,
) -> Response {
    let Some(id) = text(headers, SESSION_HEADER) else { return not_found() };
    let session: SessionId = id.into();
    let mut asked = None;
    if let JsonRpcMessage::Request(request) = &mut request {
        let dialect = shared.sessions.dialect_for(id, &origin.caller.principal);
        request.request.extensions_mut().insert(CallerContext { dialect, ..origin.clone() });
        asked = Some(wire_id(&request.id));
    }
    match shared.sessions.ask(&session, request).await {
        Ok((messages, ticket)) => {
            respond_document_or_events(messages, ticket, takes_json(headers)).await
        }
        Err(error @ SessionChannelError::Taken) => {
            error_response(StatusCode::OK, &id_in_use_error(asked, &error))
        }
        Err(error) => {
            tracing::debug!(%error, "the session is gone");
            not_found()
        }
    }
}

/// Its id is that of a request without an answer yet.
pub(super) fn id_in_use_error(id: Option<Id>, error: &SessionChannelError) -> MessageError {
    MessageError::new(id, code::INVALID_REQUEST, format!("Invalid Request: {error}"))
}

/// Accepts the client's answer to a request of ours.
pub(super) async fn accept<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    headers: &HeaderMap,
    answer: ClientJsonRpcMessage,
) -> Response {
    let Some(id) = text(headers, SESSION_HEADER) else { return not_found() };
    match shared.sessions.accept_message(&id.into(), answer).await {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(error) => {
            tracing::debug!(%error, "the session is gone");
            not_found()
        }
    }
}

fn takes_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    accepted.into_iter().any(|accept| accept.contains("application/json") || accept.contains("*/*"))
}

/// A document if the answer is the first message and arrives soon.
async fn respond_document_or_events(
    messages: impl Stream<Item = ServerSseMessage> + Send + 'static,
    ticket: StreamTicket,
    takes_json: bool,
) -> Response {
    let mut messages = Box::pin(messages);
    let mut said = Vec::new();
    if takes_json {
        let first = timeout(JSON_RESPONSE_WINDOW, async {
            while let Some(event) = messages.next().await {
                let is_message = event.message.is_some();
                said.push(event);
                if is_message {
                    return;
                }
            }
        });
        // Messages sent before the timeout start the stream.
        let in_time = first.await.is_ok();
        let answer = said.last().and_then(|event| event.message.as_deref()).filter(|_| in_time);
        if let Some(answer @ (JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))) = answer {
            let written = serde_json::to_vec(answer).unwrap_or_default();
            ticket.forget();
            return json_bytes(put_back(&written).unwrap_or(written));
        }
    }
    respond(stream::iter(said).chain(messages).map(|event| resumable_event(&event)))
}
