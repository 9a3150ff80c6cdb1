//! A log whose file or folder is replaced by a link between two lines.

use crate::{LogFolder, entry, full::capture_logs, small, write};
use docent_audit::{AuditLog, AuditLogSettings, VerifyOptions, WriteFailurePolicy, verify};
use std::{fs, os::unix::fs::symlink};

#[test]
fn a_file_that_became_a_link_is_not_written_through_and_is_reported() {
    for on_full in [WriteFailurePolicy::Refuse, WriteFailurePolicy::Drop] {
        let place = LogFolder::new();
        let victim = place.file("victim");
        fs::write(&victim, "precious\n").unwrap();
        let log = AuditLog::open(
            place.log(),
            AuditLogSettings { on_full, ..AuditLogSettings::default() },
        );
        write(&log, 2);
        fs::rename(place.log(), place.file("moved")).unwrap();
        symlink(&victim, place.log()).unwrap();
        let said = capture_logs(|| {
            let appended = log.append(&entry("late"));
            assert_eq!(appended.is_err(), on_full == WriteFailurePolicy::Refuse);
        });
        assert!(said.contains("audit.jsonl is a symbolic link"), "{said}");
        assert_eq!(log.failures(), 1);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n");
        let refused = verify(&place.log(), &VerifyOptions::default()).unwrap_err();
        let cause = std::error::Error::source(&refused).map(ToString::to_string);
        let text = format!("{refused} {}", cause.unwrap_or_default());
        assert!(text.contains("symbolic link"), "{text}");
        // Without the link the log continues, and records what is missing.
        fs::remove_file(place.log()).unwrap();
        let said = capture_logs(|| write(&log, 1));
        assert!(said.contains("the audit file was replaced"), "{said}");
        let report = place.verify();
        assert!(!report.is_intact() || report.notice_count > 0, "{report}");
    }
}

#[test]
fn a_folder_that_became_a_link_is_not_written_through() {
    let place = LogFolder::new();
    let (state, victim) = (place.file("state"), place.file("victim"));
    fs::create_dir(&state).unwrap();
    fs::create_dir(&victim).unwrap();
    let settings = AuditLogSettings { on_full: WriteFailurePolicy::Refuse, ..small(1000, 2) };
    let log = AuditLog::open(state.join("audit.jsonl"), settings.clone());
    write(&log, 2);
    fs::rename(&state, place.file("moved")).unwrap();
    symlink(&victim, &state).unwrap();
    // Enough lines for the file to be rotated.
    for _ in 0..20 {
        let error = log.append(&entry("late")).unwrap_err().to_string();
        assert!(error.contains("replaced by a symbolic link"), "{error}");
    }
    let started_later = AuditLog::open(state.join("audit.jsonl"), settings);
    assert!(started_later.append(&entry("late")).is_err());
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
}

#[test]
fn rotation_by_another_process_is_not_reported() {
    let place = LogFolder::new();
    let (one, other) =
        (AuditLog::open(place.log(), small(1500, 9)), AuditLog::open(place.log(), small(1500, 9)));
    let said = capture_logs(|| {
        for _ in 0..40 {
            write(&one, 1);
            write(&other, 1);
        }
    });
    assert!(!said.contains("replaced"), "{said}");
    place.intact();
    fs::remove_file(place.log()).unwrap();
    let said = capture_logs(|| write(&one, 1));
    assert!(said.contains("the audit file was replaced"), "{said}");
}
