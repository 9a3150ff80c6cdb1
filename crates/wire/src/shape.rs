//! Shapes an answer for the peer's revision: older peers get what their revision knows, plain ones both spellings.

use crate::{Dialect, Id};
use serde_json::{Map, Value, json};

/// The notification that carries a piece of an answer to the transport, which writes it in the form of [`partial`].
pub const PARTIAL_METHOD: &str = "docent/partial";
/// The `_meta` key for a block's metadata; the plain dialect has it beside the text.
pub const METADATA_KEY: &str = "docent/metadata";
/// The `_meta` key for a block's score; the plain dialect has it beside the text.
pub const SCORE_KEY: &str = "docent/score";

/// Whether answers in this dialect differ from those of the newest session-based revision.
pub fn needs_shaping(dialect: Dialect) -> bool {
    dialect < Dialect::V2025_06_18
}

/// Shapes a whole message: the result of a response, the method and the parameters of a notification.
pub fn shape_message(dialect: Dialect, message: &mut Value) {
    if let Some(result) = message.get_mut("result") {
        shape(dialect, result);
        return;
    }
    match (dialect, message.get("method").and_then(Value::as_str)) {
        (Dialect::V2024_11_05, Some("notifications/progress")) => {
            if let Some(Value::Object(params)) = message.get_mut("params") {
                params.remove("message");
            }
        }
        // The name it had before there were revisions.
        (Dialect::Plain, Some("notifications/resources/updated")) => {
            message["method"] = "resources/updated".into();
        }
        _ => {}
    }
}

/// Shapes the result of a request.
pub fn shape(dialect: Dialect, result: &mut Value) {
    if !needs_shaping(dialect) {
        return;
    }
    let Value::Object(result) = result else { return };
    let is_plain = dialect.is_plain();
    for list in ["tools", "resources", "resourceTemplates", "prompts"] {
        for item in objects(result.get_mut(list)) {
            if is_plain { alias(item) } else { strip_listed(dialect, item) }
        }
    }
    for item in objects(result.get_mut("contents")) {
        if is_plain {
            alias(item);
        }
    }
    for item in objects(result.get_mut("content")) {
        shape_block(dialect, item);
    }
    for message in objects(result.get_mut("messages")) {
        if let Some(Value::Object(content)) = message.get_mut("content") {
            shape_block(dialect, content);
        }
    }
    if is_plain {
        add_error(result);
        alias(result);
    } else {
        strip(result, &["structuredContent"]);
        if let Some(Value::Object(capabilities)) = result.get_mut("capabilities")
            && dialect == Dialect::V2024_11_05
        {
            strip(capabilities, &["completions"]);
        }
        if let Some(Value::Object(info)) = result.get_mut("serverInfo") {
            strip(info, &["title", "description", "icons", "websiteUrl"]);
        }
    }
}

/// One piece of a plain answer that is sent in pieces; the last one carries `false`.
pub fn partial(id: &Id, content: &Value) -> Value {
    let mut result = json!({ "content": content, "partial": true });
    shape(Dialect::Plain, &mut result);
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn strip(object: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        object.remove(*name);
    }
}

fn strip_listed(dialect: Dialect, item: &mut Map<String, Value>) {
    strip(item, &["title", "outputSchema", "icons", "execution", "_meta"]);
    // Annotations of resources are older than those of tools.
    if dialect == Dialect::V2024_11_05 && item.contains_key("inputSchema") {
        item.remove("annotations");
    }
}

fn shape_block(dialect: Dialect, block: &mut Map<String, Value>) {
    lift_meta(dialect, block);
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    if kind == "resource_link" && !dialect.is_plain() {
        let text =
            |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, uri) = (text("name"), text("uri"));
        *block = text_block(&format!("{name}: {uri}"));
    } else if kind == "audio" && dialect == Dialect::V2024_11_05 {
        let mime = block.get("mimeType").and_then(Value::as_str).unwrap_or_default().to_owned();
        *block = text_block(&format!("Audio ({mime}) is not supported by this protocol version."));
    }
    if !dialect.is_plain() {
        return;
    }
    alias(block);
    if let Some(Value::Object(resource)) = block.get_mut("resource") {
        alias(resource);
    }
}

/// Moves metadata and score beside the text in plain content; older revisions have no place for them.
fn lift_meta(dialect: Dialect, block: &mut Map<String, Value>) {
    let Some(Value::Object(meta)) = block.remove("_meta") else { return };
    if !dialect.is_plain() {
        return;
    }
    for (name, value) in meta {
        match name.as_str() {
            METADATA_KEY => block.insert("metadata".into(), value),
            SCORE_KEY => block.insert("score".into(), value),
            _ => None,
        };
    }
}

/// Puts the reason of a failure in `error`, beside `content`, which repeats it as text.
fn add_error(result: &mut Map<String, Value>) {
    if result.get("isError") != Some(&Value::Bool(true)) {
        return;
    }
    let reason = result
        .get("structuredContent")
        .and_then(|structured| structured.pointer("/error/message"))
        .or_else(|| result.get("content").and_then(|content| content.pointer("/0/text")))
        .cloned();
    if let Some(reason) = reason {
        result.insert("error".into(), reason);
    }
}

fn text_block(text: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), "text".into()), ("text".to_owned(), text.into())])
}

/// Adds the `snake_case` spelling beside each camelCase one known to clients of the plain dialect. Output schemas and
/// structured content are newer, and too long to be sent twice.
fn alias(object: &mut Map<String, Value>) {
    const SPELLINGS: [(&str, &str); 6] = [
        ("inputSchema", "input_schema"),
        ("isError", "is_error"),
        ("mimeType", "mime_type"),
        ("nextCursor", "next_cursor"),
        ("uriTemplate", "uri_template"),
        ("resourceTemplates", "resource_templates"),
    ];
    for (camel, snake) in SPELLINGS {
        if let Some(value) = object.get(camel).cloned() {
            object.insert(snake.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, mut result: Value, want: &Value) {
        shape(dialect, &mut result);
        assert_eq!(&result, want, "{}", dialect.version());
    }

    #[test]
    fn plain_lists_have_both_spellings() {
        check(
            Dialect::Plain,
            json!({"tools": [{"name": "a", "inputSchema": {"mimeType": 1}, "outputSchema": {}}]}),
            &json!({"tools": [{"name": "a", "inputSchema": {"mimeType": 1}, "input_schema": {"mimeType": 1}, "outputSchema": {}}]}),
        );
        check(
            Dialect::Plain,
            json!({"resources": [{"uri": "u", "mimeType": "m"}]}),
            &json!({"resources": [{"uri": "u", "mimeType": "m", "mime_type": "m"}]}),
        );
    }

    #[test]
    fn plain_content_carries_metadata_and_score() {
        check(
            Dialect::Plain,
            json!({"content": [{"type": "text", "text": "t", "_meta": {"docent/metadata": {"source": "s"}, "docent/score": 0.5}}], "isError": false}),
            &json!({"content": [{"type": "text", "text": "t", "metadata": {"source": "s"}, "score": 0.5}], "isError": false, "is_error": false}),
        );
    }

    #[test]
    fn a_plain_failure_has_its_reason_in_error_and_in_content() {
        check(
            Dialect::Plain,
            json!({"content": [{"type": "text", "text": "Error: Document not found"}], "isError": true, "structuredContent": {"error": {"message": "Document not found"}}}),
            &json!({"content": [{"type": "text", "text": "Error: Document not found"}], "isError": true, "is_error": true, "error": "Document not found",
                    "structuredContent": {"error": {"message": "Document not found"}}}),
        );
    }

    #[test]
    fn older_revisions_get_what_they_know() {
        let listed = json!({"tools": [{"name": "a", "title": "A", "inputSchema": {}, "outputSchema": {}, "annotations": {}}]});
        check(
            Dialect::V2024_11_05,
            listed.clone(),
            &json!({"tools": [{"name": "a", "inputSchema": {}}]}),
        );
        check(
            Dialect::V2025_03_26,
            listed.clone(),
            &json!({"tools": [{"name": "a", "inputSchema": {}, "annotations": {}}]}),
        );
        check(Dialect::V2025_06_18, listed.clone(), &listed);
        let answer = json!({"content": [{"type": "resource_link", "name": "part 2", "uri": "result://x/2"}], "structuredContent": {}, "isError": false});
        check(
            Dialect::V2024_11_05,
            answer.clone(),
            &json!({"content": [{"type": "text", "text": "part 2: result://x/2"}], "isError": false}),
        );
        check(Dialect::V2025_11_25, answer.clone(), &answer);
    }

    #[test]
    fn a_plain_update_has_its_older_name() {
        let name = |dialect| {
            let mut message = json!({"method": "notifications/resources/updated", "params": {}});
            shape_message(dialect, &mut message);
            message["method"].as_str().unwrap().to_owned()
        };
        assert_eq!(name(Dialect::Plain), "resources/updated");
        assert_eq!(name(Dialect::V2024_11_05), "notifications/resources/updated");
    }

    #[test]
    fn a_partial_answer_says_so() {
        let got = partial(&Id::Number(5), &json!([{"type": "text", "text": "const foo = "}]));
        assert_eq!(
            got,
            json!({"jsonrpc": "2.0", "id": 5, "result": {"content": [{"type": "text", "text": "const foo = "}], "partial": true}})
        );
    }
}
