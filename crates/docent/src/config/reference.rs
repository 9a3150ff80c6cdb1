//! Generates the published JSON Schema and the reference page from the list of keys.

use super::keys::{self, ConfigKey, KeyType, join};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Returns the JSON Schema of docent.toml and docent.json.
pub fn json_schema() -> String {
    let mut schema = keys::schema();
    publish(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".into(), "docent configuration".into());
        let properties = root.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties {
            let about = "The schema that editors use to check this file.";
            properties.insert("$schema".into(), json!({"type": "string", "description": about}));
        }
    }
    format!("{schema:#}\n")
}

/// Extends the schema to everything that the check accepts: both spellings, aliases, and text for a list.
fn publish(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.retain(|key, value| {
        !key.starts_with("x-") && !(key == "default" && (value.is_null() || value.is_object()))
    });
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            publish(inner);
        }
    }
    let plain_items = map.get("items").is_some_and(|items| {
        items.get("type").is_some_and(|of| of == "string") || items.get("oneOf").is_some()
    });
    if plain_items && let Some(of) = map.get_mut("type") {
        let mut types = vec![json!("string")];
        match of.take() {
            Value::Array(more) => types.splice(0..0, more).for_each(drop),
            one => types.insert(0, one),
        }
        *of = Value::Array(types);
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        let mut published = Map::new();
        for (name, mut inner) in std::mem::take(properties) {
            let aliases = inner.get("x-aliases").and_then(Value::as_array).cloned();
            publish(&mut inner);
            let aliases = aliases.unwrap_or_default();
            let aliases = aliases.iter().filter_map(|alias| alias.as_str().map(str::to_owned));
            let spellings = std::iter::once(camel_case(&name)).chain(aliases);
            for spelling in spellings.filter(|spelling| *spelling != name) {
                published.insert(spelling, inner.clone());
            }
            published.insert(name, inner);
        }
        *properties = published;
    }
}

fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let mut camel = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        camel.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        camel.push_str(chars.as_str());
    }
    camel
}

const INTRODUCTION: &str = "\
# Configuration

`docent.toml` and `docent.json` in the root have the same keys, in camelCase or snake_case. From the lowest layer to the
highest: defaults, the user's file (`~/.config/docent/docent.toml` or `.json`, under `XDG_CONFIG_HOME` if that is set),
the root's file (or the one given with `--config`), environment variables, flags. Tables merge key by key; a list or a
value replaces the one below it. An unknown key is an error that suggests the most similar one.

`docent config show` prints every value and its source, `docent config init` writes a commented file as a starting
point, and editors can check a file with [docent.schema.json](docent.schema.json).

Every key has an environment name. An empty variable counts as unset. A list is comma-separated or a JSON array; a table
is a JSON object. Relative paths start from the file that names them, or from the working directory; `~/` is the home
directory.
";

const VARIABLES: &str = "
## Other variables

| variable | meaning |
|---|---|
| `RUST_LOG` | a filter for log lines, such as `info,mcp::protocol=debug`; overrides every other setting |
| `DEBUG` | log targets to add, comma-separated: `mcp:protocol` (messages with their direction), `mcp:*`, `docent:tools` |
| `NO_COLOR` | turns off colors |
| `XDG_CONFIG_HOME`, `XDG_CACHE_HOME`, `XDG_STATE_HOME` | replace `~/.config`, `~/.cache` and `~/.local/state` |
";

/// Returns the reference page in Markdown.
pub fn reference_page() -> String {
    let mut page = String::from(INTRODUCTION);
    let KeyType::Table(sections) = keys::root() else { return page };
    let (tables, plain): (Vec<_>, Vec<_>) =
        sections.iter().partition(|field| matches!(field.kind, KeyType::Table(_)));
    for section in tables {
        write!(page, "\n## {}\n\n{}\n\n", section.name, section.about).unwrap_or_default();
        page.push_str(TABLE_HEAD);
        rows(&section.kind, &section.name, true, &mut page);
    }
    page.push_str("\n## Top level\n\n");
    page.push_str(TABLE_HEAD);
    for field in plain {
        row(field, &field.name, true, &mut page);
    }
    page.push_str(VARIABLES);
    page
}

const TABLE_HEAD: &str = "| key | environment | default | meaning |\n|---|---|---|---|\n";

fn rows(kind: &KeyType, prefix: &str, named: bool, page: &mut String) {
    let KeyType::Table(fields) = kind else { return };
    for field in fields {
        let path = join(prefix, &field.name);
        match &field.kind {
            table @ KeyType::Table(_) => rows(table, &path, named, page),
            _ => row(field, &path, named, page),
        }
    }
}

/// Adds a key, and the keys inside its entries, which have no environment name of their own.
fn row(field: &ConfigKey, path: &str, named: bool, page: &mut String) {
    let derived = named.then(|| keys::LeafKey { path, field }.env_name());
    let variables: Vec<String> =
        derived.iter().chain(&field.extra_env).map(|name| format!("`{name}`")).collect();
    let variables = variables.join(", ");
    let default = match (&field.default_words, &field.default) {
        (Some(words), _) => words.clone(),
        (None, Some(value)) => format!("`{value}`"),
        (None, None) => "unset".to_owned(),
    };
    let accepted = match &field.kind {
        KeyType::List(_) | KeyType::Map(_) => String::new(),
        kind => format!(" ({kind})"),
    };
    let about = field.about.trim_end_matches('.');
    writeln!(page, "| `{path}` | {variables} | {default} | {about}{accepted} |")
        .unwrap_or_default();
    match &field.kind {
        KeyType::List(item) => rows(item, &format!("{path}[]"), false, page),
        KeyType::Map(item) => rows(item, &format!("{path}.NAME"), false, page),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_of_a_few_words_says_which() {
        let page = reference_page();
        for row in [
            "| `policy.rules[].action` |  | needed | What the rule does (one of allow, deny, approve) |",
            "| `policy.rules[].timeout_ms` |  | unset | Timeout of one call in milliseconds, if shorter than the tool's (a whole number, at least 1) |",
        ] {
            assert!(page.contains(row), "{row}");
        }
        assert!(!page.contains("any value"), "a key says nothing of what it takes");
    }

    #[test]
    fn the_published_schema_accepts_every_spelling() {
        let schema: Value = serde_json::from_str(&json_schema()).unwrap();
        let paths = [
            "/properties/server/properties/rateLimit/properties/window",
            "/properties/server/properties/rate_limit/properties/window",
            "/properties/server/properties/auth/properties/enabled",
            "/properties/mcpServers",
            "/properties/limits/properties/tools/additionalProperties/properties/timeoutMs",
        ];
        for path in paths {
            assert!(schema.pointer(path).is_some(), "{path}");
        }
        let transport = schema.pointer("/properties/server/properties/transport/type");
        assert_eq!(transport, Some(&json!(["array", "string"])));
        assert!(!json_schema().contains("\"x-"), "an internal mark is published");
    }
}
