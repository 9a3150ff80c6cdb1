//! The collections of a running server; updates the index while files and collections change.

use super::{
    Collection, DocumentProblem, address,
    collection::Shelf,
    stock::{DocsReport, Stamps, Stock},
};
use crate::{
    files::Roots,
    indexing::{FollowError, Following, Ground},
    watch::{Batch, Watch, WatchError},
};
use docent_tool::Change;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use tokio::sync::broadcast;

/// Capacity of the change channel.
const CHANGES: usize = 256;

/// The current collections and the subscriptions to their changes.
#[derive(Debug)]
pub(crate) struct Shelves {
    roots: Roots,
    all: RwLock<Arc<[Shelf]>>,
    /// Modification times of the indexed files.
    pub(crate) stamps: Arc<Stamps>,
    /// Subscribed URIs.
    watched: Mutex<BTreeSet<String>>,
    changes: broadcast::Sender<Change>,
    /// Problems of each collection in its last scan.
    pub(crate) problems: Mutex<BTreeMap<String, Vec<DocumentProblem>>>,
}

impl Shelves {
    pub(crate) fn new(roots: Roots, collections: Vec<Collection>) -> Self {
        let shelves = Self {
            roots,
            all: RwLock::new(Arc::new([])),
            stamps: Arc::default(),
            watched: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES),
            problems: Mutex::default(),
        };
        shelves.replace(collections);
        shelves
    }

    /// All collections, in configured order.
    pub(crate) fn all(&self) -> Arc<[Shelf]> {
        Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the collections. Returns whether anything changed.
    pub(crate) fn replace(&self, collections: Vec<Collection>) -> bool {
        let new: Arc<[Shelf]> =
            collections.into_iter().map(|one| Shelf::new(one, &self.roots)).collect();
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = all.len() == new.len()
            && all.iter().zip(new.iter()).all(|(a, b)| a.collection == b.collection);
        *all = new;
        !is_same
    }

    /// Subscribes to changes.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    pub(crate) fn tell(&self, change: Change) {
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
    fn tell_of(&self, report: &DocsReport, batch: &Batch) {
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
                    self.tell(Change::Updated(uri.clone()));
                }
            }
        }
    }

    fn tell_if(&self, watched: &BTreeSet<String>, uri: &str) {
        if watched.contains(uri) {
            self.tell(Change::Updated(uri.to_owned()));
        }
    }
}

impl Ground for Shelves {
    type Report = DocsReport;

    fn follow(&self, following: Following<'_, DocsReport>) -> Result<(), FollowError> {
        let Following { store, callbacks, pending, listening, heard, synced } = following;
        let waiting = Arc::clone(&pending);
        let watch = Watch::start(move |batch| {
            heard(&batch);
            waiting.add(batch);
        });
        let mut ears = watch.map(|watch| Ears { watch, heard: BTreeSet::new() });
        // Watch first, so that changes during the first run are noticed.
        if let Ok(ears) = &mut ears {
            for shelf in self.all().iter() {
                ears.listen(&shelf.stock(callbacks.stopped).folders.into_iter().collect());
            }
        }
        listening(ears.is_ok());
        let mut stock = Stock::new(Arc::clone(&self.stamps));
        let first = stock.all(&self.all(), &|_| true, store, callbacks)?;
        self.keep_problems(&first);
        synced(Ok(first));
        let mut ears = ears?;
        let mut failed = false;
        while let Some(batch) = pending.take(callbacks.stopped) {
            ears.forget(&batch);
            let shelves = self.all();
            let touched = |shelf: &Shelf| batch.paths.iter().any(|path| shelf.holds(path));
            let report = if failed || batch.lost {
                stock.all(&shelves, &|_| true, store, callbacks)
            } else {
                stock.some(&shelves, &touched, store, callbacks)
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
                self.tell_of(&report, &batch);
            }
        }
        Ok(())
    }

    fn is_other_set(report: &DocsReport) -> bool {
        report.collections.iter().any(|one| one.added + one.removed > 0)
    }
}

/// Watches folders.
struct Ears {
    watch: Watch,
    heard: BTreeSet<PathBuf>,
}

impl Ears {
    /// Watches more folders. Returns whether one of them is new. Folders that can't be watched are still served.
    fn listen(&mut self, folders: &BTreeSet<PathBuf>) -> bool {
        let mut fresh = false;
        for folder in folders.difference(&self.heard.clone()) {
            match self.watch.add(folder) {
                Ok(()) => fresh |= self.heard.insert(folder.clone()),
                Err(error @ WatchError::Refused { .. }) => {
                    tracing::warn!(%error, "cannot watch a folder; its changes are found with the next scan");
                }
                Err(error) => tracing::warn!(%error, "cannot watch a folder"),
            }
        }
        fresh
    }

    /// Forgets removed folders: one that is created again is a different folder.
    fn forget(&mut self, batch: &Batch) {
        for folder in batch.paths.iter().filter(|path| self.heard.remove(*path)) {
            self.watch.forget(folder);
        }
    }
}
