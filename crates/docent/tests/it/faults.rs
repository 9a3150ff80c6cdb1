//! Each operation on a file of `docent docs sync` fails once, and the next start answers rightly. The pages of sites
//! have their own test, `fault_injection_crawl` in `net`.

use crate::{CliRun, TestHome};
use docent_files::{FileOperation, faults::FileFaults};
use docent_index::{
    EmbeddedStore, EmbeddedStoreSettings, IndexQuery, embed::EmbeddingTable, search,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// The binary is checked only after every Nth failure: it is slower than the store.
const BINARY_EVERY: usize = 10;

fn page(look: &str) -> String {
    format!("# Zebra\n\nA zebra is {look}.\n")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs docent in this process, whose working directory and home the parent has set.
fn docent(args: &[&str]) -> ExitCode {
    let args = std::iter::once("docent").chain(args.iter().copied());
    docent::cli::run(args.map(Into::into))
}

/// Runs the binary in the same place, as the next start.
fn next_start(args: &[&str]) -> CliRun {
    CliRun::of(Command::new(env!("CARGO_BIN_EXE_docent")).args(args))
}

/// Returns what the current index has about zebras, without updating it first.
fn indexed(index: &Path) -> String {
    let embedder = EmbeddingTable::built_in();
    let store =
        EmbeddedStore::open(index, embedder.clone(), EmbeddedStoreSettings::default()).unwrap();
    let answer = search(&store, embedder.as_ref(), &IndexQuery::new("zebra")).unwrap();
    let zebra = answer.hits.iter().find(|hit| hit.found.unit.name == "Zebra");
    zebra.map(|hit| hit.found.unit.body.clone()).unwrap_or_default()
}

fn check_binary(n: usize) {
    let run = next_start(&["search", "zebra", "--in", "docs", "--threshold", "0", "--json"]);
    assert!(!run.err.contains("damaged"), "{n}: {}", run.err);
    let hit = run.ends(0).json()["hits"][0].clone();
    assert_eq!(hit["name"], "Zebra", "{n}: {hit}");
}

#[test]
#[ignore = "run by fault_injection_docs_sync in a process of its own"]
fn child_fails_each_operation() {
    let faults = FileFaults::begin();
    let project = std::env::current_dir().unwrap();
    fs::create_dir(project.join("manual")).unwrap();
    let file = project.join("manual/zebra.md");
    fs::write(&file, page("striped")).unwrap();
    next_start(&["docs", "add", "zoo", "manual"]).ends(0);
    let (state, kept) = (project.join(".docent"), project.parent().unwrap().join("kept"));
    let is_index = |path: &PathBuf| path.to_str().unwrap().contains(".docent/index-");
    let index = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().path()).find(is_index);
    let index = index.unwrap();
    assert!(indexed(&index).contains("striped"));
    fs::write(&file, page("spotted")).unwrap();
    copy(&state, &kept);
    let counts = faults.count(|| assert_eq!(docent(&["docs", "sync"]), ExitCode::SUCCESS));
    for kind in FileOperation::ALL.into_iter().filter(|kind| *kind != FileOperation::Link) {
        assert!(counts.contains_key(&kind), "no {kind:?} in {counts:?}");
    }
    assert!(indexed(&index).contains("spotted"));
    let total: usize = counts.values().sum();
    let mut failed = 0;
    for n in 0..total {
        fs::remove_dir_all(&state).unwrap();
        copy(&kept, &state);
        let ended = faults.fail_nth(n, || docent(&["docs", "sync"]));
        failed += usize::from(ended != ExitCode::SUCCESS);
        // What is there now is the old page or the new one, whole.
        let left = indexed(&index);
        assert!(left.contains("striped") || left.contains("spotted"), "{n}: {left:?}");
        if n % BINARY_EVERY == 0 {
            check_binary(n);
        }
        assert_eq!(docent(&["docs", "sync"]), ExitCode::SUCCESS, "{n}");
        let synced = indexed(&index);
        assert!(synced.contains("spotted") && !synced.contains("striped"), "{n}: {synced:?}");
    }
    assert!(failed > total / 4, "{failed} of {total} failures were noticed");
}

#[test]
fn fault_injection_docs_sync() {
    let place = TestHome::new();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["faults::child_fails_each_operation", "--exact", "--ignored", "--nocapture"]);
    command.current_dir(place.project()).env("HOME", place.0.path());
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}
