//! The audit log: one JSON line per call, in a hash chain that reveals later changes.
//!
//! This crate owns the file: writing, chaining, rotating, verifying, reading and counting lines. It must not know about
//! tools, sessions or transports.
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
//! Bytes are hashed exactly as written, so no alternative spelling of a line verifies. Without a key, the chain reveals
//! accidents and careless edits: anyone who can write the file can also recompute every hash. With a key that they
//! don't have, they can't. Neither reveals that lines are missing at the very end: for that, store the last `seq:hash`
//! elsewhere and pass it to [`verify`] as [`VerifyOptions::expect`].
//!
//! # The log's own lines
//!
//! Lines with a `kind` describe the log itself, and are part of the chain: `torn` (the bytes before it are a truncated
//! line, with their number and SHA-256), `rotated_elsewhere` (another tool moved or emptied the file that contained the
//! lines `from` to `to`), `dropped` (`count` lines could not be written since a time), `begun` (the first line of each
//! file but the first: the number of the `file`, of its `first` line, and of the `oldest` file that is kept). Older
//! files are removed after that line is written, so that [`verify`] can distinguish files removed by rotation from
//! files that were taken away. Lines of calls have no `kind`.
//!
//! # Several processes
//!
//! Each line is written under an exclusive lock on the file, after checking whether the file has grown or was moved, so
//! that several processes can share one log. A line is a single write.

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
pub use log::{AuditLog, AuditLogSettings, AuditWriteError, WriteFailurePolicy};
pub use read::AuditReadError;
pub use stats::{AuditStats, DurationStats, stats};
pub use tail::tail;
pub use verify::{
    VerifyOptions, VerifyProblem, VerifyProblemKind, VerifyReport, verify, verify_files,
};

/// Maximum size of a line in bytes, including its newline. A call's line stays below it whatever the input.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
