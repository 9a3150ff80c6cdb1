//! Converts typed text to the value that a schema expects.

use super::schema::{ArgumentSchema, JsonType, SchemaBranch, display_value, nearest};
use serde_json::{Number, Value};

/// Maximum number of choices that an error lists.
const MAX_LISTED_CHOICES: usize = 20;

/// Converts one typed text. `Err` describes what is expected.
pub(crate) fn value(schema: ArgumentSchema<'_>, text: &str) -> Result<Value, String> {
    let branches = schema.branches();
    let fitting = branches.iter().find_map(|branch| of_branch(branch, text));
    fitting.ok_or_else(|| expected_values(schema, text))
}

/// Converts the texts of a key that was given several times.
pub(crate) fn values(schema: ArgumentSchema<'_>, texts: &[String]) -> Result<Value, String> {
    if let [text] = texts {
        return value(schema, text);
    }
    let array = schema.branches().into_iter().find(|branch| branch.kind == JsonType::Array);
    let Some(array) = array else {
        let count = texts.len();
        return Err(format!(
            "is given {count} times but takes one value (a word without `=` counts as one)"
        ));
    };
    let member = |text: &String| match array.schema.members() {
        Some(members) => value(members, text),
        None => Ok(json_or_text(text)),
    };
    texts.iter().map(member).collect()
}

fn of_branch(branch: &SchemaBranch<'_>, text: &str) -> Option<Value> {
    let choices = branch.schema.choices();
    if !choices.is_empty() {
        return choices.into_iter().find(|choice| display_value(choice) == text).cloned();
    }
    match branch.kind {
        JsonType::String => Some(text.into()),
        JsonType::Number => number(text).map(Value::Number),
        JsonType::Integer => integer(text).map(Value::Number),
        JsonType::Boolean => text.trim().parse().ok().map(Value::Bool),
        JsonType::Null => (text.trim() == "null").then_some(Value::Null),
        JsonType::Array => array(branch.schema, text),
        JsonType::Object => serde_json::from_str(text).ok().filter(Value::is_object),
        JsonType::Any => Some(json_or_text(text)),
    }
}

fn number(text: &str) -> Option<Number> {
    serde_json::from_str(text.trim().trim_start_matches('+')).ok()
}

/// Parses an integer; 5.0 is one.
fn integer(text: &str) -> Option<Number> {
    let number = number(text)?;
    if !number.is_f64() {
        return Some(number);
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    // A number that a float can't represent exactly is rejected.
    #[expect(clippy::cast_possible_truncation, reason = "bounded just before")]
    (float.abs() < 9_007_199_254_740_992.0).then(|| Number::from(float as i64))
}

/// Parses JSON or comma-separated scalars.
fn array(schema: ArgumentSchema<'_>, text: &str) -> Option<Value> {
    if text.trim_start().starts_with('[')
        && let Some(array) = serde_json::from_str(text).ok().filter(Value::is_array)
    {
        return Some(array);
    }
    let members = schema.members()?;
    if members.branches().iter().all(|branch| branch.kind.is_scalar()) {
        if text.is_empty() {
            return Some(Value::Array(Vec::new()));
        }
        return text.split(',').map(|part| value(members, part).ok()).collect();
    }
    // A single member of an array of objects may omit the brackets.
    let one = serde_json::from_str(text).ok().filter(Value::is_object)?;
    Some(Value::Array(vec![one]))
}

fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn expected_values(schema: ArgumentSchema<'_>, text: &str) -> String {
    let choices: Vec<String> = schema.all_choices().into_iter().map(display_value).collect();
    let shown: String = text.chars().take(80).collect();
    if choices.is_empty() {
        let hint = match schema.branches().first().map(|branch| branch.kind) {
            Some(JsonType::Object) => ": write JSON, or its fields as key.field=value",
            Some(JsonType::Array) => ": write JSON, or repeat the key",
            Some(JsonType::Boolean) => ": write true or false",
            _ => "",
        };
        return format!("expects {}, got {shown:?}{hint}", article(&schema.kind_words()));
    }
    let near = nearest(text, choices.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let more = choices.len().saturating_sub(MAX_LISTED_CHOICES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let all: Vec<&str> = choices.iter().take(MAX_LISTED_CHOICES).map(String::as_str).collect();
    format!("expects one of {}{more}; got {shown:?}{near}", all.join(", "))
}

/// Adds the article: `a string`, `an integer`.
pub(crate) fn article(words: &str) -> String {
    let article = if words.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    if words == "null" { words.to_owned() } else { format!("{article} {words}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: &Value, texts: &[&str], want: Result<&str, &str>) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let got = values(ArgumentSchema::of(schema), &texts).map(|value| value.to_string());
        match (&got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{schema} {texts:?}"),
            (Err(got), Err(want)) => assert!(got.contains(want), "no {want:?} in {got:?}"),
            _ => panic!("{schema} {texts:?}: {got:?}, not {want:?}"),
        }
    }

    #[test]
    fn scalars() {
        check(&json!({"type": "string"}), &["5"], Ok("\"5\""));
        check(&json!({"type": "string"}), &[""], Ok("\"\""));
        check(&json!({"type": "integer"}), &["-5"], Ok("-5"));
        check(&json!({"type": "integer"}), &["5.0"], Ok("5"));
        check(&json!({"type": "integer"}), &["18446744073709551615"], Ok("18446744073709551615"));
        check(&json!({"type": "integer"}), &["1e30"], Err("an integer"));
        check(&json!({"type": "integer"}), &["5.5"], Err("expects an integer, got \"5.5\""));
        check(&json!({"type": "number"}), &["1e3"], Ok("1000.0"));
        check(&json!({"type": "number"}), &["+2.5"], Ok("2.5"));
        check(&json!({"type": "number"}), &["NaN"], Err("a number"));
        check(&json!({"type": "number"}), &["five"], Err("a number"));
        check(&json!({"type": "boolean"}), &["true"], Ok("true"));
        check(&json!({"type": "boolean"}), &["yes"], Err("write true or false"));
        check(&json!({"type": "null"}), &["null"], Ok("null"));
        check(&json!({"type": "null"}), &["x"], Err("expects null"));
        check(&json!({}), &["5"], Ok("5"));
        check(&json!({}), &["five"], Ok("\"five\""));
        check(&json!({"type": "string"}), &["a", "b"], Err("given 2 times"));
    }

    #[test]
    fn choices() {
        let colors = json!({"type": "string", "enum": ["red", "green", "blue"]});
        check(&colors, &["green"], Ok("\"green\""));
        check(&colors, &["gren"], Err("did you mean green?"));
        check(
            &colors,
            &["12345678901"],
            Err("expects one of red, green, blue; got \"12345678901\""),
        );
        check(&json!({"enum": [1, "2", null]}), &["1"], Ok("1"));
        check(&json!({"enum": [1, "2", null]}), &["2"], Ok("\"2\""));
        check(&json!({"enum": [1, "2", null]}), &["null"], Ok("null"));
        let titled = json!({"oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]});
        check(&titled, &["g"], Ok("\"g\""));
        check(&titled, &["b"], Err("expects one of r, g"));
        let many: Vec<String> = (0..30).map(|n| format!("choice{n}")).collect();
        check(&json!({"enum": many}), &["x"], Err("choice19 and 10 more"));
    }

    #[test]
    fn parts() {
        let words = json!({"type": "array", "items": {"type": "string"}});
        check(&words, &["a,b"], Ok(r#"["a","b"]"#));
        check(&words, &["a,b", "c"], Ok(r#"["a,b","c"]"#));
        check(&words, &[r#"["a,b"]"#], Ok(r#"["a,b"]"#));
        check(&words, &["[x"], Ok(r#"["[x"]"#));
        check(&words, &[""], Ok("[]"));
        let numbers = json!({"type": "array", "items": {"type": ["integer", "null"]}});
        check(&numbers, &["1,null,-3"], Ok("[1,null,-3]"));
        check(&numbers, &["1,x"], Err("array of integer or null"));
        let objects = json!({"type": "array", "items": {"type": "object"}});
        check(&objects, &[r#"{"a":1}"#], Ok(r#"[{"a":1}]"#));
        check(&objects, &[r#"{"a":1}"#, r#"{"b":2}"#], Ok(r#"[{"a":1},{"b":2}]"#));
        check(&objects, &["a,b"], Err("repeat the key"));
        check(&json!({"type": "array"}), &["a", "1"], Ok(r#"["a",1]"#));
        check(&json!({"type": "object"}), &[r#"{"a":1}"#], Ok(r#"{"a":1}"#));
        check(&json!({"type": "object"}), &["[]"], Err("key.field=value"));
    }

    #[test]
    fn the_first_branch_that_fits() {
        check(&json!({"type": ["integer", "string"]}), &["5"], Ok("5"));
        check(&json!({"type": ["integer", "string"]}), &["x"], Ok("\"x\""));
        check(&json!({"type": ["string", "integer"]}), &["5"], Ok("\"5\""));
        let optional = json!({"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}], "$defs": {"n": {"type": "number"}}});
        check(&optional, &["2"], Ok("2"));
        check(&optional, &["null"], Ok("null"));
        check(&optional, &["x"], Err("a number or null"));
        check(&json!({"allOf": [{"type": "integer"}], "description": "d"}), &["2"], Ok("2"));
    }

    #[test]
    fn schemas_without_end_do_end() {
        let branches: Vec<Value> = (0..200).map(|_| json!({"$ref": "#"})).collect();
        let own = json!({"anyOf": branches, "oneOf": branches, "allOf": branches});
        check(&own, &["x"], Ok("\"x\""));
        assert!(ArgumentSchema::of(&own).properties().is_empty());
        check(&json!({"$ref": "#"}), &["x"], Ok("\"x\""));
        check(&json!({"$ref": "#/nowhere"}), &["x"], Ok("\"x\""));
        check(&json!({"$ref": "https://elsewhere"}), &["x"], Ok("\"x\""));
        check(&json!(true), &["x"], Ok("\"x\""));
        check(&json!("no schema"), &["x"], Ok("\"x\""));
        check(&json!({"type": 5, "enum": 7, "anyOf": {}}), &["x"], Ok("\"x\""));
    }
}
