//! JSON from a server, read so that one part that is nested too deep costs no more than itself.
//!
//! The parser refuses whole documents that are nested beyond its limit. A list of tools in which one schema is nested like that
//! would cost a server all of its tools. Such a document is read a second time with what lies too deep left out.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;

/// Levels that are read of a message that is nested too deep. Whoever reads lists should leave out items that are nearly as
/// deep: something of them may be missing.
const MAX_LEVELS: usize = 100;

/// Lists of a result. Their items are independent of each other.
const LISTS: [&str; 5] =
    ["tools", "resources", "resourceTemplates", "resource_templates", "prompts"];

/// Reads a message, or a batch of them.
///
/// Of lists that are nested too deep, the deepest levels are null. Any other answer that is nested too deep becomes an error
/// in its place, so that its request ends.
pub(crate) fn parse(text: &[u8]) -> serde_json::Result<Value> {
    match serde_json::from_slice(text) {
        Err(error) if is_too_deep(&error) => parse_too_deep(text).ok_or(error),
        other => other,
    }
}

fn is_too_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

fn parse_too_deep(text: &[u8]) -> Option<Value> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    let value = Levels(MAX_LEVELS).deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    match value {
        Value::Array(messages) => messages.into_iter().map(settle).collect(),
        message => settle(message),
    }
}

/// A message that is of use without what was too deep.
fn settle(message: Value) -> Option<Value> {
    let fields = message.as_object()?;
    if fields.contains_key("method") {
        return None;
    }
    let id = fields.get("id")?;
    let is_list = |name: &&str| fields.get("result")?.get(*name)?.is_array().then_some(());
    if LISTS.iter().any(|name| is_list(name).is_some()) {
        return Some(message);
    }
    let text = format!("the answer is nested more than {MAX_LEVELS} levels deep");
    Some(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": text}}))
}

/// Reads a value up to a number of levels; what lies deeper is null.
#[derive(Clone, Copy)]
struct Levels(usize);

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        if self.0 == 0 {
            // Passing over a value takes no stack, however deep it is.
            return parser.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null);
        }
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
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
            assert!(
                tools[1].to_string().contains(&"[".repeat(90)),
                "it is still told by its depth"
            );
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
