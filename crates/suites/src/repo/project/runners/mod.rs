//! Targets in a project's task files: Makefile, justfile, Taskfile, manifest scripts and similar.
//!
//! Must not know the purpose of a target; `commands` judges that.

mod elixir;
mod make;
mod python;
mod ruby;
mod scripts;
mod tasks;

use super::{
    entry_points::starts_with_interpreter,
    purpose,
    sources::{FileRole, ProjectSources, read},
};
use crate::{
    files::ReadFailure,
    repo::tree::{folder_of, name_of},
};

/// A target in a task file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TaskTarget {
    /// Command as typed.
    pub(super) command: String,
    /// Name in the file; empty for the default target.
    pub(super) name: String,
    /// Its shell script, as far as the file contains it.
    pub(super) body: String,
    /// Source file.
    pub(super) path: String,
    /// Line number from 1.
    pub(super) line: Option<u32>,
}

impl TaskTarget {
    /// Working folder; empty at the root.
    pub(super) fn folder(&self) -> &str {
        match folder_of(&self.path) {
            // Scripts are run from the root, whatever their folder.
            _ if self.command.starts_with("./") => "",
            // Files in a hidden folder configure its parent.
            hidden if name_of(hidden).starts_with('.') => folder_of(hidden),
            folder => folder,
        }
    }
}

/// A target as declared in a file, before its command is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct DeclaredTarget {
    name: String,
    body: String,
    line: Option<u32>,
}

impl DeclaredTarget {
    fn offer(self, path: &str, command: String) -> TaskTarget {
        TaskTarget {
            command,
            name: self.name,
            body: self.body,
            path: path.to_owned(),
            line: self.line,
        }
    }
}

/// Returns all targets in task files, and problems with them.
pub(super) fn offers(sources: &ProjectSources<'_>) -> (Vec<TaskTarget>, Vec<ReadFailure>) {
    let mut offers = Vec::new();
    let mut problems = Vec::new();
    read_texts(sources, &mut offers, &mut problems);
    read_trees(sources, &mut offers, &mut problems);
    offers.extend(executables(sources));
    for opened in &sources.manifests {
        match opened.manifest.ecosystem.as_str() {
            "npm" => offers.extend(scripts::package(opened)),
            "Deno" => offers.extend(scripts::deno(opened)),
            "PHP" => offers.extend(scripts::composer(opened)),
            "Python" => offers.extend(python::manifest(opened)),
            "Elixir" => offers.extend(elixir::mix(opened)),
            _ => {}
        }
    }
    (offers, problems)
}

/// Finds scripts in standard folders named after their purpose: `script/test`, `bin/setup`.
fn executables(sources: &ProjectSources<'_>) -> Vec<TaskTarget> {
    let named = |path: &&&str| {
        let name = name_of(path);
        let stem = name.strip_suffix(".sh").unwrap_or(name);
        purpose::purpose_of_name(stem).is_some_and(|named| named.exact) && !stem.contains('.')
    };
    let paths = sources.of(FileRole::Executable).iter().filter(named);
    let paths = paths.filter(|path| starts_with_interpreter(sources, path));
    let offer = |path: &&str| {
        let name = name_of(path).split('.').next().unwrap_or_default().to_owned();
        let (command, path) = (format!("./{path}"), (*path).to_owned());
        TaskTarget { command, name, path, ..TaskTarget::default() }
    };
    paths.map(offer).collect()
}

/// Task files with their own syntax.
fn read_texts(
    sources: &ProjectSources<'_>,
    offers: &mut Vec<TaskTarget>,
    problems: &mut Vec<ReadFailure>,
) {
    type Reads = fn(&ProjectSources<'_>, &str, &str) -> Vec<TaskTarget>;
    let readers: [(FileRole, Reads); 6] = [
        (FileRole::Makefile, make::makefile),
        (FileRole::Justfile, tasks::justfile),
        (FileRole::Rakefile, ruby::rakefile),
        (FileRole::Tox, python::tox),
        (FileRole::Nox, python::nox),
        (FileRole::Invoke, python::invoke),
    ];
    for (role, reads) in readers {
        for path in sources.of(role) {
            if sources.stopped() {
                return;
            }
            match sources.tree.text(path) {
                Ok(text) => offers.extend(reads(sources, path, &text)),
                Err(problem) => problems.push(problem),
            }
        }
    }
}

/// Task files in JSON, TOML or YAML.
fn read_trees(
    sources: &ProjectSources<'_>,
    offers: &mut Vec<TaskTarget>,
    problems: &mut Vec<ReadFailure>,
) {
    type Reads = fn(&str, &str, &serde_json::Value) -> Vec<TaskTarget>;
    let readers: [(FileRole, Reads); 4] = [
        (FileRole::Taskfile, tasks::taskfile),
        (FileRole::CargoMake, tasks::cargo_make),
        (FileRole::CargoConfiguration, tasks::cargo_aliases),
        (FileRole::Pixi, python::pixi),
    ];
    for (role, reads) in readers {
        for path in sources.of(role) {
            if sources.stopped() {
                return;
            }
            match read(sources.tree, path) {
                Ok((text, value)) => offers.extend(reads(path, &text, &value)),
                Err(problem) => problems.push(problem),
            }
        }
    }
}

/// Joins commands into a script.
fn script(commands: impl Iterator<Item = String>) -> String {
    let mut script = commands.collect::<Vec<_>>().join("\n");
    script.push('\n');
    script
}

/// Returns the commands of a task, written as a string, a list, or a table with one of these keys.
fn body(value: &serde_json::Value, keys: &[&str]) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => {
            let parts: Vec<String> = all.iter().map(|value| body(value, keys)).collect();
            parts.join("\n")
        }
        Value::Object(table) => {
            let found = keys.iter().find_map(|key| table.get(*key));
            found.map(|value| body(value, keys)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
