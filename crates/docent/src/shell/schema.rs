//! Reads JSON Schemas as servers write them: follows references, expands unions, collects properties.
//!
//! Validates nothing. Schemas are untrusted, so every walk is bounded.

use serde_json::{Map, Value};

/// Maximum depth of references and unions.
const MAX_SCHEMA_DEPTH: usize = 16;
/// Maximum number of branches of one union.
const MAX_UNION_BRANCHES: usize = 64;
/// Maximum number of parts of one object's schema.
const MAX_SCHEMA_PARTS: usize = 256;
/// Maximum number of properties of one object.
const MAX_PROPERTIES: usize = 2000;
/// Maximum length of a name to suggest a correction for.
const MAX_SUGGESTION_LEN: usize = 200;

/// A schema inside the document that contains its definitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentSchema<'a> {
    root: &'a Value,
    node: &'a Value,
}

/// The types of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonType {
    /// Text.
    String,
    /// A number.
    Number,
    /// An integer.
    Integer,
    /// True or false.
    Boolean,
    /// Null.
    Null,
    /// An array.
    Array,
    /// An object.
    Object,
    /// Not specified by the schema.
    Any,
}

impl JsonType {
    fn parse(word: &str) -> Self {
        match word {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => Self::Any,
        }
    }

    /// Returns the name of the type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
            Self::Array => "array",
            Self::Object => "object",
            Self::Any => "any",
        }
    }

    /// Whether it is neither an array nor an object.
    pub(crate) fn is_scalar(self) -> bool {
        !matches!(self, Self::Array | Self::Object | Self::Any)
    }
}

/// A schema without unions, for one type of value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaBranch<'a> {
    /// The schema.
    pub(crate) schema: ArgumentSchema<'a>,
    /// The kind.
    pub(crate) kind: JsonType,
}

/// A property of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaProperty<'a> {
    /// The key.
    pub(crate) name: &'a str,
    /// The schema of the value.
    pub(crate) schema: ArgumentSchema<'a>,
    /// Whether it is required.
    pub(crate) required: bool,
}

impl<'a> ArgumentSchema<'a> {
    /// The schema of a whole document.
    pub(crate) fn of(root: &'a Value) -> Self {
        Self { root, node: root }.resolve()
    }

    fn at(self, node: &'a Value) -> Self {
        Self { root: self.root, node }.resolve()
    }

    /// Follows references to the schema they refer to, if it exists.
    fn resolve(mut self) -> Self {
        for _ in 0..MAX_SCHEMA_DEPTH {
            let Some(reference) = self.node.get("$ref").and_then(Value::as_str) else { break };
            let pointer = reference.strip_prefix('#').unwrap_or("/no such place");
            let Some(node) = self.root.pointer(pointer) else { break };
            self.node = node;
        }
        self
    }

    /// Returns the value of a keyword.
    pub(crate) fn get(self, keyword: &str) -> Option<&'a Value> {
        self.node.get(keyword)
    }

    /// Returns the text of a keyword.
    pub(crate) fn text(self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str()
    }

    /// Returns the list of a keyword; empty if there is none.
    pub(crate) fn items(self, keyword: &str) -> &'a [Value] {
        self.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the alternatives for a value, in the order written.
    pub(crate) fn branches(self) -> Vec<SchemaBranch<'a>> {
        let mut all = Vec::new();
        self.collect_branches(MAX_SCHEMA_DEPTH, &mut all);
        all.truncate(MAX_UNION_BRANCHES);
        all
    }

    fn collect_branches(self, depth: usize, all: &mut Vec<SchemaBranch<'a>>) {
        if all.len() >= MAX_UNION_BRANCHES {
            return;
        }
        let unions = ["anyOf", "oneOf"].map(|union| self.items(union));
        if depth > 0 && unions.iter().any(|union| !union.is_empty()) {
            for one in unions.into_iter().flatten() {
                self.at(one).collect_branches(depth - 1, all);
            }
            return;
        }
        // `allOf` with one member is a common way to add a description to a reference.
        if let [one] = self.items("allOf")
            && depth > 0
            && self.get("type").is_none()
        {
            return self.at(one).collect_branches(depth - 1, all);
        }
        let kinds: Vec<JsonType> = match self.get("type") {
            Some(Value::String(word)) => vec![JsonType::parse(word)],
            Some(Value::Array(words)) => {
                words.iter().filter_map(Value::as_str).map(JsonType::parse).collect()
            }
            _ if self.get("properties").is_some() => vec![JsonType::Object],
            _ if self.get("items").is_some() => vec![JsonType::Array],
            _ => vec![JsonType::Any],
        };
        all.extend(kinds.into_iter().map(|kind| SchemaBranch { schema: self, kind }));
    }

    /// Returns the properties of an object, including those of its `allOf` and of the objects of a union.
    pub(crate) fn properties(self) -> Vec<SchemaProperty<'a>> {
        let mut all: Vec<SchemaProperty<'a>> = Vec::new();
        self.collect_properties(true, &mut { MAX_SCHEMA_PARTS }, &mut all);
        all
    }

    fn collect_properties(
        self,
        certain: bool,
        left: &mut usize,
        all: &mut Vec<SchemaProperty<'a>>,
    ) {
        let needed = self.items("required");
        let own = self.get("properties").and_then(Value::as_object);
        for (name, node) in own.into_iter().flat_map(Map::iter) {
            if all.len() >= MAX_PROPERTIES {
                return;
            }
            if all.iter().any(|known| known.name == name) {
                continue;
            }
            let required = certain && needed.iter().any(|needed| needed == name);
            all.push(SchemaProperty { name, schema: self.at(node), required });
        }
        let parts = [("allOf", certain), ("anyOf", false), ("oneOf", false)];
        for (part, certain) in parts {
            for one in self.items(part) {
                // A schema may refer back to itself in each of its branches.
                let Some(fewer) = left.checked_sub(1) else { return };
                *left = fewer;
                self.at(one).collect_properties(certain, left, all);
            }
        }
    }

    /// Returns the schema of additional properties; `None` if they are not allowed.
    pub(crate) fn other_keys(self) -> Option<ArgumentSchema<'a>> {
        const ANYTHING: &Value = &Value::Bool(true);
        match self.get("additionalProperties") {
            Some(Value::Bool(true)) => Some(Self { root: self.root, node: ANYTHING }),
            Some(node @ Value::Object(_)) => Some(self.at(node)),
            Some(_) => None,
            None => {
                let nothing_said = self.properties().is_empty();
                nothing_said.then_some(Self { root: self.root, node: ANYTHING })
            }
        }
    }

    /// Returns the schema of an array's items.
    pub(crate) fn members(self) -> Option<ArgumentSchema<'a>> {
        self.get("items").map(|node| self.at(node))
    }

    /// Returns the values of `enum` or `const`.
    pub(crate) fn choices(self) -> Vec<&'a Value> {
        let named = self.items("enum");
        if !named.is_empty() {
            return named.iter().collect();
        }
        self.get("const").into_iter().collect()
    }

    /// Returns the choices of every branch.
    pub(crate) fn all_choices(self) -> Vec<&'a Value> {
        self.branches().iter().flat_map(|branch| branch.schema.choices()).collect()
    }

    /// Describes the type: `string`, `array of integer`, `string or null`.
    pub(crate) fn kind_words(self) -> String {
        let mut words: Vec<String> = Vec::new();
        for branch in self.branches() {
            let word = match (branch.kind, branch.schema.members()) {
                (JsonType::Array, Some(members)) => {
                    let inner: Vec<&str> =
                        members.branches().iter().map(|branch| branch.kind.name()).collect();
                    if inner == ["any"] {
                        "array".into()
                    } else {
                        format!("array of {}", inner.join(" or "))
                    }
                }
                // A constant is more specific than its type.
                (JsonType::Any, _) if !branch.schema.choices().is_empty() => continue,
                (kind, _) => kind.name().to_owned(),
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        if words.is_empty() { "choice".into() } else { words.join(" or ") }
    }

    /// Describes the accepted values or bounds.
    pub(crate) fn accepted(self) -> String {
        let choices = self.all_choices();
        if !choices.is_empty() {
            return choices.into_iter().map(display_value).collect::<Vec<_>>().join(", ");
        }
        let mut all = Vec::new();
        for (least, most, unit) in [
            ("minimum", "maximum", ""),
            ("minLength", "maxLength", " characters"),
            ("minItems", "maxItems", " items"),
        ] {
            match (self.get(least), self.get(most)) {
                (Some(least), Some(most)) => all.push(format!("{least} to {most}{unit}")),
                (Some(least), None) => all.push(format!("{least} or more{unit}")),
                (None, Some(most)) => all.push(format!("at most {most}{unit}")),
                (None, None) => {}
            }
        }
        for keyword in ["format", "contentEncoding", "contentMediaType", "pattern"] {
            all.extend(self.text(keyword).map(|text| format!("{keyword} {text}")));
        }
        all.join(", ")
    }
}

/// Formats a value as typed: text without quotes.
pub(crate) fn display_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the most similar word of a list.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &&str| strsim::damerau_levenshtein(known, word);
    let known = known.into_iter().filter(|known| known.len() <= MAX_SUGGESTION_LEN);
    let near = known.min_by_key(distance).filter(|_| word.len() <= MAX_SUGGESTION_LEN)?;
    // Beyond that distance it is another word, not a misspelling.
    (distance(&near) <= near.chars().count().max(word.chars().count()).div_ceil(2)).then_some(near)
}
