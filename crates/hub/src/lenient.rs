//! Normalizes messages of lenient servers: fields in `snake_case`, notifications without their prefix, resources that
//! are not wrapped.

use serde_json::{Map, Value, json};

type Aliases = &'static [(&'static str, &'static str)];

const RESULT_ALIASES: Aliases = &[
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

const ANNOTATION_ALIASES: Aliases = &[
    ("read_only_hint", "readOnlyHint"),
    ("destructive_hint", "destructiveHint"),
    ("idempotent_hint", "idempotentHint"),
    ("open_world_hint", "openWorldHint"),
    ("last_modified", "lastModified"),
];

/// Parameters of notifications.
const NOTIFICATION_ALIASES: Aliases = &[
    ("progress_token", "progressToken"),
    ("request_id", "requestId"),
    ("elicitation_id", "elicitationId"),
];

/// Parameters of a server's requests.
const REQUEST_ALIASES: Aliases = &[
    ("max_tokens", "maxTokens"),
    ("system_prompt", "systemPrompt"),
    ("stop_sequences", "stopSequences"),
    ("include_context", "includeContext"),
    ("tool_choice", "toolChoice"),
    ("model_preferences", "modelPreferences"),
    ("requested_schema", "requestedSchema"),
    ("elicitation_id", "elicitationId"),
];

const PREFERENCE_ALIASES: Aliases = &[
    ("cost_priority", "costPriority"),
    ("speed_priority", "speedPriority"),
    ("intelligence_priority", "intelligencePriority"),
];

/// Notifications that some servers send without `notifications/`.
const UNPREFIXED_NOTIFICATIONS: [&str; 8] = [
    "resources/updated",
    "resources/list_changed",
    "tools/list_changed",
    "prompts/list_changed",
    "message",
    "progress",
    "cancelled",
    "elicitation/complete",
];

/// Normalizes one message. Fields that already have the protocol's names stay as they are.
pub(crate) fn normalize_message(message: &mut Value) {
    let Value::Object(fields) = message else { return };
    if let Some(Value::String(method)) = fields.get_mut("method") {
        if UNPREFIXED_NOTIFICATIONS.contains(&method.as_str()) {
            *method = format!("notifications/{method}");
        }
        let method = method.clone();
        if let Some(Value::Object(params)) = fields.get_mut("params") {
            normalize_params(&method, params);
        }
        return;
    }
    let Some(Value::Object(result)) = fields.get_mut("result") else { return };
    rename(result, RESULT_ALIASES);
    for list in
        ["tools", "resources", "resourceTemplates", "resource_templates", "content", "contents"]
    {
        for item in objects(result.get_mut(list)) {
            rename_item(item);
        }
    }
    for block in objects(result.get_mut("content")) {
        wrap_resource(block);
    }
    add_error_text(result);
    if let Some(templates) = result.remove("resource_templates") {
        result.entry("resourceTemplates").or_insert(templates);
    }
}

fn normalize_params(method: &str, params: &mut Map<String, Value>) {
    match method {
        "notifications/progress"
        | "notifications/cancelled"
        | "notifications/elicitation/complete" => {
            rename(params, NOTIFICATION_ALIASES);
        }
        "elicitation/create" => rename(params, REQUEST_ALIASES),
        "sampling/createMessage" => {
            rename(params, REQUEST_ALIASES);
            if let Some(Value::Object(preferences)) = params.get_mut("modelPreferences") {
                rename(preferences, PREFERENCE_ALIASES);
            }
            for tool in objects(params.get_mut("tools")) {
                rename_item(tool);
            }
            for message in objects(params.get_mut("messages")) {
                // One block, or several.
                for block in objects(message.get_mut("content")) {
                    rename_item(block);
                }
            }
        }
        _ => {}
    }
}

/// The objects of a list, or the single object in its place.
fn objects(value: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let all: Vec<&mut Value> = match value {
        Some(Value::Array(all)) => all.iter_mut().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    all.into_iter().filter_map(Value::as_object_mut)
}

/// Renames the fields of a list item: a tool, a resource, a block.
fn rename_item(item: &mut Map<String, Value>) {
    rename(item, RESULT_ALIASES);
    if let Some(Value::Object(annotations)) = item.get_mut("annotations") {
        rename(annotations, ANNOTATION_ALIASES);
    }
    if let Some(Value::Object(resource)) = item.get_mut("resource") {
        rename(resource, RESULT_ALIASES);
    }
}

/// Moves the fields of an unwrapped resource under `resource`, where the protocol has them.
fn wrap_resource(block: &mut Map<String, Value>) {
    let has_body = block.contains_key("text") || block.contains_key("blob");
    let is_flat = block.get("type").and_then(Value::as_str) == Some("resource")
        && !block.contains_key("resource")
        && block.get("uri").is_some_and(Value::is_string)
        && has_body;
    if !is_flat {
        return;
    }
    let mut resource = std::mem::take(block);
    for name in ["type", "annotations", "_meta"] {
        if let Some(value) = resource.remove(name) {
            block.insert(name.to_owned(), value);
        }
    }
    block.insert("resource".to_owned(), resource.into());
}

/// Adds the reason of a failed call to its content, where models look for it and some servers omit it.
fn add_error_text(result: &mut Map<String, Value>) {
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    let Some(reason) = result.get("error").and_then(Value::as_str).filter(|_| is_error) else {
        return;
    };
    let text = json!({"type": "text", "text": reason});
    let content = result.entry("content").or_insert_with(|| json!([]));
    if let Value::Array(blocks) = content
        && !blocks.iter().any(|block| block["text"].as_str().is_some_and(|text| !text.is_empty()))
    {
        blocks.insert(0, text);
    }
}

fn rename(fields: &mut Map<String, Value>, aliases: Aliases) {
    // Most objects have no such field.
    if !fields.keys().any(|name| name.contains('_') && name != "_meta") {
        return;
    }
    for (loose, strict) in aliases {
        if let Some(value) = fields.remove(*loose) {
            fields.entry(*strict).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenient_fields_are_normalized() {
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
                json!({"id": 1, "result": {"content": [
                    {"type": "resource", "uri": "a:b", "mime_type": "a/b", "text": "t", "annotations": {"priority": 1}},
                    {"type": "resource", "uri": "a:b"}, {"type": "resource", "resource": {"uri": "a:b", "text": "t"}},
                ]}}),
                json!({"id": 1, "result": {"content": [
                    {"type": "resource", "annotations": {"priority": 1}, "resource": {"uri": "a:b", "mimeType": "a/b", "text": "t"}},
                    {"type": "resource", "uri": "a:b"}, {"type": "resource", "resource": {"uri": "a:b", "text": "t"}},
                ]}}),
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
            (
                json!({"id": 1, "result": {"tools": [{"name": "a", "annotations": {"read_only_hint": true}}]}}),
                json!({"id": 1, "result": {"tools": [{"name": "a", "annotations": {"readOnlyHint": true}}]}}),
            ),
            (
                json!({"method": "progress", "params": {"progress_token": 3, "progress": 1}}),
                json!({"method": "notifications/progress", "params": {"progressToken": 3, "progress": 1}}),
            ),
            (
                json!({"method": "notifications/cancelled", "params": {"request_id": "a"}}),
                json!({"method": "notifications/cancelled", "params": {"requestId": "a"}}),
            ),
            (
                json!({"id": 4, "method": "sampling/createMessage", "params": {
                    "max_tokens": 5, "system_prompt": "s", "model_preferences": {"cost_priority": 1},
                    "messages": [{"role": "user", "content": {"type": "image", "mime_type": "a/b"}}],
                    "tools": [{"name": "t", "input_schema": {"max_tokens": 1}}], "metadata": {"max_tokens": 1},
                }}),
                json!({"id": 4, "method": "sampling/createMessage", "params": {
                    "maxTokens": 5, "systemPrompt": "s", "modelPreferences": {"costPriority": 1},
                    "messages": [{"role": "user", "content": {"type": "image", "mimeType": "a/b"}}],
                    "tools": [{"name": "t", "inputSchema": {"max_tokens": 1}}], "metadata": {"max_tokens": 1},
                }}),
            ),
            (
                json!({"id": 4, "method": "elicitation/create", "params": {"requested_schema": {"properties": {"request_id": {}}}}}),
                json!({"id": 4, "method": "elicitation/create", "params": {"requestedSchema": {"properties": {"request_id": {}}}}}),
            ),
        ];
        check(cases);
    }

    #[test]
    fn the_reason_of_a_failure_is_in_its_content() {
        check([
            (
                json!({"id": 1, "result": {"content": [], "is_error": true, "error": "it broke"}}),
                json!({"id": 1, "result": {
                    "content": [{"type": "text", "text": "it broke"}], "isError": true, "error": "it broke",
                }}),
            ),
            (
                json!({"id": 1, "result": {"isError": true, "error": "it broke"}}),
                json!({"id": 1, "result": {
                    "content": [{"type": "text", "text": "it broke"}], "isError": true, "error": "it broke",
                }}),
            ),
            (
                json!({"id": 1, "result": {"content": [{"type": "text", "text": "t"}], "isError": true, "error": "e"}}),
                json!({"id": 1, "result": {"content": [{"type": "text", "text": "t"}], "isError": true, "error": "e"}}),
            ),
            (
                json!({"id": 1, "result": {"content": [], "error": "e"}}),
                json!({"id": 1, "result": {"content": [], "error": "e"}}),
            ),
        ]);
    }

    fn check<const N: usize>(cases: [(Value, Value); N]) {
        for (mut given, want) in cases {
            normalize_message(&mut given);
            assert_eq!(given, want);
        }
    }
}
