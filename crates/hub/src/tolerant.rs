//! Looser dialects of the field, heard as what they mean: fields in `snake_case`, notifications without their prefix.

use serde_json::{Map, Value};

const ALIASES: [(&str, &str); 9] = [
    ("input_schema", "inputSchema"),
    ("output_schema", "outputSchema"),
    ("is_error", "isError"),
    ("mime_type", "mimeType"),
    ("structured_content", "structuredContent"),
    ("next_cursor", "nextCursor"),
    ("uri_template", "uriTemplate"),
    ("protocol_version", "protocolVersion"),
    ("server_info", "serverInfo"),
];

/// Notifications that some servers send without `notifications/`.
const BARE: [&str; 7] = [
    "resources/updated",
    "resources/list_changed",
    "tools/list_changed",
    "prompts/list_changed",
    "message",
    "progress",
    "cancelled",
];

/// Brings one message into the protocol's words. What is there in those words already stays as it is.
pub(crate) fn message(message: &mut Value) {
    let Value::Object(fields) = message else { return };
    if let Some(Value::String(method)) = fields.get_mut("method") {
        if BARE.contains(&method.as_str()) {
            *method = format!("notifications/{method}");
        }
        return;
    }
    let Some(Value::Object(result)) = fields.get_mut("result") else { return };
    rename(result);
    for list in
        ["tools", "resources", "resourceTemplates", "resource_templates", "content", "contents"]
    {
        for item in result.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(item) = item {
                rename(item);
                if let Some(Value::Object(resource)) = item.get_mut("resource") {
                    rename(resource);
                }
            }
        }
    }
    if let Some(templates) = result.remove("resource_templates") {
        result.entry("resourceTemplates").or_insert(templates);
    }
}

fn rename(fields: &mut Map<String, Value>) {
    // Most objects have no such field: then nothing is touched.
    if !fields.keys().any(|name| name.contains('_') && name != "_meta") {
        return;
    }
    for (loose, strict) in ALIASES {
        if let Some(value) = fields.remove(loose) {
            fields.entry(strict).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn loose_words_are_heard_as_what_they_mean() {
        let cases = [
            (
                json!({"id": 1, "result": {"is_error": true, "content": [{"type": "image", "mime_type": "a/b"}]}}),
                json!({"id": 1, "result": {"isError": true, "content": [{"type": "image", "mimeType": "a/b"}]}}),
            ),
            (
                json!({"id": 1, "result": {"tools": [{"name": "a", "input_schema": {"x_y": 1}}]}}),
                json!({"id": 1, "result": {"tools": [{"name": "a", "inputSchema": {"x_y": 1}}]}}),
            ),
            (
                json!({"id": 1, "result": {"isError": false, "is_error": true}}),
                json!({"id": 1, "result": {"isError": false}}),
            ),
            (
                json!({"method": "resources/updated", "params": {"uri": "a:b"}}),
                json!({"method": "notifications/resources/updated", "params": {"uri": "a:b"}}),
            ),
            (
                json!({"id": 4, "method": "sampling/createMessage"}),
                json!({"id": 4, "method": "sampling/createMessage"}),
            ),
        ];
        for (mut given, want) in cases {
            message(&mut given);
            assert_eq!(given, want);
        }
    }
}
