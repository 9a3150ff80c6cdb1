//! Workspace member patterns: `crates/*`, `packages/**`, `!**/test/**`. Must not know any format.

use super::super::tree::{folder_of, join};
use std::{collections::BTreeMap, ops::Bound};

/// Maximum number of alternatives in one pattern; more are ignored.
const MAX_ALTERNATIVES: usize = 64;

/// Manifests of one format by folder.
#[derive(Debug, Default)]
pub(super) struct ManifestFolders<'a> {
    paths: BTreeMap<&'a str, &'a str>,
}

impl<'a> ManifestFolders<'a> {
    /// Creates the index of these manifests.
    pub(super) fn new(paths: &[&'a str]) -> Self {
        Self { paths: paths.iter().map(|path| (folder_of(path), *path)).collect() }
    }

    /// Returns the manifest in a folder.
    pub(super) fn get(&self, folder: &str) -> Option<&'a str> {
        self.paths.get(folder).copied()
    }

    /// Returns the manifest in the folder at a relative path.
    pub(super) fn from(&self, folder: &str, path: &str) -> Option<&'a str> {
        self.get(&join(folder, &path.replace('\\', "/"))?)
    }

    /// Returns manifests below a folder that match a pattern and no `!` pattern; not the one in the folder itself.
    pub(super) fn matching(&self, folder: &str, patterns: &[String]) -> Vec<&'a str> {
        let refused = patterns.iter().filter_map(|pattern| pattern.strip_prefix('!'));
        let refused: Vec<_> = refused.flat_map(alternatives).collect();
        let mut found = BTreeMap::new();
        let wanted = patterns.iter().filter(|pattern| !pattern.starts_with('!'));
        for pattern in wanted.flat_map(|pattern| alternatives(pattern)) {
            for (at, path) in self.fitting(folder, &pattern) {
                let inside = relative(folder, at);
                if at != folder && !refused.iter().any(|refused| fits_path(refused, inside)) {
                    found.insert(at, path);
                }
            }
        }
        found.into_values().collect()
    }

    fn fitting(&self, folder: &str, pattern: &str) -> Vec<(&'a str, &'a str)> {
        let fixed: Vec<_> = pattern.split('/').take_while(|part| !is_wild(part)).collect();
        let Some(start) = join(folder, &fixed.join("/")) else { return Vec::new() };
        if !pattern.split('/').any(is_wild) {
            let at = self.paths.get_key_value(&*start);
            return at.map(|(at, path)| (*at, *path)).into_iter().collect();
        }
        let below = self.paths.range::<str, _>((Bound::Included(&*start), Bound::Unbounded));
        let below =
            below.map(|(at, path)| (*at, *path)).take_while(|(at, _)| at.starts_with(&start));
        below.filter(|(at, _)| fits_path(pattern, relative(folder, at))).collect()
    }
}

/// Returns a path relative to a folder.
fn relative<'p>(folder: &str, path: &'p str) -> &'p str {
    path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/')
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// Expands `{a,b}/c` to `a/c` and `b/c`; drops blanks and `./` around it.
fn alternatives(pattern: &str) -> Vec<String> {
    let pattern = pattern.trim().trim_start_matches("./").trim_end_matches('/');
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        let Some((before, rest)) = next.split_once('{') else {
            done.push(next);
            continue;
        };
        let Some((inside, after)) = rest.split_once('}') else { continue };
        let room = MAX_ALTERNATIVES.saturating_sub(open.len() + done.len());
        open.extend(inside.split(',').take(room).map(|word| format!("{before}{word}{after}")));
    }
    done.sort();
    done
}

/// Whether a folder path matches; `**` matches any number of folders, including none.
fn fits_path(pattern: &str, path: &str) -> bool {
    let path: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    // Numbers of leading folders that the pattern matches so far.
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
        let mut next = vec![false; path.len() + 1];
        if part == "**" {
            let first = reached.iter().position(|reached| *reached).unwrap_or(reached.len());
            next.iter_mut().skip(first).for_each(|reached| *reached = true);
        } else {
            for (at, name) in path.iter().enumerate() {
                next[at + 1] = reached[at] && fits_name(part.as_bytes(), name.as_bytes());
            }
        }
        reached = next;
    }
    reached.last() == Some(&true)
}

/// Whether a name matches: `*` matches any characters, `?` matches one.
pub(super) fn fits_name(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Position of the last star, and how much of the name it matched.
    let mut star = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[from] => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, from) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_folders() {
        let paths = [
            "package.json",
            "packages/a/package.json",
            "packages/b/package.json",
            "packages/b/test/package.json",
            "packages-old/c/package.json",
            "tools/x/package.json",
            "tools/deep/y/package.json",
        ];
        let folders = ManifestFolders::new(&paths);
        let cases: [(&str, &[&str], &[&str]); 9] = [
            ("", &["packages/*"], &["packages/a", "packages/b"]),
            ("", &["./packages/**/", "!**/test/**"], &["packages/a", "packages/b"]),
            ("", &["packages/a", "tools/x"], &["packages/a", "tools/x"]),
            ("", &["{packages,tools}/?"], &["packages/a", "packages/b", "tools/x"]),
            ("", &["p*/a*"], &["packages/a"]),
            ("", &["."], &[]),
            ("tools", &["*"], &["tools/x"]),
            ("tools", &["**"], &["tools/deep/y", "tools/x"]),
            ("tools", &["../packages/a", "../../a", "{"], &["packages/a"]),
        ];
        for (folder, patterns, want) in cases {
            let patterns: Vec<_> = patterns.iter().map(ToString::to_string).collect();
            let found: Vec<_> =
                folders.matching(folder, &patterns).into_iter().map(folder_of).collect();
            assert_eq!(found, want, "{folder} {patterns:?}");
        }
    }

    #[test]
    fn names_fit_without_going_back_more_than_once() {
        let cases = [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("*a*b", "xaab", true),
            ("?", "", false),
            ("ab", "abc", false),
        ];
        for (pattern, name, want) in cases {
            assert_eq!(fits_name(pattern.as_bytes(), name.as_bytes()), want, "{pattern} {name}");
        }
        let (pattern, name) = ("*a".repeat(200), "a".repeat(5000) + "b");
        assert!(!fits_name(pattern.as_bytes(), name.as_bytes()));
    }
}
