//! File operations, each of which a test can make fail.

use std::io;

/// The fail point that every operation passes.
#[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "only tests with faults name it"))]
pub(crate) const OPERATION_POINT: &str = "file-operation";

/// A kind of operation on a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileOperation {
    /// Opens a file that exists.
    Open,
    /// Creates a file, or opens one that may have to be created.
    Create,
    /// Writes bytes.
    Write,
    /// Waits until a file or a folder is on the disk.
    Sync,
    /// Changes the length of a file.
    Truncate,
    /// Renames a file.
    Rename,
    /// Creates a hard link.
    Link,
    /// Removes a file or a folder.
    Remove,
    /// Creates a folder.
    MakeFolder,
    /// Takes the lock of a file.
    Lock,
}

impl FileOperation {
    /// Every kind of operation.
    pub const ALL: [Self; 10] = [
        Self::Open,
        Self::Create,
        Self::Write,
        Self::Sync,
        Self::Truncate,
        Self::Rename,
        Self::Link,
        Self::Remove,
        Self::MakeFolder,
        Self::Lock,
    ];

    /// The fail point of this kind alone.
    #[cfg_attr(
        not(feature = "faults"),
        expect(dead_code, reason = "only tests with faults name it")
    )]
    pub(crate) const fn point(self) -> &'static str {
        match self {
            Self::Open => "file-open",
            Self::Create => "file-create",
            Self::Write => "file-write",
            Self::Sync => "file-sync",
            Self::Truncate => "file-truncate",
            Self::Rename => "file-rename",
            Self::Link => "file-link",
            Self::Remove => "file-remove",
            Self::MakeFolder => "file-make-folder",
            Self::Lock => "file-lock",
        }
    }

    /// Fails if a test requested it: with a full disk for operations that add something, with an I/O error otherwise.
    pub(crate) fn check(self) -> io::Result<()> {
        let failure = || {
            use rustix::io::Errno;
            let errno = match self {
                Self::Create | Self::Write | Self::MakeFolder | Self::Link => Errno::NOSPC,
                _ => Errno::IO,
            };
            Err(errno.into())
        };
        if is_failing(self) { failure() } else { Ok(()) }
    }
}

fn is_failing(operation: FileOperation) -> bool {
    fail::fail_point!(operation.point(), |_| true);
    fail::fail_point!(OPERATION_POINT, |_| true);
    // Unused without fail points.
    let _ = operation;
    false
}
