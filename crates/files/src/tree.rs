//! Lists and removes whole folders.

use crate::link::explain;
use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    io,
    os::{fd::BorrowedFd, unix::ffi::OsStrExt as _},
    path::Path,
};

/// Maximum nesting of removed folders; docent creates none as deep.
const MAX_DEPTH: usize = 64;

/// Lists an open folder.
pub(crate) fn names(folder: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Removes an entry of a folder with its contents. Links are removed, not followed.
pub(crate) fn remove(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    remove_within(folder, name, MAX_DEPTH)
}

fn remove_within(folder: BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        // The errors for a folder.
        Err(Errno::ISDIR | Errno::PERM) => {}
        removed => return Ok(removed?),
    }
    let Some(depth) = depth.checked_sub(1) else {
        return Err(io::Error::other("folders are nested too deeply; remove them by hand"));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = rustix::fs::openat(folder, name, flags, Mode::empty())
        .map_err(|errno| explain(errno, Path::new(name)))?;
    let inner = std::os::fd::AsFd::as_fd(&inner);
    for name in names(inner)? {
        match remove_within(inner, &name, depth) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}
