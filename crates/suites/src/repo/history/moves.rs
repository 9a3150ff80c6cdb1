//! Files moved from one path to another with unchanged contents.

use gix::ObjectId;
use std::collections::{BTreeMap, HashMap};

/// Number of a path, from 0.
pub(super) type PathId = u32;
/// Number of a commit; 0 is the newest.
pub(super) type Order = u32;

/// A path that a commit removed or added, with its blob.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangedBlob<'a> {
    pub(super) path: &'a str,
    pub(super) blob: ObjectId,
}

/// Pairs removed and added paths of one commit by equal contents.
///
/// If several files have the same contents, or are empty, only those with the same name are paired, those with the same
/// folder names first.
pub(super) fn pair<'a>(
    removed: &[ChangedBlob<'a>],
    added: &[ChangedBlob<'a>],
) -> Vec<(&'a str, &'a str)> {
    let mut groups: HashMap<ObjectId, (Vec<&'a str>, Vec<&'a str>)> = HashMap::new();
    for leaf in removed {
        groups.entry(leaf.blob).or_default().0.push(leaf.path);
    }
    for leaf in added {
        if let Some((_, added)) = groups.get_mut(&leaf.blob) {
            added.push(leaf.path);
        }
    }
    let mut pairs = Vec::new();
    for (blob, (removed, added)) in groups {
        match (removed.as_slice(), added.as_slice()) {
            ([from], [to]) if !blob.is_empty_blob() => pairs.push((*from, *to)),
            _ => pair_by_name(&removed, &added, &mut pairs),
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Paths are compared from the end, so that neighbors share the most parts.
fn pair_by_name<'a>(removed: &[&'a str], added: &[&'a str], pairs: &mut Vec<(&'a str, &'a str)>) {
    let backwards = |path: &'a str| path.rsplit('/').collect::<Vec<_>>();
    let mut free: BTreeMap<Vec<&str>, &'a str> =
        added.iter().map(|path| (backwards(path), *path)).collect();
    for from in removed {
        let parts = backwards(from);
        let before = free.range(..parts.clone()).next_back();
        let after = free.range(parts.clone()..).next();
        let near = before.into_iter().chain(after).map(|(other, _)| (common(&parts, other), other));
        let best = near.max_by_key(|(shared, _)| *shared).filter(|(shared, _)| *shared > 0);
        let Some(key) = best.map(|(_, other)| other.clone()) else { continue };
        pairs.extend(free.remove(&key).map(|to| (*from, to)));
    }
}

fn common(left: &[&str], right: &[&str]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// All moves, newest first per path.
#[derive(Debug, Default)]
pub(super) struct Moves {
    from: HashMap<PathId, Vec<(Order, PathId)>>,
    into: HashMap<PathId, Vec<(Order, PathId)>>,
}

impl Moves {
    /// Adds a move of a commit that is not newer than the previous ones.
    pub(super) fn add(&mut self, order: Order, from: PathId, to: PathId) {
        self.from.entry(from).or_default().push((order, to));
        self.into.entry(to).or_default().push((order, from));
    }

    /// Follows the moves of a removed path to the first path that still exists.
    pub(super) fn final_path(
        &self,
        path: PathId,
        removed: Order,
        stays: impl Fn(PathId) -> bool,
    ) -> Option<PathId> {
        let (mut order, mut at) =
            self.from.get(&path)?.iter().find(|(order, _)| *order == removed).copied()?;
        while !stays(at) {
            let later = self
                .from
                .get(&at)
                .and_then(|moves| moves.iter().rev().find(|(other, _)| *other < order).copied());
            let Some(next) = later else { break };
            (order, at) = next;
        }
        (at != path).then_some(at)
    }

    /// Returns earlier paths of a current file, each with the commit that moved it away.
    pub(super) fn origins(&self, path: PathId, removed: Option<Order>) -> Vec<(Order, PathId)> {
        let newest = self.into.get(&path).and_then(|moves| moves.first().copied());
        // A file removed after it arrived is not the current one.
        let Some(mut last) = newest.filter(|(order, _)| removed.is_none_or(|gone| gone > *order))
        else {
            return Vec::new();
        };
        let mut origins = vec![last];
        loop {
            let earlier = self
                .into
                .get(&last.1)
                .and_then(|moves| moves.iter().find(|(order, _)| *order > last.0).copied());
            let Some(next) = earlier else { return origins };
            origins.push(next);
            last = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf<'a>((path, contents): &(&'a str, u8)) -> ChangedBlob<'a> {
        let blob = match contents {
            0 => ObjectId::empty_blob(gix::hash::Kind::Sha1),
            number => ObjectId::from_bytes_or_panic(&[*number; 20]),
        };
        ChangedBlob { path, blob }
    }

    #[test]
    fn equal_contents_are_paired() {
        type Case = (
            &'static [(&'static str, u8)],
            &'static [(&'static str, u8)],
            &'static [(&'static str, &'static str)],
        );
        let cases: [Case; 7] = [
            (&[("a.rs", 1)], &[("b/c.rs", 1)], &[("a.rs", "b/c.rs")]),
            (&[("a.rs", 1)], &[("b.rs", 2)], &[]),
            // Empty files have equal contents by chance.
            (&[("a.txt", 0)], &[("b.txt", 0)], &[]),
            (&[("x/a.txt", 0)], &[("y/a.txt", 0)], &[("x/a.txt", "y/a.txt")]),
            (&[("a.rs", 1), ("b.rs", 1)], &[("c.rs", 1), ("d.rs", 1)], &[]),
            (
                &[("src/a/x/m.py", 0), ("src/b/x/m.py", 0), ("src/m.py", 0)],
                &[("lib/b/x/m.py", 0), ("lib/m.py", 0), ("lib/a/x/m.py", 0)],
                &[
                    ("src/a/x/m.py", "lib/a/x/m.py"),
                    ("src/b/x/m.py", "lib/b/x/m.py"),
                    ("src/m.py", "lib/m.py"),
                ],
            ),
            (&[("one/l.txt", 3)], &[("l.txt", 3), ("two/k.txt", 3)], &[("one/l.txt", "l.txt")]),
        ];
        for (removed, added, want) in cases {
            let removed: Vec<_> = removed.iter().map(leaf).collect();
            let added: Vec<_> = added.iter().map(leaf).collect();
            assert_eq!(pair(&removed, &added), want, "{removed:?} {added:?}");
        }
    }

    #[test]
    fn moves_are_followed_through_time() {
        // Newest first: 1 became 2 in commit 3, 0 became 1 in commit 5, and long before, in commit 9, 1 became 7.
        let mut moves = Moves::default();
        moves.add(3, 1, 2);
        moves.add(5, 0, 1);
        moves.add(9, 1, 7);
        let stays = |path| path == 2;
        assert_eq!(moves.final_path(0, 5, stays), Some(2));
        assert_eq!(moves.final_path(1, 3, stays), Some(2));
        assert_eq!(moves.final_path(0, 4, stays), None, "removed otherwise");
        assert_eq!(moves.final_path(7, 1, stays), None);
        assert_eq!(moves.origins(2, None), [(3, 1), (5, 0)]);
        assert_eq!(moves.origins(2, Some(4)), [(3, 1), (5, 0)]);
        assert_eq!(moves.origins(2, Some(1)), []);
        assert_eq!(moves.origins(0, None), []);
    }

    #[test]
    fn a_file_that_went_there_and_back_is_not_lost() {
        let mut moves = Moves::default();
        moves.add(2, 1, 0);
        moves.add(4, 0, 1);
        assert_eq!(moves.final_path(1, 2, |path| path == 0), Some(0));
        assert_eq!(moves.final_path(0, 4, |_| false), None);
        assert_eq!(moves.origins(0, Some(4)), [(2, 1), (4, 0)]);
    }
}
