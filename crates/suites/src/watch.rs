//! Watches folders for file changes and reports them in batches. Knows nothing of file contents.

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};
use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// A batch ends after this long without changes: editors write a file in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(20);
/// Maximum delay of a batch, however busy the folder is.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(100);
/// Maximum number of queued changes. Beyond it, changes are dropped and the batch is marked.
const MAX_QUEUED_EVENTS: usize = 4096;

/// Why changes can't be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The operating system provides no watcher, or none for this folder.
    #[error("cannot watch {} for changes", folder.display())]
    Refused {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        #[source]
        source: notify::Error,
    },
    /// The thread could not be started.
    #[error("cannot start the thread that watches for changes")]
    Thread(#[source] io::Error),
}

/// Changes within a short time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeBatch {
    /// Files and folders that were written, created, renamed or removed.
    pub paths: BTreeSet<PathBuf>,
    /// Whether changes were dropped, so that anything may have changed.
    pub lost: bool,
}

/// Watches folders until dropped.
pub struct FileWatcher {
    watcher: Mutex<RecommendedWatcher>,
    folders: Mutex<BTreeSet<PathBuf>>,
}

impl fmt::Debug for FileWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWatcher").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl FileWatcher {
    /// Starts without folders. `heard` is called on its own thread, one batch at a time.
    pub fn start(heard: impl Fn(ChangeBatch) + Send + 'static) -> Result<Self, WatchError> {
        let (sender, receiver) = sync_channel(MAX_QUEUED_EVENTS);
        let lost = Arc::new(AtomicBool::new(false));
        let listener = listen(sender, Arc::clone(&lost));
        let watcher = notify::recommended_watcher(listener).map_err(|source| {
            WatchError::Refused { folder: PathBuf::from("any folder"), source }
        })?;
        thread::Builder::new()
            .name("docent-watch".into())
            .spawn(move || while collect(&receiver, &lost).map(&heard).is_some() {})
            .map_err(WatchError::Thread)?;
        Ok(Self { watcher: Mutex::new(watcher), folders: Mutex::default() })
    }

    /// Watches the direct contents of this folder.
    pub fn add(&self, folder: &Path) -> Result<(), WatchError> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.contains(folder) {
            return Ok(());
        }
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        watcher
            .watch(folder, RecursiveMode::NonRecursive)
            .map_err(|source| WatchError::Refused { folder: folder.to_owned(), source })?;
        folders.insert(folder.to_owned());
        Ok(())
    }

    /// Forgets a removed folder, so that it can be added again if it is recreated.
    pub fn forget(&self, folder: &Path) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.remove(folder) {
            // If the folder is gone, so is its watch, which is the goal.
            drop(self.watcher.lock().unwrap_or_else(PoisonError::into_inner).unwatch(folder));
        }
    }
}

/// Callback of the watcher. `None` in the queue means changes without a path.
fn listen(
    sender: SyncSender<Option<PathBuf>>,
    lost: Arc<AtomicBool>,
) -> impl FnMut(notify::Result<Event>) {
    let send = move |path: Option<PathBuf>| {
        if path.is_none() {
            lost.store(true, Ordering::Relaxed);
        }
        if let Err(TrySendError::Full(_)) = sender.try_send(path) {
            lost.store(true, Ordering::Relaxed);
        }
    };
    move |event| {
        let Ok(event) = event else { return send(None) };
        if event.need_rescan() {
            send(None);
        }
        // Reading a file must not count as a change: a change is followed by reading the file.
        if matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_))) {
            return;
        }
        event.paths.into_iter().map(Some).for_each(&send);
    }
}

/// Waits for the next batch; `None` once the watcher is dropped.
fn collect(changes: &Receiver<Option<PathBuf>>, lost: &AtomicBool) -> Option<ChangeBatch> {
    let first = changes.recv().ok()?;
    let mut batch = ChangeBatch { paths: first.into_iter().collect(), lost: false };
    let end = Instant::now() + MAX_BATCH_DELAY;
    let patience = || QUIET_PERIOD.min(end.saturating_duration_since(Instant::now()));
    while let Ok(path) = changes.recv_timeout(patience()) {
        batch.paths.extend(path);
    }
    batch.lost = lost.swap(false, Ordering::Relaxed);
    Some(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, sync::mpsc::RecvTimeoutError};

    const EVENT_TIMEOUT: Duration = Duration::from_secs(10);

    fn watched(folder: &Path) -> (FileWatcher, Receiver<ChangeBatch>) {
        let (sender, batches) = sync_channel(64);
        let watch = FileWatcher::start(move |batch| drop(sender.send(batch))).unwrap();
        watch.add(folder).unwrap();
        watch.add(folder).unwrap();
        (watch, batches)
    }

    /// Receives batches until one contains the path.
    fn heard(batches: &Receiver<ChangeBatch>, path: &Path) -> bool {
        let end = Instant::now() + EVENT_TIMEOUT;
        while let Ok(batch) = batches.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if batch.paths.contains(path) {
                return true;
            }
        }
        false
    }

    #[test]
    fn writes_renames_and_removals_are_heard() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (_watch, batches) = watched(&base);
        fs::write(base.join("a"), "1").unwrap();
        assert!(heard(&batches, &base.join("a")));
        fs::rename(base.join("a"), base.join("b")).unwrap();
        assert!(heard(&batches, &base.join("b")));
        fs::remove_file(base.join("b")).unwrap();
        assert!(heard(&batches, &base.join("b")));
    }

    #[test]
    fn reading_is_not_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::write(base.join("a"), "1").unwrap();
        let (_watch, batches) = watched(&base);
        fs::read(base.join("a")).unwrap();
        fs::write(base.join("end"), "1").unwrap();
        let first = batches.recv_timeout(EVENT_TIMEOUT).unwrap();
        assert_eq!(first.paths, BTreeSet::from([base.join("end")]));
    }

    #[test]
    fn the_thread_ends_with_the_watch() {
        let folder = tempfile::tempdir().unwrap();
        let (watch, batches) = watched(folder.path());
        drop(watch);
        assert!(matches!(batches.recv_timeout(EVENT_TIMEOUT), Err(RecvTimeoutError::Disconnected)));
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let (watch, _batches) = watched(folder.path());
        let error = watch.add(&folder.path().join("none")).unwrap_err();
        assert!(error.to_string().ends_with("none for changes"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_owned_up_to() {
        let lost = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = sync_channel(1);
        let mut listener = listen(sender, Arc::clone(&lost));
        let event = |path: &str| Ok(Event::new(EventKind::Any).add_path(path.into()));
        listener(event("a"));
        listener(event("b"));
        let batch = collect(&receiver, &lost).unwrap();
        assert_eq!(batch, ChangeBatch { paths: BTreeSet::from(["a".into()]), lost: true });
        listener(Err(notify::Error::generic("overflow")));
        assert_eq!(
            collect(&receiver, &lost),
            Some(ChangeBatch { paths: BTreeSet::new(), lost: true })
        );
        listener(event("c"));
        let batch = collect(&receiver, &lost).unwrap();
        assert_eq!(batch, ChangeBatch { paths: BTreeSet::from(["c".into()]), lost: false });
    }
}
