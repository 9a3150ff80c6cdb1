//! Configuration files of MCP clients: reads their servers and adds docent to them.
//!
//! Nothing here reads the environment, starts a program or prints: the caller passes the home folder, the platform and
//! the values of variables, and gets a list of [`EntryProblem`]s along with what could be read.

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

pub use client::McpClient;
pub use edit::{EditedText, with_server, with_table, without_server, without_table};
pub use entry::ENTRY_FIELDS;
pub use expand::{expand, expand_text};
pub use places::{
    ClientFolders, ConfigFile, ConfigScope, OsPlatform, candidates, find, is_installed,
    settings_candidates,
};
pub use plan::{ChangeReceipt, ConfigChange, ConfigChangeError, LinkPolicy, MissingFolders, undo};
pub use problem::EntryProblem;
pub use read::{ConfigContents, ConfigFormat, EditorInput, read, read_tables};
pub use secrets::{secret_text, with_secrets};
pub use server::{
    EntryTransport, EntryVisibility, McpServerEntry, RemoteKind, Requirement, SecretFile,
    SecretUse, Sensitivity, ServerMeta,
};
