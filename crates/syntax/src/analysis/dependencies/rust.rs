//! Rust: modules by the folders of a crate, crates by the manifests of a workspace.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    paths::{below, folder_of, join, name_of, upwards, within},
};
use std::collections::HashMap;
use toml::Table;

/// The crates of a repository.
#[derive(Debug)]
pub(super) struct RustCrates {
    by_folder: HashMap<String, Crate>,
    /// By the name that `use` has for it.
    by_name: HashMap<String, String>,
}

#[derive(Debug)]
struct Crate {
    folder: String,
    /// The library's root file, whether it exists or not.
    library: String,
    /// First files of programs, tests, examples and benches that the manifest gives a path.
    others: Vec<String>,
    /// Package names in `use`, with their registry names.
    needs: HashMap<String, String>,
}

impl RustCrates {
    fn read(files: &RepositoryFiles<'_>) -> Self {
        let (mut by_folder, mut by_name) = (HashMap::new(), HashMap::new());
        for (folder, text) in files.manifests("Cargo.toml") {
            let Ok(manifest) = text.parse::<Table>() else { continue };
            let Some(name) = manifest.get("package").and_then(|one| one.get("name")?.as_str())
            else {
                continue;
            };
            let library = |field: &str| manifest.get("lib")?.get(field)?.as_str();
            let in_code = library("name").unwrap_or(name).replace('-', "_");
            by_name.entry(in_code).or_insert_with(|| folder.clone());
            let path = library("path").unwrap_or("src/lib.rs");
            let library = join(&folder, path).unwrap_or_default();
            let (others, needs) = (others(&folder, &manifest), needs(&manifest));
            by_folder.insert(folder.clone(), Crate { folder, library, others, needs });
        }
        Self { by_folder, by_name }
    }

    fn around(&self, from: &str) -> Option<&Crate> {
        upwards(folder_of(from)).find_map(|folder| self.by_folder.get(folder))
    }
}

/// First files that a manifest names beside the library's.
fn others(folder: &str, manifest: &Table) -> Vec<String> {
    let kinds = ["bin", "test", "example", "bench"];
    let targets = kinds.iter().filter_map(|kind| manifest.get(*kind)?.as_array()).flatten();
    targets.filter_map(|target| join(folder, target.get("path")?.as_str()?)).collect()
}

/// Dependencies of a manifest, those for tests, builds and single targets as well.
fn needs(manifest: &Table) -> HashMap<String, String> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(|one| one.as_table());
    let targets = targets.into_iter().flat_map(|all| all.values().filter_map(|one| one.as_table()));
    let mut all = HashMap::new();
    for table in targets.chain([manifest]) {
        let named = kinds.iter().filter_map(|kind| table.get(*kind)?.as_table());
        for (name, value) in named.flatten() {
            let package = value.get("package").and_then(|one| one.as_str()).unwrap_or(name);
            all.insert(name.replace('-', "_"), package.to_owned());
        }
    }
    all
}

/// The position of a file in the module tree of its crate.
struct RustModulePath {
    /// The folder that the modules of the crate's first file are in.
    folder: String,
    /// The crate's first file.
    root: Option<String>,
    /// The file's own module.
    module: Vec<String>,
}

impl RustModulePath {
    fn of(from: &str, own: Option<&Crate>, files: &RepositoryFiles<'_>) -> Self {
        let folder = modules_folder(from, own, files);
        let is_root = |path: &str| match own {
            Some(own) if path == own.library || own.others.iter().any(|other| other == path) => {
                true
            }
            _ => {
                let rest = below(path, &folder).unwrap_or(path);
                !rest.contains('/')
                    && (matches!(rest, "lib.rs" | "main.rs" | "build.rs")
                        || stands_alone(path, own))
            }
        };
        if is_root(from) {
            return Self { folder, root: Some(from.to_owned()), module: Vec::new() };
        }
        let inside = below(from, &folder).unwrap_or(name_of(from)).trim_end_matches(".rs");
        let mut module: Vec<String> = inside.split('/').map(str::to_owned).collect();
        if module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        let named = own.into_iter().flat_map(|own| [&own.library].into_iter().chain(&own.others));
        let library = named.filter(|path| folder_of(path) == folder).cloned();
        let firsts = ["lib.rs", "main.rs"].map(|name| within(&folder, name));
        let root = library.chain(firsts).find(|path| files.has(path));
        Self { folder, root, module }
    }

    /// The file of the innermost module on a path; what follows are things in it.
    fn file(&self, path: &[String], files: &RepositoryFiles<'_>) -> Option<String> {
        let longest = (1..=path.len()).rev().find_map(|count| self.exactly(&path[..count], files));
        longest.or_else(|| self.root.clone().filter(|path| files.has(path)))
    }

    fn exactly(&self, path: &[String], files: &RepositoryFiles<'_>) -> Option<String> {
        let base = within(&self.folder, &path.join("/"));
        [format!("{base}.rs"), format!("{base}/mod.rs")].into_iter().find(|path| files.has(path))
    }
}

/// Whether a file is a program, an example, a test or a bench of its own.
fn stands_alone(path: &str, own: Option<&Crate>) -> bool {
    let Some(own) = own else { return false };
    let rest = below(path, &own.folder).unwrap_or(path);
    matches!(folder_of(rest), "src/bin" | "tests" | "examples" | "benches")
}

fn modules_folder(from: &str, own: Option<&Crate>, files: &RepositoryFiles<'_>) -> String {
    let Some(own) = own else {
        let parts: Vec<&str> = folder_of(from).split('/').collect();
        let source = parts.iter().rposition(|part| *part == "src");
        return source.map_or(folder_of(from).to_owned(), |at| parts[..=at].join("/"));
    };
    let rest = below(from, &own.folder).unwrap_or(from);
    for kind in ["src/bin", "tests", "examples", "benches"] {
        let Some(inside) = below(rest, kind) else { continue };
        let folder = within(&own.folder, kind);
        // A folder with a `main.rs` is a program of several files.
        let program = inside.split_once('/').map(|(first, _)| within(&folder, first));
        let is_program = |folder: &String| files.has(&within(folder, "main.rs"));
        return program.filter(is_program).unwrap_or(folder);
    }
    let named = [&own.library].into_iter().chain(&own.others).map(|path| folder_of(path));
    let around = named.filter(|folder| below(from, folder).is_some());
    if let Some(folder) = around.max_by_key(|folder| folder.len()) {
        folder.to_owned()
    } else if rest.starts_with("src/") {
        within(&own.folder, "src")
    } else {
        folder_of(from).to_owned()
    }
}

pub(super) fn resolve(
    asked: &ImportQuery<'_>,
    module: &str,
    files: &RepositoryFiles<'_>,
) -> ImportTarget {
    let crates = files.rust.get_or_init(|| RustCrates::read(files));
    let own = crates.around(asked.from);
    let place = RustModulePath::of(asked.from, own, files);
    let mut here = place.module.clone();
    here.extend(asked.statement.inside.iter().cloned());
    if asked.statement.declared {
        return declared(asked, module, &place, here, files);
    }
    let absolute = module.starts_with("::");
    let parts = module.split("::").map(|part| part.trim_start_matches("r#"));
    let parts = parts.filter(|part| !part.is_empty() && *part != "*");
    let mut path: Vec<String> = parts.map(str::to_owned).collect();
    let Some(first) = path.first().cloned() else { return ImportTarget::local([]) };
    match first.as_str() {
        "crate" | "$crate" => return ImportTarget::local(place.file(&path[1..], files)),
        "self" | "super" => {
            while let Some("self" | "super") = path.first().map(String::as_str) {
                if path.remove(0) == "super" {
                    here.pop();
                }
            }
            here.extend(path);
            return ImportTarget::local(place.file(&here, files));
        }
        "std" | "core" | "alloc" | "proc_macro" | "test" if !asked.held.contains(&first) => {
            return ImportTarget::standard(&first);
        }
        _ => {}
    }
    here.extend(path.iter().cloned());
    let child = &here[..=here.len() - path.len()];
    if !absolute && (asked.held.contains(&first) || place.exactly(child, files).is_some()) {
        return ImportTarget::local(place.file(&here, files));
    }
    outside(&first, &path, own, crates, files)
}

/// A crate of the workspace, else a package.
fn outside(
    first: &str,
    path: &[String],
    own: Option<&Crate>,
    crates: &RustCrates,
    files: &RepositoryFiles<'_>,
) -> ImportTarget {
    let needed = own.and_then(|own| own.needs.get(first));
    let by_package = needed.and_then(|package| crates.by_name.get(&package.replace('-', "_")));
    let folder = crates.by_name.get(first).or(by_package);
    if let Some(other) = folder.and_then(|folder| crates.by_folder.get(folder)) {
        let place = RustModulePath::of(&other.library, Some(other), files);
        return ImportTarget::local(place.file(&path[1..], files));
    }
    // Packages are written in small letters; this is a type whose variants are brought into scope.
    if first.starts_with(char::is_uppercase) {
        return ImportTarget::local([]);
    }
    let mut names: Vec<String> = needed.cloned().into_iter().collect();
    names.extend([first.to_owned(), first.replace('_', "-")]);
    ImportTarget::package(files.package(Ecosystem::Rust, &names))
}

fn declared(
    asked: &ImportQuery<'_>,
    module: &str,
    place: &RustModulePath,
    mut here: Vec<String>,
    files: &RepositoryFiles<'_>,
) -> ImportTarget {
    if let Some(path) = &asked.statement.path {
        let base = if asked.statement.inside.is_empty() {
            folder_of(asked.from).to_owned()
        } else {
            within(&place.folder, &here.join("/"))
        };
        return ImportTarget::local(join(&base, path).filter(|path| files.has(path)));
    }
    here.push(module.trim_start_matches("r#").to_owned());
    ImportTarget::local(place.exactly(&here, files))
}
