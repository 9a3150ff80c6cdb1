//! A change to a file: shown as a diff, applied atomically, and undone.

use crate::{
    client::McpClient,
    edit::{EditedText, with_server, without_server},
    problem::EntryProblem,
    server::McpServerEntry,
};
use docent_files::{Durability, FileAccess, ManagedFolder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use similar::TextDiff;
use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs, io,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// A planned change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The client of the configuration.
    pub client: McpClient,
    /// The written entry.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Its contents; `None` if it does not exist.
    pub before: Option<String>,
    /// Its new contents.
    pub after: String,
    /// Whether the block of servers is created for the entry.
    pub block: bool,
    /// What to do if the file is a symbolic link.
    pub links: LinkPolicy,
}

/// What to do with a file that is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// Change the link's target: many users keep their configuration elsewhere and link to it. A link owned by another
    /// user is refused.
    FollowOwn,
    /// Refuse the link: in a project its author decides where it leads.
    Refuse,
}

/// Whether missing folders are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFolders {
    /// Create them: the client is installed, or the user requested it.
    Make,
    /// A missing folder means that the client is not installed.
    Keep,
}

/// A record of a change, so that it can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeReceipt {
    /// The client of the configuration.
    pub client: McpClient,
    /// The written entry.
    pub name: String,
    /// The file as given.
    pub path: PathBuf,
    /// The written file: the target of a link.
    pub target: PathBuf,
    /// A copy of the previous file; `None` if it did not exist.
    pub backup: Option<PathBuf>,
    /// SHA-256 of the written contents.
    pub written: String,
    /// Whether the block of servers was created for the entry.
    pub block: bool,
    /// Created folders, outermost first.
    pub folders: Vec<PathBuf>,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigChangeError {
    /// It was changed by someone else.
    #[error("{} has changed since it was read, and was not modified; {remedy}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// Its folder does not exist.
    #[error("there is no folder {}: is the client installed? Start it once, or pass --force", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A broken link.
    #[error("{} is a broken symbolic link; fix or remove it", path.display())]
    DeadLink {
        /// The link.
        path: PathBuf,
    },
    /// A link owned by another user.
    #[error("{} is a symbolic link owned by another user, who decides where it leads; replace it with a file", path.display())]
    ForeignLink {
        /// The link.
        path: PathBuf,
    },
    /// The file can't be changed as requested.
    #[error(transparent)]
    Problem(#[from] EntryProblem),
    /// An I/O error.
    #[error("{what} {} failed; check its path, mode and owner", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl ConfigChange {
    /// Plans to add a server to a client's file under its name. A different entry of that name is replaced if `replace`
    /// is set.
    pub fn install(
        client: McpClient,
        path: &Path,
        server: &McpServerEntry,
        replace: bool,
    ) -> Result<Self, ConfigChangeError> {
        let before = text_if_there(path)?;
        let edited = with_server(client, before.as_deref(), &server.name, server, replace);
        Self::of(client, path, &server.name, before, edited)
    }

    /// Plans to remove a server from a client's file, and the empty block if `drop_block` is set.
    pub fn remove(
        client: McpClient,
        path: &Path,
        name: &str,
        drop_block: bool,
    ) -> Result<Self, ConfigChangeError> {
        let before = text_if_there(path)?;
        let text = before.clone().unwrap_or_default();
        let edited = without_server(client, &text, name, drop_block);
        Self::of(client, path, name, before, edited)
    }

    /// Plans to restore a file that was not changed since. It is for display: [`undo`] restores the file and removes
    /// what was created.
    pub fn restore(receipt: &ChangeReceipt) -> Result<Self, ConfigChangeError> {
        let before = text_if_there(&receipt.target)?;
        receipt.check(before.as_ref().map(String::as_bytes))?;
        let after = match &receipt.backup {
            Some(backup) => read_backup(backup)
                .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
                .map_err(io_failure("reading", backup))?,
            None => String::new(),
        };
        let (client, name, path) = (receipt.client, receipt.name.clone(), receipt.path.clone());
        let (block, links) = (receipt.block, LinkPolicy::FollowOwn);
        Ok(Self { client, name, path, before, after, block, links })
    }

    fn of(
        client: McpClient,
        path: &Path,
        name: &str,
        before: Option<String>,
        edited: Result<EditedText, EntryProblem>,
    ) -> Result<Self, ConfigChangeError> {
        let EditedText { text: after, block, .. } =
            edited.map_err(|problem| problem.in_file(path))?;
        let (name, path) = (name.to_owned(), path.to_owned());
        Ok(Self { client, name, path, before, after, block, links: LinkPolicy::FollowOwn })
    }

    /// Refuses to change the file if any part of its path is a link.
    #[must_use]
    pub fn refusing_links(self) -> Self {
        Self { links: LinkPolicy::Refuse, ..self }
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after
    }

    /// Returns the change as a unified diff. The context lines may contain secrets, so show it only to the user.
    pub fn diff(&self) -> String {
        let before = self.before.as_deref().unwrap_or_default();
        let name = self.path.display().to_string();
        let old = if self.before.is_some() { &name } else { "/dev/null" };
        let diff = TextDiff::from_lines(before, &self.after);
        diff.unified_diff().context_radius(3).header(old, &name).to_string()
    }

    /// Checks whether the file's folder exists or may be created.
    pub fn check_folder(&self, folders: MissingFolders) -> Result<(), ConfigChangeError> {
        match self.path.parent() {
            Some(folder) if folders == MissingFolders::Keep && !folder.is_dir() => {
                Err(ConfigChangeError::NoFolder { path: folder.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Applies the change: keeps the old file in `backups`, and replaces it atomically. A file that has changed since
    /// the plan was made is not modified.
    pub fn apply(
        &self,
        backups: &Path,
        folders: MissingFolders,
    ) -> Result<ChangeReceipt, ConfigChangeError> {
        let target = match self.links {
            LinkPolicy::FollowOwn => target_of(&self.path)?,
            LinkPolicy::Refuse => self.path.clone(),
        };
        let now = read_if_there(&target)?;
        if now.as_deref() != self.before.as_ref().map(String::as_bytes) {
            let remedy = "run the command again";
            return Err(ConfigChangeError::Changed { path: target, remedy });
        }
        let made = make_folders(&target, folders)?;
        let backup = match &self.before {
            Some(_) => Some(back_up(&target, backups, self)?),
            None => None,
        };
        replace(&target, self.after.as_bytes())?;
        Ok(ChangeReceipt {
            client: self.client,
            name: self.name.clone(),
            path: self.path.clone(),
            target,
            backup,
            written: digest(self.after.as_bytes()),
            block: self.block,
            folders: made,
        })
    }
}

impl ChangeReceipt {
    /// Combines the receipt of a change with an older one of the same entry, so that both are undone together. If the
    /// file was changed in between, only the entry can be removed.
    #[must_use]
    pub fn since(self, older: Self, plan: &ConfigChange) -> Self {
        let before = plan.before.as_deref().unwrap_or_default();
        let joins = older.written == digest(before.as_bytes());
        Self { written: if joins { self.written } else { older.written.clone() }, ..older }
    }

    /// Checks whether the file still has the written contents.
    fn check(&self, now: Option<&[u8]>) -> Result<(), ConfigChangeError> {
        if now.map(digest).as_ref() == Some(&self.written) {
            return Ok(());
        }
        let remedy = "remove the entry from it instead";
        Err(ConfigChangeError::Changed { path: self.target.clone(), remedy })
    }
}

/// Restores the file if it was not changed since. Otherwise remove the entry with [`crate::without_server`].
pub fn undo(receipt: &ChangeReceipt) -> Result<(), ConfigChangeError> {
    let target = &receipt.target;
    receipt.check(read_if_there(target)?.as_deref())?;
    let Some(backup) = &receipt.backup else {
        let (folder, name) = split_target(target);
        folder.remove(name).map_err(io_failure("removing", target))?;
        for folder in receipt.folders.iter().rev() {
            // A folder that is used by now stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        return Ok(());
    };
    let old = read_backup(backup).map_err(io_failure("reading", backup))?;
    replace(target, &old)
}

fn io_failure(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ConfigChangeError {
    let path = path.to_owned();
    move |source| ConfigChangeError::Io { what, path, source }
}

fn text_if_there(path: &Path) -> Result<Option<String>, ConfigChangeError> {
    let bytes = read_if_there(path)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| EntryProblem::new("it is not UTF-8", "save it as UTF-8").in_file(path).into())
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, ConfigChangeError> {
    // Reading a pipe would block.
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        return Err(io_failure("reading", path)(io::ErrorKind::InvalidInput.into()));
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_failure("reading", path)(error)),
    }
}

/// Returns the target of a path: many users keep their configuration elsewhere and link to it.
fn target_of(path: &Path) -> Result<PathBuf, ConfigChangeError> {
    if path.is_symlink() && !is_own_link(path).map_err(io_failure("following", path))? {
        return Err(ConfigChangeError::ForeignLink { path: path.to_owned() });
    }
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(_) if path.is_symlink() => Err(ConfigChangeError::DeadLink { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(io_failure("following", path)(error)),
    }
}

/// Whether a link belongs to the owner of its folder, or to root.
fn is_own_link(link: &Path) -> io::Result<bool> {
    let folder = link.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::metadata(folder.unwrap_or(Path::new(".")))?;
    let owner = fs::symlink_metadata(link)?.uid();
    Ok(owner == folder.uid() || owner == 0)
}

fn make_folders(target: &Path, folders: MissingFolders) -> Result<Vec<PathBuf>, ConfigChangeError> {
    let folder = target.parent().unwrap_or(target);
    let mut missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        .map(Path::to_owned)
        .collect();
    if missing.is_empty() {
        return Ok(missing);
    }
    if folders == MissingFolders::Keep {
        return Err(ConfigChangeError::NoFolder { path: folder.to_owned() });
    }
    ManagedFolder::resolve(folder)
        .make(FileAccess::Shared)
        .map_err(io_failure("creating the folder", folder))?;
    missing.reverse();
    Ok(missing)
}

/// Reads a backup.
fn read_backup(backup: &Path) -> io::Result<Vec<u8>> {
    let folder = ManagedFolder::from(backup.parent().unwrap_or(Path::new("")));
    folder.read_bytes(backup.file_name().unwrap_or_default())
}

/// Copies the file to the folder of backups, under a free name.
fn back_up(
    target: &Path,
    backups: &Path,
    plan: &ConfigChange,
) -> Result<PathBuf, ConfigChangeError> {
    let folder = ManagedFolder::from(backups);
    folder.make(FileAccess::Private).map_err(io_failure("creating the folder", backups))?;
    let name =
        target.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let bytes = plan.before.as_deref().unwrap_or_default().as_bytes();
    let mut place = digest(target.as_os_str().as_encoded_bytes());
    place.truncate(8);
    for number in 1_u32.. {
        let name = format!("{}-{place}-{number}-{name}", plan.client.id());
        let path = backups.join(&name);
        if path.exists() {
            continue;
        }
        match write_new(&folder, &name, bytes) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_failure("writing", &path)(error)),
        }
    }
    Err(io_failure("writing", backups)(io::Error::other("no free name")))
}

/// Writes a new file atomically.
fn write_new(folder: &ManagedFolder, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (new, mut file) = folder.create_temporary(FileAccess::Private)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| folder.rename_new(&new, name));
    if written.is_err() {
        folder.remove(&new).unwrap_or_default();
    }
    written
}

/// Replaces a file atomically, keeping its mode and owner. The path is resolved already; new links in it are not
/// followed.
fn replace(target: &Path, bytes: &[u8]) -> Result<(), ConfigChangeError> {
    let (folder, name) = split_target(target);
    folder
        .replace(name, bytes, FileAccess::Kept, Durability::Synced)
        .map_err(io_failure("writing", target))
}

fn split_target(target: &Path) -> (ManagedFolder, &OsStr) {
    let folder = target.parent().unwrap_or(Path::new(""));
    let folder = if folder.is_absolute() {
        ManagedFolder::exact(folder)
    } else {
        ManagedFolder::resolve(folder)
    };
    (folder, target.file_name().unwrap_or_default())
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _done = write!(text, "{byte:02x}");
        text
    })
}
