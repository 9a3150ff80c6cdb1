//! Ruby: files from here, features from a `lib` folder, and gems.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    paths::{folder_of, join, upwards, within},
    standard,
};

pub(super) fn resolve(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module = asked.module().trim_matches(['"', '\'']);
    let with_ending = |path: String| {
        let ended = format!("{path}.rb");
        [ended, path].into_iter().find(|path| files.has(path))
    };
    let head = asked.statement.head.as_str();
    if head.starts_with("require_relative") || module.starts_with("./") || module.starts_with("../")
    {
        return ImportTarget::local(join(folder_of(asked.from), module).and_then(with_ending));
    }
    let loads = ["lib", "app", "test", "spec", ""];
    let around = upwards(folder_of(asked.from));
    let bases = around.flat_map(|folder| loads.map(|load| within(folder, load)));
    let found = bases.filter_map(|base| join(&base, module)).find_map(with_ending);
    // A monorepo's gems have a `lib` folder each.
    let elsewhere = || files.only_ending(&format!("lib/{module}.rb")).map(str::to_owned);
    if let Some(file) = found.or_else(elsewhere) {
        return ImportTarget::local([file]);
    }
    if head.starts_with("load") {
        return ImportTarget::local([]);
    }
    let first = module.split('/').next().unwrap_or(module);
    if standard::is_ruby(first) {
        return ImportTarget::standard(first);
    }
    let names = [first.to_owned(), module.replace('/', "-")];
    ImportTarget::package(files.package(Ecosystem::Ruby, &names))
}
