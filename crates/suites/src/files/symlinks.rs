//! Resolves symbolic links inside a root by name, without opening their targets.
//!
//! `cap_std`'s own `canonicalize` falls back to opening the last component where `/proc/self/fd` can't be read, as in
//! docent's sandbox. A named pipe there blocks the process until another program writes to it.

use super::{RootPath, root_path::with_slashes};
use cap_std::fs::Dir;
use std::io;

/// Maximum number of links per path, as on Linux.
const MAX_LINKS: usize = 40;

/// Resolves every symbolic link in a path.
pub(super) fn follow(root: &Dir, place: &RootPath) -> io::Result<RootPath> {
    let mut at = RootPath::top(place.root());
    let mut links = 0;
    let mut rest: Vec<String> = parts(place.relative()).collect();
    while let Some(part) = rest.pop() {
        if part == ".." {
            at = at.parent().ok_or_else(escape)?;
            continue;
        }
        let next = at.child(&part);
        if !root.symlink_metadata(next.relative())?.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("too many levels of symbolic links"));
        }
        // An absolute target is refused here with `PermissionDenied`.
        let target = root.read_link(next.relative())?;
        let target = target.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        rest.extend(parts(&with_slashes(target)));
    }
    Ok(at)
}

/// The components of a path, last first.
fn parts(path: &str) -> impl Iterator<Item = String> {
    path.rsplit('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned)
}

/// The same error as `cap_std`'s own, without an operating system code, so that callers recognize it.
fn escape() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the path leads out of its root")
}
