//! Completes a path that a client has begun to type.

use super::{PathKind, RootPath, ServedRoots};

/// As many values as a completion may have.
const MAX_VALUES: usize = 100;
/// Entries that one completion looks at.
const MAX_ENTRIES: usize = 5000;

impl ServedRoots {
    /// Paths below the top of a root that begin as typed, of files or of folders.
    pub(crate) fn complete(
        &self,
        top: &RootPath,
        typed: &str,
        kind: PathKind,
        stopped: &dyn Fn() -> bool,
    ) -> Vec<String> {
        let folder = typed.rsplit_once('/').and_then(|(folder, _)| top.join(folder));
        // The folder is checked like any path that a client names.
        let folder = folder.and_then(|at| self.resolve(&self.absolute(&at).to_string_lossy()).ok());
        let start = folder.unwrap_or_else(|| top.clone());
        let found = self.walk(&start).flatten().take(MAX_ENTRIES).take_while(|_| !stopped());
        found
            .filter(|entry| entry.kind == kind)
            .map(|entry| entry.place.to_string())
            .filter(|path| path.starts_with(typed))
            .take(MAX_VALUES)
            .collect()
    }
}
