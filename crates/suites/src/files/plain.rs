//! Fast path: opens files without symbolic links in their path, without resolving it in user space.

use super::{PathKind, ReadProblem, RootPath, io_problem};
use cap_std::fs::Dir;
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags, ResolveFlags, openat2},
};
use std::{
    fs::{File, Metadata},
    io,
};

/// Opens the regular file if no part of its path is a symbolic link; `None` if the slow path must decide.
///
/// An `O_PATH` handle, which is not readable, shows the file type first. Opening a pipe for reading, even without
/// blocking, wakes its writer, and opening a device may trigger it.
pub(super) fn open(root: &Dir, place: &RootPath) -> Option<Result<(File, Metadata), ReadProblem>> {
    let open = |flags| match open_beneath(root, place, flags) {
        Ok(file) => Some(stat(place, file)),
        Err(error) if is_certain(&error) => Some(Err(io_problem(place, error))),
        Err(_) => None,
    };
    match open(OFlags::PATH)? {
        // A pipe that replaces the file at this moment does not block either.
        Ok(_) => open(OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK),
        Err(problem) => Some(Err(problem)),
    }
}

/// The kernel refuses to leave the root or to follow a link.
fn open_beneath(root: &Dir, place: &RootPath, flags: OFlags) -> io::Result<OwnedFd> {
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = openat2(root, place.relative(), flags | OFlags::CLOEXEC, Mode::empty(), inside);
    opened.map_err(io::Error::from)
}

fn stat(place: &RootPath, file: OwnedFd) -> Result<(File, Metadata), ReadProblem> {
    let file = File::from(file);
    let metadata = file.metadata().map_err(|source| io_problem(place, source))?;
    match PathKind::of_open(&metadata) {
        PathKind::File => Ok((file, metadata)),
        found => Err(ReadProblem::NotAFile { path: place.to_string(), found }),
    }
}

/// Errors that the slow path would only repeat.
fn is_certain(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}
