//! Opens files whose path holds no symbolic link in one system call; a project has thousands of them.

use super::{Place, ReadProblem, io_problem};
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::{fs::File, io};

/// The file, where no part of its path is a symbolic link; `None` where the long way has to decide.
pub(super) fn open(root: &Dir, place: &Place) -> Option<Result<File, ReadProblem>> {
    // The kernel refuses to leave the root or to follow a link; a pipe must not hold up the call.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, place.relative(), flags, Mode::empty(), inside).map_err(io::Error::from) {
        Ok(file) => Some(Ok(file.into())),
        Err(error) if is_certain(&error) => Some(Err(io_problem(place, error))),
        Err(_) => None,
    }
}

/// Errors that the long way would only find again.
fn is_certain(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}
