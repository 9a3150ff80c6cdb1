//! The docent binary's own parts: configuration, command line, logging, state and checks.
//!
//! The only crate that reads the environment, prints, or uses anyhow. `main` calls [`cli::run`] and nothing else.

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
