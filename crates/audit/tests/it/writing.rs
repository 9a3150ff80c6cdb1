//! One process, one log.

use crate::{LogFolder, entry, lines, small, write};
use docent_audit::{
    AuditEntry, AuditLog, AuditLogSettings, MAX_LINE_BYTES, VerifyProblemKind, files,
};
use serde_json::json;
use std::fs;

#[test]
fn a_line_has_everything_and_the_file_is_private() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), AuditLogSettings::default());
    let whole = AuditEntry {
        outcome: "error",
        reason: Some("internal"),
        reference: Some("ab12cd34"),
        ..entry("echo")
    };
    log.append(&whole).unwrap();
    log.append(&AuditEntry { tool: None, uri: Some("memo://a"), ..entry("") }).unwrap();
    let all = lines(&place.log());
    let line = &all[0];
    for (name, want) in [
        ("seq", json!(1)),
        ("prev", json!("0".repeat(64))),
        ("principal", json!("ann")),
        ("client", json!("tester/9")),
        ("transport", json!("http")),
        ("method", json!("tools/call")),
        ("tool", json!("echo")),
        ("digest", json!(whole.digest)),
        ("outcome", json!("error")),
        ("reason", json!("internal")),
        ("reference", json!("ab12cd34")),
        ("duration_ms", json!(1.5)),
        ("bytes", json!(10)),
    ] {
        assert_eq!(line[name], want, "{name}");
    }
    assert!(line["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!((&all[1]["prev"], &all[1]["seq"]), (&line["hash"], &json!(2)));
    assert!(all[1].get("tool").is_none() && all[1].get("reason").is_none());
    assert_eq!(log.failures(), 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(place.log()).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_full_file_is_rotated_and_the_chain_continues() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), small(2000, 3));
    write(&log, 60);
    let all = files(&place.log());
    assert_eq!(all.len(), 4, "{all:?}");
    for file in &all {
        let length = fs::metadata(file).unwrap().len();
        assert!(length > 0 && length <= 2000, "{length}");
    }
    let report = place.intact();
    let last = report.last.unwrap();
    assert_eq!(report.files, 4);
    assert_eq!(report.lines, last.seq - report.first.unwrap().seq + 1);
    let older = VerifyProblemKind::OlderGone { to: report.first.unwrap().seq - 1 };
    assert_eq!(report.notices.iter().map(|notice| &notice.what).collect::<Vec<_>>(), [&older]);
}

#[cfg(unix)]
#[test]
fn rotated_files_are_private_as_well() {
    use std::os::unix::fs::PermissionsExt;
    let place = LogFolder::new();
    fs::write(place.log(), "").unwrap();
    fs::set_permissions(place.log(), fs::Permissions::from_mode(0o644)).unwrap();
    write(&AuditLog::open(place.log(), small(1500, 3)), 12);
    write(&AuditLog::open(place.log(), small(1500, 3)), 12);
    let all = files(&place.log());
    assert_eq!(all.len(), 4, "{all:?}");
    for file in all {
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{} {mode:o}", file.display());
    }
}

#[test]
fn an_honest_log_is_intact_after_every_line() {
    let place = LogFolder::new();
    // More and fewer files are to stay, in one process and from one to the next.
    for keep in [1, 4, 0, 2, 2, 6, 1, 0, 0, 3] {
        let log = AuditLog::open(place.log(), small(1500, keep));
        for _ in 0..12 {
            write(&log, 1);
            place.intact();
        }
        assert_eq!(files(&place.log()).len(), keep.min(6) + 1, "{keep}");
    }
}

#[test]
fn an_interrupted_rotation_leaves_an_intact_log() {
    for keep in [0, 1, 2, 3] {
        for done in 0..=keep + 2 {
            let place = LogFolder::new();
            write(&AuditLog::open(place.log(), small(1500, keep)), 20);
            let numbered = |number: usize| place.file(&format!("audit.jsonl.{number}"));
            // Move files as rotation does, the oldest first, then the current one; then start a new one with half a
            // line.
            for number in (1..=keep).rev().take(done) {
                fs::rename(numbered(number), numbered(number + 1)).unwrap();
            }
            if done > keep {
                fs::rename(place.log(), numbered(1)).unwrap();
            }
            if done > keep + 1 {
                fs::write(place.log(), "{\"seq\":9,\"prev\":\"").unwrap();
            }
            place.intact();
            let again = AuditLog::open(place.log(), small(1500, keep));
            for _ in 0..12 {
                write(&again, 1);
                place.intact();
            }
            assert_eq!(files(&place.log()).len(), keep + 1);
        }
    }
}

#[test]
fn fewer_files_stay_once_fewer_are_wanted() {
    let place = LogFolder::new();
    write(&AuditLog::open(place.log(), small(1000, 6)), 40);
    assert_eq!(files(&place.log()).len(), 7);
    write(&AuditLog::open(place.log(), small(1000, 2)), 4);
    assert_eq!(files(&place.log()).len(), 3);
    let seq = place.intact().last.unwrap().seq;
    write(&AuditLog::open(place.log(), small(1000, 0)), 4);
    assert_eq!(files(&place.log()), [place.log()]);
    assert!(place.intact().last.unwrap().seq >= seq + 4);
}

#[test]
fn a_restart_continues_from_the_last_line() {
    let place = LogFolder::new();
    for n in 1..=20 {
        write(&AuditLog::open(place.log(), small(1500, 50)), 1);
        if n % 5 == 0 {
            // Some restarts find no file, and must read the older ones.
            turn_over(&place);
        }
        place.intact();
        assert_eq!(place.calls(), n);
    }
    assert_eq!(place.intact().notice_count, 0);
}

/// Rotates as another tool would that uses our names.
fn turn_over(place: &LogFolder) {
    for number in (1..50).rev() {
        let from = place.file(&format!("audit.jsonl.{number}"));
        if from.exists() {
            fs::rename(from, place.file(&format!("audit.jsonl.{}", number + 1))).unwrap();
        }
    }
    fs::rename(place.log(), place.file("audit.jsonl.1")).unwrap();
}

#[test]
fn a_truncated_line_is_terminated_recorded_and_not_tampering() {
    let original = LogFolder::new();
    write(&AuditLog::open(original.log(), AuditLogSettings::default()), 3);
    let whole = fs::read(original.log()).unwrap();
    let third =
        whole.len() - whole.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().len();
    for cut in third..whole.len() {
        let place = LogFolder::new();
        fs::write(place.log(), &whole[..cut]).unwrap();
        let torn = VerifyProblemKind::Torn { bytes: (cut - third) as u64 };
        if cut > third && cut < whole.len() - 1 {
            let report = place.intact();
            assert_eq!(report.notices[0].what, torn, "before the restart");
        }
        write(&AuditLog::open(place.log(), AuditLogSettings::default()), 1);
        let report = place.intact();
        let whats: Vec<&VerifyProblemKind> =
            report.notices.iter().map(|notice| &notice.what).collect();
        let (seq, want) = match cut {
            cut if cut == third => (3, vec![]),
            cut if cut == whole.len() - 1 => (4, vec![]),
            _ => (4, vec![&torn]),
        };
        assert_eq!((report.last.unwrap().seq, whats), (seq, want), "{cut}");
        let text = fs::read(place.log()).unwrap();
        if !report.notices.is_empty() && cut > third + 1 {
            // The torn bytes are part of what is checked.
            let mut changed = text.clone();
            changed[third] ^= 1;
            fs::write(place.log(), changed).unwrap();
            let problems = place.verify().problems;
            assert_eq!(problems[0].what, VerifyProblemKind::NotALine, "{cut}");
            fs::write(place.log(), [&text[..third], &text[cut + 1..]].concat()).unwrap();
            assert_eq!(place.verify().problems[0].what, VerifyProblemKind::TornGone, "{cut}");
        }
    }
}

#[test]
fn untrusted_names_stay_in_their_line() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), AuditLogSettings::default());
    let megabyte = "x\n".repeat(1 << 19);
    let bad = [
        "a\nb",
        "a\r\n{\"seq\":9}",
        "\"}\n{\"seq\":2,\"outcome\":\"ok\"}",
        "\u{0}\u{1b}[2J\u{7f}\u{85}\u{2028}",
        "\",\"kind\":\"torn",
        megabyte.as_str(),
    ];
    for name in bad {
        let entry =
            AuditEntry { principal: name, client: Some(name), uri: Some(name), ..entry(name) };
        log.append(&entry).unwrap();
    }
    let text = fs::read_to_string(place.log()).unwrap();
    assert_eq!(text.lines().count(), bad.len());
    assert!(text.is_ascii() && text.lines().all(|line| line.len() < MAX_LINE_BYTES));
    assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)));
    for (line, name) in lines(&place.log()).iter().zip(bad) {
        let kept = line["tool"].as_str().unwrap();
        assert!(kept == name || (kept.len() < 600 && kept.ends_with("[1048576 bytes]")), "{kept}");
        assert_eq!((&line["principal"], line.get("kind")), (&line["tool"], None));
    }
    assert_eq!(place.intact().last.unwrap().seq, bad.len() as u64);
}

#[test]
fn a_file_that_cannot_be_rotated_is_continued() {
    let place = LogFolder::new();
    // With two more characters the name is too long for any file system.
    let path = place.file(&"a".repeat(255));
    let log = AuditLog::open(&path, small(1000, 1));
    write(&log, 20);
    assert_eq!(lines(&path).len(), 20);
    assert_eq!(log.failures(), 0);
}

#[test]
fn a_file_that_cannot_be_removed_is_ignored() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), small(1000, 1));
    write(&log, 3);
    fs::create_dir(place.file("audit.jsonl.2")).unwrap();
    write(&log, 20);
    assert_eq!(log.failures(), 0);
    fs::remove_dir(place.file("audit.jsonl.3")).unwrap();
    write(&log, 20);
    place.intact();
    assert_eq!(files(&place.log()).len(), 2);
}

#[test]
fn each_line_can_wait_for_the_disk() {
    let place = LogFolder::new();
    write(
        &AuditLog::open(
            place.log(),
            AuditLogSettings { sync: true, ..AuditLogSettings::default() },
        ),
        3,
    );
    assert_eq!(place.intact().lines, 3);
}

#[test]
fn settings_never_show_the_key() {
    let settings =
        AuditLogSettings { key: Some(b"hush-hush".to_vec()), ..AuditLogSettings::default() };
    let log = AuditLog::open("/nowhere/audit.jsonl", settings.clone());
    let shown = format!("{settings:?} {log:?}");
    let digits = format!("{:?}", b"hush-hush");
    assert!(!shown.contains("hush") && !shown.contains(&digits), "{shown}");
}
