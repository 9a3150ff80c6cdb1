//! Audit logs: a file with any content can be verified, shown, summarized and appended to, and every changed byte of a
//! chain is detected.
#![no_main]

use docent_audit::{
    AuditEntry, AuditFilter, AuditLog, AuditLogSettings, ChainHead, MAX_LINE_BYTES, VerifyOptions,
    VerifyProblemKind, VerifyReport, stats, tail, verify,
};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// A file in memory, if the machine has an in-memory folder.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let place = place.join(format!("docent-fuzz-audit-{}", std::process::id()));
    fs::create_dir_all(&place).expect("a folder");
    place.join("audit.jsonl")
});

fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first() else { return };
    if how & 1 == 0 {
        any(rest, how & 2 == 0);
    } else {
        chained(rest, usize::from(*how >> 1));
    }
});

fn checked(bytes: &[u8], check: &VerifyOptions<'_>) -> VerifyReport {
    fs::write(&*PLACE, bytes).expect("memory takes all");
    let report = verify(&PLACE, check).expect("a file that is there");
    assert!(report.to_string().contains("intact"));
    assert!(report.problems.len() as u64 <= report.problem_count);
    report
}

/// A file with any bytes, and a call recorded after them.
fn any(bytes: &[u8], keyed: bool) {
    let key = keyed.then(|| b"key".to_vec());
    let before = checked(bytes, &VerifyOptions { key: key.as_deref(), ..VerifyOptions::default() });
    let sums = stats(&PLACE, None).expect("a file that is there");
    assert!(!sums.to_string().contains('\u{1b}'));
    for filter in [AuditFilter::default(), AuditFilter { failed: true, ..AuditFilter::default() }] {
        let lines = tail(&PLACE, 5, &filter).expect("a file that is there");
        assert!(lines.len() <= 5 && lines.iter().all(|line| !line.to_string().contains('\u{1b}')));
    }
    let settings =
        AuditLogSettings { key: key.clone(), sync: false, ..AuditLogSettings::default() };
    let entry = AuditEntry {
        principal: "p",
        client: None,
        transport: "stdio",
        method: "tools/call",
        tool: Some("after"),
        uri: None,
        prompt: None,
        digest: "d",
        outcome: "ok",
        reason: None,
        reference: None,
        duration_ms: 1.0,
        bytes: 1,
        count: None,
    };
    if AuditLog::open(&*PLACE, settings).append(&entry).is_ok() {
        let last = tail(&PLACE, 1, &AuditFilter::default()).expect("a file that is there");
        assert_eq!(last.first().and_then(|line| line.text("tool")), Some("after"));
        let options = VerifyOptions { key: key.as_deref(), ..VerifyOptions::default() };
        let after = verify(&PLACE, &options).expect("a file");
        assert!(after.lines > before.lines && after.last.is_some());
        assert_eq!(after.is_intact(), before.is_intact(), "{before}\n{after}");
    }
}

/// A chain of lines with any content, and the same with one byte changed.
fn chained(bytes: &[u8], at: usize) {
    let (mut log, mut prev) = (Vec::new(), "0".repeat(64));
    let longest = MAX_LINE_BYTES - 300;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| line.len() < longest);
    for (line, seq) in lines.zip(1..) {
        let start = log.len();
        log.extend_from_slice(format!("{{\"seq\":{seq},\"prev\":\"{prev}\"").as_bytes());
        log.extend_from_slice(line);
        let hash: String =
            Sha256::digest(&log[start..]).iter().map(|byte| format!("{byte:02x}")).collect();
        log.extend_from_slice(format!(",\"hash\":\"{hash}\"}}\n").as_bytes());
        prev = hash;
    }
    let report = checked(&log, &VerifyOptions::default());
    let is_expected = |what: &VerifyProblemKind| {
        matches!(
            what,
            VerifyProblemKind::TornGone
                | VerifyProblemKind::Missing { .. }
                | VerifyProblemKind::OutOfOrder { .. }
        )
    };
    assert!(report.problems.iter().all(|problem| is_expected(&problem.what)), "{report}");
    let last: Option<ChainHead> = report.last;
    let expected = checked(&log, &VerifyOptions { expect: last, ..VerifyOptions::default() });
    assert_eq!(expected.problem_count, report.problem_count);
    // The final newline may be missing, as after a crash.
    let place = at * 7919 % log.len().max(2);
    if place + 1 < log.len() {
        log[place] ^= 1;
        assert!(!checked(&log, &VerifyOptions::default()).is_intact(), "byte {place}");
    }
}
