//! Type names: no two public types of one name where a crate can see both, and how many types share a name.

use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Names that every Rust reader expects to mean something else in each module.
const IDIOMS: [&str; 5] = ["Args", "Builder", "Config", "Error", "Options"];

/// A type as its source defines it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TypeDefinition {
    name: String,
    file: PathBuf,
    line: usize,
    is_public: bool,
}

impl TypeDefinition {
    fn location(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }
}

/// Share of types whose name another type has as well.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SharedNames {
    pub(super) types: usize,
    pub(super) shared: usize,
}

/// Finds the structs, enums, traits and unions that a source file defines.
pub(super) fn find_definitions(file: &Path, text: &str) -> Vec<TypeDefinition> {
    let definition = |(index, line): (usize, &str)| {
        let line = line.trim_start();
        let (is_public, rest) = match line.strip_prefix("pub") {
            Some(rest) if rest.starts_with(' ') => (true, rest.trim_start()),
            Some(rest) if rest.starts_with('(') => (false, rest.split_once(") ")?.1),
            _ => (false, line),
        };
        let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
        let rest = ["struct ", "enum ", "trait ", "union "]
            .iter()
            .find_map(|keyword| rest.strip_prefix(keyword))?;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        name.starts_with(char::is_uppercase).then(|| TypeDefinition {
            name,
            file: file.to_owned(),
            line: index + 1,
            is_public,
        })
    };
    text.lines().enumerate().filter_map(definition).collect()
}

/// Lists public types of one name that some crate can see, among its own and those of its direct dependencies.
pub(super) fn check(metadata: &Value, definitions: &[TypeDefinition]) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("no packages in cargo's metadata")?;
    let mut breaches = BTreeSet::new();
    for package in packages {
        let sources: Vec<PathBuf> = visible_packages(package)
            .into_iter()
            .filter_map(|name| packages.iter().find(|package| package["name"] == *name))
            .filter_map(|package| source_folder(metadata, package))
            .collect();
        let mut visible: BTreeMap<&str, Vec<&TypeDefinition>> = BTreeMap::new();
        for definition in definitions {
            if definition.is_public
                && !definition.file.ends_with("tests.rs")
                && !IDIOMS.contains(&definition.name.as_str())
                && sources.iter().any(|folder| definition.file.starts_with(folder))
            {
                visible.entry(&definition.name).or_default().push(definition);
            }
        }
        breaches.extend(visible.into_iter().filter(|(_, found)| found.len() > 1).map(
            |(name, found)| {
                let places: Vec<String> = found.iter().map(|found| found.location()).collect();
                format!("public types share the name {name}: {}", places.join(", "))
            },
        ));
    }
    Ok(breaches.into_iter().collect())
}

/// A package and those that it is built from.
fn visible_packages(package: &Value) -> Vec<&str> {
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    dependencies
        .iter()
        .filter(|dependency| dependency["kind"].is_null())
        .chain([package])
        .filter_map(|named| named["name"].as_str())
        .collect()
}

/// Where a package has its sources, from the root of the workspace.
fn source_folder(metadata: &Value, package: &Value) -> Option<PathBuf> {
    let root = metadata["workspace_root"].as_str()?;
    let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
    Some(folder.strip_prefix(root).ok()?.join("src"))
}

/// Counts the types that share their name.
pub(super) fn count_shared(definitions: &[TypeDefinition]) -> SharedNames {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for definition in definitions {
        *names.entry(&definition.name).or_default() += 1;
    }
    SharedNames {
        types: definitions.len(),
        shared: names.values().filter(|count| **count > 1).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definitions(files: &[(&str, &str)]) -> Vec<TypeDefinition> {
        files.iter().flat_map(|(file, text)| find_definitions(Path::new(file), text)).collect()
    }

    fn metadata() -> Value {
        let package = |name: &str, dependencies: Value| {
            let manifest_path = format!("/r/crates/{name}/Cargo.toml");
            json!({"name": name, "manifest_path": manifest_path, "dependencies": dependencies})
        };
        json!({"workspace_root": "/r", "packages": [
            package("a", json!([])),
            package("b", json!([{"name": "a", "kind": null}, {"name": "serde", "kind": null}])),
            package("c", json!([{"name": "a", "kind": "dev"}])),
        ]})
    }

    fn check_names(files: &[(&str, &str)], expected: &[&str]) {
        let breaches = check(&metadata(), &definitions(files)).unwrap();
        assert_eq!(breaches.len(), expected.len(), "{breaches:?}");
        for (breach, part) in breaches.iter().zip(expected) {
            assert!(breach.contains(part), "{breach}");
        }
    }

    #[test]
    fn public_names_are_unique_where_a_crate_sees_both() {
        let line = "pub struct Line;\n";
        check_names(
            &[("crates/a/src/lib.rs", line), ("crates/b/src/x.rs", line)],
            &["Line: crates/a/src/lib.rs:1, crates/b/src/x.rs:1"],
        );
        check_names(&[("crates/a/src/lib.rs", line), ("crates/a/src/x.rs", line)], &["Line"]);
        check_names(&[("crates/a/src/lib.rs", line), ("crates/c/src/x.rs", line)], &[]);
        check_names(
            &[("crates/a/src/lib.rs", line), ("crates/b/src/x.rs", "pub(crate) struct Line;")],
            &[],
        );
        let error = "pub enum Error {}\n";
        check_names(&[("crates/a/src/lib.rs", error), ("crates/b/src/x.rs", error)], &[]);
    }

    #[test]
    fn shared_names_are_counted_over_every_kind_of_type() {
        let found = definitions(&[
            ("a.rs", "pub struct A;\n    enum B {}\n/// struct C\n"),
            ("b.rs", "pub(super) unsafe trait A {}\nstructure D\nlet union = 1;\n"),
        ]);
        assert_eq!(count_shared(&found), SharedNames { types: 3, shared: 2 });
    }
}
