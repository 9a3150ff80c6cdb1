//! Configuration files of MCP clients: reads their servers and adds docent to them.
//!
//! Nothing here reads the environment, starts a program or prints: the caller passes the home folder, the platform and
//! the values of variables, and gets a list of [`Problem`]s along with what could be read.

mod client;
mod edit;
mod entry;
mod expand;
mod fields;
mod parse;
mod places;
mod plan;
mod problem;
mod read;
mod secrets;
mod server;
mod shape;
mod template;

pub use client::Client;
pub use edit::{Edited, with_server, with_table, without_server, without_table};
pub use entry::FIELDS;
pub use expand::{expand, expand_text};
pub use places::{Places, Platform, Scope, Source, candidates, find, is_installed};
pub use plan::{Folders, Links, Plan, PlanError, Receipt, undo};
pub use problem::Problem;
pub use read::{Form, Input, Reading, read, read_tables};
pub use secrets::{secret_text, with_secrets};
pub use server::{
    Meta, Need, RemoteKind, SecretFile, SecretUse, Sensitivity, Server, Visibility, Way,
};
