//! UTC days and months in the report's format.

use crate::repo::report::Month;
use gix::date::{Time, time::format};
use std::collections::HashMap;

/// Seconds in a day.
pub(super) const DAY_SECONDS: i64 = 86_400;

/// Maximum number of listed months.
const MAX_LISTED_MONTHS: i32 = 120;

/// Formats a time as a date: `2026-11-15`.
pub(super) fn day(time: i64) -> String {
    Time::new(time, 0).format_or_unix(format::SHORT)
}

/// Counts commits by month, oldest first, for the last ten years; a wrong old date must not fill the list.
pub(super) fn months(times: impl Iterator<Item = i64>) -> Vec<Month> {
    let mut counts: HashMap<i32, u64> = HashMap::new();
    for time in times {
        *counts.entry(month(time)).or_default() += 1;
    }
    let Some(&newest) = counts.keys().max() else { return Vec::new() };
    let listed = |month: &&i32| **month > newest - MAX_LISTED_MONTHS;
    let oldest = counts.keys().filter(listed).min().copied().unwrap_or(newest);
    let named = |month: i32| Month {
        month: format!("{:04}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1),
        commits: counts.get(&month).copied().unwrap_or(0),
    };
    (oldest..=newest).map(named).collect()
}

/// Number of a month since year 0.
fn month(time: i64) -> i32 {
    let date = Time::new(time, 0).to_zoned();
    date.map_or(1970 * 12, |date| i32::from(date.year()) * 12 + i32::from(date.month()) - 1)
}

/// Returns the median, the lower of two.
pub(super) fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_utc() {
        let cases = [
            (0, "1970-01-01"),
            (DAY_SECONDS - 1, "1970-01-01"),
            (DAY_SECONDS, "1970-01-02"),
            (951_782_400, "2000-02-29"),
            (1_763_164_799, "2025-11-14"),
            (1_763_164_800, "2025-11-15"),
        ];
        for (time, want) in cases {
            assert_eq!(day(time), want, "{time}");
        }
    }

    #[test]
    fn months_without_commits_are_listed_and_old_ones_are_not() {
        let listed = |times: &[i64]| {
            let months = months(times.iter().copied());
            months.into_iter().map(|month| (month.month, month.commits)).collect::<Vec<_>>()
        };
        let (december, february) = (1_734_000_000, 1_739_000_000);
        let want = [("2024-12", 2), ("2025-01", 0), ("2025-02", 1)];
        let want: Vec<_> = want.map(|(month, commits)| (month.to_owned(), commits)).into();
        assert_eq!(listed(&[february, december, december]), want);
        // Broken tools write the first second of 1970.
        assert_eq!(listed(&[0, february, december, december]), want);
        assert_eq!(listed(&[]), []);
        let ten_years = listed(&[february, february - 3651 * DAY_SECONDS + 31 * DAY_SECONDS]);
        assert_eq!(ten_years.len(), 120);
        assert_eq!(ten_years.first().unwrap().0, "2015-03");
    }

    #[test]
    fn the_middle_one() {
        let cases: [(&[u64], Option<u64>); 4] =
            [(&[], None), (&[3], Some(3)), (&[9, 1], Some(1)), (&[5, 9, 1], Some(5))];
        for (values, want) in cases {
            assert_eq!(median(values.to_vec()), want, "{values:?}");
        }
    }
}
