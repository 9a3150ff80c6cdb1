//! Several processes on one folder: two editors, each with its own docent.

use crate::{
    crash::child,
    project::{open, source, unit, write},
};
use docent_index::{IndexQuery, IndexStore, StoreChange, embed::EmbeddingTable, search};
use std::{
    collections::BTreeSet,
    env,
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

/// Duration of the test. A minute before a release: `DOCENT_TEST_SECONDS=60`.
fn seconds() -> u64 {
    env::var("DOCENT_TEST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Each writer has its own files, which are all of one version at any time.
fn version(writer: usize, n: usize) -> Vec<StoreChange> {
    (0..10)
        .map(|file| {
            let name = format!("writer_{writer}_version_{n}");
            let path = format!("w{writer}/f{file}.rs");
            StoreChange::Put(source(
                &format!("w{writer}"),
                &path,
                vec![unit("function", &name, "", "x")],
            ))
        })
        .collect()
}

fn is_whole(store: &dyn IndexStore) -> bool {
    ["w0", "w1"].iter().all(|collection| {
        let digests: BTreeSet<_> = store.digests(collection).unwrap().into_values().collect();
        digests.len() <= 1
    })
}

/// Writes until time is up.
#[test]
#[ignore = "two_writers_and_ten_readers_get_along runs it in processes of its own"]
fn child_writes() {
    let folder = env::var_os("DOCENT_TEST_FOLDER").unwrap();
    let writer: usize = env::var("DOCENT_TEST_ROUNDS").unwrap().parse().unwrap();
    let store = open(Path::new(&folder));
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut n = 0;
    while Instant::now() < end || n < 3 {
        write(&store, version(writer, n));
        n += 1;
    }
}

/// Reads until time is up.
#[test]
#[ignore = "two_writers_and_ten_readers_get_along runs it in processes of its own"]
fn child_reads() {
    let folder = env::var_os("DOCENT_TEST_FOLDER").unwrap();
    let store = open(Path::new(&folder));
    let end = Instant::now() + Duration::from_secs(seconds());
    let (mut questions, mut generation) = (0, 0);
    while Instant::now() < end || questions < 20 {
        let answer =
            search(&store, EmbeddingTable::built_in().as_ref(), &IndexQuery::new("writer version"));
        let answer = answer.unwrap();
        assert!(answer.generation >= generation, "a reader goes back");
        generation = answer.generation;
        assert!(is_whole(&store), "a write is seen in part");
        questions += 1;
    }
}

fn start(test: &str, folder: &Path, number: usize) -> Child {
    let mut command: Command = child(test, folder, number, "");
    command.stderr(std::process::Stdio::inherit());
    command.spawn().unwrap()
}

#[test]
fn two_writers_and_ten_readers_get_along() {
    let folder = tempfile::tempdir().unwrap();
    let mut all: Vec<Child> =
        (0..2).map(|n| start("sharing::child_writes", folder.path(), n)).collect();
    all.extend((0..10).map(|n| start("sharing::child_reads", folder.path(), n)));
    for mut one in all {
        assert!(one.wait().unwrap().success());
    }
    let store = open(folder.path());
    assert!(is_whole(&store));
    let status = store.status().unwrap();
    assert_eq!((status.units, status.sources), (20, 20));
    assert!(status.generation >= 6, "{status:?}");
    assert_eq!(store.repair().unwrap(), docent_index::StoreRepairs::default());
}
