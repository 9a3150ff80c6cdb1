//! The embedded store: the contract, and tests of its own.

use crate::{
    contract::{StoreLocation, store_contract},
    project::{names, open, open_with, project, source, unit, write},
};
use docent_index::{
    EmbeddedStore, EmbeddedStoreSettings, IndexQuery, IndexStore, StoreChange,
    embed::{Embedder, EmbeddingTable},
};
use std::{collections::HashSet, fs, path::Path, sync::Arc};
use tempfile::TempDir;

struct TempStoreFolder(TempDir);

impl StoreLocation for TempStoreFolder {
    fn open(&self, embedder: Arc<dyn Embedder>) -> Box<dyn IndexStore> {
        Box::new(open_with(self.0.path(), embedder))
    }
}

store_contract!(TempStoreFolder(tempfile::tempdir().unwrap()));

fn files(folder: &Path) -> HashSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

pub(crate) fn put(n: usize, version: usize) -> StoreChange {
    let name = format!("handler_{n}_version_{version}");
    StoreChange::Put(source(
        "app",
        &format!("src/f{n}.rs"),
        vec![unit("function", &name, "", "fn x() {}")],
    ))
}

#[test]
fn many_writes_leave_few_files_and_everything_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for version in 0..30 {
        write(&store, (0..40).map(|n| put(n, version)).collect());
    }
    let status = store.status().unwrap();
    assert_eq!((status.units, status.sources), (40, 40));
    let left = files(folder.path());
    assert!(left.len() < 30, "{left:?}");
    let lexical = files(&folder.path().join("lexical"));
    assert!(lexical.len() < 120, "{}", lexical.len());
    assert_eq!(names(&store, "handler_7_version_29")[0], "handler_7_version_29");
    drop(store);
    let again = open(folder.path());
    assert_eq!(again.status().unwrap(), status);
    assert_eq!(names(&again, "handler_7_version_29")[0], "handler_7_version_29");
    assert_eq!(again.repair().unwrap(), docent_index::StoreRepairs::default());
}

#[test]
fn a_graph_finds_what_a_scan_finds() {
    let scanned = tempfile::tempdir().unwrap();
    let linked = tempfile::tempdir().unwrap();
    let scan = open(scanned.path());
    let settings = EmbeddedStoreSettings { graph_above: 1_000, ..EmbeddedStoreSettings::default() };
    let graph = EmbeddedStore::open(linked.path(), EmbeddingTable::built_in(), settings).unwrap();
    let words =
        ["read", "write", "file", "user", "token", "parse", "socket", "cache", "draw", "lock"];
    let name = |n: usize| {
        let word = |d: usize| words[n / d % 10];
        format!("{}_{}_{}_{}", word(1), word(10), word(100), n)
    };
    let changes: Vec<StoreChange> = (0..1_200)
        .map(|n| {
            StoreChange::Put(source(
                "app",
                &format!("{n}.rs"),
                vec![unit("function", &name(n), "", "")],
            ))
        })
        .collect();
    for store in [&scan, &graph] {
        write(store, changes.clone());
        write(store, (0..50).map(|n| put(n, 1)).collect());
        let gone = (0..20)
            .map(|n| StoreChange::Remove { collection: "app".into(), path: format!("{n}.rs") });
        write(store, gone.collect());
    }
    assert!(files(linked.path()).iter().any(|file| file.starts_with("graph-")));
    assert!(!files(scanned.path()).iter().any(|file| file.starts_with("graph-")));
    let found = |store: &EmbeddedStore, text: &str| -> HashSet<String> {
        let query = IndexQuery { limit: 10, ..IndexQuery::new(text) };
        let hits = crate::project::hits(store, &query);
        hits.into_iter().map(|hit| hit.found.unit.name).collect()
    };
    for text in ["parse the cache of a user", "lock a socket", "handler version", "draw"] {
        let (exact, near) = (found(&scan, text), found(&graph, text));
        assert!(exact.intersection(&near).count() >= 8, "{text}: {exact:?} {near:?}");
        assert!(!near.contains(&name(3)), "{near:?}");
    }
}

#[test]
fn a_folder_that_can_t_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = EmbeddedStore::open(
        file.join("index"),
        EmbeddingTable::built_in(),
        EmbeddedStoreSettings::default(),
    );
    assert!(error.unwrap_err().to_string().contains("file/index"), "the path is in the message");
}

#[test]
fn a_busy_writer_is_waited_for_and_then_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings = EmbeddedStoreSettings {
        lock_timeout: std::time::Duration::from_millis(50),
        ..EmbeddedStoreSettings::default()
    };
    let store = EmbeddedStore::open(folder.path(), EmbeddingTable::built_in(), settings).unwrap();
    write(&store, project());
    let lock = fs::File::options().write(true).open(folder.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let error = store.write(&mut project().into_iter()).unwrap_err().to_string();
    assert!(error.starts_with("another process is writing"), "{error}");
    assert_eq!(names(&store, "draw the logo")[0], "draw_logo");
    lock.unlock().unwrap();
    write(&store, project());
}
