//! The error for symbolic links, which are not followed.

use rustix::io::Errno;
use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

/// A path is unusable because a part of it is a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkError {
    /// The link.
    pub path: PathBuf,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(
            f,
            "{path} is a symbolic link, and docent does not write through links; replace it with its target, or remove it"
        )
    }
}

impl Error for LinkError {}

impl From<LinkError> for io::Error {
    fn from(error: LinkError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// Whether an operation failed because of a symbolic link.
pub fn is_link_error(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<LinkError>())
}

/// Converts a system error, naming the link that caused it.
pub(crate) fn explain(errno: Errno, path: &Path) -> io::Error {
    // Either may mean a refused link, depending on the flags and the system.
    let may_be_link = matches!(errno, Errno::LOOP | Errno::NOTDIR | Errno::MLINK);
    match first_link(path).filter(|_| may_be_link) {
        Some(link) => LinkError { path: link }.into(),
        None => errno.into(),
    }
}

/// The first part of a path that is a symbolic link.
fn first_link(path: &Path) -> Option<PathBuf> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    parts.into_iter().find(|part| part.is_symlink()).map(Path::to_owned)
}
