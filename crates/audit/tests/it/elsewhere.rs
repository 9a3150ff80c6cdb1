//! Other tools that move, empty, cut or replace the file while docent writes.

use crate::{LogFolder, write};
use docent_audit::{AuditLog, AuditLogSettings, VerifyOptions, VerifyProblemKind, verify_files};
use std::fs::{self, OpenOptions};

fn log(place: &LogFolder) -> AuditLog {
    AuditLog::open(place.log(), AuditLogSettings::default())
}

fn whats(found: &[docent_audit::VerifyProblem]) -> Vec<VerifyProblemKind> {
    found.iter().map(|problem| problem.what.clone()).collect()
}

fn empty(place: &LogFolder) {
    OpenOptions::new().write(true).truncate(true).open(place.log()).unwrap();
}

#[test]
fn a_moved_file_is_continued() {
    let place = LogFolder::new();
    let log = log(&place);
    write(&log, 5);
    fs::rename(place.log(), place.file("moved")).unwrap();
    write(&log, 2);
    // Line 6 records the break.
    let problems = whats(&place.verify().problems);
    assert_eq!(problems, [VerifyProblemKind::MovedAway { from: 1, to: 5 }]);
    let report = place.rotated_elsewhere();
    let moved = VerifyProblemKind::RotatedElsewhere { from: 1, to: 5 };
    assert_eq!(whats(&report.notices), [VerifyProblemKind::OlderGone { to: 5 }, moved.clone()]);
    assert_eq!(report.last.unwrap().seq, 8);
    // With the moved file in its place, nothing is missing.
    let both =
        verify_files(&[place.file("moved"), place.log()], &VerifyOptions::default()).unwrap();
    assert!(both.is_intact(), "{both}");
    assert_eq!((whats(&both.notices), both.lines), (vec![moved], 8));
}

#[test]
fn an_emptied_or_deleted_file_is_continued() {
    for deleted in [false, true] {
        let place = LogFolder::new();
        let log = log(&place);
        write(&log, 5);
        fs::copy(place.log(), place.file("copy")).unwrap();
        if deleted {
            fs::remove_file(place.log()).unwrap();
        } else {
            empty(&place);
        }
        write(&log, 1);
        let both =
            verify_files(&[place.file("copy"), place.log()], &VerifyOptions::default()).unwrap();
        assert!(both.is_intact(), "{both}");
        assert_eq!(
            whats(&both.notices),
            [VerifyProblemKind::RotatedElsewhere { from: 1, to: 5 }],
            "{deleted}"
        );
        // Lines that are in no file are listed.
        let old = place.file("audit.jsonl.1");
        let text = fs::read_to_string(place.file("copy")).unwrap();
        let three: String = text.split_inclusive('\n').take(3).collect();
        fs::write(&old, three).unwrap();
        let moved = VerifyProblemKind::MovedAway { from: 4, to: 5 };
        assert_eq!(whats(&place.verify().problems), std::slice::from_ref(&moved));
        let report = place.rotated_elsewhere();
        assert!(whats(&report.notices).contains(&moved), "{report}");
    }
}

#[test]
fn lines_that_were_never_in_the_moved_file_are_missing() {
    let place = LogFolder::new();
    let first = AuditLog::open(place.log(), crate::small(3000, 9));
    // Two files: the first is `.1`.
    while !place.file("audit.jsonl.1").exists() {
        write(&first, 1);
    }
    let held = fs::read_to_string(place.file("audit.jsonl.1")).unwrap();
    let last = held.lines().count() as u64;
    fs::rename(place.log(), place.file("moved")).unwrap();
    write(&first, 1);
    assert_eq!(place.rotated_elsewhere().problem_count, 0);
    let cut: String = held.split_inclusive('\n').take(4).collect();
    fs::write(place.file("audit.jsonl.1"), cut).unwrap();
    let report = place.verify();
    let missing = VerifyProblemKind::Missing { from: 5, to: last };
    // The moved file started with its own number.
    let moved = VerifyProblemKind::MovedAway { from: last + 1, to: last + 2 };
    assert_eq!(whats(&report.problems), [missing, moved], "{report}");
}

#[test]
fn a_tool_that_knows_our_names_leaves_no_break() {
    for copied in [false, true] {
        let place = LogFolder::new();
        let log = log(&place);
        write(&log, 5);
        if copied {
            fs::copy(place.log(), place.file("audit.jsonl.1")).unwrap();
            empty(&place);
        } else {
            fs::rename(place.log(), place.file("audit.jsonl.1")).unwrap();
            fs::write(place.log(), "").unwrap();
        }
        write(&log, 5);
        let report = place.intact();
        assert_eq!((report.lines, report.notice_count), (11, 0), "{copied} {report}");
    }
}

#[test]
fn a_log_that_was_put_back_or_cut_shows_what_is_missing() {
    for replaced in [false, true] {
        let place = LogFolder::new();
        let log = log(&place);
        write(&log, 3);
        let early = fs::read(place.log()).unwrap();
        write(&log, 4);
        if replaced {
            fs::write(place.file("new"), &early).unwrap();
            fs::rename(place.file("new"), place.log()).unwrap();
        } else {
            let file = OpenOptions::new().write(true).open(place.log()).unwrap();
            file.set_len(early.len() as u64).unwrap();
        }
        write(&log, 1);
        let report = place.verify();
        assert_eq!(
            whats(&report.problems),
            [VerifyProblemKind::Missing { from: 4, to: 7 }],
            "{replaced}"
        );
    }
}

#[test]
fn lines_of_other_processes_are_continued() {
    let place = LogFolder::new();
    let log = log(&place);
    write(&log, 2);
    let foreign = [fs::read(place.log()).unwrap(), b"hello\n{\"seq\":3}\n".to_vec()].concat();
    fs::write(place.log(), foreign).unwrap();
    write(&log, 2);
    let report = place.verify();
    assert_eq!(whats(&report.problems), [VerifyProblemKind::NotALine, VerifyProblemKind::NotALine]);
    assert_eq!(report.last.unwrap().seq, 4);
}
