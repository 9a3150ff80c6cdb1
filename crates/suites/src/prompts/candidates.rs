//! Finds the existing names that best match typed text.

use crate::files::{PathKind, ServedRoots};
use docent_tool::CallContext;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Maximum number of completion values.
const MAX_COMPLETIONS: usize = 100;
/// Maximum number of paths per walk: completions must be fast.
const MAX_PATHS: usize = 50_000;
/// Number of bytes compared at the end of two paths.
const MAX_COMPARED_BYTES: usize = 200;
/// Maximum age of a cached list; typing is faster than file changes.
const LISTING_LIFETIME: Duration = Duration::from_secs(1);

/// Cached paths under the roots, listed again when outdated.
pub(super) struct PathCandidates {
    roots: ServedRoots,
    known: Mutex<Option<(Instant, Arc<ListedPaths>)>>,
}

#[derive(Default)]
struct ListedPaths {
    files: Vec<String>,
    folders: Vec<String>,
}

impl PathCandidates {
    pub(super) fn new(roots: ServedRoots) -> Self {
        Self { roots, known: Mutex::new(None) }
    }

    /// The best completions among files or folders. Walks the roots: do not call it on an async thread.
    pub(super) fn complete(
        &self,
        kind: PathKind,
        typed: &str,
        context: &CallContext,
    ) -> Vec<String> {
        let paths = self.paths(context);
        let typed = typed.strip_prefix("./").unwrap_or(typed);
        let list = if kind == PathKind::Folder { &paths.folders } else { &paths.files };
        best(typed, list.iter().map(String::as_str))
    }

    /// The path most similar to a missing one. Walks the roots: do not call it on an async thread.
    pub(super) fn nearest_path(&self, wanted: &str, context: &CallContext) -> Option<String> {
        let paths = self.paths(context);
        let all = paths.files.iter().chain(&paths.folders).map(String::as_str);
        closest_paths(wanted, all.take_while(|_| context.stop().is_none())).map(str::to_owned)
    }

    fn paths(&self, context: &CallContext) -> Arc<ListedPaths> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, paths)) = &*known
            && at.elapsed() < LISTING_LIFETIME
        {
            return Arc::clone(paths);
        }
        let paths = Arc::new(self.list_paths(context));
        // Do not cache an incomplete list.
        if context.stop().is_none() {
            *known = Some((Instant::now(), Arc::clone(&paths)));
        }
        paths
    }

    fn list_paths(&self, context: &CallContext) -> ListedPaths {
        let mut paths = ListedPaths { files: Vec::new(), folders: vec![".".to_owned()] };
        for entry in self.roots.walk(&self.roots.top()).flatten().take(MAX_PATHS) {
            if context.stop().is_some() {
                break;
            }
            match entry.kind {
                PathKind::File => paths.files.push(entry.place.to_string()),
                PathKind::Folder => paths.folders.push(entry.place.to_string()),
                PathKind::Link | PathKind::Special(_) => {}
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
    ranked.into_iter().take(MAX_COMPLETIONS).map(|(_, _, candidate)| candidate.to_owned()).collect()
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

/// Whether the typed parts match segments of the candidate in order; segments may be skipped.
fn by_segments(typed: &str, candidate: &str, matches: impl Fn(&str, &str) -> bool) -> bool {
    let mut segments = candidate.split('/');
    typed
        .split('/')
        .filter(|part| !part.is_empty())
        .all(|part| segments.any(|segment| matches(part, segment)))
}

/// Whether `segment` contains the letters of `part` in order.
fn is_spread(part: &str, segment: &str) -> bool {
    let mut letters = segment.chars();
    part.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// The candidate most similar to `wanted`; a matching file name in another folder ranks high. Comparison time grows with
/// the product of the lengths, so only the ends of long paths are compared.
pub(super) fn closest_paths<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let name_of = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let wanted = end_of(wanted);
    let wanted_name = name_of(wanted);
    let scored = candidates.map(|candidate| {
        let compared = end_of(candidate);
        let whole = strsim::normalized_damerau_levenshtein(wanted, compared);
        let name = strsim::normalized_damerau_levenshtein(&wanted_name, &name_of(compared));
        (whole + name, candidate)
    });
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// The end of a path, as far as it is compared.
fn end_of(path: &str) -> &str {
    let start = path.len().saturating_sub(MAX_COMPARED_BYTES);
    let start = (start..=path.len()).find(|at| path.is_char_boundary(*at)).unwrap_or(start);
    path.get(start..).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ends_of_long_paths_are_compared() {
        let long = format!("{}/src/main.rs", "é".repeat(50_000));
        assert_eq!(end_of(&long).len(), MAX_COMPARED_BYTES);
        assert_eq!(end_of("src/main.rs"), "src/main.rs");
        assert_eq!(
            closest_paths(&long, ["docs/guide.md", "src/main.rs"].into_iter()),
            Some("src/main.rs")
        );
    }

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
        assert_eq!(best("f", many.iter().map(String::as_str)).len(), MAX_COMPLETIONS);
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
            assert_eq!(closest_paths(wanted, paths.into_iter()), Some(want), "{wanted}");
        }
        assert_eq!(closest_paths("x", std::iter::empty()), None);
    }
}
