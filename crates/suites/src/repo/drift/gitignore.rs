//! Build products by the project's `.gitignore` files: documents mention them, but they are not in the tree.

use super::project_index::above;
use crate::repo::tree::{ProjectTree, folder_of};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::{cell::RefCell, collections::HashMap};

/// Cached rules by folder.
#[derive(Default)]
pub(super) struct GitignoreCache {
    rules: RefCell<HashMap<String, Option<Gitignore>>>,
}

impl GitignoreCache {
    /// Whether a path is ignored as a file or folder.
    pub(super) fn has(&self, tree: &ProjectTree, path: &str) -> bool {
        let mut rules = self.rules.borrow_mut();
        above(folder_of(path)).any(|folder| {
            if !rules.contains_key(folder) {
                rules.insert(folder.to_owned(), read(tree, folder));
            }
            let Some(Some(rules)) = rules.get(folder) else { return false };
            let inside = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
            let matched = |is_folder| rules.matched_path_or_any_parents(inside, is_folder);
            matched(false).is_ignore() || matched(true).is_ignore()
        })
    }
}

fn read(tree: &ProjectTree, folder: &str) -> Option<Gitignore> {
    let path = if folder.is_empty() { ".gitignore".into() } else { format!("{folder}/.gitignore") };
    tree.file(&path)?;
    let text = tree.text(&path).ok()?;
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // An invalid rule ignores nothing.
        drop(builder.add_line(None, line));
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn rules_of_every_folder_count() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("web/src")).unwrap();
        fs::write(root.path().join(".gitignore"), "*.log\n/out/\n[\n").unwrap();
        fs::write(root.path().join("web/.gitignore"), "gen\n!keep.log\n").unwrap();
        let tree = ProjectTree::of(root.path());
        let ignored = GitignoreCache::default();
        let cases = [
            ("a.log", true),
            ("web/a.log", true),
            ("out/x.js", true),
            ("web/out/x.js", false),
            ("web/src/gen/x.ts", true),
            ("gen/x.ts", false),
            ("web/src/x.ts", false),
        ];
        for (path, want) in cases {
            assert_eq!(ignored.has(&tree, path), want, "{path}");
        }
    }
}
