//! Lenient JSON parser for servers' messages: one invalid value affects nothing else.
//!
//! `serde_json` rejects a whole document for one value: a schema nested beyond its limit, half a surrogate pair as
//! Python writes it, a byte that is not UTF-8, or a number that is too large. In a list of tools, a server would lose
//! all of its tools. Such a document is parsed again, with replacements for what can't be parsed.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;

/// Levels that are read of a message that is nested too deeply. Callers should leave out list items that are nearly as
/// deep, because parts of them may be missing.
const MAX_NESTING_DEPTH: usize = 100;

/// Lists in results, whose items are independent of each other.
const LIST_FIELDS: [&str; 5] =
    ["tools", "resources", "resourceTemplates", "resource_templates", "prompts"];

/// Why a part of a message is missing.
#[derive(Debug, Clone, Copy)]
enum MissingPart {
    Levels,
    Number,
}

/// Parses a message or a batch.
///
/// Invalid UTF-8 and halves of surrogate pairs become U+FFFD. In lists, the deepest levels and numbers that are too
/// large become null. Any other answer with one of these becomes an error, so that its request ends.
pub(crate) fn parse(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).or_else(|error| parse_leniently(text).ok_or(error))
}

fn parse_leniently(text: &[u8]) -> Option<Value> {
    if !matches!(text.trim_ascii_start().first()?, b'{' | b'[') {
        return None;
    }
    let (text, mut missing) = repair(&String::from_utf8_lossy(text));
    let value = match serde_json::from_slice(&text) {
        Err(error) if is_too_deep(&error) => {
            missing = Some(MissingPart::Levels);
            let mut parser = serde_json::Deserializer::from_slice(&text);
            let value = BoundedDepth(MAX_NESTING_DEPTH).deserialize(&mut parser).ok()?;
            parser.end().ok()?;
            value
        }
        other => other.ok()?,
    };
    let Some(missing) = missing else { return Some(value) };
    match value {
        Value::Array(messages) => {
            messages.into_iter().map(|message| keep_usable(message, missing)).collect()
        }
        message => keep_usable(message, missing),
    }
}

fn is_too_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

/// Replaces halves of surrogate pairs with U+FFFD, and numbers that are too large with null.
fn repair(text: &str) -> (Vec<u8>, Option<MissingPart>) {
    let (mut repaired, mut missing) = (Vec::with_capacity(text.len()), None);
    let (mut rest, mut in_string) = (text, false);
    while let Some(first) = rest.bytes().next() {
        let length = match first {
            b'"' => {
                in_string = !in_string;
                1
            }
            b'\\' if in_string => {
                let (length, is_half) = escape(rest);
                if is_half {
                    repaired.extend_from_slice("\u{fffd}".as_bytes());
                    rest = rest.get(length..).unwrap_or_default();
                    continue;
                }
                length
            }
            b'-' | b'0'..=b'9' | b'N' | b'I' if !in_string => {
                let is_end = |c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c));
                let length = rest.find(is_end).unwrap_or(rest.len());
                let word = rest.get(..length).unwrap_or_default();
                // Some programs write `NaN` and `Infinity`.
                if word.parse::<f64>().is_ok_and(|number| !number.is_finite()) {
                    missing = Some(MissingPart::Number);
                    repaired.extend_from_slice(b"null");
                    rest = rest.get(length..).unwrap_or_default();
                    continue;
                }
                length
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        let (part, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        repaired.extend_from_slice(part.as_bytes());
        rest = after;
    }
    (repaired, missing)
}

/// Returns the length of the escape sequence at the start of a text, and whether it is half of a surrogate pair.
fn escape(text: &str) -> (usize, bool) {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, false),
        (Some(0xd800..=0xdfff), _) => (6, true),
        _ => (1 + text.chars().nth(1).map_or(0, char::len_utf8), false),
    }
}

/// Returns a message that is usable without the missing part.
fn keep_usable(message: Value, missing: MissingPart) -> Option<Value> {
    let fields = message.as_object()?;
    if fields.contains_key("method") {
        return None;
    }
    let id = fields.get("id")?;
    let is_list = |name: &&str| fields.get("result")?.get(*name)?.is_array().then_some(());
    if LIST_FIELDS.iter().any(|name| is_list(name).is_some()) {
        return Some(message);
    }
    let text = match missing {
        MissingPart::Levels => {
            format!("the answer is nested more than {MAX_NESTING_DEPTH} levels deep")
        }
        MissingPart::Number => "the answer has a number that is too large or not finite".to_owned(),
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": text}}))
}

/// Deserializes a value up to a number of levels; deeper values become null.
#[derive(Clone, Copy)]
struct BoundedDepth(usize);

impl<'de> DeserializeSeed<'de> for BoundedDepth {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        if self.0 == 0 {
            // Skipping a value takes no stack, however deep it is.
            return parser.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null);
        }
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedDepth {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Self(self.0 - 1))? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            all.insert(name, fields.next_value_seed(Self(self.0 - 1))?);
        }
        Ok(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn ordinary_messages_are_read_as_they_are() {
        for text in [r#"{"id":1,"result":{"a":[1,-2,3.5,"x",null,true]}}"#, "[{\"id\":1}]", "7"] {
            assert_eq!(parse(text.as_bytes()).unwrap().to_string(), text);
        }
        assert!(parse(b"{").is_err() && parse(b"nonsense").is_err());
    }

    #[test]
    fn one_item_that_is_too_deep_costs_a_list_nothing_else() {
        for levels in [127, 1_000, 1_000_000] {
            let deep = nested(levels);
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"a"}},{{"name":"b","inputSchema":{deep}}},{{"name":"c"}}]}}}}"#
            );
            let message = parse(text.as_bytes()).unwrap();
            let tools = message["result"]["tools"].as_array().unwrap();
            let names: Vec<&str> =
                tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["a", "b", "c"]);
            assert!(tools[1].to_string().contains(&"[".repeat(90)), "its depth is still visible");
        }
    }

    #[test]
    fn one_odd_value_costs_a_list_nothing_else() {
        let check = |odd: &[u8], want: &Value| {
            let start: &[u8] = br#"{"id":1,"result":{"tools":[{"name":"a"},{"name":"b","odd":"#;
            let end: &[u8] = br#"},{"name":"c \"\\","n":-1.5e300}]}}"#;
            let message = parse(&[start, odd, end].concat()).unwrap();
            let odd_tool = json!({"name": "b", "odd": want});
            let tools = json!([{"name": "a"}, odd_tool, {"name": "c \"\\", "n": -1.5e300}]);
            assert_eq!(message["result"]["tools"], tools, "{}", String::from_utf8_lossy(odd));
        };
        check(br#""\ud800""#, &json!("\u{fffd}"));
        check(br#""\udc00\ud83d\ude00\uD83D""#, &json!("\u{fffd}\u{1f600}\u{fffd}"));
        check(br#""\ud800\ud83d\ude00\\ud800\n""#, &json!("\u{fffd}\u{1f600}\\ud800\n"));
        check(b"\"\xff 1e400 NaN\"", &json!("\u{fffd} 1e400 NaN"));
        for number in ["1e400", "-1E+400", "NaN", "Infinity", "-Infinity", &"9".repeat(400)] {
            check(number.as_bytes(), &Value::Null);
            check(format!("[{number},\"\\ud800\"]").as_bytes(), &json!([null, "\u{fffd}"]));
        }
        let deep = format!("[\"\\ud800\",{}]", nested(1_000));
        let text = format!(r#"{{"id":1,"result":{{"tools":[{{"name":"a"}},{{"odd":{deep}}}]}}}}"#);
        let message = parse(text.as_bytes()).unwrap();
        assert_eq!(message["result"]["tools"][0]["name"], "a");
    }

    #[test]
    fn odd_text_is_replaced_everywhere_and_odd_numbers_end_their_request() {
        let text = parse(br#"{"id":1,"result":{"content":[{"text":"\ud800"}]}}"#).unwrap();
        assert_eq!(text["result"]["content"][0]["text"], "\u{fffd}");
        let notification = parse(b"{\"method\":\"m\",\"params\":{\"a\":\"\xff\"}}").unwrap();
        assert_eq!(notification["params"]["a"], "\u{fffd}");
        let answer = parse(br#"{"id":"x","result":{"structuredContent":{"n":1e400}}}"#).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("x"), &json!(-32603)));
        let progress = r#"{"method":"m","params":{"progress":1e400}}"#;
        for text in [progress, "1e400", r#""\ud800""#, "{NaN}"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn any_other_answer_that_is_too_deep_becomes_an_error() {
        let deep = nested(1_000);
        let answer = parse(format!(r#"{{"id":"x","result":{{"content":{deep}}}}}"#).as_bytes());
        let answer = answer.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("x"), &json!(-32603)));
        for text in [
            format!(r#"{{"method":"m","params":{deep}}}"#),
            format!(r#"{{"id":1,"method":"m","params":{deep}}}"#),
            deep.clone(),
            format!(r#"{{"id":1,"result":{deep}"#),
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text:.30}");
        }
    }
}
