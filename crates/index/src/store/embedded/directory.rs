//! The folder of the lexical index. Its lists of files are sealed by a hash: tantivy seals the other files itself.

use super::file::crash_point;
use std::{fmt, io, path::Path, sync::Arc};
use tantivy::{
    Directory,
    directory::{
        DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
        error::{DeleteError, LockError, OpenReadError, OpenWriteError},
    },
};
use xxhash_rust::xxh3::xxh3_64;

/// A seal at the end of a list: a line of its own.
const SEAL: usize = 17;

#[derive(Clone)]
pub(super) struct SealedDirectory(pub(super) MmapDirectory);

impl fmt::Debug for SealedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn unseal(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let (data, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL)?)?;
    let right = format!("\n{:016x}", xxh3_64(data)).as_bytes() == seal;
    let length = data.len();
    bytes.truncate(length);
    right.then_some(bytes)
}

impl Directory for SealedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        crash_point!("index-lexical-remove");
        self.0.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        crash_point!("index-lexical-create");
        match self.0.open_write(path) {
            // Whoever wrote it ended before its commit: no list names it, and the one writer there is is here.
            Err(OpenWriteError::FileAlreadyExists(_)) if self.0.delete(path).is_ok() => {
                self.0.open_write(path)
            }
            opened => opened,
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        unseal(self.0.atomic_read(path)?).ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::InvalidData, "its checksum is wrong");
            OpenReadError::wrap_io_error(error, path.to_owned())
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        crash_point!("index-list-write");
        let mut sealed = data.to_vec();
        sealed.extend_from_slice(format!("\n{:016x}", xxh3_64(data)).as_bytes());
        self.0.atomic_write(path, &sealed)?;
        crash_point!("index-list-written");
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        crash_point!("index-lexical-sync");
        self.0.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.0.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.0.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_was_changed_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let directory = SealedDirectory(MmapDirectory::open(folder.path()).unwrap());
        let name = Path::new("meta.json");
        directory.atomic_write(name, b"{}").unwrap();
        assert_eq!(directory.atomic_read(name).unwrap(), b"{}");
        let path = folder.path().join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[0] = b'[';
        std::fs::write(&path, &bytes).unwrap();
        directory.atomic_read(name).unwrap_err();
        std::fs::write(&path, b"x").unwrap();
        directory.atomic_read(name).unwrap_err();
    }
}
