//! Examples to run or copy: folders, and code in documents.

use crate::repo::{
    facts::DocumentFacts,
    report::Examples,
    tree::{ProjectTree, folder_of},
};
use std::collections::BTreeMap;

/// Example folders, in lowercase.
const FOLDERS: [&str; 9] = [
    "examples",
    "example",
    "samples",
    "sample",
    "demo",
    "demos",
    "cookbook",
    "recipes",
    "playground",
];

/// Counts examples.
pub(super) fn count(tree: &ProjectTree, documents: &[&DocumentFacts]) -> Examples {
    let mut folders: BTreeMap<&str, u64> = BTreeMap::new();
    for file in tree.files() {
        if let Some(folder) = example_folder(&file.path) {
            *folders.entry(folder).or_default() += 1;
        }
    }
    let blocks = || documents.iter().flat_map(|document| &document.code_blocks);
    Examples {
        files: folders.values().sum(),
        folders: folders.into_keys().take(10).map(str::to_owned).collect(),
        code_blocks: blocks().count() as u64,
        unlabelled: blocks().filter(|block| block.language.is_none()).count() as u64,
    }
}

/// Whether a path is in tests or third-party code.
pub(super) fn is_of_others(path: &str) -> bool {
    const OTHERS: [&str; 11] = [
        "test",
        "tests",
        "testdata",
        "fixtures",
        "__tests__",
        "__fixtures__",
        "vendor",
        "third_party",
        "node_modules",
        "examples",
        "example",
    ];
    folder_of(path).split('/').any(|part| OTHERS.contains(&part))
}

/// Returns the outermost example folder of a path.
fn example_folder(path: &str) -> Option<&str> {
    const NOT_IN: [&str; 10] = [
        "test",
        "tests",
        "testing",
        "testdata",
        "fixtures",
        "vendor",
        "third_party",
        "src",
        "com",
        "org",
    ];
    let mut end = 0;
    for part in folder_of(path).split('/') {
        // `com/example/demo` is a package name, and files in the sources are part of the program.
        if NOT_IN.contains(&part) {
            return None;
        }
        end += part.len();
        if FOLDERS.iter().any(|folder| part.eq_ignore_ascii_case(folder)) {
            return path.get(..end);
        }
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::tests::facts;

    #[test]
    fn examples_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [
            "examples/one.rs",
            "examples/deep/demo/two.rs",
            "packages/a/Samples/three.js",
            "src/main/java/com/example/demo/App.java",
            "tests/examples/four.rs",
            "src/examples.rs",
        ];
        for path in paths {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let one = facts("a.md", "# A\n\n```sh\nx\n```\n\n```\ny\n```\n");
        let other = facts("b.md", "# B\n\n    z\n");
        let want = Examples {
            files: 3,
            folders: vec!["examples".into(), "packages/a/Samples".into()],
            code_blocks: 3,
            unlabelled: 2,
        };
        assert_eq!(count(&ProjectTree::of(folder.path()), &[&one, &other]), want);
    }
}
