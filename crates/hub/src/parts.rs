//! Collects an answer that a server sends in parts: results with `partial: true`, up to one without it.

use serde_json::{Map, Value, json};

/// Maximum bytes of the parts of one answer, the same as for an answer in one message. In memory, small values take 30
/// times as much.
const MAX_COLLECTED_BYTES: usize = 10_000_000;
/// Maximum number of blocks of an answer, in one message or in parts. Empty ones take 100 times as much memory as in a
/// message.
pub(crate) const MAX_BLOCKS: usize = 10_000;

/// The parts of an answer that arrived so far.
#[derive(Debug, Default)]
pub(crate) struct CollectedParts {
    content: Vec<Value>,
    /// Fields other than `content`; a later part replaces those of an earlier one.
    fields: Map<String, Value>,
    bytes: usize,
    /// The last block is the JSON of a part without `content`, which no later text continues.
    ends_in_json: bool,
}

impl CollectedParts {
    /// Whether more parts follow this result.
    pub(crate) fn is_partial(result: &Value) -> bool {
        result.get("partial") == Some(&Value::Bool(true))
    }

    /// Adds a part; `false` when the answer has become too large.
    pub(crate) fn add(&mut self, part: Value) -> bool {
        let Value::Object(mut fields) = part else { return true };
        self.bytes = self.bytes.saturating_add(Value::Object(fields.clone()).to_string().len());
        let content = fields.remove("content").filter(|content| !content.is_null());
        let is_bare = content.is_none();
        let ends_in_json = self.ends_in_json;
        let blocks = content.map(content_blocks).unwrap_or_default();
        for (place, block) in blocks.into_iter().enumerate() {
            self.ends_in_json = false;
            let before = self.content.last_mut().filter(|_| place == 0 && !ends_in_json);
            match before.and_then(plain_text).zip(block.get("text").and_then(Value::as_str)) {
                // A text continues where the previous part ended.
                Some((text, more)) if is_plain_text(&block) => text.push_str(more),
                _ => self.content.push(block),
            }
        }
        if is_bare && let Some(text) = part_text(&fields) {
            self.content.push(text_block(&text));
            self.ends_in_json = true;
        }
        self.fields.extend(fields);
        self.bytes <= MAX_COLLECTED_BYTES && self.content.len() <= MAX_BLOCKS
    }

    /// The whole answer, with its last part.
    pub(crate) fn finish(mut self, last: Value) -> Value {
        self.add(last);
        self.fields.remove("partial");
        self.into_result()
    }

    /// Returns the parts that arrived of an unfinished answer, still marked as partial.
    pub(crate) fn into_result(mut self) -> Value {
        let structured = self.fields.get("structuredContent").filter(|value| !value.is_null());
        if let Some(structured) = structured.filter(|_| self.content.is_empty()) {
            self.content.push(text_block(&structured.to_string()));
        }
        self.fields.insert("content".into(), self.content.into());
        Value::Object(self.fields)
    }
}

/// The blocks of a result's `content`: a list, a single block, or a bare text.
pub(crate) fn content_blocks(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks,
        block @ Value::Object(_) => vec![block],
        Value::String(text) => vec![text_block(&text)],
        _ => Vec::new(),
    }
}

/// Fields of a result that are meant for docent only.
pub(crate) const PROTOCOL_FIELDS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// The fields of a result without `content` that its text has: all but the protocol's own.
pub(crate) fn shown_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    let own = |name: &str| PROTOCOL_FIELDS.contains(&name) || matches!(name, "isError" | "_meta");
    let said = |(name, value): &(&String, &Value)| !own(name) && !value.is_null();
    fields.iter().filter(said).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Renders a part without `content` as its JSON; `None` if it has nothing to show besides `structuredContent`, which
/// the whole answer has.
fn part_text(fields: &Map<String, Value>) -> Option<String> {
    let mut shown = shown_fields(fields);
    shown.retain(|name, _| name != "partial");
    let is_empty = shown.keys().all(|name| name == "structuredContent");
    (!is_empty).then(|| Value::Object(shown).to_string())
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn is_plain_text(block: &Value) -> bool {
    let has_only_text = |fields: &Map<String, Value>| fields.len() == 2;
    block.get("type").and_then(Value::as_str) == Some("text")
        && block.get("text").is_some_and(Value::is_string)
        && block.as_object().is_some_and(has_only_text)
}

fn plain_text(block: &mut Value) -> Option<&mut String> {
    if !is_plain_text(block) {
        return None;
    }
    match block.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(parts: &[Value], last: Value) -> Value {
        let mut collected = CollectedParts::default();
        for part in parts {
            assert!(CollectedParts::is_partial(part));
            assert!(collected.add(part.clone()));
        }
        collected.finish(last)
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn parts_become_one_answer() {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let cases = [
            (
                vec![json!({"content": [text("const foo = ")], "partial": true})],
                json!({"content": [text("42;")], "partial": false}),
                json!({"content": [text("const foo = 42;")]}),
            ),
            (
                vec![json!({"content": [text("a"), image], "partial": true})],
                json!({"content": [text("b"), text("c")], "isError": true}),
                json!({"content": [text("a"), image, text("b"), text("c")], "isError": true}),
            ),
            (
                vec![
                    json!({"content": "a", "partial": true, "_meta": {"n": 1}}),
                    json!({"content": text("b"), "partial": true}),
                ],
                json!({"partial": false, "structuredContent": {"n": 2}}),
                json!({"content": [text("ab")], "structuredContent": {"n": 2}, "_meta": {"n": 1}}),
            ),
        ];
        for (parts, last, want) in cases {
            assert_eq!(collect(&parts, last), want);
        }
    }

    #[test]
    fn a_part_without_content_becomes_its_json() {
        let cases = [
            (
                vec![json!({"text": "a", "partial": true})],
                json!({"text": "b", "partial": false}),
                json!({"content": [text(r#"{"text":"a"}"#), text(r#"{"text":"b"}"#)], "text": "b"}),
            ),
            (
                vec![
                    json!({"content": "a", "partial": true}),
                    json!({"content": null, "rows": 1, "isError": false, "partial": true}),
                ],
                json!({"content": "b"}),
                json!({
                    "content": [text("a"), text(r#"{"rows":1}"#), text("b")],
                    "rows": 1,
                    "isError": false,
                }),
            ),
            (
                vec![json!({"_meta": {"n": 1}, "partial": true})],
                json!({"structuredContent": {"n": 2}}),
                json!({
                    "content": [text(r#"{"n":2}"#)],
                    "structuredContent": {"n": 2},
                    "_meta": {"n": 1},
                }),
            ),
        ];
        for (parts, last, want) in cases {
            assert_eq!(collect(&parts, last), want);
        }
    }

    #[test]
    fn an_unfinished_answer_says_so() {
        let mut collected = CollectedParts::default();
        assert!(collected.add(json!({"content": [text("a")], "partial": true})));
        assert_eq!(collected.into_result(), json!({"content": [text("a")], "partial": true}));
    }

    #[test]
    fn an_answer_of_parts_has_a_limit() {
        let mut collected = CollectedParts::default();
        let part =
            json!({"content": [text(&"a".repeat(MAX_COLLECTED_BYTES / 4))], "partial": true});
        let taken = (0..8).take_while(|_| collected.add(part.clone())).count();
        assert_eq!(taken, 3);
    }
}
