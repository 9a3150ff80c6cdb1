//! One JSON message per POST, one JSON message back: no session, no stream, usable with curl.

use super::{
    RouterState,
    body::{error_response, json, json_bytes},
};
use crate::{
    CallerContext,
    access_control::count_request,
    frame_json::{array, piece_of},
    message::{decode, encode, to_value},
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use docent_wire::{
    Dialect, Envelope, GateDecision, HandshakePolicy, MessageError, PARTIAL_METHOD, ProtocolState,
    WireFrame, code,
};
use futures::{StreamExt, stream};
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        ClientJsonRpcMessage, GetExtensions, InitializeRequestParams, JsonRpcMessage,
        ServerJsonRpcMessage, ServerNotification,
    },
    service::serve_directly_with_ct,
    transport::OneshotTransport,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Maximum members of an array that are processed concurrently.
const MAX_CONCURRENT_MEMBERS: usize = 8;

/// Answers a frame without a session.
pub(super) async fn answer<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
    frame: WireFrame<'_>,
) -> Response {
    match frame {
        WireFrame::Empty => {
            let refusal = MessageError::new(None, code::PARSE, "Parse error: the body is empty");
            error_response(StatusCode::BAD_REQUEST, &refusal)
        }
        WireFrame::One(verdict) => one(shared, origin, verdict).await,
        WireFrame::Batch(verdicts) => {
            let admitted = verdicts.into_iter().enumerate().map(|(at, verdict)| {
                let envelope = verdict?;
                // The request was counted; the rest of its members are counted here.
                if let Some(id) = envelope.wanted()
                    && at > 0
                {
                    count_request(&*shared.web.access, &origin.caller, id)?;
                }
                admit(&origin.nth(at), &envelope)
            });
            batch(shared, admitted.collect()).await
        }
    }
}

async fn batch<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    admitted: Vec<Result<PlainMessage, MessageError>>,
) -> Response {
    let members = stream::iter(admitted).map(|member| answer_member(Arc::clone(shared), member));
    let answers: Vec<Vec<u8>> =
        members.buffered(MAX_CONCURRENT_MEMBERS).filter_map(std::future::ready).collect().await;
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    json_bytes(array(&answers))
}

async fn one<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    origin: &CallerContext,
    verdict: Result<Envelope<'_>, MessageError>,
) -> Response {
    match verdict.and_then(|envelope| admit(origin, &envelope)) {
        Err(refusal) if refusal.code == code::PARSE => {
            error_response(StatusCode::BAD_REQUEST, &refusal)
        }
        Err(refusal) => json(&refusal.to_value()),
        Ok(PlainMessage::Nothing) => StatusCode::ACCEPTED.into_response(),
        Ok(PlainMessage::Answered(value)) => json(&value),
        Ok(PlainMessage::Request(message, dialect)) => {
            let streams = streams(&message);
            let mut call = PlainCall::start((shared.make)(), *message, None);
            if streams {
                return call.into_pieces(dialect);
            }
            match call.last().await {
                Some(answer) => json_bytes(encode(dialect, &answer)),
                None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
    }
}

async fn answer_member<H: ServerHandler>(
    shared: Arc<RouterState<H>>,
    admitted: Result<PlainMessage, MessageError>,
) -> Option<Vec<u8>> {
    match admitted {
        Err(refusal) => Some(refusal.to_value().to_string().into_bytes()),
        Ok(PlainMessage::Nothing) => None,
        Ok(PlainMessage::Answered(value)) => Some(value.to_string().into_bytes()),
        Ok(PlainMessage::Request(message, dialect)) => {
            let answer = PlainCall::start((shared.make)(), *message, None).last().await?;
            Some(encode(dialect, &answer))
        }
    }
}

enum PlainMessage {
    Request(Box<ClientJsonRpcMessage>, Dialect),
    Answered(Value),
    Nothing,
}

fn admit(origin: &CallerContext, envelope: &Envelope<'_>) -> Result<PlainMessage, MessageError> {
    let mut talk = ProtocolState::new(HandshakePolicy::Optional, false);
    talk.opened(Dialect::Plain);
    let dialect = match talk.gate(envelope) {
        GateDecision::Pass(dialect) | GateDecision::Open(dialect, _) => dialect,
        GateDecision::Refuse(refusal) => return Err(refusal),
        GateDecision::Drop => return Ok(PlainMessage::Nothing),
        GateDecision::Answer(result) => {
            let Some(id) = envelope.wanted() else { return Ok(PlainMessage::Nothing) };
            return Ok(PlainMessage::Answered(
                json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            ));
        }
    };
    let origin = CallerContext { dialect: Some(dialect), ..origin.clone() };
    Ok(match decode(envelope, &origin)? {
        Some(message @ JsonRpcMessage::Request(_)) => {
            PlainMessage::Request(Box::new(message), dialect)
        }
        _ => PlainMessage::Nothing,
    })
}

fn streams(message: &ClientJsonRpcMessage) -> bool {
    match message {
        JsonRpcMessage::Request(request) => {
            CallerContext::from_extensions(request.request.extensions())
                .is_some_and(|origin| origin.streams)
        }
        _ => false,
    }
}

/// A request being served. Dropping it cancels the work.
pub(super) struct PlainCall {
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    _cancel: DropGuard,
}

impl PlainCall {
    /// `caller` replaces the information of a handshake.
    pub(super) fn start(
        handler: impl ServerHandler,
        message: ClientJsonRpcMessage,
        caller: Option<InitializeRequestParams>,
    ) -> Self {
        let (transport, messages) = OneshotTransport::<RoleServer>::new(message);
        let cancel = CancellationToken::new();
        let running = serve_directly_with_ct(handler, transport, caller, cancel.clone());
        tokio::spawn(running.waiting());
        Self { messages, _cancel: cancel.drop_guard() }
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> Option<ServerJsonRpcMessage> {
        self.messages.recv().await
    }

    /// The final answer; earlier messages are ignored.
    async fn last(&mut self) -> Option<ServerJsonRpcMessage> {
        while let Some(message) = self.next().await {
            if matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                return Some(message);
            }
        }
        None
    }

    /// The answer piece by piece, one JSON message per line.
    fn into_pieces(self, dialect: Dialect) -> Response {
        let pieces = stream::unfold(self, move |mut call| async move {
            loop {
                let message = call.next().await?;
                if let Some(value) = piece(dialect, &message) {
                    let line = Bytes::from(format!("{value}\n"));
                    return Some((Ok::<_, std::convert::Infallible>(line), call));
                }
            }
        });
        let mime = HeaderValue::from_static("application/x-ndjson");
        ([(header::CONTENT_TYPE, mime)], Body::from_stream(pieces)).into_response()
    }
}

fn piece(dialect: Dialect, message: &ServerJsonRpcMessage) -> Option<Value> {
    match message {
        JsonRpcMessage::Notification(note) => match &note.notification {
            ServerNotification::CustomNotification(piece) if piece.method == PARTIAL_METHOD => {
                piece_of(piece.params.as_ref()?)
            }
            _ => None,
        },
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
            let mut value = to_value(dialect, message).ok()?;
            if let Some(Value::Object(result)) = value.get_mut("result") {
                result.insert("partial".into(), false.into());
            }
            Some(value)
        }
        JsonRpcMessage::Request(_) => None,
    }
}
