//! What a project keeps out of git: a link to it leads to something that is made, not written.

use crate::repo::tree::Tree;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules of every `.gitignore`, each with its folder.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    rules: Vec<(String, Gitignore)>,
}

impl Ignored {
    /// Of a project.
    pub(super) fn of(tree: &Tree) -> Self {
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
        self.rules.iter().any(|(folder, rules)| {
            let below = if folder.is_empty() {
                Some(path)
            } else {
                path.strip_prefix(folder.as_str()).and_then(|rest| rest.strip_prefix('/'))
            };
            below.is_some_and(|path| {
                !path.is_empty() && rules.matched_path_or_any_parents(path, false).is_ignore()
            })
        })
    }
}
