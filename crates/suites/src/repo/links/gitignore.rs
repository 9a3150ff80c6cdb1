//! Paths ignored by git: a link to one points to a generated file.

use crate::repo::tree::ProjectTree;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashMap;

/// The rules of every `.gitignore`, by its folder.
#[derive(Debug, Default)]
pub(super) struct GitignoreRules {
    rules: HashMap<String, Gitignore>,
}

impl GitignoreRules {
    /// Reads the rules of a project.
    pub(super) fn of(tree: &ProjectTree) -> Self {
        let files = tree.files().iter().filter(|file| file.name() == ".gitignore");
        let rules = files.filter_map(|file| {
            let mut builder = GitignoreBuilder::new("");
            for line in tree.text(&file.path).ok()?.lines() {
                // An invalid rule ignores nothing.
                builder.add_line(None, line).ok();
            }
            Some((file.folder().to_owned(), builder.build().ok()?))
        });
        Self { rules: rules.collect() }
    }

    /// Whether a missing path would be ignored.
    pub(super) fn has(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| (at, at + 1));
        [(0, 0)].into_iter().chain(ends).any(|(end, start)| {
            let rules = path.get(..end).and_then(|folder| self.rules.get(folder));
            let below = path.get(start..).filter(|below| !below.is_empty());
            rules.zip(below).is_some_and(|(rules, below)| {
                rules.matched_path_or_any_parents(below, false).is_ignore()
            })
        })
    }
}
