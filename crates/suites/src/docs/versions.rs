//! Deduplicates pages that exist in several versions: keeps the newest, unless the query names one.

/// A page with its version.
#[derive(Debug, Clone)]
pub(crate) struct Versioned<T> {
    pub(crate) of: T,
    /// Identity across versions: type, path and section.
    same: (String, String, (String, String)),
    version: Option<String>,
}

impl<T> Versioned<T> {
    /// Uses the given version, or else a folder of the path that is named like one.
    pub(crate) fn new(
        of: T,
        doc_type: String,
        path: &str,
        section: (String, String),
        version: Option<String>,
    ) -> Self {
        let folder = path.split('/').rev().skip(1).find(|part| is_version(part));
        let version = version.or_else(|| folder.map(str::to_owned));
        let rest = path.split('/').filter(|part| Some(*part) != folder);
        let same = (doc_type, rest.collect::<Vec<_>>().join("/"), section);
        Self { of, same, version }
    }
}

/// Keeps one version of each page, at the rank of the best: the version named in the query, or else the newest.
pub(crate) fn newest<T>(all: Vec<Versioned<T>>, question: &str) -> Vec<Versioned<T>>
where
    T: Scored,
{
    let named = |version: &str| {
        let words =
            question.split(|c: char| c.is_whitespace() || matches!(c, ',' | '?' | '(' | ')'));
        words.into_iter().any(|word| {
            word.trim_end_matches('.').trim_start_matches('v') == version.trim_start_matches('v')
        })
    };
    let worth = |version: &Option<String>| {
        let version = version.as_deref().unwrap_or_default();
        (!version.is_empty() && named(version), rank(version))
    };
    let mut kept: Vec<Versioned<T>> = Vec::new();
    for mut one in all {
        let same = kept.iter_mut().find(|kept| {
            kept.version.is_some()
                && one.version.is_some()
                && kept.version != one.version
                && kept.same == one.same
        });
        match same {
            Some(kept) if worth(&one.version) > worth(&kept.version) => {
                one.of.take_score(&kept.of);
                *kept = one;
            }
            Some(_) => {}
            None => kept.push(one),
        }
    }
    kept
}

/// A result with a score.
pub(crate) trait Scored {
    /// Takes over the score of the result that this one replaces.
    fn take_score(&mut self, other: &Self);
}

/// Whether a folder name is a version: `v1.2`, `15`, `3.x`, `stable`; not a year.
fn is_version(part: &str) -> bool {
    if matches!(
        part,
        "latest" | "stable" | "current" | "next" | "dev" | "devel" | "nightly" | "main" | "master"
    ) {
        return true;
    }
    let number = part.strip_prefix('v').unwrap_or(part);
    let mut parts = number.split('.');
    let first = parts.next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    is_number(first) && first.len() <= 3 && parts.all(|part| is_number(part) || part == "x")
}

/// Ranks versions: development versions first, then numbers, then the latest.
fn rank(version: &str) -> (u8, Vec<u64>) {
    match version {
        "next" | "dev" | "devel" | "nightly" | "main" | "master" => (0, Vec::new()),
        "latest" | "stable" | "current" => (2, Vec::new()),
        _ => {
            let digits = version.split(|c: char| !c.is_ascii_digit());
            (1, digits.filter_map(|part| part.parse().ok()).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct ScoredPage(&'static str, u8);

    impl Scored for ScoredPage {
        fn take_score(&mut self, other: &Self) {
            self.1 = other.1;
        }
    }

    fn check(question: &str, pages: &[(&'static str, &str, Option<&str>)], want: &[(&str, u8)]) {
        let scores = (1..=u8::try_from(pages.len()).unwrap()).rev();
        let all = pages.iter().zip(scores).map(|((text, path, version), score)| {
            let section = ("S".to_owned(), "T".to_owned());
            let version = version.map(str::to_owned);
            Versioned::new(ScoredPage(text, score), "pg".into(), path, section, version)
        });
        let got: Vec<(&str, u8)> =
            newest(all.collect(), question).into_iter().map(|one| (one.of.0, one.of.1)).collect();
        assert_eq!(got, want, "{question}");
    }

    #[test]
    fn the_newest_stands_for_all() {
        let three = [
            ("old", "select.html", Some("9.6")),
            ("other", "insert.html", Some("9.6")),
            ("new", "select.html", Some("16")),
            ("older", "select.html", Some("9.10")),
        ];
        check("how to select", &three, &[("new", 4), ("other", 3)]);
        check("how to select in 9.6?", &three, &[("old", 4), ("other", 3)]);
        check("select v9.10", &three, &[("older", 4), ("other", 3)]);
        let folders = [
            ("a", "v1.2/x.md", None),
            ("b", "latest/x.md", None),
            ("c", "next/x.md", None),
            ("d", "2023/x.md", None),
            ("e", "2024/x.md", None),
        ];
        check("x", &folders, &[("b", 5), ("d", 2), ("e", 1)]);
        check("x", &[("a", "x.md", None), ("b", "x.md", None)], &[("a", 2), ("b", 1)]);
    }

    #[test]
    fn version_folders_are_recognized() {
        for version in ["v1", "15", "1.2.3", "3.x", "stable"] {
            assert!(is_version(version), "{version}");
        }
        for other in ["2024", "v", "x", "1a", "docs", "", "1..2"] {
            assert!(!is_version(other), "{other}");
        }
    }
}
