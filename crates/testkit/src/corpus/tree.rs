//! Which files of a package are its source.

use super::{CorpusError, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Folders that are skipped: tests, examples, documentation and translations.
const EXCLUDED_FOLDERS: [&str; 10] = [
    "tests",
    "test",
    "testing",
    "docs",
    "locale",
    "node_modules",
    "examples",
    "benches",
    "vendor",
    "fixtures",
];

/// File extensions of scripts, source forms before generated ones.
const SCRIPTS: [&str; 11] =
    ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "d.ts", "d.mts", "d.cts"];

/// Lists the files below a folder, except excluded ones, with `/` as separator, sorted.
pub(super) fn files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    walk(folder, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Result<()> {
    let unreadable = |source| CorpusError::Unreadable { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() && !name.starts_with('.') && !EXCLUDED_FOLDERS.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{path}/"), found)?;
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// The source files of a package in this language; `None` for an unsupported language.
pub(super) fn sources(language: &str, files: Vec<String>) -> Option<Vec<String>> {
    let ending = match language {
        "python" => ".py",
        "rust" => ".rs",
        "go" => ".go",
        "java" => ".java",
        "javascript" | "typescript" => return Some(scripts(files)),
        _ => return None,
    };
    let is_source = |path: &String| path.ends_with(ending) && !path.ends_with("_test.go");
    Some(files.into_iter().filter(is_source).collect())
}

/// A script package contains most files several times: as written, compiled for each module system, bundled, and as
/// declarations. The first form that exists is used.
fn scripts(files: Vec<String>) -> Vec<String> {
    let small: BTreeSet<String> =
        files.iter().filter_map(|path| path.strip_suffix(".min.js")).map(str::to_owned).collect();
    let is_test =
        |path: &str| path.contains(".test.") || path.contains(".spec.") || path.contains(".tst.");
    let mut kept: Vec<(String, usize, String)> = Vec::new();
    for path in files {
        let Some((stem, rank)) = script(&path) else { continue };
        // A file with a minified copy is a bundle of other files.
        if !is_test(&path) && stem.strip_suffix(".min").is_none() && !small.contains(stem) {
            kept.push((stem.to_owned(), rank, path));
        }
    }
    let written = |(_, rank, path): &(String, usize, String)| *rank < 4 && path.starts_with("src/");
    if kept.iter().any(written) {
        kept.retain(|(_, _, path)| path.starts_with("src/"));
    }
    let declares = |rank: usize| rank > 7;
    let last = |stem: &str| stem.rsplit('/').next().unwrap_or(stem).to_owned();
    let coded: BTreeSet<String> =
        kept.iter().filter(|(_, rank, _)| !declares(*rank)).map(|(stem, ..)| last(stem)).collect();
    let mut best: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (stem, rank, path) in kept {
        // Declarations may be in a folder of their own.
        if declares(rank) && coded.contains(&last(&stem)) {
            continue;
        }
        let known = best.entry(stem).or_insert((rank, path.clone()));
        if rank < known.0 {
            *known = (rank, path);
        }
    }
    let mut paths: Vec<String> = best.into_values().map(|(_, path)| path).collect();
    paths.sort();
    paths
}

/// Splits a path into its stem and the index of its extension.
fn script(path: &str) -> Option<(&str, usize)> {
    // `a.d.ts` ends in `ts` too.
    SCRIPTS.iter().enumerate().rev().find_map(|(rank, ending)| {
        let stem = path.strip_suffix(ending)?.strip_suffix('.')?;
        Some((stem, rank))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_sources(language: &str, files: &[&str]) -> Vec<String> {
        sources(language, files.iter().map(|path| (*path).to_owned()).collect()).unwrap()
    }

    #[test]
    fn folders_of_tests_and_documents_are_skipped() {
        let project = crate::project()
            .file("test/lib.rs", "")
            .file("src/test/a.rs", "")
            .file("src/b.rs", "")
            .file(".git/c.rs", "")
            .file("a.rs", "");
        let project = project.build().unwrap();
        assert_eq!(files(project.root()).unwrap(), ["a.rs", "src/b.rs"]);
        assert!(files(&project.root().join("none")).is_err());
    }

    #[test]
    fn each_file_counts_once_in_the_form_it_was_written_in() {
        assert_eq!(list_sources("go", &["a.go", "a_test.go", "b.py"]), ["a.go"]);
        assert_eq!(list_sources("python", &["a.py", "b.pyi"]), ["a.py"]);
        assert_eq!(list_sources("javascript", &["a.cjs", "a.d.cts", "a.d.ts", "a.js"]), ["a.js"]);
        assert_eq!(
            list_sources("typescript", &["a.js", "a.d.ts", "src/a.ts", "src/a.test.ts", "v4/b.js"]),
            ["src/a.ts"]
        );
        assert_eq!(
            list_sources(
                "javascript",
                &[
                    "cdn.js",
                    "cdn.min.js",
                    "index.js",
                    "lib/b.mjs",
                    "types/b.d.ts",
                    "types/c.d.ts",
                    "typings/index.d.ts"
                ]
            ),
            ["index.js", "lib/b.mjs", "types/c.d.ts"]
        );
        assert_eq!(sources("cobol", Vec::new()), None);
    }
}
