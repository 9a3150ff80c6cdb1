//! Parses a changelog: releases, the newest one, and whether it covers the current version.

use crate::{
    files::ReadFailure,
    repo::{
        report::{Changelog, Manifest, Report},
        tree::{ProjectTree, folder_of},
    },
};
use std::cmp::Ordering;

/// A release in a changelog.
#[derive(Debug, PartialEq, Eq)]
struct ChangelogRelease {
    version: String,
    date: Option<String>,
    /// Whether it is not released yet.
    pending: bool,
}

/// Reads the project's changelog, if there is one.
pub(super) fn read(
    tree: &ProjectTree,
    report: &Report,
) -> (Option<Changelog>, Option<ReadFailure>) {
    let Some(path) = report.presence.changelog.clone().or_else(|| elsewhere(tree)) else {
        return (None, None);
    };
    let text = match tree.text(&path) {
        Ok(text) => text,
        Err(problem) => return (None, Some(problem)),
    };
    let entries = entries(&text);
    let made: Vec<&ChangelogRelease> = entries.iter().filter(|entry| !entry.pending).collect();
    let newest = newest(&made);
    let changelog = Changelog {
        releases: made.len() as u64,
        newest: newest.map(|entry| entry.version.clone()),
        newest_date: newest.and_then(|entry| entry.date.clone()),
        has_current_version: has_current(&entries, &path, &report.manifests)
            .filter(|has| *has || !is_continued_elsewhere(&text)),
        path,
    };
    (Some(changelog), None)
}

/// Finds a changelog among the documents.
fn elsewhere(tree: &ProjectTree) -> Option<String> {
    let names =
        ["changelog.", "changes.", "history.", "release-notes.", "release_notes.", "releasenotes."];
    let mut files =
        tree.files().iter().filter(|file| ["docs", "doc", ".github"].contains(&file.folder()));
    let is_changelog = |name: &str| {
        let name = name.to_ascii_lowercase();
        names.iter().any(|start| name.starts_with(start))
            && [".md", ".rst", ".txt", ".adoc"].iter().any(|end| name.ends_with(end))
    };
    files.find(|file| is_changelog(file.name())).map(|file| file.path.to_string())
}

/// Returns the distinct releases of a changelog, in order.
fn entries(text: &str) -> Vec<ChangelogRelease> {
    let lines: Vec<&str> = text.lines().collect();
    let mut entries: Vec<ChangelogRelease> = Vec::new();
    let mut fenced = false;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let below = lines.get(at + 1).copied().unwrap_or_default();
        if fenced || !is_heading(line, below) {
            continue;
        }
        if let Some(mut entry) = entry(line)
            && !entries.iter().rev().take(40).any(|known| known.version == entry.version)
        {
            entry.date = entry.date.or_else(|| released(lines.get(at + 1..)?));
            entries.push(entry);
        }
    }
    entries
}

/// Returns the date of a first line such as `Released 2026-01-31`.
fn released(below: &[&str]) -> Option<String> {
    let is_text = |line: &&&str| line.chars().any(char::is_alphanumeric);
    let first = below.iter().take(4).find(is_text)?.trim_start_matches(['*', '_', ' ']);
    let says = first.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("released"));
    if says { date(first) } else { None }
}

/// Whether a line may be a release heading: marked, underlined, or starting with a version.
fn is_heading(line: &str, below: &str) -> bool {
    let marked = [
        "#",
        "= ",
        "== ",
        "=== ",
        "* Noteworthy",
        "Version ",
        "Release ",
        "Changes in ",
        "<h2",
        "<h3",
    ];
    if line.is_empty() || line.len() > 160 || line.starts_with([' ', '\t']) {
        return false;
    }
    let mark = below.chars().next().filter(|c| "=-~^*+\"'`".contains(*c));
    let underlined = mark.is_some_and(|mark| {
        below.trim_end().len() >= 3 && below.trim_end().chars().all(|c| c == mark)
    });
    let bare = || {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        let first = item.unwrap_or(line).trim_start_matches(['*', '[', 'v', 'V', '_', '`']);
        // In a list, each release is alone on its line.
        let alone = item.is_none_or(|item| item.split_whitespace().count() <= 3);
        alone && first.starts_with(|c: char| c.is_ascii_digit())
    };
    marked.iter().any(|start| line.starts_with(start)) || underlined || bare()
}

/// Parses the release in a heading. Words may precede the version: a name, `Version`, a date.
fn entry(line: &str) -> Option<ChangelogRelease> {
    let line = line.trim_start_matches(['#', '=', '*', ' ']).trim_end();
    let bare: String = line
        .split('(')
        .map(|part| {
            if part.starts_with("http") {
                part.split_once(')').map_or("", |(_, rest)| rest)
            } else {
                part
            }
        })
        .collect::<Vec<_>>()
        .join("(");
    let words: Vec<&str> = bare
        .split([
            ' ', '\t', '<', '>', '(', ')', '[', ']', ',', '/', '|', '"', '`', '*', '_', '@', '=',
            ';', '\u{2014}', '\u{2013}', '{', '}',
        ])
        .filter(|word| !word.is_empty())
        .collect();
    let at = words.iter().position(|word| version(word).is_some())?;
    // A sentence that mentions a version is not a release heading.
    let before = words.get(..at).unwrap_or_default();
    if before.iter().filter(|word| word.chars().all(char::is_alphabetic)).count() > 4
        || words.len() > 16
    {
        return None;
    }
    let lower = bare.to_lowercase();
    let pending = [
        "unreleased",
        "not yet released",
        "not released",
        "in development",
        "under development",
        "tbd",
        "tba",
        "yyyy",
        "xx-xx",
        "upcoming",
    ]
    .iter()
    .any(|mark| lower.contains(mark));
    Some(ChangelogRelease {
        version: version(words.get(at)?)?.to_owned(),
        date: date(&bare),
        pending,
    })
}

/// Parses a version without its prefix letter: `1.2`, `1.2.3-rc.1`, `2024.05`. Dates and single numbers are not
/// versions.
fn version(word: &str) -> Option<&str> {
    let word = word.strip_prefix(['v', 'V']).unwrap_or(word).trim_end_matches([':', '.', '-']);
    // A package name may precede the version: `name-1.2.3`.
    let word = match word.split_once('-') {
        Some((name, rest)) if name.chars().all(char::is_alphabetic) && !name.is_empty() => {
            rest.strip_prefix('v').unwrap_or(rest)
        }
        _ => word,
    };
    let core = word.split(['-', '+', '~']).next().unwrap_or(word);
    let parts: Vec<&str> = core.split('.').collect();
    let starts =
        parts.iter().take(2).filter(|part| part.starts_with(|c: char| c.is_ascii_digit())).count()
            == 2;
    let digits = parts.first()?.chars().all(|c| c.is_ascii_digit());
    let is_date = parts.len() == 3 && parts.first()?.len() == 4 && iso(core).is_some();
    let placeholder = core.contains(['x', 'X']);
    (starts && digits && !is_date && !placeholder && word.len() < 40).then_some(word)
}

/// Returns the date on a line as `2026-11-15`.
fn date(line: &str) -> Option<String> {
    let words: Vec<&str> = line
        .split([' ', '(', ')', '[', ']', ',', '*', '_', '\u{2014}', '\u{2013}', '<', '>', '"'])
        .filter(|word| !word.is_empty())
        .collect();
    if let Some(found) = words.iter().find_map(|word| iso(word.trim_matches([':', ';', '.']))) {
        return Some(found);
    }
    words.windows(3).find_map(|three| {
        let [one, two, year] = three else { return None };
        let year = year
            .trim_end_matches([':', '.'])
            .parse::<u16>()
            .ok()
            .filter(|year| (1980..2200).contains(year))?;
        let (month, day) = match (month(one), month(two)) {
            (Some(month), _) => (month, two),
            (_, Some(month)) => (month, one),
            _ => return None,
        };
        let day: u8 = day.trim_end_matches(|c: char| c.is_alphabetic() || c == '.').parse().ok()?;
        (1..=31).contains(&day).then(|| format!("{year:04}-{month:02}-{day:02}"))
    })
}

/// Parses a date that starts with the year.
fn iso(word: &str) -> Option<String> {
    let parts: Vec<&str> = word.split(['-', '.', '/']).collect();
    let [year, month, day] = parts[..] else { return None };
    let (year, month, day): (u16, u8, u8) =
        (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let real = (1980..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    real.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn month(word: &str) -> Option<usize> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let word = word.to_ascii_lowercase();
    let long = word.chars().all(|c| c.is_alphabetic() || c == '.') && word.len() >= 3;
    MONTHS.iter().position(|month| long && word.starts_with(month)).map(|at| at + 1)
}

/// Returns the newest release: most changelogs have it first, some last.
fn newest<'a>(made: &[&'a ChangelogRelease]) -> Option<&'a ChangelogRelease> {
    let (first, last) = (made.first()?, made.last()?);
    Some(if compare(&first.version, &last.version) == Ordering::Less { last } else { first })
}

/// Compares versions number by number.
fn compare(one: &str, other: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        let core = version.split(['-', '+']).next().unwrap_or(version);
        core.split('.')
            .map(|part| {
                part.chars()
                    .take_while(char::is_ascii_digit)
                    .collect::<String>()
                    .parse()
                    .unwrap_or(0)
            })
            .collect()
    };
    numbers(one).cmp(&numbers(other))
}

/// Whether the current version is among the entries; `None` if no manifest has a released version.
fn has_current(entries: &[ChangelogRelease], path: &str, manifests: &[Manifest]) -> Option<bool> {
    let current = current_version(path, manifests)?;
    let same = |entry: &ChangelogRelease| trimmed(&entry.version) == trimmed(current);
    if entries.iter().any(same) {
        return Some(true);
    }
    // A version under development is not in a changelog of releases.
    let unreleased = current.contains(|c: char| c.is_alphabetic()) || trimmed(current).is_empty();
    (!unreleased && !entries.is_empty()).then_some(false)
}

/// Whether newer releases are documented elsewhere.
fn is_continued_elsewhere(text: &str) -> bool {
    let mut head = text.lines().take(12);
    head.any(|line| line.contains("/releases") && !line.contains("/releases/tag"))
}

/// Returns the version of the manifest next to the changelog, or the one shared by all outermost manifests.
fn current_version<'a>(path: &str, manifests: &'a [Manifest]) -> Option<&'a str> {
    let versioned =
        || manifests.iter().filter_map(|manifest| Some((manifest, manifest.version.as_deref()?)));
    let beside = versioned().find(|(manifest, _)| folder_of(&manifest.path) == folder_of(path));
    if let Some((_, version)) = beside {
        return Some(version);
    }
    let depth = |path: &str| path.matches('/').count();
    let outermost = versioned().map(|(manifest, _)| depth(&manifest.path)).min()?;
    let mut versions = versioned()
        .filter(|(manifest, _)| depth(&manifest.path) == outermost)
        .map(|(_, version)| version);
    let first = versions.next()?;
    versions.all(|version| version == first).then_some(first)
}

/// Strips trailing zeros: `1.2.0` is `1.2`.
fn trimmed(version: &str) -> &str {
    let mut version = version.trim_start_matches(['v', 'V']);
    while let Some(shorter) = version.strip_suffix(".0") {
        version = shorter;
    }
    if version == "0" { "" } else { version }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::report::Presence;

    fn manifest(path: &str, version: &str) -> Manifest {
        Manifest { path: path.into(), version: Some(version.into()), ..Manifest::default() }
    }

    /// Reads a changelog next to a manifest with version 1.2.0.
    fn read_changelog(name: &str, text: &str, manifests: Vec<Manifest>) -> Option<Changelog> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        let top = (!name.contains('/')).then(|| name.to_owned());
        let presence = Presence { changelog: top, ..Presence::default() };
        let report = Report { manifests, presence, ..Report::default() };
        let (changelog, problem) = read(&ProjectTree::of(folder.path()), &report);
        assert_eq!(problem, None);
        changelog
    }

    /// Name, text, releases, the newest one and its date.
    type Case = (&'static str, &'static str, u64, &'static str, Option<&'static str>);

    fn check(cases: &[Case]) {
        for (what, text, releases, newest, date) in cases {
            let manifests = vec![manifest("Cargo.toml", "1.2.0")];
            let want = Changelog {
                path: "CHANGELOG.md".into(),
                releases: *releases,
                newest: Some((*newest).into()),
                newest_date: date.map(str::to_owned),
                has_current_version: Some(true),
            };
            assert_eq!(read_changelog("CHANGELOG.md", text, manifests), Some(want), "{what}");
        }
    }

    #[test]
    fn releases_are_found_under_headings() {
        check(&[
            (
                "keep a changelog",
                "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n### Added\n- x 3.0\n\n## [1.1.0] - 2025-12-01\n\n[1.2.0]: https://a/1.2.0\n",
                2,
                "1.2.0",
                Some("2026-01-31"),
            ),
            (
                "parentheses",
                "## 1.2.0 (2026-01-31)\n\nText of 9.9.9.\n\n## 1.1.9 (2025-01-01)\n",
                2,
                "1.2.0",
                Some("2026-01-31"),
            ),
            (
                "conventional",
                "## [1.2.0](https://a/compare/v1.1.0...v1.2.0) (2026-01-31)\n### Bug Fixes\n### [1.1.0](https://a/compare/v1.0.0...v1.1.0) (2025-01-01)\n",
                2,
                "1.2.0",
                Some("2026-01-31"),
            ),
            (
                "history",
                "1.2.0 / 2026-01-31\n==================\n  * deps: a@2.0.1\n\n1.1.0 / 2025-01-31\n==================\n",
                2,
                "1.2.0",
                Some("2026-01-31"),
            ),
            (
                "restructured",
                "Version 1.2\n-----------\n\nReleased January 31, 2026\n\nVersion 1.1\n-----------\n",
                2,
                "1.2",
                Some("2026-01-31"),
            ),
            (
                "words for the month",
                "# v1.2.0 - January 31st, 2026\n# v1.1.0 - 3 May 2025\n",
                2,
                "1.2.0",
                Some("2026-01-31"),
            ),
        ]);
    }

    #[test]
    fn releases_are_found_in_rarer_styles() {
        check(&[
            (
                "oldest first",
                "# 1.0.0\n# 1.1.0\n# 1.2.0 - 2026.01.31\n",
                3,
                "1.2.0",
                Some("2026-01-31"),
            ),
            (
                "date below",
                "Version 1.2.0\n-------------\n\nReleased 2026-01-31\n\n-   Released 1.1 again.\n",
                1,
                "1.2.0",
                Some("2026-01-31"),
            ),
            (
                "date first",
                "## 2026-01-31, Version 1.2.0 (Current), @someone\n",
                1,
                "1.2.0",
                Some("2026-01-31"),
            ),
            ("package and version", "## acme-v1.2.0\n## @acme/core@1.1.0\n", 2, "1.2.0", None),
            (
                "list",
                "# Changes\n- 1.2.0 (yanked)\n  - a\n* **`1.1.0`**\n- 1 thing and 2.0.0 others are here\n",
                2,
                "1.2.0",
                None,
            ),
            ("pending", "## 1.3.0 (unreleased)\n## 1.2.0\n", 1, "1.2.0", None),
            ("code", "## 1.2.0\n```\n# 9.9.9\n```\n", 1, "1.2.0", None),
            (
                "news",
                "* Noteworthy changes in release 1.2 (2026-01-31) [stable]\n",
                1,
                "1.2",
                Some("2026-01-31"),
            ),
        ]);
    }

    #[test]
    fn the_current_version_is_looked_up_where_it_can_be() {
        let text = "## 1.3.0 (unreleased)\n## 1.2.0\n## 1.1.0\n";
        let cases = [
            ("there", vec![manifest("Cargo.toml", "1.1")], Some(true)),
            ("announced", vec![manifest("Cargo.toml", "1.3.0")], Some(true)),
            ("lacking", vec![manifest("Cargo.toml", "1.2.1")], Some(false)),
            ("in development", vec![manifest("Cargo.toml", "1.4.0-dev")], None),
            ("a placeholder", vec![manifest("package.json", "0.0.0")], None),
            ("no manifest", vec![], None),
            (
                "below, and they agree",
                vec![manifest("a/p.json", "1.2.0"), manifest("b/p.json", "1.2.0")],
                Some(true),
            ),
            (
                "below, and they differ",
                vec![manifest("a/p.json", "1.2.0"), manifest("b/p.json", "7.0.0")],
                None,
            ),
            (
                "beside comes first",
                vec![manifest("a/p.json", "7.0.0"), manifest("p.json", "1.2.0")],
                Some(true),
            ),
        ];
        for (what, manifests, want) in cases {
            let changelog = read_changelog("CHANGES.md", text, manifests).unwrap();
            assert_eq!(changelog.has_current_version, want, "{what}");
        }
        let elsewhere = "Newer ones are at https://github.com/a/b/releases.\n\n## 1.1.0\n";
        let changelog =
            read_changelog("CHANGES.md", elsewhere, vec![manifest("Cargo.toml", "2.0.0")]).unwrap();
        assert_eq!(changelog.has_current_version, None);
    }

    #[test]
    fn a_changelog_may_lie_among_the_documents() {
        let changelog = read_changelog("docs/changelog.md", "## 1.0.0\n", vec![]).unwrap();
        assert_eq!((changelog.path.as_str(), changelog.releases), ("docs/changelog.md", 1));
        assert_eq!(read_changelog("docs/other.md", "## 1.0.0\n", vec![]), None);
        let empty =
            read_changelog("NEWS", "See the website.\n", vec![manifest("Cargo.toml", "1.0.0")])
                .unwrap();
        let want = Changelog { path: "NEWS".into(), ..Changelog::default() };
        assert_eq!(empty, want);
    }

    #[test]
    fn an_unreadable_changelog_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        let presence = Presence { changelog: Some("CHANGELOG.md".into()), ..Presence::default() };
        let report = Report { presence, ..Report::default() };
        let (changelog, problem) = read(&ProjectTree::of(folder.path()), &report);
        assert_eq!((changelog, problem.map(|it| it.path)), (None, Some("CHANGELOG.md".to_owned())));
    }
}
