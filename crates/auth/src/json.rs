//! JSON objects without duplicate keys. Two readers of one token must never see two different claims.

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Parses an object. A duplicate key at any depth is an error, as is anything but an object.
pub(crate) fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice::<StrictJson>(bytes) {
        Ok(StrictJson(Value::Object(map))) => Some(map),
        _ => None,
    }
}

struct StrictJson(Value);

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictJsonVisitor).map(Self)
    }
}

struct StrictJsonVisitor;

impl<'de> Visitor<'de> for StrictJsonVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(StrictJson(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, StrictJson(value))) = entries.next_entry::<String, StrictJson>()? {
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom("duplicate key"));
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, accepted: bool) {
        let found = object(text.as_bytes());
        assert_eq!(found.is_some(), accepted, "{text}");
        if let Some(map) = found {
            let plain: Value = serde_json::from_str(text).unwrap();
            assert_eq!(Value::Object(map), plain, "{text}");
        }
    }

    #[test]
    fn objects() {
        check(r#"{"a":1,"b":-2,"c":1.5,"d":"x\ny","e":[null,true,{"f":{}}]}"#, true);
        check("{}", true);
        check(r#"{"aud":"a","aud":"b"}"#, false);
        check(r#"{"aud":"a","\u0061ud":"b"}"#, false);
        check(r#"{"a":{"b":1,"b":1}}"#, false);
        check(r#"{"a":[{"b":1,"b":1}]}"#, false);
        check(r#"{"a":1}{"#, false);
        check(r#"{"a":1} "#, true);
        check(r#"{"a":1e999}"#, false);
        check("[]", false);
        check("\"a\"", false);
        check("", false);
        check(&format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000)), false);
    }

    #[test]
    fn invalid_utf8_is_rejected() {
        assert_eq!(object(b"{\"a\":\"\xff\"}"), None);
    }
}
