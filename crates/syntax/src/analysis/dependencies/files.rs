//! What resolution may know of a repository: the paths of its files, and what a few manifests say.

use super::{
    External, csharp, dart, go,
    paths::{below, folder_of, name_of, nearest},
    php, python, rust, script,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, HashMap},
    sync::OnceLock,
};

/// Where packages come from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Ecosystem {
    /// JavaScript and TypeScript.
    Node,
    /// Python.
    Python,
    /// Rust crates.
    Rust,
    /// Go modules.
    Go,
    /// Java, Kotlin and Scala; names are those of groups.
    Java,
    /// C and C++; names are the first folder of a header.
    Native,
    /// C#.
    #[serde(rename = "dotnet")]
    DotNet,
    /// Ruby gems.
    Ruby,
    /// PHP packages.
    Php,
    /// Dart packages.
    Dart,
    /// Lua rocks.
    Lua,
    /// Elixir applications.
    Elixir,
    /// Haskell packages; names are those of modules.
    Haskell,
    /// Zig packages.
    Zig,
    /// Swift modules.
    Swift,
}

type Text<'a> = Box<dyn Fn(&str) -> Option<String> + Send + Sync + 'a>;
type Version<'a> = Box<dyn Fn(Ecosystem, &str) -> Option<String> + Send + Sync + 'a>;

/// The files of a repository. Built once, used for every file: manifests are read when they are first needed, and kept.
pub struct Files<'a> {
    /// Sorted.
    paths: Vec<String>,
    by_name: HashMap<String, Vec<u32>>,
    folders_by_name: OnceLock<HashMap<String, Vec<String>>>,
    text: Text<'a>,
    version: Version<'a>,
    pub(super) python: OnceLock<python::Roots>,
    pub(super) script: OnceLock<script::Manifests>,
    pub(super) rust: OnceLock<rust::Crates>,
    pub(super) go: OnceLock<go::Modules>,
    pub(super) php: OnceLock<php::Prefixes>,
    pub(super) dart: OnceLock<dart::Packages>,
    pub(super) csharp: OnceLock<csharp::Projects>,
}

impl std::fmt::Debug for Files<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").field("paths", &self.paths.len()).finish_non_exhaustive()
    }
}

impl<'a> Files<'a> {
    /// All paths of a repository, with slashes and from its top. `text` reads a manifest by its path; `version` says
    /// which version of a package the repository asks for or has locked, and `None` for a package that it doesn't name.
    pub fn new(
        paths: impl IntoIterator<Item = String>,
        text: impl Fn(&str) -> Option<String> + Send + Sync + 'a,
        version: impl Fn(Ecosystem, &str) -> Option<String> + Send + Sync + 'a,
    ) -> Self {
        let paths: Vec<String> = paths.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let mut by_name: HashMap<String, Vec<u32>> = HashMap::new();
        for (path, id) in paths.iter().zip(0..) {
            by_name.entry(name_of(path).to_owned()).or_default().push(id);
        }
        Self {
            paths,
            by_name,
            folders_by_name: OnceLock::new(),
            text: Box::new(text),
            version: Box::new(version),
            python: OnceLock::new(),
            script: OnceLock::new(),
            rust: OnceLock::new(),
            go: OnceLock::new(),
            php: OnceLock::new(),
            dart: OnceLock::new(),
            csharp: OnceLock::new(),
        }
    }

    /// Whether a path is a file of the repository.
    pub fn has(&self, path: &str) -> bool {
        self.paths.binary_search_by(|one| one.as_str().cmp(path)).is_ok()
    }

    /// Every path, sorted.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Whether there are files below a folder.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        folder.is_empty() || {
            let start = format!("{folder}/");
            let at = self.paths.partition_point(|path| path.as_str() < start.as_str());
            self.paths.get(at).is_some_and(|path| path.starts_with(&start))
        }
    }

    /// The files directly in a folder.
    pub(super) fn directly_in(&self, folder: &str) -> Vec<&str> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut at = self.paths.partition_point(|path| path.as_str() < start.as_str());
        let mut found = Vec::new();
        while let Some(rest) = self.paths.get(at).and_then(|path| path.strip_prefix(&start)) {
            if let Some((inner, _)) = rest.split_once('/') {
                // The character after the slash is the first that sorts after everything in that folder.
                let end = format!("{start}{inner}0");
                at = self.paths.partition_point(|path| path.as_str() < end.as_str());
            } else {
                found.push(self.paths[at].as_str());
                at += 1;
            }
        }
        found
    }

    /// Every file of this name.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &str> {
        let ids = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        ids.iter().map(|id| self.paths[*id as usize].as_str())
    }

    /// Every file whose path ends with these parts.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &str> {
        self.named(name_of(end)).filter(move |path| ends_with(path, end))
    }

    /// Every folder with files directly in it whose path ends with these parts.
    pub(super) fn folders_ending(&self, end: &str) -> impl Iterator<Item = &str> {
        let folders = self.folders_by_name.get_or_init(|| {
            let all: BTreeSet<&str> = self.paths.iter().map(|path| folder_of(path)).collect();
            let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
            for folder in all {
                by_name.entry(name_of(folder).to_owned()).or_default().push(folder.to_owned());
            }
            by_name
        });
        let named = folders.get(name_of(end)).map(Vec::as_slice).unwrap_or_default();
        named.iter().map(String::as_str).filter(move |path| ends_with(path, end))
    }

    /// The file that ends with these parts and is nearest to `from`.
    pub(super) fn nearest_ending(&self, from: &str, end: &str) -> Option<&str> {
        nearest(from, self.ending(end))
    }

    /// The only file that ends with these parts.
    pub(super) fn only_ending(&self, end: &str) -> Option<&str> {
        let mut all = self.ending(end);
        all.next().filter(|_| all.next().is_none())
    }

    /// What a manifest says.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        if self.has(path) { (self.text)(path) } else { None }
    }

    /// Every manifest of this name, with its folder, outer ones first. What was installed is not the repository's own.
    pub(super) fn manifests(&self, name: &str) -> Vec<(String, String)> {
        let own = |path: &&str| {
            !path.split('/').any(|part| matches!(part, "node_modules" | "vendor" | "site-packages"))
        };
        let read = |path: &str| Some((folder_of(path).to_owned(), self.read(path)?));
        let mut all: Vec<_> = self.named(name).filter(own).filter_map(read).collect();
        all.sort_by_key(|(folder, _)| folder.matches('/').count());
        all
    }

    /// A package under the first of these names that has a version, else under the first.
    pub(super) fn package(&self, ecosystem: Ecosystem, names: &[String]) -> Option<External> {
        let known = names.iter().find_map(|name| {
            let version = Some((self.version)(ecosystem, name)?);
            Some(External { name: name.clone(), version, standard: false })
        });
        let plain = |name: &String| External { name: name.clone(), version: None, standard: false };
        known.or_else(|| names.first().map(plain))
    }
}

fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('/'))
}

/// The innermost of these folders that a path is in, as an index.
pub(super) fn innermost<'f>(path: &str, folders: impl Iterator<Item = &'f str>) -> Option<usize> {
    let around = folders.enumerate().filter(|(_, folder)| below(path, folder).is_some());
    around.max_by_key(|(_, folder)| folder.len()).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_folder_and_by_ending() {
        let paths = ["a/b/X.java", "a/b.txt", "a/b-c/y", "a/b/c/Z.java", "q/a/b/X.java", "top"];
        let files = Files::new(paths.map(str::to_owned), |_| None, |_, _| None);
        assert_eq!(files.directly_in("a"), ["a/b.txt"]);
        assert_eq!(files.directly_in("a/b"), ["a/b/X.java"]);
        assert_eq!(files.directly_in(""), ["top"]);
        assert_eq!(files.nearest_ending("q/m", "a/b/X.java"), Some("q/a/b/X.java"));
        assert_eq!(files.only_ending("b/X.java"), None);
        assert_eq!(files.only_ending("c/Z.java"), Some("a/b/c/Z.java"));
        assert_eq!(files.only_ending("/Z.java"), None);
        assert_eq!(files.folders_ending("a/b").collect::<Vec<_>>(), ["a/b", "q/a/b"]);
        assert!(files.has_folder("a/b/c") && !files.has_folder("a/b/X"));
        assert!(files.has("top") && !files.has("a"));
    }
}
