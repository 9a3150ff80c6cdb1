//! Checks which items of a server's lists can be used. Others are left out one by one and reported.

use super::lists::json_bytes;
use docent_dial::headers;
use docent_tool::Object;
use serde_json::Value;

/// Maximum nesting of an item. A message that is nested too deeply is read without its deepest levels; this limit
/// leaves out items near them.
const MAX_LEVELS: usize = 64;
/// Maximum bytes of an item.
const MAX_ITEM_BYTES: usize = 1 << 20;

/// Checks a JSON Schema. The error describes what is wrong.
pub type SchemaCheck = fn(&Value) -> Result<(), String>;

/// Checks an item of any list.
pub(super) fn check_item(item: &Object) -> Result<(), String> {
    if nesting_depth(item.values()) > MAX_LEVELS {
        return Err(format!("its definition is nested more than {MAX_LEVELS} levels deep"));
    }
    let bytes = json_bytes(item);
    if bytes > MAX_ITEM_BYTES {
        return Err(format!("its definition has {bytes} bytes; the limit is {MAX_ITEM_BYTES}"));
    }
    Ok(())
}

/// Checks a tool that passed [`check_item`].
pub(super) fn check_tool(tool: &Object, check: SchemaCheck) -> Result<(), String> {
    for name in ["inputSchema", "outputSchema"] {
        let Some(schema) = tool.get(name).filter(|schema| !schema.is_null()) else { continue };
        let Some(fields) = schema.as_object() else {
            return Err(format!("its {name} is not an object"));
        };
        let is_object = |kind: &Value| match kind {
            Value::String(kind) => kind == "object",
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
            _ => false,
        };
        if name == "inputSchema" && !fields.get("type").is_none_or(is_object) {
            return Err(format!("its {name} must have the type \"object\""));
        }
        check(schema).map_err(|why| format!("its {name} can't be used: {why}"))?;
    }
    headers::check_schema(tool.get("inputSchema").unwrap_or(&Value::Null))
}

/// How deeply values are nested. The parser bounds it.
fn nesting_depth<'a>(values: impl Iterator<Item = &'a Value>) -> usize {
    let of = |value: &Value| match value {
        Value::Array(items) => nesting_depth(items.iter()),
        Value::Object(fields) => nesting_depth(fields.values()),
        _ => 0,
    };
    1 + values.map(of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: &Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn items_are_bounded_in_depth_and_bytes() {
        let deep = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
        assert_eq!(nesting_depth(object(&deep(MAX_LEVELS)).values()), MAX_LEVELS);
        check_item(&object(&deep(MAX_LEVELS))).unwrap();
        assert!(check_item(&object(&deep(MAX_LEVELS + 1))).unwrap_err().contains("64 levels"));
        let large = |bytes: usize| object(&json!({"a": "x".repeat(bytes)}));
        check_item(&large(MAX_ITEM_BYTES - 100)).unwrap();
        assert!(check_item(&large(MAX_ITEM_BYTES)).unwrap_err().contains("the limit is 1048576"));
    }

    #[test]
    fn a_tool_has_schemas_that_can_be_used() {
        let odd: SchemaCheck = |schema| match schema.get("odd") {
            Some(_) => Err("it is odd".into()),
            None => Ok(()),
        };
        for (tool, want) in [
            (json!({"name": "a"}), ""),
            (json!({"inputSchema": null, "outputSchema": {"type": "array"}}), ""),
            (json!({"inputSchema": {"properties": {}}}), ""),
            (json!({"inputSchema": {"type": ["object", "null"]}}), ""),
            (json!({"inputSchema": true}), "its inputSchema is not an object"),
            (
                json!({"inputSchema": {"type": "string"}}),
                "its inputSchema must have the type \"object\"",
            ),
            (json!({"inputSchema": {"type": 7}}), "its inputSchema must have the type \"object\""),
            (json!({"inputSchema": {"odd": 1}}), "its inputSchema can't be used: it is odd"),
            (json!({"outputSchema": {"odd": 1}}), "its outputSchema can't be used: it is odd"),
        ] {
            let found = check_tool(&object(&tool), odd).err().unwrap_or_default();
            assert_eq!(found, want, "{tool}");
        }
    }
}
