//! Headers that follow from a message: its revision, its method, its target, and the arguments that a tool's schema
//! mirrors in headers.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Key in `_meta` with the revision of a message without a session.
pub const VERSION_META_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The first revision without sessions, whose messages are described by headers.
pub const FIRST_STATELESS_REVISION: &str = "2026-07-28";

pub(crate) const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
const PARAMETER_HEADER_PREFIX: &str = "Mcp-Param-";
const HEADER_ANNOTATION: &str = "x-mcp-header";

const ENCODED_START: &str = "=?base64?";
const ENCODED_END: &str = "?=";

/// Returns the revision that a message names.
pub(crate) fn revision(message: &Value) -> Option<&str> {
    message.get("params")?.get("_meta")?.get(VERSION_META_KEY)?.as_str()
}

/// Whether a message belongs to a revision without sessions.
pub(crate) fn is_stateless(message: &Value, agreed: Option<&str>) -> bool {
    revision(message).or(agreed).is_some_and(|version| version >= FIRST_STATELESS_REVISION)
}

/// Returns the headers that describe `message`.
pub(crate) fn describe_message(message: &Value, agreed: Option<&str>) -> HeaderMap {
    let mut fields = HeaderMap::new();
    let method = message.get("method").and_then(Value::as_str);
    let version = revision(message).or(agreed.filter(|_| method != Some("initialize")));
    if let Some(Ok(value)) = version.map(HeaderValue::from_str) {
        fields.insert(VERSION_HEADER, value);
    }
    let Some(method) = method.filter(|_| is_stateless(message, agreed)) else {
        return fields;
    };
    if let Ok(value) = HeaderValue::from_str(&encode_value(method)) {
        fields.insert(METHOD_HEADER, value);
    }
    let named = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return fields,
    };
    let named = message.get("params").and_then(|params| params.get(named)).and_then(Value::as_str);
    if let Some(Ok(value)) = named.map(|named| HeaderValue::from_str(&encode_value(named))) {
        fields.insert(NAME_HEADER, value);
    }
    fields
}

/// Encodes a value for a header: unchanged if it is plain, otherwise in base64 with markers.
pub fn encode_value(value: &str) -> String {
    let outer_space = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    let looks_encoded = value.starts_with(ENCODED_START) && value.ends_with(ENCODED_END);
    if plain && !outer_space && !looks_encoded {
        value.to_owned()
    } else {
        format!("{ENCODED_START}{}{ENCODED_END}", BASE64_STANDARD.encode(value))
    }
}

/// Returns the headers that a tool's schema requires for `arguments`: `Mcp-Param-…` for each property with
/// `x-mcp-header`.
pub fn argument_headers(input_schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut open = vec![(input_schema, arguments)];
    while let Some((schema, value)) = open.pop() {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            continue;
        };
        for (name, property) in properties {
            let Some(value) = value.get(name) else { continue };
            let field = property.get(HEADER_ANNOTATION).and_then(Value::as_str);
            let text = match value {
                Value::String(text) => Some(text.clone()),
                Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            };
            if let (Some(field), Some(text)) = (field.filter(|field| is_token(field)), text) {
                fields.push((format!("{PARAMETER_HEADER_PREFIX}{field}"), encode_value(&text)));
            }
            open.push((property, value));
        }
    }
    fields
}

/// Checks the header annotations of a tool's schema. A tool with invalid ones must not be offered or called.
pub fn check_schema(input_schema: &Value) -> Result<(), String> {
    let Some(schema) = input_schema.as_object() else { return Ok(()) };
    if schema.contains_key(HEADER_ANNOTATION) {
        return Err(format!("{HEADER_ANNOTATION} is for properties, not for the whole schema"));
    }
    let mut seen = HashSet::new();
    check_properties(schema, true, &mut seen)
}

/// The recursion is bounded: `serde_json` reads at most 128 levels.
fn check_properties(
    schema: &Map<String, Value>,
    reachable: bool,
    seen: &mut HashSet<String>,
) -> Result<(), String> {
    for (key, value) in schema {
        match key.as_str() {
            "properties" => {
                for (name, property) in value.as_object().into_iter().flatten() {
                    let Some(property) = property.as_object() else { continue };
                    check_annotation(name, property, reachable, seen)?;
                    check_properties(property, reachable, seen)?;
                }
            }
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                for (name, part) in value.as_object().into_iter().flatten() {
                    check_part(name, part, seen)?;
                }
            }
            // Values, not schemas.
            "default" | "const" | "enum" | "examples" => {}
            _ => check_part(key, value, seen)?,
        }
    }
    Ok(())
}

/// Checks a subschema that arguments are not reached through by names alone, where annotations are invalid.
fn check_part(name: &str, part: &Value, seen: &mut HashSet<String>) -> Result<(), String> {
    match part {
        Value::Object(part) => {
            check_annotation(name, part, false, seen)?;
            check_properties(part, false, seen)
        }
        Value::Array(parts) => parts.iter().try_for_each(|part| check_part(name, part, seen)),
        _ => Ok(()),
    }
}

fn check_annotation(
    name: &str,
    property: &Map<String, Value>,
    reachable: bool,
    seen: &mut HashSet<String>,
) -> Result<(), String> {
    let Some(field) = property.get(HEADER_ANNOTATION) else { return Ok(()) };
    let invalid = |why: String| Err(format!("{HEADER_ANNOTATION} of `{name}` {why}"));
    if !reachable {
        return invalid(
            "must be on a property that is reached through `properties` alone".to_owned(),
        );
    }
    let Some(field) = field.as_str().filter(|field| is_token(field)) else {
        return invalid(format!("is {field}, which is not a valid header name"));
    };
    if !seen.insert(field.to_ascii_lowercase()) {
        return invalid(format!("is `{field}`, which another property has too"));
    }
    match property.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(()),
        _ => invalid("is on something other than a string, an integer or a boolean".to_owned()),
    }
}

/// Whether a name is a token of RFC 9110.
fn is_token(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(fits)
}

/// Headers that the transport sets and that can't be configured.
const RESERVED_HEADERS: [&str; 12] = [
    "accept",
    "content-type",
    "content-length",
    "connection",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
    "upgrade",
];

/// Parses configured headers. The error names the header and never shows its value.
pub(crate) fn parse_configured(fields: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is not a valid header name"))?;
        if RESERVED_HEADERS.contains(&parsed.as_str())
            || parsed.as_str().starts_with("sec-websocket-")
        {
            return Err(format!("the header `{name}` is set by the transport; leave it out"));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!("the value of the header `{name}` contains characters that are not allowed")
        })?;
        value.set_sensitive(true);
        map.append(parsed, value);
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_are_described() {
        let check = |message: Value, agreed: Option<&str>, expected: &[(&str, &str)]| {
            let fields = describe_message(&message, agreed);
            let found: Vec<_> = fields
                .iter()
                .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
                .collect();
            assert_eq!(found, expected, "{message}");
        };
        let modern = |method: &str, mut params: Value| {
            params["_meta"] = json!({VERSION_META_KEY: FIRST_STATELESS_REVISION});
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        };
        let version = ("mcp-protocol-version", FIRST_STATELESS_REVISION);
        check(json!({"method": "ping"}), None, &[]);
        check(json!({"method": "initialize"}), Some("2025-11-25"), &[]);
        check(
            json!({"method": "tools/call", "params": {"name": "x"}}),
            Some("2025-11-25"),
            &[("mcp-protocol-version", "2025-11-25")],
        );
        check(json!({"result": {}}), Some("1.0"), &[("mcp-protocol-version", "1.0")]);
        check(modern("tools/list", json!({})), None, &[version, ("mcp-method", "tools/list")]);
        check(
            modern("tools/call", json!({"name": "echo"})),
            Some("2025-06-18"),
            &[version, ("mcp-method", "tools/call"), ("mcp-name", "echo")],
        );
        check(
            modern("resources/read", json!({"uri": "file:///é"})),
            None,
            &[
                version,
                ("mcp-method", "resources/read"),
                ("mcp-name", "=?base64?ZmlsZTovLy/DqQ==?="),
            ],
        );
        check(
            modern("tasks/get", json!({"taskId": "7"})),
            None,
            &[version, ("mcp-method", "tasks/get"), ("mcp-name", "7")],
        );
        check(
            json!({"method": "notifications/progress"}),
            Some(FIRST_STATELESS_REVISION),
            &[version, ("mcp-method", "notifications/progress")],
        );
        check(
            modern("tools/call", json!({"name": 5})),
            None,
            &[version, ("mcp-method", "tools/call")],
        );
    }

    #[test]
    fn values_are_encoded_where_they_must_be() {
        let check = |value: &str, expected: &str| assert_eq!(encode_value(value), expected);
        check("", "");
        check("plain value", "plain value");
        check(" padded", "=?base64?IHBhZGRlZA==?=");
        check("tab\t", "=?base64?dGFiCQ==?=");
        check("a\r\nX: y", "=?base64?YQ0KWDogeQ==?=");
        check("\u{7f}", "=?base64?fw==?=");
        check("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?=");
    }

    #[test]
    fn arguments_become_fields() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "off": {"type": "boolean", "x-mcp-header": "Off"},
            "bad": {"type": "string", "x-mcp-header": "no token"},
            "deep": {"type": "object", "properties": {"in": {"type": "string", "x-mcp-header": "In"}}},
            "free": {"type": "string"},
        }});
        let arguments = json!({"region": "é", "count": 3, "off": false, "bad": "x", "deep": {"in": "y"}, "free": "z"});
        let mut found = argument_headers(&schema, &arguments);
        found.sort();
        let expected = [
            ("Mcp-Param-Count", "3"),
            ("Mcp-Param-In", "y"),
            ("Mcp-Param-Off", "false"),
            ("Mcp-Param-Region", "=?base64?w6k=?="),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(argument_headers(&schema, &json!({"region": null})), []);
        assert_eq!(argument_headers(&json!(true), &json!(1)), []);
    }

    #[test]
    fn schemas_are_checked() {
        let check = |schema: Value, expected: Option<&str>| {
            let found = check_schema(&schema).err();
            match (&found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
                _ => panic!("{schema}: {found:?}"),
            }
        };
        let property = |annotation: Value, kind: &str| json!({"properties": {"a": {"type": kind, "x-mcp-header": annotation}}});
        check(json!({}), None);
        check(json!(true), None);
        check(property(json!("Region"), "string"), None);
        check(property(json!("Region"), "number"), Some("other than"));
        check(property(json!("Region"), "object"), Some("other than"));
        check(property(json!(""), "string"), Some("not a valid header name"));
        check(property(json!("a b"), "string"), Some("not a valid header name"));
        check(property(json!("a:b"), "string"), Some("not a valid header name"));
        check(property(json!(5), "string"), Some("not a valid header name"));
        check(json!({"x-mcp-header": "X"}), Some("whole schema"));
        check(
            json!({"properties": {
                "a": {"type": "string", "x-mcp-header": "X"},
                "b": {"type": "string", "x-mcp-header": "x"},
            }}),
            Some("another"),
        );
        check(
            json!({"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "X"}}}}),
            Some("reached"),
        );
        check(json!({"$defs": {"a": {"type": "string", "x-mcp-header": "X"}}}), Some("reached"));
        check(
            json!({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "X"}}}]}),
            Some("reached"),
        );
        check(json!({"default": {"x-mcp-header": "X"}}), None);
    }

    #[test]
    fn configured_fields_are_checked() {
        let check = |name: &str, value: &str, expected: Option<&str>| {
            let found = parse_configured(&[(name.to_owned(), value.to_owned())]);
            match expected {
                None => assert_eq!(found.unwrap()[name], value),
                Some(expected) => {
                    let error = found.unwrap_err();
                    assert!(error.contains(expected) && !error.contains("secret"), "{error}");
                }
            }
        };
        check("Authorization", "Bearer secret", None);
        check("X-Key", "secret\r\nX: y", Some("characters"));
        check("a b", "secret", Some("not a valid header name"));
        check("Mcp-Session-Id", "secret", Some("transport"));
        check("HOST", "secret", Some("transport"));
        check("Sec-WebSocket-Key", "secret", Some("transport"));
        let map = parse_configured(&[("X".to_owned(), "secret".to_owned())]).unwrap();
        assert!(!format!("{map:?}").contains("secret"));
    }
}
