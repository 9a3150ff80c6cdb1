//! Owns the state directory: `.docent/` under the first root, or a directory of the user's cache where the root is
//! read-only.

use crate::config::Config;
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Why state can't be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Neither place can be written to.
    #[error("can't keep state in {} nor in {}; make one of them writable", root.display(), cache.display())]
    ReadOnly {
        /// The first choice.
        root: PathBuf,
        /// The second choice.
        cache: PathBuf,
        /// Why the second choice failed.
        #[source]
        source: io::Error,
    },
    /// There is no second place.
    #[error("can't keep state in {}, and there is no home directory to keep it in instead", root.display())]
    NoCache {
        /// The only choice.
        root: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

/// A directory that can be written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
    in_root: bool,
}

impl StateDir {
    /// Finds or makes the directory.
    pub fn open(config: &Config) -> Result<Self, StateError> {
        Self::open_in(config.first_root(), config.cache_dir.as_deref())
    }

    fn open_in(root: &Path, cache: Option<&Path>) -> Result<Self, StateError> {
        let path = root.join(".docent");
        let Err(source) = prepare(&path) else { return Ok(Self { path, in_root: true }) };
        let Some(cache) = cache else { return Err(StateError::NoCache { root: path, source }) };
        let cache = cache.join(name_for(root));
        match prepare(&cache) {
            Ok(()) => Ok(Self { path: cache, in_root: false }),
            Err(source) => Err(StateError::ReadOnly { root: path, cache, source }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it lies under the root.
    pub fn in_root(&self) -> bool {
        self.in_root
    }

    /// The audit file in force.
    pub fn audit_file(&self, config: &Config) -> PathBuf {
        config.audit.file.clone().unwrap_or_else(|| self.path.join("audit.jsonl"))
    }
}

/// Makes the directory with its .gitignore, and shows that a file can be made in it.
fn prepare(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    // A repository may come with such a folder. Where it, or something in it, leads elsewhere, state would go there too.
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let mut inside = fs::read_dir(path)?.flatten().map(|entry| entry.path());
    if is_link(path) || inside.any(|entry| is_link(&entry)) {
        let reason = "it is, or holds, a symbolic link; remove it";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let ignore = path.join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, "*\n")?;
    }
    // Rights alone don't tell: the file system may be mounted read-only, or full.
    let probe = path.join(format!(".probe-{}", std::process::id()));
    let written = fs::File::create(&probe).and_then(|mut file| file.write_all(b"ok"));
    match fs::remove_file(&probe) {
        Ok(()) => written,
        Err(error) => written.and(Err(error)),
    }
}

/// A name that tells two roots with the same last part from each other.
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
        let blocked = StateDir::open_in(root.path(), None).unwrap_err();
        assert!(blocked.to_string().contains("no home directory"), "{blocked}");
        let both = StateDir::open_in(root.path(), Some(&root.path().join(".docent"))).unwrap_err();
        assert!(both.to_string().contains("make one of them writable"), "{both}");
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_leads_elsewhere_is_not_used() {
        for link in [".docent", ".docent/audit.jsonl", ".docent/web"] {
            let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let link = root.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(other.path(), &link).unwrap();
            let cache = tempfile::tempdir().unwrap();
            let state = StateDir::open_in(root.path(), Some(cache.path())).unwrap();
            assert!(!state.in_root(), "{}", link.display());
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
