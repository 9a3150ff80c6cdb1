//! Several writers of one log: threads, processes, and processes that are killed.

use crate::{LogFolder, small, write};
use docent_audit::{AuditLog, AuditLogSettings, VerifyProblemKind, files};
use std::{
    fs::File,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const PATH: &str = "DOCENT_AUDIT_TEST_LOG";
const LINES: &str = "DOCENT_AUDIT_TEST_LINES";

/// Run by the tests below in a process of its own.
#[test]
#[ignore = "the other tests of this module run it in a process of its own"]
fn child() {
    let path = std::env::var_os(PATH).unwrap();
    let lines = std::env::var_os(LINES).unwrap().to_str().unwrap().parse().unwrap();
    let log = AuditLog::open(path, small(60_000, 10_000));
    for n in 0..lines {
        log.append(&crate::entry(&format!("child{n}"))).unwrap();
    }
    assert_eq!(log.failures(), 0);
}

fn spawn(place: &LogFolder, lines: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--include-ignored"])
        .env(PATH, place.log())
        .env(LINES, lines.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn threads_with_logs_of_their_own_make_one_chain() {
    let place = LogFolder::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| write(&AuditLog::open(place.log(), small(5000, 10_000)), 150));
        }
    });
    let report = place.intact();
    assert_eq!((place.calls(), report.notice_count), (600, 0), "{report}");
    assert!(files(&place.log()).len() > 10);
}

#[test]
fn processes_make_one_chain() {
    let place = LogFolder::new();
    let children: Vec<Child> = (0..3).map(|_| spawn(&place, 300)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let report = place.intact();
    assert_eq!((place.calls(), report.notice_count), (900, 0), "{report}");
}

#[test]
fn a_process_that_is_killed_leaves_a_chain() {
    let place = LogFolder::new();
    let mut survivor = spawn(&place, 2000);
    for _ in 0..8 {
        let before = length(&place);
        let mut child = spawn(&place, usize::MAX);
        let began = Instant::now();
        while length(&place) == before && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(survivor.wait().unwrap().success());
    write(&AuditLog::open(place.log(), AuditLogSettings::default()), 1);
    let report = place.intact();
    let torn = |what: &VerifyProblemKind| matches!(what, VerifyProblemKind::Torn { .. });
    assert!(report.notices.iter().all(|notice| torn(&notice.what)), "{report}");
    assert!(report.lines > 2000, "{report}");
}

fn length(place: &LogFolder) -> (usize, u64) {
    let all = files(&place.log());
    (all.len(), std::fs::metadata(place.log()).map_or(0, |metadata| metadata.len()))
}

#[test]
fn a_lock_that_is_never_released_stops_no_caller() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), AuditLogSettings::default());
    write(&log, 1);
    let other = File::open(place.log()).unwrap();
    other.lock().unwrap();
    write(&log, 1);
    assert_eq!(log.failures(), 1, "dropped, and counted");
    drop(other);
    write(&log, 1);
    let report = place.intact();
    assert_eq!(report.notices[0].what, VerifyProblemKind::Dropped { count: 1 });
}

#[test]
fn waiting_for_another_process_blocks_no_other_caller() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), AuditLogSettings::default());
    write(&log, 1);
    let other = File::open(place.log()).unwrap();
    other.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| write(&log, 1));
        for _ in 0..100 {
            assert!(log.append_at_once(&crate::entry("b")).is_none(), "it is held");
        }
        // If this thread were blocked, the other one would have given up by now.
        drop(other);
    });
    assert_eq!(log.failures(), 0);
    log.append_at_once(&crate::entry("c")).unwrap().unwrap();
    place.intact();
    assert_eq!(place.calls(), 3);
}

#[test]
fn a_file_moved_away_while_locked_is_abandoned() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), AuditLogSettings::default());
    write(&log, 1);
    let other = File::open(place.log()).unwrap();
    other.lock().unwrap();
    std::fs::rename(place.log(), place.file("audit.jsonl.1")).unwrap();
    write(&log, 1);
    assert_eq!(log.failures(), 0, "it is written to the file that is at the path by now");
    let is_dropped = |what: &VerifyProblemKind| matches!(what, VerifyProblemKind::Dropped { .. });
    assert!(!place.intact().notices.iter().any(|notice| is_dropped(&notice.what)));
    drop(other);
}
