//! Identifies the program that a process descends from, even if it left the program's group and session and its parents
//! have ended.
//!
//! A process inherits its resource limits, and without privileges can only lower them. One of them, the number of file
//! locks, has had no effect since Linux 2.4. So each program gets its own value of that limit, which its descendants
//! inherit. Values are [`MARK_GAP`] apart, so that a descendant that lowers its limit is still identified by the gap.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// The first mark if the limit is not set, and the distance between the marks of two programs.
const FIRST_MARK: u64 = 1 << 62;
const MARK_GAP: u64 = 1 << 32;

/// A mark of a program or of one of its descendants.
pub(super) type ProgramMark = Option<u64>;

/// Allocates marks.
#[derive(Debug)]
pub(super) struct ProgramMarks {
    next: u64,
    gap: u64,
}

impl ProgramMarks {
    /// A supervisor below a program of another supervisor may only use that program's gap.
    pub(super) fn new() -> Self {
        match getrlimit(Resource::Locks).maximum {
            Some(most) if most < FIRST_MARK => Self { next: most, gap: 1 },
            _ => Self { next: FIRST_MARK, gap: MARK_GAP },
        }
    }

    /// Marks this process, and thereby the program that it starts next. `None` if the system does not support marks.
    pub(super) fn next(&mut self) -> ProgramMark {
        let mark = self.next.checked_sub(self.gap)?;
        let limit = Rlimit { current: Some(mark), maximum: Some(mark) };
        setrlimit(Resource::Locks, limit).ok()?;
        self.next = mark;
        (getrlimit(Resource::Locks) == limit).then_some(mark)
    }

    /// Whether a process with `mark` descends from the program with the mark `program`. Without marks, it may descend
    /// from any.
    pub(super) fn belongs(&self, mark: ProgramMark, program: ProgramMark) -> bool {
        match (mark, program) {
            (Some(mark), Some(program)) => {
                mark <= program && mark > program.saturating_sub(self.gap)
            }
            (_, None) => true,
            (None, Some(_)) => false,
        }
    }
}

/// Reads the mark of a process.
pub(super) fn of(pid: Pid) -> ProgramMark {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    limits.lines().find_map(|line| line.strip_prefix("Max file locks")).and_then(parse_hard_limit)
}

/// Parses the hard limit in a line of limits.
fn parse_hard_limit(line: &str) -> ProgramMark {
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_read_from_its_line() {
        for (line, mark) in [
            ("   unlimited   unlimited   locks ", None),
            ("   7           9           locks ", Some(9)),
            ("   4611686014132420608  4611686014132420608 locks", Some(FIRST_MARK - MARK_GAP)),
            ("", None),
            ("  -1 -1 ", None),
        ] {
            assert_eq!(parse_hard_limit(line), mark, "{line}");
        }
    }

    #[test]
    fn a_process_belongs_to_the_program_whose_gap_it_is_in() {
        let marks = ProgramMarks { next: FIRST_MARK, gap: MARK_GAP };
        let (older, newer) = (Some(FIRST_MARK - MARK_GAP), Some(FIRST_MARK - 2 * MARK_GAP));
        for (mark, program, expected) in [
            (older, older, true),
            (newer, newer, true),
            (older, newer, false),
            (newer, older, false),
            (Some(FIRST_MARK - MARK_GAP - 1), older, true),
            (Some(FIRST_MARK - 2 * MARK_GAP + 1), older, true),
            (Some(0), newer, false),
            (Some(u64::MAX), older, false),
            (None, older, false),
            (older, None, true),
        ] {
            assert_eq!(marks.belongs(mark, program), expected, "{mark:?} of {program:?}");
        }
    }
}
