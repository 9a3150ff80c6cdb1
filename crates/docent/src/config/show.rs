//! `docent config show`: prints every value and its source, with secrets masked.

use super::{
    error::ValueSource,
    keys::{self, KeyType, join},
    layers::MergedSettings,
    redaction::{MASK, ServerSecretMask},
};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

struct SettingRow {
    key: String,
    /// `None` if the key is unset.
    value: Option<Value>,
    /// The description of a default that is not a plain value.
    default_words: Option<&'static str>,
    source: ValueSource,
    /// The project file whose value of the key is ignored.
    ignored: Option<PathBuf>,
}

/// Formats one aligned line per key.
pub(super) fn text(settings: &MergedSettings, masks: &ServerSecretMask) -> String {
    let rows: Vec<(String, String)> = masked_rows(settings, masks)
        .into_iter()
        .map(|row| {
            let value = match (row.value, row.default_words) {
                (_, Some(words)) if row.source == ValueSource::Default => format!("({words})"),
                (Some(value), _) => value.to_string(),
                (None, _) => "(unset)".to_owned(),
            };
            let ignored = row.ignored.map(|file| format!(", ignored in {}", file.display()));
            let source = format!("{}{}", row.source, ignored.unwrap_or_default());
            (format!("{} = {value}", row.key), source)
        })
        .collect();
    // One very long value must not push every source off the screen.
    let width =
        rows.iter().map(|(line, _)| line.chars().count()).filter(|width| *width <= 60).max();
    let width = width.unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (line, source)| {
        writeln!(text, "{line:width$}  # {source}").unwrap_or_default();
        text
    })
}

/// Returns an object that maps each dotted key to its value and source.
pub(super) fn json(settings: &MergedSettings, masks: &ServerSecretMask) -> Value {
    let rows = masked_rows(settings, masks).into_iter().map(|row| {
        let source = match &row.source {
            ValueSource::Default => json!({"kind": "default"}),
            ValueSource::File(path) => json!({"kind": "file", "name": path.to_string_lossy()}),
            ValueSource::EnvFile { path, name } => {
                json!({"kind": "env file", "name": name, "file": path.to_string_lossy()})
            }
            ValueSource::Environment(name) => json!({"kind": "environment", "name": name}),
            ValueSource::Flag(flag) => json!({"kind": "flag", "name": flag}),
        };
        let mut shown = json!({"value": row.value, "source": source});
        if let Some(file) = &row.ignored {
            shown["ignored"] = json!({"kind": "file", "name": file.to_string_lossy()});
        }
        (row.key, shown)
    });
    Value::Object(rows.collect())
}

/// Returns the values by key, for comparing configurations: text that only looks like a secret is not masked.
pub(super) fn values(settings: &MergedSettings) -> BTreeMap<String, Value> {
    rows(settings).into_iter().filter_map(|row| Some((row.key, row.value?))).collect()
}

fn masked_rows(settings: &MergedSettings, masks: &ServerSecretMask) -> Vec<SettingRow> {
    let mut rows = rows(settings);
    for value in rows.iter_mut().filter_map(|row| row.value.as_mut()) {
        masks.value("", value);
    }
    rows
}

fn rows(settings: &MergedSettings) -> Vec<SettingRow> {
    let mut rows = Vec::new();
    for setting in keys::settings() {
        let mut names = setting.path.split('.');
        let value = names.try_fold(settings.tree(), |value, name| value.get(name));
        let first = rows.len();
        let kind = (&setting.field.kind, setting.field.secret);
        expand_maps(settings, setting.path, kind, value, &mut rows);
        for row in rows.iter_mut().skip(first) {
            row.default_words = setting.field.default_words.as_deref();
        }
    }
    rows
}

/// Expands tables, because each of their entries has its own source.
fn expand_maps(
    settings: &MergedSettings,
    path: &str,
    kind: (&KeyType, bool),
    value: Option<&Value>,
    rows: &mut Vec<SettingRow>,
) {
    match (kind.0, value) {
        (KeyType::Map(item), Some(Value::Object(map))) if !map.is_empty() => {
            for (name, value) in map {
                expand_maps(settings, &join(path, name), (item, kind.1), Some(value), rows);
            }
        }
        (KeyType::Table(fields), Some(Value::Object(map))) if !map.is_empty() => {
            for (name, value) in map {
                let Some(field) = fields.iter().find(|field| field.name == *name) else { continue };
                expand_maps(
                    settings,
                    &join(path, name),
                    (&field.kind, field.secret),
                    Some(value),
                    rows,
                );
            }
        }
        (plain, value) => rows.push(SettingRow {
            key: path.to_owned(),
            value: value.map(|value| mask(plain, kind.1, value)),
            default_words: None,
            source: settings.origin(path).clone(),
            ignored: settings.ignored_file(path).map(Path::to_owned),
        }),
    }
}

fn mask(kind: &KeyType, secret: bool, value: &Value) -> Value {
    match (kind, value) {
        _ if secret => MASK.into(),
        (KeyType::List(item), Value::Array(values)) => {
            values.iter().map(|value| mask(item, false, value)).collect()
        }
        (KeyType::Table(fields), Value::Object(map)) => {
            let masked = map.iter().map(|(name, value)| {
                let field = fields.iter().find(|field| field.name == *name);
                let value =
                    field.map_or(Value::Null, |field| mask(&field.kind, field.secret, value));
                (name.clone(), value)
            });
            Value::Object(masked.collect())
        }
        (KeyType::Any, value) => mask_server(value),
        (_, value) => value.clone(),
    }
}

/// Masks the environment and headers of a downstream server.
fn mask_server(value: &Value) -> Value {
    let Value::Object(map) = value else { return value.clone() };
    let masked = map.iter().map(|(name, value)| {
        let value = match value {
            Value::Object(inner) if ["env", "headers"].contains(&name.as_str()) => Value::Object(
                inner.keys().map(|name| (name.clone(), MASK.into())).collect::<Map<_, _>>(),
            ),
            other => other.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(masked.collect())
}
