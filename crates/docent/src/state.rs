//! Owns the state directory: `.docent/` under the first root, or a directory in the user's cache if the root is
//! read-only.

use crate::{
    config::Config,
    index_ownership::{self, IndexFolder},
};
use docent_files::{FileAccess, ManagedFolder};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Why no state directory can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Neither directory is writable.
    #[error("cannot write state to {} or to {}; make one of them writable", root.display(), cache.display())]
    ReadOnly {
        /// The first choice.
        root: PathBuf,
        /// The second choice.
        cache: PathBuf,
        /// Why the second choice failed.
        #[source]
        source: io::Error,
    },
    /// The only directory is not writable.
    #[error("cannot write state to {}, and there is no home directory to use instead; make it writable", root.display())]
    NoCache {
        /// The only choice.
        root: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

/// A writable state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
    /// The directory for writing, without following links in it.
    folder: ManagedFolder,
    in_root: bool,
    /// Why the root's folder can't be used although it is writable.
    unusable_root_reason: Option<String>,
}

impl StateDir {
    /// Finds or creates the directory.
    pub fn open(config: &Config) -> Result<Self, StateError> {
        static WARNED: AtomicBool = AtomicBool::new(false);
        let state = Self::open_in(config.first_root(), config.cache_dir.as_deref())?;
        // Before logging has started, the warning would be lost.
        if let Some(unfit) = state.unusable_root_reason()
            && tracing::enabled!(tracing::Level::WARN)
            && !WARNED.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{unfit}");
        }
        Ok(state)
    }

    fn open_in(root: &Path, cache: Option<&Path>) -> Result<Self, StateError> {
        let path = root.join(".docent");
        let folder = ManagedFolder::resolve(root).join(".docent");
        let Err(source) = prepare(&folder) else {
            return Ok(Self { path, folder, in_root: true, unusable_root_reason: None });
        };
        let Some(cache) = cache else { return Err(StateError::NoCache { root: path, source }) };
        let folder = ManagedFolder::resolve(cache).join(name_for(root));
        let cache = cache.join(name_for(root));
        let kept = || format!("{source}; state is kept in {}", cache.display());
        match prepare(&folder) {
            Ok(()) => {
                let unfit = (source.kind() == io::ErrorKind::InvalidInput).then(kept);
                Ok(Self { path: cache, folder, in_root: false, unusable_root_reason: unfit })
            }
            Err(source) => Err(StateError::ReadOnly { root: path, cache, source }),
        }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory for writing to it.
    pub fn folder(&self) -> &ManagedFolder {
        &self.folder
    }

    /// Whether it is under the root.
    pub fn in_root(&self) -> bool {
        self.in_root
    }

    /// Returns why the root's folder can't be used although it is writable.
    pub fn unusable_root_reason(&self) -> Option<&str> {
        self.unusable_root_reason.as_deref()
    }

    /// Returns the folder of the index. In a root, its name can't be guessed without the user's key.
    pub fn index(&self, config: &Config) -> io::Result<IndexFolder> {
        if self.in_root {
            return index_ownership::index_folder(
                &self.folder,
                &self.path,
                config.cache_dir.as_deref(),
            );
        }
        Ok(IndexFolder { folder: self.folder.join("index"), warning: None })
    }

    /// Returns the path of the audit log. Links in a configured path's folder are followed; a link as the file is not.
    pub fn audit_file(&self, config: &Config) -> PathBuf {
        match &config.audit.file {
            Some(file) => resolve_folder(file),
            None => self.path.join("audit.jsonl"),
        }
    }
}

/// Resolves the folder of a path, so that a link that later replaces a part of it is noticed.
pub(crate) fn resolve_folder(file: &Path) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(folder), Some(name)) => ManagedFolder::resolve(folder).path().join(name),
        _ => file.to_owned(),
    }
}

/// Creates the directory with its .gitignore, and checks that it is writable.
fn prepare(folder: &ManagedFolder) -> io::Result<()> {
    if let Some(found) = find_unsafe_entry(folder.path())? {
        let reason =
            format!("{} is a symbolic link, a pipe or the like: remove it", found.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    folder.make(FileAccess::Private)?;
    match folder.create(".gitignore", FileAccess::Shared) {
        Ok(mut ignore) => ignore.write_all(b"*\n")?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // Permissions are not enough: the file system may be mounted read-only, or full.
    let (name, mut probe) = folder.create_temporary(FileAccess::Private)?;
    let written = probe.write_all(b"ok");
    folder.remove(&name)?;
    written
}

/// Finds an entry of a folder, or the folder itself, that is not a regular file or directory. A repository may contain
/// such a folder: state would be written to a link's target, and a pipe would block.
fn find_unsafe_entry(folder: &Path) -> io::Result<Option<PathBuf>> {
    if folder.is_symlink() {
        return Ok(Some(folder.to_owned()));
    }
    // It may not exist yet, and another docent may be using it.
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if gone(&error) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => {}
                Ok(_) => return Ok(Some(entry.path())),
                Err(error) if gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// Returns a name that differs between two roots with the same last path component.
fn name_for(root: &Path) -> String {
    // FNV-1a: the name must stay the same from one build to the next, which the standard hasher doesn't promise.
    let bytes = root.as_os_str().as_encoded_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let last = root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let plain: String =
        last.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    format!("{plain}-{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_used_where_it_can_be_written_to() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::open_in(root.path(), None).unwrap();
        assert_eq!(state.path(), root.path().join(".docent"));
        assert!(state.in_root());
        assert_eq!(fs::read_to_string(state.path().join(".gitignore")).unwrap(), "*\n");
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1, "the probe was left behind");
        assert_eq!(StateDir::open_in(root.path(), None).unwrap(), state, "a second time");
    }

    #[test]
    fn the_cache_stands_in_for_a_root_that_cannot_be_written_to() {
        let (root, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // A file in its place blocks the directory for every user, root included.
        fs::write(root.path().join(".docent"), "").unwrap();
        let state = StateDir::open_in(root.path(), Some(cache.path())).unwrap();
        assert!(state.path().starts_with(cache.path()) && !state.in_root());
        assert_eq!(state.unusable_root_reason(), None);
        let blocked = StateDir::open_in(root.path(), None).unwrap_err();
        assert!(blocked.to_string().contains("no home directory"), "{blocked}");
        let both = StateDir::open_in(root.path(), Some(&root.path().join(".docent"))).unwrap_err();
        assert!(both.to_string().contains("make one of them writable"), "{both}");
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_leads_elsewhere_is_not_used() {
        let links = [
            ".docent",
            ".docent/audit.jsonl",
            ".docent/.gitignore",
            ".docent/web",
            ".docent/index/units-0",
            ".docent/index/lexical",
            ".docent/index/lexical/meta.json",
        ];
        for (link, is_dead) in links.into_iter().flat_map(|link| [(link, false), (link, true)]) {
            let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let link = root.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let target = if is_dead { other.path().join("nothing") } else { other.path().into() };
            std::os::unix::fs::symlink(target, &link).unwrap();
            let cache = tempfile::tempdir().unwrap();
            let state = StateDir::open_in(root.path(), Some(cache.path())).unwrap();
            assert!(!state.in_root(), "{}", link.display());
            let reason = state.unusable_root_reason().unwrap_or_default();
            assert!(reason.contains(&link.display().to_string()), "{reason}");
            assert!(reason.contains(&cache.path().display().to_string()), "{reason}");
            assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0, "{}", link.display());
        }
    }

    #[test]
    fn names_in_the_cache_differ_by_whole_path() {
        assert_ne!(name_for(Path::new("/a/project")), name_for(Path::new("/b/project")));
        assert!(name_for(Path::new("/a/my project")).starts_with("myproject-"));
        assert!(name_for(Path::new("/")).starts_with("root-"));
    }
}
