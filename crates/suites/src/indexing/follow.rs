//! Keeps an index in step for as long as somebody wants it.

use super::{
    SyncCallbacks, IndexReport,
    index_sync::IndexSync,
    survey::{FileSurvey, Wanted},
};
use crate::{
    files::{OWN_RULES, RootPath, ServedRoots},
    watch::{ChangeBatch, FileWatcher, WatchError},
};
use docent_index::{IndexStore, IndexStoreError};
use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// How often it is asked whether to stop while nothing changes.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Where more changed at once, everything is looked at: somebody switched a branch, or unpacked an archive.
const FULL_SCAN_THRESHOLD: usize = 500;
/// More paths don't wait one by one while a long run keeps the follower busy.
const MAX_PENDING_PATHS: usize = 10_000;
/// Files of rules: what they say changes what belongs to the index.
const RULE_FILES: [&str; 3] = [".gitignore", ".ignore", OWN_RULES];

/// Why an index is not kept in step any more.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// Changes can't be heard.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The first run failed.
    #[error(transparent)]
    Store(#[from] IndexStoreError),
}

/// What changed and was not looked at yet. The watcher puts in, the follower takes out.
#[derive(Debug, Default)]
pub(crate) struct PendingChanges {
    batch: Mutex<ChangeBatch>,
    more: Condvar,
}

impl PendingChanges {
    /// Adds to what is to be looked at.
    pub(crate) fn add(&self, batch: ChangeBatch) {
        let mut waiting = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.paths.extend(batch.paths);
        waiting.lost |= batch.lost || waiting.paths.len() > MAX_PENDING_PATHS;
        if waiting.lost {
            // Everything is looked at then, so that no list is needed.
            waiting.paths.clear();
        }
        self.more.notify_one();
    }

    /// Everything that waits; `None` when it is time to stop.
    pub(crate) fn take(&self, stopped: &dyn Fn() -> bool) -> Option<ChangeBatch> {
        let mut waiting = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if stopped() {
                return None;
            }
            if waiting.lost || !waiting.paths.is_empty() {
                return Some(std::mem::take(&mut *waiting));
            }
            let woken = self.more.wait_timeout(waiting, STOP_POLL_INTERVAL);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Brings a store in step with the files, and again whenever they change, until it is told to stop.
///
/// `synced` hears of the first run and of every one that changed something or failed: what failed is tried again with
/// the next change.
pub fn follow(
    roots: &ServedRoots,
    store: &dyn IndexStore,
    callbacks: SyncCallbacks<'_>,
    synced: impl FnMut(Result<IndexReport, IndexStoreError>),
) -> Result<(), FollowError> {
    let follower = IndexFollower {
        roots,
        store,
        callbacks,
        pending: Arc::default(),
        requested: &Wanted::default,
        on_listening: &|_| {},
    };
    follower.run(|_| {}, synced)
}

/// Who follows what.
pub(super) struct IndexFollower<'a> {
    pub(super) roots: &'a ServedRoots,
    pub(super) store: &'a dyn IndexStore,
    pub(super) callbacks: SyncCallbacks<'a>,
    pub(super) pending: Arc<PendingChanges>,
    /// Files that somebody asked for by name.
    pub(super) requested: &'a dyn Fn() -> Wanted,
    /// Hears whether changes are heard from now on.
    pub(super) on_listening: &'a dyn Fn(bool),
}

impl IndexFollower<'_> {
    /// Goes on until it is told to stop. `heard` is told of changes at once, on a thread of its own.
    pub(super) fn run(
        &self,
        heard: impl Fn(&ChangeBatch) + Send + 'static,
        mut synced: impl FnMut(Result<IndexReport, IndexStoreError>),
    ) -> Result<(), FollowError> {
        let pending = Arc::clone(&self.pending);
        let watch = FileWatcher::start(move |batch| {
            heard(&batch);
            pending.add(batch);
        });
        // Listening comes first: what changes during the first run is then heard of.
        let listener = watch.and_then(|watch| {
            let mut listener = FolderListener { roots: self.roots, watch, watched: BTreeSet::new() };
            listener.watch_all(self.callbacks.stopped).map(|()| listener)
        });
        (self.on_listening)(listener.is_ok());
        let mut keeper = IndexSync::new(self.roots, self.store);
        synced(Ok(keeper.all(&(self.wanted)(), self.callbacks)?));
        // An index that can't be kept in step is still one.
        let mut listener = listener?;
        let mut failed = false;
        while let Some(batch) = self.pending.take(self.callbacks.stopped) {
            let report = if failed || batch.lost || is_large(&batch) {
                listener.forget(&batch);
                listener.all(self.callbacks.stopped)?;
                keeper.sync_all(&(self.requested)(), self.callbacks)
            } else {
                self.sync_batch(&batch, &mut listener, &mut keeper)
            };
            failed = report.is_err();
            let idle =
                |report: &IndexReport| report.changed + report.removed == 0 && report.rebuilt.is_none();
            if !report.as_ref().is_ok_and(idle) {
                synced(report);
            }
        }
        Ok(())
    }

    fn sync_batch(
        &self,
        batch: &ChangeBatch,
        listener: &mut FolderListener<'_>,
        keeper: &mut IndexSync<'_>,
    ) -> Result<IndexReport, IndexStoreError> {
        listener.forget(batch);
        let places: BTreeSet<RootPath> =
            batch.paths.iter().filter_map(|path| self.roots.locate(path)).collect();
        let (report, folders) = keeper.some(&places, &(self.wanted)(), self.callbacks)?;
        let fresh = folders.iter().filter(|folder| listener.add(folder)).count();
        if fresh == 0 {
            return Ok(report);
        }
        // What was put into a new folder before anybody listened there is found by a second look.
        let (again, _) = keeper.some(&places, &(self.wanted)(), self.callbacks)?;
        Ok(IndexReport {
            changed: report.changed + again.changed,
            added: report.added + again.added,
            removed: report.removed + again.removed,
            ..again
        })
    }
}

fn is_large(batch: &ChangeBatch) -> bool {
    let is_rule = |path: &PathBuf| {
        path.file_name().is_some_and(|name| RULE_FILES.iter().any(|rule| name == *rule))
    };
    batch.paths.len() > FULL_SCAN_THRESHOLD || batch.paths.iter().any(is_rule)
}

/// Listens to folders.
struct FolderListener<'a> {
    roots: &'a ServedRoots,
    watch: FileWatcher,
    watched: BTreeSet<PathBuf>,
}

impl FolderListener<'_> {
    /// A folder that was removed and made again is another folder, under the same name.
    fn forget(&mut self, batch: &ChangeBatch) {
        let gone = |folder: &PathBuf| batch.lost || batch.paths.contains(folder);
        let gone: Vec<PathBuf> =
            self.watched.iter().filter(|folder| gone(folder)).cloned().collect();
        for folder in gone {
            self.watch.forget(&folder);
            self.watched.remove(&folder);
        }
    }

    /// Listens to every folder that there is now, and to no other.
    #[expect(clippy::disallowed_methods, reason = "a root's handle outlives the root's own path")]
    fn watch_all(&mut self, stopped: &(dyn Fn() -> bool + Sync)) -> Result<(), WatchError> {
        let survey = FileSurvey::survey_all(self.roots, &Wanted::default(), stopped);
        let there: BTreeSet<PathBuf> =
            survey.folders.iter().map(|folder| self.roots.absolute(folder)).collect();
        for gone in self.watched.difference(&there) {
            self.watch.forget(gone);
        }
        for folder in &there {
            match self.watch.add(folder) {
                // It went away since the walk, and whoever is above it hears of that.
                Err(_) if !folder.exists() => {}
                added => added?,
            }
        }
        self.watched = there;
        Ok(())
    }

    /// Listens to one more; says whether it is a new one.
    fn add(&mut self, folder: &RootPath) -> bool {
        let path = self.roots.absolute(folder);
        let fresh = !self.watched.contains(&path) && self.watch.add(&path).is_ok();
        if fresh {
            self.watched.insert(path);
        }
        fresh
    }
}
