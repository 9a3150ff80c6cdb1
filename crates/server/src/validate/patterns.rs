//! Patterns of a schema. docent matches only those that need a single pass over the text: the time for lookaround or
//! backreferences cannot be bounded, not even by limiting backtracking, since each step may read the whole text.

use super::cost::count;
use docent_tool::Object;
use serde_json::Value;
use std::collections::HashSet;

/// Maximum patterns of a schema, and their bytes.
const MAX_PATTERNS: usize = 500;
const MAX_TOTAL_PATTERN_BYTES: usize = 32 * 1024;
/// Maximum bytes of one pattern: reading some takes quadratic time.
const MAX_PATTERN_BYTES: usize = 4096;
/// Maximum bytes of all compiled patterns.
const MAX_COMPILED_BYTES: usize = 8 << 20;
/// States of a pattern that advance over a byte in one step.
const STATES_PER_STEP: u64 = 128;

/// Keywords that could reject a value because a nested part matches, or because its evaluated fields are no longer
/// known.
const INVERTING_KEYWORDS: [&str; 7] =
    ["not", "if", "then", "else", "maxContains", "unevaluatedProperties", "unevaluatedItems"];

/// Maximum bytes of each compiled pattern; `None` if there are too many.
pub(super) fn room(schema: &Value) -> Option<usize> {
    let patterns = collect_patterns(schema);
    let lengths = || patterns.iter().map(|pattern| pattern.len());
    let is_modest = patterns.len() <= MAX_PATTERNS
        && lengths().all(|length| length <= MAX_PATTERN_BYTES)
        && lengths().sum::<usize>() <= MAX_TOTAL_PATTERN_BYTES;
    is_modest.then(|| MAX_COMPILED_BYTES / patterns.len().max(1))
}

/// Removes the patterns that need more than one pass, and everything that could reject a value because of that: every
/// value that matches the whole schema matches the rest.
pub(super) fn loosen(schema: &mut Value) {
    if collect_patterns(schema).into_iter().any(is_slow) {
        loosen_part(schema);
    }
}

fn loosen_part(part: &mut Value) {
    match part {
        Value::Array(parts) => parts.iter_mut().for_each(loosen_part),
        Value::Object(keywords) => {
            if keywords.get("pattern").and_then(Value::as_str).is_some_and(is_slow) {
                keywords.remove("pattern");
            }
            for keyword in INVERTING_KEYWORDS {
                keywords.remove(keyword);
            }
            if let Some(choices) = keywords.remove("oneOf") {
                keywords.entry("anyOf").or_insert(choices);
            }
            for (keyword, inner) in keywords {
                match keyword.as_str() {
                    "const" | "enum" | "default" | "examples" => {}
                    // These contain names where others contain keywords.
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas" | "dependencies" => {
                        let named = inner.as_object_mut().into_iter();
                        named.flat_map(Object::values_mut).for_each(loosen_part);
                    }
                    _ => loosen_part(inner),
                }
            }
        }
        _ => {}
    }
}

/// Every pattern once, as a validator compiles it.
fn collect_patterns(schema: &Value) -> HashSet<&str> {
    fn gather<'a>(part: &'a Value, patterns: &mut HashSet<&'a str>) {
        match part {
            Value::Array(parts) => parts.iter().for_each(|part| gather(part, patterns)),
            Value::Object(keywords) => {
                patterns.extend(keywords.get("pattern").and_then(Value::as_str));
                let named = keywords.get("patternProperties").and_then(Value::as_object);
                patterns
                    .extend(named.into_iter().flat_map(|named| named.keys().map(String::as_str)));
                keywords.values().for_each(|part| gather(part, patterns));
            }
            _ => {}
        }
    }
    let mut patterns = HashSet::new();
    gather(schema, &mut patterns);
    patterns
}

/// Whether a pattern uses lookaround or backreferences. One that does and is missed here cannot be compiled.
fn is_slow(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!"].into_iter().any(|sign| pattern.contains(sign));
    let mut signs = pattern.chars();
    let mut escaped = std::iter::from_fn(|| {
        signs.by_ref().find(|sign| *sign == '\\')?;
        signs.next()
    });
    looks || escaped.any(|sign| matches!(sign, 'k' | '1'..='9'))
}

/// Steps for matching a pattern against this many texts, of this many bytes in total.
pub(super) fn matching(pattern: &str, texts: usize, bytes: usize) -> u64 {
    let (texts, bytes) = (count(texts), count(bytes));
    let begun = texts.saturating_mul(1 + count(pattern.len() / 64));
    let read = bytes.saturating_mul(states(pattern)) / STATES_PER_STEP;
    begun.saturating_add(bytes / 4).saturating_add(read)
}

/// Approximate number of states once repetitions are expanded.
fn states(pattern: &str) -> u64 {
    let (mut around, mut all, mut last) = (Vec::new(), 0_u64, 0_u64);
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '(' => around.push(std::mem::take(&mut all)),
            ')' => {
                last = all.max(1);
                all = around.pop().unwrap_or_default().saturating_add(last);
            }
            '{' => {
                let times: String = signs.by_ref().take_while(|sign| *sign != '}').collect();
                let times = times.split(',').filter_map(|most| most.trim().parse::<u64>().ok());
                let more = last.saturating_mul(times.max().unwrap_or(1).saturating_sub(1));
                (all, last) = (all.saturating_add(more), last.saturating_add(more));
            }
            '*' | '+' | '?' => {}
            sign => {
                if sign == '[' {
                    skip_class(&mut signs);
                } else if sign == '\\' {
                    signs.next();
                }
                (all, last) = (all.saturating_add(1), 1);
            }
        }
    }
    around.into_iter().fold(all, u64::saturating_add).max(1)
}

fn skip_class(signs: &mut std::str::Chars<'_>) {
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => {
                signs.next();
            }
            ']' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repetitions_are_written_out() {
        let cases = [
            ("", 1),
            ("^[a-z]+$", 3),
            (r"^[\]{9}]{3}$", 5),
            (r"\d{4}-\d{2}", 7),
            ("(ab){3}", 6),
            ("((a{10}){10}){10}", 1000),
            ("((a{1,10})*{10,})+{10}", 1000),
            (r"\{3}", 3),
            ("(((a", 1),
        ];
        for (pattern, want) in cases {
            assert_eq!(states(pattern), want, "{pattern}");
        }
        assert_eq!(states(&"(a{1000000})".repeat(3).replace(')', "){1000000}")), 3_000_000_000_000);
    }

    #[test]
    fn patterns_that_need_more_than_one_pass_are_recognized() {
        for slow in ["(?=a)", "^(?!b)", "(?<=c)d", "(?<!e)", r"(a)\1", r"(?<n>a)\k<n>", r"\\\1"] {
            assert!(is_slow(slow), "{slow}");
        }
        for quick in ["^[a-z]+$", "(?:a|b)", "(?<name>a)", r"\\1", r"\d\w\.", "a\\"] {
            assert!(!is_slow(quick), "{quick}");
        }
    }

    #[test]
    fn a_schema_without_patterns_accepts_at_least_as_much() {
        let slow = json!({"type": "string", "pattern": "^(?!a)"});
        let mut schema = json!({
            "properties": {
                "not": slow, "pattern": {"type": "string", "pattern": "^b"},
                "x": {"not": slow, "oneOf": [slow, {"const": {"pattern": "(?=c)"}}]},
                "y": {"if": slow, "then": true, "else": false, "unevaluatedItems": false},
            },
            "additionalProperties": false,
        });
        loosen(&mut schema);
        let left = json!({
            "properties": {
                "not": {"type": "string"}, "pattern": {"type": "string", "pattern": "^b"},
                "x": {"anyOf": [{"type": "string"}, {"const": {"pattern": "(?=c)"}}]},
                "y": {},
            },
            "additionalProperties": false,
        });
        assert_eq!(schema, left);
        let mut plain = json!({"not": {"pattern": "^a"}, "oneOf": [true]});
        let before = plain.clone();
        loosen(&mut plain);
        assert_eq!(plain, before);
    }

    #[test]
    fn too_many_or_too_long_patterns_are_rejected() {
        let all = |patterns: Vec<String>| {
            let each = |pattern: &String| json!({"pattern": pattern});
            json!({"anyOf": patterns.iter().map(each).collect::<Vec<_>>()})
        };
        let named = |most: usize| (0..most).map(|nth| format!("^{nth}")).collect::<Vec<_>>();
        assert_eq!(room(&all(named(1))), Some(MAX_COMPILED_BYTES));
        assert_eq!(room(&all(named(MAX_PATTERNS))), Some(MAX_COMPILED_BYTES / MAX_PATTERNS));
        assert_eq!(room(&all(named(MAX_PATTERNS + 1))), None);
        assert_eq!(
            room(&all(vec!["^a$".into(); 2 * MAX_PATTERNS])),
            Some(MAX_COMPILED_BYTES),
            "one is compiled once"
        );
        assert_eq!(room(&all(vec!["a".repeat(MAX_PATTERN_BYTES + 1)])), None);
        let long =
            (0..9).map(|nth| format!("{nth}{}", "a".repeat(MAX_PATTERN_BYTES - 1))).collect();
        assert_eq!(room(&all(long)), None);
        let keys: Object =
            named(MAX_PATTERNS + 1).into_iter().map(|name| (name, true.into())).collect();
        assert_eq!(room(&json!({"patternProperties": keys})), None);
    }
}
