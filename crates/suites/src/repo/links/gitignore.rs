//! What a project keeps out of git: a link to it leads to something that is made, not written.

use crate::repo::tree::ProjectTree;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashMap;

/// The rules of every `.gitignore`, by its folder.
#[derive(Debug, Default)]
pub(super) struct GitignoreRules {
    rules: HashMap<String, Gitignore>,
}

impl GitignoreRules {
    /// Of a project.
    pub(super) fn of(tree: &ProjectTree) -> Self {
        let files = tree.files().iter().filter(|file| file.name() == ".gitignore");
        let rules = files.filter_map(|file| {
            let mut builder = GitignoreBuilder::new("");
            for line in tree.text(&file.path).ok()?.lines() {
                // A rule that can't be read rules nothing out.
                builder.add_line(None, line).ok();
            }
            Some((file.folder().to_owned(), builder.build().ok()?))
        });
        Self { rules: rules.collect() }
    }

    /// Whether a path that is not there would be left out.
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
