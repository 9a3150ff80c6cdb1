//! Tables of imports with where they lead, a language each.

mod graph;
mod named;
mod parsed;

use super::*;
use crate::{Language, parse};

/// A repository of paths, some of them with a text, and versions of a few packages.
fn files(paths: &[(&'static str, &'static str)]) -> RepositoryFiles<'static> {
    let texts: Vec<(&str, &str)> = paths.to_vec();
    let read = move |path: &str| {
        texts.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
    };
    let versions = [
        (Ecosystem::Node, "@scope/x", "1.2.3"),
        (Ecosystem::Python, "PyYAML", "6.0"),
        (Ecosystem::Python, "google-cloud-storage", "2.1"),
        (Ecosystem::Rust, "serde-json", "1.0"),
        (Ecosystem::Go, "github.com/spf13/cobra", "v1.8.0"),
        (Ecosystem::Java, "org.junit", "5.0"),
    ];
    let version = move |ecosystem: Ecosystem, name: &str| {
        let found = versions.iter().find(|one| one.0 == ecosystem && one.1 == name);
        found.map(|one| one.2.to_owned())
    };
    RepositoryFiles::new(paths.iter().map(|(path, _)| (*path).to_owned()), read, version)
}

fn imports_of(path: &str, text: &str, files: &RepositoryFiles<'_>) -> Vec<Import> {
    let language = Language::from_path(path).unwrap();
    let tree = parse::tree(language, text, &|| false).unwrap();
    imports(&AnalyzedSource { path, language, text, tree: &tree }, files)
}

/// `line module[names] -> files`, or the package with its version, `std` for what comes with the language, `?` for
/// what is part of the repository but not found.
fn show(one: &Import) -> String {
    let names =
        if one.names.is_empty() { String::new() } else { format!("[{}]", one.names.join(" ")) };
    let targets: Vec<&str> = one.targets().collect();
    let leads = match &one.package {
        Some(package) if package.standard => format!("std {}", package.name),
        Some(package) => {
            format!("{} {}", package.name, package.version.as_deref().unwrap_or("-"))
        }
        None if !one.local => "nothing".to_owned(),
        None if targets.is_empty() => "?".to_owned(),
        None => targets.join(" "),
    };
    let mark = if one.type_only { " (types)" } else { "" };
    format!("{} {}{names} -> {leads}{mark}", one.line, one.module)
}

fn shown(path: &str, text: &str, files: &RepositoryFiles<'_>) -> Vec<String> {
    imports_of(path, text, files).iter().map(show).collect()
}
