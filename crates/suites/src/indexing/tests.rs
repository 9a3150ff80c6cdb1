//! Indexing with a real store over real folders.

use super::{index_sync::FILES_PER_STOP_CHECK, *};
use docent_index::{
    Digest, EmbeddedStore, EmbeddedStoreSettings, IndexQuery, StoreChange, StoreRepairs,
    StoreStatus, StoreView,
    embed::{Embedder, EmbeddingTable},
    search,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Two folders to serve and one for the store.
struct TwoRootProject {
    dir: TempDir,
    store: EmbeddedStore,
}

impl TwoRootProject {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["one", "two"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let embedder: Arc<dyn Embedder> = EmbeddingTable::built_in();
        let store = EmbeddedStore::open(
            dir.path().join("index"),
            embedder,
            EmbeddedStoreSettings::default(),
        )
        .unwrap();
        Self { dir, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn roots(&self, names: &[&str]) -> ServedRoots {
        ServedRoots::open(&names.iter().map(|name| self.path(name)).collect::<Vec<_>>()).unwrap()
    }

    fn sync(&self) -> IndexReport {
        sync(&self.roots(&["one"]), &self.store, SyncCallbacks::default()).unwrap()
    }

    /// Counts of a run: files, changed, removed and problems.
    #[track_caller]
    fn check(&self, want: [usize; 4]) -> IndexReport {
        let report = self.sync();
        let got = [report.files, report.changed, report.removed, report.problems.len()];
        assert_eq!(got, want, "{report:?}");
        report
    }

    fn known(&self) -> Vec<String> {
        let all = [CODE, DOCS].map(|collection| self.store.digests(collection).unwrap());
        all.into_iter().flat_map(BTreeMap::into_keys).collect()
    }

    /// Location of the best hit.
    fn first(&self, text: &str) -> Option<String> {
        let answer =
            search(&self.store, EmbeddingTable::built_in().as_ref(), &IndexQuery::new(text))
                .unwrap();
        answer.hits.into_iter().next().map(|hit| hit.found.path)
    }
}

/// Timeout longer than any run.
const EVENT_TIMEOUT: Duration = Duration::from_secs(20);
const GREET: &str = "def greet(name):\n    \"\"\"Says hello to someone.\"\"\"\n    return name\n";

#[test]
fn only_what_changed_is_written() {
    let world = TwoRootProject::new();
    world.write("one/a.py", GREET).write("one/b.ts", "export function parseInvoice() {}\n");
    world.write("one/docs/guide.md", "# Guide\n\nHow to set it up.\n\n## Backups\n\nDaily.\n");
    world.write("one/empty.py", "").write("one/photo.png", [0, 1, 2]);
    let first = world.check([4, 4, 0, 0]);
    assert_eq!((first.units, first.generation, first.stopped), (4, 1, false));
    assert_eq!((first.rebuilt, first.reembedded), (None, None));
    let again = world.check([4, 0, 0, 0]);
    assert_eq!(again.generation, 1, "a write without a change");
    assert_eq!(world.first("invoice"), Some("b.ts".into()));
    assert_eq!(world.first("backups every day"), Some("docs/guide.md".into()));
    world.write("one/b.ts", "export function parseReceipt() {}\nexport const a = 1;\n");
    let changed = world.check([4, 1, 0, 0]);
    assert_eq!((changed.units, changed.generation), (5, 2));
    assert_eq!(world.first("receipt"), Some("b.ts".into()));
}

#[test]
fn what_is_gone_or_renamed_is_found_no_more() {
    let world = TwoRootProject::new();
    world.write("one/a.py", GREET).write("one/b.md", "# Bread\n\nFlour and water.\n");
    world.check([2, 2, 0, 0]);
    fs::rename(world.path("one/a.py"), world.path("one/c.py")).unwrap();
    world.check([2, 1, 1, 0]);
    assert_eq!(world.known(), ["c.py", "b.md"]);
    assert_eq!(world.first("greet"), Some("c.py".into()));
    fs::remove_file(world.path("one/b.md")).unwrap();
    world.write("one/.gitignore", "c.py\n");
    assert_eq!(world.check([0, 0, 2, 0]).units, 0);
    assert_eq!(world.first("greet"), None);
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_and_not_a_failure() {
    let world = TwoRootProject::new();
    world.write("one/a.py", GREET).write("one/b.py", GREET).write("one/c.md", "# C\n\nText.\n");
    world.check([3, 3, 0, 0]);
    world.write("one/a.py", b"def a():\n    return '\0'\n");
    world.write("one/b.py", vec![b'#'; (2 << 20) + 1]);
    let report = world.check([2, 0, 2, 1]);
    let said: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["a.py: not text: it contains NUL bytes"]);
    assert_eq!(report.left_out, ExcludedFiles { too_large: 1, ..ExcludedFiles::default() });
    assert_eq!(world.known(), ["c.md"]);
    let report = world.check([2, 0, 0, 1]);
    assert_eq!(report.generation, 2, "a problem that stays does not count as a change");
    world.write("one/a.py", GREET).write("one/b.py", GREET);
    world.check([3, 2, 0, 0]);
}

#[test]
fn secrets_and_links_out_are_not_indexed() {
    let world = TwoRootProject::new();
    world.write("two/secret.md", "# Outside\n").write("one/.env.md", "# Hidden\n");
    world
        .write("one/id_rsa.md", "# Key\n")
        .write("one/.ssh/notes.md", "# Keys\n")
        .write("one/a.md", "# A\n\nText.\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(world.path("two/secret.md"), world.path("one/link.md")).unwrap();
    world.check([1, 1, 0, 0]);
    assert_eq!(world.known(), ["a.md"]);
}

#[test]
fn roots_are_distinct_and_no_file_is_read_twice() {
    let world = TwoRootProject::new();
    world.write("one/a.py", GREET).write("two/a.py", GREET).write("one/in/b.py", GREET);
    let sync_of =
        |roots: &[&str]| sync(&world.roots(roots), &world.store, SyncCallbacks::default()).unwrap();
    let report = sync_of(&["one", "two", "one/in"]);
    assert_eq!((report.files, report.changed), (3, 3));
    let full = |name: &str| world.path(name).to_string_lossy().into_owned();
    let mut want = ["a.py".to_owned(), full("two/a.py"), full("one/in/b.py")];
    want.sort();
    assert_eq!(world.known(), want);
    let report = sync_of(&["one"]);
    assert_eq!((report.files, report.changed, report.removed), (2, 1, 2));
    assert_eq!(world.known(), ["a.py", "in/b.py"]);
}

#[test]
fn the_lag_is_measured_without_a_write() {
    let world = TwoRootProject::new();
    world.write("one/a.py", GREET).write("one/b.py", GREET).write("one/c.py", GREET);
    world.check([3, 3, 0, 0]);
    let roots = world.roots(&["one"]);
    let now = || measure_lag(&roots, &world.store, SyncCallbacks::default()).unwrap();
    assert_eq!(now(), IndexLag::default());
    world.write("one/a.py", "def other(): pass\n").write("one/b.py", b"\0");
    world.write("one/d.md", "# D\n").write("one/e.md", b"\0");
    fs::remove_file(world.path("one/c.py")).unwrap();
    assert_eq!(now(), IndexLag { changed: 2, removed: 2 });
    assert_eq!(world.store.status().unwrap().generation, 1);
}

/// A store that fails at one of its writes, like a full disk.
#[derive(Debug)]
struct FailingStore<'a> {
    store: &'a EmbeddedStore,
    /// Number of writes until the failure.
    left: AtomicUsize,
}

impl IndexStore for FailingStore<'_> {
    fn collections(&self) -> Result<BTreeSet<String>, IndexStoreError> {
        self.store.collections()
    }

    fn digests(&self, collection: &str) -> Result<BTreeMap<String, Digest>, IndexStoreError> {
        self.store.digests(collection)
    }

    fn write(
        &self,
        changes: &mut dyn Iterator<Item = StoreChange>,
    ) -> Result<StoreStatus, IndexStoreError> {
        let count = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count).is_err() {
            let source = io::ErrorKind::StorageFull.into();
            return Err(IndexStoreError::File { path: Path::new("units").into(), source });
        }
        self.store.write(changes)
    }

    fn view(&self) -> Result<Arc<dyn StoreView>, IndexStoreError> {
        self.store.view()
    }

    fn repair(&self) -> Result<StoreRepairs, IndexStoreError> {
        self.store.repair()
    }

    fn status(&self) -> Result<StoreStatus, IndexStoreError> {
        self.store.status()
    }
}

#[test]
fn a_run_goes_on_where_the_last_one_failed() {
    let world = TwoRootProject::new();
    for n in 0..10 {
        world.write(&format!("one/f{n}.py"), format!("def f{n}(): pass\n"));
    }
    let roots = world.roots(&["one"]);
    let failing = FailingStore { store: &world.store, left: AtomicUsize::new(2) };
    let failed = IndexSync::new(&roots, &failing)
        .with_batch_size(3)
        .sync_all(&Wanted::default(), SyncCallbacks::default())
        .unwrap_err();
    assert!(matches!(failed, IndexStoreError::File { .. }), "{failed}");
    assert_eq!(world.known().len(), 6, "two whole batches stay");
    let report = world.check([10, 4, 0, 0]);
    assert_eq!(report.units, 10);
}

#[test]
fn progress_is_reported_and_stopping_keeps_written_files() {
    let world = TwoRootProject::new();
    for n in 0..FILES_PER_STOP_CHECK + 10 {
        world.write(&format!("one/f{n}.py"), format!("def f{n}(): pass\n"));
    }
    let (roots, all) = (world.roots(&["one"]), FILES_PER_STOP_CHECK + 10);
    let steps = Mutex::new(Vec::new());
    let progress = |done, of| steps.lock().unwrap().push((done, of));
    let stopped = || steps.lock().unwrap().len() > 1;
    let callbacks = SyncCallbacks { progress: &progress, stopped: &stopped };
    let report = sync(&roots, &world.store, callbacks).unwrap();
    assert!(report.stopped);
    assert_eq!(report.changed, FILES_PER_STOP_CHECK);
    assert_eq!(*steps.lock().unwrap(), [(0, all), (FILES_PER_STOP_CHECK, all)]);
    let at_once = SyncCallbacks { stopped: &|| true, ..SyncCallbacks::default() };
    let report = sync(&roots, &world.store, at_once).unwrap();
    assert_eq!((report.stopped, report.removed), (true, 0), "what was not looked for is not gone");
    assert_eq!(world.check([all, 10, 0, 0]).units, all as u64);
}

#[test]
fn a_corrupt_index_is_rebuilt_and_says_why() {
    let world = TwoRootProject::new();
    world.write("one/a.py", GREET);
    world.check([1, 1, 0, 0]);
    for entry in fs::read_dir(world.path("index")).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("units-") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    let embedder: Arc<dyn Embedder> = EmbeddingTable::built_in();
    let store =
        EmbeddedStore::open(world.path("index"), embedder, EmbeddedStoreSettings::default())
            .unwrap();
    let report = sync(&world.roots(&["one"]), &store, SyncCallbacks::default()).unwrap();
    assert!(report.rebuilt.as_deref().is_some_and(|why| why.contains("missing")), "{report:?}");
    assert_eq!((report.changed, report.units), (1, 1));
}

#[test]
fn an_index_follows_its_files_until_it_is_stopped() {
    let world = TwoRootProject::new();
    world.write("one/a.py", GREET);
    let (sender, reports) = sync_channel(16);
    let stop = AtomicBool::new(false);
    let stopped = || stop.load(Ordering::SeqCst);
    let callbacks = SyncCallbacks { stopped: &stopped, ..SyncCallbacks::default() };
    thread::scope(|scope| {
        let following = scope.spawn(|| {
            let roots = world.roots(&["one"]);
            follow(&roots, &world.store, callbacks, |report| sender.send(report).unwrap())
        });
        // A change may arrive in several batches, so only the final state counts.
        let until = |known: &[&str]| {
            while world.known() != known {
                reports.recv_timeout(EVENT_TIMEOUT).expect("nothing was heard").unwrap();
            }
        };
        until(&["a.py"]);
        world.write("one/new/deep/b.py", GREET);
        until(&["a.py", "new/deep/b.py"]);
        fs::remove_dir_all(world.path("one/new")).unwrap();
        until(&["a.py"]);
        world.write("one/new/deep/c.py", GREET);
        until(&["a.py", "new/deep/c.py"]);
        // A new folder is walked from itself on.
        let odd = std::ffi::OsStr::from_bytes(b"bad\xff.py");
        world.write("two/late/d.py", GREET);
        fs::write(world.path("two/late").join(odd), GREET).unwrap();
        fs::rename(world.path("two/late"), world.path("one/late")).unwrap();
        let mut problems = Vec::new();
        while problems.is_empty() {
            problems = reports
                .recv_timeout(EVENT_TIMEOUT)
                .expect("no problem was reported")
                .unwrap()
                .problems;
        }
        assert_eq!(problems[0].path, "late/bad\u{fffd}.py");
        stop.store(true, Ordering::SeqCst);
        following.join().unwrap().unwrap();
    });
}
