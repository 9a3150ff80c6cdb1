//! The sandbox on Linux.

mod filter;
mod limits;
pub(crate) mod paths;

use crate::{
    Confinement, ConfinementMode, SandboxSupport,
    plan::{ConfinementTarget, plan_for},
    report::{SandboxError, SandboxReport},
};
use rustix::thread;
use std::path::Path;

/// Confines the calling process, or the `program` that it executes next.
pub(crate) fn confine(
    confinement: &Confinement,
    mode: ConfinementMode,
    program: Option<&Path>,
) -> Result<SandboxReport, SandboxError> {
    let offered = SandboxSupport::look();
    let whom =
        if program.is_some() { ConfinementTarget::Program } else { ConfinementTarget::Itself };
    let mut report = plan_for(confinement, mode, &offered, whom)?;
    if mode == ConfinementMode::Off {
        return Ok(report);
    }
    single_threaded(mode)?;
    // Compiled before anything is applied, so that an error leaves the process unchanged.
    let filters = if offered.seccomp { filter::compile(confinement, whom)? } else { Vec::new() };
    limits::apply(&confinement.limits)?;
    if offered.no_new_privs {
        thread::set_no_new_privs(true)
            .map_err(|error| SandboxError::failed("no-new-privileges", error))?;
        limits::give_up_capabilities()?;
    }
    if offered.files() {
        report.skipped = paths::apply(confinement, offered.landlock, program)?;
    }
    // Last, because it may deny what the steps above need.
    filter::apply(&filters)?;
    Ok(report)
}

/// Landlock and seccomp confine the calling thread and those that it starts later.
fn single_threaded(mode: ConfinementMode) -> Result<(), SandboxError> {
    match std::fs::read_dir("/proc/self/task").map(Iterator::count) {
        Ok(1) => Ok(()),
        Ok(count) => Err(SandboxError::Threads { count }),
        Err(error) if mode == ConfinementMode::Strict => {
            Err(SandboxError::failed("count of threads", error))
        }
        // A container without /proc; rely on the caller.
        Err(_) => Ok(()),
    }
}
