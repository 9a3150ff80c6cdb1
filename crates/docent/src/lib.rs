//! The docent binary's own parts: configuration, command line, logging, state and checks.
//!
//! The only crate that reads the environment, prints, or uses anyhow. `main` calls [`cli::run`] and nothing else.

mod analyze;
mod audit;
pub mod cli;
mod collections;
pub mod config;
mod docs;
pub mod doctor;
mod embedding;
mod config_watch;
mod argv_secret;
mod indexing;
mod inspect;
mod install;
mod in_process;
pub mod logging;
mod index_ownership;
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
mod external_auth;
mod tools_page;
mod dangling_settings;
