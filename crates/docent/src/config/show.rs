//! `docent config show`: prints every value and its source, with secrets masked.

use super::{
    error::Source,
    keys::{self, Kind, join},
    layers::Settings,
    masked::{MASK, Masks},
};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

struct Row {
    key: String,
    /// `None` if the key is unset.
    value: Option<Value>,
    /// The description of a default that is not a plain value.
    default_words: Option<&'static str>,
    source: Source,
    /// The project file whose value of the key is ignored.
    ignored: Option<PathBuf>,
}

/// Formats one aligned line per key.
pub(super) fn text(settings: &Settings, masks: &Masks) -> String {
    let rows: Vec<(String, String)> = screened(settings, masks)
        .into_iter()
        .map(|row| {
            let value = match (row.value, row.default_words) {
                (_, Some(words)) if row.source == Source::Default => format!("({words})"),
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
pub(super) fn json(settings: &Settings, masks: &Masks) -> Value {
    let rows = screened(settings, masks).into_iter().map(|row| {
        let source = match &row.source {
            Source::Default => json!({"kind": "default"}),
            Source::File(path) => json!({"kind": "file", "name": path.to_string_lossy()}),
            Source::EnvFile { path, name } => {
                json!({"kind": "env file", "name": name, "file": path.to_string_lossy()})
            }
            Source::Environment(name) => json!({"kind": "environment", "name": name}),
            Source::Flag(flag) => json!({"kind": "flag", "name": flag}),
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
pub(super) fn values(settings: &Settings) -> BTreeMap<String, Value> {
    rows(settings).into_iter().filter_map(|row| Some((row.key, row.value?))).collect()
}

fn screened(settings: &Settings, masks: &Masks) -> Vec<Row> {
    let mut rows = rows(settings);
    for value in rows.iter_mut().filter_map(|row| row.value.as_mut()) {
        masks.value("", value);
    }
    rows
}

fn rows(settings: &Settings) -> Vec<Row> {
    let mut rows = Vec::new();
    for setting in keys::settings() {
        let mut names = setting.path.split('.');
        let value = names.try_fold(settings.tree(), |value, name| value.get(name));
        let first = rows.len();
        let kind = (&setting.field.kind, setting.field.secret);
        spread(settings, setting.path, kind, value, &mut rows);
        for row in rows.iter_mut().skip(first) {
            row.default_words = setting.field.default_words.as_deref();
        }
    }
    rows
}

/// Expands tables, because each of their entries has its own source.
fn spread(
    settings: &Settings,
    path: &str,
    kind: (&Kind, bool),
    value: Option<&Value>,
    rows: &mut Vec<Row>,
) {
    match (kind.0, value) {
        (Kind::Map(item), Some(Value::Object(map))) if !map.is_empty() => {
            for (name, value) in map {
                spread(settings, &join(path, name), (item, kind.1), Some(value), rows);
            }
        }
        (Kind::Table(fields), Some(Value::Object(map))) if !map.is_empty() => {
            for (name, value) in map {
                let Some(field) = fields.iter().find(|field| field.name == *name) else { continue };
                spread(settings, &join(path, name), (&field.kind, field.secret), Some(value), rows);
            }
        }
        (plain, value) => rows.push(Row {
            key: path.to_owned(),
            value: value.map(|value| mask(plain, kind.1, value)),
            default_words: None,
            source: settings.origin(path).clone(),
            ignored: settings.ignored_in(path).map(Path::to_owned),
        }),
    }
}

fn mask(kind: &Kind, secret: bool, value: &Value) -> Value {
    match (kind, value) {
        _ if secret => MASK.into(),
        (Kind::List(item), Value::Array(values)) => {
            values.iter().map(|value| mask(item, false, value)).collect()
        }
        (Kind::Table(fields), Value::Object(map)) => {
            let masked = map.iter().map(|(name, value)| {
                let field = fields.iter().find(|field| field.name == *name);
                let value =
                    field.map_or(Value::Null, |field| mask(&field.kind, field.secret, value));
                (name.clone(), value)
            });
            Value::Object(masked.collect())
        }
        (Kind::Any, value) => mask_server(value),
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
