//! The repository as seen by import resolution: file paths and a few manifests.

use super::{
    External, csharp, dart, go,
    paths::{folder_of, name_of, nearest, upwards, within},
    php, python, rust, script,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, HashMap},
    iter::Chain,
    ops::Range,
    option,
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

/// Maximum files with the same path ending that are compared.
pub(super) const MAX_COMPARED_FILES: usize = 256;
/// Maximum files of one package that an import resolves to.
pub(super) const MAX_PACKAGE_FILES: usize = 500;

type Text<'a> = Box<dyn Fn(&str) -> Option<String> + Send + Sync + 'a>;
type Version<'a> = Box<dyn Fn(Ecosystem, &str) -> Option<String> + Send + Sync + 'a>;

/// The files of a repository. Built once, used for every file: manifests are read on first use and cached.
pub struct RepositoryFiles<'a> {
    /// Sorted.
    paths: Vec<String>,
    by_name: HashMap<String, Vec<u32>>,
    tails: OnceLock<Vec<u32>>,
    folders: OnceLock<Vec<String>>,
    text: Text<'a>,
    version: Version<'a>,
    pub(super) python: OnceLock<python::PythonRoots>,
    pub(super) script: OnceLock<script::Manifests>,
    pub(super) rust: OnceLock<rust::RustCrates>,
    pub(super) go: OnceLock<go::Modules>,
    pub(super) php: OnceLock<php::Prefixes>,
    pub(super) dart: OnceLock<dart::DartPackages>,
    pub(super) csharp: OnceLock<csharp::Projects>,
}

impl std::fmt::Debug for RepositoryFiles<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RepositoryFiles").field("paths", &self.paths.len()).finish_non_exhaustive()
    }
}

impl<'a> RepositoryFiles<'a> {
    /// All paths of a repository, with slashes and from its top. `text` reads a manifest by its path; `version` says
    /// which version of a package the repository requires or locks, and `None` for an unknown package.
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
            tails: OnceLock::new(),
            folders: OnceLock::new(),
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
    pub(super) fn with_name(&self, name: &str) -> impl Iterator<Item = &str> {
        let ids = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        ids.iter().map(|id| self.paths[*id as usize].as_str())
    }

    /// All files whose path ends with these parts, exact matches first.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &str> {
        let path = |id: &u32| self.paths[*id as usize].as_str();
        let tails = self.tails.get_or_init(|| {
            let mut ids: Vec<u32> = (0..).zip(&self.paths).map(|(id, _)| id).collect();
            ids.sort_unstable_by(|one, other| backwards(path(one)).cmp(backwards(path(other))));
            ids
        });
        let all = side_by_side(tails.len(), |at| path(&tails[at]), end);
        all.map(move |at| self.paths[tails[at] as usize].as_str())
    }

    /// Every folder with files directly in it whose path ends with these parts.
    pub(super) fn folders_ending(&self, end: &str) -> impl Iterator<Item = &str> {
        let folders = self.folders.get_or_init(|| {
            let all: BTreeSet<&str> = self.paths.iter().map(|path| folder_of(path)).collect();
            let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
            all.sort_unstable_by(|one, other| backwards(one).cmp(backwards(other)));
            all
        });
        let all = side_by_side(folders.len(), |at| folders[at].as_str(), end);
        all.map(|at| folders[at].as_str())
    }

    /// The file that ends with these parts and is nearest to `from`; the first of equally near ones. If a great many
    /// match, it has to be in an enclosing folder of `from`.
    pub(super) fn nearest_ending(&self, from: &str, end: &str) -> Option<&str> {
        let mut alike: Vec<&str> = self.ending(end).take(MAX_COMPARED_FILES + 1).collect();
        if alike.len() > MAX_COMPARED_FILES {
            let mut around = upwards(folder_of(from)).map(|folder| within(folder, end));
            let at = around.find_map(|path| self.paths.binary_search(&path).ok())?;
            return self.paths.get(at).map(String::as_str);
        }
        alike.sort_unstable();
        nearest(from, alike.into_iter())
    }

    /// The only file that ends with these parts.
    pub(super) fn only_ending(&self, end: &str) -> Option<&str> {
        let mut all = self.ending(end);
        all.next().filter(|_| all.next().is_none())
    }

    /// The text of a manifest.
    pub(super) fn read(&self, path: &str) -> Option<String> {
        if self.has(path) { (self.text)(path) } else { None }
    }

    /// Every manifest of this name, with its folder, outer ones first. Installed packages are excluded.
    pub(super) fn manifests(&self, name: &str) -> Vec<(String, String)> {
        let own = |path: &&str| {
            !path.split('/').any(|part| matches!(part, "node_modules" | "vendor" | "site-packages"))
        };
        let read = |path: &str| Some((folder_of(path).to_owned(), self.read(path)?));
        let mut all: Vec<_> = self.with_name(name).filter(own).filter_map(read).collect();
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

/// The bytes of a path from the last to the first: in this order, paths with one ending lie side by side.
fn backwards(path: &str) -> impl Iterator<Item = u8> {
    path.bytes().rev()
}

/// The index ranges, in the order of [`backwards`], of the path equal to `end` and of those ending with `/` and
/// `end`.
fn side_by_side<'p>(
    count: usize,
    path: impl Fn(usize) -> &'p str,
    end: &str,
) -> Chain<option::IntoIter<usize>, Range<usize>> {
    let first_that = |from: usize, is_before: &dyn Fn(&'p str) -> bool| {
        let (mut low, mut high) = (from, count);
        while low < high {
            let middle = low.midpoint(high);
            if is_before(path(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    let same = first_that(0, &|path| backwards(path).lt(backwards(end)));
    let same = (same < count && path(same) == end).then_some(same);
    let below = format!("/{end}");
    let first = first_that(0, &|path| backwards(path).lt(backwards(&below)));
    let last = first_that(first, &|path| path.ends_with(&below));
    same.into_iter().chain(first..last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_folder_and_by_ending() {
        let paths = ["a/b/X.java", "a/b.txt", "a/b-c/y", "a/b/c/Z.java", "q/a/b/X.java", "top"];
        let files = RepositoryFiles::new(paths.map(str::to_owned), |_| None, |_, _| None);
        assert_eq!(files.directly_in("a"), ["a/b.txt"]);
        assert_eq!(files.directly_in("a/b"), ["a/b/X.java"]);
        assert_eq!(files.directly_in(""), ["top"]);
        assert_eq!(files.nearest_ending("q/m", "a/b/X.java"), Some("q/a/b/X.java"));
        assert_eq!(files.only_ending("b/X.java"), None);
        assert_eq!(files.only_ending("c/Z.java"), Some("a/b/c/Z.java"));
        assert_eq!(files.only_ending("/Z.java"), None);
        assert_eq!(files.ending("X.java").count(), 2);
        assert_eq!(files.ending("java").count(), 0);
        assert_eq!(files.folders_ending("a/b").collect::<Vec<_>>(), ["a/b", "q/a/b"]);
        assert!(files.has_folder("a/b/c") && !files.has_folder("a/b/X"));
        assert!(files.has("top") && !files.has("a"));
    }

    #[test]
    fn a_common_name_is_looked_for_around_the_file() {
        let many = (0..10_000).map(|n| format!("p{n}/util.h"));
        let files = RepositoryFiles::new(many.chain(["util.h".to_owned()]), |_| None, |_, _| None);
        assert_eq!(files.nearest_ending("p7/a.c", "util.h"), Some("p7/util.h"));
        assert_eq!(files.nearest_ending("q/a.c", "util.h"), Some("util.h"));
        assert_eq!(files.nearest_ending("q/a.c", "p3/util.h"), Some("p3/util.h"));
        assert_eq!(files.only_ending("util.h"), None);
    }
}
