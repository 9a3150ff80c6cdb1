//! JavaScript and TypeScript: paths without endings, names mapped by `tsconfig.json`, packages of a workspace.

mod config;
mod package;

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    paths::{folder_of, has_ending, join, upwards, within},
    standard,
};
use config::Configs;
use package::NodePackages;

const TYPED: [&str; 4] = [".ts", ".tsx", ".mts", ".cts"];
const PLAIN: [&str; 4] = [".js", ".jsx", ".mjs", ".cjs"];
const REST: [&str; 7] = [".d.ts", ".d.mts", ".d.cts", ".json", ".vue", ".svelte", ".node"];

/// Module name mappings from the repository's manifests.
#[derive(Debug)]
pub(super) struct Manifests {
    configs: Configs,
    packages: NodePackages,
}

pub(super) fn resolve(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let from = asked.from;
    // What follows a question mark is for a bundler.
    let module = asked.module().split('?').next().unwrap_or_default();
    let probe = ScriptFileProbe { files, typed: is_typed(from) };
    if is_relative(module) {
        let base = join(folder_of(from), module);
        return ImportTarget::local(base.and_then(|base| lookup(&base, &probe)));
    }
    let Manifests { configs, packages } = files.script.get_or_init(|| Manifests {
        configs: Configs::read(files),
        packages: NodePackages::read(files),
    });
    if module.starts_with('#') {
        return ImportTarget::local(packages.own_import(from, module, &probe));
    }
    if let Some(file) = configs.resolve_mapping(from, module, &probe) {
        return ImportTarget::local([file]);
    }
    if standard::is_node(module) {
        return ImportTarget::standard(module.trim_start_matches("node:"));
    }
    if let Some(found) = packages.export(module, &probe) {
        return found;
    }
    if module.starts_with('/') {
        return ImportTarget::local(lookup(module.trim_start_matches('/'), &probe));
    }
    let plain = module.strip_prefix("npm:").unwrap_or(module);
    if plain.is_empty() || plain.contains(':') {
        return ImportTarget::default();
    }
    let (name, _) = package::split(plain);
    ImportTarget::package(files.package(Ecosystem::Node, &[name.to_owned()]))
}

fn is_relative(module: &str) -> bool {
    module.starts_with("./") || module.starts_with("../") || module == "." || module == ".."
}

fn is_typed(path: &str) -> bool {
    TYPED.iter().any(|ending| path.ends_with(ending)) || has_ending(path, "vue")
}

/// A file, or a folder that is a package of its own.
fn lookup(base: &str, probe: &ScriptFileProbe<'_, '_>) -> Option<String> {
    probe.file(base).or_else(|| probe.folder(base))
}

/// Finds the file of a path without its extension.
struct ScriptFileProbe<'a, 'f> {
    files: &'a RepositoryFiles<'f>,
    /// Whether the importing file is TypeScript, in which a name means the typed source first.
    typed: bool,
}

impl ScriptFileProbe<'_, '_> {
    fn first(&self, base: &str, endings: impl IntoIterator<Item = &'static str>) -> Option<String> {
        let paths = endings.into_iter().map(|ending| format!("{base}{ending}"));
        paths.into_iter().find(|path| self.files.has(path))
    }

    fn with_ending(&self, base: &str) -> Option<String> {
        let (first, second) = if self.typed { (TYPED, PLAIN) } else { (PLAIN, TYPED) };
        self.first(base, first.into_iter().chain(second).chain(REST))
    }

    /// TypeScript imports by the name that the compiled file will have.
    fn source_of(&self, base: &str) -> Option<String> {
        let (stem, ending) = base.rsplit_once('.')?;
        let endings: &[&str] = match ending {
            "js" => &[".ts", ".tsx"],
            "jsx" => &[".tsx"],
            "mjs" => &[".mts"],
            "cjs" => &[".cts"],
            _ => return None,
        };
        self.first(stem, endings.iter().copied())
    }

    fn declaration_file(&self, base: &str) -> Option<String> {
        let (stem, ending) = base.rsplit_once('.')?;
        let ending = match ending {
            "js" | "jsx" | "ts" | "tsx" => ".d.ts",
            "mjs" | "mts" => ".d.mts",
            "cjs" | "cts" => ".d.cts",
            _ => return None,
        };
        self.first(stem, [ending])
    }

    fn file(&self, base: &str) -> Option<String> {
        if base.is_empty() {
            return None;
        }
        let exact = || self.files.has(base).then(|| base.to_owned());
        let found = if self.typed {
            self.source_of(base).or_else(exact)
        } else {
            exact().or_else(|| self.source_of(base))
        };
        found.or_else(|| self.with_ending(base)).or_else(|| self.declaration_file(base))
    }

    /// A folder is imported by its manifest's entry, else by its index.
    fn folder(&self, base: &str) -> Option<String> {
        let manifest = self.files.read(&within(base, "package.json"));
        let entry = manifest.and_then(|text| {
            let entries = package::entries(&serde_json::from_str(&text).ok()?);
            entries.iter().find_map(|entry| self.file(&join(base, entry)?))
        });
        entry.or_else(|| self.with_ending(&within(base, "index")))
    }
}

/// The nearest of the folders around a file for which there is something.
fn around<'a, T: 'a>(
    from: &str,
    find: impl Fn(&str) -> Option<&'a T>,
) -> impl Iterator<Item = &'a T> {
    let found: Vec<&'a T> = upwards(folder_of(from)).filter_map(find).collect();
    found.into_iter()
}

/// Matches a pattern with at most one star; returns the text that the star matches.
fn star<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    match pattern.split_once('*') {
        None => (pattern == text).then_some(""),
        Some((before, after)) => text.strip_prefix(before)?.strip_suffix(after),
    }
}
