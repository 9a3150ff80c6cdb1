//! Finds the index folder of a root that belongs to this user's docent, not one that came with the project.
//!
//! Readers trust the contents of an index: its checksums detect damage, but anyone can compute them. A repository can
//! bring files into `.docent` when it is cloned or pulled, but not into a folder whose name depends on the user's own
//! key.

use docent_files::{FileAccess, ManagedFolder};
use ring::{
    hmac::{HMAC_SHA256, Key, sign},
    rand::{SecureRandom as _, SystemRandom},
};
use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
    time::{Duration, SystemTime},
};

/// The key file in the user's cache.
const KEY_FILE: &str = "key";
const KEY_BYTES: usize = 32;
/// The name, or the prefix of the name, of index folders.
const INDEX_PREFIX: &str = "index";
/// Bytes of the unguessable part of a name.
const NAME_BYTES: usize = 16;
/// The age at which an unused index is removed: its key may be gone.
const STALE_AFTER: Duration = Duration::from_hours(30 * 24);
/// How many indexes of other users of the root, or of lost keys, are kept.
const MAX_FOREIGN_INDEXES: usize = 2;

/// The folder of an index.
#[derive(Debug)]
pub struct IndexFolder {
    /// Where it is, or will be.
    pub folder: ManagedFolder,
    /// Why the index is rebuilt at every start, if it is.
    pub warning: Option<String>,
}

/// Returns the index folder in a state directory of a root. Without a key, the owner of an index is unknown: it is
/// cleared. `place` is the directory as configured; the name is derived from it.
pub(crate) fn index_folder(
    state: &ManagedFolder,
    place: &Path,
    cache: Option<&Path>,
) -> io::Result<IndexFolder> {
    let cache = cache.ok_or_else(|| io::Error::other("no home directory"));
    match cache.and_then(|cache| name(place, cache)) {
        Ok(name) => {
            let folder = state.join(name);
            if !folder.path().exists() {
                forget_others(state);
            }
            Ok(IndexFolder { folder, warning: None })
        }
        Err(error) => {
            let warning = Some(format!(
                "the index is rebuilt at every start, because the key in docent's cache is unusable: {error}"
            ));
            let folder = state.join(INDEX_PREFIX);
            match state.remove_all(INDEX_PREFIX) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let message = format!("remove {} by hand: {error}", folder.path().display());
                    Err(io::Error::new(error.kind(), message))
                }
                _ => Ok(IndexFolder { folder, warning }),
            }
        }
    }
}

/// Derives the folder name from the key and the directory's path.
fn name(state: &Path, cache: &Path) -> io::Result<String> {
    let key = Key::new(HMAC_SHA256, &key(cache)?);
    let tag = sign(&key, state.as_os_str().as_encoded_bytes());
    let start = format!("{INDEX_PREFIX}-");
    Ok(tag.as_ref().iter().take(NAME_BYTES).fold(start, |mut text, byte| {
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    }))
}

/// Removes unused indexes: one without a key in its name, stale ones, and all but the latest of other keys, which a
/// machine without a persistent cache creates at each start.
fn forget_others(state: &ManagedFolder) {
    let mut others = Vec::new();
    for entry in fs::read_dir(state.path()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.as_encoded_bytes().strip_prefix(INDEX_PREFIX.as_bytes()) else {
            continue;
        };
        let changed = entry.metadata().and_then(|found| found.modified());
        if rest.is_empty() {
            remove(state, &name);
        } else if rest.starts_with(b"-")
            && let Ok(changed) = changed
        {
            others.push((changed, name));
        }
    }
    others.sort();
    let now = SystemTime::now();
    for (nth, (changed, name)) in others.iter().rev().enumerate() {
        let is_old = now.duration_since(*changed).is_ok_and(|age| age > STALE_AFTER);
        if is_old || nth >= MAX_FOREIGN_INDEXES {
            remove(state, name);
        }
    }
}

fn remove(state: &ManagedFolder, index: &OsStr) {
    if let Err(error) = state.remove_all(index) {
        tracing::debug!("cannot remove an unused index: {error}");
    }
}

/// Returns the user's key, created on first use.
fn key(cache: &Path) -> io::Result<Vec<u8>> {
    let folder = ManagedFolder::resolve(cache);
    let place = folder.path().join(KEY_FILE);
    let known = match folder.read_bytes(KEY_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = vec![0; KEY_BYTES];
            let failed = |_| io::Error::other("no random numbers available from the system");
            SystemRandom::new().fill(&mut key).map_err(failed)?;
            let unwritable = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", cache.display()))
            };
            folder.make(FileAccess::Private).map_err(unwritable)?;
            // If another docent was faster, its key is used.
            let is_ours = write_once(&folder, &key).map_err(unwritable)?;
            if is_ours { key } else { folder.read_bytes(KEY_FILE)? }
        }
        known => known.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", place.display()))
        })?,
    };
    if known.len() == KEY_BYTES {
        return Ok(known);
    }
    Err(io::Error::other(format!("{} is not a valid key: remove it", place.display())))
}

/// Creates a file for the user alone, completely or not at all; returns whether it was created.
fn write_once(folder: &ManagedFolder, bytes: &[u8]) -> io::Result<bool> {
    let (new, mut file) = folder.create_temporary(FileAccess::Private)?;
    let written = file.write_all(bytes).and_then(|()| folder.rename_new(&new, KEY_FILE));
    if written.is_err() {
        folder.remove(&new).unwrap_or_default();
    }
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::File, path::PathBuf};
    use tempfile::{TempDir, tempdir};

    fn index_of(state: &Path, cache: Option<&Path>) -> PathBuf {
        index_folder(&ManagedFolder::resolve(state), state, cache).unwrap().folder.path().to_owned()
    }

    /// A folder with such an index in it.
    fn put(state: &TempDir, name: &str, age: Duration) -> PathBuf {
        let folder = state.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("units-0"), "x").unwrap();
        File::open(&folder).unwrap().set_modified(SystemTime::now() - age).unwrap();
        folder
    }

    #[test]
    fn a_folder_is_of_one_user_and_one_place() {
        let (state, elsewhere) = (tempdir().unwrap(), tempdir().unwrap());
        let (cache, other) = (tempdir().unwrap(), tempdir().unwrap());
        let folder = |state: &TempDir, cache: &TempDir| {
            let cache = cache.path().join("docent");
            let folder = index_of(state.path(), Some(&cache));
            folder.strip_prefix(state.path()).unwrap().to_owned()
        };
        let own = folder(&state, &cache);
        assert_eq!(own, folder(&state, &cache));
        assert_ne!(own, folder(&state, &other));
        assert_ne!(own, folder(&elsewhere, &cache));
        let own = own.to_str().unwrap();
        assert!(own.starts_with("index-") && own.len() == 38, "{own}");
    }

    #[test]
    fn unused_indexes_are_removed_when_one_is_created() {
        let (state, cache) = (tempdir().unwrap(), tempdir().unwrap());
        let month = STALE_AFTER + Duration::from_mins(1);
        let came = put(&state, "index", Duration::ZERO);
        let left = put(&state, "index-0", month);
        let newer = ["index-1", "index-3"].map(|name| put(&state, name, Duration::ZERO));
        let third = put(&state, "index-4", Duration::from_mins(1));
        let foreign = put(&state, "indexed", month);
        let own = index_of(state.path(), Some(cache.path()));
        assert!(!came.exists() && !left.exists() && !third.exists());
        assert!(newer.iter().all(|index| index.exists()) && foreign.exists());
        fs::create_dir(own).unwrap();
        let late = put(&state, "index-2", month);
        index_of(state.path(), Some(cache.path()));
        assert!(late.exists(), "it is looked for once an index is made");
    }

    #[test]
    fn without_a_key_no_index_is_trusted() {
        let (state, cache) = (tempdir().unwrap(), tempdir().unwrap());
        fs::write(cache.path().join(KEY_FILE), "short").unwrap();
        for cache in [None, Some(cache.path())] {
            let came = put(&state, "index", Duration::ZERO);
            assert_eq!(index_of(state.path(), cache), came);
            assert!(!came.exists());
        }
        assert_eq!(
            fs::read(cache.path().join(KEY_FILE)).unwrap(),
            b"short",
            "a key is not replaced"
        );
    }

    #[test]
    fn a_key_that_was_replaced_is_not_used_and_not_waited_for() {
        use std::{os::unix::fs::symlink, process::Command};
        let (state, cache, victim) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
        let key_path = cache.path().join(KEY_FILE);
        fs::write(victim.path().join(KEY_FILE), [7; KEY_BYTES]).unwrap();
        symlink(victim.path().join(KEY_FILE), &key_path).unwrap();
        assert!(key(cache.path()).unwrap_err().to_string().contains("symbolic link"));
        assert_eq!(index_of(state.path(), Some(cache.path())), state.path().join(INDEX_PREFIX));
        fs::remove_file(&key_path).unwrap();
        assert!(Command::new("mkfifo").arg(&key_path).status().unwrap().success());
        assert!(key(cache.path()).unwrap_err().to_string().contains("not a regular file"));
    }

    #[test]
    #[cfg(unix)]
    fn the_key_is_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (state, cache) = (tempdir().unwrap(), tempdir().unwrap());
        index_of(state.path(), Some(cache.path()));
        let mode = fs::metadata(cache.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
