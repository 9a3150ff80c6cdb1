//! Reads JSON Schemas as servers write them: references followed, unions spread, properties gathered.
//!
//! Nothing is validated here. Schemas come from outside, so that every walk has a bound.

use serde_json::{Map, Value};

/// References and unions inside each other that are followed.
const MAX_SCHEMA_DEPTH: usize = 16;
/// Branches of one union that are looked at.
const MAX_UNION_BRANCHES: usize = 64;
/// Parts of one object's schema that are looked at.
const MAX_SCHEMA_PARTS: usize = 256;
/// Properties of one object.
const MAX_PROPERTIES: usize = 2000;
/// A longer name has no near one: it is nobody's misspelling.
const MAX_SUGGESTION_LEN: usize = 200;

/// A schema inside a document that holds its definitions.
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
    /// Any number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// Null.
    Null,
    /// A list.
    Array,
    /// Names and values.
    Object,
    /// The schema does not say.
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

    /// The word for it.
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

    /// Whether it has no parts.
    pub(crate) fn is_scalar(self) -> bool {
        !matches!(self, Self::Array | Self::Object | Self::Any)
    }
}

/// A schema without unions: what one kind of value must look like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaBranch<'a> {
    /// The schema.
    pub(crate) schema: ArgumentSchema<'a>,
    /// The kind.
    pub(crate) kind: JsonType,
}

/// A named part of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaProperty<'a> {
    /// Its key.
    pub(crate) name: &'a str,
    /// What it must look like.
    pub(crate) schema: ArgumentSchema<'a>,
    /// Whether it must be there.
    pub(crate) required: bool,
}

impl<'a> ArgumentSchema<'a> {
    /// A whole document.
    pub(crate) fn of(root: &'a Value) -> Self {
        Self { root, node: root }.resolve()
    }

    fn at(self, node: &'a Value) -> Self {
        Self { root: self.root, node }.resolve()
    }

    /// The schema behind its references, where they lead somewhere.
    fn resolve(mut self) -> Self {
        for _ in 0..MAX_SCHEMA_DEPTH {
            let Some(reference) = self.node.get("$ref").and_then(Value::as_str) else { break };
            let pointer = reference.strip_prefix('#').unwrap_or("/no such place");
            let Some(node) = self.root.pointer(pointer) else { break };
            self.node = node;
        }
        self
    }

    /// What stands under a keyword.
    pub(crate) fn get(self, keyword: &str) -> Option<&'a Value> {
        self.node.get(keyword)
    }

    /// The text under a keyword.
    pub(crate) fn text(self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str()
    }

    /// The list under a keyword; empty where there is none.
    pub(crate) fn items(self, keyword: &str) -> &'a [Value] {
        self.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// What a value may be, in the order written.
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
                self.at(one).spread(depth - 1, all);
            }
            return;
        }
        // `allOf` with one member is how a description is put beside a reference.
        if let [one] = self.items("allOf")
            && depth > 0
            && self.get("type").is_none()
        {
            return self.at(one).collect_branches(depth - 1, all);
        }
        let kinds: Vec<JsonType> = match self.get("type") {
            Some(Value::String(word)) => vec![Kind::named(word)],
            Some(Value::Array(words)) => {
                words.iter().filter_map(Value::as_str).map(JsonType::parse).collect()
            }
            _ if self.get("properties").is_some() => vec![Kind::Object],
            _ if self.get("items").is_some() => vec![Kind::Array],
            _ => vec![Kind::Any],
        };
        all.extend(kinds.into_iter().map(|kind| SchemaBranch { schema: self, kind }));
    }

    /// The properties of an object, those of its `allOf` and of the objects of a union included.
    pub(crate) fn properties(self) -> Vec<SchemaProperty<'a>> {
        let mut all: Vec<SchemaProperty<'a>> = Vec::new();
        self.collect_properties(true, &mut { MAX_SCHEMA_PARTS }, &mut all);
        all
    }

    fn collect_properties(self, certain: bool, left: &mut usize, all: &mut Vec<SchemaProperty<'a>>) {
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
                // A schema may lead back to itself, as often as it has branches.
                let Some(fewer) = left.checked_sub(1) else { return };
                *left = fewer;
                self.at(one).gather(certain, left, all);
            }
        }
    }

    /// What keys without a name of their own must look like: none where they are not foreseen.
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

    /// What the members of an array must look like.
    pub(crate) fn members(self) -> Option<ArgumentSchema<'a>> {
        self.get("items").map(|node| self.at(node))
    }

    /// The values that it names, one by one.
    pub(crate) fn choices(self) -> Vec<&'a Value> {
        let named = self.items("enum");
        if !named.is_empty() {
            return named.iter().collect();
        }
        self.get("const").into_iter().collect()
    }

    /// The choices of every branch.
    pub(crate) fn all_choices(self) -> Vec<&'a Value> {
        self.branches().iter().flat_map(|branch| branch.schema.choices()).collect()
    }

    /// Its type in words: `string`, `array of integer`, `string or null`.
    pub(crate) fn kind_words(self) -> String {
        let mut words: Vec<String> = Vec::new();
        for branch in self.branches() {
            let word = match (branch.kind, branch.schema.members()) {
                (JsonType::Array, Some(members)) => {
                    let inner: Vec<&str> =
                        members.branches().iter().map(|branch| branch.kind.word()).collect();
                    if inner == ["any"] {
                        "array".into()
                    } else {
                        format!("array of {}", inner.join(" or "))
                    }
                }
                // A constant says more than its type.
                (JsonType::Any, _) if !branch.schema.choices().is_empty() => continue,
                (kind, _) => kind.word().to_owned(),
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        if words.is_empty() { "choice".into() } else { words.join(" or ") }
    }

    /// The values or bounds that it names, in words.
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

/// A value as it is typed: text without quotes.
pub(crate) fn display_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The word of a list that is most like another one.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &&str| strsim::damerau_levenshtein(known, word);
    let known = known.into_iter().filter(|known| known.len() <= MAX_SUGGESTION_LEN);
    let near = known.min_by_key(distance).filter(|_| word.len() <= MAX_SUGGESTION_LEN)?;
    // Beyond that it is another word, not another spelling.
    (distance(&near) <= near.chars().count().max(word.chars().count()).div_ceil(2)).then_some(near)
}
