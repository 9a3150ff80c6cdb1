//! Parses a JSON-RPC message only as far as its summary needs: nothing is copied, and nothing is read that is not
//! shown.

use crate::TrafficKind;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

/// Maximum bytes of an id that is kept, and that answers are matched by.
const MAX_ID_BYTES: usize = 256;
/// Maximum members of a batch that are recorded separately. docent rejects longer batches, and a server would have no
/// reason to send one.
const MAX_BATCH_MEMBERS: usize = 1_000;

/// The parts of a message needed for a summary.
pub(crate) struct TrafficMessage<'a> {
    pub(crate) kind: TrafficKind,
    /// The text, unchanged.
    pub(crate) text: &'a str,
    /// The length.
    pub(crate) bytes: usize,
    /// The id as written, unless it is too long.
    pub(crate) id: Option<&'a str>,
    pub(crate) method: Option<Cow<'a, str>>,
    pub(crate) target: Option<Cow<'a, str>>,
    /// The progress token of a request.
    pub(crate) token: Option<&'a str>,
    /// The request that a notification is about.
    pub(crate) about: Option<RelatedRequest<'a>>,
    /// The revision it names.
    pub(crate) era: Option<Cow<'a, str>>,
    /// The name the sender gives itself.
    pub(crate) sender: Option<Cow<'a, str>>,
    pub(crate) code: Option<i64>,
    pub(crate) said: Option<Cow<'a, str>>,
    /// More of the same answer follows.
    pub(crate) partial: bool,
}

/// The request that a notification is about.
#[derive(Clone, Copy)]
pub(crate) enum RelatedRequest<'a> {
    /// The request with this progress token.
    Token(&'a str),
    /// The request of the other side with this id.
    Asked(&'a str),
    /// The request of the same side with this id.
    Own(&'a str),
}

#[derive(Deserialize)]
struct MessageEnvelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The inspected fields of parameters, results, metadata and errors.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EnvelopeFields<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    reference: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    meta_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "clientInfo")]
    client: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    meta_client: Option<&'a RawValue>,
    #[serde(borrow, rename = "progressToken")]
    token: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestId")]
    request: Option<&'a RawValue>,
    #[serde(borrow, rename = "isError")]
    is_error: Option<&'a RawValue>,
    #[serde(borrow)]
    partial: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// The fields present; a value of another shape has none.
fn fields(raw: Option<&RawValue>) -> EnvelopeFields<'_> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// A string, if it is one.
fn string(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let text = raw?.get();
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str(text).ok().map(Cow::Owned)
}

/// An id or a token as written, if it is one and not too long.
fn key(raw: Option<&RawValue>) -> Option<&str> {
    let text = raw?.get();
    let is_one =
        text.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit());
    (is_one && text.len() <= MAX_ID_BYTES).then_some(text)
}

/// Every message of a frame: one, or the members of a batch.
pub(crate) fn read(frame: &[u8]) -> Vec<TrafficMessage<'_>> {
    let Ok(text) = std::str::from_utf8(frame) else {
        let head = frame.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let said = Some(Cow::Borrowed("not UTF-8"));
        return vec![TrafficMessage { bytes: frame.len(), said, ..TrafficMessage::noise(head) }];
    };
    let text = text.trim_ascii();
    if !text.starts_with('[') {
        return vec![TrafficMessage { bytes: frame.len(), ..one(text) }];
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(members) if !members.is_empty() && members.len() <= MAX_BATCH_MEMBERS => {
            members.into_iter().map(|member| one(member.get())).collect()
        }
        Ok(members) => {
            let said = format!("a batch of {} messages", members.len());
            vec![TrafficMessage { said: Some(said.into()), ..TrafficMessage::noise(text) }]
        }
        Err(_) => vec![TrafficMessage::noise(text)],
    }
}

fn one(text: &str) -> TrafficMessage<'_> {
    let Ok(envelope) = serde_json::from_str::<MessageEnvelope<'_>>(text) else {
        return TrafficMessage::noise(text);
    };
    let id = key(envelope.id);
    let is_error = envelope.error.is_some_and(|error| error.get() != "null");
    if let Some(method) = string(envelope.method) {
        let kind =
            if envelope.id.is_some() { TrafficKind::Request } else { TrafficKind::Notification };
        return TrafficMessage {
            kind,
            id,
            ..TrafficMessage::asking(text, method, envelope.params)
        };
    }
    if is_error {
        let error = fields(envelope.error);
        let code = error.code.and_then(|code| serde_json::from_str(code.get()).ok());
        let said = string(error.message);
        return TrafficMessage {
            kind: TrafficKind::Error,
            id,
            code,
            said,
            ..TrafficMessage::noise(text)
        };
    }
    if envelope.result.is_some() || envelope.id.is_some() {
        return TrafficMessage { id, ..TrafficMessage::answering(text, envelope.result) };
    }
    TrafficMessage::noise(text)
}

impl<'a> TrafficMessage<'a> {
    fn noise(text: &'a str) -> Self {
        Self {
            kind: TrafficKind::Noise,
            text,
            bytes: text.len(),
            id: None,
            method: None,
            target: None,
            token: None,
            about: None,
            era: None,
            sender: None,
            code: None,
            said: None,
            partial: false,
        }
    }

    fn asking(text: &'a str, method: Cow<'a, str>, params: Option<&'a RawValue>) -> Self {
        let params = fields(params);
        let meta = fields(params.meta);
        let named =
            |fields: &EnvelopeFields<'a>| string(fields.name).or_else(|| string(fields.uri));
        let target = named(&params).or_else(|| named(&fields(params.reference)));
        let opens = method == "initialize";
        let client = meta.meta_client.or(params.client.filter(|_| opens));
        let about = match (key(params.token), key(params.request)) {
            (Some(token), _) => Some(RelatedRequest::Token(token)),
            (None, Some(id)) if method == "notifications/cancelled" => {
                Some(RelatedRequest::Own(id))
            }
            (None, id) => id.map(RelatedRequest::Asked),
        };
        Self {
            target,
            about,
            token: key(meta.token),
            // The version that a client requests in `initialize` is not yet agreed on.
            era: string(meta.meta_version),
            sender: string(fields(client).name),
            method: Some(method),
            ..Self::noise(text)
        }
    }

    fn answering(text: &'a str, result: Option<&'a RawValue>) -> Self {
        let result = fields(result);
        let is = |raw: Option<&RawValue>| raw.is_some_and(|raw| raw.get() == "true");
        let is_error = is(result.is_error);
        let said = || {
            let blocks: Vec<&RawValue> = serde_json::from_str(result.content?.get()).ok()?;
            string(fields(blocks.first().copied()).text)
        };
        Self {
            kind: TrafficKind::Response,
            era: string(result.version),
            code: is_error.then_some(-1),
            said: if is_error { said() } else { None },
            partial: is(result.partial),
            ..Self::noise(text)
        }
    }

    /// The id as JSON; null if there is none, or if it is too long.
    pub(crate) fn id_value(&self) -> Value {
        self.id.and_then(|id| serde_json::from_str(id).ok()).unwrap_or_default()
    }
}
