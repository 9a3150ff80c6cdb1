//! Keeps an index up to date until stopped.

use super::{
    IndexReport, SyncCallbacks,
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

/// How often to check for a stop while nothing changes.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// More changes than this at once cause a full scan: a branch switch, or an unpacked archive.
const FULL_SCAN_THRESHOLD: usize = 500;
/// Maximum number of pending paths; beyond it, the next run is a full scan.
const MAX_PENDING_PATHS: usize = 10_000;
/// Ignore files; a change to one affects which files are indexed.
const RULE_FILES: [&str; 3] = [".gitignore", ".ignore", OWN_RULES];

/// Why an index is no longer updated.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// Changes can't be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The first run failed.
    #[error(transparent)]
    Store(#[from] IndexStoreError),
}

/// Pending changes. The watcher adds them, the follower takes them.
#[derive(Debug, Default)]
pub(crate) struct PendingChanges {
    batch: Mutex<ChangeBatch>,
    more: Condvar,
}

impl PendingChanges {
    /// Adds changes.
    pub(crate) fn add(&self, batch: ChangeBatch) {
        let mut waiting = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.paths.extend(batch.paths);
        waiting.lost |= batch.lost || waiting.paths.len() > MAX_PENDING_PATHS;
        if waiting.lost {
            // A full scan follows, so the list is not needed.
            waiting.paths.clear();
        }
        self.more.notify_one();
    }

    /// Takes all pending changes; waits for some. `None` when stopped.
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

/// Updates a store from the files, and again whenever they change, until stopped.
///
/// `synced` is called after the first run and after every run that changed something or failed; a failed run is retried
/// after the next change.
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

/// Follows the files of the roots.
pub(super) struct IndexFollower<'a> {
    pub(super) roots: &'a ServedRoots,
    pub(super) store: &'a dyn IndexStore,
    pub(super) callbacks: SyncCallbacks<'a>,
    pub(super) pending: Arc<PendingChanges>,
    /// Files requested by name.
    pub(super) requested: &'a dyn Fn() -> Wanted,
    /// Called with whether changes are watched from now on.
    pub(super) on_listening: &'a dyn Fn(bool),
}

impl IndexFollower<'_> {
    /// Runs until stopped. `heard` is called immediately for each batch of changes, on its own thread.
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
        // Watch first, so that changes during the first run are noticed.
        let listener = watch.and_then(|watch| {
            let mut listener =
                FolderListener { roots: self.roots, watch, watched: BTreeSet::new() };
            listener.watch_all(self.callbacks.stopped).map(|()| listener)
        });
        (self.on_listening)(listener.is_ok());
        let mut keeper = IndexSync::new(self.roots, self.store);
        synced(Ok(keeper.sync_all(&(self.requested)(), self.callbacks)?));
        // An index that can't be updated is still usable.
        let mut listener = listener?;
        let mut failed = false;
        while let Some(batch) = self.pending.take(self.callbacks.stopped) {
            let report = if failed || batch.lost || is_large(&batch) {
                listener.forget(&batch);
                listener.watch_all(self.callbacks.stopped)?;
                keeper.sync_all(&(self.requested)(), self.callbacks)
            } else {
                self.sync_batch(&batch, &mut listener, &mut keeper)
            };
            failed = report.is_err();
            let idle = |report: &IndexReport| {
                report.changed + report.removed == 0 && report.rebuilt.is_none()
            };
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
        let (report, folders) = keeper.sync_places(&places, &(self.requested)(), self.callbacks)?;
        let fresh = folders.iter().filter(|folder| listener.add(folder)).count();
        if fresh == 0 {
            return Ok(report);
        }
        // A second scan finds files added to a new folder before it was watched.
        let (again, _) = keeper.sync_places(&places, &(self.requested)(), self.callbacks)?;
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

/// Watches folders.
struct FolderListener<'a> {
    roots: &'a ServedRoots,
    watch: FileWatcher,
    watched: BTreeSet<PathBuf>,
}

impl FolderListener<'_> {
    /// Forgets removed folders: one that is created again is a different folder.
    fn forget(&mut self, batch: &ChangeBatch) {
        let gone = |folder: &PathBuf| batch.lost || batch.paths.contains(folder);
        let gone: Vec<PathBuf> =
            self.watched.iter().filter(|folder| gone(folder)).cloned().collect();
        for folder in gone {
            self.watch.forget(&folder);
            self.watched.remove(&folder);
        }
    }

    /// Watches exactly the folders that exist now.
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
                // It was removed since the walk; the watch on its parent reports that.
                Err(_) if !folder.exists() => {}
                added => added?,
            }
        }
        self.watched = there;
        Ok(())
    }

    /// Watches one more folder; returns whether it is new.
    fn add(&mut self, folder: &RootPath) -> bool {
        let path = self.roots.absolute(folder);
        let fresh = !self.watched.contains(&path) && self.watch.add(&path).is_ok();
        if fresh {
            self.watched.insert(path);
        }
        fresh
    }
}
