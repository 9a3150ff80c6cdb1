//! Git history of the analyzed folder: who changed which files, how often and when.
//!
//! The only module of the suite that uses the git library, which opens files by itself; `location` ensures that they
//! are inside the served roots. Nothing is executed or written.

mod ages;
mod authors;
mod commits;
mod dates;
mod hot_spots;
mod location;
mod moves;
mod owners;
mod releases;
mod repository;

#[cfg(test)]
mod tests;

use super::{
    report::History,
    tree::{HaltCheck, ProjectTree},
};
use crate::files::{ReadFailure, denied};
use authors::Authors;
use commits::{Commit, CommitLog, HistoryLimits, PathLog, TrackedKind, UnreadableObjects};
use dates::{DAY_SECONDS, day, months};
use moves::{Order, PathId};
use repository::Repository;
use std::{
    borrow::Cow,
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// Maximum number of commits to read.
const MAX_COMMITS: usize = 5_000;
/// Maximum number of file changes in all commits: a tree of a few bytes can name a million files.
const MAX_CHANGES: usize = 500_000;

/// History of every path, as far as it was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProjectPast {
    /// By path relative to the analyzed folder: files that git tracks now, and deleted ones.
    pub(super) files: HashMap<Box<str>, FilePast>,
    /// Whether the oldest commit was reached.
    pub(super) complete: bool,
}

/// History of one path.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct FilePast {
    /// Change times in seconds since 1970, newest first, including earlier names if it was only moved. Empty if no
    /// commit that was read changed it.
    pub(super) changes: Vec<i64>,
    /// Whether it was deleted.
    pub(super) gone: bool,
    /// Its last new name, if known; only for deleted paths.
    pub(super) renamed_to: Option<Box<str>>,
}

/// Complexity of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileComplexity {
    /// Cyclomatic complexity.
    pub(super) complexity: u64,
    /// Lines of code.
    pub(super) lines: u64,
}

/// Git history and the problems found while reading it.
#[derive(Debug, Default)]
pub(super) struct HistoryOutcome {
    /// `None` if there is no git repository, or if it cannot be read.
    pub(super) history: Option<(History, ProjectPast)>,
    pub(super) problems: Vec<ReadFailure>,
}

/// Reads the history of the analyzed folder.
pub(super) fn read(
    tree: &ProjectTree,
    weights: &HashMap<Box<str>, FileComplexity>,
    halt: HaltCheck<'_>,
) -> HistoryOutcome {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // Clocks differ by hours, not by days.
    let latest = i64::try_from(now).unwrap_or(i64::MAX).saturating_add(DAY_SECONDS);
    read_within(
        tree,
        weights,
        HistoryLimits { commits: MAX_COMMITS, changes: MAX_CHANGES, latest },
        halt,
    )
}

fn read_within(
    tree: &ProjectTree,
    weights: &HashMap<Box<str>, FileComplexity>,
    bounds: HistoryLimits,
    halt: HaltCheck<'_>,
) -> HistoryOutcome {
    let mut problems = Vec::new();
    let history =
        read_found(tree, weights, bounds, halt, &mut problems).unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
    HistoryOutcome { history, problems }
}

fn read_found(
    tree: &ProjectTree,
    weights: &HashMap<Box<str>, FileComplexity>,
    bounds: HistoryLimits,
    halt: HaltCheck<'_>,
    problems: &mut Vec<ReadFailure>,
) -> Result<Option<(History, ProjectPast)>, ReadFailure> {
    let Some(location) = location::find(tree)? else { return Ok(None) };
    let repository = Repository::open(&location)?;
    if repository.bare {
        problems.push(repository.problem(
            "is a bare git repository: only its history is reported; analyze a clone for the rest",
        ));
    }
    let head = repository.head()?;
    let shallow = !repository.boundary.is_empty();
    let start = History { branch: head.branch, shallow, ..History::default() };
    let Some(newest) = head.commit else {
        return Ok(Some((start, ProjectPast { complete: true, ..ProjectPast::default() })));
    };
    let authors = Authors::new(repository.mailmap(tree, &location, newest));
    let mut log = commits::walk(&repository, newest, authors, bounds, halt);
    let mut damage = std::mem::take(&mut log.damage);
    if log.untracked {
        let reason = format!("is not tracked by the git repository at {}", location.shown);
        return Err(ReadFailure { path: tree.shown(""), reason });
    }
    let releases = releases::read(&repository, &log, bounds, &mut damage, halt);
    if !damage.is_none() {
        let UnreadableObjects { missing, damaged } = damage;
        problems.push(repository.problem(format!(
            "the git history is incomplete: objects missing {missing}, damaged {damaged}; `git fsck` names them"
        )));
        if log.commits.is_empty() {
            return Ok(None);
        }
    }
    let past = past(&log, tree, &repository, damage);
    let today = today(&log, tree, &repository);
    let history = complete_history(&log, &today, weights, start);
    Ok(Some((History { releases, ..history }, past)))
}

/// Completes the history from the commits and current files.
fn complete_history(
    log: &CommitLog,
    today: &[FileLog<'_>],
    weights: &HashMap<Box<str>, FileComplexity>,
    start: History,
) -> History {
    let times = || log.commits.iter().map(|commit| commit.time);
    let concerning = || log.commits.iter().filter(|commit| commit.concerns);
    let ownership = owners::count(log, today);
    History {
        commits: concerning().count() as u64,
        truncated: log.truncated,
        since: times().min().map(day),
        until: times().max().map(day),
        months: months(concerning().map(|commit| commit.time)),
        churn: hot_spots::churn(log, today),
        hot_spots: hot_spots::find(today, weights),
        owners: ownership.owners,
        author_count: ownership.author_count,
        bus_factor: ownership.bus_factor,
        folders: ownership.folders,
        ages: ages::count(log, times().max().unwrap_or(0), today),
        ..start
    }
}

/// A current file.
#[derive(Debug)]
struct FileLog<'a> {
    path: &'a str,
    /// Commits that changed it, newest first, including earlier names.
    changes: Cow<'a, [Order]>,
}

impl FileLog<'_> {
    fn commits<'a>(&'a self, log: &'a CommitLog) -> impl Iterator<Item = &'a Commit> {
        self.changes.iter().filter_map(|order| log.commits.get(*order as usize))
    }

    /// Time of the last change.
    fn newest(&self, log: &CommitLog) -> Option<i64> {
        self.commits(log).map(|commit| commit.time).max()
    }
}

/// Returns the current files that git tracks, by path.
fn today<'a>(log: &'a CommitLog, tree: &ProjectTree, repository: &Repository) -> Vec<FileLog<'a>> {
    let mut files: Vec<FileLog<'a>> = entries(log)
        .filter(|(path, _, entry)| is_of_today(path, entry, tree, repository))
        .filter(|(_, _, entry)| !log.listed || entry.tracked != TrackedKind::Nothing)
        .map(|(path, id, entry)| FileLog { path, changes: changes(log, id, entry) })
        .collect();
    files.sort_unstable_by_key(|file| file.path);
    files
}

/// Whether a path is a current file: without a work tree, the files of the newest commit are; secrets are excluded as
/// in the walk.
fn is_of_today(path: &str, entry: &PathLog, tree: &ProjectTree, repository: &Repository) -> bool {
    if repository.bare {
        entry.tracked == TrackedKind::File && denied(path, false).is_none()
    } else {
        tree.file(path).is_some()
    }
}

fn entries(log: &CommitLog) -> impl Iterator<Item = (&str, PathId, &PathLog)> {
    log.paths.iter().filter_map(|(path, id)| Some((&**path, *id, log.logs.get(*id as usize)?)))
}

/// Returns the commits that changed a file, including those before it was moved.
fn changes<'a>(log: &'a CommitLog, id: PathId, entry: &'a PathLog) -> Cow<'a, [Order]> {
    let origins = log.moves.origins(id, entry.removed);
    if origins.is_empty() {
        return Cow::Borrowed(&entry.changes);
    }
    let mut all = entry.changes.clone();
    for (moved, origin) in origins {
        let earlier = log.logs.get(origin as usize).map(|origin| origin.changes.as_slice());
        all.extend(earlier.unwrap_or_default().iter().filter(|order| **order > moved));
    }
    all.sort_unstable();
    all.dedup();
    Cow::Owned(all)
}

fn past(
    log: &CommitLog,
    tree: &ProjectTree,
    repository: &Repository,
    damage: UnreadableObjects,
) -> ProjectPast {
    let names: HashMap<PathId, &str> = log.paths.iter().map(|(path, id)| (*id, &**path)).collect();
    let is_here = |path: &str, entry: &PathLog| {
        !log.listed
            || entry.tracked != TrackedKind::Nothing
            || is_of_today(path, entry, tree, repository)
    };
    let stays = |id: PathId| {
        let entry = log.logs.get(id as usize).zip(names.get(&id));
        entry.is_some_and(|(entry, path)| is_here(path, entry))
    };
    let to_file_past = |(path, id, entry): (&str, PathId, &PathLog)| {
        let gone = !is_here(path, entry);
        let orders =
            if gone { Cow::Borrowed(entry.changes.as_slice()) } else { changes(log, id, entry) };
        let commits = orders.iter().filter_map(|order| log.commits.get(*order as usize));
        let mut changes: Vec<i64> = commits.map(|commit| commit.time).collect();
        changes.sort_unstable_by(|left, right| right.cmp(left));
        let moved = entry.removed.filter(|_| gone);
        let moved = moved.and_then(|removed| log.moves.final_path(id, removed, stays));
        let renamed_to = moved.and_then(|to| names.get(&to)).map(|to| Box::from(*to));
        (Box::from(path), FilePast { changes, gone, renamed_to })
    };
    let files = entries(log).map(to_file_past).collect();
    ProjectPast { files, complete: !log.truncated && damage.is_none() }
}
