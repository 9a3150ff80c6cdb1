//! Indexes of the project for checking mentions. Each index is built on first use.

use super::{CurrentProject, step_budget::StepBudget};
use crate::repo::{
    facts::Symbol,
    languages,
    path_suffixes::PathSuffixes,
    report::{EntryKind, Nature},
    tree::{HaltCheck, folder_of, join, name_of},
};
use std::{
    cell::{OnceCell, RefCell},
    collections::{HashMap, HashSet},
};

/// Where a symbol is declared.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolDeclaration<'a> {
    pub(super) path: &'a str,
    pub(super) symbol: &'a Symbol,
}

/// The first byte of a name, and its length.
type Shape = (Option<u8>, usize);

/// Everything in the project.
pub(super) struct ProjectIndex<'a> {
    pub(super) today: &'a CurrentProject<'a>,
    files: OnceCell<PathSuffixes<'a>>,
    folders: OnceCell<PathSuffixes<'a>>,
    gone: OnceCell<PathSuffixes<'a>>,
    gone_folders: OnceCell<PathSuffixes<'a>>,
    stems: OnceCell<HashSet<&'a str>>,
    symbols: OnceCell<HashMap<&'a str, Vec<SymbolDeclaration<'a>>>>,
    shapes: OnceCell<HashMap<Shape, Vec<&'a str>>>,
    modules: OnceCell<HashSet<&'a str>>,
    names: HashSet<String>,
    packages: HashSet<String>,
    programs: HashSet<String>,
    dependencies: HashSet<String>,
    inside: OnceCell<HashMap<&'a str, Vec<&'a str>>>,
    alike: OnceCell<HashMap<&'a str, HashMap<&'a str, Vec<&'a str>>>>,
    /// Types and modules that may have members their source does not spell out.
    pub(super) holders: RefCell<HashMap<String, bool>>,
    pub(super) effort: StepBudget<'a>,
    gone_in_order: OnceCell<Vec<&'a str>>,
    pub(super) ignored: super::gitignore::GitignoreCache,
    pub(super) crates: super::cargo::CargoIndex,
    pub(super) runners: super::runners::RunnerFileCache,
}

impl<'a> ProjectIndex<'a> {
    pub(super) fn new(today: &'a CurrentProject<'a>, halt: HaltCheck<'a>) -> Self {
        let declared = today.manifests.iter().filter_map(|manifest| manifest.name.as_deref());
        let mut names: HashSet<String> = declared.map(last_name).collect();
        let top = today.tree.roots.absolute(&today.tree.top);
        names.extend(top.file_name().and_then(|name| name.to_str()).map(last_name));
        let dependencies = today.manifests.iter().flat_map(|manifest| &manifest.dependencies);
        let dependencies: HashSet<String> =
            dependencies.map(|dependency| as_identifier(&last_name(&dependency.name))).collect();
        Self {
            today,
            files: OnceCell::new(),
            folders: OnceCell::new(),
            gone: OnceCell::new(),
            gone_folders: OnceCell::new(),
            stems: OnceCell::new(),
            symbols: OnceCell::new(),
            shapes: OnceCell::new(),
            modules: OnceCell::new(),
            programs: programs(today),
            packages: names.iter().map(|name| as_identifier(name)).collect(),
            names,
            dependencies,
            inside: OnceCell::new(),
            alike: OnceCell::new(),
            holders: RefCell::default(),
            effort: StepBudget::new(halt),
            gone_in_order: OnceCell::new(),
            ignored: super::gitignore::GitignoreCache::default(),
            crates: super::cargo::CargoIndex::default(),
            runners: super::runners::RunnerFileCache::default(),
        }
    }

    /// Current files.
    pub(super) fn files(&self) -> &PathSuffixes<'a> {
        let paths = || self.today.tree.files().iter().map(|file| file.path.as_ref());
        self.files.get_or_init(|| PathSuffixes::new(paths()))
    }

    /// Current folders.
    pub(super) fn folders(&self) -> &PathSuffixes<'a> {
        self.folders.get_or_init(|| PathSuffixes::new(self.today.tree.folders()))
    }

    /// Deleted files in git history.
    pub(super) fn gone(&self) -> &PathSuffixes<'a> {
        self.gone.get_or_init(|| {
            let past = self.today.past.map(|past| &past.files).into_iter().flatten();
            let gone =
                past.filter(|(path, past)| past.gone && self.today.tree.file(path).is_none());
            PathSuffixes::new(gone.map(|(path, _)| path.as_ref()))
        })
    }

    /// Folders whose files are all deleted.
    pub(super) fn gone_folders(&self) -> &PathSuffixes<'a> {
        self.gone_folders.get_or_init(|| {
            let mut folders = HashSet::new();
            for path in self.gone().all() {
                let mut folder = folder_of(path);
                while !self.today.tree.has_folder(folder) && folders.insert(folder) {
                    folder = folder_of(folder);
                }
            }
            PathSuffixes::new(folders.into_iter())
        })
    }

    /// Deleted files in git history below a folder.
    pub(super) fn gone_below(&self, folder: &str) -> impl Iterator<Item = &'a str> {
        let all = self.gone_in_order.get_or_init(|| {
            let mut all: Vec<&str> = self.gone().all().collect();
            all.sort_unstable();
            all
        });
        let inside = format!("{folder}/");
        let start = all.partition_point(|path| *path < inside.as_str());
        all.iter().skip(start).copied().take_while(move |path| path.starts_with(&inside))
    }

    /// Files directly in a folder.
    pub(super) fn files_in(&self, folder: &str) -> &[&'a str] {
        let inside = self.inside.get_or_init(|| {
            let mut inside: HashMap<&str, Vec<&str>> = HashMap::new();
            for file in self.today.tree.files() {
                inside.entry(file.folder()).or_default().push(&file.path);
            }
            inside
        });
        inside.get(folder).map(Vec::as_slice).unwrap_or_default()
    }

    /// Files directly in a folder with this extension.
    pub(super) fn files_like(&self, folder: &str, ending: &str) -> &[&'a str] {
        let alike = self.alike.get_or_init(|| {
            let mut alike: HashMap<&str, HashMap<&str, Vec<&str>>> = HashMap::new();
            for file in self.today.tree.files() {
                if let Some(ending) = super::files::ending(&file.path) {
                    let folder = alike.entry(file.folder()).or_default();
                    folder.entry(ending).or_default().push(&file.path);
                }
            }
            alike
        });
        let alike = alike.get(folder).and_then(|folder| folder.get(ending));
        alike.map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a current file has this path without its extension.
    pub(super) fn has_stem(&self, path: &str) -> bool {
        let stem = |path: &'a str| path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        let files = || self.today.tree.files().iter().map(|file| stem(file.path.as_ref()));
        self.stems.get_or_init(|| files().collect()).contains(path)
    }

    /// Public symbols by the last part of their name, without tests and examples.
    pub(super) fn symbols(&self) -> &HashMap<&'a str, Vec<SymbolDeclaration<'a>>> {
        self.symbols.get_or_init(|| {
            let mut symbols: HashMap<&str, Vec<SymbolDeclaration<'_>>> = HashMap::new();
            let mut files: Vec<_> = self.today.symbols.iter().collect();
            files.sort_unstable_by_key(|(path, _)| *path);
            for (path, found) in files.into_iter().filter(|(path, _)| !is_aside(path)) {
                for symbol in found {
                    let name = last_part(&symbol.name);
                    symbols.entry(name).or_default().push(SymbolDeclaration { path, symbol });
                }
            }
            symbols
        })
    }

    /// Names of public symbols with the same first letter and similar length.
    pub(super) fn symbols_like(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let shape = |name: &str| -> Shape { (name.bytes().next(), name.len()) };
        let shapes = self.shapes.get_or_init(|| {
            let mut shapes: HashMap<Shape, Vec<&str>> = HashMap::new();
            for name in self.symbols().keys() {
                shapes.entry(shape(name)).or_default().push(name);
            }
            shapes
        });
        let (first, length) = shape(name);
        let lengths = length.saturating_sub(3)..=length + 3;
        lengths.filter_map(move |length| shapes.get(&(first, length))).flatten().copied()
    }

    /// Whether a source file or folder with source files has this name: a module in most languages.
    pub(super) fn is_module(&self, name: &str) -> bool {
        self.modules
            .get_or_init(|| {
                let files = self.today.tree.files().iter();
                let source = files.filter(|file| {
                    file.language.is_some_and(|is| languages::nature(is) == Nature::Program)
                });
                let mut modules = HashSet::new();
                for file in source {
                    let name = file.name();
                    modules.insert(name.split_once('.').map_or(name, |(stem, _)| stem));
                    modules.insert(name_of(file.folder()));
                }
                modules
            })
            .contains(name)
    }

    /// Whether this is the name of the project or one of its packages.
    pub(super) fn is_own_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether this is a package name as written in code, with `_` for `-`.
    pub(super) fn is_own_package(&self, name: &str) -> bool {
        self.packages.contains(name)
    }

    /// Whether the project has programs.
    pub(super) fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Whether the project has a program of this name.
    pub(super) fn is_own_program(&self, name: &str) -> bool {
        self.programs.contains(name)
    }

    /// Whether a manifest depends on a package with this name, as written in code.
    pub(super) fn is_dependency(&self, name: &str) -> bool {
        self.dependencies.contains(&as_identifier(name))
    }

    /// Whether the path, or one with this suffix, exists on disk or in the walk.
    pub(super) fn has_path(&self, folder: &str, path: &str) -> bool {
        let tree = self.today.tree;
        let mut tried = above(folder).filter_map(|base| join(base, path));
        let there = |path: &String| tree.file(path).is_some() || tree.has_folder(path);
        if tried.any(|path| there(&path)) {
            return true;
        }
        let end = path.trim_start_matches("./").trim_start_matches("../");
        self.files().ending(end).next().is_some()
            || self.folders().ending(end).next().is_some()
            || [folder, ""]
                .iter()
                .any(|base| join(base, path).is_some_and(|path| tree.is_on_disk(&path)))
    }
}

/// Yields a folder and its ancestors, up to the analyzed folder.
pub(super) fn above(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| {
        let folder: &str = folder;
        (!folder.is_empty()).then(|| folder_of(folder))
    })
}

/// Returns the last part of a symbol's name.
pub(super) fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':', '#']).next().unwrap_or(name)
}

/// Whether a file is a test or example.
fn is_aside(path: &str) -> bool {
    const TEST_AND_EXAMPLE_FOLDERS: [&str; 18] = [
        "__tests__",
        "bench",
        "benches",
        "benchmarks",
        "demo",
        "demos",
        "doc",
        "docs",
        "example",
        "examples",
        "fixtures",
        "samples",
        "spec",
        "specs",
        "test",
        "testdata",
        "testing",
        "tests",
    ];
    let name = name_of(path);
    folder_of(path).split('/').any(|part| TEST_AND_EXAMPLE_FOLDERS.binary_search(&part).is_ok())
        || name.starts_with("test_")
        || [".test.", ".spec.", "_test."].iter().any(|mark| name.contains(mark))
}

/// Returns a package name without its scope: `@scope/name`, `github.com/owner/name`.
fn last_name(name: &str) -> String {
    name_of(name).to_owned()
}

/// Returns a package name as written in code.
fn as_identifier(name: &str) -> String {
    name.replace(['-', '.'], "_").to_ascii_lowercase()
}

/// Common system programs, which are not treated as the project's own.
const SYSTEM_PROGRAMS: [&str; 24] = [
    "bash", "bench", "cargo", "cmake", "curl", "deno", "docker", "docs", "example", "git", "go",
    "java", "make", "node", "npm", "php", "python", "python3", "ruby", "server", "sh", "test",
    "tests", "website",
];

fn programs(today: &CurrentProject<'_>) -> HashSet<String> {
    let entries = today.project.entry_points.iter();
    let run = entries.filter(|entry| matches!(entry.kind, EntryKind::Binary | EntryKind::Script));
    let names = run.map(|entry| name_of(&entry.name).to_owned());
    names.filter(|name| !SYSTEM_PROGRAMS.contains(&name.as_str())).collect()
}
