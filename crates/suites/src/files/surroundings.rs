//! What decides about the files of a root beside their names in it: roots that it lies in or holds, from which the operator's
//! patterns count as well, and credentials in it. Settled once, because a walk asks about every file.

use super::{AccessRules, root_path};
use std::path::{Path, PathBuf};

/// Told of what is refused for its place.
const DENIED_REASON: &str = "it is kept back, as credentials and docent's own records are";

/// What lies around one root, and in it.
#[derive(Debug)]
pub(super) struct RootSurroundings {
    /// Paths of this root inside others, with a slash at their end.
    outer: Vec<String>,
    /// Paths of others inside this one, with a slash at their end.
    inner: Vec<String>,
    /// Paths of credentials inside this one, in small letters; an empty one stands for all of it.
    secrets: Vec<String>,
}

impl RootSurroundings {
    /// `others` may name the root itself. All paths are real ones.
    pub(super) fn find(root: &Path, others: &[&Path], secrets: &[PathBuf]) -> Self {
        let apart = |path: &Path, folder: &Path| {
            relative_path(path, folder).filter(|path| !path.is_empty()).map(|path| format!("{path}/"))
        };
        let all_of_it = secrets.iter().any(|secret| root.starts_with(secret));
        let inside = secrets.iter().filter_map(|secret| relative_path(secret, root));
        let inside = inside.map(|path| path.to_lowercase());
        Self {
            outer: others.iter().filter_map(|other| apart(root, other)).collect(),
            inner: others.iter().filter_map(|other| apart(other, root)).collect(),
            secrets: if all_of_it { vec![String::new()] } else { inside.collect() },
        }
    }

    /// The rule that keeps a path in the root from being served, where its name there is no reason.
    pub(super) fn denied(
        &self,
        relative: &str,
        is_folder: bool,
        rules: &AccessRules,
    ) -> Option<&'static str> {
        if relative == "." {
            return None;
        }
        let mut outer = self.outer.iter().map(|above| format!("{above}{relative}"));
        let mut inner = self.inner.iter().filter_map(|below| relative.strip_prefix(below.as_str()));
        let elsewhere = outer
            .find_map(|path| rules.forbidden(&path, is_folder))
            .or_else(|| inner.find_map(|path| rules.forbidden(path, is_folder)));
        let is_kept_back = || self.is_secret(relative) && !rules.is_allowed(relative, is_folder);
        elsewhere.or_else(|| is_kept_back().then_some(DENIED_REASON))
    }

    fn is_secret(&self, relative: &str) -> bool {
        if self.secrets.is_empty() {
            return false;
        }
        let path = relative.to_lowercase();
        self.secrets.iter().any(|secret| {
            // What is turned over or saved keeps the name, and has a dot after it.
            let ends = |rest: &str| rest.is_empty() || rest.starts_with(['/', '.']);
            secret.is_empty() || path.strip_prefix(secret.as_str()).is_some_and(ends)
        })
    }
}

/// The path inside a folder, with slashes.
fn relative_path(path: &Path, folder: &Path) -> Option<String> {
    let inside = path.strip_prefix(folder).ok()?.to_string_lossy();
    Some(root_path::with_slashes(&inside).into_owned())
}

/// Credentials by their real paths, without those in folders that are named themselves. What is not there may come.
#[expect(clippy::disallowed_methods, reason = "credentials lie outside the roots as well")]
pub(super) fn real(secrets: &[PathBuf]) -> Vec<PathBuf> {
    let real = |path: &PathBuf| {
        let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
        let real = there.and_then(|(above, real)| -> Option<PathBuf> {
            let rest = path.strip_prefix(above).ok()?;
            Some(real.components().chain(rest.components()).collect())
        });
        real.unwrap_or_else(|| path.clone())
    };
    let mut all: Vec<PathBuf> = secrets.iter().map(real).collect();
    all.sort();
    // What lies in a folder comes after it.
    all.dedup_by(|path, above| path.starts_with(above));
    all
}
