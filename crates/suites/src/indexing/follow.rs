//! Keeps an index up to date until stopped.

use super::{
    Callbacks, Report,
    keeper::Keeper,
    survey::{Survey, Wanted},
};
use crate::{
    files::{OWN_RULES, Place, Roots},
    watch::{Batch, Watch, WatchError},
};
use docent_index::{Store, StoreError};
use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// How often to check for a stop while nothing changes.
const LOOK_UP: Duration = Duration::from_millis(100);
/// More changes than this at once cause a full scan: a branch switch, or an unpacked archive.
const MANY: usize = 500;
/// Maximum number of pending paths; beyond it, the next run is a full scan.
const MOST_WAITING: usize = 10_000;
/// Ignore files; a change to one affects which files are indexed.
const RULES: [&str; 3] = [".gitignore", ".ignore", OWN_RULES];

/// Why an index is no longer updated.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// Changes can't be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The first run failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Pending changes. The watcher adds them, the follower takes them.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    batch: Mutex<Batch>,
    more: Condvar,
}

impl Pending {
    /// Adds changes.
    pub(crate) fn add(&self, batch: Batch) {
        let mut waiting = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.paths.extend(batch.paths);
        waiting.lost |= batch.lost || waiting.paths.len() > MOST_WAITING;
        if waiting.lost {
            // A full scan follows, so the list is not needed.
            waiting.paths.clear();
        }
        self.more.notify_one();
    }

    /// Takes all pending changes; waits for some. `None` when stopped.
    pub(crate) fn take(&self, stopped: &dyn Fn() -> bool) -> Option<Batch> {
        let mut waiting = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if stopped() {
                return None;
            }
            if waiting.lost || !waiting.paths.is_empty() {
                return Some(std::mem::take(&mut *waiting));
            }
            let woken = self.more.wait_timeout(waiting, LOOK_UP);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Updates a store from the files, and again whenever they change, until stopped.
///
/// `synced` is called after the first run and after every run that changed something or failed; a failed run is retried
/// after the next change.
pub fn follow(
    roots: &Roots,
    store: &dyn Store,
    callbacks: Callbacks<'_>,
    synced: impl FnMut(Result<Report, StoreError>),
) -> Result<(), FollowError> {
    let follower = Follower {
        roots,
        store,
        callbacks,
        pending: Arc::default(),
        wanted: &Wanted::default,
        listening: &|_| {},
    };
    follower.run(|_| {}, synced)
}

/// Follows the files of the roots.
pub(super) struct Follower<'a> {
    pub(super) roots: &'a Roots,
    pub(super) store: &'a dyn Store,
    pub(super) callbacks: Callbacks<'a>,
    pub(super) pending: Arc<Pending>,
    /// Files requested by name.
    pub(super) wanted: &'a dyn Fn() -> Wanted,
    /// Called with whether changes are watched from now on.
    pub(super) listening: &'a dyn Fn(bool),
}

impl Follower<'_> {
    /// Runs until stopped. `heard` is called immediately for each batch of changes, on its own thread.
    pub(super) fn run(
        &self,
        heard: impl Fn(&Batch) + Send + 'static,
        mut synced: impl FnMut(Result<Report, StoreError>),
    ) -> Result<(), FollowError> {
        let pending = Arc::clone(&self.pending);
        let watch = Watch::start(move |batch| {
            heard(&batch);
            pending.add(batch);
        });
        // Watch first, so that changes during the first run are noticed.
        let listener = watch.and_then(|watch| {
            let mut listener = Listener { roots: self.roots, watch, watched: BTreeSet::new() };
            listener.all(self.callbacks.stopped).map(|()| listener)
        });
        (self.listening)(listener.is_ok());
        let mut keeper = Keeper::new(self.roots, self.store);
        synced(Ok(keeper.all(&(self.wanted)(), self.callbacks)?));
        // An index that can't be updated is still usable.
        let mut listener = listener?;
        let mut failed = false;
        while let Some(batch) = self.pending.take(self.callbacks.stopped) {
            let report = if failed || batch.lost || is_large(&batch) {
                listener.forget(&batch);
                listener.all(self.callbacks.stopped)?;
                keeper.all(&(self.wanted)(), self.callbacks)
            } else {
                self.some(&batch, &mut listener, &mut keeper)
            };
            failed = report.is_err();
            let idle =
                |report: &Report| report.changed + report.removed == 0 && report.rebuilt.is_none();
            if !report.as_ref().is_ok_and(idle) {
                synced(report);
            }
        }
        Ok(())
    }

    fn some(
        &self,
        batch: &Batch,
        listener: &mut Listener<'_>,
        keeper: &mut Keeper<'_>,
    ) -> Result<Report, StoreError> {
        listener.forget(batch);
        let places: BTreeSet<Place> =
            batch.paths.iter().filter_map(|path| self.roots.locate(path)).collect();
        let (report, folders) = keeper.some(&places, &(self.wanted)(), self.callbacks)?;
        let fresh = folders.iter().filter(|folder| listener.add(folder)).count();
        if fresh == 0 {
            return Ok(report);
        }
        // A second scan finds files added to a new folder before it was watched.
        let (again, _) = keeper.some(&places, &(self.wanted)(), self.callbacks)?;
        Ok(Report {
            changed: report.changed + again.changed,
            added: report.added + again.added,
            removed: report.removed + again.removed,
            ..again
        })
    }
}

fn is_large(batch: &Batch) -> bool {
    let is_rule = |path: &PathBuf| {
        path.file_name().is_some_and(|name| RULES.iter().any(|rule| name == *rule))
    };
    batch.paths.len() > MANY || batch.paths.iter().any(is_rule)
}

/// Watches folders.
struct Listener<'a> {
    roots: &'a Roots,
    watch: Watch,
    watched: BTreeSet<PathBuf>,
}

impl Listener<'_> {
    /// Forgets removed folders: one that is created again is a different folder.
    fn forget(&mut self, batch: &Batch) {
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
    fn all(&mut self, stopped: &(dyn Fn() -> bool + Sync)) -> Result<(), WatchError> {
        let survey = Survey::whole(self.roots, &Wanted::default(), stopped);
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
    fn add(&mut self, folder: &Place) -> bool {
        let path = self.roots.absolute(folder);
        let fresh = !self.watched.contains(&path) && self.watch.add(&path).is_ok();
        if fresh {
            self.watched.insert(path);
        }
        fresh
    }
}
