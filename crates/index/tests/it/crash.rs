//! After a crash of a writer at any moment, the store has the old or the new generation.

use crate::project::{open, source, unit, write};
use docent_index::{Digest, IndexStore, StoreChange};
use std::{
    collections::BTreeSet,
    env,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const FOLDER: &str = "DOCENT_TEST_FOLDER";
const ROUNDS: &str = "DOCENT_TEST_ROUNDS";

/// Every point where a write may crash.
const POINTS: &[&str] = &[
    "index-create",
    "index-write",
    "index-flush",
    "index-sync",
    "index-synced",
    "index-sync-folder",
    "index-prepare",
    "index-commit",
    "index-committed",
    "index-remove",
    "index-lexical-create",
    "index-lexical-remove",
    "index-lexical-sync",
    "index-list-write",
    "index-list-written",
];

pub(crate) fn version(n: usize) -> Vec<StoreChange> {
    (0..12)
        .map(|file| {
            let name = format!("version_{n}");
            StoreChange::Put(source(
                "app",
                &format!("f{file}.rs"),
                vec![unit("function", &name, "", "x")],
            ))
        })
        .collect()
}

pub(crate) fn digest(n: usize) -> Digest {
    let Some(StoreChange::Put(source)) = version(n).pop() else { panic!("a version is of puts") };
    source.digest
}

/// The stored version. All files must be of one, or a write was partially visible.
pub(crate) fn stored_digests(store: &dyn IndexStore) -> BTreeSet<Digest> {
    store.digests("app").unwrap().into_values().collect()
}

/// A writer in its own process, which a test kills.
#[test]
#[ignore = "the other tests of this module run it in a process of its own"]
fn child_writes() {
    let folder = env::var_os(FOLDER).unwrap();
    let scenario = fail::FailScenario::setup();
    let rounds: usize = env::var(ROUNDS).unwrap().parse().unwrap();
    let store = open(Path::new(&folder));
    let start = usize::try_from(store.status().unwrap().generation).unwrap();
    for n in start..start + rounds {
        write(&store, version(n));
    }
    scenario.teardown();
}

pub(crate) fn child(test: &str, folder: &Path, rounds: usize, points: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--include-ignored", "--nocapture"]);
    command.env(FOLDER, folder).env(ROUNDS, rounds.to_string()).env("FAILPOINTS", points);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs an ignored test in its own process. It must pass.
pub(crate) fn child_test(test: &str) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}

#[test]
fn an_end_at_any_point_leaves_the_old_or_the_new() {
    let mut ended = 0;
    for point in POINTS {
        let mut reached = false;
        for passed in [0, 1, 5] {
            let folder = tempfile::tempdir().unwrap();
            // Enough writes that the interrupted one merges parts and segments.
            let store = open(folder.path());
            (0..8).for_each(|_| write(&store, version(1)));
            drop(store);
            let points = format!("{point}={passed}*off->return");
            let status = child("crash::child_writes", folder.path(), 1, &points).status().unwrap();
            let crashed = !status.success();
            reached |= crashed;
            ended += usize::from(crashed);
            let store = open(folder.path());
            let found = stored_digests(&store);
            assert_eq!(found.len(), 1, "{point} after {passed}: a write is seen in part");
            let repairs = store.repair().unwrap();
            assert_eq!(repairs, docent_index::StoreRepairs::default(), "{point} after {passed}");
            assert_eq!(store.status().unwrap().units, 12, "{point} after {passed}");
            write(&store, version(99));
            assert_eq!(
                stored_digests(&store),
                BTreeSet::from([digest(99)]),
                "{point} after {passed}"
            );
        }
        assert!(reached, "no write passes {point}");
    }
    assert!(ended >= POINTS.len(), "{ended}");
}

#[test]
fn a_killed_writer_leaves_the_old_or_the_new() {
    let folder = tempfile::tempdir().unwrap();
    write(&open(folder.path()), version(0));
    let mut delay = 7;
    for round in 0..25 {
        let mut writer = child("crash::child_writes", folder.path(), 1_000, "").spawn().unwrap();
        // Not random, so that failures are reproducible; odd steps, so that each round ends elsewhere.
        delay = (delay * 37 + 11) % 229;
        let store = open(folder.path());
        let before = store.status().unwrap().generation;
        let patience = Instant::now() + Duration::from_secs(20);
        while store.status().unwrap().generation == before && Instant::now() < patience {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(delay));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let store = open(folder.path());
        assert_eq!(stored_digests(&store).len(), 1, "round {round}");
        let repairs = store.repair().unwrap();
        assert_eq!(repairs, docent_index::StoreRepairs::default(), "round {round}");
        assert!(store.status().unwrap().generation > before, "round {round}: nothing was written");
    }
}
