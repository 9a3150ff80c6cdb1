//! The folders of a report as a tree, for pictures.

use crate::repo::report::Structure;
use std::collections::HashMap;

/// A folder, or a top-level file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct FolderSize {
    /// Last part of its path; a folder ends with `/`.
    pub(super) name: String,
    /// The whole path.
    pub(super) path: String,
    /// Files below it.
    pub(super) files: u64,
    /// Bytes below it.
    pub(super) bytes: u64,
    /// Largest first.
    pub(super) folders: Vec<FolderSize>,
}

impl FolderSize {
    /// Builds the tree of the analyzed folder.
    pub(super) fn root(structure: &Structure) -> Self {
        let mut branches: Vec<_> = structure.tree.iter().collect();
        branches.sort_by(|one, other| one.path.cmp(&other.path));
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut parents = Vec::with_capacity(branches.len());
        for (index, branch) in branches.iter().enumerate() {
            // The list is limited, so a parent may be missing: then the next ancestor is used.
            let parent = ancestors(&branch.path).find_map(|path| places.get(path).copied());
            parents.push(parent);
            places.insert(&branch.path, index);
        }
        let mut below: Vec<Vec<Self>> = vec![Vec::new(); branches.len()];
        let mut top = Vec::new();
        // Sorted by path, so the contents of a folder come after it.
        for (index, branch) in branches.iter().enumerate().rev() {
            let parent = parents.get(index).copied().flatten();
            let above = parent.and_then(|at| branches.get(at)).map_or("", |above| &*above.path);
            let mut folders = below.get_mut(index).map(std::mem::take).unwrap_or_default();
            order(&mut folders);
            let folder = Self {
                name: branch.path.strip_prefix(above).unwrap_or(&branch.path).to_owned(),
                path: branch.path.clone(),
                files: branch.files,
                bytes: branch.bytes,
                folders,
            };
            match parent.and_then(|at| below.get_mut(at)) {
                Some(siblings) => siblings.push(folder),
                None => top.push(folder),
            }
        }
        order(&mut top);
        Self {
            name: String::new(),
            path: String::new(),
            files: structure.files,
            bytes: structure.bytes,
            folders: top,
        }
    }
}

fn order(folders: &mut [FolderSize]) {
    folders
        .sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.path.cmp(&other.path)));
}

/// Yields the ancestors, nearest first: `a/b/` and `a/` for `a/b/c/`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let inner = path.strip_suffix('/').unwrap_or(path);
    inner.rmatch_indices('/').filter_map(|(at, _)| path.get(..=at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::report::Branch;

    #[test]
    fn folders_lie_in_each_other() {
        let branch = |path: &str, bytes| Branch { path: path.into(), files: 1, bytes };
        let structure = Structure {
            tree: vec![branch("a/", 9), branch("a/b/", 3), branch("a/x/y/", 4), branch("c.md", 10)],
            ..Structure::default()
        };
        let root = FolderSize::root(&structure);
        let names =
            |folders: &[FolderSize]| folders.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&root.folders), ["c.md", "a/"]);
        assert_eq!(names(&root.folders[1].folders), ["x/y/", "b/"]);
        assert_eq!(root.folders[1].folders[0].path, "a/x/y/");
    }
}
