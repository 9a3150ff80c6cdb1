//! Python: modules by packages, wherever they start in the repository.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    files::MAX_COMPARED_FILES,
    paths::{below, folder_of, join, name_of, shared_folder_count, upwards, within},
    standard,
};
use std::collections::{BTreeSet, HashMap};

/// Folders where absolute imports may start.
#[derive(Debug)]
pub(super) struct PythonRoots {
    /// By the name of an outermost package: the folders that such a package is in.
    packages: HashMap<String, Vec<String>>,
    /// By the name of a folder around packages, which is one without saying so: the folders that such a folder is in.
    around: HashMap<String, Vec<String>>,
}

impl PythonRoots {
    fn read(files: &RepositoryFiles<'_>) -> Self {
        let packages: BTreeSet<&str> = files.with_name("__init__.py").map(folder_of).collect();
        let outermost = packages.iter().filter(|one| {
            !one.is_empty() && (folder_of(one).is_empty() || !packages.contains(folder_of(one)))
        });
        let mut roots = Self { packages: HashMap::new(), around: HashMap::new() };
        let mut seen = BTreeSet::new();
        for package in outermost {
            let root = folder_of(package);
            roots.packages.entry(name_of(package).to_owned()).or_default().push(root.to_owned());
            for folder in upwards(root).filter(|folder| !folder.is_empty()) {
                if seen.insert(folder) {
                    let holders = roots.around.entry(name_of(folder).to_owned()).or_default();
                    holders.push(folder_of(folder).to_owned());
                }
            }
        }
        roots
    }

    /// Folders in which something of this name starts, nearest first, those that say so before those that may.
    fn of<'s>(&'s self, name: &str, from: &str) -> Vec<&'s str> {
        let sorted = |named: &'s HashMap<String, Vec<String>>| {
            let roots = named.get(name).map(Vec::as_slice).unwrap_or_default();
            let fitting = roots.iter().map(String::as_str).filter(|root| may_start(root, from));
            let mut roots: Vec<&str> = fitting.take(MAX_COMPARED_FILES).collect();
            roots.sort_by_key(|root| std::cmp::Reverse(shared_folder_count(from, root)));
            roots
        };
        let mut all = sorted(&self.packages);
        all.extend(sorted(&self.around));
        all
    }
}

/// Whether packages in a folder can be meant by a file: those of tests, examples and what was copied in are for the
/// files beside them alone.
fn may_start(root: &str, from: &str) -> bool {
    let is_apart = |part: &str| {
        let apart = [
            "test",
            "tests",
            "testing",
            "example",
            "examples",
            "docs",
            "fixtures",
            "vendor",
            "_vendor",
            "vendored",
            "third_party",
            "site-packages",
            "node_modules",
        ];
        apart.contains(&part)
    };
    let parts: Vec<&str> = root.split('/').collect();
    parts
        .iter()
        .rposition(|part| is_apart(part))
        .is_none_or(|at| shared_folder_count(from, root) > at)
}

pub(super) fn resolve(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module: String = asked.module().split_whitespace().collect();
    let name = module.trim_start_matches('.');
    let path = name.replace('.', "/");
    let dots = module.len() - name.len();
    if dots > 0 {
        let folder = join(folder_of(asked.from), &"../".repeat(dots - 1));
        return ImportTarget::local(
            folder.and_then(|folder| leads(&folder, &path, asked, files)).unwrap_or_default(),
        );
    }
    let first = name.split('.').next().unwrap_or(name);
    let root = root_of(asked.from, files);
    let own = below(asked.from, root).and_then(|path| path.split(['/', '.']).next());
    // A repository module cannot shadow one of Python's own, unless the repository is Python itself.
    if standard::is_python(first) && own != Some(first) {
        return ImportTarget::standard(first);
    }
    let roots = files.python.get_or_init(|| PythonRoots::read(files));
    let known = roots.of(first, asked.from);
    for root in upwards(root).chain(known.iter().copied()) {
        if let Some(found) = leads(root, &path, asked, files) {
            return ImportTarget::local(found);
        }
    }
    let is_around = |root: &&str| below(asked.from, root).is_some();
    if roots.packages.contains_key(first) && known.iter().any(is_around) {
        return ImportTarget::local([]);
    }
    ImportTarget::package(files.package(Ecosystem::Python, &distributions(name)))
}

/// The folder that holds the outermost package around a file.
fn root_of<'a>(from: &'a str, files: &RepositoryFiles<'_>) -> &'a str {
    let is_package =
        |folder: &&str| !folder.is_empty() && files.has(&within(folder, "__init__.py"));
    let folder = folder_of(from);
    upwards(folder).take_while(is_package).last().map_or(folder, folder_of)
}

/// The files of a module below a folder and of the names taken from it that are modules themselves.
fn leads(
    root: &str,
    path: &str,
    asked: &ImportQuery<'_>,
    files: &RepositoryFiles<'_>,
) -> Option<Vec<String>> {
    let base = within(root, path);
    let module = file_of(&base, files);
    if module.is_none() && !files.has_folder(&base) {
        return None;
    }
    let names = asked.statement.names.iter();
    let mut found: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let of_names = names.filter_map(|name| file_of(&within(&base, name), files).or(module.clone()));
    for file in of_names {
        if seen.insert(file.clone()) {
            found.push(file);
        }
    }
    if found.is_empty() {
        found.extend(module);
    }
    (!found.is_empty()).then_some(found)
}

fn file_of(base: &str, files: &RepositoryFiles<'_>) -> Option<String> {
    let forms = ["/__init__.py", ".py", "/__init__.pyi", ".pyi", ".pyx"];
    let paths = forms.map(|form| {
        if base.is_empty() {
            form.trim_start_matches('/').to_owned()
        } else {
            format!("{base}{form}")
        }
    });
    paths.into_iter().find(|path| files.has(path))
}

/// What a module may be installed as. Parts of a namespace (`google.cloud.storage`) are packages of their own.
fn distributions(module: &str) -> Vec<String> {
    let parts: Vec<&str> = module.split('.').collect();
    let first = parts.first().copied().unwrap_or_default();
    let mut names: Vec<String> =
        standard::distribution(first).map(str::to_owned).into_iter().collect();
    names.extend([first.to_owned(), first.replace('_', "-")]);
    names.extend((2..=parts.len().min(3)).rev().map(|count| parts[..count].join("-")));
    names
}
