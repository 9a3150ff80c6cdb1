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
        let blocks = fields.remove("content").map(content_blocks).unwrap_or_default();
        for (place, block) in blocks.into_iter().enumerate() {
            let before = self.content.last_mut().filter(|_| place == 0);
            match before.and_then(plain_text).zip(block.get("text").and_then(Value::as_str)) {
                // A text continues where the previous part ended.
                Some((text, more)) if is_plain_text(&block) => text.push_str(more),
                _ => self.content.push(block),
            }
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
        self.fields.insert("content".into(), self.content.into());
        Value::Object(self.fields)
    }
}

/// The blocks of a result's `content`: a list, a single block, or a bare text.
pub(crate) fn content_blocks(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks,
        block @ Value::Object(_) => vec![block],
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
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
