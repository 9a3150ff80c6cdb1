//! Walks the commits, newest first, and records their changes in the analyzed folder.
//!
//! Must not know about the report.

use super::{
    authors::{AuthorId, Authors},
    moves::{ChangedBlob, Moves, Order, PathId, pair},
    repository::Repository,
};
use crate::repo::tree::HaltCheck;
use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    diff::tree::{
        Error as DiffError, Recorder, State, Visit,
        recorder::Change,
        visit::{Action, Change as Visited},
    },
    hashtable::HashMap as IdMap,
    objs::{FindExt, commit::ref_iter::Token, tree::EntryMode},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    ops::ControlFlow,
};

/// Limits on how much history is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct HistoryLimits {
    /// Maximum number of commits.
    pub(super) commits: usize,
    /// Maximum number of changed paths in all commits, and of paths in the newest one.
    pub(super) changes: usize,
    /// Later timestamps are invalid.
    pub(super) latest: i64,
}

/// A commit that was read.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Commit {
    /// Commit time in seconds since 1970; invalid times are moved to the nearest valid one.
    pub(super) time: i64,
    pub(super) author: AuthorId,
    pub(super) parents: Vec<ObjectId>,
    /// Whether it belongs to the analyzed folder: below the repository root, whether it changed something in it.
    pub(super) concerns: bool,
}

/// Kind of entry at a path in the newest commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TrackedKind {
    #[default]
    Nothing,
    Link,
    File,
}

/// Changes at one path.
#[derive(Debug, Default)]
pub(super) struct PathLog {
    /// Commits that changed it, newest first.
    pub(super) changes: Vec<Order>,
    /// Entry in the newest commit.
    pub(super) tracked: TrackedKind,
    /// The newest commit that removed it.
    pub(super) removed: Option<Order>,
}

/// Number of objects and references that could not be read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnreadableObjects {
    pub(super) missing: u64,
    pub(super) damaged: u64,
}

impl UnreadableObjects {
    pub(super) fn add(&mut self, error: &gix::Error) {
        if error.is_not_found() {
            self.missing += 1;
        } else {
            self.damaged += 1;
        }
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Results of the walk.
#[derive(Debug, Default)]
pub(super) struct CommitLog {
    /// Newest first.
    pub(super) commits: Vec<Commit>,
    /// Position of each commit in the list.
    pub(super) orders: IdMap<ObjectId, Order>,
    pub(super) authors: Authors,
    /// Paths relative to the analyzed folder.
    pub(super) paths: HashMap<Box<str>, PathId>,
    /// Indexed by path number.
    pub(super) logs: Vec<PathLog>,
    pub(super) moves: Moves,
    /// Whether older commits exist that were not read.
    pub(super) truncated: bool,
    pub(super) damage: UnreadableObjects,
    /// Whether the files of the newest commit are known.
    pub(super) listed: bool,
    /// Whether the newest commit lacks the analyzed folder.
    pub(super) untracked: bool,
}

impl CommitLog {
    fn path(&mut self, path: &str) -> PathId {
        if let Some(id) = self.paths.get(path) {
            return *id;
        }
        let id = PathId::try_from(self.logs.len()).unwrap_or(PathId::MAX);
        self.paths.insert(path.into(), id);
        self.logs.push(PathLog::default());
        id
    }

    fn at(&mut self, path: &str) -> Option<&mut PathLog> {
        let id = self.path(path);
        self.logs.get_mut(id as usize)
    }
}

/// Walks all commits reachable from HEAD by time, as far as the limits and `halt` allow.
pub(super) fn walk(
    repository: &Repository,
    head: ObjectId,
    authors: Authors,
    bounds: HistoryLimits,
    halt: HaltCheck<'_>,
) -> CommitLog {
    let log = CommitLog { authors, ..CommitLog::default() };
    let changes = ChangeRecorder { recorder: Recorder::default(), left: bounds.changes, halt };
    let mut walk = CommitWalk {
        repository,
        bounds,
        log,
        changes,
        waiting: BinaryHeap::new(),
        folders: IdMap::default(),
        state: State::default(),
        buffers: Default::default(),
    };
    walk.load(head);
    walk.list_head(head);
    while let Some(next) = walk.waiting.pop() {
        if walk.log.commits.len() >= bounds.commits || walk.changes.left == 0 || halt() {
            walk.log.truncated = true;
            break;
        }
        walk.take(next);
    }
    walk.log
}

/// A commit in the queue, ordered by time, then by discovery.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedCommit {
    time: i64,
    found: Reverse<usize>,
    id: ObjectId,
    commit: Commit,
}

/// The analyzed folder in a commit.
#[derive(Debug, Clone, Copy)]
enum CommitFolder {
    /// The commit or one of its trees cannot be read.
    Unknown,
    Absent,
    Tree(ObjectId),
}

impl CommitFolder {
    fn is_known(self) -> bool {
        !matches!(self, Self::Unknown)
    }

    fn id(self) -> Option<ObjectId> {
        match self {
            Self::Tree(id) => Some(id),
            Self::Unknown | Self::Absent => None,
        }
    }
}

struct CommitWalk<'a> {
    repository: &'a Repository,
    bounds: HistoryLimits,
    log: CommitLog,
    changes: ChangeRecorder<'a>,
    waiting: BinaryHeap<QueuedCommit>,
    /// Folder of every commit found.
    folders: IdMap<ObjectId, CommitFolder>,
    state: State,
    buffers: [Vec<u8>; 2],
}

impl CommitWalk<'_> {
    /// Reads each discovered commit once.
    fn load(&mut self, id: ObjectId) {
        if self.folders.contains_key(&id) {
            return;
        }
        match self.read(id) {
            Ok((tree, commit)) => {
                let folder = self.folder(tree);
                self.folders.insert(id, folder);
                let found = Reverse(self.folders.len());
                self.waiting.push(QueuedCommit { time: commit.time, found, id, commit });
            }
            Err(error) => {
                self.log.damage.add(&error);
                self.log.truncated = true;
                self.folders.insert(id, CommitFolder::Unknown);
            }
        }
    }

    fn read(&mut self, id: ObjectId) -> Result<(ObjectId, Commit), gix::Error> {
        let [buffer, _] = &mut self.buffers;
        let mut tokens = self.repository.git.objects.find_commit_iter(&id, buffer)?;
        let tree = tokens.tree_id()?;
        let mut commit = Commit { time: 0, author: 0, parents: Vec::new(), concerns: false };
        let mut author = None;
        // A broken header must not cost the whole history.
        for token in tokens.map_while(Result::ok) {
            match token {
                Token::Parent { id } => commit.parents.push(id),
                Token::Author { signature } => author = Some(signature),
                Token::Committer { signature } => {
                    commit.time = signature.seconds().clamp(0, self.bounds.latest);
                    break;
                }
                _ => break,
            }
        }
        commit.author = self.log.authors.id_of(author.unwrap_or_default());
        Ok((tree, commit))
    }

    fn folder(&mut self, tree: ObjectId) -> CommitFolder {
        let [buffer, _] = &mut self.buffers;
        match self.repository.subtree(tree, buffer) {
            Ok(Some(id)) => CommitFolder::Tree(id),
            Ok(None) => CommitFolder::Absent,
            Err(error) => {
                self.log.damage.add(&error);
                CommitFolder::Unknown
            }
        }
    }

    /// Records the files of the newest commit.
    fn list_head(&mut self, head: ObjectId) {
        let folder = self.folder_of(&head);
        self.log.untracked = matches!(folder, CommitFolder::Absent);
        let truncated = self.log.truncated;
        self.log.listed = self.compare(CommitFolder::Absent, folder);
        // An incomplete list of files proves nothing about older commits.
        self.log.truncated = truncated;
        self.changes.left = self.bounds.changes;
        if !self.log.listed {
            return;
        }
        for change in std::mem::take(&mut self.changes.recorder.records) {
            let Change::Addition { entry_mode, path, .. } = change else { continue };
            if let (Some(tracked), Ok(path)) = (tracked(entry_mode), path.to_str())
                && let Some(log) = self.log.at(path)
            {
                log.tracked = tracked;
            }
        }
    }

    fn folder_of(&self, commit: &ObjectId) -> CommitFolder {
        self.folders.get(commit).copied().unwrap_or(CommitFolder::Unknown)
    }

    /// Processes a commit. Merges are not compared: their changes are counted where they were made.
    fn take(&mut self, waiting: QueuedCommit) {
        let QueuedCommit { id, mut commit, .. } = waiting;
        let order = Order::try_from(self.log.commits.len()).unwrap_or(Order::MAX);
        let is_boundary = self.repository.boundary.contains(&id);
        if is_boundary {
            self.log.truncated = true;
            commit.parents.clear();
        }
        for parent in &commit.parents {
            self.load(*parent);
        }
        let before = match commit.parents.as_slice() {
            [] if !is_boundary => Some(CommitFolder::Absent),
            [parent] => Some(self.folder_of(parent)),
            _ => None,
        };
        let changed = before.is_some_and(|before| {
            let after = self.folder_of(&id);
            self.compare(before, after) && self.note(order)
        });
        commit.concerns = changed || self.repository.inside.is_empty();
        self.log.orders.insert(id, order);
        self.log.commits.push(commit);
    }

    /// Records the differences between two trees; false if unknown or too many.
    fn compare(&mut self, before: CommitFolder, after: CommitFolder) -> bool {
        self.changes.recorder = Recorder::default();
        if !before.is_known() || !after.is_known() {
            return false;
        }
        if before.id() == after.id() {
            return true;
        }
        match self.record(before.id(), after.id()) {
            Ok(()) => true,
            Err(DiffError::Cancelled) => {
                self.changes.left = 0;
                self.log.truncated = true;
                false
            }
            Err(DiffError::Failure(error)) => {
                self.log.damage.add(&error);
                false
            }
        }
    }

    fn record(
        &mut self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
    ) -> Result<(), DiffError> {
        let [left, right] = &mut self.buffers;
        let before = self.repository.entries(before, left)?;
        let after = self.repository.entries(after, right)?;
        let objects = &self.repository.git.objects;
        gix::diff::tree(before, after, &mut self.state, objects, &mut self.changes)
    }

    /// Applies the recorded changes of a commit; returns `false` if there were none.
    fn note(&mut self, order: Order) -> bool {
        let records = std::mem::take(&mut self.changes.recorder.records);
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for record in &records {
            let (path, mode, leaves) = match record {
                Change::Addition { entry_mode, oid, path, .. } => {
                    (path, *entry_mode, Some((&mut added, *oid)))
                }
                Change::Deletion { entry_mode, oid, path, .. } => {
                    (path, *entry_mode, Some((&mut removed, *oid)))
                }
                Change::Modification { entry_mode, path, .. } => (path, *entry_mode, None),
            };
            let (Some(_), Ok(path)) = (tracked(mode), path.to_str()) else { continue };
            if let Some((leaves, blob)) = leaves {
                leaves.push(ChangedBlob { path, blob });
            }
            if let Some(log) = self.log.at(path)
                && log.changes.last() != Some(&order)
            {
                log.changes.push(order);
            }
        }
        for leaf in &removed {
            if let Some(log) = self.log.at(leaf.path) {
                log.removed.get_or_insert(order);
            }
        }
        for (from, to) in pair(&removed, &added) {
            let (from, to) = (self.log.path(from), self.log.path(to));
            self.log.moves.add(order, from, to);
        }
        !records.is_empty()
    }
}

/// Returns the kind of a tree entry; folders and submodules are not files.
fn tracked(mode: EntryMode) -> Option<TrackedKind> {
    match mode {
        mode if mode.is_link() => Some(TrackedKind::Link),
        mode if mode.is_blob() => Some(TrackedKind::File),
        _ => None,
    }
}

/// Records changed paths up to a limit: a tree can contain itself a million times.
struct ChangeRecorder<'a> {
    recorder: Recorder,
    left: usize,
    halt: HaltCheck<'a>,
}

impl Visit for ChangeRecorder<'_> {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: Visited) -> Action {
        if self.left == 0 || (self.left.is_multiple_of(4096) && (self.halt)()) {
            return ControlFlow::Break(());
        }
        self.left -= 1;
        self.recorder.visit(change)
    }
}
