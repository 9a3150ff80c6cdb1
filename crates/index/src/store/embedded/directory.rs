//! The folder of the lexical index. Its lists of files are sealed by a hash: tantivy seals the other files itself.
//!
//! The seal has no key, and tantivy removes what its list names: no name leads out of the folder.

use super::file::{crash_point, is_plain};
use docent_files::{DataFile, Durability, FileAccess, ManagedFolder};
use std::{
    fmt,
    fs::TryLockError,
    io::{self, BufWriter, Read as _, Write},
    path::{Path, PathBuf},
    sync::Arc,
};
use tantivy::{
    Directory,
    directory::{
        AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
        WatchCallback, WatchHandle, WritePtr,
        error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError},
    },
};
use xxhash_rust::xxh3::xxh3_64;

/// List of the files that tantivy created and may remove.
pub(super) const MANAGED_LIST_FILE: &str = ".managed.json";
/// Length of the seal line at the end of a list.
const SEAL_BYTES: usize = 17;

/// Tantivy maps the files; everything that writes goes through the folder.
#[derive(Clone)]
pub(super) struct SealedDirectory {
    files: MmapDirectory,
    folder: ManagedFolder,
}

/// A file that is synced when finished.
struct SyncedFile(DataFile);

impl Write for SyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for SyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()?;
        self.0.sync_data()
    }
}

impl fmt::Debug for SealedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

fn unseal(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let (data, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
    let right = format!("\n{:016x}", xxh3_64(data)).as_bytes() == seal;
    let length = data.len();
    bytes.truncate(length);
    right.then_some(bytes)
}

/// Whether a list names only files in the folder.
fn stays_inside(list: &[u8]) -> bool {
    serde_json::from_slice::<Vec<PathBuf>>(list)
        .is_ok_and(|names| names.iter().all(|name| is_plain(name)))
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

impl SealedDirectory {
    pub(super) fn open(folder: &ManagedFolder) -> Result<Self, OpenDirectoryError> {
        Ok(Self { files: MmapDirectory::open(folder.path())?, folder: folder.clone() })
    }

    /// Drops cached files that are no longer open. Tantivy caches them by name, and evicts them when asked for their count.
    pub(super) fn forget_closed(&self) {
        drop(self.files.get_cache_info());
    }

    /// Fails if the entry with this name must not be read.
    fn check_readable(&self, name: &Path) -> io::Result<()> {
        match self.folder.status(name)? {
            Some(there) if !there.is_file() => Err(invalid("it is not a regular file")),
            // A caller that opens a missing file reports that in its own way.
            _ => Ok(()),
        }
    }

    fn open_to_write(&self, name: &Path) -> io::Result<DataFile> {
        match self.folder.create(name, FileAccess::Private) {
            // The writer of it ended before its commit: no list names it, and this is the only writer.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.folder.create_over(name, FileAccess::Private)
            }
            created => created,
        }
    }

    fn read_list(&self, name: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.folder.read(name)?.read_to_end(&mut bytes)?;
        let list = unseal(bytes).ok_or_else(|| invalid("its checksum is wrong"))?;
        if name == Path::new(MANAGED_LIST_FILE) && !stays_inside(&list) {
            return Err(invalid("it names a file outside the folder"));
        }
        Ok(list)
    }
}

fn read_error(error: io::Error, name: &Path) -> OpenReadError {
    if error.kind() == io::ErrorKind::NotFound {
        return OpenReadError::FileDoesNotExist(name.to_owned());
    }
    OpenReadError::wrap_io_error(error, name.to_owned())
}

impl Directory for SealedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.check_readable(path).map_err(|error| read_error(error, path))?;
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        crash_point!("index-lexical-remove");
        self.folder.remove(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.check_readable(path).map_err(|error| read_error(error, path))?;
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        crash_point!("index-lexical-create");
        let failed = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        let file = self.open_to_write(path).map_err(failed)?;
        Ok(BufWriter::new(Box::new(SyncedFile(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.read_list(path).map_err(|error| read_error(error, path))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        crash_point!("index-list-write");
        let mut sealed = data.to_vec();
        sealed.extend_from_slice(format!("\n{:016x}", xxh3_64(data)).as_bytes());
        // It replaces whatever has its name, including a link.
        self.folder.replace(path, &sealed, FileAccess::Private, Durability::Synced)?;
        crash_point!("index-list-written");
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        crash_point!("index-lexical-sync");
        self.folder.sync()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let file = self.folder.lock_file(&lock.filepath).map_err(LockError::wrap_io_error)?;
        if lock.is_blocking {
            file.lock().map_err(LockError::wrap_io_error)?;
        } else {
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => LockError::LockBusy,
                TryLockError::Error(error) => LockError::wrap_io_error(error),
            })?;
        }
        // The lock ends when the file is closed.
        Ok(DirectoryLock::from(Box::new(file)))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tantivy::directory::INDEX_WRITER_LOCK;

    #[test]
    fn a_list_that_was_changed_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let directory = SealedDirectory::open(&folder.path().into()).unwrap();
        let name = Path::new("meta.json");
        directory.atomic_write(name, b"{}").unwrap();
        assert_eq!(directory.atomic_read(name).unwrap(), b"{}");
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] = b'[';
        fs::write(&path, &bytes).unwrap();
        directory.atomic_read(name).unwrap_err();
        fs::write(&path, b"x").unwrap();
        directory.atomic_read(name).unwrap_err();
    }

    #[test]
    fn no_name_leads_out() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("lexical");
        fs::create_dir_all(folder.join("deeper")).unwrap();
        let directory = SealedDirectory::open(&folder.as_path().into()).unwrap();
        let victims = [above.path().join("victim"), folder.join("deeper/victim")];
        let names =
            [Path::new("../victim"), &victims[0], Path::new("deeper/victim"), Path::new("./own")];
        for victim in victims.iter().chain([&folder.join("own")]) {
            fs::write(victim, "precious").unwrap();
        }
        for name in names {
            directory.delete(name).unwrap_err();
            assert!(directory.open_write(name).is_err(), "{}", name.display());
            directory.atomic_write(name, b"new").unwrap_err();
            directory.atomic_read(name).unwrap_err();
            directory.get_file_handle(name).unwrap_err();
            directory.exists(name).unwrap_err();
            let lock = Lock { filepath: name.to_owned(), is_blocking: false };
            assert!(directory.acquire_lock(&lock).is_err(), "{}", name.display());
            let list = serde_json::to_vec(&[Path::new("own"), name]).unwrap();
            directory.atomic_write(Path::new(MANAGED_LIST_FILE), &list).unwrap();
            directory.atomic_read(Path::new(MANAGED_LIST_FILE)).unwrap_err();
        }
        for victim in victims.iter().chain([&folder.join("own")]) {
            assert_eq!(fs::read_to_string(victim).unwrap(), "precious", "{}", victim.display());
        }
        directory.atomic_write(Path::new(MANAGED_LIST_FILE), b"[\"own\"]\n").unwrap();
        directory.atomic_read(Path::new(MANAGED_LIST_FILE)).unwrap();
        directory.delete(Path::new("own")).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_not_followed() {
        use std::{io::Write as _, os::unix::fs::symlink};
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("lexical");
        fs::create_dir(&folder).unwrap();
        let directory = SealedDirectory::open(&folder.as_path().into()).unwrap();
        let victim = above.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let lock = INDEX_WRITER_LOCK.filepath.as_path();
        for name in ["meta.json", "a.term", "b.term"].map(Path::new).into_iter().chain([lock]) {
            symlink(&victim, folder.join(name)).unwrap();
            directory.get_file_handle(name).unwrap_err();
            directory.atomic_read(name).unwrap_err();
        }
        directory.atomic_write(Path::new("meta.json"), b"{}").unwrap();
        let mut file = directory.open_write(Path::new("a.term")).unwrap();
        file.write_all(b"terms").unwrap();
        file.flush().unwrap();
        directory.delete(Path::new("b.term")).unwrap();
        let nowhere = above.path().join("nowhere");
        fs::remove_file(folder.join(lock)).unwrap();
        symlink(&nowhere, folder.join(lock)).unwrap();
        directory.acquire_lock(&INDEX_WRITER_LOCK).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!nowhere.exists(), "a lock was made through a link");
    }
}
