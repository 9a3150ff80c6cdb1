//! Summary of all manifests and lock files. Must not know any format.

use super::{
    super::{
        report::{DependencySummary, InternalEdge, LockFile, Purpose, Used},
        tree::folder_of,
    },
    format::PackageFileFormat,
    lock::LockedVersions,
    reading::{DependencyOrigin, ManifestDraft, RequestedDependency, outwards},
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Maximum number of listed edges.
const MAX_LISTED_EDGES: usize = 500;

/// Maximum number of listed most used packages.
const MAX_LISTED_MOST_USED: usize = 20;

/// Folders with manifests as test input: their dependencies are not the project's.
const FIXTURES: [&str; 7] = [
    "fixture",
    "fixtures",
    "__fixtures__",
    "testdata",
    "test-data",
    "test_data",
    "__testfixtures__",
];

/// Folders with copies of other projects.
const COPIES: [&str; 7] = [
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "node_modules",
    "bower_components",
];

/// Folders whose manifests are for development, whatever they declare.
const TESTING: [&str; 9] =
    ["test", "tests", "__tests__", "spec", "specs", "e2e", "benches", "benchmarks", "fuzz"];

/// Maximum number of listed lock files.
const MAX_LISTED_LOCK_FILES: usize = 200;

/// Ecosystems in which packages of one repository depend on each other by name and version, like external ones.
const BY_NAME: [&str; 5] = ["Dart", "Go", "Maven", "PHP", "Ruby"];

/// Totals of all lock files.
#[derive(Debug, Default)]
pub(super) struct LockFileTally {
    lock_files: Vec<LockFile>,
    /// Packages with versions, as hashes.
    locked: HashSet<u64>,
}

/// Ecosystem and package name.
type PackageKey<'a> = (&'a str, String);

/// Whether a path is in a folder of test input or copies.
fn is_foreign(path: &str) -> bool {
    let mut outer = "";
    folder_of(path).split('/').any(|part| {
        let data = part == "data" && TESTING.contains(&outer);
        outer = part;
        data || FIXTURES.contains(&part) || COPIES.contains(&part)
    })
}

/// Whether a path is in a folder of tests or benchmarks.
fn is_testing(path: &str) -> bool {
    folder_of(path).split('/').any(|part| TESTING.contains(&part))
}

/// Normalizes package names of an ecosystem for comparison.
pub(super) fn comparable(ecosystem: &str, name: &str) -> String {
    match ecosystem {
        "Python" => super::requirements::normal_name(name),
        ".NET" | "PHP" | "Swift" | "CMake" => name.to_lowercase(),
        _ => name.to_owned(),
    }
}

impl LockFileTally {
    /// Adds a lock file.
    pub(super) fn take_lock(
        &mut self,
        path: &str,
        format: PackageFileFormat,
        fixed: &LockedVersions,
    ) {
        if is_foreign(path) {
            return;
        }
        let ecosystem = format.ecosystem();
        self.locked.extend(fixed.hashes(ecosystem));
        let (path, ecosystem) = (path.to_owned(), ecosystem.to_owned());
        self.lock_files.push(LockFile { path, ecosystem, packages: fixed.count() });
    }

    /// Summarizes the lock files and the dependencies of the manifests.
    pub(super) fn sum_up(self, drafts: &[ManifestDraft]) -> DependencySummary {
        let names = LocalPackages::of(drafts);
        let mut edges = BTreeSet::new();
        // Whether it is used outside development, and by how many manifests.
        let mut outside: BTreeMap<PackageKey<'_>, (bool, u64, &str)> = BTreeMap::new();
        for draft in drafts.iter().filter(|draft| !is_foreign(&draft.manifest.path)) {
            let mut own = HashSet::new();
            let testing = is_testing(&draft.manifest.path);
            for wanted in draft.wanted.iter().filter(|it| it.purpose != Purpose::Workspace) {
                let from = &draft.manifest.path;
                if let Some(to) = names.inside(draft, wanted) {
                    if to != from && names.paths.contains(to) {
                        edges.insert(InternalEdge { from: from.clone(), to: to.to_owned() });
                    }
                    continue;
                }
                let ecosystem = draft.format.ecosystem();
                let package = (ecosystem, comparable(ecosystem, &wanted.name));
                let entry = outside.entry(package.clone()).or_insert((false, 0, &wanted.name));
                entry.0 |= wanted.purpose != Purpose::Development && !testing;
                entry.1 += u64::from(own.insert(package));
            }
        }
        let direct = outside.values().filter(|(direct, ..)| *direct).count() as u64;
        let development = outside.len() as u64 - direct;
        let mut most_used: Vec<_> = outside.iter().filter(|(_, (_, by, _))| *by > 1).collect();
        most_used.sort_by_key(|(package, (_, by, _))| (std::cmp::Reverse(*by), *package));
        let most_used = most_used.into_iter().take(MAX_LISTED_MOST_USED);
        DependencySummary {
            direct,
            development,
            locked: self.locked.len() as u64,
            internal: edges.into_iter().take(MAX_LISTED_EDGES).collect(),
            most_used: most_used
                .map(|((ecosystem, _), (_, by, name))| Used {
                    name: (*name).to_owned(),
                    ecosystem: (*ecosystem).to_owned(),
                    by: *by,
                })
                .collect(),
            lock_files: self.lock_files.into_iter().take(MAX_LISTED_LOCK_FILES).collect(),
        }
    }
}

/// Packages of this repository by name.
struct LocalPackages<'a> {
    /// Manifests by path.
    paths: HashSet<&'a str>,
    /// First package manifest of an ecosystem in a folder.
    folders: HashMap<(&'a str, &'a str), &'a str>,
    all: HashMap<PackageKey<'a>, &'a str>,
    /// By workspace of which they are members or the root.
    in_workspace: HashMap<(PackageKey<'a>, &'a str), &'a str>,
    /// By folder.
    in_folder: HashMap<(PackageKey<'a>, &'a str), &'a str>,
}

impl<'a> LocalPackages<'a> {
    fn of(drafts: &'a [ManifestDraft]) -> Self {
        let paths = drafts.iter().map(|draft| draft.manifest.path.as_str()).collect();
        let mut folders = HashMap::new();
        for draft in drafts.iter().filter(|draft| draft.manifest.name.is_some()) {
            let key = (draft.format.ecosystem(), draft.folder());
            folders.entry(key).or_insert(draft.manifest.path.as_str());
        }
        let (all, in_workspace, in_folder) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut names = Self { paths, folders, all, in_workspace, in_folder };
        for draft in drafts.iter().filter(|draft| !is_foreign(&draft.manifest.path)) {
            let manifest = &draft.manifest;
            let Some(name) = &manifest.name else { continue };
            let ecosystem = draft.format.ecosystem();
            let package = (ecosystem, comparable(ecosystem, name));
            let path = manifest.path.as_str();
            let workspace = manifest.workspace.as_deref().unwrap_or(path);
            names.in_workspace.entry((package.clone(), workspace)).or_insert(path);
            names.in_folder.entry((package.clone(), draft.folder())).or_insert(path);
            names.all.entry(package).or_insert(path);
        }
        names
    }

    /// Returns the manifest of a dependency in this repository.
    fn inside(&self, draft: &'a ManifestDraft, wanted: &'a RequestedDependency) -> Option<&'a str> {
        let ecosystem = draft.format.ecosystem();
        if let DependencyOrigin::Local(path) = &wanted.origin {
            // Any of a package's manifests may represent it.
            let beside = || self.folders.get(&(ecosystem, folder_of(path))).copied();
            let known = self.paths.get(path.as_str()).copied().or_else(beside);
            return Some(known.unwrap_or(path));
        }
        let package = (ecosystem, comparable(ecosystem, &wanted.name));
        let anywhere = *self.all.get(&package)?;
        if BY_NAME.contains(&ecosystem) {
            return Some(anywhere);
        }
        let path = draft.manifest.path.as_str();
        let workspace = draft.manifest.workspace.as_deref().unwrap_or(path);
        let key = (package, workspace);
        if let Some(found) = self.in_workspace.get(&key) {
            return Some(found);
        }
        let mut key = (key.0, "");
        outwards(draft.folder()).find_map(|folder| {
            key.1 = folder;
            self.in_folder.get(&key).copied()
        })
    }
}
