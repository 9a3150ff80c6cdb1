//! Converts envelopes to `rmcp` messages, and `rmcp` messages to bytes.

use crate::CallerContext;
use docent_wire::{
    Dialect, Envelope, Id, MessageError, code, needs_shaping, put_back_in_text, shape_message,
};
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
    CustomNotification, CustomRequest, CustomResult, Extensions, GetExtensions, JsonObject,
    JsonRpcMessage, NotificationMetaObject, Request, RequestId, RequestMetaObject, RequestNoParam,
    RequestOptionalParam, ServerJsonRpcMessage,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// The id as an `rmcp` type.
pub(crate) fn request_id(id: &Id) -> RequestId {
    match id {
        Id::Number(number) => RequestId::Number(*number),
        Id::String(text) => RequestId::String(text.as_str().into()),
    }
}

/// The id as a wire type.
pub(crate) fn wire_id(id: &RequestId) -> Id {
    match id {
        RequestId::Number(number) => Id::Number(*number),
        RequestId::String(text) => Id::String(text.to_string()),
    }
}

/// Converts an admitted envelope; `None` for a message that needs no handler.
pub(crate) fn decode(
    envelope: &Envelope<'_>,
    origin: &CallerContext,
) -> Result<Option<ClientJsonRpcMessage>, MessageError> {
    match envelope {
        Envelope::Request { id, method, params } => {
            let mut request = request(id, method, *params)?;
            let mut origin = origin.clone();
            origin.streams = origin.dialect == Some(Dialect::Plain) && wants_pieces(*params);
            request.extensions_mut().insert(origin);
            Ok(Some(JsonRpcMessage::request(request, request_id(id))))
        }
        Envelope::Notification { method, params } => {
            Ok(notification(method, *params).map(|mut notification| {
                notification.extensions_mut().insert(origin.clone());
                JsonRpcMessage::notification(notification)
            }))
        }
        Envelope::Response { id, text } => Ok(response(id.as_ref(), text)
            .inspect_err(|error| tracing::debug!(%error, "ignoring a malformed response"))
            .ok()),
    }
}

/// A client's response, unparsed: typed parsing would lose unknown fields.
fn response(id: Option<&Id>, text: &str) -> serde_json::Result<ClientJsonRpcMessage> {
    #[derive(Deserialize)]
    struct ResultMember {
        result: Option<Value>,
    }
    let answer: ResultMember = serde_json::from_str(text)?;
    match (id, answer.result) {
        (Some(id), Some(result)) => {
            let result = ClientResult::CustomResult(CustomResult(result));
            Ok(JsonRpcMessage::response(result, request_id(id)))
        }
        _ => serde_json::from_str(text),
    }
}

fn request(id: &Id, method: &str, params: Option<&str>) -> Result<ClientRequest, MessageError> {
    // Typed parsing would also accept an array, by position.
    if params.is_some_and(|text| !text.starts_with('{') && text != "null") {
        return Err(MessageError::bad_params(Some(id.clone()), "params", "must be an object"));
    }
    Ok(match method {
        "initialize" => ClientRequest::InitializeRequest(Request::new(opening(id, params)?)),
        "ping" => ClientRequest::PingRequest(without(params)),
        "server/discover" => {
            // Its parameters are its metadata, which is extracted separately.
            let mut request = with(id, None)?;
            insert_meta(&mut request.extensions, params);
            ClientRequest::DiscoverRequest(request)
        }
        "tools/call" => {
            ClientRequest::CallToolRequest(with::<_, CallToolRequestParams>(id, params)?)
        }
        "tools/list" => ClientRequest::ListToolsRequest(maybe(id, params)?),
        "resources/list" => ClientRequest::ListResourcesRequest(maybe(id, params)?),
        "resources/templates/list" => {
            ClientRequest::ListResourceTemplatesRequest(maybe(id, params)?)
        }
        "resources/read" => ClientRequest::ReadResourceRequest(with(id, params)?),
        "resources/subscribe" => ClientRequest::SubscribeRequest(with(id, params)?),
        "resources/unsubscribe" => ClientRequest::UnsubscribeRequest(with(id, params)?),
        "subscriptions/listen" => ClientRequest::SubscriptionsListenRequest(with(id, params)?),
        "prompts/list" => ClientRequest::ListPromptsRequest(maybe(id, params)?),
        "prompts/get" => ClientRequest::GetPromptRequest(with(id, params)?),
        "completion/complete" => ClientRequest::CompleteRequest(with(id, params)?),
        "logging/setLevel" => ClientRequest::SetLevelRequest(with(id, params)?),
        "tasks/get" => ClientRequest::GetTaskRequest(with(id, params)?),
        "tasks/update" => ClientRequest::UpdateTaskRequest(with(id, params)?),
        "tasks/cancel" => ClientRequest::CancelTaskRequest(with(id, params)?),
        _ => {
            let mut request =
                CustomRequest::new(method, params.and_then(|text| serde_json::from_str(text).ok()));
            insert_meta(&mut request.extensions, params);
            ClientRequest::CustomRequest(request)
        }
    })
}

fn with<M: Default, P: DeserializeOwned>(
    id: &Id,
    params: Option<&str>,
) -> Result<Request<M, P>, MessageError> {
    let given = params.filter(|text| *text != "null").unwrap_or("{}");
    let mut request = Request::new(parse(id, given)?);
    insert_meta(&mut request.extensions, params);
    Ok(request)
}

fn maybe<M: Default, P: DeserializeOwned>(
    id: &Id,
    params: Option<&str>,
) -> Result<RequestOptionalParam<M, P>, MessageError> {
    let mut request = RequestOptionalParam {
        method: M::default(),
        params: None,
        extensions: Extensions::default(),
    };
    if let Some(text) = params.filter(|text| *text != "null") {
        request.params = Some(parse(id, text)?);
        insert_meta(&mut request.extensions, params);
    }
    Ok(request)
}

fn without<M: Default>(params: Option<&str>) -> RequestNoParam<M> {
    let mut request = RequestNoParam::default();
    insert_meta(&mut request.extensions, params);
    request
}

fn parse<P: DeserializeOwned>(id: &Id, params: &str) -> Result<P, MessageError> {
    serde_json::from_str(params).map_err(|error| {
        let message = error.to_string();
        // serde puts the member in backquotes; without one, the parameters as a whole are invalid.
        let member = message.split('`').nth(1).filter(|_| message.starts_with("missing field"));
        let reason = if member.is_some() { "is required" } else { message.as_str() };
        MessageError::bad_params(Some(id.clone()), member.unwrap_or("params"), reason)
    })
}

#[derive(Deserialize)]
struct OnlyMeta {
    #[serde(default, rename = "_meta")]
    meta: Option<JsonObject>,
}

fn meta(params: Option<&str>) -> Option<JsonObject> {
    let text = params.filter(|text| text.contains("\"_meta\""))?;
    serde_json::from_str::<OnlyMeta>(text).ok()?.meta
}

fn insert_meta(extensions: &mut Extensions, params: Option<&str>) {
    if let Some(meta) = meta(params) {
        extensions.insert(RequestMetaObject::from(meta));
    }
}

/// Accepts `initialize` from lenient peers: missing or empty parameters are filled in.
fn opening<P: DeserializeOwned>(id: &Id, params: Option<&str>) -> Result<P, MessageError> {
    let filled =
        fill_opening(params.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default());
    serde_json::from_value(filled)
        .map_err(|error| MessageError::bad_params(Some(id.clone()), "params", &error.to_string()))
}

/// Parameters of `initialize` with every required member present.
pub(crate) fn fill_opening(params: Value) -> Value {
    let mut params = match params {
        Value::Object(params) => params,
        _ => JsonObject::new(),
    };
    if !params.get("protocolVersion").is_some_and(Value::is_string) {
        let version = params.get("protocol_version").filter(|v| v.is_string()).cloned();
        params.insert(
            "protocolVersion".into(),
            version.unwrap_or_else(|| Dialect::FALLBACK.version().into()),
        );
    }
    if !params.get("capabilities").is_some_and(Value::is_object) {
        params.insert("capabilities".into(), json!({}));
    }
    let client = params.entry("clientInfo").or_insert_with(|| json!({}));
    if !client.is_object() {
        *client = json!({});
    }
    for (member, filler) in [("name", "unknown"), ("version", "0")] {
        if !client.get(member).is_some_and(Value::is_string) {
            client[member] = filler.into();
        }
    }
    Value::Object(params)
}

fn wants_pieces(params: Option<&str>) -> bool {
    #[derive(Deserialize)]
    struct StreamArgument {
        #[serde(default)]
        stream: bool,
    }
    params
        .filter(|text| text.contains("\"stream\""))
        .and_then(|text| serde_json::from_str::<StreamArgument>(text).ok())
        .is_some_and(|params| params.stream)
}

fn notification(method: &str, params: Option<&str>) -> Option<ClientNotification> {
    let typed = |method: &str| {
        let params: Value =
            params.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| json!({}));
        serde_json::from_value::<ClientNotification>(json!({ "method": method, "params": params }))
            .ok()
    };
    match method {
        "initialized" | "notifications/initialized" => typed("notifications/initialized"),
        "notifications/cancelled"
        | "notifications/progress"
        | "notifications/roots/list_changed" => typed(method).filter(|notification| {
            !matches!(notification, ClientNotification::CustomNotification(_))
        }),
        _ => {
            let mut custom = CustomNotification::new(
                method,
                params.and_then(|text| serde_json::from_str(text).ok()),
            );
            if let Some(meta) = meta(params) {
                custom.extensions.insert(NotificationMetaObject::from(meta));
            }
            Some(ClientNotification::CustomNotification(custom))
        }
    }
}

/// Serializes a message of ours, shaped for the dialect.
pub(crate) fn encode(dialect: Dialect, message: &ServerJsonRpcMessage) -> Vec<u8> {
    let written = if needs_shaping(dialect) {
        to_value(dialect, message).and_then(|value| serde_json::to_vec(&value))
    } else {
        serde_json::to_vec(message).map(|bytes| put_back(&bytes).unwrap_or(bytes))
    };
    written.unwrap_or_else(|error| {
        let refusal =
            MessageError::new(None, code::SERVER, format!("cannot serialize the answer: {error}"));
        refusal.to_value().to_string().into_bytes()
    })
}

/// The message with fields of another server restored that no type knows; `None` if there are none.
pub(crate) fn put_back(bytes: &[u8]) -> Option<Vec<u8>> {
    put_back_in_text(std::str::from_utf8(bytes).ok()?).map(String::into_bytes)
}

/// A message of ours as a JSON value, shaped for the dialect.
pub(crate) fn to_value(
    dialect: Dialect,
    message: &ServerJsonRpcMessage,
) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(message)?;
    docent_wire::put_back(&mut value);
    shape_message(dialect, &mut value);
    Ok(value)
}
