//! Resources used by a server and its descendants so far, and by a program over its whole run, as counted by the
//! kernel. Only one thing is measured at a time, so all descendants of this process belong to it.

use crate::process;
use anyhow::{Context, Result, ensure};
use std::{
    collections::HashMap,
    fs,
    io::{Read as _, Seek as _},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use wait4::Wait4 as _;

/// `/proc` counts CPU time in ticks of `USER_HZ`, which Linux fixes at 100 per second for programs.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Debug, PartialEq, Eq)]
struct ProcessStat {
    parent: u32,
    /// User and system time of the process and of children it has waited for.
    ticks: u32,
}

fn parse_stat(line: &str) -> Option<ProcessStat> {
    // The name in parentheses may contain spaces and parentheses.
    let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let times = fields.skip(9).take(4).map(|field| field.parse::<u32>().ok());
    Some(ProcessStat { parent, ticks: times.sum::<Option<u32>>()? })
}

/// Lists the descendants of this process.
fn servers() -> Result<HashMap<u32, ProcessStat>> {
    let mut others = HashMap::new();
    for entry in fs::read_dir("/proc").context("reading /proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // A process may end while the folder is read.
        let Ok(line) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        others
            .insert(pid, parse_stat(&line).with_context(|| format!("/proc/{pid}/stat: {line:?}"))?);
    }
    let mut found = HashMap::new();
    let mut parents = vec![std::process::id()];
    while let Some(parent) = parents.pop() {
        for (pid, stat) in others.extract_if(|_, stat| stat.parent == parent) {
            parents.push(pid);
            found.insert(pid, stat);
        }
    }
    ensure!(!found.is_empty(), "no server is running");
    Ok(found)
}

/// Lists the descendants of this process that don't run `program`.
fn servers_without(program: Option<&Path>) -> Result<HashMap<u32, ProcessStat>> {
    let mut found = servers()?;
    if let Some(program) = program {
        found.retain(|pid, _| {
            !fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|run| run == program)
        });
    }
    Ok(found)
}

/// CPU time used so far.
pub(crate) fn cpu() -> Result<Duration> {
    cpu_without(None)
}

/// CPU time used so far by all but those that run this program, which must be a path without symbolic links, as the
/// kernel reports it.
pub(crate) fn cpu_without(program: Option<&Path>) -> Result<Duration> {
    Ok(CLOCK_TICK * servers_without(program)?.values().map(|stat| stat.ticks).sum())
}

/// Resident memory in megabytes (10^6 bytes).
pub(crate) fn resident_mb() -> Result<f64> {
    resident_mb_without(None)
}

/// Resident memory of all but those that run this program.
pub(crate) fn resident_mb_without(program: Option<&Path>) -> Result<f64> {
    let mut total = 0;
    for pid in servers_without(program)?.into_keys() {
        // The counter in /proc/PID/status lags by some pages per CPU; this one is exact. A process that has just ended
        // has none, and no memory.
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        total += parse_resident(&text).unwrap_or(0);
    }
    ensure!(total > 0, "the server ended, or /proc/PID/smaps_rollup can't be read");
    Ok(f64::from(total) * 1024.0 / 1e6)
}

/// Kilobytes after `Rss:`.
fn parse_resident(rollup: &str) -> Option<u32> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The resources used by a program from start to end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ResourceUsage {
    /// User and system time on all CPUs.
    pub(crate) cpu: Duration,
    /// Wall-clock time.
    pub(crate) wall: Duration,
    /// The peak resident memory, in megabytes (10^6 bytes). Never less than the peak of this process, which the kernel
    /// passes on to children, so a benchmark must stay small itself.
    pub(crate) peak_mb: f64,
}

/// Runs a program to its end and discards its output; it must succeed.
pub(crate) fn run(command: &mut Command) -> Result<ResourceUsage> {
    let what = command.get_program().display().to_string();
    let mut complaint = tempfile::tempfile().context("making a file for standard error")?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaint.try_clone()?);
    let began = Instant::now();
    let child = command.spawn().with_context(|| format!("starting {what}"))?;
    let ended = child.wait4().with_context(|| format!("waiting for {what}"))?;
    let wall = began.elapsed();
    if !ended.status.success() {
        let mut said = String::new();
        complaint.rewind()?;
        complaint.read_to_string(&mut said)?;
        anyhow::bail!("{what} failed ({}): {}", ended.status, process::tail(&said, 40));
    }
    let kilobytes = u32::try_from(ended.rusage.maxrss / 1024).context("terabytes of memory")?;
    Ok(ResourceUsage {
        cpu: ended.rusage.utime + ended.rusage.stime,
        wall,
        peak_mb: f64::from(kilobytes) * 1024.0 / 1e6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines() {
        let check = |line: &str, expected: Option<(u32, u32)>| {
            assert_eq!(parse_stat(line).map(|stat| (stat.parent, stat.ticks)), expected, "{line}");
        };
        check("12 (node) S 7 12 12 0 -1 4194304 100 0 0 0 30 5 2 1 20 0 11 0 99", Some((7, 38)));
        check("12 (a) b) c) S 7 12 12 0 -1 4194304 100 0 0 0 30 5 0 0 20 0", Some((7, 35)));
        check("12 (node) S", None);
    }

    #[test]
    fn resident_lines() {
        assert_eq!(parse_resident("55-7f r\nRss:    1234 kB\nPss: 9 kB\n"), Some(1234));
        assert_eq!(parse_resident("Pss: 9 kB\n"), None);
    }

    #[test]
    fn a_child_is_counted() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let found = servers().unwrap();
        let used = resident_mb().unwrap();
        let program = fs::read_link(format!("/proc/{}/exe", child.id())).unwrap();
        let others = servers_without(Some(&program)).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!others.contains_key(&child.id()), "{others:?}");
        assert!(found.contains_key(&child.id()), "{found:?}");
        assert!(used > 0.1, "{used} MB");
    }

    #[test]
    fn a_program_is_measured_to_its_end() {
        let shell = |script: &str| run(Command::new("sh").args(["-c", script]));
        let used = shell("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done").unwrap();
        assert!(used.cpu > Duration::ZERO && used.wall > Duration::ZERO, "{used:?}");
        assert!(used.peak_mb > 0.1, "{used:?}");
        let problem = shell("echo no luck >&2; exit 3").unwrap_err().to_string();
        assert!(problem.contains("exit status: 3") && problem.contains("no luck"), "{problem}");
    }
}
