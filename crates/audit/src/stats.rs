//! Statistics of a log: calls by tool, principal and outcome, bytes, durations.

use crate::{
    AuditLine, AuditReadError,
    line::{TerminalSafe, is_before, stamp},
    read,
};
use serde::Serialize;
use std::{collections::BTreeMap, fmt, path::Path, time::SystemTime};

/// Maximum names counted separately. Names come from clients, including those of tools that never existed.
const MAX_COUNTED_NAMES: usize = 1000;
/// Label for all further names.
const OTHER_NAMES: &str = "(others)";

/// Totals of a log.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AuditStats {
    /// Files read.
    pub files: usize,
    /// Time of the first line counted.
    pub from: Option<String>,
    /// Time of the last line counted.
    pub to: Option<String>,
    /// Calls, reads and prompts, and requests rejected before their kind was known.
    pub calls: u64,
    /// Refused requests.
    pub refused: u64,
    /// Lines that could not be written.
    pub dropped: u64,
    /// Lines that could not be parsed.
    pub broken: u64,
    /// Bytes of all answers.
    pub bytes: u64,
    /// Duration of calls.
    pub duration_ms: DurationStats,
    /// By tool; resources and prompts by their method.
    pub by_tool: BTreeMap<String, u64>,
    /// By principal.
    pub by_principal: BTreeMap<String, u64>,
    /// By outcome.
    pub by_outcome: BTreeMap<String, u64>,
    /// By reason of the outcome.
    pub by_reason: BTreeMap<String, u64>,
}

/// Durations of calls in milliseconds. Percentiles are at most 3% too high; the maximum is exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DurationStats {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

/// Computes the totals of the log at `path` with its older files, from a time on if one is given. Reads line by line,
/// in bounded memory.
pub fn stats(path: &Path, since: Option<SystemTime>) -> Result<AuditStats, AuditReadError> {
    let since = since.map(stamp);
    let sources = read::sources(path)?;
    let mut sums = AuditStats { files: sources.len(), ..AuditStats::default() };
    let mut durations = DurationHistogram::default();
    for source in &sources {
        let mut lines = source.lines();
        while let Some(piece) = lines.next().map_err(AuditReadError::at(&source.path))? {
            let Some(line) = piece.bytes().and_then(AuditLine::parse) else {
                sums.broken += 1;
                continue;
            };
            if since.as_deref().is_none_or(|since| !is_before(&line, since)) {
                sums.add(&line, &mut durations);
            }
        }
    }
    sums.duration_ms = durations.durations();
    Ok(sums)
}

impl AuditStats {
    fn add(&mut self, line: &AuditLine, durations: &mut DurationHistogram) {
        if let Some(time) = line.text("time") {
            self.from.get_or_insert_with(|| time.to_owned());
            self.to = Some(time.to_owned());
        }
        if let Some(kind) = line.kind() {
            if kind == "dropped" {
                self.dropped = self.dropped.saturating_add(line.number("count").unwrap_or(0));
            }
            return;
        }
        let times = line.number("count").unwrap_or(1);
        self.calls = self.calls.saturating_add(times);
        self.bytes = self.bytes.saturating_add(line.number("bytes").unwrap_or(0));
        durations.add(line.duration_ms().unwrap_or(0.0));
        let outcome = line.text("outcome").unwrap_or("-");
        if outcome == "refused" {
            self.refused = self.refused.saturating_add(times);
        }
        count(&mut self.by_outcome, outcome, times);
        count(&mut self.by_principal, line.text("principal").unwrap_or("-"), times);
        count(&mut self.by_tool, line.text("tool").or(line.text("method")).unwrap_or("-"), times);
        if let Some(reason) = line.text("reason") {
            count(&mut self.by_reason, reason, times);
        }
    }
}

fn count(names: &mut BTreeMap<String, u64>, name: &str, times: u64) {
    let known = names.contains_key(name) || names.len() < MAX_COUNTED_NAMES;
    let count = names.entry(if known { name } else { OTHER_NAMES }.to_owned()).or_default();
    *count = count.saturating_add(times);
}

impl fmt::Display for AuditStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DurationStats { p50, p95, p99, max } = self.duration_ms;
        let time = |time: &Option<String>| time.clone().unwrap_or_else(|| "-".into());
        let (from, to) = (time(&self.from), time(&self.to));
        let several = |are: bool| if are { "s" } else { "" };
        let (calls, files) = (several(self.calls != 1), several(self.files != 1));
        writeln!(
            f,
            "{} call{calls} from {} to {} in {} file{files}",
            self.calls,
            TerminalSafe(&from),
            TerminalSafe(&to),
            self.files
        )?;
        writeln!(
            f,
            "refused {}, dropped {}, broken lines {}",
            self.refused, self.dropped, self.broken
        )?;
        writeln!(f, "answers {} bytes", self.bytes)?;
        write!(f, "took p50 {p50:.1} ms, p95 {p95:.1} ms, p99 {p99:.1} ms, longest {max:.1} ms")?;
        for (title, names) in [
            ("outcome", &self.by_outcome),
            ("reason", &self.by_reason),
            ("tool", &self.by_tool),
            ("principal", &self.by_principal),
        ] {
            let mut names: Vec<_> = names.iter().collect();
            names.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (name, count) in names {
                write!(f, "\n{title:<10} {count:>8}  {}", TerminalSafe(name))?;
            }
        }
        Ok(())
    }
}

/// Microseconds, counted by their highest bit and the five bits below it: a fixed number of counters for any number of
/// calls, each at most 1/32 wide.
#[derive(Debug)]
struct DurationHistogram {
    counts: Vec<u64>,
    total: u64,
    max: f64,
}

/// Bits below the highest that are distinguished.
const SUB_BUCKET_BITS: u32 = 5;

impl Default for DurationHistogram {
    fn default() -> Self {
        Self { counts: vec![0; (64 << SUB_BUCKET_BITS) as usize], total: 0, max: 0.0 }
    }
}

impl DurationHistogram {
    fn add(&mut self, ms: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float that is out of range becomes the nearest number"
        )]
        let micros = (ms * 1e3).ceil() as u64;
        self.max = self.max.max(ms);
        self.total += 1;
        if let Some(count) = self.counts.get_mut(bucket(micros)) {
            *count += 1;
        }
    }

    /// The upper bound of the bucket that contains the call of this rank.
    fn percentile(&self, percent: u64) -> f64 {
        let rank = (u128::from(self.total) * u128::from(percent)).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank.max(1) {
                #[expect(clippy::cast_precision_loss, reason = "3% are promised")]
                return (top(bucket) as f64 / 1e3).min(self.max);
            }
        }
        0.0
    }

    fn durations(&self) -> DurationStats {
        let [p50, p95, p99] = [50, 95, 99].map(|percent| self.percentile(percent));
        DurationStats { p50, p95, p99, max: self.max }
    }
}

fn bucket(value: u64) -> usize {
    let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(SUB_BUCKET_BITS);
    // Below 2^FINE values are their own bucket; above, the shift names a row.
    usize::try_from((u64::from(shift) << SUB_BUCKET_BITS) + (value >> shift)).unwrap_or(usize::MAX)
}

/// The largest value of a bucket.
fn top(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let row = (bucket >> SUB_BUCKET_BITS).saturating_sub(1);
    let value = bucket - (row << SUB_BUCKET_BITS);
    ((u128::from(value) + 1) << row).saturating_sub(1).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_contain_their_values() {
        let mut values: Vec<u64> = (0..5000).collect();
        values.extend((12..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        values.push(u64::MAX);
        for value in values {
            let at = bucket(value);
            assert!(at < 64 << SUB_BUCKET_BITS, "{value}");
            let high = top(at);
            assert!(high >= value && high - value <= value / 32, "{value} {high}");
            assert!(at == 0 || top(at - 1) < value, "{value}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_calls() {
        let mut histogram = DurationHistogram::default();
        for n in 1..=1000 {
            histogram.add(f64::from(n));
        }
        let DurationStats { p50, p95, p99, max } = histogram.durations();
        for (got, want) in [(p50, 500.0), (p95, 950.0), (p99, 990.0)] {
            assert!(got >= want && got <= want * 1.032, "{got} {want}");
        }
        assert!((max - 1000.0).abs() < f64::EPSILON);
        assert_eq!(DurationHistogram::default().durations(), DurationStats::default());
        let mut odd = DurationHistogram::default();
        for ms in [f64::NAN, f64::INFINITY, -1.0, f64::MAX] {
            odd.add(ms);
        }
        assert_eq!(odd.total, 4);
    }

    #[test]
    fn names_are_bounded() {
        let mut names = BTreeMap::new();
        for n in 0..2 * MAX_COUNTED_NAMES {
            count(&mut names, &n.to_string(), 1);
            count(&mut names, "0", 1);
        }
        assert_eq!(names.len(), MAX_COUNTED_NAMES + 1);
        assert_eq!(names[OTHER_NAMES], MAX_COUNTED_NAMES as u64);
        assert_eq!(names["0"], 2 * MAX_COUNTED_NAMES as u64 + 1);
    }
}
