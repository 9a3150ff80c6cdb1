//! Each operation on a file fails once. The chain stays intact, and what is missing is in it.

use crate::{Place, entry, small, write};
use docent_audit::{Log, OnFull, Settings, What};
use docent_files::{Operation, faults::Faults};
use std::{collections::BTreeMap, process::Command};

/// Calls of one run: enough for the file to be rotated and for old files to be removed.
const CALLS: usize = 24;

/// Older files of a log that keeps all of them.
const KEEP_ALL: usize = 100;

fn settings(on_full: OnFull, keep: usize) -> Settings {
    Settings { on_full, sync: true, ..small(1500, keep) }
}

/// The calls whose line was written, as far as the log says.
fn run(log: &Log) -> usize {
    (0..CALLS).filter(|n| log.append(&entry(&format!("tool{n}"))).is_ok()).count()
}

fn dropped(place: &Place) -> u64 {
    let count = |what: &What| if let What::Dropped { count } = what { *count } else { 0 };
    place.verify().notices.iter().map(|notice| count(&notice.what)).sum()
}

fn fail_each(faults: &Faults, settings: &Settings) -> BTreeMap<Operation, usize> {
    let dry = Place::new();
    let counts = faults.count(|| write(&Log::open(dry.log(), settings.clone()), CALLS));
    let mut failures = 0;
    for n in 0..counts.values().sum() {
        let place = Place::new();
        let log = Log::open(place.log(), settings.clone());
        let done = faults.fail_nth(n, || run(&log));
        failures += log.failures();
        assert!(log.failures() <= 1, "{n}: one operation lost more than one line");
        if settings.on_full == OnFull::Refuse {
            assert_eq!(log.failures(), u64::try_from(CALLS - done).unwrap(), "{n}");
        }
        // The same process continues, and records what was lost.
        write(&log, 1);
        if settings.keep == KEEP_ALL {
            assert_eq!(dropped(&place), log.failures(), "{n}: the lost line is not listed");
            let recorded = place.calls() + dropped(&place);
            assert!(recorded > CALLS as u64, "{n}: {recorded} lines are written or listed");
        }
        drop(log);
        // The next start continues the chain.
        write(&Log::open(place.log(), settings.clone()), 3);
        let report = place.intact();
        assert!(report.last.is_some_and(|last| last.seq >= CALLS as u64), "{n}: {report}");
    }
    assert!(failures > 10, "{failures} lines were lost: too few for a test");
    counts
}

#[test]
#[ignore = "run by fault_injection_audit_write in a process of its own"]
fn child_fails_each_operation() {
    let faults = Faults::begin();
    fail_each(&faults, &settings(OnFull::Drop, KEEP_ALL));
    let counts = fail_each(&faults, &settings(OnFull::Refuse, 2));
    for kind in [
        Operation::Open,
        Operation::Create,
        Operation::Write,
        Operation::Sync,
        Operation::Rename,
        Operation::Remove,
        Operation::Lock,
    ] {
        assert!(counts.contains_key(&kind), "no {kind:?} in {counts:?}");
    }
}

#[test]
fn fault_injection_audit_write() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["faults::child_fails_each_operation", "--exact", "--ignored", "--nocapture"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}
