use super::{check, suggestion::Suggestions};
use crate::repo::{
    documents,
    facts::DocumentFormat,
    report::{
        BrokenLink,
        LinkProblem::{self, MissingAnchor, MissingFile, MissingImage, Outside, WrongCase},
        Links,
    },
    tree::ProjectTree,
};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let place = root.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
}

/// Checks a project with these files; it is a whole repository if it has a `.git`.
fn checked(files: &[(&str, &str)]) -> Links {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    let tree = ProjectTree::of(folder.path());
    let read = |path: &str, language| {
        let format = documents::format(path, language)?;
        Some(documents::read(path, format, &tree.text(path).unwrap()))
    };
    let documents: Vec<_> =
        tree.files().iter().filter_map(|file| read(&file.path, file.language)).collect();
    check(&tree, &documents, &|| false)
}

fn broken(found: &Links) -> Vec<(&str, u64, &str, LinkProblem, Option<&str>)> {
    let mut all = Vec::new();
    for BrokenLink { path, line, target, problem, suggestion } in &found.broken {
        all.push((path.as_str(), *line, target.as_str(), *problem, suggestion.as_deref()));
    }
    all
}

/// A clock that stops the work after this many checks.
fn stops_after(looks: usize) -> impl Fn() -> bool + Sync {
    let left = AtomicUsize::new(looks);
    move || left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
}

#[test]
fn links_are_followed_no_further_once_the_work_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let links: Vec<String> = (0..10_000).map(|n| format!("[{n}](gone/{n}.md)\n")).collect();
    let links = links.concat();
    write(folder.path(), &[("README.md", &links)]);
    let tree = ProjectTree::of(folder.path());
    let text = tree.text("README.md").unwrap();
    let documents = [documents::read("README.md", DocumentFormat::Markdown, &text)];
    let whole = check(&tree, &documents, &|| false);
    assert_eq!((whole.checked, whole.broken_count), (10_000, 10_000));
    let cut = check(&tree, &documents, &stops_after(3));
    assert!(cut.checked <= 3 * super::LINKS_PER_HALT_CHECK as u64, "{}", cut.checked);
}

#[test]
fn suggestions_are_bounded_in_all() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("docs/guide.md", "")]);
    let tree = ProjectTree::of(folder.path());
    let suggestions = Suggestions::new(&tree, &|| false);
    let slugs: Vec<String> = (0..100_000).map(|n| format!("heading-{n}")).collect();
    for _ in 0..20 {
        assert!(suggestions.anchor(&slugs, "nothing-like-it").is_none());
    }
    assert_eq!(suggestions.left(), 0, "as many were compared as may be");
    assert_eq!(suggestions.anchor(&slugs, "heading-1x"), None);
    let fresh = Suggestions::new(&tree, &|| false);
    assert_eq!(fresh.anchor(&slugs[..20], "heading-1x").as_deref(), Some("heading-19"));
    let long = "x".repeat(1_000_000);
    assert_eq!(fresh.anchor(std::slice::from_ref(&long), &long), None, "too long to compare");
}

const GUIDE: &str = "\
# The Guide

[fine](../README.md) [top](#top) [self](#the-guide) [empty](#) [text](#:~:text=x)
[no such anchor](#the-giude)
[anchor elsewhere](../README.md#usage)
[none elsewhere](../README.md#nowhere-near)
[encoded](with%20space.md) [query](other.md?plain=1) [both](other.md?x#part-one)
[twice](other.md#part-one-1) [thrice](other.md#part-one-2)
[lines](../src/main.rs#L1-L3) [line](../src/main.rs#L1) [code](../src/main.rs#main)
[missing](gone.md)
[near](othr.md)
[moved](deep.md)
![picture](img/a.png) ![gone](img/b.png)
[case](OTHER.md)
[folder](../src/) [folder](..) [without ending](other) [as page](other.html)
[mail](mailto:a@b.org) [phone](tel:1) [script](javascript:x()) [web](https://x.org/gone)
[blank]({{ url }}/a.md) [blank](<your name>.md) [blank]($HOME/a.md) [blank](%s.md)
[ignored](../generated/api.md) [on disk](../local.md) [built](../dist/app.md)
[issues](../../../issues) [wiki](../../../wiki/Home) [tree](../../tree/main/x)
[outside](../../elsewhere/a.md)
[rooted](/README.md) [rooted](/docs/other.md#part-one) [static](/img/logo.svg)
[rooted and missing](/docs/none.md)
`[code](no.md)` and <a href=\"html.md\">html</a> <img src=\"img/c.png\">
[mail without scheme](me@x.org)
[doc](struct.Vec.html) [path](crate::Vec) [submodule](../sub/README.md)

```md
[block](no.md)
```
";

#[test]
fn every_kind_of_link_is_distinguished() {
    let found = checked(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".gitignore", "generated/\nlocal.md\n"),
        (".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n"),
        (
            "README.md",
            "# Readme\n\n## Usage\n\n[guide](docs/guide.md) [licence](LICENSE) [bad](TODO)\n",
        ),
        ("LICENSE", "Free.\n"),
        ("local.md", "# Local\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("static/img/logo.svg", "<svg/>\n"),
        ("docs/guide.md", GUIDE),
        ("docs/other.md", "# Part one\n\n## Part one\n\n## Part one\n"),
        ("docs/with space.md", "# Space\n"),
        ("docs/img/a.png", "png"),
        ("docs/far/deep.md", "# Deep\n"),
        ("tests/fixtures/page.md", "[never looked at](gone.md)\n"),
        ("third_party/lib/README.md", "[never looked at](gone.md)\n"),
        ("templates/README.md", "[never looked at](gone.md)\n"),
        ("tests/cases/input.md", "[never looked at](gone.md)\n"),
    ]);
    let guide = "docs/guide.md";
    let want = [
        ("README.md", 5, "TODO", MissingFile, None),
        (guide, 4, "#the-giude", MissingAnchor, Some("#the-guide")),
        (guide, 6, "../README.md#nowhere-near", MissingAnchor, None),
        (guide, 10, "gone.md", MissingFile, None),
        (guide, 11, "othr.md", MissingFile, Some("other.md")),
        (guide, 12, "deep.md", MissingFile, Some("far/deep.md")),
        (guide, 13, "img/b.png", MissingImage, Some("img/a.png")),
        (guide, 14, "OTHER.md", WrongCase, Some("other.md")),
        (guide, 20, "../../elsewhere/a.md", Outside, None),
        (guide, 22, "/docs/none.md", MissingFile, None),
        (guide, 23, "html.md", MissingFile, None),
        (guide, 23, "img/c.png", MissingImage, Some("img/a.png")),
        (guide, 24, "me@x.org", MissingFile, Some("mailto:me@x.org")),
    ];
    assert_eq!(broken(&found), want);
    assert_eq!((found.checked, found.external, found.broken_count), (45, 1, 13));
}

#[test]
fn sites_are_followed_as_they_are_shown() {
    let page = "\
# Page

[sibling page](../other/) [as address](/guide/other) [asset](/logo.png) [up](../../logo.png)
[file](other.md) [part](other.md#particulars) [gone](gone.md) [none](other.md#particlars)
[made](api/module/) [also made](api.html) [nowhere](nowhere.png)
";
    let found = checked(&[
        (".git/HEAD", "x"),
        ("mkdocs.yml", "site_name: x\n"),
        ("docs/guide/page.md", page),
        ("docs/guide/other.md", "# Other\n\n## Particulars\n"),
        ("docs/public/logo.png", "png"),
    ]);
    let path = "docs/guide/page.md";
    let want = [
        (path, 4, "gone.md", MissingFile, None),
        (path, 4, "other.md#particlars", MissingAnchor, Some("other.md#particulars")),
        (path, 5, "nowhere.png", MissingFile, None),
    ];
    assert_eq!(broken(&found), want);
    assert_eq!(found.checked, 11);
}

#[test]
fn what_cannot_be_known_is_not_called_broken() {
    let cases: [(&str, &[(&str, &str)]); 15] = [
        ("no repository to lead out of", &[("README.md", "[a](../LICENSE)")]),
        ("another part is written elsewhere", &[("a.md", "{{#include b.md}}\n\n[x](#in-b)")]),
        (
            "a component writes anchors",
            &[("a.mdx", "<Table theme={{ a: 1 }}\n  data={b} />\n\n[x](#row)")],
        ),
        ("a part of another document", &[("docs/_part.md", "[x](#of-the-whole)")]),
        (
            "code writes anchors",
            &[("mkdocs.yml", "hooks:\n  - a.py\n"), ("docs/a.md", "[x](#option)")],
        ),
        ("a translation falls back", &[("docs/en/b.md", "# B"), ("docs/de/a.md", "[b](b.md)")]),
        ("a page of a site elsewhere", &[("docs/a.md", "---\ntitle: A\n---\n[b](b) [c](../c/)")]),
        (
            "another book",
            &[
                ("book.toml", ""),
                ("src/SUMMARY.md", "- [a](a/b.md)"),
                ("src/a/b.md", "[std](../../std/vec.md)"),
            ],
        ),
        ("rustdoc's names", &[("Cargo.toml", ""), ("README.md", "[Vec](Vec) [x](#method.new)")]),
        (
            "a redirect",
            &[
                ("a.html", "<a href=\"b.html#x\">b</a>"),
                ("b.html", "<meta http-equiv=refresh content=\"0; url=c.html\">"),
                ("c.html", "<p>"),
            ],
        ),
        (
            "a page of an application",
            &[("index.html", "<script src=\"/src/main.js\"></script><a href=\"login\">x</a>")],
        ),
        ("a bundle", &[("docs/index.html", "<script src=\"bundle.js\"></script>")]),
        (
            "pictures are served from elsewhere",
            &[("guides/source/a.md", "![x](images/a/x.png)"), ("guides/assets/images/a/x.png", "")],
        ),
        (
            "a reference of Sphinx",
            &[("docs/a.rst", ":doc:`nowhere` :ref:`no-label`\n\n.. toctree::\n\n   made\n")],
        ),
        (
            "a module of Antora",
            &[("docs/a.adoc", "xref:other:page.adoc[x] <<nowhere>> image:{dir}/x.png[]")],
        ),
    ];
    for (name, files) in cases {
        assert_eq!(broken(&checked(files)), [], "{name}");
    }
}

#[test]
fn parts_of_a_book_name_the_anchors_of_the_whole() {
    let part = "[a](#alpha) [b](#beta) [c](#gamma)";
    let whole = [("src/one.md", part), ("src/two.md", "# Alpha\n\n# Beta\n\n# Gamma\n")];
    assert_eq!(broken(&checked(&whole)), []);
    let slip = "# Here\n\n[h](#here) [a](#alpha)";
    let found = checked(&[("src/one.md", slip), ("src/two.md", "# Alpha\n")]);
    assert_eq!(broken(&found), [("src/one.md", 3, "#alpha", MissingAnchor, None)]);
}

#[test]
fn other_formats_are_checked_where_it_is_certain() {
    let found = checked(&[
        (
            "docs/a.html",
            "<h1 id=one>x</h1>\n<a href=\"#one\">\n<a href=\"#two\">\n<a href=\"b.html#three\">\n<a href=\"gone.html\"><img src=\"d.png\">",
        ),
        ("docs/b.html", "<p>text"),
        (
            "docs/c.rst",
            ".. image:: gone.png\n\n.. include:: gone.inc\n\n`x <gone.txt>`_ and `y <c.rst>`_\n\n.. image:: any.*\n",
        ),
        ("docs/d.adoc", "xref:gone.adoc[x]\n\nimage::none.png[]\n"),
    ]);
    let want = [
        ("docs/a.html", 3, "#two", MissingAnchor, None),
        ("docs/a.html", 4, "b.html#three", MissingAnchor, None),
        ("docs/a.html", 5, "d.png", MissingImage, None),
        ("docs/a.html", 5, "gone.html", MissingFile, None),
        ("docs/c.rst", 1, "gone.png", MissingImage, None),
        ("docs/c.rst", 3, "gone.inc", MissingFile, None),
        ("docs/c.rst", 5, "gone.txt", MissingFile, None),
        ("docs/d.adoc", 1, "gone.adoc", MissingFile, None),
        ("docs/d.adoc", 3, "none.png", MissingImage, None),
    ];
    assert_eq!(broken(&found), want);
}

#[test]
fn addresses_without_a_scheme_are_recognised() {
    use super::suggestion::address;
    let cases = [
        ("(https://x.org/a)", Some("https://x.org/a")),
        ("(#part)", Some("#part")),
        ("\u{200b}https://x.org", Some("https://x.org")),
        ("docs.x.org/a", Some("https://docs.x.org/a")),
        ("me@x.org", Some("mailto:me@x.org")),
        ("a/b.md", None),
        ("main.rs", None),
    ];
    for (written, want) in cases {
        assert_eq!(address(written).as_deref(), want, "{written}");
    }
}

#[test]
fn at_most_five_hundred_are_listed_and_all_are_counted() {
    let text =
        (0..700).map(|number| format!("[x](gone{number}.md)\n")).collect::<Vec<_>>().concat();
    let found = checked(&[("a.md", &text)]);
    assert_eq!((found.broken.len(), found.broken_count, found.checked), (500, 700, 700));
    let lines: Vec<u64> = found.broken.iter().map(|it| it.line).collect();
    assert_eq!(lines, (1..=500).collect::<Vec<_>>());
}

#[test]
fn a_halt_ends_the_check() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("a.md", "[x](gone.md)")]);
    let tree = ProjectTree::of(folder.path());
    let facts = documents::read("a.md", DocumentFormat::Markdown, "[x](gone.md)");
    assert_eq!(check(&tree, &[facts], &|| true), Links::default());
}
