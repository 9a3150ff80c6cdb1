//! Fields of another server's answer that no type here knows: they travel in `_meta`, and are put back where they were when
//! the answer is written.

use serde_json::{Map, Value};

/// Where they travel.
pub const EXTRA: &str = "docent/extra";

/// Puts them back in the result of a message.
pub fn put_back(message: &mut Value) {
    let Some(Value::Object(result)) = message.get_mut("result") else { return };
    lift(result);
    for block in result.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(block) = block {
            lift(block);
        }
    }
}

fn lift(fields: &mut Map<String, Value>) {
    let Some(Value::Object(meta)) = fields.get_mut("_meta") else { return };
    let extra = meta.remove(EXTRA);
    if meta.is_empty() {
        fields.remove("_meta");
    }
    if let Some(Value::Object(extra)) = extra {
        for (name, value) in extra {
            // What docent says itself is not overwritten.
            fields.entry(name).or_insert(value);
        }
    }
}

/// The same in what goes over HTTP: one message, or events with one in each. `None` where there is nothing to put back.
pub fn put_back_in_text(text: &str) -> Option<String> {
    if !text.contains(EXTRA) {
        return None;
    }
    let line = |line: &str| {
        let (mark, json) = match line.strip_prefix("data:") {
            Some(json) => ("data: ", json.trim_start()),
            None => ("", line),
        };
        let mut message: Value = serde_json::from_str(json).ok()?;
        put_back(&mut message);
        Some(format!("{mark}{message}"))
    };
    let lines = text.split('\n').map(|one| {
        if one.contains(EXTRA) {
            line(one).unwrap_or_else(|| one.to_owned())
        } else {
            one.to_owned()
        }
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_come_out_where_they_went_in() {
        let mut message = json!({"id": 1, "result": {
            "content": [{"type": "text", "text": "hi", "_meta": {"docent/extra": {"odd": 1}, "own": 2}}],
            "isError": false, "_meta": {"docent/extra": {"field": [1], "isError": true}},
        }});
        let text = format!("id: 7\ndata: {message}\n\n");
        put_back(&mut message);
        let want = json!({"id": 1, "result": {
            "content": [{"type": "text", "text": "hi", "_meta": {"own": 2}, "odd": 1}], "isError": false, "field": [1],
        }});
        assert_eq!(message, want);
        assert_eq!(put_back_in_text(&text), Some(format!("id: 7\ndata: {want}\n\n")));
        assert_eq!(put_back_in_text("data: {}\n\n"), None);
        assert_eq!(
            put_back_in_text("data: docent/extra {\n").as_deref(),
            Some("data: docent/extra {\n")
        );
    }
}
