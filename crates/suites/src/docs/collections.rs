//! The shelves of a running server: kept in step with the index while files and collections change.

use super::{
    CollectionSettings, DocumentProblem, address,
    collection::DocumentCollection,
    index_updater::{DocsReport, ModifiedTimes, IndexUpdater},
};
use crate::{
    files::ServedRoots,
    indexing::{FollowError, FollowContext, IndexSource},
    watch::{ChangeBatch, FileWatcher, WatchError},
};
use docent_tool::ProviderChange;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use tokio::sync::broadcast;

/// Changes that a slow listener may fall behind.
const CHANGE_QUEUE_LENGTH: usize = 256;

/// The collections as they are now, and who is told of their changes.
#[derive(Debug)]
pub(crate) struct DocumentCollections {
    roots: ServedRoots,
    all: RwLock<Arc<[DocumentCollection]>>,
    /// When the files were written that the index has.
    pub(crate) stamps: Arc<ModifiedTimes>,
    /// Addresses that somebody wants to hear of.
    watched: Mutex<BTreeSet<String>>,
    changes: broadcast::Sender<ProviderChange>,
    /// What could not be read of each collection when it was last looked at.
    pub(crate) problems: Mutex<BTreeMap<String, Vec<DocumentProblem>>>,
}

impl DocumentCollections {
    pub(crate) fn new(roots: ServedRoots, collections: Vec<CollectionSettings>) -> Self {
        let shelves = Self {
            roots,
            all: RwLock::new(Arc::new([])),
            stamps: Arc::default(),
            watched: Mutex::default(),
            changes: broadcast::Sender::new(CHANGE_QUEUE_LENGTH),
            problems: Mutex::default(),
        };
        shelves.replace(collections);
        shelves
    }

    /// Every shelf, in configured order.
    pub(crate) fn all(&self) -> Arc<[DocumentCollection]> {
        Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other collections in the place of those that are there. Says whether anything is different.
    pub(crate) fn replace(&self, collections: Vec<CollectionSettings>) -> bool {
        let new: Arc<[DocumentCollection]> =
            collections.into_iter().map(|one| DocumentCollection::new(one, &self.roots)).collect();
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = all.len() == new.len()
            && all.iter().zip(new.iter()).all(|(a, b)| a.collection == b.collection);
        *all = new;
        !is_same
    }

    /// Tells of changes from now on.
    pub(crate) fn changes(&self) -> broadcast::Receiver<ProviderChange> {
        self.changes.subscribe()
    }

    pub(crate) fn announce(&self, change: ProviderChange) {
        // Nobody listening is no failure.
        drop(self.changes.send(change));
    }

    /// Somebody wants to hear when this changes.
    pub(crate) fn watch(&self, uri: &str) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).insert(uri.to_owned());
    }

    /// No client wants to hear when this changes.
    pub(crate) fn unwatch(&self, uri: &str) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    fn keep_problems(&self, report: &DocsReport) {
        let mut kept = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &report.collections {
            let problems = one.problems.iter().cloned().map(DocumentProblem::from);
            kept.insert(one.name.clone(), problems.collect());
        }
    }

    /// Tells whoever watches what changed: what a run found, and what was heard and an earlier run had found already.
    fn announce_report(&self, report: &DocsReport, batch: &ChangeBatch) {
        let shelves = self.all();
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for shelf in shelves.iter() {
            let found = report.collections.iter().find(|one| one.name == shelf.collection.name);
            let mut touched: BTreeSet<String> =
                found.into_iter().flat_map(|one| one.touched.iter().cloned()).collect();
            touched.extend(batch.paths.iter().filter_map(|path| shelf.locate(path)));
            if touched.is_empty() {
                continue;
            }
            self.tell_if(&watched, &address::contents(&shelf.collection));
            for path in &touched {
                let uri = address::document(&shelf.collection, path, None);
                self.tell_if(&watched, &uri);
                let section = format!("{uri}#");
                let sections = watched.range(section.clone()..);
                for uri in sections.take_while(|uri| uri.starts_with(&section)) {
                    self.tell(ProviderChange::Updated(uri.clone()));
                }
            }
        }
    }

    fn announce_if_watched(&self, watched: &BTreeSet<String>, uri: &str) {
        if watched.contains(uri) {
            self.announce(ProviderChange::Updated(uri.to_owned()));
        }
    }
}

impl IndexSource for DocumentCollections {
    type Report = DocsReport;

    fn follow(&self, following: FollowContext<'_, DocsReport>) -> Result<(), FollowError> {
        let FollowContext { store, callbacks, pending, on_listening: listening, on_touched: heard, on_synced: synced } = following;
        let waiting = Arc::clone(&pending);
        let watch = FileWatcher::start(move |batch| {
            heard(&batch);
            waiting.add(batch);
        });
        let mut ears = watch.map(|watch| CollectionListener { watch, watched_folders: BTreeSet::new() });
        // Listening comes first: what changes during the first run is then heard of.
        if let Ok(ears) = &mut ears {
            for shelf in self.all().iter() {
                ears.listen(&shelf.stock(callbacks.stopped).folders.into_iter().collect());
            }
        }
        listening(ears.is_ok());
        let mut stock = IndexUpdater::new(Arc::clone(&self.stamps));
        let first = stock.all(&self.all(), &|_| true, store, callbacks)?;
        self.keep_problems(&first);
        synced(Ok(first));
        let mut ears = ears?;
        let mut failed = false;
        while let Some(batch) = pending.take(callbacks.stopped) {
            ears.forget(&batch);
            let shelves = self.all();
            let touched = |shelf: &DocumentCollection| batch.paths.iter().any(|path| shelf.contains(path));
            let report = if failed || batch.lost {
                stock.update_all(&shelves, &|_| true, store, callbacks)
            } else {
                stock.update_wanted(&shelves, &touched, store, callbacks)
            };
            // What was put into a new folder before anybody listened there is found by a second look.
            if ears.listen(&std::mem::take(&mut stock.folders)) {
                pending.add(batch.clone());
            }
            failed = report.is_err();
            if let Ok(report) = &report {
                self.keep_problems(report);
            }
            let told = report.as_ref().ok().cloned();
            synced(report);
            // Whoever hears of a change finds it in the index.
            if let Some(report) = told {
                self.announce_report(&report, &batch);
            }
        }
        Ok(())
    }

    fn is_other_set(report: &DocsReport) -> bool {
        report.collections.iter().any(|one| one.added + one.removed > 0)
    }
}

/// Listens to folders.
struct CollectionListener {
    watch: FileWatcher,
    watched_folders: BTreeSet<PathBuf>,
}

impl CollectionListener {
    /// Listens to these folders as well. Says whether one of them is new. Those that can't be watched are still served.
    fn listen(&mut self, folders: &BTreeSet<PathBuf>) -> bool {
        let mut fresh = false;
        for folder in folders.difference(&self.heard.clone()) {
            match self.watch.add(folder) {
                Ok(()) => fresh |= self.heard.insert(folder.clone()),
                Err(error @ WatchError::Refused { .. }) => {
                    tracing::warn!(%error, "changes there are seen when something else changes");
                }
                Err(error) => tracing::warn!(%error, "a folder is not watched"),
            }
        }
        fresh
    }

    /// A folder that was removed and made again is another folder, under the same name.
    fn forget(&mut self, batch: &ChangeBatch) {
        for folder in batch.paths.iter().filter(|path| self.heard.remove(*path)) {
            self.watch.forget(folder);
        }
    }
}
