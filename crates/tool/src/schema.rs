//! Generates JSON Schema from Rust types, in a simple form that every client understands.

use crate::Object;
use schemars::{
    JsonSchema, Schema, generate::SchemaSettings, transform::Transform,
    transform::transform_subschemas,
};
use serde_json::{Value, json};

/// Schema of a tool's arguments.
pub fn argument_schema<T: JsonSchema>() -> Object {
    let mut schema = plain::<T>(SchemaSettings::draft2020_12(), NullTypes::Dropped);
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// Schema of a tool's answer: the type's schema, or the error of a failed call, or that the call was stopped early.
/// Clients validate what they receive, failures included.
pub fn answer_schema<T: JsonSchema>() -> Object {
    let mut schema = plain::<T>(SchemaSettings::draft2020_12().for_serialize(), NullTypes::Kept);
    let promised = schema.remove("required").unwrap_or_else(|| json!([]));
    if let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) {
        properties.entry("partial").or_insert_with(
            || json!({ "type": "boolean", "description": "The call was stopped before it had seen everything." }),
        );
        properties.entry("error").or_insert_with(|| {
            json!({
                "type": "object",
                "description": "Why the tool failed.",
                "properties": {
                    "code": { "type": "integer", "description": "-32000 tool failed, -32001 parse failed, -32002 database, -32003 not found." },
                    "kind": { "type": "string", "description": "The code's name." },
                    "message": { "type": "string", "description": "What went wrong." }
                }
            })
        });
    }
    let ways =
        json!([{ "required": promised }, { "required": ["error"] }, { "required": ["partial"] }]);
    schema.insert("anyOf".into(), ways);
    schema
}

fn plain<T: JsonSchema>(settings: SchemaSettings, nulls: NullTypes) -> Object {
    // Some clients don't follow `$ref`, so every type is inlined.
    let settings = settings.with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    PlainSchema(nulls).transform(&mut schema);
    let mut object = match schema.to_value() {
        Value::Object(object) => object,
        _ => Object::new(),
    };
    object.insert("type".into(), "object".into());
    // The title is a Rust type's name, which is useless to a model.
    object.remove("title");
    object
}

/// Whether null is listed beside a type. An argument may simply be omitted; an answer writes null for a missing value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NullTypes {
    Kept,
    Dropped,
}

/// Writes `enum` instead of one branch per variant, and removes Rust-specific details.
struct PlainSchema(NullTypes);

impl Transform for PlainSchema {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        object.remove("title");
        // The width of an integer is not a format that validators know; its bounds are written out.
        if object.get("format").and_then(Value::as_str).is_some_and(|format| format.contains("int"))
        {
            object.remove("format");
        }
        if self.0 == NullTypes::Dropped {
            drop_null(object);
        }
        collapse_constants(object);
    }
}

fn drop_null(object: &mut Object) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    let Some(Value::Array(branches)) = object.get_mut("anyOf") else { return };
    branches.retain(|b| b.get("type") != Some(&Value::from("null")));
    if let [Value::Object(only)] = branches.as_slice() {
        let only = only.clone();
        object.remove("anyOf");
        for (key, value) in only {
            // The field's description wins over that of its type.
            object.entry(key).or_insert(value);
        }
    }
}

fn collapse_constants(object: &mut Object) {
    let Some(Value::Array(branches)) = object.get("oneOf") else { return };
    let constants: Option<Vec<Value>> =
        branches.iter().map(constants_of).collect::<Option<Vec<_>>>().map(flat);
    if let Some(constants) = constants {
        object.remove("oneOf");
        object.insert("type".into(), "string".into());
        object.insert("enum".into(), constants.into());
    }
}

fn flat(lists: Vec<Vec<Value>>) -> Vec<Value> {
    lists.into_iter().flatten().collect()
}

fn constants_of(branch: &Value) -> Option<Vec<Value>> {
    if branch.get("type") != Some(&Value::from("string")) {
        return None;
    }
    match (branch.get("const"), branch.get("enum")) {
        (Some(constant), _) => Some(vec![constant.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    /// How far to look.
    #[derive(Serialize, Deserialize, JsonSchema, Default)]
    #[serde(rename_all = "lowercase")]
    enum Depth {
        /// A glance.
        Quick,
        /// The usual.
        #[default]
        Standard,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        /// Where.
        #[schemars(length(min = 1))]
        path: String,
        /// How deep.
        #[serde(default)]
        depth: Depth,
        /// More.
        options: Option<Options>,
    }

    #[test]
    fn an_answer_may_contain_null() {
        #[derive(Serialize, JsonSchema)]
        struct SampleAnswer {
            /// Where.
            line: Option<u32>,
            /// What.
            options: Option<Options>,
        }
        let schema = Value::Object(answer_schema::<SampleAnswer>());
        assert_eq!(schema.pointer("/properties/line/type"), Some(&json!(["integer", "null"])));
        assert_eq!(schema.pointer("/anyOf/1/required"), Some(&json!(["error"])));
        assert_eq!(schema.get("required"), None);
        let options = schema.pointer("/properties/options").unwrap().to_string();
        assert!(options.contains("null"), "{options}");
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Options {
        /// At most this many.
        limit: Option<u8>,
    }

    #[test]
    fn a_schema_is_plain() {
        let schema = Value::Object(argument_schema::<Args>());
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where.", "minLength": 1},
                    "depth": {"type": "string", "description": "How deep.", "enum": ["quick", "standard"], "default": "standard"},
                    "options": {
                        "type": "object", "description": "More.",
                        "properties": {"limit": {"type": "integer", "description": "At most this many.", "minimum": 0, "maximum": 255}}
                    }
                },
                "required": ["path"],
                "additionalProperties": false
            })
        );
    }
}
