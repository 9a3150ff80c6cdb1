//! Updates the index from the files of the collections.

use super::{
    CollectionSettings,
    collection::{
        COLLECTION_KEY_PREFIX, CollectionFile, CollectionFolder, CollectionScan,
        DocumentCollection, DocumentReader, FileStamp, folders,
    },
    units::{read_with_timeout, units},
};
use crate::{
    files::{ReadFailure, ServedRoots},
    indexing::{Batches, SyncCallbacks, UNITS_PER_BATCH, Written},
};
use docent_index::{
    Digest, Genre, IndexStore, IndexStoreError, IndexUnit, IndexedSource, StoreChange, StoreRepairs,
};
use docent_prose::{Archive, ArchiveEntry, ArchiveLimits, ProseFormat};
use rayon::prelude::*;
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Instant,
};

/// Increment when the same file yields different units, so that every file is reindexed.
const UNITS_VERSION: &[u8] = b"1";
/// Files read in parallel between two checks for a stop.
const FILES_PER_STOP_CHECK: usize = 128;

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocsReport {
    /// One report per collection, in order.
    pub collections: Vec<CollectionReport>,
    /// Generation of the index after the run.
    pub generation: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Whether it was stopped early; the next run continues from there.
    pub stopped: bool,
    /// Why the whole index was rebuilt, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<String>,
    /// Previous embedding model, if all vectors were recomputed with another one.
    #[serde(rename = "embeddedAnew", skip_serializing_if = "Option::is_none")]
    pub reembedded: Option<String>,
}

/// Result of a run for one collection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectionReport {
    /// Name of the collection.
    pub name: String,
    /// Number of documents in the index now.
    pub documents: usize,
    /// Number of new or changed documents written.
    pub changed: usize,
    /// How many of those were new.
    pub added: usize,
    /// Number of removed documents.
    pub removed: usize,
    /// Number of skipped files: unsupported format, excluded by patterns, or without content, such as a word index.
    #[serde(rename = "passedOver")]
    pub skipped: usize,
    /// Unreadable files, and parts missing from readable ones.
    pub problems: Vec<ReadFailure>,
    /// Documents that were added, changed or removed.
    #[serde(skip)]
    pub(crate) touched: Vec<String>,
}

/// Updates the wanted collections in the index, and removes those that no longer exist.
pub fn sync(
    roots: &ServedRoots,
    collections: &[CollectionSettings],
    wanted: &(dyn Fn(&CollectionSettings) -> bool + Sync),
    store: &dyn IndexStore,
    callbacks: SyncCallbacks<'_>,
) -> Result<DocsReport, IndexStoreError> {
    let shelves: Vec<DocumentCollection> =
        collections.iter().map(|one| DocumentCollection::new(one.clone(), roots)).collect();
    IndexUpdater::default().update_all(
        &shelves,
        &|shelf| wanted(&shelf.collection),
        store,
        callbacks,
    )
}

/// Counts the documents and chunks of a collection in the index.
pub fn indexed_counts(
    collection: &CollectionSettings,
    store: &dyn IndexStore,
) -> Result<(usize, u64), IndexStoreError> {
    let sources = store.view()?.sources(&collection.key())?;
    let chunks = sources.iter().flat_map(|one| one.kinds.values()).map(|count| u64::from(*count));
    Ok((sources.iter().filter(|one| !one.kinds.is_empty()).count(), chunks.sum()))
}

/// Counts the outdated documents of a collection: those new or changed, and those removed.
pub fn outdated_counts(
    roots: &ServedRoots,
    collection: &CollectionSettings,
    store: &dyn IndexStore,
) -> Result<(usize, usize), IndexStoreError> {
    let shelf = DocumentCollection::new(collection.clone(), roots);
    let known = store.digests(&shelf.key)?;
    let found = shelf.scan(&|| false);
    let there = CollectionListing::of(&found.items);
    let gone = known.keys().filter(|path| !there.has(path)).count();
    let Ok(site) = shelf.site() else { return Ok((0, gone)) };
    let differs = |item: &&CollectionFile| {
        let Ok(bytes) = site.read(item) else { return false };
        let before = known.get(&item.path);
        // A file that was never readable is not missing.
        before != Some(&digest(&shelf, item.reader, &bytes))
            && (before.is_some() || readable(item, &bytes))
    };
    Ok((found.items.par_iter().filter(differs).count(), gone))
}

/// Size and modification time of each indexed file, by collection and path.
#[derive(Debug, Default)]
pub(crate) struct ModifiedTimes(RwLock<HashMap<String, HashMap<String, FileStamp>>>);

impl ModifiedTimes {
    /// The stamp of an indexed file; `None` if it is not indexed.
    pub(crate) fn get(&self, key: &str, path: &str) -> Option<FileStamp> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(key)?.get(path).copied()
    }

    fn set(&self, key: &str, path: &str, stamp: Option<FileStamp>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let of = all.entry(key.to_owned()).or_default();
        match stamp {
            Some(stamp) => drop(of.insert(path.to_owned(), stamp)),
            None => drop(of.remove(path)),
        }
    }
}

/// Updates the store from the collections and remembers what it contains.
#[derive(Debug, Default)]
pub(crate) struct IndexUpdater {
    known: BTreeMap<String, BTreeMap<String, Digest>>,
    stamps: Arc<ModifiedTimes>,
    /// Stamps of files waiting to be written. Until then, the stored versions count as outdated.
    pending_stamps: HashMap<(String, String), FileStamp>,
    /// Folders to watch.
    pub(crate) folders: BTreeSet<PathBuf>,
}

/// Result of reading a file.
enum DocumentRead {
    Same,
    /// Not a document.
    NotDocument,
    Changed(IndexedSource, Vec<String>),
    /// An archive that differs from the indexed one.
    Opened(Archive, Vec<u8>, Digest),
}

impl IndexUpdater {
    /// Creates an updater that knows nothing yet and records file stamps in `stamps`.
    pub(crate) fn new(stamps: Arc<ModifiedTimes>) -> Self {
        Self { stamps, ..Self::default() }
    }

    /// Updates the wanted collections, and removes whatever belongs to none.
    pub(crate) fn update_all(
        &mut self,
        shelves: &[DocumentCollection],
        wanted: &(dyn Fn(&DocumentCollection) -> bool + Sync),
        store: &dyn IndexStore,
        callbacks: SyncCallbacks<'_>,
    ) -> Result<DocsReport, IndexStoreError> {
        let StoreRepairs { rebuilt, reembedded } = store.repair()?;
        self.known.clear();
        for collection in
            store.collections()?.into_iter().filter(|one| one.starts_with(COLLECTION_KEY_PREFIX))
        {
            let digests = store.digests(&collection)?;
            self.known.insert(collection, digests);
        }
        self.drop_unknown(shelves, store)?;
        let report = self.update_wanted(shelves, wanted, store, callbacks)?;
        let reembedded = reembedded.map(|identity| identity.to_string());
        Ok(DocsReport { rebuilt, reembedded, ..report })
    }

    /// Removes collections that no longer exist.
    fn drop_unknown(
        &mut self,
        shelves: &[DocumentCollection],
        store: &dyn IndexStore,
    ) -> Result<(), IndexStoreError> {
        let wanted: BTreeSet<&str> = shelves.iter().map(|shelf| shelf.key.as_str()).collect();
        let gone: Vec<String> =
            self.known.keys().filter(|key| !wanted.contains(key.as_str())).cloned().collect();
        for collection in gone {
            let paths = self.known.remove(&collection).unwrap_or_default().into_keys();
            let remove =
                paths.map(|path| StoreChange::Remove { collection: collection.clone(), path });
            store.write(&mut remove.collect::<Vec<_>>().into_iter())?;
        }
        Ok(())
    }

    /// Updates the wanted collections.
    pub(crate) fn update_wanted(
        &mut self,
        shelves: &[DocumentCollection],
        wanted: &(dyn Fn(&DocumentCollection) -> bool + Sync),
        store: &dyn IndexStore,
        callbacks: SyncCallbacks<'_>,
    ) -> Result<DocsReport, IndexStoreError> {
        let start = Instant::now();
        let mut stocks: Vec<(&DocumentCollection, CollectionScan)> = shelves
            .iter()
            .filter(|shelf| wanted(shelf))
            .map(|shelf| (shelf, shelf.scan(callbacks.stopped)))
            .collect();
        for (_, found) in &mut stocks {
            self.folders.extend(std::mem::take(&mut found.folders));
        }
        let total = stocks.iter().map(|(_, found)| found.items.len()).sum();
        let mut report = DocsReport { stopped: (callbacks.stopped)(), ..DocsReport::default() };
        let mut done = 0;
        (callbacks.progress)(0, total);
        for (collection, found) in stocks {
            let before = done;
            let progress = |within: usize| (callbacks.progress)(before + within, total);
            done += found.items.len();
            let mut run =
                CollectionUpdate { updater: self, collection, store, stopped: callbacks.stopped };
            let (one, stopped) = run.update(found, &progress, report.stopped)?;
            report.collections.push(one);
            report.stopped |= stopped;
        }
        report.generation = store.status()?.generation;
        report.seconds = crate::indexing::seconds_rounded(start.elapsed());
        Ok(report)
    }

    fn apply(&mut self, written: Vec<Written>) {
        for (collection, path, digest) in written {
            let place = (collection, path);
            // A document of an archive has no stamp of its own.
            let stamp = self.pending_stamps.remove(&place);
            let (collection, path) = place;
            self.stamps.set(&collection, &path, stamp);
            let known = self.known.entry(collection).or_default();
            match digest {
                Some(digest) => drop(known.insert(path, digest)),
                None => drop(known.remove(&path)),
            }
        }
    }
}

/// The update of one collection.
struct CollectionUpdate<'a> {
    updater: &'a mut IndexUpdater,
    collection: &'a DocumentCollection,
    store: &'a dyn IndexStore,
    stopped: &'a (dyn Fn() -> bool + Sync),
}

impl CollectionUpdate<'_> {
    fn update(
        &mut self,
        found: CollectionScan,
        progress: &dyn Fn(usize),
        already_stopped: bool,
    ) -> Result<(CollectionReport, bool), IndexStoreError> {
        let mut report = CollectionReport {
            name: self.collection.collection.name.clone(),
            skipped: found.skipped,
            problems: found.problems,
            ..CollectionReport::default()
        };
        let mut batches = Batches::new(self.store, UNITS_PER_BATCH);
        let mut stopped = already_stopped;
        if !stopped {
            self.remove_gone(&found.items, &mut batches, &mut report)?;
        }
        let site = self.collection.site().ok();
        for (n, items) in found.items.chunks(FILES_PER_STOP_CHECK).enumerate() {
            stopped = stopped || (self.stopped)();
            let Some(site) = site.as_ref().filter(|_| !stopped) else { break };
            let stock = &*self.updater;
            let of = self.collection;
            let read: Vec<_> = items.par_iter().map(|item| read(of, site, item, stock)).collect();
            for (item, read) in items.iter().zip(read) {
                self.apply_read(item, read, &mut batches, &mut report)?;
            }
            progress((n * FILES_PER_STOP_CHECK + items.len()).min(found.items.len()));
        }
        batches.write(&mut |written| self.updater.apply(written))?;
        let archives =
            found.items.iter().filter(|item| matches!(item.reader, DocumentReader::Archive(_)));
        let known = self.updater.known.get(&self.collection.key).map_or(0, BTreeMap::len);
        (report.documents, _) = indexed_counts(&self.collection.collection, self.store)?;
        // An index page or a redirect is stored, so that it is not read again, but it is not a searchable document.
        report.skipped += known.saturating_sub(archives.count() + report.documents);
        Ok((report, stopped))
    }

    fn remove_gone(
        &mut self,
        items: &[CollectionFile],
        batches: &mut Batches<'_>,
        report: &mut CollectionReport,
    ) -> Result<(), IndexStoreError> {
        let there = CollectionListing::of(items);
        let known = self.updater.known.get(&self.collection.key);
        let gone: Vec<String> = known
            .into_iter()
            .flat_map(BTreeMap::keys)
            .filter(|path| !there.has(path))
            .cloned()
            .collect();
        for path in gone {
            self.remove(&path, batches, report)?;
        }
        Ok(())
    }

    /// Adds the contents of an archive. The archive itself is written last, so that a killed run opens it again.
    fn unpack(
        &mut self,
        item: &CollectionFile,
        archive: Archive,
        bytes: &[u8],
        digest: Digest,
        batches: &mut Batches<'_>,
        report: &mut CollectionReport,
    ) -> Result<(), IndexStoreError> {
        let mut held: BTreeSet<String> = BTreeSet::new();
        let mut failed = None;
        let of = self.collection;
        let wanted = |path: &str| of.includes(path) && ProseFormat::may_be(path);
        let mut each = |entry: ArchiveEntry<'_>| {
            let path = format!("{}/{}", item.path, entry.path);
            let read = member(of, self.updater, &path, entry.bytes);
            held.insert(path.clone());
            let member = CollectionFile { path, ..item.clone() };
            let taken = self.apply_read(&member, read, batches, report);
            failed = failed.take().or(taken.err());
        };
        let opened = archive.entries(bytes, &ArchiveLimits::default(), &wanted, &mut each);
        if let Some(error) = failed {
            return Err(error);
        }
        let mut reasons = match opened {
            Ok(problems) => {
                let more = (problems.more > 0).then(|| format!("and {} more", problems.more));
                problems.listed.into_iter().chain(more).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        let problem = |reason| ReadFailure { path: item.path.clone(), reason };
        report.problems.extend(reasons.drain(..).map(problem));
        let prefix = format!("{}/", item.path);
        let known = self.updater.known.get(&of.key);
        let members = known.into_iter().flat_map(|known| known.range(prefix.clone()..));
        let gone: Vec<String> = members
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(&prefix))
            .filter(|path| !held.contains(*path))
            .cloned()
            .collect();
        for path in gone {
            self.remove(&path, batches, report)?;
        }
        let put = StoreChange::Put(source(of, &item.path, digest, Vec::new()));
        batches.add(put, &mut |written| self.updater.apply(written))
    }

    fn remove(
        &mut self,
        path: &str,
        batches: &mut Batches<'_>,
        report: &mut CollectionReport,
    ) -> Result<(), IndexStoreError> {
        let collection = self.collection.key.clone();
        report.removed += 1;
        report.touched.push(path.to_owned());
        let change = StoreChange::Remove { collection, path: path.to_owned() };
        batches.add(change, &mut |written| self.updater.apply(written))
    }

    fn apply_read(
        &mut self,
        item: &CollectionFile,
        read: Result<DocumentRead, ReadFailure>,
        batches: &mut Batches<'_>,
        report: &mut CollectionReport,
    ) -> Result<(), IndexStoreError> {
        let known = self.updater.known.get(&self.collection.key);
        let was_there = known.is_some_and(|known| known.contains_key(&item.path));
        match read {
            Ok(DocumentRead::Same) => {
                self.updater.stamps.set(&self.collection.key, &item.path, Some(item.stamp));
                Ok(())
            }
            Ok(DocumentRead::NotDocument) => {
                report.skipped += 1;
                if was_there { self.remove(&item.path, batches, report) } else { Ok(()) }
            }
            Ok(DocumentRead::Opened(archive, bytes, digest)) => {
                self.note_pending_stamp(item);
                self.unpack(item, archive, &bytes, digest, batches, report)
            }
            Ok(DocumentRead::Changed(source, problems)) => {
                let is_found = !source.units.is_empty();
                report.changed += usize::from(is_found);
                report.added += usize::from(is_found && !was_there);
                report.touched.push(item.path.clone());
                let problem = |reason| ReadFailure { path: item.path.clone(), reason };
                report.problems.extend(problems.into_iter().map(problem));
                self.note_pending_stamp(item);
                let put = StoreChange::Put(source);
                batches.add(put, &mut |written| self.updater.apply(written))
            }
            Err(problem) => {
                report.problems.push(problem);
                // A file that became unreadable must not be found with its old content.
                if was_there { self.remove(&item.path, batches, report) } else { Ok(()) }
            }
        }
    }

    fn note_pending_stamp(&mut self, item: &CollectionFile) {
        let place = (self.collection.key.clone(), item.path.clone());
        self.updater.pending_stamps.insert(place, item.stamp);
    }
}

/// Reads a file, unless it is unchanged.
fn read(
    shelf: &DocumentCollection,
    site: &CollectionFolder,
    item: &CollectionFile,
    stock: &IndexUpdater,
) -> Result<DocumentRead, ReadFailure> {
    let known = stock.known.get(&shelf.key).and_then(|known| known.get(&item.path));
    let last = stock.stamps.get(&shelf.key, &item.path);
    if known.is_some() && item.stamp.1.is_some() && last == Some(item.stamp) {
        return Ok(DocumentRead::Same);
    }
    let problem = |reason: String| ReadFailure { path: item.path.clone(), reason };
    let bytes = site.read(item).map_err(|error| problem(ReadFailure::from(&error).reason))?;
    let digest = digest(shelf, item.reader, &bytes);
    if known == Some(&digest) {
        return Ok(DocumentRead::Same);
    }
    if let DocumentReader::Archive(archive) = item.reader {
        return Ok(DocumentRead::Opened(archive, bytes, digest));
    }
    let Some(format) = item.reader.format(&item.path, &bytes) else {
        return Ok(DocumentRead::NotDocument);
    };
    let document = read_with_timeout(format, &item.path, &bytes)
        .map_err(|error| problem(error.to_string()))?;
    let units = units(&document, shelf.collection.version.as_deref());
    Ok(DocumentRead::Changed(source(shelf, &item.path, digest, units), document.problems))
}

fn source(
    shelf: &DocumentCollection,
    path: &str,
    digest: Digest,
    units: Vec<IndexUnit>,
) -> IndexedSource {
    let (collection, path) = (shelf.key.clone(), path.to_owned());
    IndexedSource { collection, path, genre: Genre::Prose, digest, units }
}

/// Reads a document in an archive, unless it is unchanged.
fn member(
    shelf: &DocumentCollection,
    stock: &IndexUpdater,
    path: &str,
    bytes: &[u8],
) -> Result<DocumentRead, ReadFailure> {
    let Some(format) = ProseFormat::guess(path, bytes) else {
        return Ok(DocumentRead::NotDocument);
    };
    let digest = digest(shelf, DocumentReader::Format(format), bytes);
    let known = stock.known.get(&shelf.key).and_then(|known| known.get(path));
    if known == Some(&digest) {
        return Ok(DocumentRead::Same);
    }
    let problem = |reason: String| ReadFailure { path: path.to_owned(), reason };
    let document =
        read_with_timeout(format, path, bytes).map_err(|error| problem(error.to_string()))?;
    let units = units(&document, shelf.collection.version.as_deref());
    Ok(DocumentRead::Changed(source(shelf, path, digest, units), document.problems))
}

/// The files of a collection by path, and whether each is an archive.
struct CollectionListing<'a>(BTreeMap<&'a str, bool>);

impl<'a> CollectionListing<'a> {
    fn of(items: &'a [CollectionFile]) -> Self {
        let is_archive = |item: &CollectionFile| matches!(item.reader, DocumentReader::Archive(_));
        Self(items.iter().map(|item| (item.path.as_str(), is_archive(item))).collect())
    }

    /// Whether a document is one of the files or may be in one of the archives.
    fn has(&self, path: &str) -> bool {
        self.0.contains_key(path) || folders(path).any(|folder| self.0.get(folder) == Some(&true))
    }
}

fn readable(item: &CollectionFile, bytes: &[u8]) -> bool {
    let format = item.reader.format(&item.path, bytes);
    let is_archive = matches!(item.reader, DocumentReader::Archive(_));
    is_archive || format.is_some_and(|format| read_with_timeout(format, &item.path, bytes).is_ok())
}

fn digest(shelf: &DocumentCollection, reader: DocumentReader, bytes: &[u8]) -> Digest {
    let version = shelf.collection.version.as_deref().unwrap_or_default();
    Digest::of(&[bytes, reader.name().as_bytes(), UNITS_VERSION, version.as_bytes()])
}
