//! The JSON of frames that docent writes itself.

use docent_wire::{Envelope, Id, partial};
use serde_json::{Value, json};

/// Joins serialized values into an array.
pub(crate) fn array(values: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![b'['];
    bytes.extend_from_slice(&values.join(&b','));
    bytes.push(b']');
    bytes
}

/// A piece of an answer, in the form of the plain dialect.
pub(crate) fn piece_of(params: &Value) -> Option<Value> {
    let id = match params.get("requestId")? {
        Value::Number(number) => Id::Number(number.as_i64()?),
        Value::String(text) => Id::String(text.clone()),
        _ => return None,
    };
    Some(partial(&id, params.get("content")?))
}

/// The successful answer to a request.
pub(crate) fn answer_to(envelope: &Envelope<'_>, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": envelope.wanted(), "result": result })
}
