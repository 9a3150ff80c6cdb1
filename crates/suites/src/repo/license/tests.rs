use super::*;
use std::fs;

fn text(id: &str) -> &'static str {
    spdx::license_id(id).unwrap().text()
}

fn says(path: &str, licence: &str) -> Manifest {
    Manifest { path: path.into(), licence: Some(licence.into()), ..Manifest::default() }
}

/// Identifies the license of a folder with these files; a file named after a license contains its text.
fn project(files: &[(&str, String)], manifests: &[Manifest]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let tree = ProjectTree::of(folder.path());
    let readme = tree.file("README.md").map(|file| file.path.to_string());
    let (licence, problems) =
        of_project(&tree, &Presence { readme, ..Presence::default() }, manifests);
    assert_eq!(problems, []);
    licence
}

fn file(path: &'static str, id: &str) -> (&'static str, String) {
    (path, text(id).to_owned())
}

#[test]
fn no_listed_text_is_taken_for_another() {
    for licence in spdx::identifiers::LICENSES {
        let Some(id) = spdx::license_id(licence.name) else { continue };
        let Some(found) = word_for_word(id.text()) else { continue };
        let same_text = spdx::license_id(&found).is_some_and(|it| it.text() == id.text());
        // SPDX has replaced these two names with the one that is found.
        let replaced = ["BSD-2-Clause-FreeBSD", "BSD-2-Clause-NetBSD"].contains(&licence.name);
        let same = same_text || found == base(licence.name) || replaced && found == "BSD-2-Clause";
        assert!(same, "{} is taken for {found}", licence.name);
    }
}

#[test]
fn one_text_may_hold_several() {
    let (mit, apache, bsd) = (text("MIT"), text("Apache-2.0"), text("BSD-3-Clause"));
    let gnu = text("GPL-2.0-only");
    let cases = [
        ("one", mit.to_owned(), Some("MIT")),
        (
            "a choice",
            format!("Take either of these, at your option.\n\n{bsd}\n{apache}"),
            Some("BSD-3-Clause OR Apache-2.0"),
        ),
        ("the usual pair", format!("{apache}\n---\n{mit}"), Some("Apache-2.0 OR MIT")),
        ("no choice", format!("{apache}\n---\n{bsd}"), Some("Apache-2.0 AND BSD-3-Clause")),
        ("of others", format!("{mit}\n# Licenses of bundled dependencies\n{bsd}"), Some("MIT")),
        ("a name", "MIT OR Apache-2.0".to_owned(), Some("MIT OR Apache-2.0")),
        ("older style", "MIT/Apache-2.0\n".to_owned(), Some("MIT OR Apache-2.0")),
        (
            "a tag",
            "/* SPDX-License-Identifier: (GPL-2.0+ OR MIT) */".to_owned(),
            Some("(GPL-2.0-or-later OR MIT)"),
        ),
        (
            "named",
            "Dual-licensed under the Unlicense and MIT licenses.".to_owned(),
            Some("Unlicense OR MIT"),
        ),
        (
            "named without a word on choice",
            "See the MIT license and the Apache License, Version 2.0.".to_owned(),
            None,
        ),
        (
            "an exception",
            format!("{apache}\n{}", spdx::exception_id("LLVM-exception").unwrap().text()),
            Some("Apache-2.0 WITH LLVM-exception"),
        ),
        ("terms of its own", format!("{mit}\nThe software must not be used in aircraft."), None),
        (
            "a choice with preambles",
            format!("You may use either the BSD License or the GPL.\n{bsd}\n{gnu}"),
            Some("BSD-3-Clause OR GPL-2.0"),
        ),
        (
            "another is named",
            format!("All files are under the Mozilla Public License 2.0.\n{mit}"),
            None,
        ),
        ("nothing", "All rights reserved.".to_owned(), None),
    ];
    for (what, text, want) in cases {
        assert_eq!(word_for_word(&text).as_deref(), want, "{what}");
    }
}

#[test]
fn likeness_is_sure_or_silent() {
    let listed = SpdxLicenses::load().unwrap();
    let apache = text("Apache-2.0");
    let without_appendix = apache.split("APPENDIX").next().unwrap().replace("royalty-free", "free");
    let cases = [
        ("rare", text("BlueOak-1.0.0").to_owned(), Some("BlueOak-1.0.0")),
        (
            "a common one, changed",
            text("ISC").replace("THE AUTHOR DISCLAIMS", "THE AUTHORS DISCLAIM"),
            Some("ISC"),
        ),
        // More similar to a Pixar license than to itself.
        ("changed and cut", without_appendix, None),
        ("prose", "This is a story about licences, and about nothing else.".to_owned(), None),
        ("nothing", String::new(), None),
    ];
    for (what, text, want) in cases {
        assert_eq!(listed.most_like(&text).as_deref(), want, "{what}");
    }
    assert_eq!(identify(text("BlueOak-1.0.0")).as_deref(), Some("BlueOak-1.0.0"));
    assert_eq!(identify(text("GPL-3.0-only")).as_deref(), Some("GPL-3.0"));
}

/// Name, files, manifests, and the expected license.
type Case = (&'static str, Vec<(&'static str, String)>, Vec<Manifest>, Option<&'static str>);

#[test]
fn files_and_manifests_are_combined() {
    let pair = || vec![file("LICENSE-MIT", "MIT"), file("LICENSE-APACHE", "Apache-2.0")];
    let gnu = || vec![file("COPYING", "GPL-3.0-only")];
    let cases: [Case; 14] = [
        ("pair", pair(), vec![], Some("Apache-2.0 OR MIT")),
        (
            "the manifest says how",
            pair(),
            vec![says("Cargo.toml", "MIT AND Apache-2.0")],
            Some("MIT AND Apache-2.0"),
        ),
        ("no file", vec![], vec![says("package.json", "ISC")], Some("ISC")),
        ("nothing", vec![], vec![], None),
        ("no expression", vec![], vec![says("setup.py", "BSD")], None),
        ("identified by name", vec![], vec![says("setup.py", "MIT License")], Some("MIT")),
        (
            "text against manifest",
            vec![file("LICENSE", "MIT")],
            vec![says("package.json", "ISC")],
            Some("MIT"),
        ),
        (
            "lesser",
            vec![file("COPYING", "GPL-3.0-only"), file("COPYING.LESSER", "LGPL-3.0-only")],
            vec![],
            Some("LGPL-3.0"),
        ),
        (
            "version by manifest",
            gnu(),
            vec![says("pyproject.toml", "GPL-3.0-or-later")],
            Some("GPL-3.0-or-later"),
        ),
        (
            "manifests disagree",
            vec![],
            vec![says("a/package.json", "MIT"), says("b/package.json", "ISC")],
            None,
        ),
        (
            "one of them fits",
            vec![file("LICENSE", "ISC")],
            vec![says("a/package.json", "MIT"), says("b/package.json", "ISC")],
            Some("ISC"),
        ),
        ("of others", vec![], vec![says("tests/x/package.json", "MIT")], None),
        (
            "not a licence",
            vec![
                ("license.rs", text("MIT").to_owned()),
                ("LICENSE-THIRD-PARTY", text("ISC").to_owned()),
            ],
            vec![],
            None,
        ),
        (
            "reuse",
            vec![file("LICENSES/MIT.txt", "MIT"), file("LICENSES/CC0-1.0.txt", "CC0-1.0")],
            vec![],
            Some("CC0-1.0 AND MIT"),
        ),
    ];
    for (what, files, manifests, want) in cases {
        assert_eq!(project(&files, &manifests).as_deref(), want, "{what}");
    }
}

#[test]
fn readme_may_leave_the_choice() {
    let files = [
        file("LICENSE-ZLIB", "Zlib"),
        file("LICENSE-MIT", "MIT"),
        ("README.md", "# It\n\n## License\n\nUnder MIT or Zlib, at your option.\n".to_owned()),
    ];
    assert_eq!(project(&files, &[]).as_deref(), Some("MIT OR Zlib"));
    assert_eq!(project(&files[..2], &[]).as_deref(), Some("MIT AND Zlib"));
}

#[test]
fn sources_decide_versions_when_they_agree() {
    let later = "/* This program is free software; under the GNU General Public License, either version 3, or (at your option) any later version. */";
    let only = "// SPDX-License-Identifier: GPL-3.0-only";
    let cases = [
        ("two agree", [later, later], "GPL-3.0-or-later"),
        ("tags agree", [only, only], "GPL-3.0-only"),
        ("one alone", [later, ""], "GPL-3.0"),
        ("they differ", [later, only], "GPL-3.0"),
    ];
    for (what, heads, want) in cases {
        let files = [
            file("COPYING", "GPL-3.0-only"),
            ("a.c", heads[0].to_owned()),
            ("b.c", heads[1].to_owned()),
        ];
        assert_eq!(project(&files, &[]).as_deref(), Some(want), "{what}");
    }
}

#[test]
fn expressions_may_disagree() {
    let cases = [
        ("MIT", "Apache-2.0", true),
        ("MIT", "MIT OR Apache-2.0", false),
        ("GPL-3.0", "GPL-3.0-or-later", false),
        ("Apache-2.0 WITH LLVM-exception", "LLVM-exception", true),
    ];
    for (one, other, want) in cases {
        assert_eq!(disagree(one, other), want, "{one} and {other}");
    }
    assert_eq!(normalize_expression("Apache License, Version 2.0").as_deref(), Some("Apache-2.0"));
    assert_eq!(normalize_expression("mit").as_deref(), Some("MIT"));
    assert_eq!(normalize_expression("SEE LICENSE IN LICENSE.md"), None);
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let tree = ProjectTree::of(folder.path());
    let presence = Presence { licence: Some("LICENSE".into()), ..Presence::default() };
    let (licence, problems) = of_project(&tree, &presence, &[says("Cargo.toml", "MIT")]);
    assert_eq!(licence.as_deref(), Some("MIT"));
    assert_eq!(
        problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(),
        ["LICENSE"]
    );
}
