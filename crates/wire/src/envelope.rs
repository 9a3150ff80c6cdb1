//! The JSON-RPC envelope: parsing messages, and errors for invalid ones.

use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use serde_json::{Value, error::Category, json, value::RawValue};
use std::borrow::Cow;

/// JSON-RPC error codes that a peer may see.
pub mod code {
    /// Not JSON.
    pub const PARSE: i32 = -32700;
    /// JSON, but not a message that is allowed now.
    pub const INVALID_REQUEST: i32 = -32600;
    /// Unknown method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The method is known but its parameters are invalid.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server is busy, closing or at capacity.
    pub const SERVER: i32 = -32000;
}

/// Maximum nesting of JSON. Deeper JSON is rejected before anything recurses into it.
const MAX_DEPTH: usize = 100;

/// Maximum messages in one array: each costs more to serve than the few bytes it takes.
const MAX_MEMBERS: usize = 100;

/// The id of a request, echoed unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// Any string.
    String(String),
}

/// One message, its parts still unparsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope<'a> {
    /// Expects an answer.
    Request {
        /// Echoed in the answer.
        id: Id,
        /// The method.
        method: Cow<'a, str>,
        /// The parameters; JSON text.
        params: Option<&'a str>,
    },
    /// Expects no answer.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// The parameters; JSON text.
        params: Option<&'a str>,
    },
    /// The answer to a request of ours; the whole message as JSON text.
    Response {
        /// The id of that request.
        id: Option<Id>,
        /// The message.
        text: &'a str,
    },
}

impl Envelope<'_> {
    /// The id, if the message expects an answer.
    pub fn wanted(&self) -> Option<&Id> {
        match self {
            Self::Request { id, .. } => Some(id),
            Self::Notification { .. } | Self::Response { .. } => None,
        }
    }
}

/// The content of one frame.
#[derive(Debug, PartialEq, Eq)]
pub enum WireFrame<'a> {
    /// Only white space.
    Empty,
    /// A message, or why it is invalid.
    One(Result<Envelope<'a>, MessageError>),
    /// Several messages, each with its own result.
    Batch(Vec<Result<Envelope<'a>, MessageError>>),
}

/// Why a message was rejected; becomes an error response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct MessageError {
    /// The id of the message, if it could be read.
    pub id: Option<Id>,
    /// The JSON-RPC error code.
    pub code: i32,
    /// What was wrong.
    pub message: String,
    /// Details for programs.
    pub data: Option<Box<Value>>,
}

impl MessageError {
    /// An error without data.
    pub fn new(id: Option<Id>, code: i32, message: impl Into<String>) -> Self {
        Self { id, code, message: message.into(), data: None }
    }

    /// Adds data.
    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// A message over the size limit.
    pub fn too_long(limit: usize) -> Self {
        let limit_mb = limit.div_ceil(1 << 20);
        Self::new(
            None,
            code::INVALID_REQUEST,
            format!("message is longer than {limit_mb} MB ({limit} bytes)"),
        )
        .with(json!({ "limit": limit }))
    }

    /// Invalid parameters of a known method.
    pub fn bad_params(id: Option<Id>, parameter: &str, reason: &str) -> Self {
        Self::new(id, code::INVALID_PARAMS, format!("Invalid params: {parameter} {reason}")).with(
            json!({ "parameter": parameter, "reason": reason, "details": format!("Validation failed for parameter '{parameter}'") }),
        )
    }

    /// An unknown method.
    pub fn unknown_method(id: Option<Id>, method: &str) -> Self {
        Self::new(id, code::METHOD_NOT_FOUND, format!("Method not found: {method}"))
            .with(json!({ "method": method }))
    }

    /// The error response.
    pub fn to_value(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = Value::clone(data);
        }
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
    }
}

/// Parses one frame.
pub fn read(bytes: &[u8]) -> WireFrame<'_> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return WireFrame::One(Err(MessageError::new(None, code::PARSE, "Parse error: not UTF-8")));
    };
    let text = text.trim_ascii();
    if text.is_empty() {
        return WireFrame::Empty;
    }
    if too_deep(text.as_bytes()) {
        let message = format!("Invalid Request: nested deeper than {MAX_DEPTH} levels");
        return WireFrame::One(Err(MessageError::new(None, code::INVALID_REQUEST, message)));
    }
    if !text.starts_with('[') {
        return WireFrame::One(one(text));
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Err(error) => WireFrame::One(Err(not_json(&error))),
        Ok(items) if items.is_empty() => WireFrame::One(Err(MessageError::new(
            None,
            code::INVALID_REQUEST,
            "Invalid Request: the batch is empty",
        ))),
        Ok(items) if items.len() > MAX_MEMBERS => {
            let message = format!(
                "Invalid Request: the batch has {} messages; send at most {MAX_MEMBERS} at a time",
                items.len()
            );
            WireFrame::One(Err(MessageError::new(None, code::INVALID_REQUEST, message)))
        }
        Ok(items) => WireFrame::Batch(items.into_iter().map(|item| one(item.get())).collect()),
    }
}

/// A member's text. Distinguishes an absent member from a null one.
#[derive(Default)]
struct RawMember<'a>(Option<&'a str>);

impl<'de: 'a, 'a> Deserialize<'de> for RawMember<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a RawValue>::deserialize(deserializer).map(|raw| Self(Some(raw.get())))
    }
}

/// The members of a message. The derived parser rejects duplicate members.
#[derive(Deserialize)]
struct RawMembers<'a> {
    #[serde(borrow, default)]
    jsonrpc: RawMember<'a>,
    #[serde(borrow, default)]
    id: RawMember<'a>,
    #[serde(borrow, default)]
    method: RawMember<'a>,
    #[serde(borrow, default)]
    params: RawMember<'a>,
    #[serde(borrow, default)]
    result: RawMember<'a>,
    #[serde(borrow, default)]
    error: RawMember<'a>,
}

fn one(text: &str) -> Result<Envelope<'_>, MessageError> {
    if !text.starts_with('{') {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => MessageError::new(
                None,
                code::INVALID_REQUEST,
                "Invalid Request: a message must be a JSON object",
            ),
            Err(error) => not_json(&error),
        });
    }
    let members: RawMembers<'_> =
        serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Data => {
                MessageError::new(None, code::INVALID_REQUEST, format!("Invalid Request: {error}"))
            }
            _ => not_json(&error),
        })?;
    let id = members.id.0.map(parse_id);
    let known = id.clone().and_then(Result::ok);
    let refuse = |reason: &str| {
        MessageError::new(
            known.clone(),
            code::INVALID_REQUEST,
            format!("Invalid Request: {reason}"),
        )
    };
    if members.jsonrpc.0 != Some("\"2.0\"") {
        return Err(refuse("jsonrpc must be \"2.0\""));
    }
    if members.method.0.is_none() && (members.result.0.is_some() || members.error.0.is_some()) {
        return Ok(Envelope::Response { id: known, text });
    }
    let method =
        members.method.0.and_then(|raw| serde_json::from_str::<BorrowedText<'_>>(raw).ok());
    let Some(BorrowedText(method)) = method else {
        return Err(refuse("method must be a string"));
    };
    match id {
        None => Ok(Envelope::Notification { method, params: members.params.0 }),
        Some(Ok(id)) => Ok(Envelope::Request { id, method, params: members.params.0 }),
        Some(Err(())) => Err(refuse("id must be a string or a whole number")),
    }
}

#[derive(Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

fn parse_id(raw: &str) -> Result<Id, ()> {
    if raw.starts_with('"') {
        return serde_json::from_str(raw).map(Id::String).map_err(|_| ());
    }
    raw.parse().map(Id::Number).map_err(|_| ())
}

fn not_json(error: &serde_json::Error) -> MessageError {
    MessageError::new(None, code::PARSE, format!("Parse error: {error}"))
}

/// Nesting depth of a text, counted outside strings: a hostile frame costs a scan and no stack.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Nesting {
    /// The depth after these bytes, or as soon as it exceeds `most`.
    pub fn feed(&mut self, bytes: &[u8], most: usize) -> usize {
        for byte in bytes {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > most {
                break;
            }
        }
        self.depth
    }
}

fn too_deep(text: &[u8]) -> bool {
    Nesting::default().feed(text, MAX_DEPTH) > MAX_DEPTH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(verdict: &Result<Envelope<'_>, MessageError>) -> String {
        match verdict {
            Ok(Envelope::Request { id, method, params }) => {
                format!("request {} {method} {}", json!(id), params.unwrap_or("-"))
            }
            Ok(Envelope::Notification { method, .. }) => format!("notification {method}"),
            Ok(Envelope::Response { id, .. }) => format!("response {}", json!(id)),
            Err(refusal) => format!("{} {}", json!(refusal.id), refusal.code),
        }
    }

    #[track_caller]
    fn check(frame: &str, want: &str) {
        let got = match read(frame.as_bytes()) {
            WireFrame::Empty => "empty".to_owned(),
            WireFrame::One(verdict) => describe(&verdict),
            WireFrame::Batch(all) => all.iter().map(describe).collect::<Vec<_>>().join("; "),
        };
        assert_eq!(got, want, "{frame}");
    }

    #[test]
    fn frames() {
        check(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, "request 7 ping -");
        check(
            r#"{"jsonrpc":"2.0","id":"","method":"a","params":{"b":[1]}}"#,
            r#"request "" a {"b":[1]}"#,
        );
        check(r#" {"jsonrpc":"2.0","method":"x"} "#, "notification x");
        check(
            r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#,
            "request 9007199254740993 ping -",
        );
        check(r#"{"jsonrpc":"2.0","id":1,"method":"a\u0062"}"#, "request 1 ab -");
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response 1");
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#, "response 1");
        check("", "empty");
        check(" \r\n ", "empty");
    }

    #[test]
    fn invalid_messages_are_rejected_with_their_id_if_any() {
        check(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "null -32600");
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, "null -32600");
        check(r#"{"jsonrpc":"2.0","id":{"a":1},"method":"x"}"#, "null -32600");
        check(r#"{"id":1,"method":"x"}"#, "1 -32600");
        check(r#"{"jsonrpc":"1.0","id":2,"method":"x"}"#, "2 -32600");
        check(r#"{"jsonrpc":"2.0","id":3}"#, "3 -32600");
        check(r#"{"jsonrpc":"2.0","id":4,"method":5}"#, "4 -32600");
        check(r#"{"jsonrpc":"2.0","id":5,"Method":"x"}"#, "5 -32600");
        check(r#"{"jsonrpc":"2.0","id":6,"id":7,"method":"x"}"#, "null -32600");
        check(r#"{"jsonrpc":"2.0","id":8,"method":"x","method":"y"}"#, "null -32600");
        check("12", "null -32600");
        check("null", "null -32600");
        check("\"text\"", "null -32600");
        check("[]", "null -32600");
        check("{", "null -32700");
        check("{\"a\":1}}", "null -32700");
        check("not json", "null -32700");
        check("[1,", "null -32700");
        check(r#"[1,{"jsonrpc":"2.0","id":1,"method":"x"}]"#, "null -32600; request 1 x -");
    }

    #[test]
    fn a_batch_is_bounded() {
        let batch = |members: usize| {
            let all = vec![r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#; members];
            format!("[{}]", all.join(","))
        };
        let most = batch(MAX_MEMBERS);
        assert!(matches!(read(most.as_bytes()), WireFrame::Batch(all) if all.len() == MAX_MEMBERS));
        check(&batch(MAX_MEMBERS + 1), "null -32600");
    }

    #[test]
    fn invalid_utf8_is_a_parse_error() {
        assert!(matches!(
            read(b"{\"\xff\":1}"),
            WireFrame::One(Err(MessageError { code: code::PARSE, .. }))
        ));
    }

    #[test]
    fn deep_nesting_is_refused_and_brackets_in_strings_are_not_nesting() {
        check(
            &format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}1{}}}"#,
                "[".repeat(100_000),
                "]".repeat(100_000)
            ),
            "null -32600",
        );
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":"{}\"{}"}}"#,
            "[".repeat(200),
            "{".repeat(200)
        );
        assert!(matches!(read(text.as_bytes()), WireFrame::One(Ok(_))));
    }
}
