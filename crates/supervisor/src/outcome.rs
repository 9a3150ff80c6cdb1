//! How a program ends, and why one is not started.

use serde::{Deserialize, Serialize};
use std::{fmt, io};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramEnd {
    /// By itself, with this exit code. 126 may also mean that the program could not be executed; its standard error has
    /// the reason.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed together with its supervisor.
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

/// Why a program was not started.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchError {
    /// The file does not exist.
    #[error("{program:?} not found; install it or correct its path")]
    NotFound {
        /// The program's absolute path.
        program: String,
    },
    /// No folder of `PATH` contains the program.
    #[error("{program:?} not found in PATH ({searched:?}); install it or use its absolute path")]
    NotOnPath {
        /// The program as it was ordered.
        program: String,
        /// The `PATH` of the order.
        searched: String,
    },
    /// The file is not executable.
    #[error("{program:?} is not an executable file; run chmod +x on it or use another program")]
    NotExecutable {
        /// Its absolute path.
        program: String,
    },
    /// The working folder does not exist.
    #[error("the working folder {folder:?} does not exist; create it or use another")]
    NoFolder {
        /// The folder as it was ordered.
        folder: String,
    },
    /// The policy denies the command.
    #[error("{command:?} is not started: `policy.downstream.deny` names it")]
    Denied {
        /// The command as it was ordered.
        command: String,
    },
    /// The policy's list of commands does not contain it.
    #[error(
        "{command:?} is not started: `policy.downstream.commands` doesn't name it; add it there"
    )]
    NotAllowed {
        /// The command as it was ordered.
        command: String,
    },
    /// The order's `PATH` is not the one of the policy.
    #[error(
        "{command:?} is not started: its PATH differs from docent's, which `policy.downstream.commands` refers to; remove PATH from its environment"
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
        /// The sandbox's reason.
        reason: String,
    },
    /// The maximum number of programs is running.
    #[error("{most} programs are running, which is the limit; stop some or raise the limit")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// The system can't create another process.
    #[error("the system can't create another process; end some or raise its limit (ulimit -u)")]
    NoRoom,
    /// The system can't start it.
    #[error("{program:?} can't be started: {reason}")]
    Start {
        /// The program as it was ordered.
        program: String,
        /// The system's reason.
        reason: String,
    },
    /// The order can't be sent or read.
    #[error("invalid order to start a program: {reason}")]
    Order {
        /// What is wrong with it.
        reason: String,
    },
    /// The supervisor was killed.
    #[error(
        "the process that starts programs was killed; try again, and restart docent if that doesn't help"
    )]
    KeeperGone,
    /// Communication with the supervisor failed.
    #[error("the process that starts programs can't be reached; try again, or restart docent")]
    #[serde(skip)]
    Unreachable(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_described_in_words() {
        for (ended, text) in [
            (ProgramEnd::Code(3), "it ended with exit code 3"),
            (ProgramEnd::Signal(9), "it was ended by signal 9 (SIGKILL)"),
            (ProgramEnd::Signal(60), "it was ended by signal 60"),
        ] {
            assert_eq!(ended.to_string(), text);
        }
    }
}
