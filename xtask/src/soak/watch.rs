//! Watches a running server through `/proc`: memory, descriptors, CPU time, children.

use anyhow::{Context, Result};
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// `/proc` counts CPU time in ticks of `USER_HZ`, which Linux fixes at 100 per second for programs.
const TICKS_PER_SECOND: f64 = 100.0;
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// A process, by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WatchedProcess(pub(super) u32);

impl WatchedProcess {
    fn read(self, file: &str) -> Result<String> {
        let path = format!("/proc/{}/{file}", self.0);
        fs::read_to_string(&path).with_context(|| format!("reading {path}: the server is gone"))
    }

    /// Resident memory in megabytes (10^6 bytes).
    pub(super) fn resident_mb(self) -> Result<f64> {
        let status = self.read("status")?;
        let kilobytes = field(&status, "VmRSS:").context("no VmRSS")?;
        Ok(f64::from(kilobytes) * 1024.0 / 1e6)
    }

    /// Seconds of CPU time so far.
    pub(super) fn cpu_seconds(self) -> Result<f64> {
        let stat = self.read("stat")?;
        // The name in parentheses may contain spaces and parentheses.
        let fields = stat.rsplit_once(')').context("no name in /proc/PID/stat")?.1;
        let ticks = fields.split_ascii_whitespace().skip(11).take(2);
        let ticks: u32 = ticks.filter_map(|field| field.parse::<u32>().ok()).sum();
        Ok(f64::from(ticks) / TICKS_PER_SECOND)
    }

    /// Open descriptors, and how many of them are sockets.
    pub(super) fn descriptors(self) -> Result<DescriptorCounts> {
        let mut found = DescriptorCounts::default();
        let folder = format!("/proc/{}/fd", self.0);
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {folder}"))? {
            // One may be closed between the two reads.
            let Ok(target) = fs::read_link(entry?.path()) else { continue };
            found.all += 1;
            found.sockets += u32::from(target.to_string_lossy().starts_with("socket:"));
        }
        Ok(found)
    }

    /// Its child processes.
    pub(super) fn children(self) -> Vec<Self> {
        let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", self.0)) else { return Vec::new() };
        let lists = tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        lists
            .flat_map(|list| {
                list.split_whitespace()
                    .filter_map(|pid| Some(Self(pid.parse().ok()?)))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Its arguments, the program included; empty if it is gone.
    pub(super) fn arguments(self) -> Vec<String> {
        let line = self.read("cmdline").unwrap_or_default();
        line.split_terminator('\0').map(str::to_owned).collect()
    }

    /// Lists every process of the machine.
    pub(super) fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Self)).collect()
    }

    /// Whether it handles SIGHUP, the request to reopen files; without a handler the signal would end it.
    pub(super) fn handles_hangup(self) -> bool {
        let status = self.read("status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask & 1 == 1)
    }
}

/// Counts of open descriptors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DescriptorCounts {
    pub(super) all: u32,
    pub(super) sockets: u32,
}

fn field(text: &str, name: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Memory over time.
#[derive(Debug, Default)]
pub(super) struct MemorySamples {
    /// Seconds since the start, megabytes.
    memory: Vec<(f64, f64)>,
    pub(super) most_sockets: u32,
}

/// Samples every second until stopped, or until the server is gone.
pub(super) fn sample(server: WatchedProcess, stop: &AtomicBool) -> MemorySamples {
    let mut samples = MemorySamples::default();
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let (Ok(memory), Ok(open)) = (server.resident_mb(), server.descriptors()) else { break };
        samples.memory.push((began.elapsed().as_secs_f64(), memory));
        samples.most_sockets = samples.most_sockets.max(open.sockets);
        thread::sleep(SAMPLE_INTERVAL);
    }
    samples
}

/// Memory growth after the warm-up, which is the first third; in megabytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MemoryGrowth {
    /// The value of the best-fit line where the warm-up ends.
    pub(super) from: f64,
    /// The value of the same line at the end.
    pub(super) to: f64,
    pub(super) most: f64,
}

impl MemoryGrowth {
    /// The growth in percent of the start.
    pub(super) fn percent(self) -> f64 {
        (self.to / self.from - 1.0) * 100.0
    }
}

impl MemorySamples {
    /// Creates samples one second apart.
    #[cfg(test)]
    pub(super) fn of(memory: impl Iterator<Item = f64>) -> Self {
        let memory = memory.scan(0.0, |at, memory| {
            *at += 1.0;
            Some((*at - 1.0, memory))
        });
        Self { memory: memory.collect(), most_sockets: 0 }
    }

    /// Returns the growth, or `None` if there are too few samples.
    pub(super) fn growth(&self) -> Option<MemoryGrowth> {
        let end = self.memory.last()?.0;
        let late: Vec<(f64, f64)> =
            self.memory.iter().copied().filter(|(at, _)| *at >= end / 3.0).collect();
        if late.len() < 3 {
            return None;
        }
        let (mut count, mut times, mut memory, mut squares, mut products) =
            (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in &late {
            count += 1.0;
            times += x;
            memory += y;
            squares += x * x;
            products += x * y;
        }
        let slope = (count * products - times * memory) / (count * squares - times * times);
        let at = |x: f64| memory / count + slope * (x - times / count);
        let most = self.memory.iter().map(|(_, memory)| *memory).fold(0.0, f64::max);
        Some(MemoryGrowth { from: at(end / 3.0), to: at(end), most })
    }
}

/// Returns the value that this share of a sorted list doesn't exceed.
pub(super) fn percentile<T>(sorted: &[T], share: f64) -> Option<&T> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a length is an index"
    )]
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1).min(sorted.len().checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_measured_over_the_last_two_thirds() {
        let check = |memory: &dyn Fn(f64) -> f64, from: f64, to: f64| {
            let growth =
                MemorySamples::of((0..=90).map(|at| memory(f64::from(at)))).growth().unwrap();
            assert!((growth.from - from).abs() < 0.01, "{growth:?}");
            assert!((growth.to - to).abs() < 0.01, "{growth:?}");
        };
        check(&|_| 50.0, 50.0, 50.0);
        check(&|at| 50.0 + at, 80.0, 140.0);
        check(&|at| if at < 30.0 { at } else { 50.0 }, 50.0, 50.0);
        assert_eq!(MemorySamples::default().growth(), None);
        let growth = MemoryGrowth { from: 50.0, to: 55.0, most: 60.0 };
        assert!((growth.percent() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn percentiles() {
        let sorted: Vec<u32> = (1..=100).collect();
        for (share, expected) in [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)] {
            assert_eq!(percentile(&sorted, share), Some(&expected), "{share}");
        }
        assert_eq!(percentile::<u32>(&[], 0.5), None);
    }

    #[test]
    fn this_process_can_be_watched() {
        let own = WatchedProcess(std::process::id());
        assert!(own.resident_mb().unwrap() > 1.0);
        assert!(own.cpu_seconds().unwrap() >= 0.0);
        let before = own.descriptors().unwrap();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        assert!(
            own.descriptors().unwrap().sockets > before.sockets.saturating_sub(1),
            "{listener:?}"
        );
        assert!(WatchedProcess::all().contains(&own) && !own.arguments().is_empty());
        let gone = WatchedProcess(u32::MAX);
        gone.resident_mb().unwrap_err();
        assert!(gone.arguments().is_empty() && gone.children().is_empty());
    }
}
