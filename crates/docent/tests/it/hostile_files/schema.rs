//! Arguments of a tool that it can be called with, made from its schema.

use serde_json::{Map, Value, json};

/// An argument that takes free text, or a list of it.
#[derive(Debug)]
pub(super) struct PathArgument {
    /// The keys that lead to it.
    keys: Vec<String>,
    is_list: bool,
    description: String,
}

impl PathArgument {
    /// Its name, with the objects that it lies in.
    pub(super) fn name(&self) -> String {
        self.keys.join(".")
    }

    /// Whether its name or its description is that of a path.
    pub(super) fn is_path(&self) -> bool {
        let name = self.keys.last().map(|name| name.to_lowercase()).unwrap_or_default();
        is_path(&name, &self.description)
    }
}

fn is_path(name: &str, description: &str) -> bool {
    let description = description.to_lowercase();
    ["path", "file", "folder", "dir", "root"].iter().any(|word| name.contains(word))
        || ["path", "folder", "directory"].iter().any(|word| description.contains(word))
}

/// A tool's schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolSchema<'a> {
    tool: &'a str,
    root: &'a Value,
}

impl<'a> ToolSchema<'a> {
    pub(super) fn of(tool: &'a Value) -> Self {
        Self { tool: tool["name"].as_str().unwrap(), root: &tool["inputSchema"] }
    }

    /// Every argument that takes free text. One that looks like a path and has a shape that is not known here fails the
    /// test: nothing would try it.
    pub(super) fn slots(self) -> Vec<PathArgument> {
        let mut slots = Vec::new();
        self.collect(self.root, &mut Vec::new(), &mut slots);
        slots
    }

    fn collect(self, object: &'a Value, keys: &mut Vec<String>, slots: &mut Vec<PathArgument>) {
        let Some(properties) = object["properties"].as_object() else { return };
        for (name, raw) in properties {
            keys.push(name.clone());
            let schema = self.resolve(raw);
            let description = raw["description"].as_str().or(schema["description"].as_str());
            let description = description.unwrap_or_default().to_owned();
            let is_text = |schema: &Value| kind(schema) == "string" && !is_closed(schema);
            let mut add = |is_list| {
                slots.push(PathArgument {
                    keys: keys.clone(),
                    is_list,
                    description: description.clone(),
                });
            };
            match kind(schema) {
                "string" if is_text(schema) => add(false),
                "array" if is_text(self.resolve(&schema["items"])) => add(true),
                "object" => self.collect(schema, keys, slots),
                "string" | "integer" | "number" | "boolean" => {}
                other => {
                    let items = self.resolve(&schema["items"]);
                    let is_harmless = other == "array" && is_closed(items) || is_closed(schema);
                    assert!(
                        is_harmless || !is_path(&name.to_lowercase(), &description),
                        "{}: the path argument {} can't be filled: teach this test its shape {schema}",
                        self.tool,
                        keys.join("."),
                    );
                }
            }
            keys.pop();
        }
    }

    /// The smallest arguments that the schema takes.
    pub(super) fn arguments(self) -> Value {
        self.sample("", self.root)
    }

    /// The same, with a text in one of its slots.
    pub(super) fn with(self, slot: &PathArgument, text: &str) -> Value {
        let mut arguments = self.arguments();
        let value = if slot.is_list { json!([text]) } else { json!(text) };
        let mut at = &mut arguments;
        for key in &slot.keys {
            at = at.as_object_mut().unwrap().entry(key.clone()).or_insert_with(|| json!({}));
        }
        *at = value;
        arguments
    }

    fn sample(self, name: &str, raw: &'a Value) -> Value {
        let schema = self.resolve(raw);
        if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
            return first.clone();
        }
        if let Some(value) = schema["oneOf"][0].get("const").or(schema.get("const")) {
            return value.clone();
        }
        match kind(schema) {
            "string" if is_path(name, "") => json!("."),
            // A symbol of the project, and a word of its manual.
            "string" => json!("plain"),
            "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
            "boolean" => json!(false),
            "array" => json!([self.sample(name, &schema["items"])]),
            "object" => {
                let required = schema["required"].as_array().into_iter().flatten();
                let names = required.filter_map(Value::as_str);
                let filled = names.map(|name| {
                    let property = &schema["properties"][name];
                    (name.to_owned(), self.sample(&name.to_lowercase(), property))
                });
                Value::Object(filled.collect::<Map<_, _>>())
            }
            _ => panic!("{}: {name} is required and can't be filled: {schema}", self.tool),
        }
    }

    /// The schema that a reference leads to, without the choice of null.
    fn resolve(self, schema: &'a Value) -> &'a Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.root.pointer(reference.trim_start_matches('#'));
            return self.resolve(target.unwrap_or_else(|| panic!("{}: {reference}", self.tool)));
        }
        for choice in ["anyOf", "oneOf"] {
            let choices = schema[choice].as_array().into_iter().flatten();
            let mut others = choices.filter(|one| one["type"] != "null");
            if let (Some(only), None) = (others.next(), others.next()) {
                return self.resolve(only);
            }
        }
        schema
    }
}

/// The type of a value; of several, the first that is not null.
fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(name) => name,
        Value::Array(all) => {
            all.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or_default()
        }
        _ => "",
    }
}

/// Whether only listed values are taken.
fn is_closed(schema: &Value) -> bool {
    let choices = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    schema.get("enum").is_some()
        || schema.get("const").is_some()
        || choices.is_some_and(|all| all.iter().all(is_closed))
}
