//! The packages used to evaluate search: tests/real/search.toml.

use super::{CorpusPackage, FetchOutcome, expectations, fetch};
use crate::workspace::XtaskWorkspace;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::path::PathBuf;

const SETS_FILE: &str = "tests/real/search.toml";

/// A package to search in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSet {
    pub(crate) package: CorpusPackage,
    /// The language of its sources; `english` for a manual.
    pub(crate) language: String,
    /// The folder of the package to use; empty for all of it.
    #[serde(default)]
    pub(crate) folder: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchSets {
    set: Vec<SearchSet>,
}

/// Fetches all packages and returns them with their folders; unavailable ones are reported and skipped.
pub(crate) fn search_sets(workspace: &XtaskWorkspace) -> Result<Vec<(SearchSet, PathBuf)>> {
    let SearchSets { set: sets } = expectations(workspace, SETS_FILE)?;
    let mut found = Vec::new();
    for set in sets {
        match fetch(workspace, &set.package)? {
            FetchOutcome::Tree(tree) => {
                let folder = if set.folder.is_empty() { tree } else { tree.join(&set.folder) };
                ensure!(folder.is_dir(), "{} has no folder {}", set.package, set.folder);
                found.push((set, folder));
            }
            FetchOutcome::Unavailable(reason) => {
                eprintln!("skipped: {} can't be fetched ({reason})", set.package);
            }
        }
    }
    Ok(found)
}

/// Returns the pinned version of one package.
pub(crate) fn search_package(workspace: &XtaskWorkspace, name: &str) -> Result<CorpusPackage> {
    find_set(workspace, name).map(|set| set.package)
}

/// Fetches one of the packages.
pub(crate) fn search_set(
    workspace: &XtaskWorkspace,
    name: &str,
) -> Result<(SearchSet, FetchOutcome)> {
    let set = find_set(workspace, name)?;
    let fetched = fetch(workspace, &set.package)?;
    Ok((set, fetched))
}

fn find_set(workspace: &XtaskWorkspace, name: &str) -> Result<SearchSet> {
    let SearchSets { set: sets } = expectations(workspace, SETS_FILE)?;
    let set = sets.into_iter().find(|set| set.package.name == name);
    set.with_context(|| format!("{SETS_FILE} has no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    #[test]
    fn every_set_is_pinned_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = fs::read_to_string(root.join(SETS_FILE)).unwrap();
        let SearchSets { set: sets } = toml::from_str(&text).unwrap();
        for (n, set) in sets.iter().enumerate() {
            let sum = &set.package.sha256;
            assert!(sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sum}");
            assert!(sets[..n].iter().all(|other| other.package.name != set.package.name));
        }
        let languages = ["python", "rust", "javascript", "typescript", "go", "java", "english"];
        assert!(languages.iter().all(|word| sets.iter().any(|set| set.language == *word)));
        assert!(sets.iter().all(|set| languages.contains(&set.language.as_str())));
    }

    #[test]
    #[ignore = "downloads every package"]
    fn every_set_can_be_fetched() {
        for (set, folder) in search_sets(&XtaskWorkspace::find().unwrap()).unwrap() {
            eprintln!("{} {}", set.package, folder.display());
        }
    }
}
