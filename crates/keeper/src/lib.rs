//! Starts the programs that docent runs and ends them all, whatever becomes of docent.
//!
//! docent binds itself to its sandbox early and can then start no process. So before that it starts one keeper: this
//! executable again, with the hidden subcommand [`SUBCOMMAND`]. [`Keeper`] is docent's side: each program has a socket of
//! its own to the keeper, the order goes through it, the pipes and the news of the program's end come back. [`run`] is the
//! keeper's side: a process with one thread that adopts whatever its programs leave behind. A socket that closes ends its
//! program with all descendants; the closed socket of docent ends them all.
//!
//! The crate knows programs, pipes and signals. It must not know MCP or docent's configuration. Linux only.

mod commands;
mod keep;
mod keeper;
mod order;
mod outcome;
mod packet;
mod process;

pub use commands::Commands;
pub use docent_sandbox::{
    Confinement, Dropped, Environment, Launch, Limits, Mode, Origin, Ports, clean_environment,
};
pub use keep::run;
pub use keeper::{Begun, Keeper, Settings};
pub use outcome::{Ended, Failed};
pub use process::{Child, Process};

/// The hidden subcommand that [`run`] is behind.
pub const SUBCOMMAND: &str = "__keep";
