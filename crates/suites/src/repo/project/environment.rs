//! Names of environment variables in a project's example files. Never their values.

use super::sources::{FileRole, ProjectSources, read};
use crate::{files::ReadFailure, repo::tree::name_of};
use serde_json::Value;

/// Maximum number of names.
const MAX_VARIABLES: usize = 50;

/// Finds names in Compose files, example environments and app.json, in order, and problems with those files.
pub(super) fn find(sources: &ProjectSources<'_>) -> (Vec<String>, Vec<ReadFailure>) {
    let mut names = Vec::new();
    let mut problems = Vec::new();
    for path in sources.of(FileRole::EnvironmentExample) {
        match sources.tree.text(path) {
            Ok(text) => names.extend(in_example(&text)),
            Err(problem) => problems.push(problem),
        }
    }
    let app = ["app.json"].into_iter().filter(|path| sources.tree.file(path).is_some());
    for path in sources.of(FileRole::Compose).iter().copied().chain(app) {
        match read(sources.tree, path) {
            Ok((text, value)) if name_of(path) != "app.json" => {
                names.extend(in_compose(&value));
                names.extend(asked(&text));
            }
            Ok((_, value)) => names.extend(keys(value.get("env"))),
            Err(problem) => problems.push(problem),
        }
    }
    let mut kept: Vec<String> = Vec::new();
    for name in names {
        if is_name(&name) && !kept.contains(&name) && kept.len() < MAX_VARIABLES {
            kept.push(name);
        }
    }
    (kept, problems)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && name.chars().any(|letter| letter.is_ascii_uppercase())
}

/// Parses `NAME=value`, also in a comment.
fn in_example(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| {
        let line = line.trim_start_matches(['#', ' ']).trim_start_matches("export ");
        line.split_once('=').map(|(name, _)| name.trim().to_owned())
    });
    names.collect()
}

fn keys(table: Option<&Value>) -> Vec<String> {
    match table {
        Some(Value::Object(table)) => table.keys().cloned().collect(),
        Some(Value::Array(all)) => {
            let texts = all.iter().filter_map(Value::as_str);
            texts.map(|text| text.split('=').next().unwrap_or(text).to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Finds variables that a Compose file sets for services built here; database settings are their own.
fn in_compose(value: &Value) -> Vec<String> {
    let services = value.get("services").and_then(Value::as_object).into_iter().flatten();
    let built = services.filter(|(_, service)| service.get("build").is_some());
    built.flat_map(|(_, service)| keys(service.get("environment"))).collect()
}

/// Finds variables that a Compose file takes from the caller: `${NAME}`.
fn asked(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let parts = lines.flat_map(|line| line.split("${").skip(1));
    let name = |part: &str| {
        part.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .next()
            .map(str::to_owned)
    };
    parts.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::{report::Presence, tree::ProjectTree};
    use std::fs;

    #[test]
    fn names_without_values() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("env.example", "# Settings\nTOKEN=secret\n#export DEBUG=1\nnot a name=1\n");
        write(
            "compose.yml",
            "services:\n  web:\n    build: .\n    environment:\n      PORT: 80\n      TOKEN: x\n  worker:\n    build: .\n    environment:\n      - QUEUE=a\n  db:\n    image: postgres\n    environment:\n      POSTGRES_DB: x\n      POSTGRES_PASSWORD: ${DB_PASSWORD:?needed}\n",
        );
        write("app.json", "{\"env\": {\"SECRET_KEY\": {\"generator\": \"secret\"}}}");
        write("docker-compose.yml", "services: [");
        let tree = ProjectTree::of(folder.path());
        let presence = Presence::default();
        let sources = ProjectSources::gather(&tree, &[], &presence, &|| false);
        let (names, problems) = find(&sources);
        assert_eq!(names, ["TOKEN", "DEBUG", "PORT", "QUEUE", "DB_PASSWORD", "SECRET_KEY"]);
        assert_eq!(
            problems.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(),
            ["docker-compose.yml"]
        );
    }
}
