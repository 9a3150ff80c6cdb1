//! A sandbox enforced by the kernel.
//!
//! A [`Confinement`] describes what a process may access, [`confine`] applies it to the calling process, and a
//! [`Launch`] starts a child that is confined before its first instruction. Landlock limits files, TCP ports, signals
//! and abstract sockets; seccomp denies what Landlock does not cover; resource limits and capabilities do the rest.
//! [`SandboxSupport`] reports what the machine supports, [`SandboxReport`] what is in force.
//!
//! Not covered: reading a file's size and times, watching it, and changing into a folder work on every path that the
//! user may see; System V memory and queues are shared with the user's other processes. A program that may read a file
//! and execute a loader or an interpreter may run that file with it, under the same limits.
//!
//! The crate knows paths, ports and programs. It must not know docent's tools, servers or configuration.

mod bubblewrap;
mod confinement;
mod environment;
mod launch;
#[cfg(target_os = "linux")]
mod linux;
mod mode;
mod offered;
mod plan;
mod report;

pub use confinement::{Confinement, PortSet, ResourceLimits};
pub use environment::{ChildEnvironment, DroppedVariable, VariableOrigin, clean_environment};
pub use launch::{Launch, PreparedLaunch, SUBCOMMAND, run_confined};
pub use mode::{ConfinementMode, UnknownMode};
pub use offered::SandboxSupport;
pub use plan::{plan, skipped};
pub use report::{ControlState, SandboxControl, SandboxError, SandboxReport, SkippedPath};

use std::path::Path;

/// Confines the calling process to `confinement` permanently. Must be called before the process has a second thread.
///
/// In strict mode, missing controls are an error before anything is applied. After [`SandboxError::Failed`] the process may
/// be partly confined, and should end.
pub fn confine(
    confinement: &Confinement,
    mode: ConfinementMode,
) -> Result<SandboxReport, SandboxError> {
    confine_for(confinement, mode, None)
}

#[cfg(target_os = "linux")]
fn confine_for(
    confinement: &Confinement,
    mode: ConfinementMode,
    program: Option<&Path>,
) -> Result<SandboxReport, SandboxError> {
    linux::confine(confinement, mode, program)
}

#[cfg(not(target_os = "linux"))]
fn confine_for(
    confinement: &Confinement,
    mode: ConfinementMode,
    _program: Option<&Path>,
) -> Result<SandboxReport, SandboxError> {
    plan(confinement, mode, &SandboxSupport::look())
}
