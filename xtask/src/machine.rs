//! Describes the machine and the time of a measurement.

use crate::process::{self, OutputMode};
use anyhow::{Context, Result};
use std::{fs, process::Command, thread, time::Duration};

const QUESTION_LIMIT: Duration = Duration::from_secs(30);

/// Describes processor, memory and kernel.
pub(crate) fn describe() -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field(&cpu, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = field(&fs::read_to_string("/proc/meminfo")?, "MemTotal").unwrap_or_default();
    let kilobytes: u32 =
        memory.trim_end_matches(" kB").parse().context("MemTotal in /proc/meminfo")?;
    let cores = thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "{model}, {cores} cores, {:.1} GB of memory, Linux {}",
        f64::from(kilobytes) * 1024.0 / 1e9,
        kernel.trim()
    ))
}

/// Returns the date and time in a readable form.
pub(crate) fn now() -> Result<String> {
    let mut date = Command::new("date");
    date.args(["-u", "+%Y-%m-%d %H:%M UTC"]);
    let said = process::run(&mut date, QUESTION_LIMIT, OutputMode::Kept)?.or_fail("date")?;
    Ok(said.trim().to_owned())
}

/// Returns the load average.
pub(crate) fn load_average() -> Result<String> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').take(3).collect::<Vec<_>>().join(" "))
}
