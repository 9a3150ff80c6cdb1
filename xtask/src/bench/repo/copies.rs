//! Trees of any size with the same mix of files: copies of a real one in numbered folders.

use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Lists the regular files below a folder except git's and docent's own, relative to it and sorted by path.
pub(crate) fn files(tree: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![tree.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if ![".git", ".docent"].iter().any(|own| entry.file_name() == *own) {
                    folders.push(entry.path());
                }
            } else if kind.is_file() {
                found.push(entry.path().strip_prefix(tree)?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Fills a folder with this many files of a tree: complete copies, and a partial last copy with the same mix of files.
pub(super) fn fill(folder: &Path, tree: &Path, files: &[PathBuf], count: usize) -> Result<()> {
    ensure!(!files.is_empty(), "{} has no files", tree.display());
    let mut left = count;
    for number in 1.. {
        if left == 0 {
            break;
        }
        let copy = folder.join(format!("{number:03}"));
        for file in spread(files, left) {
            place(&tree.join(file), &copy.join(file))?;
        }
        left = left.saturating_sub(files.len());
    }
    Ok(())
}

/// Picks at most this many items, evenly spread over all.
fn spread<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    let wanted = count.min(all.len());
    (0..wanted).filter_map(move |number| all.get(number * all.len() / wanted))
}

/// Creates a hard link, which takes no space, or a copy if that fails.
fn place(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::hard_link(from, to)
        .or_else(|_| fs::copy(from, to).map(drop))
        .with_context(|| format!("copying {}", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_the_count_and_the_mix() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("tree");
        for number in 0..10 {
            let file = tree.join(format!("{}/{number}.py", number % 2));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "x").unwrap();
        }
        for own in [".git", ".docent"] {
            fs::create_dir(tree.join(own)).unwrap();
            fs::write(tree.join(own).join("x"), "x").unwrap();
        }
        let names = files(&tree).unwrap();
        assert_eq!(names.first().unwrap(), Path::new("0/0.py"));
        for (count, expected) in [(4, ["001/0", "001/1"]), (24, ["003/0", "003/1"])] {
            let copy = place.path().join(count.to_string());
            fill(&copy, &tree, &names, count).unwrap();
            assert_eq!(files(&copy).unwrap().len(), count);
            for folder in expected {
                let found = fs::read_dir(copy.join(folder)).unwrap().count();
                assert_eq!(found, 2, "{count}: {folder}");
            }
        }
        assert!(fill(&place.path().join("none"), &tree, &[], 1).is_err());
    }

    #[test]
    fn a_part_is_spread_over_all() {
        let check = |count: usize, expected: &[u8]| {
            let all = [0, 1, 2, 3, 4, 5];
            assert_eq!(spread(&all, count).copied().collect::<Vec<u8>>(), expected, "{count}");
        };
        check(0, &[]);
        check(2, &[0, 3]);
        check(4, &[0, 1, 3, 4]);
        check(9, &[0, 1, 2, 3, 4, 5]);
    }
}
