//! A call of the stateless revision whose headers match its body. The SDK parses such a message three times and
//! serializes it once to compare the two; here it was parsed already. Doubtful cases are left to the SDK.

use super::{
    RouterState,
    body::json_bytes,
    events::{respond, resumable_event},
    mcp::{VERSION_HEADER, text},
    plain::PlainCall,
};
use crate::message::encode;
use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use docent_wire::Dialect;
use futures::{StreamExt, stream};
use rmcp::{
    ServerHandler,
    model::{
        CallToolRequest, ClientCapabilities, ClientJsonRpcMessage, ClientRequest, ErrorCode,
        Implementation, InitializeRequestParams, JsonRpcMessage, ProtocolVersion,
        RequestMetaObject, ServerJsonRpcMessage,
    },
    transport::streamable_http_server::session::ServerSseMessage,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Prefix of names that are encoded because a header cannot contain them.
const ENCODED_PREFIX: &str = "=?";
/// Marks a parameter that a header repeats.
const HEADER_ANNOTATION: &str = "x-mcp-header";

/// Answers a call, or returns it.
pub(super) async fn answer<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    headers: &HeaderMap,
    message: ClientJsonRpcMessage,
) -> Option<Response> {
    let JsonRpcMessage::Request(request) = &message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    if !headers_match(headers, call) {
        return None;
    }
    let handler = (shared.make)();
    if is_repeated(&handler, &call.params.name) {
        return None;
    }
    let mut caller =
        InitializeRequestParams::new(ClientCapabilities::default(), Implementation::default());
    caller.protocol_version = ProtocolVersion::V_2026_07_28;
    Some(serve(PlainCall::start(handler, message, Some(caller))).await)
}

/// Whether each header is present once and matches the call.
fn headers_match(headers: &HeaderMap, call: &CallToolRequest) -> bool {
    let says = |name: &str, value: &str| {
        let mut given = headers.get_all(name).iter();
        given.next().is_some_and(|given| given == value) && given.next().is_none()
    };
    let accepts = |kind: &str| {
        text(headers, header::ACCEPT.as_str()).is_some_and(|accept| accept.contains(kind))
    };
    let version = ProtocolVersion::V_2026_07_28;
    let name = &*call.params.name;
    let brings = |meta: &RequestMetaObject| {
        meta.protocol_version().is_some_and(|named| named == version)
            && meta.missing_required_keys(&version).is_empty()
    };
    says(VERSION_HEADER, version.as_str())
        && says("mcp-method", "tools/call")
        && says("mcp-name", name)
        && !name.starts_with(ENCODED_PREFIX)
        && accepts("application/json")
        && accepts("text/event-stream")
        && call.extensions.get::<RequestMetaObject>().is_some_and(brings)
}

/// Whether headers repeat parameters of a tool.
fn is_repeated(handler: &impl ServerHandler, tool: &str) -> bool {
    fn is_marked(schema: &Map<String, Value>) -> bool {
        schema.iter().any(|(name, value)| name == HEADER_ANNOTATION || is_marked_within(value))
    }
    fn is_marked_within(value: &Value) -> bool {
        match value {
            Value::Object(schema) => is_marked(schema),
            Value::Array(schemas) => schemas.iter().any(is_marked_within),
            _ => false,
        }
    }
    handler.get_tool(tool).is_some_and(|tool| is_marked(&tool.input_schema))
}

/// A document if the answer is the first message, events otherwise.
async fn serve(mut call: PlainCall) -> Response {
    let Some(first) = call.next().await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if let JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) = first {
        let mut response = json_bytes(encode(Dialect::V2026_07_28, &first));
        *response.status_mut() = status(&first);
        return response;
    }
    let rest = stream::unfold(call, |mut call| async move { Some((call.next().await?, call)) });
    let said = stream::once(std::future::ready(first)).chain(rest);
    respond(said.map(|message| resumable_event(&ServerSseMessage::from_message(message))))
}

/// Errors about the request itself have an HTTP status of their own.
fn status(answer: &ServerJsonRpcMessage) -> StatusCode {
    let JsonRpcMessage::Error(error) = answer else { return StatusCode::OK };
    match error.error.code {
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
