//! Open files of docent, and their metadata.

use crate::operation::FileOperation;
use rustix::fs::{FileType, Stat};
use std::{
    fs::{File, Metadata, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::{fd::AsRawFd as _, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
};

/// Identifies a file, whatever its name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Returns the identity of the file with this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Status of an entry of a folder. Links are not followed.
#[derive(Debug, Clone, Copy)]
pub struct FileStatus {
    /// Identity of the file.
    pub identity: FileIdentity,
    /// Its length in bytes.
    pub length: i64,
    /// When it was last written: seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
    kind: FileType,
}

impl FileStatus {
    #[expect(
        clippy::useless_conversion,
        reason = "the types of these numbers differ between systems"
    )]
    pub(crate) fn of(stat: &Stat) -> Self {
        let device = u64::try_from(stat.st_dev).unwrap_or_default();
        let inode = u64::try_from(stat.st_ino).unwrap_or_default();
        let kind = FileType::from_raw_mode(stat.st_mode);
        let modified =
            (stat.st_mtime.into(), i64::try_from(stat.st_mtime_nsec).unwrap_or_default());
        Self {
            identity: FileIdentity { device, inode },
            length: stat.st_size.into(),
            modified,
            kind,
        }
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// Whether it is a pipe or a socket, which may block when opened.
    pub fn is_channel(&self) -> bool {
        matches!(self.kind, FileType::Fifo | FileType::Socket)
    }
}

/// An open file. Each of its methods is one operation.
#[derive(Debug)]
pub struct DataFile {
    file: File,
}

impl DataFile {
    pub(crate) const fn new(file: File) -> Self {
        Self { file }
    }

    /// Returns the file itself, for a writer that does not need this type.
    pub fn into_file(self) -> File {
        self.file
    }

    /// Returns the file itself, to read from it.
    pub const fn as_file(&self) -> &File {
        &self.file
    }

    /// Returns a path to this open file, valid even after its name was given to another file. For libraries that only
    /// accept a path; it is valid for as long as the file is open.
    pub fn path_by_handle(&self) -> PathBuf {
        let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
        Path::new(folder).join(self.file.as_raw_fd().to_string())
    }

    /// Reads its metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Waits until its bytes and its metadata are on the disk.
    pub fn sync_all(&self) -> io::Result<()> {
        FileOperation::Sync.check()?;
        self.file.sync_all()
    }

    /// Waits until its bytes are on the disk.
    pub fn sync_data(&self) -> io::Result<()> {
        FileOperation::Sync.check()?;
        self.file.sync_data()
    }

    /// Changes its length.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        FileOperation::Truncate.check()?;
        self.file.set_len(length)
    }

    /// Locks it, waiting if necessary.
    pub fn lock(&self) -> io::Result<()> {
        FileOperation::Lock.check()?;
        self.file.lock()
    }

    /// Locks it, unless another process has the lock.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        FileOperation::Lock.check().map_err(TryLockError::Error)?;
        self.file.try_lock()
    }

    /// Releases its lock.
    pub fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl Write for DataFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = FileOperation::Write.check() {
            // A full disk accepts a part.
            let (part, _) = bytes.split_at(bytes.len() / 2);
            self.file.write_all(part)?;
            return Err(error);
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for DataFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Seek for DataFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
