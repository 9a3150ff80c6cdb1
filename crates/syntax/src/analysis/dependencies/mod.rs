//! The imports of a file, the repository files they resolve to, and the resulting dependency graph.
//!
//! Does no I/O: the caller passes a view of the repository's paths and manifests. One module per language family resolves
//! imports to files; each language's `imports.scm` defines what an import is.

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
pub use graph::{Cycle, DependencyGraph, Edge, Needed};
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
    /// The module as written; for a Rust `use` with braces, the part before them.
    pub module: String,
    /// The imported names, if listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Line, counted from 1.
    pub line: u32,
    /// Whether it is part of the repository; else it is a package or part of the language.
    pub local: bool,
    /// The file that it resolves to, if found; the main one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// All files that it resolves to, if several: modules named one by one, or the files of a package.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The external package that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<External>,
    /// Whether it is type-only, erased at run time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub type_only: bool,
    /// Whether the file declares the other as its part (Rust's `mod x;`) instead of importing it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub declares: bool,
}

/// A package that is not part of the repository.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct External {
    /// The name it is installed by, as far as the import shows.
    pub name: String,
    /// The version that the repository requires or locks.
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
    /// All files that it resolves to.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let one = self.file.iter().filter(|_| self.files.is_empty());
        one.chain(&self.files).map(String::as_str)
    }
}

/// The target of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ImportTarget {
    local: bool,
    /// Main file first.
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

/// An import to be resolved by a language family.
#[derive(Debug, Clone, Copy)]
struct ImportQuery<'a> {
    /// The file that imports.
    from: &'a str,
    /// The import statement.
    statement: &'a Statement,
    /// Names of modules that the file itself contains or declares.
    held: &'a HashSet<String>,
}

impl<'a> ImportQuery<'a> {
    fn module(&self) -> &'a str {
        &self.statement.module
    }
}

/// A part of a statement with its own target.
struct StatementPart {
    module: String,
    names: Vec<String>,
    target: ImportTarget,
}

/// All imports of a file, in order, with their targets.
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

fn parts(
    language: &str,
    asked: &ImportQuery<'_>,
    files: &RepositoryFiles<'_>,
) -> Vec<StatementPart> {
    match language {
        "rust" => uses::parts(asked, "::", &|module| rust::resolve(asked, module, files)),
        "php" => uses::parts(asked, "\\", &|module| php::resolve(asked, module, files)),
        "scala" | "kotlin" => uses::parts(asked, ".", &|module| jvm::resolve(asked, module, files)),
        "elixir" => uses::parts(asked, ".", &|module| modules::elixir(asked, module, files)),
        _ => {
            let target = whole(language, asked, files);
            let Statement { module, names, .. } = asked.statement.clone();
            vec![StatementPart { module, names, target }]
        }
    }
}

/// Languages are matched by name, so that a pack can be added without changes here.
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
