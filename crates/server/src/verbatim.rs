//! Fields of another server's content that no type here knows: kept beside it until the answer is written.

use docent_wire::{EXTRA, lost};
use rmcp::model::{ContentBlock, MetaObject};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Fields of content that types know and write as they came.
const KNOWN: [&str; 12] = [
    "type",
    "text",
    "data",
    "mimeType",
    "_meta",
    "resource",
    "uri",
    "name",
    "title",
    "description",
    "size",
    "blob",
];

/// What is lost of something when it is read into a type, put where it travels: in `_meta`, which the type has.
pub(crate) fn keep<T: Serialize + DeserializeOwned>(typed: T, raw: &Value) -> T {
    let Ok(mut written) = serde_json::to_value(&typed) else { return typed };
    let Some(left) = lost(raw, &written) else { return typed };
    stow(&mut written, left);
    serde_json::from_value(written).unwrap_or(typed)
}

/// Puts what was lost of something where it travels.
pub(crate) fn stow(written: &mut Value, left: Value) {
    if let Value::Object(fields) = written
        && let Value::Object(meta) = fields.entry("_meta").or_insert_with(|| json!({}))
    {
        meta.insert(EXTRA.into(), left);
    }
}

/// The same for content, which may be long: most of it loses nothing, and is not written to find that out.
pub(crate) fn keep_content<T: Serialize + DeserializeOwned>(typed: T, raw: &Value) -> T {
    let knows = |value: &Value| {
        value.as_object().is_none_or(|fields| fields.keys().all(|name| KNOWN.contains(&&**name)))
    };
    if knows(raw) && raw.get("resource").is_none_or(knows) { typed } else { keep(typed, raw) }
}

/// Where it is kept of a block.
pub(crate) fn beside(block: &mut ContentBlock) -> Option<&mut MetaObject> {
    let meta = match block {
        ContentBlock::Text(text) => &mut text.meta,
        ContentBlock::Image(image) => &mut image.meta,
        ContentBlock::Audio(audio) => &mut audio.meta,
        ContentBlock::Resource(resource) => &mut resource.meta,
        ContentBlock::ResourceLink(link) => &mut link.meta,
        _ => return None,
    };
    meta.as_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_types_do_not_know_is_kept_beside_them() {
        assert_eq!(EXTRA, docent_tool::EXTRA);
        let cases = [
            json!({"type": "text", "text": "hi", "odd": {"a": 1}}),
            json!({"type": "text", "text": "hi", "annotations": {"priority": 0.7, "odd": 1}, "_meta": {"own": 1}}),
            json!({"type": "resource", "resource": {"uri": "a:b", "text": "hi", "odd": 1}}),
        ];
        for raw in cases {
            let block: ContentBlock = serde_json::from_value(raw.clone()).unwrap();
            let block = keep_content(block, &raw);
            let mut message = json!({"result": {"content": [block]}});
            docent_wire::put_back(&mut message);
            assert_eq!(message["result"]["content"][0], raw);
        }
    }
}
