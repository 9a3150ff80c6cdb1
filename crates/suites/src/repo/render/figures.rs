//! Number formatting for people.

/// Converts to a double, for shares and pictures.
#[expect(clippy::cast_precision_loss, reason = "no figure that is shown has that many digits")]
pub(super) fn to_f64(value: u64) -> f64 {
    value as f64
}

/// Converts a length or index to a report number.
pub(super) fn to_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Formats with thousands separators: `41,233`.
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats with a noun: `1 file`, `41,233 files`.
pub(super) fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// Formats in five characters or fewer: `9,120`, `41.2k`, `3.1M`.
pub(super) fn compact(value: u64) -> String {
    if value < 10_000 {
        count(value)
    } else {
        scaled(to_f64(value), 1000.0, &["", "k", "M", "G", "T"])
    }
}

/// Formats bytes: `840 B`, `12.4 kB`, `3.1 MB`.
pub(super) fn size(bytes: u64) -> String {
    scaled(to_f64(bytes), 1000.0, &[" B", " kB", " MB", " GB", " TB"])
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = "";
    for (index, next) in units.iter().enumerate() {
        unit = next;
        if value < step - 0.05 || index + 1 == units.len() {
            break;
        }
        value /= step;
    }
    let decimals = usize::from(value < 100.0 && value.fract() > 0.0);
    format!("{value:.decimals$}{unit}")
}

/// Formats a percentage with one decimal for alignment. Rounding never produces 0 or 100 from other values.
pub(super) fn percent(value: f64) -> String {
    let value = bounded(value);
    if value > 0.0 && value < 100.0 {
        format!("{:.1}%", value.clamp(0.1, 99.9))
    } else {
        format!("{value:.0}%")
    }
}

/// Clamps to between 0 and 100.
pub(super) fn bounded(percent: f64) -> f64 {
    if percent.is_finite() { percent.clamp(0.0, 100.0) } else { 0.0 }
}

/// Returns a share from 0 to 1.
pub(super) fn part(value: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (to_f64(value) / to_f64(all)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [
            (count(0), "0"),
            (count(999), "999"),
            (count(1_000), "1,000"),
            (count(12_345_678), "12,345,678"),
            (counted(1, "file", "files"), "1 file"),
            (counted(2_000, "file", "files"), "2,000 files"),
            (compact(9_999), "9,999"),
            (compact(10_000), "10k"),
            (compact(41_233), "41.2k"),
            (compact(999_960), "1.0M"),
            (compact(3_100_000), "3.1M"),
            (size(0), "0 B"),
            (size(840), "840 B"),
            (size(12_400), "12.4 kB"),
            (size(999_999), "1.0 MB"),
            (size(u64::MAX), "18446744 TB"),
            (percent(0.0), "0%"),
            (percent(0.02), "0.1%"),
            (percent(7.25), "7.2%"),
            (percent(43.0), "43.0%"),
            (percent(99.99), "99.9%"),
            (percent(100.0), "100%"),
            (percent(f64::NAN), "0%"),
            (percent(140.0), "100%"),
        ];
        for (got, want) in cases {
            assert_eq!(got, want);
        }
    }

    #[test]
    fn parts_are_bounded() {
        for (value, all, want) in [(1, 4, 0.25), (3, 0, 0.0), (9, 3, 1.0)] {
            assert!((part(value, all) - want).abs() < 1e-9, "{value} of {all}");
        }
    }
}
