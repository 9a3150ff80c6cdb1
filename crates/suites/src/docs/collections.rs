//! The collections of a running server; updates the index while files and collections change.

use super::{
    CollectionSettings, DocumentProblem, address,
    collection::DocumentCollection,
    index_updater::{DocsReport, IndexUpdater, ModifiedTimes},
};
use crate::{
    files::ServedRoots,
    indexing::{FollowContext, FollowError, IndexSource},
    watch::{ChangeBatch, FileWatcher, WatchError},
};
use docent_tool::ProviderChange;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use tokio::sync::broadcast;

/// Capacity of the change channel.
const CHANGE_QUEUE_LENGTH: usize = 256;

/// The current collections and the subscriptions to their changes.
#[derive(Debug)]
pub(crate) struct DocumentCollections {
    roots: ServedRoots,
    all: RwLock<Arc<[DocumentCollection]>>,
    /// Modification times of the indexed files.
    pub(crate) stamps: Arc<ModifiedTimes>,
    /// Subscribed URIs.
    watched: Mutex<BTreeSet<String>>,
    changes: broadcast::Sender<ProviderChange>,
    /// Problems of each collection in its last scan.
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

    /// All collections, in configured order.
    pub(crate) fn all(&self) -> Arc<[DocumentCollection]> {
        Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the collections. Returns whether anything changed.
    pub(crate) fn replace(&self, collections: Vec<CollectionSettings>) -> bool {
        let new: Arc<[DocumentCollection]> =
            collections.into_iter().map(|one| DocumentCollection::new(one, &self.roots)).collect();
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = all.len() == new.len()
            && all.iter().zip(new.iter()).all(|(a, b)| a.collection == b.collection);
        *all = new;
        !is_same
    }

    /// Subscribes to changes.
    pub(crate) fn changes(&self) -> broadcast::Receiver<ProviderChange> {
        self.changes.subscribe()
    }

    pub(crate) fn announce(&self, change: ProviderChange) {
        // No receiver is not an error.
        drop(self.changes.send(change));
    }

    /// Starts announcing changes of this URI.
    pub(crate) fn watch(&self, uri: &str) {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).insert(uri.to_owned());
    }

    /// Stops announcing changes of this URI.
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

    /// Announces changes to subscribers: those found by the run, and those in the batch that an earlier run had found.
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
            self.announce_if_watched(&watched, &address::contents(&shelf.collection));
            for path in &touched {
                let uri = address::document(&shelf.collection, path, None);
                self.announce_if_watched(&watched, &uri);
                let section = format!("{uri}#");
                let sections = watched.range(section.clone()..);
                for uri in sections.take_while(|uri| uri.starts_with(&section)) {
                    self.announce(ProviderChange::Updated(uri.clone()));
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
        let FollowContext {
            store,
            callbacks,
            pending,
            on_listening: listening,
            on_touched: heard,
            on_synced: synced,
        } = following;
        let waiting = Arc::clone(&pending);
        let watch = FileWatcher::start(move |batch| {
            heard(&batch);
            waiting.add(batch);
        });
        let mut ears =
            watch.map(|watch| CollectionListener { watch, watched_folders: BTreeSet::new() });
        // Watch first, so that changes during the first run are noticed.
        if let Ok(ears) = &mut ears {
            for shelf in self.all().iter() {
                ears.listen(&shelf.scan(callbacks.stopped).folders.into_iter().collect());
            }
        }
        listening(ears.is_ok());
        let mut stock = IndexUpdater::new(Arc::clone(&self.stamps));
        let first = stock.update_all(&self.all(), &|_| true, store, callbacks)?;
        self.keep_problems(&first);
        synced(Ok(first));
        let mut ears = ears?;
        let mut failed = false;
        while let Some(batch) = pending.take(callbacks.stopped) {
            ears.forget(&batch);
            let shelves = self.all();
            let touched =
                |shelf: &DocumentCollection| batch.paths.iter().any(|path| shelf.contains(path));
            let report = if failed || batch.lost {
                stock.update_all(&shelves, &|_| true, store, callbacks)
            } else {
                stock.update_wanted(&shelves, &touched, store, callbacks)
            };
            // A second scan finds files added to a new folder before it was watched.
            if ears.listen(&std::mem::take(&mut stock.folders)) {
                pending.add(batch.clone());
            }
            failed = report.is_err();
            if let Ok(report) = &report {
                self.keep_problems(report);
            }
            let announced = report.as_ref().ok().cloned();
            synced(report);
            // Announce changes only after they are in the index.
            if let Some(report) = announced {
                self.announce_report(&report, &batch);
            }
        }
        Ok(())
    }

    fn is_other_set(report: &DocsReport) -> bool {
        report.collections.iter().any(|one| one.added + one.removed > 0)
    }
}

/// Watches folders.
struct CollectionListener {
    watch: FileWatcher,
    watched_folders: BTreeSet<PathBuf>,
}

impl CollectionListener {
    /// Watches more folders. Returns whether one of them is new. Folders that can't be watched are still served.
    fn listen(&mut self, folders: &BTreeSet<PathBuf>) -> bool {
        let mut fresh = false;
        for folder in folders.difference(&self.watched_folders.clone()) {
            match self.watch.add(folder) {
                Ok(()) => fresh |= self.watched_folders.insert(folder.clone()),
                Err(error @ WatchError::Refused { .. }) => {
                    tracing::warn!(%error, "cannot watch a folder; its changes are found with the next scan");
                }
                Err(error) => tracing::warn!(%error, "cannot watch a folder"),
            }
        }
        fresh
    }

    /// Forgets removed folders: one that is created again is a different folder.
    fn forget(&mut self, batch: &ChangeBatch) {
        for folder in batch.paths.iter().filter(|path| self.watched_folders.remove(*path)) {
            self.watch.forget(folder);
        }
    }
}
