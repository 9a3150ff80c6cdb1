//! What is in force, control by control, and why a sandbox can be refused.

use crate::ConfinementMode;
use serde::Serialize;
use std::{error::Error, fmt, path::PathBuf};

/// Whether a control holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlState {
    /// The kernel enforces it.
    InForce,
    /// It is asked for, and this machine has no means to enforce it.
    NotOffered,
    /// It is not asked for.
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
    /// Whether it holds.
    pub state: ControlState,
    /// By what means and within which bounds, in one line.
    pub detail: String,
}

/// A path that is not part of the sandbox, though it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedPath {
    /// The path as it was asked for.
    pub path: PathBuf,
    /// Why it is left out.
    pub reason: String,
}

/// The sandbox as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxReport {
    /// The mode that was asked for.
    pub mode: ConfinementMode,
    /// Every control, in a fixed order.
    pub controls: Vec<SandboxControl>,
    /// Paths that are left out, and so stay closed.
    pub skipped: Vec<SkippedPath>,
}

impl SandboxReport {
    /// The control called `name`.
    pub fn control(&self, name: &str) -> Option<&SandboxControl> {
        self.controls.iter().find(|control| control.name == name)
    }

    /// The controls that were asked for and can't be enforced here.
    pub fn missing(&self) -> impl Iterator<Item = &SandboxControl> {
        self.controls.iter().filter(|control| control.state == ControlState::NotOffered)
    }
}

/// Why a process is not confined.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Strict mode asks for what this machine does not offer. Nothing is applied.
    #[error("the strict sandbox is not to be had here: {}; get what is missing, or use mode auto", .missing.join("; "))]
    Missing {
        /// Each missing control with the reason.
        missing: Vec<String>,
    },
    /// Some limits bind the calling thread alone, so other threads would stay free. Nothing is applied.
    #[error("the process has {count} threads; it must be confined before it starts any")]
    Threads {
        /// How many there are.
        count: usize,
    },
    /// A control on offer could not be applied. The process may be partly confined and should end.
    #[error("the sandbox's {control} could not be applied")]
    Failed {
        /// The control's name.
        control: &'static str,
        /// What the kernel or its library said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The program to start is not there.
    #[error(
        "{program:?} is not an executable file, nor in a folder of PATH; install it or give its whole path"
    )]
    NoProgram {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// This program's own path can't be told, and the child is started through it.
    #[error("the path of the running program can't be told; give it to the launch")]
    NoLauncher(#[source] std::io::Error),
    /// The description can't be handed to the child.
    #[error("the sandbox's description is not JSON of the right form; its paths must be UTF-8")]
    Description(#[from] serde_json::Error),
    /// The process that the program was to end with is gone already.
    #[error("the process that started this program has ended, so the program is not started")]
    Orphan,
    /// The hidden subcommand was called by hand, or wrongly.
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
