//! Starts the programs that docent runs and ends them all, whatever becomes of docent.
//!
//! docent binds itself to its sandbox early and can then start no process. So before that it starts one keeper: this
//! executable again, with the hidden subcommand [`SUBCOMMAND`]. [`Supervisor`] is docent's side: each program has a socket of
//! its own to the keeper, the order goes through it, the pipes and the news of the program's end come back. [`run`] is the
//! keeper's side: a process with one thread that adopts whatever its programs leave behind. A socket that closes ends its
//! program with all descendants; the closed socket of docent ends them all.
//!
//! The process that docent starts is a guard: it forks the keeper, and forks another one when that is killed, after it has
//! ended all that the killed one had started. [`Supervisor::watch`] tells docent. Where the guard is killed, the keeper goes on.
//!
//! The crate knows programs, pipes and signals. It must not know MCP or docent's configuration. Linux only.

mod commands;
mod event_loop;
mod supervisor;
mod protocol;
mod outcome;
mod packet;
mod process;

pub use commands::CommandPolicy;
pub use docent_sandbox::{
    Confinement, DroppedVariable, ChildEnvironment, Launch, ResourceLimits, ConfinementMode, VariableOrigin, PortSet, clean_environment,
};
pub use event_loop::run;
pub use supervisor::{UnconfiguredSupervisor, Supervisor, SupervisorEvent, SupervisorSettings};
pub use outcome::{ProgramEnd, LaunchError};
pub use process::{SupervisedChild, SupervisedProcess};

/// The program of a [`Launch`] that starts the keeper's own executable, even where another file has its name by now.
pub const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// The hidden subcommand that [`run`] is behind.
pub const SUBCOMMAND: &str = "__keep";
