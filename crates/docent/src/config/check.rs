//! Checks one layer against the known keys and normalizes the spelling of its keys.

use super::{
    error::{ConfigProblem, ValueSource},
    keys::{self, ConfigKey, KeyType, join},
};
use serde_json::{Map, Value};

/// Collects the problems of one layer.
#[derive(Debug)]
pub(super) struct ConfigChecker {
    place: ValueSource,
    problems: Vec<ConfigProblem>,
}

impl ConfigChecker {
    pub(super) fn new(place: ValueSource) -> Self {
        Self { place, problems: Vec::new() }
    }

    pub(super) fn into_problems(self) -> Vec<ConfigProblem> {
        self.problems
    }

    /// Checks a whole file and returns it with keys in snake case; invalid parts are dropped and reported.
    pub(super) fn file(&mut self, value: Value) -> Value {
        let mut value = value;
        // Editors find the schema by this key; it has no other effect.
        if let Some(map) = value.as_object_mut() {
            map.shift_remove("$schema");
        }
        match value {
            Value::Object(map) => self.value("", keys::root(), Value::Object(map), false),
            other => {
                self.note(format!("must be a table of keys, but is {}", describe(&other)));
                None
            }
        }
        .unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// Checks one value of a known key.
    pub(super) fn field(&mut self, path: &str, field: &ConfigKey, value: Value) -> Option<Value> {
        self.value(path, &field.kind, value, field.secret)
    }

    fn value(&mut self, path: &str, kind: &KeyType, value: Value, secret: bool) -> Option<Value> {
        match (kind, value) {
            (KeyType::Table(fields), Value::Object(map)) => Some(self.table(path, fields, map)),
            (KeyType::Map(item), Value::Object(map)) => {
                let entries = map.into_iter().filter_map(|(name, value)| {
                    let value = self.value(&join(path, &name), item, value, secret)?;
                    Some((name, value))
                });
                Some(Value::Object(entries.collect()))
            }
            (KeyType::List(item), Value::Array(values)) => {
                let values = values.into_iter().enumerate().filter_map(|(at, value)| {
                    self.value(&format!("{path}[{at}]"), item, value, secret)
                });
                Some(Value::Array(values.collect()))
            }
            (KeyType::List(item), Value::String(text)) if kind.accepts_comma_list() => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                let values = words.filter_map(|word| self.value(path, item, word.into(), secret));
                Some(Value::Array(values.collect()))
            }
            (KeyType::Integer { min, max }, value)
                if value.as_u64().is_some_and(|number| (*min..=*max).contains(&number)) =>
            {
                Some(value)
            }
            (KeyType::Choice(words), Value::String(word)) if words.contains(&word) => {
                Some(Value::String(word))
            }
            (KeyType::Switch, value @ Value::Bool(_))
            | (KeyType::Text, value @ Value::String(_))
            | (KeyType::Any, value) => Some(value),
            (_, value) => {
                let found = if secret { type_name(&value).into() } else { describe(&value) };
                self.note(format!("`{path}` must be {kind}, but is {found}"));
                None
            }
        }
    }

    fn table(&mut self, path: &str, fields: &[ConfigKey], map: Map<String, Value>) -> Value {
        let mut checked = Map::new();
        for (key, value) in map {
            let Some(field) = find(fields, &key) else {
                let advice = advice(path, fields, &key);
                self.note(format!("unknown key `{}`; {advice}", join(path, &key)));
                continue;
            };
            if value.is_null() && field.default.is_none() {
                continue;
            }
            let here = join(path, &field.name);
            if checked.contains_key(&field.name) {
                self.note(format!("`{here}` is given twice, the second time as `{key}`"));
            } else if let Some(value) = self.field(&here, field, value) {
                checked.insert(field.name.clone(), value);
            }
        }
        Value::Object(checked)
    }

    fn note(&mut self, what: String) {
        self.problems.push(ConfigProblem { source: self.place.clone(), message: what });
    }
}

/// Parses a value from an environment variable. Invalid text stays a string, which the check rejects.
pub(super) fn from_text(kind: &KeyType, text: &str) -> Value {
    let parsed = match kind {
        KeyType::Switch => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Some(true.into()),
            "false" | "0" | "no" | "off" => Some(false.into()),
            _ => None,
        },
        KeyType::Integer { .. } => text.trim().parse::<u64>().ok().map(Value::from),
        KeyType::List(_) if !text.trim_start().starts_with('[') && kind.accepts_comma_list() => {
            None
        }
        KeyType::List(_) | KeyType::Map(_) | KeyType::Table(_) | KeyType::Any => {
            serde_json::from_str(text).ok()
        }
        KeyType::Text | KeyType::Choice(_) => None,
    };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn find<'a>(fields: &'a [ConfigKey], key: &str) -> Option<&'a ConfigKey> {
    let snake = snake_case(key);
    let named = |field: &&ConfigKey| field.name == snake || field.aliases.contains(&snake);
    fields.iter().find(named)
}

fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// Suggests a similar key of this table, the same key of another one, or all keys of this table.
fn advice(path: &str, fields: &[ConfigKey], key: &str) -> String {
    let snake = snake_case(key).trim_start_matches('_').replace('-', "_");
    let near = fields
        .iter()
        .map(|field| (strsim::damerau_levenshtein(&field.name, &snake), &field.name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min();
    if let Some((_, name)) = near {
        return format!("did you mean `{}`?", join(path, name));
    }
    let ending = format!(".{snake}");
    if let Some(setting) = keys::settings().find(|setting| setting.path.ends_with(&ending)) {
        return format!("did you mean `{}`?", setting.path);
    }
    let nearest = fields
        .iter()
        .max_by(|a, b| {
            let score = |field: &ConfigKey| strsim::jaro_winkler(&field.name, &snake);
            score(a).total_cmp(&score(b))
        })
        .map(|field| join(path, &field.name))
        .unwrap_or_default();
    let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    format!("the most similar key is `{nearest}`; known here: {}", known.join(", "))
}

fn describe(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() <= 60 => format!("the string {text:?}"),
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(switch) => format!("{switch}"),
        other => type_name(other).to_owned(),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        // The toml crate represents a date as a table with this one key.
        Value::Object(map) if map.contains_key("$__toml_private_datetime") => "a date",
        Value::Object(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, want: Result<Value, &[&str]>) {
        let shown = value.to_string();
        let mut checker = ConfigChecker::new(ValueSource::File("docent.toml".into()));
        let got = checker.file(value);
        let problems: Vec<String> =
            checker.into_problems().iter().map(ToString::to_string).collect();
        match want {
            Ok(want) => {
                assert_eq!(problems, Vec::<String>::new(), "{shown}");
                assert_eq!(got, want, "{shown}");
            }
            Err(want) => assert_eq!(problems, want, "{shown}"),
        }
    }

    #[test]
    fn spellings_come_down_to_one() {
        check(
            json!({"server": {"rateLimit": {"enabled": true, "requests": 5, "window": 1000}}}),
            Ok(json!({"server": {"rate_limit": {"enabled": true, "requests": 5, "window": 1000}}})),
        );
        check(
            json!({"server": {"auth": {"enabled": false, "token": "x"}}}),
            Ok(json!({"server": {"auth": {"required": false, "token": "x"}}})),
        );
        check(
            json!({"server": {"transport": "http, sse"}}),
            Ok(json!({"server": {"transport": ["http", "sse"]}})),
        );
        check(
            json!({"limits": {"tools": {"codeSearch": {"timeoutMs": 5}}}}),
            Ok(json!({"limits": {"tools": {"codeSearch": {"timeout_ms": 5}}}})),
        );
        check(
            json!({"mcpServers": {"a": {"command": "x", "anyThing": [1]}}}),
            Ok(json!({"mcp_servers": {"a": {"command": "x", "anyThing": [1]}}})),
        );
        check(
            json!({"$schema": "x", "server": {"auth": {"token": null}}}),
            Ok(json!({"server": {"auth": {}}})),
        );
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        check(
            json!({"server": {"prot": 1}}),
            Err(&["docent.toml: unknown key `server.prot`; did you mean `server.port`?"]),
        );
        check(
            json!({"server": {"rate-limit": {}}}),
            Err(&[
                "docent.toml: unknown key `server.rate-limit`; did you mean `server.rate_limit`?",
            ]),
        );
        check(
            json!({"port": 1}),
            Err(&["docent.toml: unknown key `port`; did you mean `server.port`?"]),
        );
        check(
            json!({"docs": {"collections": {"pg": {"pth": "x"}}}}),
            Err(&[
                "docent.toml: unknown key `docs.collections.pg.pth`; did you mean `docs.collections.pg.path`?",
            ]),
        );
        check(
            json!({"telemetry": {"x": 1}}),
            Err(&[
                "docent.toml: unknown key `telemetry.x`; the most similar key is `telemetry.service_name`; known here: otlp_endpoint, service_name",
            ]),
        );
    }

    #[test]
    fn wrong_types_say_what_was_found_and_what_is_accepted() {
        check(
            json!({"server": {"port": "abc", "host": 1, "handshake": "maybe", "allow_open": "yes"}}),
            Err(&[
                "docent.toml: `server.port` must be a whole number from 0 to 65535, but is the string \"abc\"",
                "docent.toml: `server.host` must be a string, but is the number 1",
                "docent.toml: `server.handshake` must be one of required, optional, but is the string \"maybe\"",
                "docent.toml: `server.allow_open` must be true or false, but is the string \"yes\"",
            ]),
        );
        check(
            json!({"server": {"port": 65536}}),
            Err(&[
                "docent.toml: `server.port` must be a whole number from 0 to 65535, but is the number 65536",
            ]),
        );
        check(
            json!({"limits": {"tool_timeout_ms": -1, "tools": {"x": 3}}}),
            Err(&[
                "docent.toml: `limits.tool_timeout_ms` must be a whole number, at least 1, but is the number -1",
                "docent.toml: `limits.tools.x` must be a table, but is the number 3",
            ]),
        );
        check(
            json!({"server": {"auth": {"token": 12345, "keys": [{"name": "a", "token": 9}]}}}),
            Err(&[
                "docent.toml: `server.auth.token` must be a string, but is a number",
                "docent.toml: `server.auth.keys[0].token` must be a string, but is a number",
            ]),
        );
        check(
            json!({"server": {"rate_limit": {}, "rateLimit": {}}}),
            Err(&[
                "docent.toml: `server.rate_limit` is given twice, the second time as `rateLimit`",
            ]),
        );
        check(
            json!({"server": {"transport": ["http", "carrier-pigeon"]}}),
            Err(&[
                "docent.toml: `server.transport[1]` must be one of stdio, http, sse, websocket, but is the string \"carrier-pigeon\"",
            ]),
        );
        check(json!([1]), Err(&["docent.toml: must be a table of keys, but is a list"]));
    }

    #[test]
    fn text_is_read_by_kind() {
        let cases = [
            (KeyType::Switch, "ON", json!(true)),
            (KeyType::Switch, "maybe", json!("maybe")),
            (KeyType::Integer { min: 0, max: 9 }, "7", json!(7)),
            (KeyType::Integer { min: 0, max: 9 }, "-7", json!("-7")),
            (KeyType::Text, "7", json!("7")),
            (KeyType::List(Box::new(KeyType::Text)), "a,b", json!("a,b")),
            (KeyType::List(Box::new(KeyType::Text)), r#"["a,b"]"#, json!(["a,b"])),
            (KeyType::Map(Box::new(KeyType::Any)), r#"{"a":1}"#, json!({"a": 1})),
            (KeyType::Map(Box::new(KeyType::Any)), "{", json!("{")),
        ];
        for (kind, text, want) in cases {
            assert_eq!(from_text(&kind, text), want, "{kind}: {text}");
        }
    }
}
