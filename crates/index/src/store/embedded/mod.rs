//! The store in one folder of the user's own disk.
//!
//! A generation is a manifest inside the lexical index's commit, and the files that it names. Files are written once and
//! never changed, so whoever has a generation open keeps it, however many are written after it. One process writes at a
//! time, under a lock that ends with it; the others see the new generation when they next ask.

mod codec;
mod compact;
mod directory;
mod file;
mod lexical;
mod manifest;
mod part;
mod record;
mod snapshot;
mod vocabulary;
mod writer;

use super::{Change, Repairs, Status, Store, StoreError, View};
use crate::{embed::Embedder, unit::Digest};
use directory::MANAGED;
use file::{damaged, failed};
use lexical::{Lexical, Stamp};
use manifest::Manifest;
use snapshot::{Snapshot, source_number};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    thread,
    time::{Duration, Instant},
};

/// How the embedded store behaves.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Above so many units, the nearest are found along a graph.
    pub graph_above: u64,
    /// How long a writer waits for another one.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { graph_above: 1_000_000, patience: Duration::from_mins(1) }
    }
}

/// The store in a folder.
#[derive(Debug)]
pub struct Embedded {
    folder: PathBuf,
    embedder: Arc<dyn Embedder>,
    settings: Settings,
    current: RwLock<Current>,
    /// Where each source is, for the generation that it is of.
    sources: Mutex<Option<(u64, SourceMap)>>,
    /// One writer of this process at a time; the file's lock is for the others.
    writing: Mutex<()>,
}

/// Where a source is: its part and its place there.
type SourceMap = HashMap<(String, String), (u64, u32)>;

#[derive(Debug, Default)]
struct Current {
    lexical: Option<Arc<Lexical>>,
    snapshot: Option<(Stamp, Arc<Snapshot>)>,
}

/// Nobody else writes for as long as it is held.
#[derive(Debug)]
struct WriteLock<'a> {
    _file: File,
    _thread: MutexGuard<'a, ()>,
}

impl Embedded {
    /// Opens the store in a folder, which is made where it is not there.
    ///
    /// What is damaged stays closed until [`Store::repair`].
    pub fn open(
        folder: &Path,
        embedder: Arc<dyn Embedder>,
        settings: Settings,
    ) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let store = Self {
            folder: folder.to_owned(),
            embedder,
            settings,
            current: RwLock::default(),
            sources: Mutex::default(),
            writing: Mutex::default(),
        };
        let there = || store.lexical_folder().join("meta.json").exists();
        if !there() {
            // Two at once would make two.
            let lock = store.lock()?;
            if !there()
                && let Err(error) = store.open_lexical()
            {
                let StoreError::Damaged { .. } = error else { return Err(error) };
                // There is no generation yet that could be lost.
                store.clear(&lock)?;
                store.open_lexical()?;
            }
        }
        Ok(store)
    }

    fn lexical_folder(&self) -> PathBuf {
        self.folder.join("lexical")
    }

    /// The newest generation.
    fn snapshot(&self) -> Result<Arc<Snapshot>, StoreError> {
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
            None if !self.lexical_folder().join("meta.json").exists() => {
                return Err(damaged("meta.json", "it is missing"));
            }
            None => Arc::new(self.open_lexical()?),
        };
        // A writer may replace and remove files while they are opened here: what comes after it is whole again.
        for _ in 0..20 {
            let stamp = lexical.stamp().ok_or_else(|| damaged("meta.json", "it is missing"))?;
            let before = before.as_ref().map(|(_, snapshot)| snapshot.as_ref());
            let empty = Manifest::new(self.embedder.identity().clone());
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
        Err(StoreError::Busy(self.folder.clone()))
    }

    fn open_lexical(&self) -> Result<Lexical, StoreError> {
        Lexical::open(&self.lexical_folder())
    }

    /// Waits until nobody else writes.
    fn lock(&self) -> Result<WriteLock<'_>, StoreError> {
        let thread = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.folder.join("lock");
        let open = || File::options().create(true).truncate(false).write(true).open(&path);
        let file = file::clear_for_lock(&path).and_then(|()| open()).map_err(failed(&path))?;
        let end = Instant::now() + self.settings.patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(WriteLock { _file: file, _thread: thread }),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(self.folder.clone())),
                Err(TryLockError::Error(source)) => {
                    return Err(StoreError::File { path, source });
                }
            }
        }
    }

    /// Forgets what is open, so that the next look starts from the disk.
    fn close(&self) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Current { lexical: None, snapshot: None };
        *self.sources.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Removes everything. Whoever has an older generation open keeps it.
    fn clear(&self, _lock: &WriteLock<'_>) -> Result<(), StoreError> {
        self.close();
        let lexical = self.lexical_folder();
        // Without its list the index is empty for everybody, whatever happens to the rest. Behind a link it is another's.
        let lists = if lexical.is_symlink() { [].as_slice() } else { &["meta.json", MANAGED] };
        for file in lists {
            let path = lexical.join(file);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::File { path, source: error });
                }
                _ => {}
            }
        }
        if lexical.symlink_metadata().is_ok() {
            fs::remove_dir_all(&lexical).map_err(failed(&lexical))?;
        }
        self.discard_all_but(&[])
    }

    /// Removes our files that are not among these.
    fn discard_all_but(&self, named: &[&str]) -> Result<(), StoreError> {
        for entry in fs::read_dir(&self.folder).map_err(failed(&self.folder))?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let ours = ["units-", "vectors-", "dead-", "graph-"];
            if ours.iter().any(|start| name.starts_with(start)) && !named.contains(&name.as_ref()) {
                file::discard(&entry.path());
            }
        }
        Ok(())
    }

    /// Where each source of a generation is.
    fn source_map(snapshot: &Snapshot) -> Result<SourceMap, StoreError> {
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

    /// Reads everything, as the first question would.
    fn check(&self) -> Result<Arc<Snapshot>, StoreError> {
        let snapshot = self.snapshot()?;
        snapshot.verify()?;
        snapshot.parts.iter().try_for_each(|part| part.verify_records())?;
        Ok(snapshot)
    }
}

/// A file that a manifest names and that is not there is damage, not bad luck.
fn missing_is_damage(error: StoreError) -> StoreError {
    match error {
        StoreError::File { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            damaged(&path.file_name().unwrap_or_default().to_string_lossy(), "it is missing")
        }
        error => error,
    }
}

impl Store for Embedded {
    fn collections(&self) -> Result<BTreeSet<String>, StoreError> {
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

    fn digests(&self, collection: &str) -> Result<BTreeMap<String, Digest>, StoreError> {
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

    fn write(&self, changes: &mut dyn Iterator<Item = Change>) -> Result<Status, StoreError> {
        let lock = self.lock()?;
        let written = writer::write(self, &lock, changes);
        if written.is_err() {
            self.close();
        }
        written?;
        compact::tidy(self, &lock)?;
        self.status()
    }

    fn view(&self) -> Result<Arc<dyn View>, StoreError> {
        Ok(self.snapshot()?)
    }

    fn repair(&self) -> Result<Repairs, StoreError> {
        let mut repairs = Repairs::default();
        if let Err(StoreError::Damaged { .. }) = self.check() {
            let lock = self.lock()?;
            self.close();
            // Somebody may have been faster.
            if let Err(error @ StoreError::Damaged { .. }) = self.check() {
                tracing::warn!(%error, "the index is made anew");
                repairs.rebuilt = Some(error.to_string());
                self.clear(&lock)?;
                self.open_lexical()?;
            }
        }
        let before = self.snapshot()?.manifest.identity.clone();
        if before != *self.embedder.identity() {
            writer::embed_anew(self, &self.lock()?)?;
            repairs.embedded_anew = Some(before);
        }
        Ok(repairs)
    }

    fn status(&self) -> Result<Status, StoreError> {
        Ok(self.snapshot()?.status())
    }
}
