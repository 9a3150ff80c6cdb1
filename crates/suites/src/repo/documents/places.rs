//! Classifies documents by path: documentation folder, fixture, translation, version.

use crate::repo::tree::name_of;

/// Documentation folders.
const DOCUMENTATION_FOLDERS: [&str; 16] = [
    "doc",
    "docs",
    "documentation",
    "docsite",
    "doc-site",
    "guide",
    "guides",
    "manual",
    "manuals",
    "handbook",
    "wiki",
    "tutorials",
    "howto",
    "cookbook",
    "reference",
    "book",
];
/// Folders with test input or templates.
const SAMPLE_FOLDERS: [&str; 31] = [
    "archetypes",
    "issue_template",
    "pull_request_template",
    "fixture",
    "fixtures",
    "__fixtures__",
    "_fixtures",
    "testdata",
    "test-data",
    "test_data",
    "testfiles",
    "test-fixtures",
    "snapshots",
    "__snapshots__",
    "__tests__",
    "templates",
    "template",
    "_templates",
    "__templates__",
    "scaffold",
    "scaffolds",
    "scaffolding",
    "skeleton",
    "boilerplate",
    "boilerplates",
    "cassettes",
    "corpus",
    "corpora",
    "mocks",
    "__mocks__",
    "golden",
];
/// Words in a name with the same meaning.
const TEMPLATE_WORDS: [&str; 6] = ["template", "templates", "tpl", "tmpl", "fixture", "fixtures"];
/// Folders with third-party code.
const VENDOR_FOLDERS: [&str; 14] = [
    "deps",
    "vendor",
    "vendored",
    "_vendor",
    "third_party",
    "third-party",
    "thirdparty",
    "3rdparty",
    "external",
    "externals",
    "extern",
    "node_modules",
    "bower_components",
    "site-packages",
];
/// Folders of documents that are included in others.
const PARTIAL_FOLDERS: [&str; 9] = [
    "_includes",
    "includes",
    "_partials",
    "partials",
    "_snippets",
    "snippets",
    "_shared",
    "fragments",
    "_fragments",
];
/// Test folders.
const TEST_FOLDERS: [&str; 11] = [
    "test",
    "tests",
    "testing",
    "spec",
    "specs",
    "e2e",
    "playground",
    "playgrounds",
    "cypress",
    "bench",
    "benches",
];
/// Folders with generated files.
const OUTPUT_FOLDERS: [&str; 14] = [
    "dist",
    "build",
    "_build",
    "out",
    "output",
    "target",
    "coverage",
    "node_modules",
    "_site",
    "site",
    "public",
    "generated",
    "gen",
    ".next",
];
/// Languages, as named in folders and file suffixes.
const LANGUAGE_CODES: [&str; 62] = [
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "eo",
    "es", "et", "eu", "fa", "fi", "fr", "ga", "gl", "he", "hi", "hr", "hu", "hy", "id", "is", "it",
    "ja", "ka", "kk", "km", "ko", "lt", "lv", "mk", "ml", "mn", "ms", "nb", "nl", "pl", "pt", "ro",
    "ru", "sk", "sl", "sq", "sr", "sv", "ta", "th", "tr", "uk", "ur", "uz", "vi", "zh",
];
/// Translation folders.
const TRANSLATION_FOLDERS: [&str; 5] = ["i18n", "locale", "locales", "translations", "translation"];
/// Folders whose documents are ordered by date, version or number.
const SERIES_FOLDERS: [&str; 20] = [
    "adr",
    "adrs",
    "decisions",
    "decision-records",
    "rfc",
    "rfcs",
    "proposals",
    "blog",
    "posts",
    "_posts",
    "news",
    "releases",
    "release",
    "releasenotes",
    "release-notes",
    "release_notes",
    "changelog",
    "changelogs",
    "whatsnew",
    "migrations",
];
/// Words used as version names.
const VERSION_WORDS: [&str; 11] = [
    "latest",
    "next",
    "stable",
    "current",
    "dev",
    "main",
    "master",
    "canary",
    "versioned_docs",
    "versions",
    "legacy",
];

/// Whether a folder with this name contains documentation.
pub(in crate::repo) fn is_documentation(folder: &str) -> bool {
    has(&DOCUMENTATION_FOLDERS, folder)
}

/// Whether a document is inside a documentation folder.
pub(in crate::repo) fn is_in_documentation(path: &str) -> bool {
    folders(path).any(is_documentation)
}

/// Whether a document is test input, a template, or third-party work.
pub(in crate::repo) fn is_sample(path: &str) -> bool {
    let is_blank = |name: &str| words(name).any(|word| has(&TEMPLATE_WORDS, word));
    folders(path).any(|folder| {
        has(&SAMPLE_FOLDERS, folder) || has(&VENDOR_FOLDERS, folder) || is_blank(folder)
    }) || is_blank(name_of(path))
}

/// Whether a document is in a test folder.
pub(in crate::repo) fn is_test(path: &str) -> bool {
    folders(path).any(|folder| {
        has(&TEST_FOLDERS, folder) || words(folder).any(|word| matches!(word, "test" | "tests"))
    })
}

/// Whether a path is in a folder with generated files.
pub(in crate::repo) fn is_output(path: &str) -> bool {
    folders(path).any(|folder| has(&OUTPUT_FOLDERS, folder))
}

/// Whether a document is the first page of its folder, by its name.
pub(in crate::repo) fn is_index(path: &str) -> bool {
    let stem = stem_of(path).to_ascii_lowercase();
    matches!(stem.as_str(), "index" | "_index" | "contents" | "summary" | "home") || is_readme(path)
}

/// Whether a document is meant to be included in others, by its name or folder.
pub(in crate::repo) fn is_partial(path: &str) -> bool {
    let stem = stem_of(path);
    ends_in(path, &["inc"])
        || stem.starts_with('_') && stem != "_index"
        || folders(path).any(|folder| has(&PARTIAL_FOLDERS, folder))
}

/// Whether a document is a README, in any language.
pub(in crate::repo) fn is_readme(path: &str) -> bool {
    name_of(path).get(..6).is_some_and(|start| start.eq_ignore_ascii_case("readme"))
}

/// Whether a path has one of these extensions, ignoring case.
pub(in crate::repo) fn ends_in(path: &str, endings: &[&str]) -> bool {
    name_of(path).rsplit_once('.').is_some_and(|(_, ending)| has(endings, ending))
}

/// Returns a file name without its extension.
pub(in crate::repo) fn stem_of(path: &str) -> &str {
    let name = name_of(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a path component names a language or version.
pub(in crate::repo) fn is_variant(path: &str) -> bool {
    variants(path).next().is_some() || language_ending(stem_of(path)).is_some()
}

/// Returns the folders of a path that name a language or version.
pub(in crate::repo) fn variants(path: &str) -> impl Iterator<Item = &str> {
    folders(path).filter(|folder| {
        is_language(folder) || has(&TRANSLATION_FOLDERS, folder) || is_version(folder)
    })
}

/// Whether a document belongs to a series ordered by date, version or number.
pub(in crate::repo) fn is_in_series(path: &str) -> bool {
    folders(path).any(|folder| has(&SERIES_FOLDERS, folder)) || is_version(stem_of(path))
}

/// Whether a folder names a language or a version.
pub(in crate::repo) fn names_variant(folder: &str) -> bool {
    is_language(folder) || is_version(folder)
}

/// Yields the path with `*` in place of each matching folder, one at a time. Two paths that differ in one folder only
/// share one of these.
pub(in crate::repo) fn blanks(
    path: &str,
    takes: impl Fn(&str) -> bool,
) -> impl Iterator<Item = String> {
    let mut start = 0;
    let folders = path.match_indices('/').map(move |(end, _)| {
        let folder = start..end;
        start = end + 1;
        folder
    });
    let chosen = folders.filter(move |folder| path.get(folder.clone()).is_some_and(&takes));
    chosen.map(move |folder| {
        let before = path.get(..folder.start).unwrap_or_default();
        let after = path.get(folder.end..).unwrap_or_default();
        format!("{before}*{after}")
    })
}

/// Strips a language suffix from a name: `README.zh-CN`, `guide_de`.
fn language_ending(stem: &str) -> Option<&str> {
    let at = stem.find(['.', '_', '-']).filter(|at| *at > 0)?;
    let mut starts =
        stem.match_indices(['.', '_', '-']).map(|(at, _)| at).filter(|start| *start >= at);
    let start = starts.find(|start| stem.get(start + 1..).is_some_and(is_language))?;
    stem.get(..start)
}

/// Whether a name is a language: `de`, `pt-BR`, `zh_Hans`.
fn is_language(word: &str) -> bool {
    let mut parts = word.split(['-', '_']);
    let language = parts.next().unwrap_or_default();
    let is_region = |part: &str| {
        part.len() == 2 && part.chars().all(|c| c.is_ascii_alphabetic())
            || ["hans", "hant", "cyrl", "latn"]
                .iter()
                .any(|script| part.eq_ignore_ascii_case(script))
    };
    has(&LANGUAGE_CODES, language) && parts.next().is_none_or(is_region) && parts.next().is_none()
}

/// Whether a name is a version: `1.0`, `v2`, `version-1.x`, `2024-01-31-name`, `latest`.
fn is_version(word: &str) -> bool {
    let number = word.strip_prefix("version-").unwrap_or(word);
    let number = number.strip_prefix(['v', 'V']).unwrap_or(number);
    let is_part = |part: &str| {
        matches!(part, "x" | "X") || !part.is_empty() && part.chars().all(|c| c.is_ascii_digit())
    };
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.split(['.', '_', '-']).all(is_part);
    let mut date = word.splitn(3, '-');
    let has_digits = |part: Option<&str>, count: usize| {
        part.is_some_and(|part| part.len() == count && is_part(part))
    };
    is_number
        || has(&VERSION_WORDS, word)
        || has_digits(date.next(), 4) && has_digits(date.next(), 2)
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    let mut parts = path.split('/');
    parts.next_back();
    parts
}

/// Splits a name into words.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split([' ', '-', '_', '.'])
}

fn has(names: &[&str], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, is: fn(&str) -> bool, yes: &[&str], no: &[&str]) {
        for (paths, want) in [(yes, true), (no, false)] {
            for path in paths {
                assert_eq!(is(path), want, "{name}: {path}");
            }
        }
    }

    #[test]
    fn paths_classify_documents() {
        check(
            "documentation",
            is_in_documentation,
            &["docs/a.md", "x/Documentation/a/b.md"],
            &["a.md", "docs.md", "src/docs_tool/a.md"],
        );
        check(
            "sample",
            is_sample,
            &[
                "a/fixtures/b.md",
                "vendor/x/README.md",
                "template-react/README.md",
                "docs/issue.template.md",
            ],
            &["docs/a.md", "docs/templating.md"],
        );
        check(
            "test",
            is_test,
            &["tests/a.md", "e2e/README.md", "load-tests/a.md"],
            &["docs/testing.md"],
        );
        check("output", is_output, &["dist/a.js", "x/_build/a.html"], &["docs/build.md"]);
        check(
            "index",
            is_index,
            &["docs/index.md", "README.rst", "a/_index.md"],
            &["docs/indexes.md"],
        );
        check(
            "partial",
            is_partial,
            &["docs/_a.md", "a/snippets/b.md", "a.rst.inc"],
            &["a/_index.md", "a.md"],
        );
        check(
            "variant",
            is_variant,
            &[
                "docs/de/a.md",
                "docs/pt-BR/a.md",
                "v1.2/a.md",
                "README.zh-CN.md",
                "README_ja.md",
                "runs/2024-01-31-x/a.md",
            ],
            &["docs/a.md", "docs/design/a.md", "README-design.md", "v/a.md"],
        );
        check(
            "series",
            is_in_series,
            &["docs/adr/1.md", "docs/releases/a.md", "docs/1.2.3.md"],
            &["docs/adrift.md"],
        );
    }

    #[test]
    fn variants_differ_in_one_folder() {
        let cases = [
            ("docs/em/a.md", "docs/en/a.md", true),
            ("docs/1.0/a.md", "docs/2.0/a.md", true),
            ("docs/x/a.md", "docs/y/a.md", false),
            ("docs/de/a.md", "docs/en/b.md", false),
            ("de/docs/a.md", "en/doc/a.md", false),
            ("docs/a.md", "docs/en/a.md", false),
        ];
        for (one, other, want) in cases {
            let known: Vec<String> = blanks(other, names_variant).collect();
            let got = blanks(one, |_| true).any(|blank| known.contains(&blank));
            assert_eq!(got, want, "{one} {other}");
        }
    }
}
