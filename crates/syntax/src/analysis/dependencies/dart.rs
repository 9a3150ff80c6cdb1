//! Dart: paths, and packages by `pubspec.yaml`.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    paths::{folder_of, join, within},
};
use std::collections::HashMap;

/// Folders of packages by name.
#[derive(Debug)]
pub(super) struct DartPackages(HashMap<String, String>);

impl DartPackages {
    fn read(files: &RepositoryFiles<'_>) -> Self {
        let named = |(folder, text): (String, String)| {
            let name = text.lines().find_map(|line| line.strip_prefix("name:"))?;
            let name = name.split('#').next()?.trim().trim_matches(['"', '\'']);
            Some((name.to_owned(), folder))
        };
        Self(files.manifests("pubspec.yaml").into_iter().filter_map(named).collect())
    }
}

pub(super) fn resolve(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module = asked.module().trim_matches(['"', '\'']);
    if let Some(library) = module.strip_prefix("dart:") {
        return ImportTarget::standard(library);
    }
    let Some(path) = module.strip_prefix("package:") else {
        let path = join(folder_of(asked.from), module);
        return ImportTarget::local(path.filter(|path| files.has(path)));
    };
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let packages = files.dart.get_or_init(|| DartPackages::read(files));
    if let Some(folder) = packages.0.get(name) {
        let path = join(&within(folder, "lib"), rest);
        return ImportTarget::local(path.filter(|path| files.has(path)));
    }
    ImportTarget::package(files.package(Ecosystem::Dart, &[name.to_owned()]))
}
