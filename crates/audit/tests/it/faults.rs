//! Each operation on a file fails once. The chain stays intact, and what is missing is in it.

use crate::{LogFolder, entry, small, write};
use docent_audit::{AuditLog, AuditLogSettings, VerifyProblemKind, WriteFailurePolicy};
use docent_files::{FileOperation, faults::FileFaults};
use std::{collections::BTreeMap, process::Command};

/// Calls of one run: enough for the file to be rotated and for old files to be removed.
const CALLS: usize = 24;

/// Older files of a log that keeps all of them.
const KEEP_ALL: usize = 100;

fn settings(on_full: WriteFailurePolicy, keep: usize) -> AuditLogSettings {
    AuditLogSettings { on_full, sync: true, ..small(1500, keep) }
}

/// The calls whose line was written, as far as the log says.
fn run(log: &AuditLog) -> usize {
    (0..CALLS).filter(|n| log.append(&entry(&format!("tool{n}"))).is_ok()).count()
}

fn dropped(place: &LogFolder) -> u64 {
    let count = |what: &VerifyProblemKind| {
        if let VerifyProblemKind::Dropped { count } = what { *count } else { 0 }
    };
    place.verify().notices.iter().map(|notice| count(&notice.what)).sum()
}

fn fail_each(faults: &FileFaults, settings: &AuditLogSettings) -> BTreeMap<FileOperation, usize> {
    let dry = LogFolder::new();
    let counts = faults.count(|| write(&AuditLog::open(dry.log(), settings.clone()), CALLS));
    let mut failures = 0;
    for n in 0..counts.values().sum() {
        let place = LogFolder::new();
        let log = AuditLog::open(place.log(), settings.clone());
        let done = faults.fail_nth(n, || run(&log));
        failures += log.failures();
        assert!(log.failures() <= 1, "{n}: one operation lost more than one line");
        if settings.on_full == WriteFailurePolicy::Refuse {
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
        write(&AuditLog::open(place.log(), settings.clone()), 3);
        let report = place.intact();
        assert!(report.last.is_some_and(|last| last.seq >= CALLS as u64), "{n}: {report}");
    }
    assert!(failures > 10, "{failures} lines were lost: too few for a test");
    counts
}

#[test]
#[ignore = "run by fault_injection_audit_write in a process of its own"]
fn child_fails_each_operation() {
    let faults = FileFaults::begin();
    fail_each(&faults, &settings(WriteFailurePolicy::Drop, KEEP_ALL));
    let counts = fail_each(&faults, &settings(WriteFailurePolicy::Refuse, 2));
    for kind in [
        FileOperation::Open,
        FileOperation::Create,
        FileOperation::Write,
        FileOperation::Sync,
        FileOperation::Rename,
        FileOperation::Remove,
        FileOperation::Lock,
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
