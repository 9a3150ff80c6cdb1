//! Fields of another server's content that no type here knows: kept beside it until the answer is written.

use docent_tool::Object;
use docent_wire::EXTRA;
use rmcp::model::{ContentBlock, MetaObject};
use serde_json::Value;

/// Fields of content that types know.
const KNOWN: [&str; 14] = [
    "type",
    "text",
    "data",
    "mimeType",
    "annotations",
    "_meta",
    "resource",
    "uri",
    "name",
    "title",
    "description",
    "size",
    "icons",
    "blob",
];

/// What is lost of a block when it is read into types, put where it travels.
pub(crate) fn keep(mut content: ContentBlock, raw: &Value) -> ContentBlock {
    let Value::Object(fields) = raw else { return content };
    let unknown = fields.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
    let unknown: Object = unknown.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !unknown.is_empty() {
        let meta = match &mut content {
            ContentBlock::Text(text) => &mut text.meta,
            ContentBlock::Image(image) => &mut image.meta,
            ContentBlock::Audio(audio) => &mut audio.meta,
            ContentBlock::Resource(resource) => &mut resource.meta,
            ContentBlock::ResourceLink(link) => &mut link.meta,
            _ => return content,
        };
        meta.get_or_insert_with(MetaObject::default).0.insert(EXTRA.into(), unknown.into());
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_types_do_not_know_is_kept_beside_them() {
        assert_eq!(EXTRA, docent_tool::EXTRA);
        let raw = json!({"type": "text", "text": "hi", "odd": {"a": 1}});
        let block = keep(serde_json::from_value(raw.clone()).unwrap(), &raw);
        let mut message = json!({"result": {"content": [block]}});
        docent_wire::put_back(&mut message);
        assert_eq!(message["result"]["content"][0], raw);
    }
}
