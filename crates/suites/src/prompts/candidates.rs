//! Which of the real names best match what has been typed.

use crate::files::{Kind, Roots};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// As many values as a completion may hold.
const BEST: usize = 100;
/// Beyond this many paths a walk ends: a completion must come while somebody types.
const PATHS: usize = 50_000;
/// Keys come faster than files: a list this old still serves.
const FRESH: Duration = Duration::from_secs(1);

/// The paths under the roots, looked up again when they are no longer fresh.
pub(super) struct Candidates {
    roots: Roots,
    known: Mutex<Option<(Instant, Arc<Paths>)>>,
}

#[derive(Default)]
struct Paths {
    files: Vec<String>,
    folders: Vec<String>,
}

impl Candidates {
    pub(super) fn new(roots: Roots) -> Self {
        Self { roots, known: Mutex::new(None) }
    }

    /// The best completions among files or among folders. Walks: call it off the async threads.
    pub(super) fn complete(&self, kind: Kind, typed: &str) -> Vec<String> {
        let paths = self.paths();
        let typed = typed.strip_prefix("./").unwrap_or(typed);
        let list = if kind == Kind::Folder { &paths.folders } else { &paths.files };
        best(typed, list.iter().map(String::as_str))
    }

    /// The path nearest to one that is not there. Walks: call it off the async threads.
    pub(super) fn nearest_path(&self, wanted: &str) -> Option<String> {
        let paths = self.paths();
        nearest(wanted, paths.files.iter().chain(&paths.folders).map(String::as_str))
            .map(str::to_owned)
    }

    fn paths(&self) -> Arc<Paths> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, paths)) = &*known
            && at.elapsed() < FRESH
        {
            return Arc::clone(paths);
        }
        let paths = Arc::new(self.look());
        *known = Some((Instant::now(), Arc::clone(&paths)));
        paths
    }

    fn look(&self) -> Paths {
        let mut paths = Paths { files: Vec::new(), folders: vec![".".to_owned()] };
        for entry in self.roots.walk(&self.roots.top()).flatten().take(PATHS) {
            match entry.kind {
                Kind::File => paths.files.push(entry.place.to_string()),
                Kind::Folder => paths.folders.push(entry.place.to_string()),
                Kind::Link | Kind::Other => {}
            }
        }
        paths
    }
}

/// The candidates that match, best first.
pub(super) fn best<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
    let typed = typed.to_lowercase();
    let mut ranked: Vec<(u8, usize, &str)> = candidates
        .filter_map(|candidate| {
            Some((rank(&typed, &candidate.to_lowercase())?, candidate.len(), candidate))
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(BEST).map(|(_, _, candidate)| candidate.to_owned()).collect()
}

/// How well a candidate matches, 0 is best. Both are in lower case.
fn rank(typed: &str, candidate: &str) -> Option<u8> {
    let name = candidate.rsplit('/').next().unwrap_or(candidate);
    if candidate.starts_with(typed) {
        Some(0)
    } else if name.starts_with(typed) {
        Some(1)
    } else if by_segments(typed, candidate, |part, segment| segment.starts_with(part)) {
        Some(2)
    } else if candidate.contains(typed) {
        Some(3)
    } else if by_segments(typed, candidate, is_spread) {
        Some(4)
    } else {
        None
    }
}

/// Whether the typed parts match segments of the candidate in order; segments may be left out between them.
fn by_segments(typed: &str, candidate: &str, matches: impl Fn(&str, &str) -> bool) -> bool {
    let mut segments = candidate.split('/');
    typed
        .split('/')
        .filter(|part| !part.is_empty())
        .all(|part| segments.any(|segment| matches(part, segment)))
}

/// Whether the letters of `part` stand in `segment` in order.
fn is_spread(part: &str, segment: &str) -> bool {
    let mut letters = segment.chars();
    part.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// The candidate most like `wanted`; a right file name in the wrong folder counts for much.
pub(super) fn nearest<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let name_of = |path: &'a str| path.rsplit('/').next().unwrap_or(path);
    let wanted_name = wanted.rsplit('/').next().unwrap_or(wanted);
    let scored = candidates.map(|candidate| {
        let whole = strsim::normalized_damerau_levenshtein(wanted, candidate);
        let name = strsim::normalized_damerau_levenshtein(wanted_name, name_of(candidate));
        (whole + name, candidate)
    });
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_are_ranked() {
        let paths = [
            "src/main.rs",
            "src/files/walk.rs",
            "src/files.rs",
            "docs/main.md",
            "README.md",
            "tests/src.rs",
        ];
        let cases: [(&str, &[&str]); 8] = [
            ("src/m", &["src/main.rs"]),
            ("main", &["src/main.rs", "docs/main.md"]),
            ("s/w", &["src/files/walk.rs"]),
            ("SRC/FILES", &["src/files.rs", "src/files/walk.rs"]),
            ("src", &["src/main.rs", "src/files.rs", "src/files/walk.rs", "tests/src.rs"]),
            ("adme", &["README.md"]),
            ("wlk", &["src/files/walk.rs"]),
            ("zzz", &[]),
        ];
        for (typed, want) in cases {
            assert_eq!(best(typed, paths.into_iter()), want, "{typed}");
        }
        assert_eq!(best("", paths.into_iter()).len(), paths.len());
    }

    #[test]
    fn at_most_a_hundred_are_offered() {
        let many: Vec<String> = (0..300).map(|n| format!("f{n}")).collect();
        assert_eq!(best("f", many.iter().map(String::as_str)).len(), BEST);
    }

    #[test]
    fn the_nearest_path_is_found() {
        let paths = ["src/main.rs", "src/auth.ts", "docs/guide.md"];
        let cases = [
            ("src/mian.rs", "src/main.rs"),
            ("auth.ts", "src/auth.ts"),
            ("doc/guide.md", "docs/guide.md"),
        ];
        for (wanted, want) in cases {
            assert_eq!(nearest(wanted, paths.into_iter()), Some(want), "{wanted}");
        }
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
