//! Converts JSON Schema to TypeScript types. Schemas without a suitable type become `unknown`; the output is always
//! valid.

use crate::names;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;

/// Maximum nesting that is written out.
const MAX_DEPTH: usize = 16;

/// Maximum number of alternatives that are written out.
const MAX_ALTERNATIVES: usize = 100;

/// Maximum characters of a description.
const MAX_COMMENT_CHARS: usize = 1000;

/// Type names that the output uses, so schemas can't.
const RESERVED_TYPE_NAMES: [&str; 5] = ["Array", "CallToolResult", "Promise", "Record", "Object"];

/// Maximum number of declared types.
const MAX_DECLARED_TYPES: usize = 300;

/// Types of one module.
pub(crate) struct TypeDeclarations {
    /// The referenced types, in the order of their first use.
    declared: Vec<DeclaredType>,
    /// Their indexes, by document and pointer.
    places: HashMap<(usize, String), usize>,
    /// The documents, by the text of their definitions: tools with the same definitions share the types.
    documents: HashMap<String, usize>,
    taken: HashSet<String>,
    calls: usize,
    /// Pointers of the current document whose types are not written yet.
    pending: VecDeque<(usize, String)>,
}

struct DeclaredType {
    name: String,
    about: String,
    kind: String,
    /// Types that it consists of directly, without an object or an array in between.
    bare: Vec<usize>,
}

/// A schema and the document that its references point into.
#[derive(Clone, Copy)]
struct SchemaPosition<'s> {
    schema: &'s Value,
    root: &'s Value,
    document: usize,
    /// The call of [`TypeDeclarations::of`] that it belongs to.
    call: usize,
    depth: usize,
    indent: usize,
    /// The declared type that this is a direct part of.
    owner: Option<usize>,
    /// True in the rest of a tuple, which the compiler expands at once, however deep.
    in_rest: bool,
}

impl<'s> SchemaPosition<'s> {
    /// An alternative, or a part of an intersection.
    fn part(self, schema: &'s Value) -> Self {
        Self { schema, depth: self.depth + 1, ..self }
    }

    /// A member of an object, or an item of an array.
    fn held(self, schema: &'s Value) -> Self {
        let owner = self.owner.filter(|_| self.in_rest);
        Self { owner, ..self.part(schema) }
    }
}

impl TypeDeclarations {
    pub(crate) fn new() -> Self {
        Self {
            declared: Vec::new(),
            places: HashMap::new(),
            documents: HashMap::new(),
            taken: RESERVED_TYPE_NAMES.iter().map(|name| (*name).to_owned()).collect(),
            calls: 0,
            pending: VecDeque::new(),
        }
    }

    /// Returns the declarations for the types written so far.
    pub(crate) fn into_declared(self) -> Vec<String> {
        let loops: Vec<bool> = (0..self.declared.len()).map(|place| self.is_loop(place)).collect();
        let declared = self.declared.into_iter().zip(loops);
        declared
            .map(|(declared, is_loop)| {
                // A type that is defined only by itself is invalid.
                let kind = if is_loop { "unknown" } else { declared.kind.as_str() };
                let about = comment(&declared.about, 1);
                let gap = if about.is_empty() { "" } else { "\n  " };
                format!("{about}{gap}export type {} = {kind};", declared.name)
            })
            .collect()
    }

    fn is_loop(&self, start: usize) -> bool {
        let mut seen = HashSet::new();
        let mut ahead = vec![start];
        while let Some(place) = ahead.pop() {
            for next in self.declared.get(place).iter().flat_map(|declared| &declared.bare) {
                if *next == start {
                    return true;
                }
                if seen.insert(*next) {
                    ahead.push(*next);
                }
            }
        }
        false
    }

    /// Returns the type of a whole schema, at an indentation.
    pub(crate) fn of(&mut self, schema: &Value, indent: usize) -> String {
        let shared: String = ["$defs", "definitions"]
            .iter()
            .filter_map(|word| schema.get(word))
            .map(Value::to_string)
            .collect();
        // A document without definitions shares nothing.
        let shared = if shared.is_empty() { format!("#{}", self.documents.len()) } else { shared };
        let next = self.documents.len();
        let document = *self.documents.entry(shared).or_insert(next);
        self.calls += 1;
        let call = self.calls;
        let whole = SchemaPosition {
            schema,
            root: schema,
            document,
            call,
            depth: 0,
            indent,
            owner: None,
            in_rest: false,
        };
        let made = self.type_of(whole);
        // Iterative, not recursive: a chain of references may be long.
        while let Some((place, path)) = self.pending.pop_front() {
            let Some(target) = schema.pointer(&path) else { continue };
            let kind = self.type_of(SchemaPosition {
                schema: target,
                indent: 1,
                owner: Some(place),
                ..whole
            });
            let about = target.get("description").and_then(Value::as_str).unwrap_or_default();
            if let Some(declared) = self.declared.get_mut(place) {
                declared.kind = kind;
                about.clone_into(&mut declared.about);
            }
        }
        made
    }

    fn type_of(&mut self, spot: SchemaPosition<'_>) -> String {
        let Value::Object(schema) = spot.schema else {
            return if spot.schema == &Value::Bool(false) {
                "never".into()
            } else {
                "unknown".into()
            };
        };
        if spot.depth > MAX_DEPTH {
            return "unknown".into();
        }
        let mut parts = Vec::new();
        if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
            parts.push(self.referred(pointer, spot));
        }
        parts.extend(self.base(schema, spot));
        for word in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(word) {
                let choices: Vec<_> =
                    choices.iter().map(|choice| self.type_of(spot.part(choice))).collect();
                parts.push(join_types(choices, " | "));
            }
        }
        if let Some(Value::Array(all)) = schema.get("allOf") {
            parts.extend(all.iter().map(|part| self.type_of(spot.part(part))));
        }
        parts.retain(|part| part != "unknown");
        let whole = join_types(parts, " & ");
        match schema.get("nullable") {
            Some(Value::Bool(true)) => join_types(vec![whole, "null".into()], " | "),
            _ => whole,
        }
    }

    /// Returns the type by the keywords of the schema itself.
    fn base(&mut self, schema: &Map<String, Value>, spot: SchemaPosition<'_>) -> Option<String> {
        if let Some(value) = schema.get("const") {
            return Some(literal(value));
        }
        if let Some(Value::Array(values)) = schema.get("enum").filter(|values| is_short(values)) {
            return Some(join_types(values.iter().map(literal).collect(), " | "));
        }
        match schema.get("type") {
            Some(Value::String(name)) => Some(self.named(name, schema, spot)),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                Some(join_types(names.map(|name| self.named(name, schema, spot)).collect(), " | "))
            }
            _ if schema.contains_key("properties") => Some(self.object(schema, spot)),
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => {
                Some(self.array(schema, spot))
            }
            _ => None,
        }
    }

    fn named(
        &mut self,
        name: &str,
        schema: &Map<String, Value>,
        spot: SchemaPosition<'_>,
    ) -> String {
        match name {
            "string" | "boolean" | "null" => name.into(),
            "number" | "integer" => "number".into(),
            "object" => self.object(schema, spot),
            "array" => self.array(schema, spot),
            _ => "unknown".into(),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, spot: SchemaPosition<'_>) -> String {
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let nothing = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
        let extra = schema.get("additionalProperties");
        let mut members = Vec::new();
        let mut documented = false;
        for (name, property) in properties {
            let (text, about) =
                self.member(name, property, required.contains(&name.as_str()), spot);
            documented |= !about.is_empty();
            members.push(format!("{about}{text}"));
        }
        let mut listed = HashSet::new();
        for name in &required {
            if properties.contains_key(*name) || !listed.insert(*name) {
                continue;
            }
            members.push(format!("{}: unknown", key(name)));
        }
        if members.is_empty() {
            return match extra {
                Some(Value::Bool(false)) => "Record<string, never>".into(),
                Some(value @ Value::Object(_)) => {
                    format!("{{ [key: string]: {} }}", self.type_of(spot.held(value)))
                }
                _ => "Record<string, unknown>".into(),
            };
        }
        if matches!(extra, Some(Value::Bool(true) | Value::Object(_))) {
            members.push("[key: string]: unknown".into());
        }
        let line = format!("{{ {} }}", members.join("; "));
        if !documented && line.len() <= 90 && !line.contains('\n') {
            return line;
        }
        let (outer, inner) = ("  ".repeat(spot.indent), "  ".repeat(spot.indent + 1));
        let gap = format!(";\n{inner}");
        format!("{{\n{inner}{};\n{outer}}}", members.join(&gap))
    }

    /// A property, and the comment before it.
    fn member(
        &mut self,
        name: &str,
        schema: &Value,
        required: bool,
        spot: SchemaPosition<'_>,
    ) -> (String, String) {
        let kind = self.type_of(SchemaPosition { indent: spot.indent + 1, ..spot.held(schema) });
        let mark = if required { "" } else { "?" };
        let mut about =
            schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(default) = schema.get("default").filter(|value| !value.is_null()) {
            let default = default.to_string();
            if default.len() <= 60 {
                let _written = write!(
                    about,
                    "{}(default: {default})",
                    if about.is_empty() { "" } else { " " }
                );
            }
        }
        let about = comment(&about, spot.indent + 1);
        let about = if about.is_empty() {
            about
        } else {
            format!("{about}\n{}", "  ".repeat(spot.indent + 1))
        };
        (format!("{}{mark}: {kind}", key(name)), about)
    }

    fn array(&mut self, schema: &Map<String, Value>, spot: SchemaPosition<'_>) -> String {
        let items = schema.get("items");
        let first = match (schema.get("prefixItems"), items) {
            (Some(Value::Array(first)), _) | (None, Some(Value::Array(first))) => first,
            (_, Some(items)) => return listed(&self.type_of(spot.held(items))),
            _ => return "unknown[]".into(),
        };
        if first.len() > MAX_ALTERNATIVES {
            return "unknown[]".into();
        }
        let mut parts: Vec<_> = first.iter().map(|item| self.type_of(spot.held(item))).collect();
        match items {
            Some(rest @ Value::Object(_)) => {
                parts.push(format!(
                    "...{}",
                    listed(&self.type_of(SchemaPosition { in_rest: true, ..spot.part(rest) }))
                ));
            }
            Some(Value::Bool(false)) => {}
            _ => parts.push("...unknown[]".into()),
        }
        format!("[{}]", parts.join(", "))
    }

    /// Returns the name of the type that a reference within the document points to.
    fn referred(&mut self, pointer: &str, spot: SchemaPosition<'_>) -> String {
        let path = pointer.strip_prefix('#').filter(|path| spot.root.pointer(path).is_some());
        let Some(path) = path else { return "unknown".into() };
        let shared = path.starts_with("/$defs/") || path.starts_with("/definitions/");
        // Only definitions are equal in documents that share them.
        let document = if shared { spot.document } else { usize::MAX - spot.call };
        let key = (document, path.to_owned());
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if self.declared.len() >= MAX_DECLARED_TYPES => return "unknown".into(),
            None => {
                let last =
                    path.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or("Whole");
                let name = names::unused(&names::camel(last, true), &mut self.taken);
                let place = self.declared.len();
                self.declared.push(DeclaredType {
                    name,
                    about: String::new(),
                    kind: "unknown".into(),
                    bare: Vec::new(),
                });
                self.places.insert(key, place);
                self.pending.push_back((place, path.to_owned()));
                place
            }
        };
        if let Some(owner) = spot.owner.and_then(|owner| self.declared.get_mut(owner)) {
            owner.bare.push(place);
        }
        self.declared.get(place).map_or_else(|| "unknown".into(), |declared| declared.name.clone())
    }
}

fn is_short(values: &Value) -> bool {
    values.as_array().is_some_and(|values| !values.is_empty() && values.len() <= MAX_ALTERNATIVES)
}

/// Writes a property name, quoted if necessary.
fn key(name: &str) -> String {
    if names::has_form(name) { name.to_owned() } else { Value::from(name).to_string() }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => "unknown".into(),
        _ => value.to_string(),
    }
}

fn listed(item: &str) -> String {
    if item.contains([' ', '\n']) && !is_closed(item) {
        format!("({item})[]")
    } else {
        format!("{item}[]")
    }
}

/// Whether a type is enclosed in one pair of brackets.
fn is_closed(item: &str) -> bool {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, character) in item.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '<' => depth += 1,
            '}' | ']' | '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == item.len() && item.starts_with(['{', '[']);
                }
            }
            _ => {}
        }
    }
    false
}

/// Joins types without duplicates; `unknown` if there are none.
fn join_types(parts: Vec<String>, sign: &str) -> String {
    let mut seen = HashSet::new();
    let parts: Vec<String> = parts.into_iter().filter(|part| seen.insert(part.clone())).collect();
    match parts.len() {
        0 => return "unknown".into(),
        1 => return parts.into_iter().next().unwrap_or_default(),
        count if count > MAX_ALTERNATIVES => return "unknown".into(),
        _ => {}
    }
    if sign == " | " && parts.iter().any(|part| part == "unknown") {
        return "unknown".into();
    }
    let other = if sign == " | " { " & " } else { " | " };
    let parts: Vec<String> = parts
        .into_iter()
        .map(
            |part| {
                if part.contains(other) && !is_closed(&part) { format!("({part})") } else { part }
            },
        )
        .collect();
    parts.join(sign)
}

/// Formats a text as a comment; empty for an empty text. The first line has no indentation.
pub(crate) fn comment(text: &str, indent: usize) -> String {
    let mut shown: String =
        text.chars().filter(|character| !is_hidden(*character)).take(MAX_COMMENT_CHARS).collect();
    shown = shown.replace("*/", "*\\/");
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let lines = lines.trim_around();
    match lines {
        [] => String::new(),
        [line] => format!("/** {} */", line.trim()),
        lines => {
            let gap = "  ".repeat(indent);
            let body: String = lines
                .iter()
                .map(|line| format!("{gap} * {line}").trim_end().to_owned() + "\n")
                .collect();
            format!("/**\n{body}{gap} */")
        }
    }
}

trait TrimAround {
    /// Without the empty lines at the start and at the end.
    fn trim_around(&self) -> &Self;
}

impl TrimAround for [&str] {
    fn trim_around(&self) -> &Self {
        let mut lines = self;
        while let [first, rest @ ..] = lines
            && first.trim().is_empty()
        {
            lines = rest;
        }
        while let [rest @ .., last] = lines
            && last.trim().is_empty()
        {
            lines = rest;
        }
        lines
    }
}

/// Invisible characters, and those that change how others are displayed.
fn is_hidden(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
