//! Logs on a real disk, with other processes, other tools and no room.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod elsewhere;
mod faults;
mod full;
mod links;
mod processes;
mod reading;
mod tampering;
mod writing;

use docent_audit::{
    AuditEntry, AuditFilter, AuditLog, AuditLogSettings, VerifyOptions, VerifyReport, stats, tail,
    verify,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder for a log.
pub(crate) struct LogFolder {
    folder: tempfile::TempDir,
}

impl LogFolder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.file("audit.jsonl")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn verify(&self) -> VerifyReport {
        verify(&self.log(), &VerifyOptions::default()).unwrap()
    }

    /// Lines of calls, without those that the log writes of itself.
    pub(crate) fn calls(&self) -> u64 {
        stats(&self.log(), None).unwrap().calls
    }

    /// Verifies as a user would whose other tool moves files away.
    pub(crate) fn rotated_elsewhere(&self) -> VerifyReport {
        let check = VerifyOptions { rotated_elsewhere: true, ..VerifyOptions::default() };
        let report = verify(&self.log(), &check).unwrap();
        assert!(report.is_intact(), "{report}");
        report
    }

    /// The log must be intact; its report.
    pub(crate) fn intact(&self) -> VerifyReport {
        let report = self.verify();
        assert!(report.is_intact(), "{report}");
        report
    }
}

pub(crate) fn entry(tool: &str) -> AuditEntry<'_> {
    AuditEntry {
        principal: "ann",
        client: Some("tester/9"),
        transport: "http",
        method: "tools/call",
        tool: Some(tool),
        digest: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        outcome: "ok",
        duration_ms: 1.5,
        bytes: 10,
        ..AuditEntry::default()
    }
}

pub(crate) fn write(log: &AuditLog, lines: usize) {
    for n in 0..lines {
        log.append(&entry(&format!("tool{n}"))).unwrap();
    }
}

/// Lines up to this number, with what the log says of itself.
pub(crate) fn write_up_to(log: &AuditLog, seq: u64) {
    let last = || tail(log.path(), 1, &AuditFilter::default()).ok()?.first()?.seq();
    while last() < Some(seq) {
        write(log, 1);
    }
}

pub(crate) fn small(max_bytes: u64, keep: usize) -> AuditLogSettings {
    AuditLogSettings { max_bytes, keep, ..AuditLogSettings::default() }
}

pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
