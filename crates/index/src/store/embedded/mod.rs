//! The store in a local folder.
//!
//! A generation is a manifest inside the lexical index's commit, and the files it lists. Files are written once and never
//! changed, so an open generation stays valid, however many follow. One process writes at a time, under a lock that ends
//! with it; the others see the new generation with their next query.

mod codec;
mod compact;
mod directory;
mod file;
mod lexical;
mod lock;
mod manifest;
mod part;
mod record;
mod snapshot;
mod vocabulary;
mod writer;

use super::{IndexStore, IndexStoreError, StoreChange, StoreRepairs, StoreStatus, StoreView};
use crate::{embed::Embedder, unit::Digest};
use directory::MANAGED_LIST_FILE;
use docent_files::{DataFile, FileAccess, ManagedFolder};
use file::{corrupt, failed};
use lexical::{LexicalIndex, ManifestStamp};
pub use lock::LockWait;
use manifest::IndexManifest;
use snapshot::{Snapshot, source_number};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

/// Folder of the lexical index.
const LEXICAL_FOLDER: &str = "lexical";

/// Settings of the embedded store.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedStoreSettings {
    /// Number of units above which a neighbor graph is used.
    pub graph_above: u64,
    /// Maximum time a writer waits for another one.
    pub lock_timeout: Duration,
    /// Called when a writer has to wait for another process.
    pub on_wait: Option<fn(&LockWait<'_>)>,
}

impl Default for EmbeddedStoreSettings {
    fn default() -> Self {
        Self { graph_above: 1_000_000, lock_timeout: Duration::from_mins(1), on_wait: None }
    }
}

/// A store in a folder.
#[derive(Debug)]
pub struct EmbeddedStore {
    folder: ManagedFolder,
    embedder: Arc<dyn Embedder>,
    settings: EmbeddedStoreSettings,
    current: RwLock<CurrentGeneration>,
    /// Location of each source, for one generation.
    sources: Mutex<Option<(u64, SourceMap)>>,
    /// Lock between writers of this process; the file lock is for other processes.
    writing: Mutex<()>,
}

/// Location of each source: its part and position.
type SourceMap = HashMap<(String, String), (u64, u32)>;

#[derive(Debug, Default)]
struct CurrentGeneration {
    lexical: Option<Arc<LexicalIndex>>,
    snapshot: Option<(ManifestStamp, Arc<Snapshot>)>,
}

/// Excludes all other writers while held.
#[derive(Debug)]
struct WriteLock<'a> {
    _file: DataFile,
    _thread: MutexGuard<'a, ()>,
}

impl EmbeddedStore {
    /// Opens the store in a folder, which is created if missing.
    ///
    /// A corrupt store stays closed until [`IndexStore::repair`].
    pub fn open(
        folder: impl Into<ManagedFolder>,
        embedder: Arc<dyn Embedder>,
        settings: EmbeddedStoreSettings,
    ) -> Result<Self, IndexStoreError> {
        let folder = folder.into();
        folder.make(FileAccess::Private).map_err(failed(folder.path()))?;
        let store = Self {
            folder,
            embedder,
            settings,
            current: RwLock::default(),
            sources: Mutex::default(),
            writing: Mutex::default(),
        };
        let there = || store.has_lists();
        if !there() {
            // Two threads at once would create two.
            let lock = store.lock()?;
            if !there()
                && let Err(error) = store.open_lexical()
            {
                let IndexStoreError::Corrupt { .. } = error else { return Err(error) };
                // No generation exists yet that could be lost.
                store.clear(&lock)?;
                store.open_lexical()?;
            }
        }
        Ok(store)
    }

    fn lexical_folder(&self) -> ManagedFolder {
        self.folder.join(LEXICAL_FOLDER)
    }

    /// Whether a generation seems to exist.
    fn has_lists(&self) -> bool {
        self.lexical_folder().path().join("meta.json").exists()
    }

    /// The newest generation.
    fn snapshot(&self) -> Result<Arc<Snapshot>, IndexStoreError> {
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if let (Some(lexical), Some((stamp, snapshot))) = (&current.lexical, &current.snapshot)
                && lexical.stamp() == Some(*stamp)
            {
                return Ok(Arc::clone(snapshot));
            }
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let before = current.snapshot.take();
        let lexical = match current.lexical.take() {
            Some(lexical) => lexical,
            None if !self.has_lists() => {
                return Err(corrupt("meta.json", "it is missing"));
            }
            None => Arc::new(self.open_lexical()?),
        };
        // A writer may replace and remove files while they are opened here; a retry sees the new generation.
        for _ in 0..20 {
            let stamp = lexical.stamp().ok_or_else(|| corrupt("meta.json", "it is missing"))?;
            let before = before.as_ref().map(|(_, snapshot)| snapshot.as_ref());
            let empty = IndexManifest::new(self.embedder.identity().clone());
            match Snapshot::open(&self.folder, &lexical, empty, before) {
                Ok(snapshot) => {
                    let snapshot = Arc::new(snapshot);
                    current.lexical = Some(lexical);
                    current.snapshot = Some((stamp, Arc::clone(&snapshot)));
                    return Ok(snapshot);
                }
                Err(error) if lexical.stamp() == Some(stamp) => {
                    return Err(missing_is_damage(error));
                }
                Err(error) => tracing::debug!(%error, "the index changed while it was opened"),
            }
        }
        Err(IndexStoreError::Busy { folder: self.folder.path().to_owned(), holder: None })
    }

    fn open_lexical(&self) -> Result<LexicalIndex, IndexStoreError> {
        LexicalIndex::open(&self.lexical_folder())
    }

    /// Acquires the write lock.
    fn lock(&self) -> Result<WriteLock<'_>, IndexStoreError> {
        let thread = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let file = lock::acquire(&self.folder, self.settings.lock_timeout, self.settings.on_wait)?;
        Ok(WriteLock { _file: file, _thread: thread })
    }

    /// Drops the open generation, so that the next access reads from disk.
    fn close(&self) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = CurrentGeneration { lexical: None, snapshot: None };
        *self.sources.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Removes everything. Open generations stay usable.
    fn clear(&self, _lock: &WriteLock<'_>) -> Result<(), IndexStoreError> {
        self.close();
        let lexical = self.lexical_folder();
        // Without its list the index is empty for every reader. A link is removed, not followed.
        let is_link = lexical.path().is_symlink();
        let lists = if is_link { [].as_slice() } else { &["meta.json", MANAGED_LIST_FILE] };
        for name in lists {
            ignore_missing(lexical.remove(name)).map_err(failed(&lexical.path().join(name)))?;
        }
        ignore_missing(self.folder.remove_all(LEXICAL_FOLDER)).map_err(failed(lexical.path()))?;
        self.discard_all_but(&[])
    }

    /// Removes our files except these.
    fn discard_all_but(&self, named: &[&str]) -> Result<(), IndexStoreError> {
        for name in self.folder.names().map_err(failed(self.folder.path()))? {
            let name = name.to_string_lossy();
            let ours = ["units-", "vectors-", "dead-", "graph-"];
            if ours.iter().any(|start| name.starts_with(start)) && !named.contains(&name.as_ref()) {
                file::discard(&self.folder, &name);
            }
        }
        Ok(())
    }

    /// Location of each source of a generation.
    fn source_map(snapshot: &Snapshot) -> Result<SourceMap, IndexStoreError> {
        let mut map = SourceMap::new();
        for part in &snapshot.parts {
            for slot in 0..part.meta.sources {
                if !snapshot.dead.sources.contains(source_number(part.meta.id, slot)) {
                    let source = part.source(slot)?;
                    let name = (source.collection.to_owned(), source.path.to_owned());
                    map.insert(name, (part.meta.id, slot));
                }
            }
        }
        Ok(map)
    }

    /// Reads everything, like the first query.
    fn check(&self) -> Result<Arc<Snapshot>, IndexStoreError> {
        let snapshot = self.snapshot()?;
        snapshot.verify()?;
        snapshot.parts.iter().try_for_each(|part| part.verify_records())?;
        Ok(snapshot)
    }
}

/// Ignores the error of removing a missing file.
fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Reports a missing file that a manifest lists as corruption.
fn missing_is_damage(error: IndexStoreError) -> IndexStoreError {
    match error {
        IndexStoreError::File { path, source } if source.kind() == io::ErrorKind::NotFound => {
            corrupt(&path.file_name().unwrap_or_default().to_string_lossy(), "it is missing")
        }
        error => error,
    }
}

impl IndexStore for EmbeddedStore {
    fn collections(&self) -> Result<BTreeSet<String>, IndexStoreError> {
        let snapshot = self.snapshot()?;
        let mut collections = BTreeSet::new();
        for part in &snapshot.parts {
            for slot in 0..part.meta.sources {
                let source = part.source(slot)?;
                let gone = snapshot.dead.sources.contains(source_number(part.meta.id, slot));
                if !gone && !collections.contains(source.collection) {
                    collections.insert(source.collection.to_owned());
                }
            }
        }
        Ok(collections)
    }

    fn digests(&self, collection: &str) -> Result<BTreeMap<String, Digest>, IndexStoreError> {
        let snapshot = self.snapshot()?;
        let mut digests = BTreeMap::new();
        for part in &snapshot.parts {
            for slot in 0..part.meta.sources {
                let source = part.source(slot)?;
                let gone = snapshot.dead.sources.contains(source_number(part.meta.id, slot));
                if source.collection == collection && !gone {
                    digests.insert(source.path.to_owned(), source.digest);
                }
            }
        }
        Ok(digests)
    }

    fn write(
        &self,
        changes: &mut dyn Iterator<Item = StoreChange>,
    ) -> Result<StoreStatus, IndexStoreError> {
        let lock = self.lock()?;
        let written = writer::write(self, &lock, changes);
        if written.is_err() {
            self.close();
        }
        written?;
        compact::tidy(self, &lock)?;
        self.status()
    }

    fn view(&self) -> Result<Arc<dyn StoreView>, IndexStoreError> {
        Ok(self.snapshot()?)
    }

    fn repair(&self) -> Result<StoreRepairs, IndexStoreError> {
        let mut repairs = StoreRepairs::default();
        if let Err(IndexStoreError::Corrupt { .. }) = self.check() {
            let lock = self.lock()?;
            self.close();
            // Another thread may have been faster.
            if let Err(error @ IndexStoreError::Corrupt { .. }) = self.check() {
                tracing::warn!(%error, "rebuilding the index");
                repairs.rebuilt = Some(error.to_string());
                self.clear(&lock)?;
                self.open_lexical()?;
            }
        }
        let before = self.snapshot()?.manifest.identity.clone();
        if before != *self.embedder.identity() {
            writer::reembed(self, &self.lock()?)?;
            repairs.reembedded = Some(before);
        }
        Ok(repairs)
    }

    fn status(&self) -> Result<StoreStatus, IndexStoreError> {
        Ok(self.snapshot()?.status())
    }
}
