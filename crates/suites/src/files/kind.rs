//! What a directory entry is: a regular file, a directory, a symbolic link, or a special file that is never opened.

use std::fmt;

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; walks don't follow it.
    Link,
    /// A pipe, a socket or a device.
    Special(SpecialFile),
}

/// A file that is never read: opening it may block forever, or trigger a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialFile {
    /// A FIFO, made with `mkfifo`.
    Pipe,
    /// A Unix domain socket.
    Socket,
    /// A character device, such as a terminal.
    CharDevice,
    /// A block device, such as a disk.
    BlockDevice,
    /// A type specific to this operating system.
    Unknown,
}

impl PathKind {
    /// The kind of an entry found through the root's handle.
    pub(super) fn of(metadata: &cap_std::fs::Metadata) -> Self {
        match metadata {
            found if found.is_file() => Self::File,
            found if found.is_dir() => Self::Folder,
            found if found.is_symlink() => Self::Link,
            found => Self::Special(special_of(found)),
        }
    }

    /// The kind of an open file, or one outside the roots.
    pub fn of_open(metadata: &std::fs::Metadata) -> Self {
        match metadata {
            found if found.is_file() => Self::File,
            found if found.is_dir() => Self::Folder,
            found if found.is_symlink() => Self::Link,
            found => Self::Special(special_of_open(found)),
        }
    }
}

#[cfg(unix)]
fn special_of(metadata: &cap_std::fs::Metadata) -> SpecialFile {
    use cap_std::fs::FileTypeExt as _;
    match metadata.file_type() {
        kind if kind.is_fifo() => SpecialFile::Pipe,
        kind if kind.is_socket() => SpecialFile::Socket,
        kind if kind.is_char_device() => SpecialFile::CharDevice,
        kind if kind.is_block_device() => SpecialFile::BlockDevice,
        _ => SpecialFile::Unknown,
    }
}

#[cfg(unix)]
fn special_of_open(metadata: &std::fs::Metadata) -> SpecialFile {
    use std::os::unix::fs::FileTypeExt as _;
    match metadata.file_type() {
        kind if kind.is_fifo() => SpecialFile::Pipe,
        kind if kind.is_socket() => SpecialFile::Socket,
        kind if kind.is_char_device() => SpecialFile::CharDevice,
        kind if kind.is_block_device() => SpecialFile::BlockDevice,
        _ => SpecialFile::Unknown,
    }
}

#[cfg(not(unix))]
fn special_of(_: &cap_std::fs::Metadata) -> SpecialFile {
    SpecialFile::Unknown
}

#[cfg(not(unix))]
fn special_of_open(_: &std::fs::Metadata) -> SpecialFile {
    SpecialFile::Unknown
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("regular file"),
            Self::Folder => f.write_str("directory"),
            Self::Link => f.write_str("symbolic link"),
            Self::Special(special) => special.fmt(f),
        }
    }
}

impl fmt::Display for SpecialFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pipe => "named pipe",
            Self::Socket => "socket",
            Self::CharDevice => "character device",
            Self::BlockDevice => "block device",
            Self::Unknown => "special file",
        })
    }
}
