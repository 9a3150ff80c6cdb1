//! The worker's main function: sandboxes the process, and runs the scripts that docent sends on its standard input.

use super::WorkerSettings;
use docent_sandbox::{Confinement, ResourceLimits as SandboxLimits, confine};
use docent_script::{MAX_WORKER_STACK_BYTES, ScriptLimits, serve_worker};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    ffi::OsStr,
    fs,
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

/// The exit code of a worker whose sandbox failed, or that was not started by docent.
const EXIT_NOT_STARTED: u8 = 126;

/// Maximum number of file descriptors of a worker: its three pipes, and a few while it starts.
const MAX_OPEN_FILES: u64 = 16;

/// Memory of the process besides its scripts: code, allocators and threads.
const BASE_MEMORY_BYTES: u64 = 256 << 20;

/// How many copies of a script's memory may be in the process: in the engine, and in messages.
const SCRIPT_MEMORY_COPIES: u64 = 3;

/// CPU time beyond the script's limit before the kernel ends the process. docent ends it earlier, unless it is waiting
/// for the user, whose time does not count.
const CPU_GRACE: Duration = Duration::from_secs(1);

/// Runs a worker. Must be called before the process has a second thread.
pub(crate) fn run(description: Option<&OsStr>) -> ExitCode {
    match work(description) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // If standard error is closed, the exit code must suffice.
            writeln!(io::stderr(), "docent: {}: {problem}", super::WORKER_SUBCOMMAND)
                .unwrap_or_default();
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

fn work(description: Option<&OsStr>) -> Result<(), String> {
    let description = description.ok_or("this command is internal to docent")?;
    let description: WorkerSettings = serde_json::from_slice(description.as_encoded_bytes())
        .map_err(|error| format!("this command is internal to docent: {error}"))?;
    // The name in process lists, where the file's name is not helpful. Optional: not allowed everywhere.
    rustix::thread::set_name(c"docent-script").unwrap_or_default();
    // Make the kernel's OOM killer choose a script first. Optional: not allowed everywhere.
    fs::write("/proc/self/oom_score_adj", "1000").unwrap_or_default();
    let memory = u64::try_from(description.memory_bytes.saturating_add(MAX_WORKER_STACK_BYTES));
    let memory = memory.unwrap_or(u64::MAX).saturating_mul(SCRIPT_MEMORY_COPIES);
    for (resource, most) in [
        (Resource::Data, memory.saturating_add(BASE_MEMORY_BYTES)),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        limit(resource, most)?;
    }
    let confinement =
        Confinement::default().sealed(true).limits(SandboxLimits { open_files: MAX_OPEN_FILES });
    confine(&confinement, description.mode).map_err(|refused| refused.to_string())?;
    let served = serve_worker(io::stdin().lock(), io::stdout(), limit_cpu);
    served.map_err(|error| format!("cannot read docent's messages: {error}"))
}

/// Sets the soft and hard limit. A lower existing limit is kept.
fn limit(resource: Resource, most: u64) -> Result<(), String> {
    let most = getrlimit(resource).maximum.map_or(most, |set| set.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
        .map_err(|error| format!("cannot limit {resource:?}: {error}"))
}

/// Makes the kernel end the process when a script has used its CPU time.
fn limit_cpu(limits: &ScriptLimits) {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let used = u64::try_from(used.tv_sec).unwrap_or_default();
    let more = limits.time.saturating_add(CPU_GRACE).as_secs().saturating_add(1);
    let maximum = getrlimit(Resource::Cpu).maximum;
    let soft = used.saturating_add(more).min(maximum.unwrap_or(u64::MAX));
    // If this fails, docent's own timeout ends the script.
    setrlimit(Resource::Cpu, Rlimit { current: Some(soft), maximum }).unwrap_or_default();
}
