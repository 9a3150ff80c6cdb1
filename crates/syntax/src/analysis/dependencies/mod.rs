//! What a file needs, which files of the repository that is, and what follows from it for the repository as a graph.
//!
//! Knows no disk: a view of the repository's paths and manifests is handed in. One file a family of languages says how
//! their imports lead to files; what an import is, is said by the language's `imports.scm`.

mod csharp;
mod dart;
mod files;
mod go;
mod graph;
mod jvm;
mod modules;
mod native;
mod paths;
mod php;
mod python;
mod ruby;
mod rust;
mod script;
mod standard;
mod statement;
mod summary;
mod uses;

pub use files::{Ecosystem, RepositoryFiles};
pub use graph::{Cycle, Edge, DependencyGraph, Needed};
pub use summary::{
    FileDependencies, FolderDependencies, FolderEdge, Neighbour, PackageUse, of_file, of_folder,
};

use super::AnalyzedSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statement::Statement;
use std::collections::HashSet;

/// One import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Import {
    /// As it is written; of a Rust `use` with braces, the part before them.
    pub module: String,
    /// What is taken from the module, where the syntax lists it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Where, counted from 1.
    pub line: u32,
    /// Whether it is part of the repository; else it is a package or part of the language.
    pub local: bool,
    /// The file that it leads to, where one was found; of several the best known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// All files that it leads to, where they are several: modules named one by one, or the files of a package.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The package that it comes from, where that is not the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<External>,
    /// Whether it is for types alone and gone when the program runs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub type_only: bool,
    /// Whether the file declares the other as a part of itself (Rust's `mod x;`) rather than needing it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub declares: bool,
}

/// A package that is not part of the repository.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct External {
    /// As it is installed, as far as the import tells.
    pub name: String,
    /// Which one the repository asks for or has locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it comes with the language.
    pub standard: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl External {
    fn standard(name: &str) -> Self {
        Self { name: name.to_owned(), version: None, standard: true }
    }
}

impl Import {
    /// Every file that it leads to.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let one = self.file.iter().filter(|_| self.files.is_empty());
        one.chain(&self.files).map(String::as_str)
    }
}

/// Where an import leads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ImportTarget {
    local: bool,
    /// Best known first.
    files: Vec<String>,
    package: Option<External>,
}

impl ImportTarget {
    /// Part of the repository, whether the file is found or not.
    fn local(files: impl IntoIterator<Item = String>) -> Self {
        Self { local: true, files: files.into_iter().collect(), package: None }
    }

    fn standard(name: &str) -> Self {
        Self { package: Some(External::standard(name)), ..Self::default() }
    }

    fn package(package: Option<External>) -> Self {
        Self { package, ..Self::default() }
    }
}

/// An import as a family of languages is asked about it.
#[derive(Debug, Clone, Copy)]
struct ImportQuery<'a> {
    /// The file that imports.
    from: &'a str,
    /// What it says.
    statement: &'a Statement,
    /// Names of modules that the file itself holds or declares.
    held: &'a HashSet<String>,
}

impl<'a> ImportQuery<'a> {
    fn module(&self) -> &'a str {
        &self.statement.module
    }
}

/// A part of a statement that leads somewhere by itself.
struct StatementPart {
    module: String,
    names: Vec<String>,
    target: ImportTarget,
}

/// Every import of a file, in its order, with where it leads.
pub fn imports(source: &AnalyzedSource<'_>, files: &RepositoryFiles<'_>) -> Vec<Import> {
    let mut all = Vec::new();
    let found = statement::read(source);
    for statement in &found.imports {
        let asked = ImportQuery { from: source.path, statement, held: &found.modules };
        for part in parts(source.language.word(), &asked, files) {
            let ImportTarget { local, mut files, package } = part.target;
            let file = files.first().cloned();
            if files.len() < 2 {
                files.clear();
            }
            all.push(Import {
                module: part.module,
                names: part.names,
                line: statement.line,
                local: local || file.is_some(),
                file,
                files,
                package,
                type_only: statement.type_only,
                declares: statement.declared,
            });
        }
    }
    all
}

fn parts(language: &str, asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> Vec<StatementPart> {
    match language {
        "rust" => uses::parts(asked, "::", &|module| rust::resolve(asked, module, files)),
        "php" => uses::parts(asked, "\\", &|module| php::resolve(asked, module, files)),
        "scala" | "kotlin" => uses::parts(asked, ".", &|module| jvm::resolve(asked, module, files)),
        "elixir" => uses::parts(asked, ".", &|module| modules::elixir(asked, module, files)),
        _ => {
            let target = whole(language, asked, files);
            let Statement { module, names, .. } = asked.statement.clone();
            vec![Part { module, names, target }]
        }
    }
}

/// Languages are told by the word for them, so that a pack can be added without this being changed.
fn whole(language: &str, asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    match language {
        "python" => python::resolve(asked, files),
        "typescript" | "tsx" | "javascript" => script::resolve(asked, files),
        "go" => go::resolve(asked, files),
        "java" => {
            let names = &asked.statement.names;
            let whole = [asked.module()].into_iter().chain(names.iter().map(String::as_str));
            jvm::resolve(asked, &whole.collect::<Vec<_>>().join("."), files)
        }
        "c" | "cpp" => native::include(asked, files),
        "zig" => native::zig(asked, files),
        "proto" | "protobuf" => native::proto(asked, files),
        "bash" => native::source(asked, files),
        "csharp" => csharp::resolve(asked, files),
        "ruby" => ruby::resolve(asked, files),
        "dart" => dart::resolve(asked, files),
        "lua" => modules::lua(asked, files),
        "haskell" => modules::haskell(asked, files),
        "swift" => modules::swift(asked, files),
        _ => ImportTarget::default(),
    }
}

#[cfg(test)]
mod tests;
