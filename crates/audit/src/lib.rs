//! The audit log: one JSON line for each call, in a chain that shows whether somebody changed it.
//!
//! This crate owns the file: how lines are written, chained, rotated, checked, read and counted. It must not know what
//! a tool, a session or a transport is.
//!
//! # The chain
//!
//! A line is one JSON object in plain ASCII, in exactly this shape:
//!
//! ```text
//! {"seq":7,"prev":"<hash of line 6>", … ,"hash":"<hash of this line>"}
//! ```
//!
//! * `seq` counts from 1, across files and restarts.
//! * `prev` is the `hash` of the line before, wherever that line is; 64 zeros for the first line of all.
//! * `hash` is always last. It is SHA-256 over the bytes of the line before `,"hash":`, which `prev` is part of, as 64
//!   hexadecimal digits. With a key it is HMAC-SHA-256 under that key.
//!
//! Bytes are hashed as they are written, so that there is no second spelling of a line that would pass. Without a key
//! the chain shows accidents and careless edits: whoever can write the file can also compute every hash anew. With a
//! key that the writer of the file doesn't have, they can't. Neither shows that lines are missing at the very end: for
//! that, keep the last `seq:hash` elsewhere and hand it to [`verify`] as [`VerifyOptions::expect`].
//!
//! # The log's own lines
//!
//! Lines with a `kind` tell of the log itself, and are part of the chain: `torn` (the bytes before it are a line that
//! was cut off, with their number and SHA-256), `rotated_elsewhere` (another tool moved or emptied the file that held
//! the lines `from` to `to`), `dropped` (so many lines could not be written since a time), `begun` (the first line of each
//! file but the first: the number of the `file`, of its `first` line, and of the `oldest` file that stays). Older files are
//! removed after that line is written, so that [`verify`] can tell a file that was let go from one that was taken away.
//! Lines of calls have no `kind`.
//!
//! # Several processes
//!
//! Each line is written under an exclusive lock on the file, after a look at whether the file has grown or was moved,
//! so that several processes can share one log. A line is one write.

mod chain;
mod entry;
mod event;
mod file;
mod follow;
mod line;
mod log;
mod members;
mod read;
mod stats;
mod tail;
mod verify;

pub use chain::ChainHead;
pub use entry::AuditEntry;
pub use file::files;
pub use follow::{LogFollower, follow};
pub use line::{AuditFilter, AuditLine};
pub use log::{AuditLog, WriteFailurePolicy, AuditLogSettings, AuditWriteError};
pub use read::AuditReadError;
pub use stats::{DurationStats, AuditStats, stats};
pub use tail::tail;
pub use verify::{VerifyOptions, VerifyProblem, VerifyReport, VerifyProblemKind, verify, verify_files};

/// Bytes of the longest line, its newline included. A call's line stays below it whatever it is handed.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
