//! Logs on a real disk, with other processes, other tools and no room.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod elsewhere;
mod full;
mod processes;
mod reading;
mod tampering;
mod writing;

use docent_audit::{Check, Entry, Log, Report, Settings, verify};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder for a log.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.file("audit.jsonl")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn verify(&self) -> Report {
        verify(&self.log(), &Check::default()).unwrap()
    }

    /// The log must be intact; its report.
    pub(crate) fn intact(&self) -> Report {
        let report = self.verify();
        assert!(report.is_intact(), "{report}");
        report
    }
}

pub(crate) fn entry(tool: &str) -> Entry<'_> {
    Entry {
        principal: "ann",
        client: Some("tester/9"),
        transport: "http",
        method: "tools/call",
        tool: Some(tool),
        digest: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        outcome: "ok",
        duration_ms: 1.5,
        bytes: 10,
        ..Entry::default()
    }
}

pub(crate) fn write(log: &Log, lines: usize) {
    for n in 0..lines {
        log.append(&entry(&format!("tool{n}"))).unwrap();
    }
}

pub(crate) fn small(max_bytes: u64, keep: usize) -> Settings {
    Settings { max_bytes, keep, ..Settings::default() }
}

pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
