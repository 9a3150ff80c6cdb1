//! Locates the git directory of the analyzed folder and checks that all of it is inside the served roots.
//!
//! Must not know the contents of the history. Git's files are checked through [`ServedRoots`]; only a git directory that
//! passed every check is handed to the git library, which opens files by itself.

use crate::{
    files::{PathKind, ReadFailure, ReadProblem, RootPath, ServedRoots, SpecialFile},
    repo::tree::ProjectTree,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Maximum size of pointer files and lists of alternates.
const MAX_POINTER_BYTES: u64 = 64 << 10;
/// Maximum number of object stores.
const MAX_OBJECT_STORES: usize = 16;
/// Paths that must be regular files: a pipe would block the call forever.
const FILES: [&str; 6] =
    ["HEAD", "config", "config.worktree", "packed-refs", "shallow", "commondir"];

pub(super) const HISTORY_OUTSIDE_ROOTS: &str = "the history is outside the served roots: serve the folder that contains the git directory as another root";
pub(super) const OBJECTS_OUTSIDE_ROOTS: &str = "the history borrows objects from outside the served roots (objects/info/alternates): serve that folder as another root, or copy the objects with `git repack -a -d`";
pub(super) const LINK_OUTSIDE_ROOTS: &str =
    "the history was not read, because a link inside the git directory points outside its root";

pub(super) const NOT_A_GIT_DIRECTORY: &str =
    "is not a git directory: it has no HEAD, objects or refs";

/// A git directory that may be opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Real path.
    pub(super) git_dir: PathBuf,
    /// Name in problem messages.
    pub(super) shown: String,
    /// Root of the work tree; `None` if the analyzed folder is a git directory itself.
    pub(super) work_tree: Option<RootPath>,
    /// Folders from the work tree root down to the analyzed folder, inclusive.
    pub(super) inside: Vec<String>,
}

/// Finds the git directory: the analyzed folder itself, or `.git` in it or an ancestor, up to its root.
pub(super) fn find(tree: &ProjectTree) -> Result<Option<Location>, ReadFailure> {
    let roots = &tree.roots;
    if is_git_dir(roots, &tree.top) {
        check(roots, &tree.top, &tree.top)?;
        let git_dir = roots.absolute(&tree.top);
        let shown = tree.top.to_string();
        return Ok(Some(Location { git_dir, shown, work_tree: None, inside: Vec::new() }));
    }
    let mut folder = Some(tree.top.clone());
    while let Some(at) = folder {
        if let Some(git_dir) = git_dir_of(roots, &at)? {
            let inside = tree.top.below(&at).unwrap_or(".");
            let inside = inside.split('/').filter(|part| *part != ".").map(str::to_owned).collect();
            let shown = join(&at, ".git").to_string();
            let git_dir = roots.absolute(&git_dir);
            return Ok(Some(Location { git_dir, shown, work_tree: Some(at), inside }));
        }
        folder = at.parent();
    }
    Ok(None)
}

/// Returns the git directory that `.git` in a folder is or points to.
fn git_dir_of(roots: &ServedRoots, folder: &RootPath) -> Result<Option<RootPath>, ReadFailure> {
    let entry = join(folder, ".git");
    let place = real(roots, &roots.absolute(&entry), &entry, HISTORY_OUTSIDE_ROOTS)?;
    let git_dir = match roots.kind(&place) {
        Ok(PathKind::Folder) => place,
        Ok(PathKind::File) => resolve_git_file(roots, &place, &entry)?,
        Ok(found) => return Err(unexpected(&entry, PathKind::Folder, found)),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(unreadable(&entry, &error)),
    };
    check(roots, &git_dir, &entry)?;
    if !is_git_dir(roots, &git_dir) && kind(roots, &git_dir, "commondir") != Some(PathKind::File) {
        return Err(problem(&entry, NOT_A_GIT_DIRECTORY));
    }
    Ok(Some(git_dir))
}

/// Reads the target of a `.git` file of a linked work tree or submodule.
fn resolve_git_file(
    roots: &ServedRoots,
    file: &RootPath,
    entry: &RootPath,
) -> Result<RootPath, ReadFailure> {
    let text = text(roots, file).map_err(|error| unreadable(entry, &error))?;
    let target = text.strip_prefix("gitdir:").map(str::trim).filter(|target| !target.is_empty());
    let Some(target) = target else {
        return Err(problem(entry, "is a file that does not name a git directory"));
    };
    let folder = file.parent().map_or_else(PathBuf::new, |folder| roots.absolute(&folder));
    let place = real(roots, &folder.join(target), entry, HISTORY_OUTSIDE_ROOTS)?;
    match roots.kind(&place) {
        Ok(PathKind::Folder) => Ok(place),
        Ok(_) => Err(problem(entry, "names a git directory that is not a folder")),
        Err(error) if is_missing(&error) => {
            Err(problem(entry, "names a git directory that does not exist"))
        }
        Err(error) => Err(unreadable(entry, &error)),
    }
}

/// Ensures that the git library stays inside the roots when it opens this git directory.
fn check(roots: &ServedRoots, git_dir: &RootPath, entry: &RootPath) -> Result<(), ReadFailure> {
    let common = common_dir(roots, git_dir, entry)?;
    for folder in [git_dir, &common] {
        for file in FILES {
            check_kind(roots, &join(folder, file), entry, PathKind::File)?;
        }
        check_below(roots, &join(folder, "refs"), entry)?;
        check_pseudo_refs(roots, folder, entry)?;
    }
    check_worktrees(roots, &common, entry)?;
    let mut stores = vec![join(&common, "objects")];
    let objects = roots.absolute(&join(&common, "objects"));
    let mut next = 0;
    while let Some(store) = stores.get(next).cloned() {
        next += 1;
        check_below(roots, &store, entry)?;
        for alternate in alternates(roots, &store, entry)? {
            // Relative paths are resolved from the first store, as in the git library.
            let place = real(roots, &objects.join(alternate), entry, OBJECTS_OUTSIDE_ROOTS)?;
            if !stores.contains(&place) {
                stores.push(place);
            }
        }
        if stores.len() > MAX_OBJECT_STORES {
            return Err(problem(entry, "the history borrows objects from too many folders"));
        }
    }
    Ok(())
}

/// Returns the directory with which a linked work tree shares objects and references.
fn common_dir(
    roots: &ServedRoots,
    git_dir: &RootPath,
    entry: &RootPath,
) -> Result<RootPath, ReadFailure> {
    match text(roots, &join(git_dir, "commondir")) {
        Ok(path) => {
            let path = roots.absolute(git_dir).join(path.trim_end());
            real(roots, &path, entry, HISTORY_OUTSIDE_ROOTS)
        }
        Err(error) if is_missing(&error) => Ok(git_dir.clone()),
        Err(error) => Err(unreadable(entry, &error)),
    }
}

fn alternates(
    roots: &ServedRoots,
    store: &RootPath,
    entry: &RootPath,
) -> Result<Vec<PathBuf>, ReadFailure> {
    let bytes = match roots.read(&join(store, "info/alternates"), MAX_POINTER_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(entry, &error)),
    };
    gix::odb::alternate::parse(&bytes).map_err(|_| {
        problem(entry, "the list of alternates (objects/info/alternates) can't be read")
    })
}

/// Checks that a path is absent, or of this kind and inside its root.
fn check_kind(
    roots: &ServedRoots,
    place: &RootPath,
    entry: &RootPath,
    want: PathKind,
) -> Result<(), ReadFailure> {
    match roots.kind(place) {
        Ok(kind) if kind == want => Ok(()),
        Ok(found) => Err(unexpected(place, want, found)),
        Err(error) if is_missing(&error) => Ok(()),
        Err(error) => Err(outside_root(entry, &error)),
    }
}

/// Checks that a path is absent, or a folder with files, folders and links to files of its root.
fn check_below(
    roots: &ServedRoots,
    folder: &RootPath,
    entry: &RootPath,
) -> Result<(), ReadFailure> {
    let folder = real(roots, &roots.absolute(folder), entry, LINK_OUTSIDE_ROOTS)?;
    check_kind(roots, &folder, entry, PathKind::Folder)?;
    for found in roots.walk_special(&folder, false).flatten() {
        match found.kind {
            PathKind::File | PathKind::Folder => {}
            PathKind::Link => check_kind(roots, &found.place, entry, PathKind::File)?,
            PathKind::Special(_) => {
                return Err(unexpected(&found.place, PathKind::File, found.kind));
            }
        }
    }
    Ok(())
}

/// Checks the top level of a git directory: a reference may name `ORIG_HEAD` or any other name without lowercase
/// letters.
fn check_pseudo_refs(
    roots: &ServedRoots,
    folder: &RootPath,
    entry: &RootPath,
) -> Result<(), ReadFailure> {
    for found in roots.walk_special(folder, true).flatten() {
        let is_name_of_ref = !found.place.name().contains(|c: char| c.is_ascii_lowercase());
        if is_name_of_ref && found.kind != PathKind::Folder {
            check_kind(roots, &found.place, entry, PathKind::File)?;
        }
    }
    Ok(())
}

/// Checks the git directories of other work trees: a reference may name anything in them. Git's file system monitor has
/// a socket there, which fails to open immediately.
fn check_worktrees(
    roots: &ServedRoots,
    common: &RootPath,
    entry: &RootPath,
) -> Result<(), ReadFailure> {
    for found in roots.walk_special(&join(common, "worktrees"), false).flatten() {
        match found.kind {
            PathKind::File | PathKind::Folder | PathKind::Special(SpecialFile::Socket) => {}
            _ => check_kind(roots, &found.place, entry, PathKind::File)?,
        }
    }
    Ok(())
}

fn is_git_dir(roots: &ServedRoots, folder: &RootPath) -> bool {
    kind(roots, folder, "HEAD") == Some(PathKind::File)
        && kind(roots, folder, "objects") == Some(PathKind::Folder)
        && kind(roots, folder, "refs") == Some(PathKind::Folder)
}

fn kind(roots: &ServedRoots, folder: &RootPath, name: &str) -> Option<PathKind> {
    roots.kind(&join(folder, name)).ok()
}

/// Resolves a path with its links; `outside` is the problem if it is in no root.
fn real(
    roots: &ServedRoots,
    path: &Path,
    entry: &RootPath,
    outside: &str,
) -> Result<RootPath, ReadFailure> {
    let path = gix::path::realpath(path).map_err(|_| {
        problem(entry, "the history was not read, because its path cannot be resolved")
    })?;
    roots.locate(&path).ok_or_else(|| problem(entry, outside))
}

fn text(roots: &ServedRoots, place: &RootPath) -> Result<String, ReadProblem> {
    let bytes = roots.read(place, MAX_POINTER_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Joins one of git's own names to a folder; such names never leave it.
fn join(folder: &RootPath, name: &str) -> RootPath {
    folder.join(name).unwrap_or_else(|| folder.clone())
}

fn is_missing(error: &ReadProblem) -> bool {
    let missing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    matches!(error, ReadProblem::Io { source, .. } if missing.contains(&source.kind()))
}

fn outside_root(entry: &RootPath, error: &ReadProblem) -> ReadFailure {
    match error {
        // The root handle refuses by itself, without an operating system error.
        ReadProblem::Io { source, .. } if source.raw_os_error().is_none() => {
            problem(entry, LINK_OUTSIDE_ROOTS)
        }
        error => unreadable(entry, error),
    }
}

fn unreadable(entry: &RootPath, error: &ReadProblem) -> ReadFailure {
    let reason = ReadFailure::from(error).reason;
    problem(entry, &format!("the git directory can't be read: {reason}"))
}

/// Reports a path that the git library would open but that has an unexpected kind.
fn unexpected(place: &RootPath, want: PathKind, found: PathKind) -> ReadFailure {
    let reason = format!("the history was not read, because this is not a {want} ({found})");
    ReadFailure { path: place.to_string(), reason }
}

fn problem(entry: &RootPath, reason: &str) -> ReadFailure {
    ReadFailure { path: entry.to_string(), reason: reason.to_owned() }
}
