//! Starts the programs that docent runs, and ends them all, even if docent is killed.
//!
//! docent confines itself early and can't start processes afterwards. So before that it starts one supervisor: this
//! executable again, with the hidden subcommand [`SUBCOMMAND`]. [`Supervisor`] is docent's side: each program has its own
//! socket to the supervisor, which carries the order, and in return the pipes and the program's end. [`run`] is the
//! supervisor's side: a process with one thread that adopts the orphans of its programs. Closing a socket ends its
//! program with all descendants; closing docent's socket ends them all.
//!
//! The process that docent starts is a guard: it forks the supervisor, and forks another one when that is killed, after
//! it has ended everything that the killed one had started. [`Supervisor::watch`] reports this to docent. If the guard is
//! killed, the supervisor continues.
//!
//! The crate knows programs, pipes and signals. It must not know MCP or docent's configuration. Linux only.
//!
//! # Design
//!
//! The supervisor is started before docent enters its sandbox, and is not bound by it. It has the list of commands that may be
//! started. It is a fork of its guard, which is docent's child and only waits: if the supervisor is killed, the guard ends
//! everything it had started, notifies docent, and forks another one on the same socket. Each program is confined on its own.
//! Loading docent's executable is most of what a call from a shell waits for: if a program is certain to be started, the
//! supervisor is started before the command is known, and a program is a copy of the supervisor until it is confined and
//! runs, so that the executable is not loaded a third time.

mod commands;
mod event_loop;
mod outcome;
mod packet;
mod process;
mod protocol;
mod supervisor;

pub use commands::CommandPolicy;
pub use docent_sandbox::{
    ChildEnvironment, Confinement, ConfinementMode, DroppedVariable, Launch, PortSet,
    ResourceLimits, VariableOrigin, clean_environment,
};
pub use event_loop::run;
pub use outcome::{LaunchError, ProgramEnd};
pub use process::{SupervisedChild, SupervisedProcess};
pub use supervisor::{Supervisor, SupervisorEvent, SupervisorSettings, UnconfiguredSupervisor};

/// The program of a [`Launch`] that starts the supervisor's own executable, even if its file was replaced.
pub const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// The hidden subcommand that calls [`run`].
pub const SUBCOMMAND: &str = "__keep";
