//! Ages of current files by their last change.

use super::{
    FileLog,
    commits::CommitLog,
    dates::{DAY_SECONDS, median},
};
use crate::repo::report::Ages;

const MONTH_DAYS: i64 = 30;
const YEAR_DAYS: i64 = 365;

/// Counts from the newest commit, so an inactive project does not age between analyses.
pub(super) fn count(log: &CommitLog, newest: i64, today: &[FileLog<'_>]) -> Ages {
    // Files that no read commit changed are older than all that were changed.
    let days = |file: &FileLog<'_>| {
        file.newest(log).map_or(i64::MAX, |last| (newest - last) / DAY_SECONDS)
    };
    let days: Vec<i64> = today.iter().map(days).collect();
    let between = |from: i64, to: i64| {
        days.iter().filter(|days| **days > from && **days <= to).count() as u64
    };
    Ages {
        month: between(-1, MONTH_DAYS),
        year: between(MONTH_DAYS, YEAR_DAYS),
        three_years: between(YEAR_DAYS, 3 * YEAR_DAYS),
        older: between(3 * YEAR_DAYS, i64::MAX),
        median_days: median(days)
            .filter(|days| *days < i64::MAX)
            .and_then(|days| u64::try_from(days).ok()),
    }
}
