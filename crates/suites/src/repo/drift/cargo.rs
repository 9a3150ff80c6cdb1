//! Names in documented Cargo commands: examples, binaries, tests, packages, features, and `xtask` tasks.

use super::{
    DocumentDrift, SuspectMention, SuspicionBasis, edit_distance, flags,
    project_index::ProjectIndex,
    shell::{CommandWord, DocumentedCommand},
};
use crate::repo::report::{MentionKind, Severity};
use std::{cell::OnceCell, collections::BTreeSet};

/// Maximum number of manifests searched for a name.
const MAX_SEARCHED_MANIFESTS: usize = 500;

/// Names in all manifests.
#[derive(Default)]
pub(super) struct CargoIndex {
    names: OnceCell<Option<CargoNames>>,
}

#[derive(Default)]
struct CargoNames {
    /// Packages and targets, with `_` for `-`.
    targets: BTreeSet<String>,
    features: BTreeSet<String>,
}

impl CargoIndex {
    fn names(&self, known: &ProjectIndex<'_>) -> Option<&CargoNames> {
        self.names.get_or_init(|| read(known)).as_ref()
    }
}

/// Reads every `Cargo.toml`; `None` if there are none or too many, or one cannot be read.
fn read(known: &ProjectIndex<'_>) -> Option<CargoNames> {
    let paths: Vec<&str> = known.files().ending("Cargo.toml").collect();
    if paths.is_empty() || paths.len() > MAX_SEARCHED_MANIFESTS {
        return None;
    }
    let mut names = CargoNames::default();
    for path in paths {
        let text = known.today.tree.text(path).ok()?;
        let value: toml::Table = toml::from_str(&text).ok()?;
        names.take(&value);
    }
    Some(names)
}

impl CargoNames {
    fn take(&mut self, manifest: &toml::Table) {
        let table = |key: &str| manifest.get(key).and_then(toml::Value::as_table);
        let name =
            |value: &toml::Value| value.get("name")?.as_str().map(|name| name.replace('-', "_"));
        self.targets.extend(manifest.get("package").and_then(name));
        self.targets.extend(manifest.get("lib").and_then(name));
        for kind in ["bin", "example", "test", "bench"] {
            let all = manifest.get(kind).and_then(toml::Value::as_array);
            self.targets.extend(all.into_iter().flatten().filter_map(name));
        }
        self.features.extend(table("features").into_iter().flat_map(|all| all.keys().cloned()));
        let targets = table("target").into_iter().flat_map(|all| all.values());
        let groups = targets.filter_map(toml::Value::as_table).chain(std::iter::once(manifest));
        for dependencies in groups.filter_map(|group| group.get("dependencies")?.as_table()) {
            let optional = |value: &toml::Value| {
                value.get("optional").and_then(toml::Value::as_bool) == Some(true)
            };
            let names = dependencies.iter().filter(|(_, value)| optional(value));
            self.features.extend(names.map(|(name, _)| name.clone()));
        }
    }
}

/// Checks the names in a Cargo command.
pub(super) fn check_cargo(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    found: &mut DocumentDrift,
) {
    let Some(("cargo", arguments)) = step.program() else { return };
    let arguments = match arguments {
        [toolchain, rest @ ..] if toolchain.text.starts_with('+') => rest,
        _ => arguments,
    };
    let [verb, rest @ ..] = arguments else { return };
    if rest.iter().any(|word| word.text.starts_with("--manifest-path") || word.text == "-C") {
        return;
    }
    match verb.text.as_str() {
        "xtask" => xtask(known, step, rest, found),
        "run" | "r" | "test" | "t" | "bench" | "build" | "b" | "check" | "c" | "clippy"
        | "nextest" => {
            targets(known, step, rest, found);
        }
        _ => {}
    }
}

fn doubt(
    step: &DocumentedCommand<'_>,
    mention: String,
    evidence: String,
    suggestion: Option<String>,
) -> SuspectMention {
    SuspectMention {
        line: step.line,
        mention,
        kind: MentionKind::Command,
        evidence,
        severity: Severity::High,
        suggestion,
        ground: SuspicionBasis::Presumed,
        family: None,
    }
}

/// Checks a task of the project's `xtask`.
fn xtask(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    rest: &[CommandWord],
    found: &mut DocumentDrift,
) {
    let Some(name) = rest.first().filter(|word| !word.opaque && is_name(&word.text)) else {
        return;
    };
    if !known.is_own_name("xtask") && known.folders().ending("xtask").next().is_none() {
        return;
    }
    found.checked += 1;
    if !flags::is_in_code(known, &name.text) {
        let evidence = format!("no source file contains {} in any spelling", name.text);
        found.doubts.push(doubt(step, format!("cargo xtask {}", name.text), evidence, None));
    }
}

/// Checks targets named by options.
fn targets(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    rest: &[CommandWord],
    found: &mut DocumentDrift,
) {
    let mut words = rest.iter().take_while(|word| word.text != "--");
    while let Some(word) = words.next() {
        let (option, value) = match word.text.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word.text.as_str(), None),
        };
        let known_option = matches!(
            option,
            "--example" | "--bin" | "--test" | "--bench" | "-p" | "--package" | "--features" | "-F"
        );
        if !known_option {
            continue;
        }
        let next = if value.is_none() { words.next() } else { Some(word) };
        let Some(next) =
            next.filter(|next| !next.opaque || option == "--features" || option == "-F")
        else {
            continue;
        };
        let value = value.unwrap_or(&next.text);
        match option {
            "--features" | "-F" => {
                value.split([',', ' ']).for_each(|name| feature(known, step, name, found));
            }
            "-p" | "--package" => package(known, step, value, found),
            _ => target(known, step, option.trim_start_matches('-'), value, found),
        }
    }
}

/// Returns the folder of a kind of target.
fn target_folder(kind: &str) -> &'static str {
    match kind {
        "example" => "examples",
        "bin" => "src/bin",
        "test" => "tests",
        _ => "benches",
    }
}

fn target(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    kind: &str,
    name: &str,
    found: &mut DocumentDrift,
) {
    let Some(names) = known.crates.names(known).filter(|_| is_name(name)) else { return };
    let folder = target_folder(kind);
    // A package published without them proves nothing.
    let Some(_) = known.folders().ending(folder).next() else { return };
    found.checked += 1;
    let spelt = [name.to_owned(), name.replace('-', "_"), name.replace('_', "-")];
    let there = spelt.iter().any(|name| {
        names.targets.contains(&name.replace('-', "_"))
            || known.files().ending(&format!("{folder}/{name}.rs")).next().is_some()
            || known.files().ending(&format!("{folder}/{name}/main.rs")).next().is_some()
    });
    if there {
        return;
    }
    let evidence = format!("no Cargo.toml names it, and {folder}/{name}.rs does not exist");
    let files = known.folders().ending(folder).flat_map(|folder| known.files_in(folder));
    let stems = files
        .filter_map(|path| crate::repo::tree::name_of(path).strip_suffix(".rs"))
        .chain(names.targets.iter().map(String::as_str));
    let near =
        edit_distance::nearest(&known.effort, name, stems).map(|near| format!("--{kind} {near}"));
    found.doubts.push(doubt(step, format!("--{kind} {name}"), evidence, near));
}

fn package(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    name: &str,
    found: &mut DocumentDrift,
) {
    let Some(names) = known.crates.names(known).filter(|_| is_name(name)) else { return };
    let several = known.files().ending("Cargo.toml").nth(1).is_some();
    if !several || known.is_dependency(name) {
        return;
    }
    found.checked += 1;
    if names.targets.contains(&name.replace('-', "_")) {
        return;
    }
    let evidence = "no package in this project has that name".to_owned();
    let all = names.targets.iter().map(String::as_str);
    let near = edit_distance::nearest(&known.effort, &name.replace('-', "_"), all);
    let near = near.map(|near| format!("-p {}", near.replace('_', "-")));
    found.doubts.push(doubt(step, format!("-p {name}"), evidence, near));
}

fn feature(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    name: &str,
    found: &mut DocumentDrift,
) {
    let name = match name.split_once('/') {
        Some((package, name)) if known.is_own_name(package) => name,
        Some(_) => return,
        None => name,
    };
    let Some(names) = known.crates.names(known).filter(|_| is_name(name)) else { return };
    if names.features.is_empty() {
        return;
    }
    found.checked += 1;
    if names.features.contains(name) {
        return;
    }
    let evidence = "no Cargo.toml in this project has a feature with that name".to_owned();
    let near =
        edit_distance::nearest(&known.effort, name, names.features.iter().map(String::as_str));
    let near = near.map(|near| format!("--features {near}"));
    found.doubts.push(doubt(step, format!("--features {name}"), evidence, near));
}

fn is_name(word: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    word.len() > 1
        && word.chars().all(letters)
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && !word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        && !super::files::is_placeholder(word)
}
