//! Which program a process comes from, even where it left the program's group and session and its parents are gone.
//!
//! A process inherits its resource limits, and without privileges can only lower them. One of them, the number of file
//! locks, has had no effect since Linux 2.4. So each program gets a value of its own as that limit, and whatever it starts
//! has the same. Values are apart by [`MARK_GAP`], so that a descendant that lowers its own is still told by the gap it is in.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// The first mark where the limit is free, and the distance of one program's from the next.
const FIRST_MARK: u64 = 1 << 62;
const MARK_GAP: u64 = 1 << 32;

/// A mark of a program or of one of its descendants.
pub(super) type ProgramMark = Option<u64>;

/// The marks that are given out.
#[derive(Debug)]
pub(super) struct ProgramMarks {
    next: u64,
    gap: u64,
}

impl ProgramMarks {
    /// A keeper below a program of another keeper has only that program's gap to itself.
    pub(super) fn new() -> Self {
        match getrlimit(Resource::Locks).maximum {
            Some(most) if most < FIRST_MARK => Self { next: most, gap: 1 },
            _ => Self { next: FIRST_MARK, gap: MARK_GAP },
        }
    }

    /// Marks this process, and with it the program that it starts next. `None` where the system takes no marks.
    pub(super) fn next(&mut self) -> ProgramMark {
        let mark = self.next.checked_sub(self.gap)?;
        let limit = Rlimit { current: Some(mark), maximum: Some(mark) };
        setrlimit(Resource::Locks, limit).ok()?;
        self.next = mark;
        (getrlimit(Resource::Locks) == limit).then_some(mark)
    }

    /// Whether a process with `mark` comes from the program with the mark `program`. Where marks are not to be had, it may
    /// come from any.
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

/// The mark of a process.
pub(super) fn of(pid: Pid) -> ProgramMark {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    limits.lines().find_map(|line| line.strip_prefix("Max file locks")).and_then(parse_hard_limit)
}

/// The second number of a line of limits.
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
            assert_eq!(hard(line), mark, "{line}");
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
