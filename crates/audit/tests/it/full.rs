//! No space, no permission, no folder: never silent, and refused if that is the policy.

use crate::{LogFolder, entry, lines, write};
use docent_audit::{AuditLog, AuditLogSettings, VerifyProblemKind, WriteFailurePolicy};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

fn policy(on_full: WriteFailurePolicy) -> AuditLogSettings {
    AuditLogSettings { on_full, ..AuditLogSettings::default() }
}

/// Captures the program's log while `act` runs.
pub(crate) fn capture_logs(act: impl FnOnce()) -> String {
    #[derive(Clone, Default)]
    struct CapturedOutput(Arc<Mutex<Vec<u8>>>);
    impl Write for CapturedOutput {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let words = CapturedOutput::default();
    let writer = words.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, act);
    let bytes = words.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_log_that_can_not_be_opened_refuses_or_drops() {
    let place = LogFolder::new();
    let path = place.file("no/such/folder/audit.jsonl");
    let refusing = AuditLog::open(&path, policy(WriteFailurePolicy::Refuse));
    let words = capture_logs(|| {
        let error = refusing.ready().unwrap_err().to_string();
        assert!(error.starts_with("cannot write the audit line: No such file"), "{error}");
        for _ in 0..5 {
            refusing.append(&entry("a")).unwrap_err();
            refusing.ready().unwrap_err();
        }
    });
    assert_eq!(refusing.failures(), 5);
    assert_eq!(words.matches("cannot write audit lines").count(), 1, "{words}");

    let dropping = AuditLog::open(&path, policy(WriteFailurePolicy::Drop));
    let words = capture_logs(|| {
        dropping.ready().unwrap();
        write(&dropping, 5);
    });
    assert_eq!(dropping.failures(), 5);
    assert_eq!(words.matches("cannot write audit lines").count(), 1, "{words}");

    // Once the folder exists, both continue, and record what is missing.
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let words = capture_logs(|| {
        write(&dropping, 1);
        refusing.ready().unwrap();
        write(&refusing, 1);
    });
    assert_eq!(words.matches("audit lines can be written again").count(), 2, "{words}");
    let all = lines(&path);
    let kinds: Vec<_> =
        all.iter().map(|line| (line["kind"].as_str(), line["count"].as_u64())).collect();
    let dropped = (Some("dropped"), Some(5));
    assert_eq!(kinds, [dropped, (None, None), dropped, (None, None)]);
    assert!(all[0]["since"].as_str().unwrap() <= all[0]["time"].as_str().unwrap());
    assert_eq!((dropping.failures(), refusing.failures()), (5, 5));
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_without_room_refuses_and_keeps_its_rights() {
    use std::os::unix::fs::PermissionsExt;
    let mode = || fs::metadata("/dev/full").unwrap().permissions().mode();
    let before = mode();
    let log = AuditLog::open("/dev/full", policy(WriteFailurePolicy::Refuse));
    log.ready().unwrap();
    let error = log.append(&entry("a")).unwrap_err().to_string();
    assert!(error.contains("No space left"), "{error}");
    assert!(log.ready().is_err(), "known by now");
    assert_eq!((log.failures(), mode()), (1, before));
    let dropping = AuditLog::open("/dev/full", policy(WriteFailurePolicy::Drop));
    write(&dropping, 3);
    assert_eq!(dropping.failures(), 3);
}

#[cfg(unix)]
#[test]
fn anything_but_a_file_is_refused_at_once() {
    let place = LogFolder::new();
    let made = Command::new("mkfifo").arg(place.log()).status();
    assert!(made.unwrap().success());
    let log = AuditLog::open(place.log(), policy(WriteFailurePolicy::Refuse));
    let error = log.ready().unwrap_err().to_string();
    assert!(error.contains("is not a regular file"), "{error}");
}

/// A disk of 64 KiB, gone with the value.
struct FullDisk(PathBuf);

impl FullDisk {
    /// The error explains why it cannot be mounted.
    fn mount(at: &Path) -> Result<Self, String> {
        fs::create_dir(at).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(at).output();
        let mounted = mounted.map_err(|error| format!("mount can't be started: {error}"))?;
        if mounted.status.success() {
            return Ok(Self(at.to_owned()));
        }
        let said = String::from_utf8_lossy(&mounted.stderr);
        Err(format!("this user can't mount a tmpfs: {}", said.trim()))
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status().unwrap();
        assert!(unmounted.success() || std::thread::panicking());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_truncated_line_and_is_recovered_from() {
    for on_full in [WriteFailurePolicy::Refuse, WriteFailurePolicy::Drop] {
        let place = LogFolder::new();
        let disk = docent_testenv::or_skip!(FullDisk::mount(&place.file("disk")));
        let path = disk.0.join("audit.jsonl");
        let log = AuditLog::open(&path, policy(on_full));
        write(&log, 2);
        let filler = disk.0.join("filler");
        // Whatever is left goes to the filler, up to the last byte of the last page.
        drop(fs::write(&filler, vec![0; 1 << 20]));
        let mut written = 2;
        while log.failures() == 0 {
            let appended = log.append(&entry("late"));
            written += u64::from(log.failures() == 0);
            assert_eq!(
                appended.is_err(),
                log.failures() > 0 && on_full == WriteFailurePolicy::Refuse
            );
        }
        assert!(written < 1000, "the disk has an end");
        for _ in 0..4 {
            assert_eq!(log.append(&entry("lost")).is_err(), on_full == WriteFailurePolicy::Refuse);
            assert_eq!(log.ready().is_err(), on_full == WriteFailurePolicy::Refuse);
        }
        assert_eq!(lines(&path).len() as u64, written, "whole lines only");
        fs::remove_file(&filler).unwrap();
        log.ready().unwrap();
        write(&log, 1);
        let report = docent_audit::verify(&path, &docent_audit::VerifyOptions::default()).unwrap();
        assert!(report.is_intact(), "{report}");
        let whats: Vec<_> = report.notices.iter().map(|notice| notice.what.clone()).collect();
        assert_eq!(whats, [VerifyProblemKind::Dropped { count: 5 }], "{on_full:?}");
        assert_eq!(report.last.unwrap().seq, written + 2);
        // An open file would keep the disk busy.
        drop((log, disk));
    }
}
