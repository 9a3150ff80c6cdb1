//! The docent binary's own parts: configuration, command line, logging, state and checks.
//!
//! The only crate that reads the environment, prints, or uses anyhow. `main` calls [`cli::run`] and nothing else.
//!
//! # Start and reload
//!
//! `docent serve` reads its configuration, enters the sandbox while it has one thread, and only then starts logging, the
//! runtime and the listener, so that whatever starts later is confined too. Its access is derived from the configuration:
//! roots, collections and configuration folders to read, state to write, named ports. The supervisor is started before,
//! because afterwards docent can start no process.
//!
//! Configuration files, and the files they name, are watched: collections and servers are added and removed without a restart,
//! unless a confined server may write to one of these files. Each problem of a configuration is reported once while it lasts.
//!
//! SIGHUP reads the configuration again. What may change while calls run (keys, issuers, certificate rules, policy, tool
//! limits) is behind one pointer that is replaced as a whole. Settings that need a restart are reported. An invalid
//! configuration changes nothing.
//!
//! `docent run` replaces itself by another program: it executes docent once more with a hidden subcommand, which confines
//! itself and executes the program. `docent analyze` calls the same tools through an in-memory session, as a client would.
//! `docent tools`, `call`, `resources` and `prompts` call docent itself in memory; a configured server through a session that
//! has only this server, so that pins, settings, policy and audit apply; and a program or address on the command line directly.

mod analyze;
mod argv_secret;
mod audit;
pub mod cli;
mod collections;
pub mod config;
mod config_watch;
mod dangling_settings;
mod docs;
pub mod doctor;
mod embedding;
mod external_auth;
mod in_process;
mod index_ownership;
mod indexing;
mod inspect;
mod install;
pub mod logging;
mod policy;
mod reload;
mod run;
mod sandbox;
mod scripts;
mod search;
pub mod serve;
mod servers;
mod shell;
pub mod state;
mod tools_page;
