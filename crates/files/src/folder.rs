//! A folder whose path is never followed through a symbolic link.

use crate::{
    file::{DataFile, FileStatus},
    link::{LinkError, explain},
    operation::FileOperation,
    tree,
};
use rustix::{
    fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid},
    io::Errno,
};
use std::{
    ffi::OsString,
    fs::{self, File, Permissions},
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Component, Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Attempts to find a free name for a temporary file.
const MAX_NAME_ATTEMPTS: u32 = 100;

/// Who may read what is created. Nothing is ever writable by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// The user alone: 0600, and 0700 for folders.
    Private,
    /// Others may read it: at most 0644, and 0755 for folders.
    Shared,
    /// As the file that is replaced, with its mode and its owner; a new file is [`FileAccess::Shared`].
    Kept,
}

impl FileAccess {
    const fn file_mode(self) -> Mode {
        Mode::from_raw_mode(match self {
            Self::Private => 0o600,
            Self::Shared | Self::Kept => 0o644,
        })
    }

    const fn folder_mode(self) -> Mode {
        Mode::from_raw_mode(match self {
            Self::Private => 0o700,
            Self::Shared | Self::Kept => 0o755,
        })
    }
}

/// Whether a write is finished only once it is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power failure may lose it.
    Cached,
    /// It survives a power failure.
    Synced,
}

/// A folder that docent writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedFolder {
    path: PathBuf,
}

/// The folder at a path. Links on the way to it are followed now; its own name is not followed.
impl From<&Path> for ManagedFolder {
    fn from(path: &Path) -> Self {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Self::resolve(parent).join(name),
            _ => Self::resolve(path),
        }
    }
}

impl From<&PathBuf> for ManagedFolder {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<PathBuf> for ManagedFolder {
    fn from(path: PathBuf) -> Self {
        path.as_path().into()
    }
}

impl ManagedFolder {
    /// Resolves the links in the existing part of a path, once. Use it for paths that the user chose: a root, the home.
    pub fn resolve(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| {
            // An empty path is the working directory.
            std::env::current_dir().unwrap_or_else(|_| path.to_owned())
        });
        for known in absolute.ancestors() {
            if let (Ok(real), Ok(rest)) = (fs::canonicalize(known), absolute.strip_prefix(known)) {
                return Self { path: real.join(rest) };
            }
        }
        Self { path: absolute }
    }

    /// Uses a path as written: no link in any part of it is ever followed.
    pub fn exact(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns a folder in this one.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        Self { path: self.path.join(name) }
    }

    /// Splits a path below this folder into folder and file name. A path that leads elsewhere is an error.
    pub fn locate<'a>(&self, below: &'a Path) -> io::Result<(Self, &'a Path)> {
        let is_below = below.components().all(|part| matches!(part, Component::Normal(_)));
        match (below.parent(), below.file_name()) {
            (Some(parent), Some(name)) if is_below => Ok((self.join(parent), Path::new(name))),
            _ => Err(not_inside(below)),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder and its parents if they don't exist.
    pub fn make(&self, access: FileAccess) -> io::Result<()> {
        FileOperation::MakeFolder.check()?;
        match self.handle() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map(drop),
        }
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return self.handle().map(drop);
        };
        let parent = Self::exact(parent);
        parent.make(access)?;
        match rustix::fs::mkdirat(parent.handle()?, name, access.folder_mode()) {
            // Another process may have been faster, or a link leads nowhere.
            Ok(()) | Err(Errno::EXIST) => self.handle().map(drop),
            Err(errno) => Err(explain(errno, &self.path)),
        }
    }

    /// Returns the status of an entry, if it exists.
    pub fn status(&self, name: impl AsRef<Path>) -> io::Result<Option<FileStatus>> {
        let (folder, name) = (self.handle()?, plain(name.as_ref())?);
        match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileStatus::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Lists the names of its entries.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        tree::names(self.listing()?.as_fd())
    }

    /// Opens a regular file for reading.
    pub fn read(&self, name: impl AsRef<Path>) -> io::Result<DataFile> {
        FileOperation::Open.check()?;
        let file = self.open(name.as_ref(), OFlags::RDONLY, FileAccess::Private)?;
        if file.metadata()?.is_file() {
            return Ok(DataFile::new(file));
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"))
    }

    /// Reads a regular file.
    pub fn read_bytes(&self, name: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read(name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file for reading and appending; creates it if it does not exist.
    pub fn append(&self, name: impl AsRef<Path>, access: FileAccess) -> io::Result<DataFile> {
        FileOperation::Create.check()?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        self.open(name.as_ref(), flags, access).map(DataFile::new)
    }

    /// Opens a file for locking; creates it if it does not exist. An entry of that name that is not a file is removed.
    pub fn lock_file(&self, name: impl AsRef<Path>) -> io::Result<DataFile> {
        FileOperation::Create.check()?;
        let name = name.as_ref();
        if self.status(name)?.is_some_and(|there| !there.is_file()) {
            self.report_replaced(name);
            self.remove(name)?;
        }
        let flags = OFlags::RDWR | OFlags::CREATE;
        self.open(name, flags, FileAccess::Private).map(DataFile::new)
    }

    /// Creates a file; fails with `AlreadyExists` if an entry has that name.
    pub fn create(&self, name: impl AsRef<Path>, access: FileAccess) -> io::Result<DataFile> {
        FileOperation::Create.check()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        self.open(name.as_ref(), flags, access).map(DataFile::new)
    }

    /// Creates a file, replacing any entry of that name. The target of a replaced link is not changed.
    pub fn create_over(&self, name: impl AsRef<Path>, access: FileAccess) -> io::Result<DataFile> {
        let name = name.as_ref();
        match self.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.create(name, access),
        }
    }

    /// Replaces a file atomically, so that no reader sees partial contents. With [`FileAccess::Kept`] a link of this name
    /// is an error; otherwise it is replaced and reported, and its target is not changed.
    pub fn replace(
        &self,
        name: impl AsRef<Path>,
        bytes: &[u8],
        access: FileAccess,
        durability: Durability,
    ) -> io::Result<()> {
        let name = name.as_ref();
        let old = self.status(name)?;
        if old.is_some_and(|old| old.is_link()) {
            if access == FileAccess::Kept {
                return Err(LinkError { path: self.path.join(name) }.into());
            }
            self.report_replaced(name);
        }
        let is_kept = access == FileAccess::Kept && old.is_some();
        let old = if is_kept { Some(self.read(name)?) } else { None };
        let (new, mut file) = self.create_temporary(access)?;
        let written = write_contents(&mut file, old.as_ref(), bytes, durability);
        let replaced = written.and_then(|()| self.rename(&new, name));
        if replaced.is_err() {
            // The first error counts; a leftover file is harmless.
            self.remove(&new).unwrap_or_default();
        }
        replaced
    }

    /// Creates a file with a unique name.
    pub fn create_temporary(&self, access: FileAccess) -> io::Result<(PathBuf, DataFile)> {
        static NEXT_TEMPORARY_NUMBER: AtomicU64 = AtomicU64::new(0);
        for _ in 0..MAX_NAME_ATTEMPTS {
            let number = NEXT_TEMPORARY_NUMBER.fetch_add(1, Ordering::Relaxed);
            let new = format!(".docent-{}-{number}.new", std::process::id());
            match self.create(&new, access) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|file| (new.into(), file)),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "remove the old .docent-*.new files beside it",
        ))
    }

    /// Renames a file, replacing an existing one.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        FileOperation::Rename.check()?;
        let folder = self.handle()?;
        let (from, to) = (plain(from.as_ref())?, plain(to.as_ref())?);
        Ok(rustix::fs::renameat(&folder, from, &folder, to)?)
    }

    /// Renames a file; fails with `AlreadyExists` if the name is taken.
    pub fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            FileOperation::Rename.check()?;
            let (folder, flags) = (self.handle()?, RenameFlags::NOREPLACE);
            match renameat_with(&folder, plain(from)?, &folder, plain(to)?, flags) {
                // Not every file system supports that.
                Err(Errno::INVAL | Errno::NOSYS) => {}
                renamed => return Ok(renamed?),
            }
        }
        self.link(from, to)?;
        self.remove(from)
    }

    /// Creates a hard link, unless the name is taken.
    pub fn link(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        FileOperation::Link.check()?;
        let folder = self.handle()?;
        let (from, to) = (plain(from.as_ref())?, plain(to.as_ref())?);
        Ok(rustix::fs::linkat(&folder, from, &folder, to, AtFlags::empty())?)
    }

    /// Removes a file, or a link itself.
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        FileOperation::Remove.check()?;
        Ok(rustix::fs::unlinkat(self.handle()?, plain(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_empty(&self, name: impl AsRef<Path>) -> io::Result<()> {
        FileOperation::Remove.check()?;
        Ok(rustix::fs::unlinkat(self.handle()?, plain(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// Removes a folder with its contents, or a file, or a link itself.
    pub fn remove_all(&self, name: impl AsRef<Path>) -> io::Result<()> {
        FileOperation::Remove.check()?;
        tree::remove(self.handle()?.as_fd(), plain(name.as_ref())?.as_os_str())
    }

    /// Waits until its entries are on the disk. Does nothing where folders can't be synced.
    pub fn sync(&self) -> io::Result<()> {
        FileOperation::Sync.check()?;
        File::from(self.listing()?).sync_all().or(Ok(()))
    }

    /// Opens the folder for operations on its entries.
    fn handle(&self) -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        let flags = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let flags = OFlags::RDONLY;
        self.open_folder(flags)
    }

    /// Opens the folder for listing.
    fn listing(&self) -> io::Result<OwnedFd> {
        self.open_folder(OFlags::RDONLY)
    }

    fn open_folder(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        open_without_links(&self.path, flags).map_err(|errno| explain(errno, &self.path))
    }

    fn open(&self, name: &Path, flags: OFlags, access: FileAccess) -> io::Result<File> {
        // Opening anything but a regular file must not block.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(self.handle()?, plain(name)?, flags, access.file_mode());
        let file = opened.map_err(|errno| explain(errno, &self.path.join(name)))?;
        let file = File::from(file);
        if !file.metadata()?.is_file() {
            // From here on, reads and writes may block as usual.
            let flags = rustix::fs::fcntl_getfl(&file)?;
            rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
        }
        Ok(file)
    }

    fn report_replaced(&self, name: &Path) {
        let path = self.path.join(name);
        tracing::warn!(
            path = %path.display(),
            "one of docent's files was replaced with a link or something that is not a file; it is removed, and a link's target is not changed"
        );
    }
}

/// Checks that a name is a single path component.
fn plain(name: &Path) -> io::Result<&Path> {
    let mut parts = name.components();
    if let (Some(Component::Normal(only)), None) = (parts.next(), parts.next())
        && only == name.as_os_str()
    {
        return Ok(name);
    }
    Err(not_inside(name))
}

fn not_inside(name: &Path) -> io::Error {
    let reason = format!("{} is not the name of a file in this folder", name.display());
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// Writes a new file, with the permissions of the one that it replaces, if given.
fn write_contents(
    file: &mut DataFile,
    old: Option<&DataFile>,
    bytes: &[u8],
    durability: Durability,
) -> io::Result<()> {
    if let Some(old) = old {
        keep_rights(file.as_file(), old.as_file())?;
    }
    file.write_all(bytes)?;
    if durability == Durability::Synced { file.sync_all() } else { Ok(()) }
}

/// Copies the mode of another file, and its owner and group as far as permitted.
fn keep_rights(file: &File, old: &File) -> io::Result<()> {
    let (new, old) = (file.metadata()?, old.metadata()?);
    let owner = (new.uid() != old.uid()).then(|| Uid::from_raw(old.uid()));
    let group = (new.gid() != old.gid()).then(|| Gid::from_raw(old.gid()));
    ignore_permission_error(
        owner.map_or(Ok(()), |owner| rustix::fs::fchown(file, Some(owner), None)),
    )?;
    ignore_permission_error(
        group.map_or(Ok(()), |group| rustix::fs::fchown(file, None, Some(group))),
    )?;
    file.set_permissions(Permissions::from_mode(old.permissions().mode()))
}

/// Ignores permission errors: an ordinary user can't change the owner, so replacing another user's file changes it.
fn ignore_permission_error(changed: rustix::io::Result<()>) -> io::Result<()> {
    match changed {
        Err(Errno::PERM) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder by a path without links.
fn open_without_links(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // An old kernel, or a container that forbids the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    open_step_by_step(path, flags)
}

/// The same for systems without `openat2`, one component at a time.
fn open_step_by_step(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let start = if path.is_absolute() { "/" } else { "." };
    let mut at = rustix::fs::openat(CWD, start, flags, Mode::empty())?;
    for part in path.components() {
        if let Component::Normal(_) | Component::ParentDir = part {
            let flags = flags | OFlags::NOFOLLOW;
            at = rustix::fs::openat(&at, part.as_os_str(), flags, Mode::empty())?;
        }
    }
    Ok(at)
}
