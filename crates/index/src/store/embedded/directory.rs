//! The folder of the lexical index. Its lists of files are sealed by a hash: tantivy seals the other files itself.
//!
//! The seal has no key, and tantivy removes what its list names: no name leads out of the folder.

use super::file::{check_regular, clear_for_lock, crash_point, is_plain};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tantivy::{
    Directory,
    directory::{
        DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
        error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError},
    },
};
use xxhash_rust::xxh3::xxh3_64;

/// The list of the files that tantivy made and may remove.
pub(super) const MANAGED: &str = ".managed.json";
/// A seal at the end of a list: a line of its own.
const SEAL: usize = 17;

#[derive(Clone)]
pub(super) struct SealedDirectory {
    files: MmapDirectory,
    folder: PathBuf,
}

impl fmt::Debug for SealedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

fn unseal(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let (data, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL)?)?;
    let right = format!("\n{:016x}", xxh3_64(data)).as_bytes() == seal;
    let length = data.len();
    bytes.truncate(length);
    right.then_some(bytes)
}

/// Whether a list of files names none that lies elsewhere.
fn stays_inside(list: &[u8]) -> bool {
    serde_json::from_slice::<Vec<PathBuf>>(list)
        .is_ok_and(|names| names.iter().all(|name| is_plain(name)))
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

impl SealedDirectory {
    pub(super) fn open(folder: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { files: MmapDirectory::open(folder)?, folder: folder.to_owned() })
    }

    /// Forgets the files that nobody has open. Tantivy remembers each by its name, and lets go of them when it is asked for
    /// their number.
    pub(super) fn forget_closed(&self) {
        drop(self.files.get_cache_info());
    }

    /// Where a file of this name lies.
    fn path(&self, name: &Path) -> io::Result<PathBuf> {
        if is_plain(name) {
            return Ok(self.folder.join(name));
        }
        Err(invalid("its name leads out of the index"))
    }

    /// Fails where something has this name that must not be read.
    fn check_readable(&self, name: &Path) -> Result<(), OpenReadError> {
        match self.path(name).and_then(|path| check_regular(&path)) {
            // Whoever opens it tells that in its own way.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(OpenReadError::wrap_io_error(error, name.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

impl Directory for SealedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.check_readable(path)?;
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        crash_point!("index-lexical-remove");
        self.path(path).map_err(|error| DeleteError::IoError {
            io_error: Arc::new(error),
            filepath: path.to_owned(),
        })?;
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.check_readable(path)?;
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        crash_point!("index-lexical-create");
        let elsewhere = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        self.path(path).map_err(elsewhere)?;
        match self.files.open_write(path) {
            // Whoever wrote it ended before its commit: no list names it, and the one writer there is is here.
            Err(OpenWriteError::FileAlreadyExists(_)) if self.files.delete(path).is_ok() => {
                self.files.open_write(path)
            }
            opened => opened,
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let wrong = |reason| OpenReadError::wrap_io_error(invalid(reason), path.to_owned());
        self.check_readable(path)?;
        let list =
            unseal(self.files.atomic_read(path)?).ok_or_else(|| wrong("its checksum is wrong"))?;
        if path == Path::new(MANAGED) && !stays_inside(&list) {
            return Err(wrong("it names a file that lies elsewhere"));
        }
        Ok(list)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        crash_point!("index-list-write");
        self.path(path)?;
        let mut sealed = data.to_vec();
        sealed.extend_from_slice(format!("\n{:016x}", xxh3_64(data)).as_bytes());
        // It takes the place of what has its name, a link included.
        self.files.atomic_write(path, &sealed)?;
        crash_point!("index-list-written");
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        crash_point!("index-lexical-sync");
        self.files.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let cleared = self.path(&lock.filepath).and_then(|path| clear_for_lock(&path));
        cleared.map_err(LockError::wrap_io_error)?;
        self.files.acquire_lock(lock)
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
        let directory = SealedDirectory::open(folder.path()).unwrap();
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
        let directory = SealedDirectory::open(&folder).unwrap();
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
            directory.atomic_write(Path::new(MANAGED), &list).unwrap();
            directory.atomic_read(Path::new(MANAGED)).unwrap_err();
        }
        for victim in victims.iter().chain([&folder.join("own")]) {
            assert_eq!(fs::read_to_string(victim).unwrap(), "precious", "{}", victim.display());
        }
        directory.atomic_write(Path::new(MANAGED), b"[\"own\"]\n").unwrap();
        directory.atomic_read(Path::new(MANAGED)).unwrap();
        directory.delete(Path::new("own")).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_not_followed() {
        use std::{io::Write as _, os::unix::fs::symlink};
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("lexical");
        fs::create_dir(&folder).unwrap();
        let directory = SealedDirectory::open(&folder).unwrap();
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
