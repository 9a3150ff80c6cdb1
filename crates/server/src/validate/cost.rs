//! Estimates the cost of checking a value against a schema in advance. The check itself can't be interrupted, and if
//! parts of a schema each refer to the next one twice, the work doubles with every part.
//!
//! Follows schema and value together, like a validator that never stops early. Keywords of every draft count.

use super::patterns::matching;
use docent_tool::Object;
use serde_json::Value;
use std::{borrow::Cow, collections::HashMap, iter::empty};

/// Maximum parts of a schema, both as written and as applied to one value with references resolved. A long text counts
/// as several.
const MAX_PARTS: u64 = 100_000;
/// Maximum parts in total, with each part visited separately.
const MAX_TOTAL_PARTS: u64 = 20 * MAX_PARTS;
/// Maximum steps of one check.
const MAX_CHECK_STEPS: u64 = 10_000_000;
/// Maximum steps of a check that collects the problems, which takes several times as long.
const MAX_PROBLEM_STEPS: u64 = 100_000;
/// Maximum nesting of schema parts on the way to one value: each uses stack.
const MAX_DEPTH: usize = 500;
/// Minimum steps worth caching.
const MIN_CACHED_STEPS: u64 = 16;
/// Reference targets that a validator visits on a value before it caches the outcome.
const UNCACHED_VISITS: u64 = 16;
/// Bytes of a text compared per step, and bytes read per step.
const BYTES_COMPARED_PER_STEP: usize = 64;
const BYTES_READ_PER_STEP: usize = 4;
/// Names looked up per step.
const NAMES_PER_STEP: usize = 8;

/// Placeholder instance, used when only the schema's own cost matters.
static PLACEHOLDER_VALUE: Value = Value::Null;

/// Whether no part of a schema is too expensive by itself, whatever the value.
pub(super) fn is_within_limits(schema: &Value) -> bool {
    if parts(schema) > MAX_PARTS {
        return false;
    }
    let mut counting = CostCounter::new(schema, MAX_PARTS);
    counting.left = MAX_TOTAL_PARTS;
    counting.each(schema).is_some()
}

/// Whether a value can be checked in bounded time.
pub(super) fn is_bounded(schema: &Value, value: &Value) -> bool {
    let mut counting = CostCounter::new(schema, MAX_CHECK_STEPS);
    counting.recalls = true;
    counting.visit(schema, value, 0).is_some()
}

/// Whether the problems of a value can be collected in bounded time. Unlike validity, they are not cached when a part
/// returns to the same value.
pub(super) fn can_collect_problems(schema: &Value, value: &Value) -> bool {
    let mut counting = CostCounter::new(schema, MAX_PROBLEM_STEPS);
    counting.visit(schema, value, 0).is_some()
}

/// The number of values in a value, including itself. A long text counts as several.
fn parts(value: &Value) -> u64 {
    let text = |text: &str| count(text.len() / BYTES_COMPARED_PER_STEP);
    let inside: u64 = match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(fields) => fields.iter().map(|(name, part)| text(name) + parts(part)).sum(),
        Value::String(string) => text(string),
        _ => 0,
    };
    inside.saturating_add(1)
}

/// The cost of applying a part to a value, and of determining afterwards which fields it has evaluated.
#[derive(Clone, Copy)]
struct StepCost {
    taken: u64,
    marking: u64,
    /// Nesting depth of the parts.
    height: usize,
    /// The cost without recursive parts, and the maximum cost of one recursive part.
    level: u64,
    widest: u64,
}

impl StepCost {
    const ONE: Self = Self { taken: 1, marking: 1, height: 1, level: 1, widest: 0 };

    /// The cost of a part that recurses, on the way around the cycle.
    fn coming_back(self) -> Self {
        Self { level: 1, widest: self.widest.max(self.level), ..self }
    }

    /// The cost of a part that has been applied to the same value before: the validator caches the outcome, unless it
    /// ended before many others were visited.
    fn again(self) -> Self {
        let forgotten = self.widest.max(self.level).saturating_mul(UNCACHED_VISITS);
        Self { taken: self.taken.min(forgotten), ..self.coming_back() }
    }

    fn times(self, times: u64) -> Self {
        let all = |steps: u64| steps.saturating_mul(times);
        let (taken, level, widest) = (all(self.taken), all(self.level), all(self.widest));
        Self { taken, level, widest, ..self }
    }

    fn add_own(&mut self, steps: u64) {
        self.taken = self.taken.saturating_add(steps);
        self.level = self.level.saturating_add(steps);
    }

    /// Adds another part on the same value. Its evaluated fields count only if it matches, which is checked again.
    fn add_beside(&mut self, other: Self) {
        self.add_inside(other);
        let again = other.taken.saturating_add(other.marking);
        self.marking = self.marking.saturating_add(again);
    }

    /// Adds a part on a nested value.
    fn add_inside(&mut self, other: Self) {
        self.taken = self.taken.saturating_add(other.taken);
        self.height = self.height.max(other.height + 1);
        self.level = self.level.saturating_add(other.level);
        self.widest = self.widest.max(other.widest);
    }
}

struct CostCounter<'a> {
    root: &'a Value,
    /// Collected when a reference needs them.
    names: Option<SchemaNames<'a>>,
    most: u64,
    left: u64,
    /// Reference targets that contain the current part.
    open: Vec<usize>,
    /// Whether a repeated visit to a value is recognized, as the validator does.
    recalls: bool,
    recalled: HashMap<(usize, usize), StepCost>,
    /// How often a part recursed.
    recursions: u64,
    /// Costs of parts on values without recursion: keeps the estimate fast for parts that double.
    counted: HashMap<(usize, usize), StepCost>,
}

impl<'a> CostCounter<'a> {
    fn new(root: &'a Value, most: u64) -> Self {
        Self {
            root,
            names: None,
            most,
            left: most,
            open: Vec::new(),
            recalls: false,
            recalled: HashMap::new(),
            recursions: 0,
            counted: HashMap::new(),
        }
    }

    fn spend(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    /// Visits every part separately.
    fn each(&mut self, part: &'a Value) -> Option<()> {
        match part {
            Value::Array(items) => items.iter().try_for_each(|part| self.each(part)),
            Value::Object(fields) => {
                self.visit(part, &PLACEHOLDER_VALUE, 0)?;
                fields.values().try_for_each(|part| self.each(part))
            }
            _ => Some(()),
        }
    }

    /// The cost of a part on a value; `None` once it is too much.
    fn visit(&mut self, part: &'a Value, value: &'a Value, depth: usize) -> Option<StepCost> {
        let Value::Object(keywords) = part else {
            self.spend(1)?;
            return Some(StepCost::ONE);
        };
        let own = own(keywords, value);
        self.spend(own.saturating_add(1))?;
        if depth >= MAX_DEPTH {
            return None;
        }
        let depth = depth + 1;
        let mut all = StepCost::ONE;
        all.add_own(own);
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
                "propertyNames" => {
                    if let Value::Object(fields) = value {
                        let each = self.visit(inner, &PLACEHOLDER_VALUE, depth)?;
                        let letters =
                            fields.keys().map(|name| 1 + name.len() / BYTES_READ_PER_STEP);
                        all.add_inside(each.times(count(letters.sum())));
                    }
                }
                keyword => {
                    for (inner, child) in nested_parts(keyword, inner, keywords, value) {
                        all.add_inside(self.visit(inner, child, depth)?);
                    }
                }
            }
        }
        if keywords.contains_key("unevaluatedProperties")
            || keywords.contains_key("unevaluatedItems")
        {
            all.add_own(all.marking);
        }
        (all.taken <= self.most).then_some(all)
    }

    fn follow(&mut self, target: &'a Value, value: &'a Value, depth: usize) -> Option<StepCost> {
        let key = (address(target), address(value));
        let comes_back = self.recalls && self.open.contains(&key.0);
        self.recursions += u64::from(comes_back);
        let known = if comes_back { &self.recalled } else { &self.counted };
        if let Some(steps) = known.get(&key).copied() {
            self.spend(1)?;
            return (depth + steps.height <= MAX_DEPTH).then_some(steps);
        }
        if comes_back {
            // A part that returns to the same value on its own path ends there.
            self.recalled.insert(key, StepCost::ONE);
        }
        let before = self.recursions;
        self.open.push(key.0);
        let steps = self.visit(target, value, depth)?;
        self.open.pop();
        if comes_back {
            // Only containers are cached.
            if value.is_array() || value.is_object() {
                self.recalled.insert(key, steps.again());
            } else {
                self.recalled.remove(&key);
            }
            return Some(steps.coming_back());
        }
        if self.recursions == before && steps.taken >= MIN_CACHED_STEPS {
            self.counted.insert(key, steps);
        }
        Some(steps)
    }

    /// The possible targets of a reference. If a schema has several resources, all candidates count.
    fn targets(&mut self, reference: &Value) -> Option<Vec<&'a Value>> {
        let reference = reference.as_str().unwrap_or_default();
        if reference.is_empty() {
            return Some(Vec::new());
        }
        let (resource, raw) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = decode_fragment(raw);
        let root = self.root;
        let names = self.names.get_or_insert_with(|| SchemaNames::of(root));
        let (asked, looked_at) = (last(resource), names.resources.len() + names.anchors.len());
        let is_any = resource.is_empty() || !is_plain(asked);
        let is_meant = |name: Option<&str>| is_any || name.is_none_or(|name| name == asked);
        let resources = names.resources.iter().filter(|(name, _)| is_meant(*name));
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
        // A target with two names counts once.
        targets.dedup_by_key(|target| address(target));
        let read = 1 + reference.len() / BYTES_COMPARED_PER_STEP;
        self.spend(count(looked_at.saturating_mul(read)))?;
        Some(targets)
    }
}

/// Parts of a schema that have names of their own.
struct SchemaNames<'a> {
    /// Names that can be written in several ways are not indexed.
    resources: Vec<(Option<&'a str>, &'a Value)>,
    anchors: Vec<(&'a str, &'a Value)>,
}

impl<'a> SchemaNames<'a> {
    fn of(root: &'a Value) -> Self {
        let mut names = Self { resources: vec![(Some(""), root)], anchors: Vec::new() };
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
                    if let Some(anchor) = id.strip_prefix('#') {
                        self.anchors.push((anchor, part));
                    } else {
                        let name = Some(last(id)).filter(|name| is_plain(name));
                        self.resources.push((name, part));
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

/// The last segment of an address, which does not depend on how much of the address is omitted.
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

/// The parts that a keyword applies to nested values.
fn nested_parts<'a>(
    keyword: &str,
    inner: &'a Value,
    beside: &'a Object,
    value: &'a Value,
) -> Box<dyn Iterator<Item = (&'a Value, &'a Value)> + 'a> {
    let parts = move || inner.as_object().into_iter().flatten();
    let listed = |key: &str| beside.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    match (keyword, value) {
        ("properties", Value::Object(fields)) => match inner {
            // Iterates over the smaller side, as the validator does.
            Value::Object(known) if fields.len() < known.len() => {
                let fields = fields.iter();
                Box::new(fields.filter_map(move |(name, field)| Some((known.get(name)?, field))))
            }
            _ => Box::new(parts().filter_map(move |(name, part)| Some((part, fields.get(name)?)))),
        },
        ("patternProperties", Value::Object(fields)) => Box::new(
            parts().flat_map(move |(_, part)| fields.values().map(move |field| (part, field))),
        ),
        ("additionalProperties" | "unevaluatedProperties", Value::Object(fields)) => {
            let known = beside.get("properties").and_then(Value::as_object);
            let is_known = move |name: &str| known.is_some_and(|known| known.contains_key(name));
            let others = fields.iter().filter(move |(name, _)| !is_known(name.as_str()));
            Box::new(others.map(move |(_, field)| (inner, field)))
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

/// The cost of keywords that inspect the whole value, and of finding those keywords.
fn own(keywords: &Object, value: &Value) -> u64 {
    let has = |keyword: &&str| keywords.contains_key(*keyword);
    let pattern = keywords.get("pattern").and_then(Value::as_str);
    let looks = match value {
        // The bytes of a name are counted where it appears.
        Value::Null => pattern.map_or(0, |pattern| matching(pattern, 1, BYTES_READ_PER_STEP)),
        Value::String(text) => {
            let compared = ["minLength", "maxLength", "enum"].iter().any(has);
            let compared = if compared { text.len() / BYTES_COMPARED_PER_STEP } else { 0 };
            let read = if has(&"format") { text.len() / BYTES_READ_PER_STEP } else { 0 };
            let matched = pattern.map_or(0, |pattern| matching(pattern, 1, text.len()));
            matched.saturating_add(count(compared + read))
        }
        Value::Array(items) if keywords.get("uniqueItems") == Some(&Value::Bool(true)) => {
            // Values with the same digest are compared one by one.
            let compared = if items.iter().any(can_collide) { items.len() } else { 1 };
            parts(value).saturating_mul(count(compared)) / 32
        }
        Value::Object(fields) => {
            let patterns = keywords.get("patternProperties").and_then(Value::as_object);
            let patterns = patterns.filter(|patterns| !patterns.is_empty());
            let letters = patterns.map_or(0, |_| fields.keys().map(String::len).sum::<usize>());
            let each = patterns.into_iter().flat_map(Object::keys);
            let each = each.map(|pattern| matching(pattern, fields.len(), letters));
            each.fold(0, u64::saturating_add)
        }
        _ => 0,
    };
    let looked_up = count(names(keywords, value) / NAMES_PER_STEP);
    looks.saturating_add(looked_up).saturating_add(comparison_cost(keywords, value))
}

/// Names and options that are iterated, in the schema and in the value.
fn names(keywords: &Object, value: &Value) -> usize {
    let length = |list: &Value| match list {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    let listed = |keyword: &str| keywords.get(keyword).map_or(0, length);
    let all = keywords.len() + listed("enum");
    let Value::Object(fields) = value else { return all };
    let needed = ["dependentRequired", "dependencies"].into_iter();
    let needed = needed.filter_map(|keyword| keywords.get(keyword)?.as_object());
    let needed = needed.flat_map(Object::values).filter_map(Value::as_array);
    all + fields.len()
        + ["required", "dependentRequired", "dependentSchemas", "dependencies"]
            .map(listed)
            .iter()
            .sum::<usize>()
        + needed.map(Vec::len).sum::<usize>()
}

/// The cost of comparing a value with its allowed values.
fn comparison_cost(keywords: &Object, value: &Value) -> u64 {
    let is_like = |option: &&Value| match (*option, value) {
        (Value::String(one), Value::String(other)) => one.len() == other.len(),
        (Value::Array(one), Value::Array(other)) => one.len() == other.len(),
        (Value::Object(one), Value::Object(other)) => one.len() == other.len(),
        _ => false,
    };
    let options = keywords.get("enum").and_then(Value::as_array).into_iter().flatten();
    let alike = options.chain(keywords.get("const")).filter(is_like).count();
    if alike == 0 {
        return 0;
    }
    parts(value).saturating_mul(count(alike)) / count(NAMES_PER_STEP)
}

pub(super) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Whether an attacker can choose different values like this one with the same digest: the digest of an array is that
/// of its items, and numbers are rounded.
fn can_collide(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(_) => true,
        Value::Object(fields) => fields.values().any(can_collide),
        Value::Number(number) => number.as_f64().is_none_or(|number| number.abs() >= EXACT),
        _ => false,
    }
}

/// A fragment of an address with escapes decoded.
fn decode_fragment(fragment: &str) -> Cow<'_, str> {
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

    /// A part that refers to the next one twice.
    type Link = fn(&Value) -> Value;
    /// Wraps a value in another.
    type Wrap = fn(Value) -> Value;

    /// Parts that each refer to the next one twice.
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
            assert!(!is_within_limits(&chain(40, link)), "{name}");
            assert!(is_within_limits(&chain(3, link)), "{name}");
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
            assert!(is_within_limits(&schema), "{name}");
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
            assert!(!is_within_limits(&schema), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_is_long_or_deep_is_too_much() {
        let long: Vec<u64> = (0..MAX_PARTS).collect();
        assert!(!is_within_limits(&json!({"enum": long})));
        let next = |nth: u64| (format!("d{nth}"), json!({"$ref": format!("#/$defs/d{}", nth + 1)}));
        let (deep, turned): (Object, Object) =
            ((0..1000).map(next).collect(), (0..1000).rev().map(next).collect());
        for parts in [deep, turned] {
            assert!(!is_within_limits(&json!({"$defs": parts, "$ref": "#/$defs/d0"})));
        }
    }

    #[test]
    fn ordinary_schemas_are_within_limits() {
        let part = json!({
            "type": "array", "minItems": 1, "description": "Some.",
            "items": {"anyOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}, {"type": "null"}]},
        });
        let wide: Object = (0..200).map(|nth| (format!("p{nth}"), part.clone())).collect();
        let schema = json!({
            "type": "object", "properties": wide, "additionalProperties": false,
            "$defs": {"one": {"enum": ["a", "b"]}, "two": {"$ref": "#/$defs/one"}},
        });
        assert!(is_within_limits(&schema));
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
        assert!(is_within_limits(&schema));
        let deep =
            |depth| (0..depth).fold(json!({}), |inner, _| json!({"op": "or", "of": [inner]}));
        assert!(is_bounded(&schema, &deep(20)));
        assert!(can_collect_problems(&schema, &deep(2)));
        assert!(!can_collect_problems(&schema, &deep(20)));
    }

    /// A schema whose `x` must match one part many times.
    fn many(part: &Value) -> Value {
        let refs = vec![json!({"$ref": "#/$defs/part"}); 20_000];
        json!({"properties": {"x": {"allOf": refs}}, "$defs": {"part": part}})
    }

    #[test]
    fn names_that_are_looked_up_count() {
        let words = |most: usize| (0..most).map(|nth| format!("n{nth}"));
        let fields = |most: usize| words(most).map(|name| (name, true.into())).collect::<Object>();
        let few = json!({"x": {"a": 1, "b": 2}});
        let needed = many(&json!({"required": words(5000).collect::<Vec<_>>()}));
        let dependent = json!({"a": words(5000).collect::<Vec<_>>()});
        for schema in [needed, many(&json!({"dependentRequired": dependent}))] {
            assert!(is_within_limits(&schema) && !is_bounded(&schema, &few));
        }
        let known = many(&json!({"properties": fields(8000)}));
        assert!(
            is_within_limits(&known) && is_bounded(&known, &few),
            "only the fields are looked up"
        );
        assert!(!is_bounded(&known, &json!({"x": fields(8000)})));
        assert!(
            !is_within_limits(&many(&Value::Object(fields(8000)))),
            "keywords that mean nothing"
        );
        let long = format!("#/$defs/{}", "%61".repeat(10_000));
        assert!(!is_within_limits(&many(&json!({"$ref": long}))), "escapes of an address");
    }

    #[test]
    fn values_that_are_compared_count() {
        let numbers = |most: usize| json!((0..most).collect::<Vec<_>>());
        let whole = (numbers(8000), numbers(7999));
        let text = (json!("a".repeat(1 << 20)), json!("a"));
        for (value, other) in [whole, text] {
            for part in [json!({"const": value}), json!({"enum": [0, value]})] {
                let schema = many(&part);
                assert!(is_within_limits(&schema));
                assert!(!is_bounded(&schema, &json!({"x": value})));
                assert!(is_bounded(&schema, &json!({"x": other})));
            }
        }
    }

    #[test]
    fn patterns_count_by_the_text_and_by_their_repetitions() {
        let pattern = "^[a-z]{1,2000}$";
        let (short, long) = ("abc".to_owned(), "a".repeat(2_000_000));
        let named = |name: &String| json!({name: 1});
        let of_names = json!({"propertyNames": {"anyOf": [{"pattern": pattern}]}});
        let of_fields = json!({"patternProperties": {pattern: true}});
        for schema in [of_names, of_fields] {
            assert!(is_within_limits(&schema) && is_bounded(&schema, &named(&short)), "{schema}");
            assert!(!is_bounded(&schema, &named(&long)), "{schema}");
        }
        let schema = json!({"pattern": pattern});
        assert!(is_bounded(&schema, &json!(short)) && !is_bounded(&schema, &json!(long)));
        assert!(is_bounded(&json!({"pattern": "^[^<]*$"}), &json!(long)));
        assert!(!is_within_limits(&json!({"pattern": "((a{1,999}){1,999}){1,999}"})));
    }

    #[test]
    fn uncached_visits_count_each_time() {
        let numbers = json!((0..8000).collect::<Vec<_>>());
        let refs = vec![json!({"$ref": "#/$defs/part"}); 20_000];
        let around = |mut part: Value| {
            part["properties"] = json!({"x": {"allOf": refs}});
            json!({"$ref": "#/$defs/part", "$defs": {"part": part}})
        };
        let whole = around(json!({"enum": [numbers]}));
        assert!(!is_bounded(&whole, &json!({"x": numbers})));
        let text = around(json!({"pattern": "^[a-z]*$"}));
        assert!(!is_bounded(&text, &json!({"x": "a".repeat(10_000)})));
        assert!(is_bounded(&text, &json!({"x": "a"})));
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
