//! Keeps an index in step for as long as somebody wants it.

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

/// How often it is asked whether to stop while nothing changes.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Where more changed at once, everything is looked at: somebody switched a branch, or unpacked an archive.
const MANY: usize = 500;
/// More paths don't wait one by one while a long run keeps the follower busy.
const MOST_WAITING: usize = 10_000;
/// Files of rules: what they say changes what belongs to the index.
const RULES: [&str; 3] = [".gitignore", ".ignore", OWN_RULES];

/// Why an index is not kept in step any more.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// Changes can't be heard.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The first run failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What changed and was not looked at yet. The watcher puts in, the follower takes out.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    batch: Mutex<Batch>,
    more: Condvar,
}

impl Pending {
    /// Adds to what is to be looked at.
    pub(crate) fn add(&self, batch: Batch) {
        let mut waiting = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.paths.extend(batch.paths);
        waiting.lost |= batch.lost || waiting.paths.len() > MOST_WAITING;
        if waiting.lost {
            // Everything is looked at then, so that no list is needed.
            waiting.paths.clear();
        }
        self.more.notify_one();
    }

    /// Everything that waits; `None` when it is time to stop.
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

/// Brings a store in step with the files, and again whenever they change, until it is told to stop.
///
/// `synced` hears of the first run and of every one that changed something or failed: what failed is tried again with
/// the next change.
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

/// Who follows what.
pub(super) struct Follower<'a> {
    pub(super) roots: &'a Roots,
    pub(super) store: &'a dyn Store,
    pub(super) callbacks: Callbacks<'a>,
    pub(super) pending: Arc<Pending>,
    /// Files that somebody asked for by name.
    pub(super) wanted: &'a dyn Fn() -> Wanted,
    /// Hears whether changes are heard from now on.
    pub(super) listening: &'a dyn Fn(bool),
}

impl Follower<'_> {
    /// Goes on until it is told to stop. `heard` is told of changes at once, on a thread of its own.
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
        // Listening comes first: what changes during the first run is then heard of.
        let listener = watch.and_then(|watch| {
            let mut listener = Listener { roots: self.roots, watch, watched: BTreeSet::new() };
            listener.all(self.callbacks.stopped).map(|()| listener)
        });
        (self.listening)(listener.is_ok());
        let mut keeper = Keeper::new(self.roots, self.store);
        synced(Ok(keeper.all(&(self.wanted)(), self.callbacks)?));
        // An index that can't be kept in step is still one.
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
        // What was put into a new folder before anybody listened there is found by a second look.
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

/// Listens to folders.
struct Listener<'a> {
    roots: &'a Roots,
    watch: Watch,
    watched: BTreeSet<PathBuf>,
}

impl Listener<'_> {
    /// A folder that was removed and made again is another folder, under the same name.
    fn forget(&mut self, batch: &Batch) {
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
    fn all(&mut self, stopped: &(dyn Fn() -> bool + Sync)) -> Result<(), WatchError> {
        let survey = Survey::whole(self.roots, &Wanted::default(), stopped);
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
    fn add(&mut self, folder: &Place) -> bool {
        let path = self.roots.absolute(folder);
        let fresh = !self.watched.contains(&path) && self.watch.add(&path).is_ok();
        if fresh {
            self.watched.insert(path);
        }
        fresh
    }
}
