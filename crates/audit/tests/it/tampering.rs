//! Every way to change a log, and that verification detects it.

use crate::{LogFolder, entry, small, write, write_up_to};
use docent_audit::{
    AuditLog, AuditLogSettings, ChainHead, VerifyOptions, VerifyProblemKind, VerifyReport, files,
    verify, verify_files,
};
use std::{fs, ops::Range, path::PathBuf};

/// A log of 200 lines in several files, as it was written.
struct WrittenLog {
    place: LogFolder,
    files: Vec<(PathBuf, Vec<Vec<u8>>)>,
    last: ChainHead,
}

impl WrittenLog {
    fn new() -> Self {
        let place = LogFolder::new();
        write_up_to(&AuditLog::open(place.log(), small(20_000, 20)), 200);
        let read = |path: PathBuf| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect())
        };
        let files: Vec<_> = files(&place.log()).into_iter().map(read).collect();
        assert!(files.len() > 3);
        let report = place.intact();
        assert_eq!((report.lines, report.notice_count), (200, 0));
        Self { last: report.last.unwrap(), place, files }
    }

    /// The report of the log with its lines changed, each line of each file being in one list.
    fn changed(&self, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> VerifyReport {
        self.changed_in(0..200, change)
    }

    /// The same with some of its lines alone: a check looks at a line and the one before it.
    fn changed_in(
        &self,
        some: Range<usize>,
        change: impl FnOnce(&mut Vec<Vec<u8>>),
    ) -> VerifyReport {
        let all = self.files.iter().flat_map(|(_, lines)| lines.clone());
        let mut all: Vec<Vec<u8>> = all.skip(some.start).take(some.len()).collect();
        change(&mut all);
        // Where one file ends and the next begins makes no difference to the chain.
        let path = self.place.file("changed.jsonl");
        fs::write(&path, all.concat()).unwrap();
        let check = VerifyOptions { rotated_elsewhere: some.start > 0, ..VerifyOptions::default() };
        verify_files(&[path], &check).unwrap()
    }
}

#[test]
fn every_edit_of_a_member_is_detected() {
    let written = WrittenLog::new();
    for (old, new) in [
        ("{\"seq\":100,", "{\"seq\":101,"),
        ("\"prev\":\"", "\"prev\":\"0"),
        ("\"time\":\"2", "\"time\":\"1"),
        ("\"principal\":\"ann\"", "\"principal\":\"bob\""),
        ("\"client\":\"tester/9\",", ""),
        ("\"transport\":\"http\"", "\"transport\":\"stdio\""),
        ("\"method\":\"tools/call\"", "\"method\":\"tools/list\""),
        ("\"tool\":\"tool0\"", "\"tool\":\"tool1\""),
        ("\"digest\":\"4", "\"digest\":\"5"),
        ("\"outcome\":\"ok\"", "\"outcome\":\"error\""),
        ("\"duration_ms\":1.5", "\"duration_ms\":1.50"),
        ("\"bytes\":10", "\"bytes\":10 "),
        ("\"bytes\":10", "\"bytes\":10,\"more\":1"),
        ("\"hash\":\"", "\"Hash\":\""),
        ("}\n", "}\r\n"),
        ("}\n", "} \n"),
    ] {
        let report = written.changed(|lines| {
            let line = String::from_utf8(lines[99].clone()).unwrap();
            assert!(line.contains(old), "{old} {line}");
            lines[99] = line.replacen(old, new, 1).into_bytes();
        });
        assert!(!report.is_intact(), "{old} -> {new}");
        assert_eq!(report.problems[0].line, 100, "{old} -> {new}: {report}");
    }
}

#[test]
fn every_byte_of_a_line_counts() {
    let written = WrittenLog::new();
    assert!(written.changed_in(5..15, |_| ()).is_intact());
    let size = written.files[0].1[10].len();
    for at in 0..size {
        let report = written.changed_in(5..15, |lines| lines[5][at] ^= 1);
        assert!(!report.is_intact(), "byte {at}");
        assert!(report.problem_count <= 3, "one edit causes few problems: {report}");
    }
}

#[test]
fn missing_doubled_swapped_and_foreign_lines_are_detected() {
    let written = WrittenLog::new();
    for line in 0..200_usize {
        let seq = line as u64 + 1;
        let some = line.saturating_sub(3)..(line + 4).min(200);
        let at = line - some.start;
        let changed = |change: &dyn Fn(&mut Vec<Vec<u8>>)| written.changed_in(some.clone(), change);
        assert!(changed(&|_| ()).is_intact());
        let gone = changed(&|lines| drop(lines.remove(at)));
        match seq {
            // What followed the last line cannot be known from the file alone.
            200 => assert_eq!(gone.last.unwrap().seq, 199),
            _ => assert_eq!(
                gone.problems[0].what,
                VerifyProblemKind::Missing { from: seq, to: seq },
                "{seq}"
            ),
        }
        let doubled = changed(&|lines| lines.insert(at, lines[at].clone()));
        let twice = if at == 0 {
            VerifyProblemKind::SecondChain
        } else {
            VerifyProblemKind::OutOfOrder { after: seq }
        };
        assert_eq!(doubled.problems[0].what, twice, "{seq}");
        let foreign = changed(&|lines| lines.insert(at, b"{\"tool\":\"x\"}\n".to_vec()));
        assert_eq!(foreign.problems[0].what, VerifyProblemKind::NotALine, "{seq}");
        if at > 0 {
            assert!(!changed(&|lines| lines.swap(at - 1, at)).is_intact(), "{seq}");
            assert!(!changed(&|lines| lines[at - 1].truncate(50)).is_intact(), "{seq}");
        }
        let other = if at > 1 { at - 2 } else { at + 2 };
        assert!(!changed(&|lines| lines[at] = lines[other].clone()).is_intact(), "{seq}");
    }
}

#[test]
fn a_line_of_another_log_does_not_fit_in() {
    let (one, other) = (WrittenLog::new(), WrittenLog::new());
    // Its number and its own hash are right.
    let report = one.changed(|lines| lines[40].clone_from(&other.files[0].1[40]));
    assert_eq!(report.problems[0].what, VerifyProblemKind::NotLinked, "{report}");
    assert_eq!((report.problems[0].line, report.problem_count), (41, 2));
}

#[test]
fn missing_swapped_and_cut_files_are_detected() {
    let whole = |count: usize| (0..count).collect::<Vec<_>>();
    let count = WrittenLog::new().files.len();
    let mut cases: Vec<Vec<usize>> = Vec::new();
    for at in 1..count - 1 {
        let mut gone = whole(count);
        gone.remove(at);
        cases.push(gone);
    }
    for at in 1..count {
        let mut swapped = whole(count);
        swapped.swap(at - 1, at);
        cases.push(swapped);
    }
    let written = WrittenLog::new();
    for case in cases {
        let order: Vec<PathBuf> = case.iter().map(|at| written.files[*at].0.clone()).collect();
        let report = verify_files(&order, &VerifyOptions::default()).unwrap();
        assert!(!report.is_intact(), "{case:?}");
    }
    // A file that ends too early, at a line's end and within a line.
    for keep in [2000, 2500] {
        let (path, lines) = &written.files[1];
        fs::write(path, &lines.concat()[..keep]).unwrap();
        let report = written.place.verify();
        assert!(
            matches!(report.problems.last().unwrap().what, VerifyProblemKind::Missing { .. }),
            "{report}"
        );
    }
}

/// The problems of a keyed log after `harm` was done to it.
fn wrong(settings: &AuditLogSettings, harm: impl FnOnce(&LogFolder)) -> Vec<VerifyProblemKind> {
    let place = LogFolder::new();
    let log = AuditLog::open(place.log(), settings.clone());
    write_up_to(&log, 100);
    let check = VerifyOptions { key: settings.key.as_deref(), ..VerifyOptions::default() };
    let honest = verify(&place.log(), &check).unwrap();
    assert!(honest.is_intact(), "{honest}");
    harm(&place);
    let whats = || -> Vec<VerifyProblemKind> {
        let report = verify(&place.log(), &check).unwrap();
        report.problems.into_iter().map(|problem| problem.what).collect()
    };
    write(&log, 1);
    let found = whats();
    // What docent writes after a restart excuses nothing.
    write(&AuditLog::open(place.log(), settings.clone()), 1);
    assert_eq!(whats(), found);
    found
}

#[test]
fn missing_first_lines_and_oldest_files_are_detected() {
    let keyed =
        |max_bytes, keep| AuditLogSettings { key: Some(b"key".to_vec()), ..small(max_bytes, keep) };
    let first = |path: PathBuf| crate::lines(&path)[0]["seq"].as_u64().unwrap();
    let cut = |path: &PathBuf, lines: usize| {
        let text = fs::read_to_string(path).unwrap();
        let rest: String = text.split_inclusive('\n').skip(lines).collect();
        // As one who writes to the file does it: docent keeps its handle.
        fs::write(path, rest).unwrap();
    };
    // The only file there is.
    let found = wrong(&keyed(1 << 20, 5), |place| cut(&place.log(), 8));
    assert_eq!(found, [VerifyProblemKind::Missing { from: 1, to: 8 }]);
    let found = wrong(&keyed(1 << 20, 5), |place| fs::write(place.log(), "").unwrap());
    assert_eq!(found, [VerifyProblemKind::MovedAway { from: 1, to: 100 }]);
    for keep in [1, 3] {
        let settings = keyed(5000, keep);
        let oldest = |place: &LogFolder| place.file(&format!("audit.jsonl.{keep}"));
        assert_eq!(wrong(&settings, |_| ()), []);
        // The beginning of the oldest file, all of it, and all of it with the others under its name.
        let found = wrong(&settings, |place| cut(&oldest(place), 1));
        assert!(matches!(found[..], [VerifyProblemKind::Missing { from: 1, .. }]), "{found:?}");
        let found = wrong(&settings, |place| fs::remove_file(oldest(place)).unwrap());
        assert!(matches!(found[..], [VerifyProblemKind::Missing { from: 1, .. }]), "{found:?}");
        let mut left = 0;
        let found = wrong(&settings, |place| {
            for number in 2..=keep {
                fs::remove_file(place.file(&format!("audit.jsonl.{number}"))).unwrap();
            }
            cut(&place.file("audit.jsonl.1"), 3);
            fs::rename(place.file("audit.jsonl.1"), oldest(place)).unwrap();
            left = first(oldest(place));
        });
        assert_eq!(found, [VerifyProblemKind::Missing { from: 1, to: left - 1 }]);
    }
}

#[test]
fn a_truncated_log_is_detected_with_an_expected_line() {
    let written = WrittenLog::new();
    let expect = |head: ChainHead, change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        written.changed(|lines| change(lines));
        let check = VerifyOptions { expect: Some(head), ..VerifyOptions::default() };
        verify_files(&[written.place.file("changed.jsonl")], &check).unwrap()
    };
    assert!(expect(written.last, &|_| ()).is_intact());
    let cut = |lines: &mut Vec<Vec<u8>>| lines.truncate(150);
    assert!(written.changed(cut).is_intact(), "not to be seen from the file alone");
    let report = expect(written.last, &cut);
    assert_eq!(report.problems[0].what, VerifyProblemKind::CutOff { expected: 200 });
    let other = ChainHead { seq: 120, hash: [7; 32] };
    assert_eq!(expect(other, &|_| ()).problems[0].what, VerifyProblemKind::Unexpected);
    let old = expect(ChainHead { seq: 3, hash: [7; 32] }, &|lines| drop(lines.drain(..50)));
    let whats: Vec<_> = old.problems.iter().map(|problem| &problem.what).collect();
    assert_eq!(
        whats,
        [
            &VerifyProblemKind::Missing { from: 1, to: 50 },
            &VerifyProblemKind::TooOld { expected: 3 }
        ]
    );
    assert_eq!(
        expect(written.last, &Vec::clear).problems[0].what,
        VerifyProblemKind::CutOff { expected: 200 }
    );
}

#[test]
fn without_the_key_nothing_can_be_forged() {
    let key = b"a key that the writer of the file has not".as_slice();
    let settings =
        |key: Option<&[u8]>| AuditLogSettings { key: key.map(<[u8]>::to_vec), ..small(20_000, 20) };
    let check = |place: &LogFolder, key| {
        verify(&place.log(), &VerifyOptions { key, ..VerifyOptions::default() }).unwrap()
    };
    let place = LogFolder::new();
    write_up_to(&AuditLog::open(place.log(), settings(Some(key))), 100);
    assert!(check(&place, Some(key)).is_intact());
    for wrong in [None, Some(b"another".as_slice()), Some(b"".as_slice())] {
        assert_eq!(check(&place, wrong).problem_count, 100, "{wrong:?}");
        // An attacker rewrites the log from the start, or continues it, with another key or none.
        let forged = LogFolder::new();
        write_up_to(&AuditLog::open(forged.log(), settings(wrong)), 100);
        assert_eq!(check(&forged, Some(key)).problem_count, 100);
        fs::copy(place.log(), forged.log()).unwrap();
        for file in files(&forged.log()) {
            if file != forged.log() {
                fs::remove_file(file).unwrap();
            }
        }
        AuditLog::open(forged.log(), settings(wrong)).append(&entry("forged")).unwrap();
        let report = check(&forged, Some(key));
        let first = report.first.map(|first| first.seq);
        assert_eq!(report.problems.iter().map(|p| p.seq).collect::<Vec<_>>(), [first, Some(101)]);
    }
    // A restart with the key continues the chain.
    write(&AuditLog::open(place.log(), settings(Some(key))), 5);
    assert_eq!(check(&place, Some(key)).last.unwrap().seq, 105);
}

#[test]
fn a_report_is_bounded_and_reads_well() {
    let place = LogFolder::new();
    fs::write(place.log(), "junk\n".repeat(5000)).unwrap();
    let report = place.verify();
    assert_eq!((report.problem_count, report.problems.len()), (5000, 1000));
    let text = report.to_string();
    assert!(text.contains("audit.jsonl:1: not a line of this log\n"), "{text}");
    assert!(
        text.contains("problem: 4000 more\n") && text.ends_with("NOT intact: 5000 lines in 1 file")
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["problems"][0]["what"], "not_a_line");

    let place = LogFolder::new();
    write(&AuditLog::open(place.log(), AuditLogSettings::default()), 3);
    let report = place.intact();
    let last = report.last.unwrap();
    assert_eq!(report.to_string(), format!("intact: 3 lines in 1 file, 1 to 3\nlast: {last}"));
    assert_eq!(serde_json::to_value(&report).unwrap()["last"], last.to_string());
}

#[test]
fn no_file_content_breaks_verification() {
    let place = LogFolder::new();
    let long = vec![b'x'; 300_000];
    let cases: [&[u8]; 9] = [
        b"",
        b"\n\n\n",
        b"\x00\xff\xfe",
        b"{\"seq\":18446744073709551615,\"prev\":\"",
        b"{\"seq\":0,\"prev\":\"\",\"hash\":\"\"}\n",
        b"[[[[[[[[[[[[",
        &long,
        &[&long[..], b"\n"].concat(),
        &"{\"a\":".repeat(60_000).into_bytes(),
    ];
    for bytes in cases {
        fs::write(place.log(), bytes).unwrap();
        place.verify();
        docent_audit::stats(&place.log(), None).unwrap();
        docent_audit::tail(&place.log(), 10, &docent_audit::AuditFilter::default()).unwrap();
        write(&AuditLog::open(place.log(), AuditLogSettings::default()), 1);
        assert!(place.verify().last.unwrap().seq >= 1);
        drop(fs::remove_file(place.log()));
    }
    // The greatest number of all is gone on from without an overflow.
    let zeros = "0".repeat(64);
    let most = format!("{{\"seq\":{},\"prev\":\"{zeros}\",\"hash\":\"{zeros}\"}}\n", u64::MAX);
    fs::write(place.log(), most).unwrap();
    write(&AuditLog::open(place.log(), AuditLogSettings::default()), 2);
    assert!(!place.verify().is_intact());
}
