//! Locked versions of any lock file. Must not know any format.

use super::reading::RequestedDependency;
use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

/// Distinct pairs of name and version.
#[derive(Debug, Default)]
pub(super) struct LockedVersions {
    versions: HashMap<String, Vec<String>>,
    /// Hashes of the pairs.
    seen: HashSet<u64>,
}

impl LockedVersions {
    /// Adds a package version.
    pub(super) fn add(&mut self, name: impl Into<String>, version: impl Into<String>) {
        let (name, version) = (name.into(), version.into());
        if self.seen.insert(hash(&(&name, &version))) {
            self.versions.entry(name).or_default().push(version);
        }
    }

    /// Returns the number of pairs.
    pub(super) fn count(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Returns the pairs as hashes that are equal across lock files of an ecosystem.
    pub(super) fn hashes(&self, ecosystem: &str) -> impl Iterator<Item = u64> {
        self.seen.iter().map(move |pair| hash(&(ecosystem, pair)))
    }

    /// Returns the version of a package: its only one, or the only one that starts like the requirement.
    pub(super) fn version(&self, name: &str, requirement: Option<&str>) -> Option<&str> {
        let versions = self.versions.get(name)?;
        if let [only] = versions.as_slice() {
            return Some(only);
        }
        let mut fitting = versions.iter().filter(|version| starts_like(version, requirement));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether a version starts with the first number in a requirement: `1.2.3` and `^1.2`.
fn starts_like(version: &str, requirement: Option<&str>) -> bool {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let wanted = requirement.unwrap_or_default().trim_start_matches(|c| !digits(c));
    let wanted = wanted.split(|c| !digits(c)).next().unwrap_or_default().trim_matches('.');
    let rest = version.trim_start_matches('v').strip_prefix(wanted);
    !wanted.is_empty() && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The dependent package, as a lock file identifies it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestingPackage<'a> {
    /// Name of the package.
    pub(super) name: &'a str,
    /// Its folder relative to the lock file; empty if they are the same.
    pub(super) folder: &'a str,
}

/// A parsed lock file.
#[derive(Debug)]
pub(super) struct ParsedLockFile {
    /// All locked external versions.
    pub(super) fixed: LockedVersions,
    /// Versions for one dependent package, under the keys from `keys`.
    pub(super) exact: LockedVersions,
    /// Returns the keys to try for a dependency, in order.
    pub(super) keys: fn(RequestingPackage<'_>, &RequestedDependency) -> Vec<String>,
    /// Converts a package name to its form in the lock file; `None` if a name alone does not determine the version.
    pub(super) name: Option<fn(&str) -> String>,
}

impl ParsedLockFile {
    /// Creates a lock file with a single version of each package.
    pub(super) fn single_version(fixed: LockedVersions, name: fn(&str) -> String) -> Self {
        Self { fixed, exact: LockedVersions::default(), keys: |_, _| Vec::new(), name: Some(name) }
    }

    /// Returns the locked version.
    pub(super) fn version(
        &self,
        asker: RequestingPackage<'_>,
        wanted: &RequestedDependency,
    ) -> Option<String> {
        let requirement = wanted.requirement.as_deref();
        let keys = (self.keys)(asker, wanted);
        let exact = keys.iter().find_map(|key| self.exact.version(key, requirement));
        let named = || self.fixed.version(&self.name?(&wanted.name), requirement);
        exact.or_else(named).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_given_only_when_certain() {
        let mut fixed = LockedVersions::default();
        for (name, version) in
            [("a", "1.2.3"), ("a", "1.2.3"), ("b", "0.8.5"), ("b", "0.9.1"), ("b", "10.0.0")]
        {
            fixed.add(name, version);
        }
        assert_eq!(fixed.count(), 4);
        let cases = [
            ("a", None, Some("1.2.3")),
            ("a", Some("*"), Some("1.2.3")),
            ("b", Some("^0.8"), Some("0.8.5")),
            ("b", Some("=0.9.1"), Some("0.9.1")),
            ("b", Some("0"), None),
            ("b", Some("1"), None),
            ("b", Some(">= 10, < 11"), Some("10.0.0")),
            ("b", None, None),
            ("c", None, None),
        ];
        for (name, requirement, want) in cases {
            assert_eq!(fixed.version(name, requirement), want, "{name} {requirement:?}");
        }
    }
}
