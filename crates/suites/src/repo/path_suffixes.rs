//! Lookup of paths by suffix. Knows nothing of files.

/// Paths sorted from the last character to the first, so that those with the same suffix are adjacent.
#[derive(Debug, Default)]
pub(super) struct PathSuffixes<'a> {
    paths: Vec<&'a str>,
}

impl<'a> PathSuffixes<'a> {
    pub(super) fn new(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut paths: Vec<&str> = paths.collect();
        paths.sort_unstable_by(|one, other| one.bytes().rev().cmp(other.bytes().rev()));
        Self { paths }
    }

    /// Returns paths that equal this one or end with `/` and this one.
    pub(super) fn ending(&self, end: &str) -> impl Iterator<Item = &'a str> + use<'_, 'a> {
        let same = self.paths.binary_search_by(|path| path.bytes().rev().cmp(end.bytes().rev()));
        let same = same.ok().and_then(|at| self.paths.get(at)).copied();
        same.into_iter().chain(self.below(end))
    }

    /// Returns paths that end with `/` and this one.
    pub(super) fn below(&self, end: &str) -> impl Iterator<Item = &'a str> + use<'_, 'a> {
        let below = format!("/{end}");
        let first = self.paths.partition_point(|path| path.bytes().rev().lt(below.bytes().rev()));
        let rest = self.paths.get(first..).unwrap_or_default().iter().copied();
        rest.take_while(move |path| path.ends_with(&below))
    }

    /// Returns all paths.
    pub(super) fn all(&self) -> impl Iterator<Item = &'a str> {
        self.paths.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_by_their_ends() {
        let paths = ["a/b.py", "b.py", "x/ab.py", "c/a/b.py", "a/b", "top"];
        let tails = PathSuffixes::new(paths.into_iter());
        let cases: [(&str, &[&str]); 7] = [
            ("b.py", &["a/b.py", "b.py", "c/a/b.py"]),
            ("a/b.py", &["a/b.py", "c/a/b.py"]),
            ("c/a/b.py", &["c/a/b.py"]),
            ("py", &[]),
            ("", &[]),
            ("b", &["a/b"]),
            ("x/b.py", &[]),
        ];
        for (end, want) in cases {
            let mut got: Vec<&str> = tails.ending(end).collect();
            got.sort_unstable();
            assert_eq!(got, want, "{end}");
        }
        assert_eq!(tails.below("b.py").count(), 2);
    }
}
