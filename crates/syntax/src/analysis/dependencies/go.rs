//! Go: an import names a folder, and leads to every file in it that is not a test, as they are one package.

use super::{
    Asked, Ecosystem, Files, Target,
    files::innermost,
    paths::{below, folder_of, has_ending, join, name_of, nearest},
};

/// The modules of a repository, those with the longest path first.
#[derive(Debug)]
pub(super) struct Modules(Vec<Module>);

#[derive(Debug)]
struct Module {
    path: String,
    folder: String,
    needs: Vec<String>,
    /// Modules that are taken from a folder instead.
    replaced: Vec<(String, String)>,
}

impl Modules {
    fn read(files: &Files<'_>) -> Self {
        let mut all: Vec<Module> = files
            .manifests("go.mod")
            .into_iter()
            .filter_map(|(folder, text)| Module::read(folder, &text))
            .collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.path.len()));
        Self(all)
    }

    fn around(&self, from: &str) -> Option<&Module> {
        innermost(from, self.0.iter().map(|one| one.folder.as_str())).map(|at| &self.0[at])
    }
}

impl Module {
    fn read(folder: String, text: &str) -> Option<Self> {
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
                    replaced.extend(join(&folder, to).map(|to| ((*name).to_owned(), to)));
                }
                _ => {}
            }
        }
        Some(Self { path: path?, folder, needs, replaced })
    }
}

pub(super) fn resolve(asked: &Asked<'_>, files: &Files<'_>) -> Target {
    let (from, module) = (asked.from, asked.module());
    if module.starts_with("./") || module.starts_with("../") {
        let folder = join(folder_of(from), module);
        return Target::local(
            folder.map(|folder| package(&folder, module, files)).unwrap_or_default(),
        );
    }
    let modules = files.go.get_or_init(|| Modules::read(files));
    let own = modules.around(from);
    let replaced = own.into_iter().flat_map(|own| &own.replaced);
    let replaced = replaced.map(|(path, folder)| (path.as_str(), folder.as_str()));
    let known = modules.0.iter().map(|one| (one.path.as_str(), one.folder.as_str()));
    for (path, folder) in replaced.chain(known) {
        if let Some(rest) = below(module, path) {
            let folder = join(folder, rest).unwrap_or_default();
            return Target::local(package(&folder, module, files));
        }
    }
    let first = module.split('/').next().unwrap_or(module);
    if !first.contains('.') {
        return Target::standard(module);
    }
    if modules.0.is_empty()
        && let Some(folder) = by_folder(from, module, files)
    {
        return Target::local(package(&folder, module, files));
    }
    Target::package(files.package(Ecosystem::Go, &names(module, own)))
}

/// The files of a package; the one that is named after it or holds its documentation is the best known.
fn package(folder: &str, module: &str, files: &Files<'_>) -> Vec<String> {
    let is_source = |path: &&str| has_ending(path, "go") && !path.ends_with("_test.go");
    let mut all: Vec<String> =
        files.directly_in(folder).into_iter().filter(is_source).map(str::to_owned).collect();
    let own = format!("{}.go", name_of(module));
    all.sort_by_key(|path| match name_of(path) {
        name if name == own => 0,
        "doc.go" => 1,
        _ => 2,
    });
    all
}

/// Without a `go.mod` the start of the path is where the repository came from, or the repository holds it all.
fn by_folder(from: &str, module: &str, files: &Files<'_>) -> Option<String> {
    let has_source = |folder: &&str| !package(folder, module, files).is_empty();
    if let Some(folder) = nearest(from, files.folders_ending(module).filter(has_source)) {
        return Some(folder.to_owned());
    }
    let starts = module.match_indices('/').filter_map(|(at, _)| module.get(at + 1..));
    starts.into_iter().find(has_source).map(str::to_owned)
}

/// What the module of a package may be called: as it is required, as hosts name their repositories, or any start.
fn names(module: &str, own: Option<&Module>) -> Vec<String> {
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
