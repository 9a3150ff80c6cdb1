use super::find;
use crate::repo::{
    documents,
    report::{Duplicate, Redundancy},
    tree::ProjectTree,
};
use std::fs;

fn found(files: &[(&str, &str)]) -> Redundancy {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let place = folder.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    let tree = ProjectTree::of(folder.path());
    let read = |path: &str, language| {
        let format = documents::format(path, language)?;
        Some(documents::read(path, format, &tree.text(path).unwrap()))
    };
    let documents: Vec<_> =
        tree.files().iter().filter_map(|file| read(&file.path, file.language)).collect();
    find(&tree, &documents, &|| false)
}

/// Generates a distinct text per seed, long enough for comparison.
fn prose(seed: u64, words: u64) -> String {
    let word = |number: u64| format!("w{}", (seed * 7919 + number * 104_729) % 99_991);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

fn pairs(redundancy: &Redundancy) -> Vec<(&str, &str, f64)> {
    let mut all = Vec::new();
    for Duplicate { one, other, alike } in &redundancy.duplicates {
        all.push((one.as_str(), other.as_str(), *alike));
    }
    all
}

#[test]
fn copies_are_found_and_each_once() {
    let (one, two) = (prose(1, 200), prose(2, 200));
    let part = format!("{one} {two}");
    let same = found(&[
        ("a/guide.md", &one),
        ("b/manual.md", &one),
        ("c/handbook.md", &one),
        ("d/all.md", &part),
        ("e/other.md", &two),
        ("f/own.md", &prose(3, 200)),
    ]);
    let want = [
        ("a/guide.md", "b/manual.md", 100.0),
        ("a/guide.md", "c/handbook.md", 100.0),
        ("a/guide.md", "d/all.md", 100.0),
        ("d/all.md", "e/other.md", 100.0),
    ];
    assert_eq!(pairs(&same), want);
}

#[test]
fn similarity_is_a_percentage_of_the_shorter() {
    let words: Vec<String> = prose(1, 240).split(' ').map(str::to_owned).collect();
    let shorter = format!("{} {}", words[..190].join(" "), prose(2, 50));
    let alike = found(&[("a/long.md", &words.join(" ")), ("b/short.md", &shorter)]);
    let [(_, _, per_cent)] = pairs(&alike)[..] else { panic!("{alike:?}") };
    // 183 of 233 shingles are the same.
    assert!((77.0..=80.0).contains(&per_cent), "{per_cent}");
    let little = format!("{} {}", words[..60].join(" "), prose(2, 180));
    assert_eq!(pairs(&found(&[("a/long.md", &words.join(" ")), ("b/short.md", &little)])), []);
}

#[test]
fn some_documents_are_meant_to_be_alike() {
    let text = prose(1, 200);
    let cases = [
        ("LICENSE.md", "lib/LICENSE.md"),
        ("CHANGELOG.md", "lib/CHANGELOG.md"),
        ("docs/de/a.md", "docs/fr/a.md"),
        ("docs/1.0/a.md", "docs/2.0/a.md"),
        ("docs/a.md", "versioned_docs/version-1.0/a.md"),
        ("a.md", "vendor/a.md"),
        ("a.md", "tests/fixtures/a.md"),
        ("examples/one/a.md", "examples/two/a.md"),
        ("docs/a.md", "docs/a.html"),
        ("posts/2024/a.md", "posts/2025/a.md"),
    ];
    for (one, other) in cases {
        assert_eq!(pairs(&found(&[(one, &text), (other, &text)])), [], "{one} {other}");
    }
    let lone = [("README.md", text.as_str()), ("docs/en/index.md", text.as_str())];
    assert_eq!(pairs(&found(&lone)), [("README.md", "docs/en/index.md", 100.0)]);
}

/// Documents of which two are linked and one is not.
fn guides<'a>(extra: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut files = vec![
        ("README.md", "[a](docs/a.md) and [b](docs/b.md)"),
        ("docs/a.md", "# A"),
        ("docs/b.md", "# B"),
        ("docs/lost.md", "# Lost"),
    ];
    files.extend(extra);
    files
}

#[test]
fn unlinked_documents_are_dead() {
    type Case<'a> = (&'a str, Vec<(&'a str, &'a str)>, &'a [&'a str]);
    let cases: [Case<'_>; 16] = [
        ("plain", guides(&[]), &["docs/lost.md"]),
        ("linked to itself", guides(&[("docs/lost.md", "[me](lost.md)")]), &["docs/lost.md"]),
        ("named as code", guides(&[("CONTRIBUTING.md", "See `docs/lost.md`.")]), &[]),
        ("linked as a page", guides(&[("docs/a.md", "[l](../lost/)")]), &[]),
        ("linked by its address", guides(&[("docs/a.md", "[l](https://x.org/docs/lost/)")]), &[]),
        ("the folder is linked", guides(&[("CONTRIBUTING.md", "See [all](docs/).")]), &[]),
        ("mostly read as a folder", guides(&[("docs/c.md", ""), ("docs/d.md", "")]), &[]),
        ("in a list", guides(&[("docs/documents.yaml", "- url: lost.html\n")]), &[]),
        ("no nav", guides(&[("mkdocs.yml", "site_name: x\n")]), &[]),
        ("in the nav", guides(&[("mkdocs.yml", "nav:\n  - A: a.md\n  - lost.md\n")]), &[]),
        ("not in the nav", guides(&[("mkdocs.yml", "nav:\n  - A: a.md\n")]), &["docs/lost.md"]),
        ("a site elsewhere", guides(&[("docs/b.md", "---\ntitle: B\n---\n# B")]), &[]),
        (
            "a list of its own",
            guides(&[("docs/docusaurus.config.js", ""), ("docs/sidebars.js", "autogenerated")]),
            &[],
        ),
        (
            "a sidebar",
            guides(&[("docs/docusaurus.config.js", ""), ("docs/sidebars.js", "['a', 'b']")]),
            &["docs/lost.md"],
        ),
        (
            "known by their names",
            guides(&[
                ("docs/lost.md", "[x](adr/1.md)"),
                ("docs/adr/2.md", ""),
                ("docs/CHANGELOG.md", ""),
                ("docs/x/index.md", ""),
            ]),
            &["docs/lost.md"],
        ),
        (
            "a table of contents",
            vec![
                ("docs/conf.py", ""),
                ("docs/index.rst", ".. toctree::\n\n   guide/intro\n   whatsnew-1.2\n"),
                ("docs/guide/intro.rst", "Intro\n=====\n"),
                ("docs/whatsnew-1.2.rst", "New\n===\n"),
                ("docs/alone.rst", ":orphan:\n\nAlone\n=====\n"),
                ("docs/lost.rst", "Lost\n====\n"),
            ],
            &["docs/lost.rst"],
        ),
    ];
    // Of two files with one path, the later one overwrites the first.
    for (name, files, want) in cases {
        assert_eq!(found(&files).dead, want, "{name}");
    }
}

#[test]
fn documents_without_text_are_empty() {
    let fifteen = prose(1, 15);
    let empty = found(&[
        ("README.md", "# Name\n"),
        ("docs/a.md", ""),
        ("docs/b.md", &fifteen),
        ("docs/c.md", "# C\n\n```sh\nmake\n```\n"),
        ("docs/d.md", "[elsewhere](b.md)\n"),
        ("docs/e.md", "Takes `name`.\n"),
        ("docs/index.md", "# Docs\n"),
        ("docs/f.md", "---\ntitle: F\n---\n"),
        ("tests/README.md", "# Tests\n"),
        ("templates/README.md", "# {{ name }}\n"),
        (".github/PULL_REQUEST_TEMPLATE.md", "What and why?\n"),
        ("newsfragments/12.md", "A fix.\n"),
        ("docs/api.rst", ".. automodule:: x\n"),
    ]);
    assert_eq!(empty.empty, ["README.md", "docs/a.md"]);
}
