//! Verifies that a log is unchanged: every line, and its position among the others.

use crate::{
    AuditReadError,
    chain::{ChainHead, HashBytes, HashChain, SealedLine, sha256},
    event::{AuditLogEvent, FileStart},
    read::{self, LogFileSource, RawLine},
};
use serde::Serialize;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Maximum problems, and notices, that are kept. Further ones are only counted.
const MAX_KEPT_PROBLEMS: usize = 1000;

/// What to verify a log against.
#[derive(Clone, Default)]
pub struct VerifyOptions<'a> {
    /// The key it was written with.
    pub key: Option<&'a [u8]>,
    /// A line that must be present: reveals whether the end was cut off.
    pub expect: Option<ChainHead>,
    /// Another tool moves files of the log away: lines in them do not count as missing.
    pub rotated_elsewhere: bool,
}

impl fmt::Debug for VerifyOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyOptions")
            .field("keyed", &self.key.is_some())
            .field("expect", &self.expect)
            .field("rotated_elsewhere", &self.rotated_elsewhere)
            .finish()
    }
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Lines read.
    pub lines: u64,
    /// Files read.
    pub files: usize,
    /// The first line.
    pub first: Option<ChainHead>,
    /// The last line. Stored elsewhere, it later reveals whether the end was cut off.
    pub last: Option<ChainHead>,
    /// Number of problems, including those not kept.
    pub problem_count: u64,
    /// Findings that do not happen by accident; the first thousand.
    pub problems: Vec<VerifyProblem>,
    /// Number of notices, including those not kept.
    pub notice_count: u64,
    /// Findings worth knowing that are not tampering; the first thousand.
    pub notices: Vec<VerifyProblem>,
}

/// A finding and its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyProblem {
    /// The file.
    pub file: String,
    /// The line in the file, from 1.
    pub line: u64,
    /// The line's own number, if it has one.
    pub seq: Option<u64>,
    /// The finding.
    #[serde(flatten)]
    pub what: VerifyProblemKind,
}

/// Kinds of findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum VerifyProblemKind {
    /// The hash does not match the line.
    Changed,
    /// Not in the format of the log.
    NotALine,
    /// Longer than the log's maximum.
    TooLong,
    /// Missing lines.
    Missing {
        /// The first of them.
        from: u64,
        /// The last of them.
        to: u64,
    },
    /// A line that comes too late, or twice.
    OutOfOrder {
        /// The line before it.
        after: u64,
    },
    /// Has the right number, but follows a different line than the one before it.
    NotLinked,
    /// A second chain begins.
    #[serde(rename = "begins_anew")]
    SecondChain,
    /// Describes a truncated line that is missing or was changed.
    TornGone,
    /// The expected line has a different hash.
    Unexpected,
    /// The expected line is gone: the end was cut off.
    CutOff {
        /// The expected line.
        expected: u64,
    },
    /// The expected line is older than the files.
    TooOld {
        /// The expected line.
        expected: u64,
    },
    /// Notice: a line was truncated, for example because the process was killed.
    Torn {
        /// Bytes present.
        bytes: u64,
    },
    /// Notice: another tool moved or emptied the file with these lines.
    RotatedElsewhere {
        /// The first line of that file.
        from: u64,
        /// The last line of that file.
        to: u64,
    },
    /// These lines are missing because another tool moved or emptied their file. A notice if such a tool is known.
    MovedAway {
        /// The first of them.
        from: u64,
        /// The last of them.
        to: u64,
    },
    /// Notice: lines that could not be written.
    Dropped {
        /// The number of lines.
        count: u64,
    },
    /// Notice: the oldest files were removed, as the log itself records.
    OlderGone {
        /// The last line of them.
        to: u64,
    },
}

impl fmt::Display for VerifyProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => f.write_str(
                "the line was changed, or written with another key: its hash does not match",
            ),
            Self::NotALine => f.write_str("not a line of this log"),
            Self::TooLong => f.write_str("longer than any line of this log"),
            Self::Missing { from, to } => write!(f, "lines {from} to {to} are missing before it"),
            Self::OutOfOrder { after } => write!(f, "appears after line {after}: moved or copied"),
            Self::NotLinked => {
                f.write_str("does not follow the line before it: one of them was replaced")
            }
            Self::SecondChain => f.write_str("a new chain begins here"),
            Self::TornGone => {
                f.write_str("the truncated line that it describes is missing or was changed")
            }
            Self::Unexpected => {
                f.write_str("has a different hash than expected: the log was rewritten")
            }
            Self::CutOff { expected } => {
                write!(f, "the log ends before line {expected}, which existed: its end was cut off")
            }
            Self::TooOld { expected } => {
                write!(f, "line {expected} is older than these files; expect a later one")
            }
            Self::Torn { bytes } => write!(f, "a line was truncated after {bytes} bytes"),
            Self::RotatedElsewhere { from, to } => {
                write!(f, "another tool moved or emptied the file with lines {from} to {to}")
            }
            Self::MovedAway { from, to } => write!(
                f,
                "lines {from} to {to} are missing: another tool moved or emptied their file"
            ),
            Self::Dropped { count } => write!(f, "{count} lines could not be written before it"),
            Self::OlderGone { to } => write!(f, "lines 1 to {to} were in older files"),
        }
    }
}

impl fmt::Display for VerifyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if let Some(seq) = self.seq {
            write!(f, " (line {seq} of the log)")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl VerifyReport {
    /// Whether nothing but harmless findings was made.
    pub fn is_intact(&self) -> bool {
        self.problem_count == 0
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, found, count) in [
            ("problem", &self.problems, self.problem_count),
            ("notice", &self.notices, self.notice_count),
        ] {
            for problem in found {
                writeln!(f, "{word}: {problem}")?;
            }
            let left_out = count.saturating_sub(found.len() as u64);
            if left_out > 0 {
                writeln!(f, "{word}: {left_out} more")?;
            }
        }
        let verdict = if self.is_intact() { "intact" } else { "NOT intact" };
        let several = |are: bool| if are { "s" } else { "" };
        let (lines, files) = (several(self.lines != 1), several(self.files != 1));
        write!(f, "{verdict}: {} line{lines} in {} file{files}", self.lines, self.files)?;
        if let (Some(first), Some(last)) = (self.first, self.last) {
            write!(f, ", {} to {}\nlast: {last}", first.seq, last.seq)?;
        }
        Ok(())
    }
}

/// Verifies the log at `path` with its older files.
pub fn verify(path: &Path, check: &VerifyOptions<'_>) -> Result<VerifyReport, AuditReadError> {
    walk(&read::sources(path)?, check)
}

/// Verifies these files, oldest first.
pub fn verify_files(
    files: &[PathBuf],
    check: &VerifyOptions<'_>,
) -> Result<VerifyReport, AuditReadError> {
    walk(&read::open_files(files)?, check)
}

fn walk(
    sources: &[LogFileSource],
    check: &VerifyOptions<'_>,
) -> Result<VerifyReport, AuditReadError> {
    let mut walk = LogVerification {
        chain: HashChain::new(check.key),
        expect: check.expect,
        rotated_elsewhere: check.rotated_elsewhere,
        report: VerifyReport { files: sources.len(), ..VerifyReport::default() },
        file: String::new(),
        line: 0,
        last: None,
        broken: None,
        before: None,
        begun: None,
    };
    for source in sources {
        walk.file = source.path.display().to_string();
        walk.line = 0;
        let mut lines = source.lines();
        while let Some(piece) = lines.next().map_err(AuditReadError::at(&source.path))? {
            walk.piece(&piece);
        }
    }
    Ok(walk.finish())
}

struct LogVerification {
    chain: HashChain,
    /// `None` once found.
    expect: Option<ChainHead>,
    rotated_elsewhere: bool,
    report: VerifyReport,
    file: String,
    line: u64,
    last: Option<PreviousLine>,
    broken: Option<UnreadableLine>,
    /// The finding about lines before the first one, unless the log explains it further on.
    before: Option<VerifyProblem>,
    /// The file numbers recorded in the oldest and in the newest file.
    begun: Option<(FileStart, FileStart)>,
}

/// The previous line.
struct PreviousLine {
    head: ChainHead,
    /// The computed hash. A line whose stated hash was changed is one problem, even though the next line follows the
    /// computed one.
    real: HashBytes,
}

/// Bytes that are not a line. The next line may explain them.
struct UnreadableLine {
    problem: VerifyProblem,
    bytes: u64,
    digest: HashBytes,
    /// Ends with the file, without a newline.
    open: bool,
}

impl LogVerification {
    fn found(&self, seq: Option<u64>, what: VerifyProblemKind) -> VerifyProblem {
        VerifyProblem { file: self.file.clone(), line: self.line, seq, what }
    }

    fn problem(&mut self, seq: u64, what: VerifyProblemKind) {
        let problem = self.found(Some(seq), what);
        self.keep_problem(problem);
    }

    fn keep_problem(&mut self, problem: VerifyProblem) {
        self.report.problem_count += 1;
        if self.report.problems.len() < MAX_KEPT_PROBLEMS {
            self.report.problems.push(problem);
        }
    }

    fn notice(&mut self, seq: Option<u64>, what: VerifyProblemKind) {
        self.report.notice_count += 1;
        if self.report.notices.len() < MAX_KEPT_PROBLEMS {
            let notice = self.found(seq, what);
            self.report.notices.push(notice);
        }
    }

    fn piece(&mut self, piece: &RawLine<'_>) {
        self.line += 1;
        self.report.lines += 1;
        let (bytes, open) = match piece {
            RawLine::Line(bytes) => (*bytes, false),
            RawLine::Open(bytes) => (*bytes, true),
            RawLine::TooLong(_) => {
                self.explain(None);
                let problem = self.found(None, VerifyProblemKind::TooLong);
                return self.keep_problem(problem);
            }
        };
        if let Some(sealed) = SealedLine::parse(bytes) {
            return self.sealed(&sealed);
        }
        self.explain(None);
        self.broken = Some(UnreadableLine {
            problem: self.found(None, VerifyProblemKind::NotALine),
            bytes: bytes.len() as u64,
            digest: sha256(bytes),
            open,
        });
    }

    /// Reports the unreadable line before, now that the next one is known.
    fn explain(&mut self, event: Option<(&AuditLogEvent, u64)>) {
        match (self.broken.take(), event) {
            (Some(broken), Some((AuditLogEvent::Torn { bytes, digest }, seq)))
                if (broken.bytes, broken.digest) == (*bytes, *digest) =>
            {
                self.notice(Some(seq), VerifyProblemKind::Torn { bytes: *bytes });
            }
            (Some(broken), _) => self.keep_problem(broken.problem),
            (None, Some((AuditLogEvent::Torn { .. }, seq))) => {
                self.problem(seq, VerifyProblemKind::TornGone);
            }
            (None, _) => {}
        }
    }

    fn sealed(&mut self, line: &SealedLine<'_>) {
        let real = self.chain.hash(line.body);
        let fits = real == line.hash;
        // A changed line must not excuse anything.
        let event = if fits { AuditLogEvent::parse(line.members) } else { None };
        self.explain(event.as_ref().map(|event| (event, line.seq)));
        if !fits {
            self.problem(line.seq, VerifyProblemKind::Changed);
        }
        self.check_order(line, event.as_ref());
        match event {
            Some(AuditLogEvent::Dropped { count, .. }) => {
                self.notice(Some(line.seq), VerifyProblemKind::Dropped { count });
            }
            Some(AuditLogEvent::Begun(begun)) => self.begun.get_or_insert((begun, begun)).1 = begun,
            _ => {}
        }
        if let Some(expected) = self.expect.take_if(|expected| expected.seq == line.seq)
            && expected != line.head()
        {
            self.problem(line.seq, VerifyProblemKind::Unexpected);
        }
        self.report.first.get_or_insert(line.head());
        self.report.last = Some(line.head());
        self.last = Some(PreviousLine { head: line.head(), real });
    }

    fn check_order(&mut self, line: &SealedLine<'_>, event: Option<&AuditLogEvent>) {
        let seq = line.seq;
        let moved = match event {
            Some(AuditLogEvent::RotatedElsewhere { from, to }) => Some((*from, *to)),
            _ => None,
        };
        if let Some((from, to)) = moved {
            self.notice(Some(seq), VerifyProblemKind::RotatedElsewhere { from, to });
        }
        let begins = seq == 1 && line.prev == ChainHead::NONE.hash;
        let Some(last) = &self.last else {
            if seq > 1 {
                let (from, to) = (1, seq - 1);
                let what = match moved {
                    Some(_) => VerifyProblemKind::MovedAway { from, to },
                    None => VerifyProblemKind::Missing { from, to },
                };
                self.before = Some(self.found(Some(seq), what));
            } else if !begins {
                self.problem(seq, VerifyProblemKind::NotLinked);
            }
            return;
        };
        let before = last.head.seq;
        if before.checked_add(1) == Some(seq) {
            if line.prev != last.head.hash && line.prev != last.real {
                self.problem(seq, VerifyProblemKind::NotLinked);
            }
        } else if begins {
            self.problem(seq, VerifyProblemKind::SecondChain);
        } else if seq <= before {
            self.problem(seq, VerifyProblemKind::OutOfOrder { after: before });
        } else {
            self.missing(seq, before + 1, moved);
        }
    }

    /// Lines are missing from `from` to the one before `seq`. The log itself may record that they were moved.
    fn missing(&mut self, seq: u64, from: u64, moved: Option<(u64, u64)>) {
        let to = seq - 1;
        let Some((moved_from, _)) = moved.filter(|(first, last)| *first <= to && *last == to)
        else {
            return self.problem(seq, VerifyProblemKind::Missing { from, to });
        };
        if from < moved_from {
            self.problem(seq, VerifyProblemKind::Missing { from, to: moved_from - 1 });
        }
        let what = VerifyProblemKind::MovedAway { from: from.max(moved_from), to };
        if self.rotated_elsewhere {
            self.notice(Some(seq), what);
        } else {
            self.problem(seq, what);
        }
    }

    /// Missing lines before the first one are acceptable if the newest file records their removal, and the oldest kept
    /// file is complete from its first line.
    fn explain_before(&mut self) {
        let Some(mut before) = self.before.take() else { return };
        let to = before.seq.map_or(0, |seq| seq - 1);
        let let_go = self.begun.is_some_and(|(oldest, newest)| {
            oldest.file < newest.oldest || (oldest.file == newest.oldest && to < oldest.first)
        });
        let (count, found) = if let_go || self.rotated_elsewhere {
            before.what = VerifyProblemKind::OlderGone { to };
            (&mut self.report.notice_count, &mut self.report.notices)
        } else {
            (&mut self.report.problem_count, &mut self.report.problems)
        };
        *count += 1;
        found.insert(0, before);
        found.truncate(MAX_KEPT_PROBLEMS);
    }

    fn finish(mut self) -> VerifyReport {
        self.explain_before();
        match self.broken.take() {
            // The process was killed in the middle of a line, and has not been restarted since.
            Some(broken) if broken.open => {
                self.notice(None, VerifyProblemKind::Torn { bytes: broken.bytes });
            }
            Some(broken) => self.keep_problem(broken.problem),
            None => {}
        }
        if let Some(ChainHead { seq: expected, .. }) = self.expect {
            let last = self.report.last.map_or(0, |last| last.seq);
            let what = match self.report.first {
                Some(first) if first.seq > expected => VerifyProblemKind::TooOld { expected },
                _ => VerifyProblemKind::CutOff { expected },
            };
            let mut problem = self.found(None, what);
            problem.seq = Some(last).filter(|last| *last > 0);
            self.keep_problem(problem);
        }
        self.report
    }
}
