//! Dart: paths, and packages by `pubspec.yaml`.

use super::{
    Asked, Ecosystem, Files, Target,
    paths::{folder_of, join, within},
};
use std::collections::HashMap;

/// Folders of packages by name.
#[derive(Debug)]
pub(super) struct Packages(HashMap<String, String>);

impl Packages {
    fn read(files: &Files<'_>) -> Self {
        let named = |(folder, text): (String, String)| {
            let name = text.lines().find_map(|line| line.strip_prefix("name:"))?;
            let name = name.split('#').next()?.trim().trim_matches(['"', '\'']);
            Some((name.to_owned(), folder))
        };
        Self(files.manifests("pubspec.yaml").into_iter().filter_map(named).collect())
    }
}

pub(super) fn resolve(asked: &Asked<'_>, files: &Files<'_>) -> Target {
    let module = asked.module().trim_matches(['"', '\'']);
    if let Some(library) = module.strip_prefix("dart:") {
        return Target::standard(library);
    }
    let Some(path) = module.strip_prefix("package:") else {
        let path = join(folder_of(asked.from), module);
        return Target::local(path.filter(|path| files.has(path)));
    };
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let packages = files.dart.get_or_init(|| Packages::read(files));
    if let Some(folder) = packages.0.get(name) {
        let path = join(&within(folder, "lib"), rest);
        return Target::local(path.filter(|path| files.has(path)));
    }
    Target::package(files.package(Ecosystem::Dart, &[name.to_owned()]))
}
