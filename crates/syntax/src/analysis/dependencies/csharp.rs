//! C#: a namespace is resolved by a project's name and its folders, if the repository follows that convention.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    files::{MAX_COMPARED_FILES, MAX_PACKAGE_FILES},
    paths::{folder_of, has_ending, nearest, stem_of, within},
};
use std::collections::HashMap;

/// Folders of projects by the name of their file.
#[derive(Debug)]
pub(super) struct Projects(HashMap<String, Vec<String>>);

impl Projects {
    fn read(files: &RepositoryFiles<'_>) -> Self {
        let projects = files.paths().iter().filter(|path| has_ending(path, "csproj"));
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        for path in projects {
            all.entry(stem_of(path).to_owned()).or_default().push(folder_of(path).to_owned());
        }
        Self(all)
    }

    /// Candidate projects of a namespace, longest name first: the rest of the namespace, and the folder.
    fn of<'s>(&'s self, module: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let ends = [module.len()].into_iter().chain(module.rmatch_indices('.').map(|(at, _)| at));
        ends.flat_map(move |end| {
            let (name, rest) = module.split_at(end);
            let folders = self.0.get(name).into_iter().flatten().take(MAX_COMPARED_FILES);
            folders.map(move |folder| (rest, folder.as_str()))
        })
    }
}

pub(super) fn resolve(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module = asked.module().trim_start_matches("global::");
    let projects = files.csharp.get_or_init(|| Projects::read(files));
    let mut local = false;
    for (rest, folder) in projects.of(module) {
        local = true;
        let folder = within(folder, &rest.trim_start_matches('.').replace('.', "/"));
        let class = format!("{folder}.cs");
        if files.has(&class) {
            return ImportTarget::local([class]);
        }
        let inside = files.directly_in(&folder).into_iter().filter(|path| has_ending(path, "cs"));
        let mut inside: Vec<String> = inside.take(MAX_PACKAGE_FILES).map(str::to_owned).collect();
        if !inside.is_empty() {
            let first = nearest(asked.from, inside.iter().map(String::as_str)).map(str::to_owned);
            inside.sort_by_key(|file| Some(file) != first.as_ref());
            return ImportTarget::local(inside);
        }
    }
    if local {
        return ImportTarget::local([]);
    }
    if module == "System" || module.starts_with("System.") {
        return ImportTarget::standard(module);
    }
    let parts: Vec<&str> = module.split('.').collect();
    let names: Vec<String> =
        (1..=parts.len()).rev().map(|count| parts[..count].join(".")).collect();
    ImportTarget::package(files.package(Ecosystem::DotNet, &names))
}
