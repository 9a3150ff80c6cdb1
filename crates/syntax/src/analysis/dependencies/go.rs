//! Go: an import names a folder, and resolves to all its non-test files, which form one package.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    files::{MAX_COMPARED_FILES, MAX_PACKAGE_FILES},
    paths::{below, folder_of, has_ending, join, name_of, nearest, upwards},
};
use std::collections::HashMap;

/// The modules of a repository.
#[derive(Debug)]
pub(super) struct Modules {
    by_folder: HashMap<String, GoModule>,
    /// Folders by the path of their module.
    by_path: HashMap<String, String>,
}

#[derive(Debug)]
struct GoModule {
    path: String,
    needs: Vec<String>,
    /// Modules that are taken from a folder instead.
    replaced: Vec<(String, String)>,
}

impl Modules {
    fn read(files: &RepositoryFiles<'_>) -> Self {
        let (mut by_folder, mut by_path) = (HashMap::new(), HashMap::new());
        for (folder, text) in files.manifests("go.mod") {
            let Some(module) = GoModule::read(&folder, &text) else { continue };
            by_path.entry(module.path.clone()).or_insert_with(|| folder.clone());
            by_folder.insert(folder, module);
        }
        Self { by_folder, by_path }
    }

    fn around(&self, from: &str) -> Option<&GoModule> {
        upwards(folder_of(from)).find_map(|folder| self.by_folder.get(folder))
    }

    /// The path and the folder of the module that a package is in; of several, the one with the longest path.
    fn of<'s>(&'s self, package: &'s str) -> Option<(&'s str, &'s str)> {
        upwards(package).find_map(|path| Some((path, self.by_path.get(path)?.as_str())))
    }
}

impl GoModule {
    fn read(folder: &str, text: &str) -> Option<Self> {
        let (mut path, mut needs, mut replaced) = (None, Vec::new(), Vec::new());
        let mut block = None;
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or_default();
            let mut words: Vec<&str> =
                line.split_whitespace().map(|word| word.trim_matches('"')).collect();
            match (block, words.as_slice()) {
                (_, []) => continue,
                (Some(_), [")", ..]) => {
                    block = None;
                    continue;
                }
                (None, [word, "(", ..]) => {
                    block = Some(*word);
                    continue;
                }
                _ => {}
            }
            let verb = block.unwrap_or_else(|| words.remove(0));
            match (verb, words.as_slice()) {
                ("module", [name, ..]) => path = Some((*name).to_owned()),
                ("require", [name, ..]) => needs.push((*name).to_owned()),
                ("replace", [name, .., to]) if to.starts_with('.') => {
                    replaced.extend(join(folder, to).map(|to| ((*name).to_owned(), to)));
                }
                _ => {}
            }
        }
        Some(Self { path: path?, needs, replaced })
    }
}

pub(super) fn resolve(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let (from, module) = (asked.from, asked.module());
    if module.starts_with("./") || module.starts_with("../") {
        let folder = join(folder_of(from), module);
        return ImportTarget::local(
            folder.map(|folder| package(&folder, module, files)).unwrap_or_default(),
        );
    }
    let modules = files.go.get_or_init(|| Modules::read(files));
    let own = modules.around(from);
    let replaced = own.into_iter().flat_map(|own| &own.replaced);
    let replaced = replaced.map(|(path, folder)| (path.as_str(), folder.as_str()));
    for (path, folder) in replaced.chain(modules.of(module)) {
        if let Some(rest) = below(module, path) {
            let folder = join(folder, rest).unwrap_or_default();
            return ImportTarget::local(package(&folder, module, files));
        }
    }
    let first = module.split('/').next().unwrap_or(module);
    if !first.contains('.') {
        return ImportTarget::standard(module);
    }
    if modules.by_folder.is_empty()
        && let Some(folder) = by_folder(from, module, files)
    {
        return ImportTarget::local(package(&folder, module, files));
    }
    ImportTarget::package(files.package(Ecosystem::Go, &names(module, own)))
}

/// The files of a package; the main one is named after it or contains its documentation.
fn package(folder: &str, module: &str, files: &RepositoryFiles<'_>) -> Vec<String> {
    let is_source = |path: &&str| has_ending(path, "go") && !path.ends_with("_test.go");
    let sources = files.directly_in(folder).into_iter().filter(is_source).take(MAX_PACKAGE_FILES);
    let mut all: Vec<String> = sources.map(str::to_owned).collect();
    let own = format!("{}.go", name_of(module));
    all.sort_by_key(|path| match name_of(path) {
        name if name == own => 0,
        "doc.go" => 1,
        _ => 2,
    });
    all
}

/// Without a `go.mod` the start of the path is where the repository came from, or the repository holds it all.
fn by_folder(from: &str, module: &str, files: &RepositoryFiles<'_>) -> Option<String> {
    let has_source = |folder: &&str| !package(folder, module, files).is_empty();
    if let Some(folder) =
        nearest(from, files.folders_ending(module).take(MAX_COMPARED_FILES).filter(has_source))
    {
        return Some(folder.to_owned());
    }
    let starts = module.match_indices('/').filter_map(|(at, _)| module.get(at + 1..));
    starts.into_iter().find(has_source).map(str::to_owned)
}

/// What the module of a package may be called: as it is required, as hosts name their repositories, or any start.
fn names(module: &str, own: Option<&GoModule>) -> Vec<String> {
    let required = own.into_iter().flat_map(|own| &own.needs);
    let required =
        required.filter(|need| below(module, need).is_some()).max_by_key(|need| need.len());
    let parts: Vec<&str> = module.split('/').collect();
    let usual = match parts.first() {
        Some(&"gopkg.in") if parts.get(1).is_some_and(|name| name.contains(".v")) => 2,
        _ => 3,
    };
    let mut names: Vec<String> = required.cloned().into_iter().collect();
    names.push(parts[..usual.min(parts.len())].join("/"));
    names.extend((2..=parts.len()).rev().map(|count| parts[..count].join("/")));
    names
}
