//! How a program ends, and why one is not started.

use serde::{Deserialize, Serialize};
use std::{fmt, io};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramEnd {
    /// By itself, with this exit code. 126 is also that of a program that could not be executed; its standard error says
    /// why.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// With its keeper, which was killed: the programs of a killed keeper are killed as well.
    KeeperGone,
}

impl fmt::Display for ProgramEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "it ended with exit code {code}"),
            Self::Signal(number) => match signal_hook::low_level::signal_name(*number) {
                Some(name) => write!(f, "it was ended by signal {number} ({name})"),
                None => write!(f, "it was ended by signal {number}"),
            },
            Self::KeeperGone => {
                f.write_str("it was ended because the process that starts programs was killed")
            }
        }
    }
}

/// Why a program is not started.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchError {
    /// A file that is not there.
    #[error("{program:?} is not there; install it or correct its path")]
    NotFound {
        /// The program's whole path.
        program: String,
    },
    /// A name that no folder has.
    #[error(
        "{program:?} is in no folder of PATH ({searched:?}); install it or give its whole path"
    )]
    NotOnPath {
        /// The program as it was ordered.
        program: String,
        /// The `PATH` of the order.
        searched: String,
    },
    /// A file that may not be executed.
    #[error(
        "{program:?} is no file that may be executed; run chmod +x on it or name another program"
    )]
    NotExecutable {
        /// Its whole path.
        program: String,
    },
    /// A working folder that is not there.
    #[error("the working folder {folder:?} is not there; make it or name another")]
    NoFolder {
        /// The folder as it was ordered.
        folder: String,
    },
    /// The policy names the command among those that are denied.
    #[error("{command:?} is not started: `policy.downstream.deny` names it")]
    Denied {
        /// The command as it was ordered.
        command: String,
    },
    /// The policy's list of commands does not name it.
    #[error(
        "{command:?} is not started: `policy.downstream.commands` doesn't name it; add it there"
    )]
    NotAllowed {
        /// The command as it was ordered.
        command: String,
    },
    /// The order's `PATH` is not the one that the policy is about.
    #[error(
        "{command:?} is not started: its PATH differs from docent's, and `policy.downstream.commands` is about the latter; take PATH out of its environment"
    )]
    OtherPath {
        /// The command as it was ordered.
        command: String,
    },
    /// The sandbox is refused.
    #[error("{program:?} is not started: {reason}")]
    Sandbox {
        /// The program as it was ordered.
        program: String,
        /// What the sandbox says.
        reason: String,
    },
    /// As many programs run as may.
    #[error("{most} programs run already, and no more may; stop some or raise the bound")]
    TooMany {
        /// The bound.
        most: usize,
    },
    /// The system has no room for another process.
    #[error("the system has no room for another process; end some or raise its limit (ulimit -u)")]
    NoRoom,
    /// The system can't start it.
    #[error("{program:?} can't be started: {reason}")]
    Start {
        /// The program as it was ordered.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// The order can't be sent or read.
    #[error("the order to start a program is not of the right form: {reason}")]
    Order {
        /// What is wrong with it.
        reason: String,
    },
    /// The keeper is gone.
    #[error(
        "the process that starts programs was killed; try again, and restart docent if that doesn't help"
    )]
    KeeperGone,
    /// docent's own side of it.
    #[error("the process that starts programs can't be reached; try again, or restart docent")]
    #[serde(skip)]
    Unreachable(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_in_words() {
        for (ended, text) in [
            (ProgramEnd::Code(3), "it ended with exit code 3"),
            (ProgramEnd::Signal(9), "it was ended by signal 9 (SIGKILL)"),
            (ProgramEnd::Signal(60), "it was ended by signal 60"),
        ] {
            assert_eq!(ended.to_string(), text);
        }
    }
}
