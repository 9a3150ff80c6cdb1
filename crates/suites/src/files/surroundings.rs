//! Access rules for a root that come from around it: enclosing and nested roots, whose operator patterns apply too, and
//! credentials in it. Computed once, because a walk checks every file.

use super::{AccessRules, root_path};
use std::path::{Path, PathBuf};

/// Reason given for a file that is refused because of its location.
const DENIED_REASON: &str = "credentials and docent's own logs are never served";

/// Other roots and credentials around and in one root.
#[derive(Debug)]
pub(super) struct RootSurroundings {
    /// Paths of this root inside others, with a trailing slash.
    outer: Vec<String>,
    /// Paths of others inside this one, with a trailing slash.
    inner: Vec<String>,
    /// Paths of credentials inside this one, in lower case; an empty one means the whole root.
    secrets: Vec<String>,
}

impl RootSurroundings {
    /// Computes the surroundings. `others` may include the root itself. All paths must be real paths.
    pub(super) fn find(root: &Path, others: &[&Path], secrets: &[PathBuf]) -> Self {
        let apart = |path: &Path, folder: &Path| {
            relative_path(path, folder)
                .filter(|path| !path.is_empty())
                .map(|path| format!("{path}/"))
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

    /// The rule that denies a path in the root for reasons other than its name there, if any.
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
            // Rotated and saved files keep the name, followed by a dot.
            let ends = |rest: &str| rest.is_empty() || rest.starts_with(['/', '.']);
            secret.is_empty() || path.strip_prefix(secret.as_str()).is_some_and(ends)
        })
    }
}

/// The path relative to a folder, with slashes.
fn relative_path(path: &Path, folder: &Path) -> Option<String> {
    let inside = path.strip_prefix(folder).ok()?.to_string_lossy();
    Some(root_path::with_slashes(&inside).into_owned())
}

/// Real paths of credentials, without those inside folders that are listed too. Missing files are kept: they may appear.
#[expect(clippy::disallowed_methods, reason = "credentials may be outside the roots")]
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
    // Sorted: the contents of a folder come after it.
    all.dedup_by(|path, above| path.starts_with(above));
    all
}
