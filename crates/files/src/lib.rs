//! Writes docent's own files: state, audit log and configuration.
//!
//! A repository, or a server that docent runs, may replace a file or a folder with a symbolic link between two writes.
//! A [`ManagedFolder`] is therefore a path that is resolved once: every operation opens it again, and fails with a
//! [`LinkError`] if any part of it has become a link. New files have the mode of their [`FileAccess`], whatever the umask
//! is.
//!
//! This crate does not know the contents of the files. It is not for output files that a user names, nor for files that
//! are only read.
//!
//! ```
//! use docent_files::{Durability, FileAccess, ManagedFolder};
//!
//! # let place = tempfile::tempdir()?;
//! let state = ManagedFolder::resolve(place.path()).join("state");
//! state.make(FileAccess::Private)?;
//! state.replace("pins.json", b"{}", FileAccess::Private, Durability::Synced)?;
//! assert_eq!(std::fs::read(state.path().join("pins.json"))?, b"{}");
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(feature = "faults")]
pub mod faults;
mod file;
mod folder;
mod link;
mod operation;
mod tree;

pub use file::{DataFile, FileIdentity, FileStatus};
pub use folder::{Durability, FileAccess, ManagedFolder};
pub use link::{LinkError, is_link_error};
pub use operation::FileOperation;
