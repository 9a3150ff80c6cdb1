//! Completes a path that a client has begun to type.

use super::{PathKind, RootPath, ServedRoots};

/// Maximum number of completion values.
const MAX_VALUES: usize = 100;
/// Maximum number of entries scanned per completion.
const MAX_ENTRIES: usize = 5000;

impl ServedRoots {
    /// Paths of files or folders under a root that start with the typed text.
    pub(crate) fn complete(
        &self,
        top: &RootPath,
        typed: &str,
        kind: PathKind,
        stopped: &dyn Fn() -> bool,
    ) -> Vec<String> {
        let folder = typed.rsplit_once('/').and_then(|(folder, _)| top.join(folder));
        // The folder is checked like any path from a client.
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
