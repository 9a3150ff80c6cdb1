//! `docent config init`: writes a first configuration file from the list of keys.

use super::keys::{self, ConfigKey, KeyType, LeafKey};
use docent_files::{FileAccess, ManagedFolder};
use serde_json::{Map, Value};
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Why no file was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// The file exists.
    #[error("{} already exists; edit it, or pass --force to replace it", .0.display())]
    Exists(PathBuf),
    /// A file of the other format exists, and two files in one folder are an error.
    #[error("{} already exists, and docent reads only one file here; remove it first", .0.display())]
    OtherForm(PathBuf),
    /// Writing failed.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Writes docent.toml (every key, commented out) or docent.json (the main defaults) into `root`.
pub fn init(root: &Path, json: bool, force: bool) -> Result<PathBuf, InitError> {
    let (name, other) =
        if json { ("docent.json", "docent.toml") } else { ("docent.toml", "docent.json") };
    let (path, other) = (root.join(name), root.join(other));
    if other.exists() {
        return Err(InitError::OtherForm(other));
    }
    // An existing link is not followed: the project's author chose its target.
    let is_there = path.symlink_metadata().is_ok();
    if is_there && !force {
        return Err(InitError::Exists(path));
    }
    let text = if json { json_text() } else { toml_text() };
    let file = ManagedFolder::resolve(root).create_over(name, FileAccess::Shared);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(path),
        Err(source) => Err(InitError::Write { path, source }),
    }
}

/// Returns every key commented out, so that the file changes nothing until a line is uncommented.
fn toml_text() -> String {
    let mut text = String::from(
        "# docent's configuration. Every key is commented out, with its default, or an example if it has none.\n\
         # `docent config show` prints the current values and their sources.\n\n",
    );
    let mut section = "";
    // A bare key after a table header would belong to that table, so keys of the top level come first.
    let (top, nested): (Vec<_>, Vec<_>) = keys::settings().partition(|s| !s.path.contains('.'));
    for setting in top.into_iter().chain(nested) {
        let (table, key) = setting.path.rsplit_once('.').unwrap_or(("", setting.path));
        if table != section {
            write!(text, "\n[{table}]\n").unwrap_or_default();
            section = table;
        }
        let about = match &setting.field.default_words {
            Some(words) => format!("{} Default: {words}.", setting.field.about),
            None => setting.field.about.clone(),
        };
        writeln!(text, "# {about}\n# {key} = {}", toml_value(&setting)).unwrap_or_default();
    }
    text
}

/// Returns the default, or an example if the key has none.
fn toml_value(setting: &LeafKey<'_>) -> String {
    let ConfigKey { default, kind, secret, .. } = setting.field;
    match (setting.path, default) {
        ("server.auth.keys", _) => {
            r#"[{ name = "ci", token_env = "CI_DOCENT_KEY", scopes = ["code:*"] }]"#.into()
        }
        ("limits.tools", _) => {
            "{ code_search = { timeout_ms = 5000, rate_per_minute = 30 } }".into()
        }
        ("docs.collections", _) => {
            r#"{ guide = { path = "docs", description = "The guide" } }"#.into()
        }
        ("mcp_servers", _) => r#"{ time = { command = "mcp-time", args = [] } }"#.into(),
        ("roots", _) => r#"["."]"#.into(),
        ("telemetry.otlp_endpoint", _) => "\"http://localhost:4318\"".into(),
        ("embedding.url", _) => "\"http://localhost:11434/v1\"".into(),
        ("embedding.model", _) => "\"nomic-embed-text\"".into(),
        ("embedding.key_env", _) => "\"EMBEDDING_KEY\"".into(),
        ("server.logging.file", _) => "\"docent.log\"".into(),
        ("policy.rules", _) => {
            r#"[{ name = "no web for ci", keys = ["ci"], tools = ["web:*"], action = "deny" }]"#
                .into()
        }
        ("server.oauth.issuers", _) => {
            r#"[{ issuer = "https://login.example.com", scopes = { "docent.read" = ["code:*"] } }]"#
                .into()
        }
        ("server.auth.certificates", _) => {
            r#"[{ name = "ci", subject = "ci.example.com", scopes = ["code:*"] }]"#.into()
        }
        ("audit.file", _) => "\".docent/audit.jsonl\"".into(),
        (_, Some(value)) => value.to_string(),
        _ if *secret => "\"a-long-random-key\"".into(),
        _ => match kind {
            KeyType::Switch => "true".into(),
            KeyType::Integer { .. } => "104857600".into(),
            _ => "\"\"".into(),
        },
    }
}

/// JSON has no comments: returns the most used keys, and the schema with which editors explain the rest.
fn json_text() -> String {
    const TEMPLATE_KEYS: [&str; 5] = [
        "server.host",
        "server.port",
        "server.transport",
        "limits.tool_timeout_ms",
        "limits.page_bytes",
    ];
    let mut root = Map::new();
    for setting in keys::settings().filter(|setting| TEMPLATE_KEYS.contains(&setting.path)) {
        let (table, key) = setting.path.split_once('.').unwrap_or(("", setting.path));
        let table = root.entry(table).or_insert_with(|| Value::Object(Map::new()));
        if let (Some(table), Some(value)) = (table.as_object_mut(), &setting.field.default) {
            table.insert(key.to_owned(), value.clone());
        }
    }
    format!("{:#}\n", Value::Object(root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{check::ConfigChecker, error::ValueSource};
    use std::fs;

    /// The template with its commented keys opened.
    fn opened(text: &str) -> String {
        let open = |line: &str| {
            let code = line.strip_prefix("# ").unwrap_or(line);
            let sets = code
                .split_once(" = ")
                .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
            if sets { code.to_owned() } else { line.to_owned() }
        };
        text.lines().map(open).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_template_holds_every_key_and_passes_the_check() {
        let text = toml_text();
        assert!(!text.contains("\n\n\n"));
        let closed: Value = toml::from_str(&text).unwrap();
        let open: Value = toml::from_str(&opened(&text)).unwrap();
        for value in [closed, open.clone()] {
            let mut checker = ConfigChecker::new(ValueSource::Default);
            checker.file(value);
            assert_eq!(checker.into_problems(), []);
        }
        for setting in keys::settings() {
            let pointer = format!("/{}", setting.path.replace('.', "/"));
            assert!(open.pointer(&pointer).is_some(), "{} is not in the template", setting.path);
        }
    }

    #[test]
    fn the_json_form_passes_the_check() {
        let mut checker = ConfigChecker::new(ValueSource::Default);
        let value = checker.file(serde_json::from_str(&json_text()).unwrap());
        assert_eq!(checker.into_problems(), []);
        assert_eq!(value.pointer("/server/port"), Some(&Value::from(8001)));
    }

    #[test]
    #[cfg(unix)]
    fn a_link_in_its_place_is_not_followed() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (link, victim) = (root.path().join("docent.toml"), other.path().join("victim"));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(matches!(init(root.path(), false, false), Err(InitError::Exists(_))));
        assert!(!victim.exists());
        fs::write(&victim, "precious").unwrap();
        init(root.path(), false, true).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&link).unwrap(), toml_text());
    }
}
