//! The tree of known keys, read from the JSON Schema of `RawConfig`.
//!
//! Everything generic about a key lives here: its kind, its environment names, its default and its meaning.

use super::raw::RawConfig;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::{fmt, sync::LazyLock};

/// The type of a key's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum KeyType {
    /// True or false.
    Switch,
    /// An integer within bounds.
    Integer { min: u64, max: u64 },
    /// Free text.
    Text,
    /// One of these words.
    Choice(Vec<String>),
    /// A list of values.
    List(Box<KeyType>),
    /// A table with names chosen by the user.
    Map(Box<KeyType>),
    /// A table with known keys.
    Table(Vec<ConfigKey>),
    /// Any value, unchanged.
    Any,
}

/// One known key of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigKey {
    pub(super) name: String,
    pub(super) kind: KeyType,
    pub(super) about: String,
    /// `None` if the key has no default.
    pub(super) default: Option<Value>,
    /// A description of a default that is not a plain value.
    pub(super) default_words: Option<String>,
    /// Additional environment variables.
    pub(super) extra_env: Option<String>,
    pub(super) aliases: Vec<String>,
    pub(super) secret: bool,
}

/// A key with a value (not a table), with its dotted path.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeafKey<'a> {
    pub(super) path: &'a str,
    pub(super) field: &'a ConfigKey,
}

static ROOT: LazyLock<KeyType> = LazyLock::new(|| kind_of(&schema()));
static SETTINGS: LazyLock<Vec<(String, &'static ConfigKey)>> = LazyLock::new(|| {
    let mut found = Vec::new();
    collect(&ROOT, "", &mut found);
    found
});

/// The whole tree.
pub(super) fn root() -> &'static KeyType {
    &ROOT
}

/// Every key with a value, in the order declared.
pub(super) fn settings() -> impl Iterator<Item = LeafKey<'static>> {
    SETTINGS.iter().map(|(path, field)| LeafKey { path, field })
}

/// Returns the schema as derived by schemars, with references inlined.
pub(super) fn schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<RawConfig>().to_value()
}

impl LeafKey<'_> {
    /// Returns the derived environment name: `limits.page_bytes` is `DOCENT_LIMITS_PAGE_BYTES`.
    pub(super) fn env_name(&self) -> String {
        format!("DOCENT_{}", self.path.replace('.', "_").to_uppercase())
    }
}

impl KeyType {
    /// Whether a comma-separated string is accepted for this list.
    pub(super) fn accepts_comma_list(&self) -> bool {
        matches!(self, Self::List(item) if matches!(**item, Self::Text | Self::Choice(_)))
    }
}

/// Describes the accepted values, for errors and the reference.
impl fmt::Display for KeyType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => out.write_str("true or false"),
            Self::Integer { min, max: u64::MAX } => write!(out, "a whole number, at least {min}"),
            Self::Integer { min, max } => write!(out, "a whole number from {min} to {max}"),
            Self::Text => out.write_str("a string"),
            Self::Choice(words) => write!(out, "one of {}", words.join(", ")),
            Self::List(item) => match &**item {
                Self::Text => out.write_str("a list of strings"),
                Self::Choice(words) => write!(out, "a list of: {}", words.join(", ")),
                _ => out.write_str("a list of tables"),
            },
            Self::Map(_) | Self::Table(_) => out.write_str("a table"),
            Self::Any => out.write_str("any value"),
        }
    }
}

fn collect(kind: &'static KeyType, prefix: &str, found: &mut Vec<(String, &'static ConfigKey)>) {
    let KeyType::Table(fields) = kind else { return };
    for field in fields {
        let path = join(prefix, &field.name);
        match &field.kind {
            table @ KeyType::Table(_) => collect(table, &path, found),
            _ => found.push((path, field)),
        }
    }
}

/// Returns `prefix.name`; a name with a dot is quoted as in TOML.
pub(super) fn join(prefix: &str, name: &str) -> String {
    let plain =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-*[]".contains(c));
    let name = if plain { name.to_owned() } else { format!("{name:?}") };
    if prefix.is_empty() { name } else { format!("{prefix}.{name}") }
}

fn kind_of(schema: &Value) -> KeyType {
    let Some(schema) = schema.as_object() else { return KeyType::Any };
    if let Some(words) = words_of(schema) {
        return KeyType::Choice(words);
    }
    match type_of(schema) {
        Some("boolean") => KeyType::Switch,
        Some("integer") => integer_of(schema),
        Some("string") => KeyType::Text,
        Some("array") => {
            KeyType::List(Box::new(kind_of(schema.get("items").unwrap_or(&Value::Null))))
        }
        Some("object") => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                KeyType::Table(properties.iter().map(|(name, of)| field_of(name, of)).collect())
            }
            None => KeyType::Map(Box::new(kind_of(
                schema.get("additionalProperties").unwrap_or(&Value::Null),
            ))),
        },
        _ => KeyType::Any,
    }
}

/// Returns the first type that is not null: an optional key has `[type, null]`.
fn type_of(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

fn words_of(schema: &Map<String, Value>) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(text).collect();
    }
    let choices = schema.get("oneOf")?.as_array()?;
    choices.iter().map(|choice| choice.get("const").and_then(text)).collect()
}

fn integer_of(schema: &Map<String, Value>) -> KeyType {
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
    let widest = match schema.get("format").and_then(Value::as_str) {
        Some("uint16") => u64::from(u16::MAX),
        Some("uint32") => u64::from(u32::MAX),
        _ => u64::MAX,
    };
    KeyType::Integer { min: bound("minimum").unwrap_or(0), max: bound("maximum").unwrap_or(widest) }
}

fn field_of(name: &str, schema: &Value) -> ConfigKey {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    let aliases = schema.get("x-aliases").and_then(Value::as_array);
    ConfigKey {
        name: name.to_owned(),
        kind: kind_of(schema),
        about: text("description").unwrap_or_default().replace('\n', " "),
        default: schema.get("default").filter(|value| !value.is_null()).cloned(),
        default_words: text("x-default"),
        extra_env: text("x-env"),
        aliases: aliases
            .into_iter()
            .flatten()
            .filter_map(|a| a.as_str().map(str::to_owned))
            .collect(),
        secret: schema.get("x-secret") == Some(&Value::Bool(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[track_caller]
    fn check(path: &str, env: &str, kind: &str, default: &str) {
        let setting = settings().find(|setting| setting.path == path).expect(path);
        assert_eq!(setting.env_name(), env);
        assert_eq!(setting.field.kind.to_string(), kind);
        let got = setting.field.default.as_ref().map_or("unset".into(), Value::to_string);
        assert_eq!(got, default, "{path}");
        assert!(!setting.field.about.is_empty(), "{path} has no meaning");
    }

    #[test]
    fn keys_are_read_from_the_types() {
        check("server.port", "DOCENT_SERVER_PORT", "a whole number from 0 to 65535", "8001");
        check("server.host", "DOCENT_SERVER_HOST", "a string", "\"127.0.0.1\"");
        check(
            "server.transport",
            "DOCENT_SERVER_TRANSPORT",
            "a list of: stdio, http, sse, websocket",
            "[\"stdio\"]",
        );
        check(
            "server.handshake",
            "DOCENT_SERVER_HANDSHAKE",
            "one of required, optional",
            "\"required\"",
        );
        check("server.auth.required", "DOCENT_SERVER_AUTH_REQUIRED", "true or false", "unset");
        check("server.auth.keys", "DOCENT_SERVER_AUTH_KEYS", "a list of tables", "[]");
        check(
            "limits.tool_timeout_ms",
            "DOCENT_LIMITS_TOOL_TIMEOUT_MS",
            "a whole number, at least 1",
            "30000",
        );
        check(
            "limits.message_bytes",
            "DOCENT_LIMITS_MESSAGE_BYTES",
            "a whole number, at least 1024",
            "10485760",
        );
        check("limits.tools", "DOCENT_LIMITS_TOOLS", "a table", "{}");
        check("mcp_servers", "DOCENT_MCP_SERVERS", "a table", "{}");
    }

    #[test]
    fn no_two_keys_share_an_environment_name() {
        let mut seen = BTreeSet::new();
        for setting in settings() {
            for name in
                [Some(setting.env_name()), setting.field.extra_env.clone()].into_iter().flatten()
            {
                assert!(seen.insert(name.clone()), "{name} names two keys");
            }
        }
        assert!(seen.len() > 30, "{} names", seen.len());
    }
}
