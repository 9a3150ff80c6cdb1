//! What it takes to check a value against a schema, counted before it is done. The check itself can't be stopped, and
//! parts of a schema that each refer to the next one twice double its work with every part.
//!
//! Schema and value are followed together, as a validator would that never stops early. Keywords of every draft count.

use docent_tool::Object;
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    iter::empty,
};

/// Parts that a schema may have, as it is written and as one value meets them with references followed.
const MOST_PARTS: u64 = 100_000;
/// The same of all its parts, each looked at for itself.
const MOST_IN_ALL: u64 = 20 * MOST_PARTS;
/// Steps that one check may take.
const MOST_STEPS: u64 = 10_000_000;
/// Steps of a check whose problems are looked for one by one, which takes several times as long.
const MOST_TOLD: u64 = 100_000;
/// Parts of a schema inside each other on the way to one value: each takes its share of the stack.
const DEEPEST: usize = 500;
/// Steps of a pattern that can't be matched in one pass.
const BACKTRACKING: u64 = 1000;
/// Steps that are worth remembering.
const WORTH_KEEPING: u64 = 16;

/// Stands for whatever value a part is held against.
static ANY: Value = Value::Null;

/// Whether no part of a schema takes too much by itself, whatever the value.
pub(super) fn is_modest(schema: &Value) -> bool {
    if parts(schema) > MOST_PARTS {
        return false;
    }
    let mut counting = Counting::new(schema, MOST_PARTS);
    counting.left = MOST_IN_ALL;
    counting.each(schema).is_some()
}

/// Whether a value can be checked in bounded time.
pub(super) fn is_bounded(schema: &Value, value: &Value) -> bool {
    let mut counting = Counting::new(schema, MOST_STEPS);
    counting.recalls = true;
    counting.visit(schema, value, 0).is_some()
}

/// Whether the problems of a value can be collected in bounded time. Unlike validity, they are not remembered where a part
/// comes back to the same value.
pub(super) fn is_tellable(schema: &Value, value: &Value) -> bool {
    let mut counting = Counting::new(schema, MOST_TOLD);
    counting.visit(schema, value, 0).is_some()
}

/// How many values a value is made of, itself included.
fn parts(value: &Value) -> u64 {
    let inside: u64 = match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(fields) => fields.values().map(parts).sum(),
        _ => 0,
    };
    inside.saturating_add(1)
}

/// What it takes to hold a part against a value, and to learn afterwards which of its fields the part has seen.
#[derive(Clone, Copy)]
struct Steps {
    taken: u64,
    marking: u64,
    /// How many parts lie inside each other.
    height: usize,
}

impl Steps {
    const ONE: Self = Self { taken: 1, marking: 1, height: 1 };

    /// Another part on the same value. What it has seen counts only if it is met, which is asked once more.
    fn add_beside(&mut self, other: Self) {
        self.add_inside(other);
        let again = other.taken.saturating_add(other.marking);
        self.marking = self.marking.saturating_add(again);
    }

    /// A part on a value inside.
    fn add_inside(&mut self, other: Self) {
        self.taken = self.taken.saturating_add(other.taken);
        self.height = self.height.max(other.height + 1);
    }
}

struct Counting<'a> {
    root: &'a Value,
    /// Looked for when a reference needs them.
    names: Option<Names<'a>>,
    most: u64,
    left: u64,
    /// Targets of references that the present part lies in.
    open: Vec<usize>,
    /// Whether a part that comes back to a value is known to have been there, as the validator knows it.
    recalls: bool,
    recalled: HashSet<(usize, usize)>,
    /// How often a part came back inside of itself.
    recursions: u64,
    /// What parts took on values, where nothing came back: the count takes no longer for parts that double.
    counted: HashMap<(usize, usize), Steps>,
}

impl<'a> Counting<'a> {
    fn new(root: &'a Value, most: u64) -> Self {
        Self {
            root,
            names: None,
            most,
            left: most,
            open: Vec::new(),
            recalls: false,
            recalled: HashSet::new(),
            recursions: 0,
            counted: HashMap::new(),
        }
    }

    fn spend(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    /// Visits every part for itself.
    fn each(&mut self, part: &'a Value) -> Option<()> {
        match part {
            Value::Array(items) => items.iter().try_for_each(|part| self.each(part)),
            Value::Object(fields) => {
                self.visit(part, &ANY, 0)?;
                fields.values().try_for_each(|part| self.each(part))
            }
            _ => Some(()),
        }
    }

    /// Counts a part on a value; nothing once it is too much.
    fn visit(&mut self, part: &'a Value, value: &'a Value, depth: usize) -> Option<Steps> {
        let Value::Object(keywords) = part else {
            self.spend(1)?;
            return Some(Steps::ONE);
        };
        let own = own(keywords, value).saturating_add(1);
        self.spend(own)?;
        if depth >= DEEPEST {
            return None;
        }
        let depth = depth + 1;
        let mut all = Steps { taken: own, ..Steps::ONE };
        for (keyword, inner) in keywords {
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    for target in self.targets(inner)? {
                        all.add_beside(self.follow(target, value, depth)?);
                    }
                }
                "not" | "if" | "then" | "else" | "contentSchema" => {
                    all.add_beside(self.visit(inner, value, depth)?);
                }
                "allOf" | "anyOf" | "oneOf" => {
                    for inner in inner.as_array().into_iter().flatten() {
                        all.add_beside(self.visit(inner, value, depth)?);
                    }
                }
                "dependentSchemas" | "dependencies" => {
                    for (name, inner) in inner.as_object().into_iter().flatten() {
                        if value.get(name).is_some() {
                            all.add_beside(self.visit(inner, value, depth)?);
                        }
                    }
                }
                keyword => {
                    for (inner, child) in reached(keyword, inner, keywords, value) {
                        all.add_inside(self.visit(inner, child, depth)?);
                    }
                }
            }
        }
        if keywords.contains_key("unevaluatedProperties")
            || keywords.contains_key("unevaluatedItems")
        {
            all.taken = all.taken.saturating_add(all.marking);
        }
        (all.taken <= self.most).then_some(all)
    }

    fn follow(&mut self, target: &'a Value, value: &'a Value, depth: usize) -> Option<Steps> {
        let key = (address(target), address(value));
        if self.recalls && self.open.contains(&key.0) {
            self.recursions += 1;
            if !self.recalled.insert(key) {
                self.spend(1)?;
                return Some(Steps::ONE);
            }
        } else if let Some(steps) = self.counted.get(&key).copied() {
            self.spend(1)?;
            return (depth + steps.height <= DEEPEST).then_some(steps);
        }
        let before = self.recursions;
        self.open.push(key.0);
        let steps = self.visit(target, value, depth)?;
        self.open.pop();
        if self.recursions == before && steps.taken >= WORTH_KEEPING {
            self.counted.insert(key, steps);
        }
        Some(steps)
    }

    /// What a reference may lead to. Where a schema has several resources in it, all that it may mean count.
    fn targets(&mut self, reference: &Value) -> Option<Vec<&'a Value>> {
        let reference = reference.as_str().unwrap_or_default();
        if reference.is_empty() {
            return Some(Vec::new());
        }
        let (resource, raw) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = decoded(raw);
        let root = self.root;
        let names = self.names.get_or_insert_with(|| Names::of(root));
        let (asked, looked_at) = (last(resource), names.resources.len() + names.anchors.len());
        let is_meant = |id: &str| {
            let may_be = last(id) == asked || !id.is_empty() && !is_plain(last(id));
            resource.is_empty() || !is_plain(asked) || may_be
        };
        let resources = names.resources.iter().filter(|(id, _)| is_meant(id));
        let resources = resources.map(|(_, resource)| *resource);
        let mut targets: Vec<&'a Value> = if fragment.is_empty() {
            resources.collect()
        } else if fragment.starts_with('/') {
            resources.filter_map(|resource| resource.pointer(&fragment)).collect()
        } else {
            let anchors = names.anchors.iter();
            let anchors = anchors.filter(|(name, _)| *name == fragment || *name == raw);
            anchors.map(|(_, part)| *part).collect()
        };
        // One with two names is one.
        targets.dedup_by_key(|target| address(target));
        self.spend(count(looked_at))?;
        Some(targets)
    }
}

/// Parts of a schema that have names of their own.
struct Names<'a> {
    resources: Vec<(&'a str, &'a Value)>,
    anchors: Vec<(&'a str, &'a Value)>,
}

impl<'a> Names<'a> {
    fn of(root: &'a Value) -> Self {
        let mut names = Self { resources: vec![("", root)], anchors: Vec::new() };
        names.add(root);
        names
    }

    fn add(&mut self, part: &'a Value) {
        match part {
            Value::Array(items) => {
                for part in items {
                    self.add(part);
                }
            }
            Value::Object(fields) => {
                let text = |key: &str| fields.get(key).and_then(Value::as_str);
                for id in ["$id", "id"].into_iter().filter_map(text) {
                    match id.strip_prefix('#') {
                        Some(anchor) => self.anchors.push((anchor, part)),
                        None => self.resources.push((id, part)),
                    }
                }
                let anchors = ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text);
                self.anchors.extend(anchors.map(|anchor| (anchor, part)));
                for part in fields.values() {
                    self.add(part);
                }
            }
            _ => {}
        }
    }
}

/// The last segment of an address: the same however much of the address is left out.
fn last(address: &str) -> &str {
    let address = address.split('#').next().unwrap_or_default();
    address.rsplit('/').next().unwrap_or_default()
}

/// Whether a segment can be written in one way only.
fn is_plain(segment: &str) -> bool {
    let is_one = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    segment.chars().all(is_one) && segment.chars().any(|c| c != '.')
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The parts that a keyword holds against values inside of the value. A name is no value: any stands for it.
fn reached<'a>(
    keyword: &str,
    inner: &'a Value,
    beside: &'a Object,
    value: &'a Value,
) -> Box<dyn Iterator<Item = (&'a Value, &'a Value)> + 'a> {
    let parts = move || inner.as_object().into_iter().flatten();
    let listed = |key: &str| beside.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    match (keyword, value) {
        ("properties", Value::Object(fields)) => {
            Box::new(parts().filter_map(move |(name, part)| Some((part, fields.get(name)?))))
        }
        ("patternProperties", Value::Object(fields)) => Box::new(
            parts().flat_map(move |(_, part)| fields.values().map(move |field| (part, field))),
        ),
        ("additionalProperties" | "unevaluatedProperties", Value::Object(fields)) => {
            let known = beside.get("properties").and_then(Value::as_object);
            let is_known = move |name: &str| known.is_some_and(|known| known.contains_key(name));
            let others = fields.iter().filter(move |(name, _)| !is_known(name.as_str()));
            Box::new(others.map(move |(_, field)| (inner, field)))
        }
        ("propertyNames", Value::Object(fields)) => {
            Box::new(fields.keys().map(move |_| (inner, &ANY)))
        }
        ("prefixItems", Value::Array(items)) => {
            Box::new(inner.as_array().into_iter().flatten().zip(items))
        }
        ("items", Value::Array(items)) => match inner {
            Value::Array(parts) => Box::new(parts.iter().zip(items)),
            _ => Box::new(items.iter().skip(listed("prefixItems")).map(move |item| (inner, item))),
        },
        ("additionalItems", Value::Array(items)) => {
            Box::new(items.iter().skip(listed("items")).map(move |item| (inner, item)))
        }
        ("contains" | "unevaluatedItems", Value::Array(items)) => {
            Box::new(items.iter().map(move |item| (inner, item)))
        }
        _ => Box::new(empty()),
    }
}

/// Steps of the keywords that look at all of a value by themselves. Several comparisons are as quick as one step.
fn own(keywords: &Object, value: &Value) -> u64 {
    let options = keywords.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
    let looks = match value {
        Value::String(text) => {
            let pattern = keywords.get("pattern").and_then(Value::as_str);
            let reads = ["pattern", "format", "minLength", "maxLength"];
            let is_read = reads.into_iter().any(|keyword| keywords.contains_key(keyword));
            let read = if is_read { count(text.len() / 64) } else { 0 };
            read.saturating_add(pattern.map_or(0, matching))
        }
        Value::Array(items) if keywords.get("uniqueItems") == Some(&Value::Bool(true)) => {
            // Values with the same digest are compared one by one.
            let compared = if items.iter().any(can_collide) { items.len() } else { 1 };
            parts(value).saturating_mul(count(compared)) / 32
        }
        Value::Object(fields) => {
            let patterns = keywords.get("patternProperties").and_then(Value::as_object);
            let each = patterns.into_iter().flat_map(Object::keys).map(|pattern| matching(pattern));
            each.sum::<u64>().saturating_mul(count(fields.len()))
        }
        _ => 0,
    };
    looks.saturating_add(count(options / 16))
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// What a pattern takes beside the length of the text.
fn matching(pattern: &str) -> u64 {
    let looks_around = ["(?=", "(?!", "(?<"].into_iter().any(|sign| pattern.contains(sign));
    let mut signs = pattern.chars().zip(pattern.chars().skip(1));
    let refers_back = signs
        .any(|(first, second)| first == '\\' && (second == 'k' || matches!(second, '1'..='9')));
    if looks_around || refers_back { BACKTRACKING } else { 1 }
}

/// Whether somebody can choose values like this one that differ and have one digest: the digest of an array is that of what
/// is in it, and numbers are rounded.
fn can_collide(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(can_collide),
        Value::Number(number) => number.as_f64().is_none_or(|number| number.abs() >= EXACT),
        _ => false,
    }
}

/// A fragment of an address without its escapes.
fn decoded(fragment: &str) -> Cow<'_, str> {
    if !fragment.contains('%') {
        return fragment.into();
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(fragment.len()), fragment.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escape = after.get(..2).filter(|_| *first == b'%');
        let digits = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A part that holds the next one twice.
    type Link = fn(&Value) -> Value;
    /// A value around another.
    type Wrap = fn(Value) -> Value;

    /// Parts that each hold the next one twice.
    fn chain(length: usize, link: impl Fn(&Value) -> Value) -> Value {
        let mut parts: Object = (0..length)
            .map(|nth| (format!("d{nth}"), link(&json!({"$ref": format!("#/$defs/d{}", nth + 1)}))))
            .collect();
        parts.insert(format!("d{length}"), json!({"type": "string"}));
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": parts})
    }

    #[test]
    fn parts_that_double_are_too_much() {
        let links: [(&str, Link); 6] = [
            ("allOf", |next| json!({"allOf": [next, next]})),
            ("anyOf", |next| json!({"anyOf": [next, next]})),
            ("oneOf", |next| json!({"oneOf": [next, next]})),
            ("not", |next| json!({"not": next, "allOf": [next]})),
            ("if", |next| json!({"if": next, "then": next, "else": next})),
            ("unevaluated", |next| json!({"anyOf": [next], "unevaluatedProperties": false})),
        ];
        for (name, link) in links {
            assert!(!is_modest(&chain(40, link)), "{name}");
            assert!(is_modest(&chain(3, link)), "{name}");
            assert!(!is_bounded(&chain(40, link), &json!({"x": "a"})), "{name}");
            assert!(is_bounded(&chain(3, link), &json!({"x": "a"})), "{name}");
        }
    }

    #[test]
    fn parts_that_double_inside_of_a_value_are_too_much_once_it_is_deep() {
        let links: [(&str, Link, Wrap); 4] = [
            (
                "properties",
                |next| json!({"allOf": [{"properties": {"x": next}}, {"properties": {"x": next}}]}),
                |inner| json!({"x": inner}),
            ),
            (
                "additionalProperties",
                |next| json!({"additionalProperties": next, "patternProperties": {"": next}}),
                |inner| json!({"x": inner}),
            ),
            ("items", |next| json!({"items": next, "contains": next}), |inner| json!([inner])),
            (
                "dependentSchemas",
                |next| json!({"dependentSchemas": {"x": {"properties": {"x": next}}}, "properties": {"x": next}}),
                |inner| json!({"x": inner}),
            ),
        ];
        for (name, link, wrap) in links {
            let schema = chain(40, link);
            assert!(is_modest(&schema), "{name}");
            let deep = |depth| (0..depth).fold(json!("a"), |inner, _| wrap(inner));
            assert!(is_bounded(&schema, &json!({"x": deep(3)})), "{name}");
            assert!(!is_bounded(&schema, &json!({"x": deep(40)})), "{name}");
        }
    }

    #[test]
    fn references_are_followed_however_they_are_written() {
        let twice = |to: &str| json!({"allOf": [{"$ref": to}, {"$ref": to}]});
        let anchors: Vec<Value> = (0..40)
            .map(|nth| {
                let mut part = twice(&format!("#a{}", nth + 1));
                part["$anchor"] = format!("a{nth}").into();
                part
            })
            .collect();
        let resources: Vec<Value> = (0..40)
            .map(|nth| {
                let mut part = twice(&format!("part{}", nth + 1));
                part["$id"] = format!("https://example.test/part{nth}").into();
                part
            })
            .collect();
        let escaped: Object = (0..40)
            .map(|nth| (format!("d{nth}/"), twice(&format!("#/%24defs/d{}~1", nth + 1))))
            .collect();
        let embedded: Object = (0..40)
            .map(|nth| (format!("d{nth}"), twice(&format!("#/$defs/d{}", nth + 1))))
            .collect();
        for schema in [
            json!({"$ref": "#a0", "$defs": {"all": {"anyOf": anchors}}}),
            json!({"$ref": "part0", "$defs": {"all": {"prefixItems": resources}}}),
            json!({"$ref": "#/$defs/d0~1", "$defs": escaped}),
            json!({"properties": {"x": {"$id": "inner", "$ref": "#/$defs/d0", "$defs": embedded}}}),
        ] {
            assert!(!is_modest(&schema), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_is_long_or_deep_is_too_much() {
        let long: Vec<u64> = (0..MOST_PARTS).collect();
        assert!(!is_modest(&json!({"enum": long})));
        let next = |nth: u64| (format!("d{nth}"), json!({"$ref": format!("#/$defs/d{}", nth + 1)}));
        let (deep, turned): (Object, Object) =
            ((0..1000).map(next).collect(), (0..1000).rev().map(next).collect());
        for parts in [deep, turned] {
            assert!(!is_modest(&json!({"$defs": parts, "$ref": "#/$defs/d0"})));
        }
    }

    #[test]
    fn honest_schemas_are_modest() {
        let part = json!({
            "type": "array", "minItems": 1, "description": "Some.",
            "items": {"anyOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}, {"type": "null"}]},
        });
        let wide: Object = (0..200).map(|nth| (format!("p{nth}"), part.clone())).collect();
        let schema = json!({
            "type": "object", "properties": wide, "additionalProperties": false,
            "$defs": {"one": {"enum": ["a", "b"]}, "two": {"$ref": "#/$defs/one"}},
        });
        assert!(is_modest(&schema));
        let value: Object = (0..200).map(|nth| (format!("p{nth}"), json!(["a"]))).collect();
        assert!(is_bounded(&schema, &Value::Object(value)));
    }

    #[test]
    fn recursion_counts_as_often_as_the_value_has_it() {
        let operators = ["and", "or", "not", "xor", "nand", "nor", "then", "any", "all", "none"];
        let kinds = operators.map(|name| {
            let operands = json!({"type": "array", "items": {"$ref": "#/$defs/term"}});
            json!({"type": "object", "properties": {"op": {"const": name}, "of": operands}})
        });
        let schema = json!({"$ref": "#/$defs/term", "$defs": {"term": {"anyOf": kinds}}});
        assert!(is_modest(&schema));
        let deep =
            |depth| (0..depth).fold(json!({}), |inner, _| json!({"op": "or", "of": [inner]}));
        assert!(is_bounded(&schema, &deep(20)));
        assert!(is_tellable(&schema, &deep(2)));
        assert!(!is_tellable(&schema, &deep(20)));
    }

    #[test]
    fn items_that_are_compared_with_each_other_are_bounded() {
        let schema = json!({"uniqueItems": true});
        let words: Vec<String> = (0..50_000).map(|nth| nth.to_string()).collect();
        assert!(is_bounded(&schema, &json!(words)));
        let nested: Vec<[u64; 1]> = (0..50_000).map(|nth| [nth]).collect();
        assert!(!is_bounded(&schema, &json!(nested)));
    }
}
