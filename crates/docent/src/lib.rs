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
mod follow;
mod handed;
mod indexing;
mod inspect;
mod install;
mod local;
pub mod logging;
mod owner;
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
mod strangers;
mod tools_page;
mod unmet;
