//! The last lines, lines as they come, and sums.

use crate::{LogFolder, entry, small, write};
use docent_audit::{
    AuditEntry, AuditFilter, AuditLine, AuditLog, AuditLogSettings, LogFollower, files, stats, tail,
};
use std::{fs, io::Write, ops::ControlFlow, time::Duration, time::SystemTime};

fn seqs(lines: &[AuditLine]) -> Vec<u64> {
    lines.iter().map(|line| line.seq().unwrap()).collect()
}

#[test]
fn the_last_lines_come_from_as_many_files_as_it_takes() {
    for bytes in [2000, 1 << 20] {
        let place = LogFolder::new();
        let log = AuditLog::open(place.log(), small(bytes, 1000));
        for n in 0..600 {
            let principal = if n % 3 == 0 { "bob" } else { "ann" };
            log.append(&AuditEntry { principal, ..entry("echo") }).unwrap();
        }
        let all = AuditFilter::default();
        let bob = AuditFilter { principal: Some("bob".into()), ..AuditFilter::default() };
        let no_match = AuditFilter { principal: Some("eve".into()), ..AuditFilter::default() };
        let last = place.intact().last.unwrap().seq;
        let mut of_bob = Vec::new();
        for file in files(&place.log()) {
            let lines = crate::lines(&file).into_iter().filter(|line| line["principal"] == "bob");
            of_bob.extend(lines.filter_map(|line| line["seq"].as_u64()));
        }
        assert_eq!(of_bob.len(), 200);
        let of_bob = of_bob.split_off(197);
        for (count, filter, want) in [
            (0, &all, vec![]),
            (3, &all, vec![last - 2, last - 1, last]),
            (3, &bob, of_bob.clone()),
            (3, &no_match, vec![]),
            (2000, &all, (1..=last).collect()),
        ] {
            assert_eq!(
                seqs(&tail(&place.log(), count, filter).unwrap()),
                want,
                "{count} {filter:?}"
            );
        }
    }
}

#[test]
fn oversized_and_malformed_lines_are_skipped() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), AuditLogSettings::default());
    write(&log, 2);
    let mut file = fs::OpenOptions::new().append(true).open(place.log()).unwrap();
    file.write_all(&[&vec![b'x'; 300_000][..], b"\nhello\n\n{\"seq\":3,\"later\":[1]}\n"].concat())
        .unwrap();
    let lines = tail(&place.log(), 10, &AuditFilter::default()).unwrap();
    assert_eq!(seqs(&lines), [1, 2, 3]);
    assert_eq!(serde_json::to_string(&lines[2]).unwrap(), "{\"seq\":3,\"later\":[1]}");
    let sums = stats(&place.log(), None).unwrap();
    assert_eq!((sums.calls, sums.broken), (3, 3));
}

#[test]
fn lines_are_followed_across_every_kind_of_rotation() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), small(2000, 100));
    write(&log, 3);
    let mut follow = LogFollower::from_end(place.log());
    let mut seen = Vec::new();
    let mut poll = |follow: &mut LogFollower| {
        let mut new = Vec::new();
        let mut each = |line: AuditLine| {
            new.push(line.seq().unwrap());
            ControlFlow::Continue(())
        };
        assert!(follow.poll(&AuditFilter::default(), &mut each).unwrap().is_continue());
        seen.extend(new.clone());
        new
    };
    assert_eq!(poll(&mut follow), [0; 0]);
    write(&log, 1);
    assert_eq!(poll(&mut follow), [4]);
    // Several files between two looks.
    let before = files(&place.log()).len();
    write(&log, 30);
    assert!(files(&place.log()).len() > before + 2);
    let last = place.intact().last.unwrap().seq;
    assert_eq!(poll(&mut follow), (5..=last).collect::<Vec<_>>());
    // A line in two pieces.
    let text = fs::read_to_string(place.log()).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(place.log()).unwrap();
    let line = text
        .lines()
        .last()
        .unwrap()
        .replace(&format!("{{\"seq\":{last}"), &format!("{{\"seq\":{}", last + 1));
    let (head, rest) = line.split_at(40);
    file.write_all(head.as_bytes()).unwrap();
    assert_eq!(poll(&mut follow), [0; 0]);
    file.write_all(format!("{rest}\n").as_bytes()).unwrap();
    assert_eq!(poll(&mut follow), [last + 1]);
    // Emptied, then moved away to a name that is not ours.
    fs::OpenOptions::new().write(true).truncate(true).open(place.log()).unwrap();
    write(&log, 2);
    assert!(!poll(&mut follow).is_empty());
    fs::rename(place.log(), place.file("elsewhere")).unwrap();
    assert_eq!(poll(&mut follow), [0; 0]);
    write(&log, 2);
    assert!(!poll(&mut follow).is_empty());
    // Thrown away as a whole.
    for file in files(&place.log()) {
        fs::remove_file(file).unwrap();
    }
    let again = AuditLog::open(place.log(), AuditLogSettings::default());
    write(&again, 2);
    let mut new = 0;
    let mut each = |_: AuditLine| {
        new += 1;
        ControlFlow::Continue(())
    };
    assert!(follow.poll(&AuditFilter::default(), &mut each).unwrap().is_continue());
    assert_eq!(new, 2);
    assert!(seen.is_sorted() && seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
}

#[test]
fn following_starts_with_a_missing_log_and_ends_on_break() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), AuditLogSettings::default());
    let mut follow = LogFollower::from_end(place.log());
    let failed = AuditFilter { failed: true, ..AuditFilter::default() };
    let mut seen = 0;
    let mut each = |_: AuditLine| {
        seen += 1;
        if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(follow.poll(&failed, &mut each).unwrap().is_continue());
    write(&log, 5);
    for _ in 0..3 {
        log.append(&AuditEntry { outcome: "refused", ..entry("a") }).unwrap();
    }
    assert!(follow.poll(&failed, &mut each).unwrap().is_break());
    assert_eq!(seen, 2);
    let mut one = |_: AuditLine| ControlFlow::Break(());
    // The third one is still there to be read.
    assert!(follow.poll(&failed, &mut one).unwrap().is_break());
}

#[test]
fn sums_are_those_of_the_lines() {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), small(3000, 100));
    for n in 0..100_u32 {
        let (outcome, reason) = match n % 10 {
            0 => ("refused", Some("scope")),
            1 => ("error", Some("not_found")),
            _ => ("ok", None),
        };
        let tool = if n % 2 == 0 { "echo" } else { "search" };
        let principal = if n < 30 { "ann" } else { "bob" };
        let duration_ms = f64::from(n + 1);
        log.append(&AuditEntry { outcome, reason, principal, duration_ms, ..entry(tool) }).unwrap();
    }
    log.append(&AuditEntry { method: "prompts/get", tool: None, prompt: Some("p"), ..entry("") })
        .unwrap();
    let sums = stats(&place.log(), None).unwrap();
    assert_eq!((sums.calls, sums.refused, sums.dropped, sums.broken), (101, 10, 0, 0));
    assert_eq!(sums.bytes, 1010);
    for (names, name, want) in [
        (&sums.by_tool, "echo", 50),
        (&sums.by_tool, "search", 50),
        (&sums.by_tool, "prompts/get", 1),
        (&sums.by_principal, "ann", 31),
        (&sums.by_principal, "bob", 70),
        (&sums.by_outcome, "ok", 81),
        (&sums.by_outcome, "error", 10),
        (&sums.by_reason, "scope", 10),
    ] {
        assert_eq!(names[name], want, "{name}");
    }
    let took = sums.duration_ms;
    assert!((50.0..52.0).contains(&took.p50) && (took.max - 100.0).abs() < 1e-9, "{took:?}");
    let text = sums.to_string();
    assert!(
        text.starts_with("101 calls from 2") && text.contains("\ntool             50  echo"),
        "{text}"
    );
    assert_eq!(serde_json::to_value(&sums).unwrap()["by_outcome"]["refused"], 10);
    log.append(&AuditEntry { outcome: "refused", count: Some(9), ..entry("") }).unwrap();
    assert_eq!(stats(&place.log(), None).unwrap().refused, 19);
    let later = SystemTime::now() + Duration::from_hours(1);
    assert_eq!(stats(&place.log(), Some(later)).unwrap().calls, 0);
    assert_eq!(stats(&place.log(), Some(SystemTime::UNIX_EPOCH)).unwrap().calls, 110);
}
