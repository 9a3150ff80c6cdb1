//! Reports which controls are in force, and errors of a sandbox.

use crate::ConfinementMode;
use serde::Serialize;
use std::{error::Error, fmt, path::PathBuf};

/// State of a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlState {
    /// The kernel enforces it.
    InForce,
    /// It is requested, but this machine can't enforce it.
    NotOffered,
    /// It is not requested.
    Off,
}

impl fmt::Display for ControlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InForce => "in force",
            Self::NotOffered => "not offered",
            Self::Off => "off",
        })
    }
}

/// One control of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxControl {
    /// Its name, the same on every machine.
    pub name: &'static str,
    /// Its state.
    pub state: ControlState,
    /// How it is enforced and with which limits, in one line.
    pub detail: String,
}

/// A requested path that is not part of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedPath {
    /// The requested path.
    pub path: PathBuf,
    /// Why it is skipped.
    pub reason: String,
}

/// The state of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxReport {
    /// The requested mode.
    pub mode: ConfinementMode,
    /// Every control, in a fixed order.
    pub controls: Vec<SandboxControl>,
    /// Skipped paths, which stay inaccessible.
    pub skipped: Vec<SkippedPath>,
}

impl SandboxReport {
    /// Returns the control called `name`.
    pub fn control(&self, name: &str) -> Option<&SandboxControl> {
        self.controls.iter().find(|control| control.name == name)
    }

    /// Returns the requested controls that can't be enforced here.
    pub fn missing(&self) -> impl Iterator<Item = &SandboxControl> {
        self.controls.iter().filter(|control| control.state == ControlState::NotOffered)
    }
}

/// Why a process was not confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Strict mode requires what this machine does not support. Nothing was applied.
    #[error("the strict sandbox is not available: {}; install what is missing, or use mode auto", .missing.join("; "))]
    Missing {
        /// Each missing control with the reason.
        missing: Vec<String>,
    },
    /// Some limits apply only to the calling thread, so other threads would stay unconfined. Nothing was applied.
    #[error("the process has {count} threads; it must be confined before it starts any")]
    Threads {
        /// Number of threads.
        count: usize,
    },
    /// A supported control could not be applied. The process may be partly confined and should end.
    #[error("the sandbox's {control} could not be applied")]
    Failed {
        /// The control's name.
        control: &'static str,
        /// The error of the kernel or a library.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The program to start was not found.
    #[error(
        "{program:?} is not an executable file and not in PATH; install it or use its absolute path"
    )]
    NoProgram {
        /// The requested program.
        program: PathBuf,
    },
    /// The path of this program, which starts the child, is unknown.
    #[error("cannot determine the path of the running program; set it in the launch")]
    NoLauncher(#[source] std::io::Error),
    /// The description can't be passed to the child.
    #[error("invalid sandbox description; its paths must be UTF-8")]
    Description(#[from] serde_json::Error),
    /// The parent process, which the program must end with, has ended already.
    #[error("the process that started this program has ended, so the program is not started")]
    Orphan,
    /// The hidden subcommand was called with invalid arguments.
    #[error(
        "usage: __confine DESCRIPTION -- PROGRAM [ARGUMENT]..., with the program's absolute path"
    )]
    Usage,
}

impl SandboxError {
    /// A control that could not be applied.
    #[cfg(target_os = "linux")]
    pub(crate) fn failed(
        control: &'static str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Failed { control, source: source.into() }
    }
}
