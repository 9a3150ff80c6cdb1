//! Schemas: their names, and outlines of their properties.

use super::{field, line, scalar};
use serde_json::Value;
use std::borrow::Cow;

/// Maximum depth of outlined properties; deeper ones are only named.
const MAX_PROPERTY_DEPTH: usize = 3;
/// Maximum lines of one outline.
const MAX_OUTLINE_LINES: usize = 60;
/// Maximum schemas visited for one outline.
const MAX_VISITED_SCHEMAS: usize = 1000;
/// Maximum chained references.
const MAX_REFERENCE_HOPS: usize = 16;

/// Schemas of one file.
pub(super) struct Schemas<'a> {
    pub(super) api: &'a Value,
}

impl<'a> Schemas<'a> {
    /// Resolves a reference inside this file; other values are returned unchanged.
    pub(super) fn resolve(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..MAX_REFERENCE_HOPS {
            let target = value.get("$ref").and_then(Value::as_str);
            let Some(place) = target.and_then(|target| target.strip_prefix('#')) else { break };
            match self.api.pointer(&place.replace("%7B", "{").replace("%7D", "}")) {
                Some(next) => value = next,
                None => break,
            }
        }
        value
    }

    /// What a schema is called, or what it is where it has no name.
    pub(super) fn name(&self, schema: &Value) -> String {
        self.named(schema, 0)
    }

    fn named(&self, schema: &Value, depth: usize) -> String {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            return target.rsplit(['/', '#']).next().unwrap_or(target).replace("~1", "/");
        }
        if depth > MAX_PROPERTY_DEPTH {
            return "any".to_owned();
        }
        for (key, word) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
            let Some(parts) = schema.get(key).and_then(Value::as_array) else { continue };
            let names: Vec<String> =
                parts.iter().take(8).map(|part| self.named(part, depth + 1)).collect();
            if !names.is_empty() {
                return names.join(word);
            }
        }
        self.kind(schema, depth)
    }

    fn kind(&self, schema: &Value, depth: usize) -> String {
        let kinds = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().map(scalar).collect::<Vec<_>>().join(" or "),
            Some(kind) => scalar(kind),
            None if schema.get("properties").is_some() => "object".to_owned(),
            None if schema.get("items").is_some() => "array".to_owned(),
            None => "any".to_owned(),
        };
        let values = schema.get("enum").and_then(Value::as_array);
        let format = field(schema, "format");
        let mut text =
            match (kinds.as_str(), schema.get("items"), schema.get("additionalProperties")) {
                ("array", Some(items), _) => format!("array of {}", self.named(items, depth + 1)),
                ("object", _, Some(values @ Value::Object(_))) => {
                    format!("map of {}", self.named(values, depth + 1))
                }
                _ if format.is_empty() => kinds,
                _ => format!("{kinds} {format}"),
            };
        if let Some(values) = values {
            let shown: Vec<String> =
                values.iter().take(20).map(|value| format!("`{}`", scalar(value))).collect();
            text.push_str(": ");
            text.push_str(&shown.join(", "));
        }
        let default = field(schema, "default");
        if !default.is_empty() {
            text = format!("{text}, default `{default}`");
        }
        text
    }

    /// A line for each property, those of objects in it below.
    pub(super) fn outline(&self, schema: &'a Value, indent: usize) -> Vec<String> {
        let mut outline =
            SchemaOutline { lines: Vec::new(), above: Vec::new(), steps: MAX_VISITED_SCHEMAS };
        self.properties(schema, indent, 0, &mut outline);
        outline.lines
    }

    /// The same for a schema that has a name: where it names itself, it is not outlined again.
    pub(super) fn outline_of(&self, name: &str, schema: &'a Value) -> Vec<String> {
        let above = ["components/schemas", "definitions"].map(|place| format!("#/{place}/{name}"));
        let above = above.map(Cow::Owned).into();
        let mut outline = SchemaOutline { lines: Vec::new(), above, steps: MAX_VISITED_SCHEMAS };
        self.properties(schema, 0, 0, &mut outline);
        outline.lines
    }

    fn properties(
        &self,
        schema: &'a Value,
        indent: usize,
        depth: usize,
        outline: &mut SchemaOutline<'a>,
    ) {
        let Some(left) = outline.steps.checked_sub(1) else { return };
        outline.steps = left;
        let target = schema.get("$ref").and_then(Value::as_str);
        if depth >= MAX_PROPERTY_DEPTH * 2
            || target.is_some_and(|target| outline.above.iter().any(|above| above == target))
        {
            return;
        }
        outline.above.extend(target.map(Cow::Borrowed));
        let whole = self.resolve(schema);
        let items = whole.get("items").or_else(|| whole.get("additionalProperties"));
        if let Some(items) = items.filter(|items| items.is_object()) {
            self.properties(items, indent, depth + 1, outline);
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            for part in whole.get(key).and_then(Value::as_array).into_iter().flatten().take(20) {
                if outline.lines.len() < MAX_OUTLINE_LINES {
                    self.properties(part, indent, depth + 1, outline);
                }
            }
        }
        let required = whole.get("required").and_then(Value::as_array);
        let properties = whole.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if outline.lines.len() >= MAX_OUTLINE_LINES {
                // Only once, though every object above is cut short as well.
                if outline.lines.len() == MAX_OUTLINE_LINES {
                    outline.lines.push(format!("{}- …", "  ".repeat(indent)));
                }
                break;
            }
            let needed =
                required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
            let needed = if needed { ", required" } else { "" };
            let about = field(property, "description");
            let about = about.split("\n\n").next().map(line).unwrap_or_default();
            let about = if about.is_empty() { about } else { format!(": {about}") };
            let kind = line(&self.name(property));
            outline
                .lines
                .push(format!("{}- `{name}` ({kind}{needed}){about}", "  ".repeat(indent)));
            if indent < MAX_PROPERTY_DEPTH {
                self.properties(property, indent + 1, depth + 1, outline);
            }
        }
        if target.is_some() {
            outline.above.pop();
        }
    }
}

struct SchemaOutline<'a> {
    lines: Vec<String>,
    /// References being followed; a repeated one is a cycle.
    above: Vec<Cow<'a, str>>,
    /// Schemas that may still be looked at: choices within choices have no lines, yet take time.
    steps: usize,
}
