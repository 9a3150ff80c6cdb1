//! Releases by version tags.

use super::{
    commits::{CommitLog, HistoryLimits, UnreadableObjects},
    dates::{DAY_SECONDS, day, median},
    moves::Order,
    repository::Repository,
};
use crate::repo::{
    report::{Release, Releases},
    tree::HaltCheck,
};
use gix::{
    ObjectId,
    bstr::ByteSlice,
    objs::{FindExt, Kind},
};
use std::{cmp::Reverse, collections::HashSet};

/// Maximum number of listed releases.
const MAX_LISTED_RELEASES: usize = 20;
/// Maximum depth of tags of tags.
const MAX_TAG_DEPTH: usize = 8;
/// Words that mark a tag as not a release, in lowercase.
const NO_RELEASES: [&str; 7] =
    ["nightly", "snapshot", "canary", "build", "backup", "archive", "before"];
/// Words after which a single number is a version.
const RELEASE_WORDS: [&str; 6] = ["v", "r", "rel", "release", "version", "stable"];

/// A tag that looks like a version.
struct VersionTag {
    name: String,
    time: i64,
    commit: ObjectId,
}

/// Reads the tags.
pub(super) fn read(
    repository: &Repository,
    log: &CommitLog,
    bounds: HistoryLimits,
    damage: &mut UnreadableObjects,
    halt: HaltCheck<'_>,
) -> Releases {
    let mut tags = tags(repository, log, bounds, damage, halt);
    tags.sort_by(|left, right| right.time.cmp(&left.time).then_with(|| right.name.cmp(&left.name)));
    let days: HashSet<i64> = tags.iter().map(|tag| tag.time.div_euclid(DAY_SECONDS)).collect();
    let mut days: Vec<i64> = days.into_iter().collect();
    days.sort_unstable();
    let gaps = days.iter().zip(days.iter().skip(1));
    let gaps = gaps.filter_map(|(one, next)| u64::try_from(next - one).ok()).collect();
    let newest =
        tags.iter().filter_map(|tag| Some((tag.time, Reverse(*log.orders.get(&tag.commit)?))));
    Releases {
        count: tags.len() as u64,
        median_days: median(gaps),
        commits_since: newest.max().map(|(_, Reverse(order))| commits_since(log, order)),
        newest: tags
            .into_iter()
            .take(MAX_LISTED_RELEASES)
            .map(|tag| Release { tag: tag.name, date: day(tag.time) })
            .collect(),
    }
}

fn tags(
    repository: &Repository,
    log: &CommitLog,
    bounds: HistoryLimits,
    damage: &mut UnreadableObjects,
    halt: HaltCheck<'_>,
) -> Vec<VersionTag> {
    let mut tags = Vec::new();
    let references = match repository.git.references() {
        Ok(references) => references,
        Err(error) => {
            damage.add(&error);
            return tags;
        }
    };
    let found = match references.tags() {
        Ok(found) => found,
        Err(error) => {
            damage.add(&error);
            return tags;
        }
    };
    for reference in found {
        if halt() {
            break;
        }
        let reference = match reference {
            Ok(reference) => reference,
            Err(error) => {
                damage.add(&error);
                continue;
            }
        };
        let name = reference.name().shorten().to_str_lossy();
        let Some(id) = reference.try_id().filter(|_| is_version(&name)) else { continue };
        match target(repository, log, id.detach()) {
            Ok(Some((time, commit))) => {
                let time = time.clamp(0, bounds.latest);
                tags.push(VersionTag { name: name.into_owned(), time, commit });
            }
            Ok(None) => {}
            Err(error) => damage.add(&error),
        }
    }
    tags
}

/// Returns the commit of a tag and the tag time; `None` if it is not a commit.
fn target(
    repository: &Repository,
    log: &CommitLog,
    tag: ObjectId,
) -> Result<Option<(i64, ObjectId)>, gix::Error> {
    let (mut at, mut signed) = (tag, None);
    let mut buffer = Vec::new();
    let objects = &repository.git.objects;
    for _ in 0..MAX_TAG_DEPTH {
        if let Some(commit) = log.orders.get(&at).and_then(|order| log.commits.get(*order as usize))
        {
            return Ok(Some((signed.unwrap_or(commit.time), at)));
        }
        match repository.git.find_header(at)?.kind() {
            Kind::Tag => {
                let tokens = objects.find_tag_iter(&at, &mut buffer)?;
                at = tokens.target_id()?;
                let tagger = tokens.tagger().ok().flatten();
                signed = signed.or_else(|| tagger.map(|tagger| tagger.seconds()));
            }
            Kind::Commit => {
                let time = objects.find_commit_iter(&at, &mut buffer)?.committer()?.seconds();
                return Ok(Some((signed.unwrap_or(time), at)));
            }
            Kind::Tree | Kind::Blob => return Ok(None),
        }
    }
    Ok(None)
}

/// Counts commits of the analyzed folder not reachable from this one.
fn commits_since(log: &CommitLog, release: Order) -> u64 {
    let mut released = vec![false; log.commits.len()];
    let mut waiting = vec![release];
    while let Some(order) = waiting.pop() {
        let (Some(seen), Some(commit)) =
            (released.get_mut(order as usize), log.commits.get(order as usize))
        else {
            continue;
        };
        if !std::mem::replace(seen, true) {
            waiting.extend(commit.parents.iter().filter_map(|parent| log.orders.get(parent)));
        }
    }
    let since = log.commits.iter().zip(released).filter(|(commit, done)| commit.concerns && !done);
    since.count() as u64
}

/// Whether a tag looks like a version: `v1.2.3`, `1.2`, `name-1.2.3`, `name@1.2`, `release-4`, `REL_15_2`, `2026-11-15`.
fn is_version(tag: &str) -> bool {
    let tag = tag.to_lowercase();
    // `1.5.x` is a release branch.
    if tag.rsplit('.').next() == Some("x") || NO_RELEASES.iter().any(|word| tag.contains(word)) {
        return false;
    }
    let mut before = ' ';
    tag.char_indices().any(|(at, char)| {
        let starts = char.is_ascii_digit() && !before.is_ascii_digit() && before != '.';
        before = char;
        starts
            && tag.split_at_checked(at).is_some_and(|(name, rest)| match numbers(rest) {
                0 => false,
                1 => RELEASE_WORDS.contains(&last_word(name)),
                _ => true,
            })
    })
}

fn last_word(name: &str) -> &str {
    let marks = ['-', '_', '/', '@', '.'];
    name.trim_end_matches(marks).rsplit(marks).next().unwrap_or(name)
}

/// Counts the leading numbers of a version. Dates may have `-` between them.
fn numbers(version: &str) -> usize {
    let is_digit = |char: char| char.is_ascii_digit();
    let year = version.split(|char| !is_digit(char)).next().is_some_and(|first| first.len() == 4);
    let (mut count, mut rest) = (0, version);
    loop {
        let behind = rest.trim_start_matches(is_digit);
        if behind.len() == rest.len() {
            return count;
        }
        count += 1;
        let next = behind.strip_prefix(['.', '_']);
        match next.or_else(|| behind.strip_prefix('-').filter(|_| year)) {
            Some(next) => rest = next,
            None => return count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_from_other_tags() {
        let cases = [
            ("v1.2.3", true),
            ("1.2", true),
            ("1.2.3-rc.1", true),
            ("v4", true),
            ("V2.0", true),
            ("name-1.2.3", true),
            ("name-v1.2.3", true),
            ("@scope/name@1.2.3", true),
            ("pkg/v0.1.0", true),
            ("release-4", true),
            ("release-2026-11-15", true),
            ("REL_15_2", true),
            ("curl-7_88_1", true),
            ("OpenSSL_1_1_1k", true),
            ("2026-11-15", true),
            ("utf8-proc-2.1", true),
            ("r1.4", true),
            ("go1.21.3", true),
            ("name2-1.2.3", true),
            ("sprint-12-3", false),
            ("latest", false),
            ("v", false),
            ("issue-12", false),
            ("nightly-2026-11-15", false),
            ("build-1.2.3", false),
            ("before-1.0", false),
            ("1.5.x", false),
            ("42", false),
            ("python3", false),
            ("deadbeef1", false),
        ];
        for (tag, want) in cases {
            assert_eq!(is_version(tag), want, "{tag}");
        }
    }
}
