//! The indexed trees: an editable copy of a real one, and one with very many small files.

use crate::{bench::repo::copies, corpus, install, workspace::XtaskWorkspace};
use anyhow::{Context, Result};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

pub(super) const FOLDERS: usize = 1_000;
pub(super) const FILES_IN_FOLDER: usize = 100;

const THINGS: [&str; 10] = [
    "invoice", "customer", "shipment", "schedule", "password", "template", "picture", "message",
    "account", "journal",
];
const ACTIONS: [&str; 10] = [
    "load", "store", "check", "render", "compare", "merge", "split", "archive", "notify", "cancel",
];

/// Copies a tree, so that edits and an index don't affect the original; returns its files.
pub(super) fn copy(from: &Path, to: &Path) -> Result<Vec<PathBuf>> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("emptying {}", to.display()))?;
    }
    let files = copies::files(from)?;
    for file in &files {
        let target = to.join(file);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from.join(file), &target)
            .with_context(|| format!("copying {}", file.display()))?;
    }
    corpus::init_repository(to)?;
    Ok(files)
}

/// Creates the tree of many files, once.
pub(super) fn many(workspace: &XtaskWorkspace, place: &Path) -> Result<PathBuf> {
    let tree = place.join("tree");
    let stamp = format!("{FOLDERS} folders of {FILES_IN_FOLDER} files\n{}", module(1, 2));
    install::once(workspace, place, &stamp, || {
        for folder in 0..FOLDERS {
            let path = tree.join(format!("part{folder:03}"));
            fs::create_dir_all(&path)?;
            for file in 0..FILES_IN_FOLDER {
                fs::write(path.join(format!("module{file:02}.py")), module(folder, file))?;
            }
        }
        corpus::init_repository(&tree)
    })?;
    Ok(tree)
}

/// Returns the text of a small, unique file.
fn module(folder: usize, file: usize) -> String {
    let word = |words: &[&'static str], number: usize| {
        words.get(number % words.len()).copied().unwrap_or_default()
    };
    let (thing, action) = (word(&THINGS, file), word(&ACTIONS, folder + file / THINGS.len()));
    let number = folder * FILES_IN_FOLDER + file;
    format!(
        "\"\"\"What can be done with {thing} {number}.\"\"\"\n\n\
         LIMIT = {number}\n\n\n\
         def {action}_{thing}_{number}(source, limit=LIMIT):\n    \
             \"\"\"Finds the {thing} in a source, to {action} it.\"\"\"\n    \
             found = [one for one in source if one.kind == \"{thing}\"]\n    \
             return found[:limit]\n\n\n\
         class {thing}{number}:\n    \
             def {action}(self):\n        \
                 return {action}_{thing}_{number}(self.source)\n"
    )
}

/// Removes a program's files from a tree, so that its next run is a first one.
pub(super) fn forget(tree: &Path, folder: &str) -> Result<()> {
    let path = tree.join(folder);
    if path.exists() {
        fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

/// Writes a function with this name at the end of a file.
pub(super) fn append(file: &Path, name: &str) -> Result<()> {
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(file)
        .with_context(|| format!("opening {}", file.display()))?;
    // One write, as editors save, so that a watcher never sees half of it.
    file.write_all(format!("\n\ndef {name}():\n    return None\n").as_bytes())?;
    Ok(())
}

/// Returns a unique word of letters for each number: no part of it occurs in any other file.
pub(super) fn unique_word(number: u32) -> String {
    let digits = number.to_string();
    let letters = digits.bytes().map(|digit| char::from(b'k' + (digit - b'0')));
    format!("zyxw{}quv", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn modules_are_small_and_all_different() {
        let numbers =
            (0..30).flat_map(|folder| (0..FILES_IN_FOLDER).map(move |file| (folder, file)));
        let all: BTreeSet<String> = numbers.map(|(folder, file)| module(folder, file)).collect();
        assert_eq!(all.len(), 30 * FILES_IN_FOLDER);
        assert!(all.iter().all(|text| text.len() < 600), "{}", module(0, 0));
        let text = module(7, 42);
        assert!(
            text.contains("\n\ndef store_shipment_742(source, limit=LIMIT):\n    \"\"\""),
            "{text}"
        );
        assert!(
            text.contains("\nclass shipment742:\n    def store(self):\n        return"),
            "{text}"
        );
    }

    #[test]
    fn a_copy_can_be_edited_alone() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::write(from.join("inner/a.py"), "x = 1\n").unwrap();
        for _ in 0..2 {
            assert_eq!(copy(&from, &to).unwrap(), [Path::new("inner/a.py")]);
            append(&to.join("inner/a.py"), "added").unwrap();
            let text = fs::read_to_string(to.join("inner/a.py")).unwrap();
            assert_eq!(text, "x = 1\n\n\ndef added():\n    return None\n");
            assert_eq!(fs::read_to_string(from.join("inner/a.py")).unwrap(), "x = 1\n");
        }
        forget(&to, "inner").unwrap();
        forget(&to, "inner").unwrap();
        assert!(!to.join("inner").exists());
    }

    #[test]
    fn names_are_words_of_letters() {
        let names: BTreeSet<String> = (0..200).map(unique_word).collect();
        assert_eq!(names.len(), 200);
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase())));
        assert_eq!(unique_word(10), "zyxwlkquv");
    }
}
