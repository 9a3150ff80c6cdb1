//! Authors of current files, and how many would have to leave before most of the code has no remaining author.

use super::{
    FileLog,
    authors::{AuthorId, Authors},
    commits::CommitLog,
    dates::day,
};
use crate::repo::report::{FolderOwners, Owner};
use std::{cmp::Reverse, collections::HashMap};

/// Maximum number of listed authors and folders.
const MAX_LISTED_OWNERS: usize = 50;

/// Author data for the report.
#[derive(Debug, Default)]
pub(super) struct Ownership {
    pub(super) owners: Vec<Owner>,
    pub(super) author_count: u64,
    pub(super) bus_factor: u64,
    pub(super) folders: Vec<FolderOwners>,
}

/// Changes by author.
#[derive(Debug, Default)]
struct AuthorChanges {
    by_author: HashMap<AuthorId, u64>,
    all: u64,
}

impl AuthorChanges {
    fn add(&mut self, author: AuthorId) {
        *self.by_author.entry(author).or_default() += 1;
        self.all += 1;
    }

    /// Returns the percentage of all changes, with one decimal.
    fn share(&self, author: AuthorId) -> f64 {
        per_cent(self.by_author.get(&author).copied().unwrap_or(0), self.all)
    }

    /// Returns the smallest number of authors with more than half of the changes.
    fn bus_factor(&self) -> u64 {
        let mut counts: Vec<u64> = self.by_author.values().copied().collect();
        counts.sort_unstable_by_key(|count| Reverse(*count));
        let (mut reached, mut authors) = (0, 0);
        for count in counts {
            if reached * 2 > self.all {
                break;
            }
            reached += count;
            authors += 1;
        }
        authors
    }

    fn main_author(&self, authors: &Authors) -> Option<AuthorId> {
        let name = |id: AuthorId| authors.get(id).map(|author| author.name.as_str());
        let best = |(id, count): &(&AuthorId, &u64)| (**count, Reverse(name(**id)));
        self.by_author.iter().max_by_key(best).map(|(id, _)| *id)
    }
}

/// Counts people's changes to current files; bots do not count.
pub(super) fn count(log: &CommitLog, today: &[FileLog<'_>]) -> Ownership {
    let authors = &log.authors;
    let mut all = AuthorChanges::default();
    let mut folders: HashMap<&str, AuthorChanges> = HashMap::new();
    for file in today {
        let folder = file.path.split_once('/').map_or(".", |(folder, _)| folder);
        let changes = folders.entry(folder).or_default();
        for commit in file.commits(log) {
            if authors.is_person(commit.author) {
                all.add(commit.author);
                changes.add(commit.author);
            }
        }
    }
    let owners = owners(log, &all);
    Ownership {
        author_count: owners.len() as u64,
        owners: owners.into_iter().take(MAX_LISTED_OWNERS).collect(),
        bus_factor: all.bus_factor(),
        folders: folder_owners(authors, &folders),
    }
}

fn owners(log: &CommitLog, changes: &AuthorChanges) -> Vec<Owner> {
    let mut commits: Vec<(u64, i64)> = vec![(0, 0); log.authors.len()];
    for commit in log.commits.iter().filter(|commit| commit.concerns) {
        if let Some((count, last)) = commits.get_mut(commit.author as usize) {
            *count += 1;
            *last = commit.time.max(*last);
        }
    }
    let mut owners: Vec<Owner> = (0..)
        .zip(commits)
        .filter_map(|(id, (commits, last))| {
            let author = log.authors.get(id).filter(|author| !author.bot && commits > 0)?;
            Some(Owner {
                name: author.name.clone(),
                commits,
                share: changes.share(id),
                last: day(last),
            })
        })
        .collect();
    owners.sort_by(|left, right| {
        let by_share = || right.share.total_cmp(&left.share);
        let by_name = || left.name.cmp(&right.name);
        right.commits.cmp(&left.commits).then_with(by_share).then_with(by_name)
    });
    owners
}

fn folder_owners(authors: &Authors, folders: &HashMap<&str, AuthorChanges>) -> Vec<FolderOwners> {
    let mut listed: Vec<FolderOwners> = folders
        .iter()
        .filter_map(|(folder, changes)| {
            let main = changes.main_author(authors)?;
            Some(FolderOwners {
                path: format!("{folder}/"),
                changes: changes.all,
                main_author: authors.get(main)?.name.clone(),
                share: changes.share(main),
                bus_factor: changes.bus_factor(),
            })
        })
        .collect();
    listed.sort_by(|left, right| {
        right.changes.cmp(&left.changes).then_with(|| left.path.cmp(&right.path))
    });
    listed.truncate(MAX_LISTED_OWNERS);
    listed
}

/// Rounds to one decimal.
#[expect(clippy::cast_precision_loss, reason = "counts are far below what a float holds exactly")]
pub(super) fn per_cent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (part as f64 * 1000.0 / all as f64).round() / 10.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_is_needed() {
        let cases: [(&[u64], u64); 6] =
            [(&[], 0), (&[7], 1), (&[5, 5], 2), (&[6, 5], 1), (&[1, 1, 1], 2), (&[4, 3, 2, 1], 2)];
        for (counts, want) in cases {
            let by_author = (0..).zip(counts.iter().copied()).collect();
            let changes = AuthorChanges { by_author, all: counts.iter().sum() };
            assert_eq!(changes.bus_factor(), want, "{counts:?}");
        }
    }

    #[test]
    fn shares_have_one_digit() {
        for (part, all, want) in [(0, 0, 0.0), (1, 3, 33.3), (2, 3, 66.7), (3, 3, 100.0)] {
            assert!((per_cent(part, all) - want).abs() < 1e-9, "{part} of {all}");
        }
    }
}
