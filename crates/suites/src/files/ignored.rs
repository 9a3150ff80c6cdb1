//! Ignore rules of a project: `.docentignore`, `.ignore`, `.gitignore` and `.git/info/exclude`, of the folder and of
//! those above it up to the root. They are read through the guard, so that a device, a pipe or a link that leads out
//! blocks nothing; such a file is ignored and reported.

use super::{ReadProblem, RootPath, ServedRoots};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::{io, path::Path, sync::Arc};

/// Ignore file for docent only, in `.gitignore` syntax.
pub(crate) const OWN_RULES: &str = ".docentignore";
/// Maximum size of an ignore file.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;
/// Ignore files; earlier ones take precedence.
const IGNORE_FILES: [&str; 3] = [OWN_RULES, ".ignore", ".gitignore"];
const GIT: &str = ".git";

/// The ignore rules of a folder and those above it. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreRules(Option<Arc<IgnoreLevel>>);

#[derive(Debug)]
struct IgnoreLevel {
    /// As in `IGNORE_FILES`, then those of git's own folder.
    own: [Gitignore; 4],
    parent: IgnoreRules,
}

/// Result of applying the rules to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoreVerdict {
    NoRule,
    Ignored,
    /// Explicitly not ignored.
    Kept,
}

impl IgnoreRules {
    /// The rules of the folders above a place.
    pub(super) fn rules_for_folder(
        roots: &ServedRoots,
        place: &RootPath,
        problems: &mut Vec<ReadProblem>,
    ) -> Self {
        let folders: Vec<RootPath> =
            std::iter::successors(place.parent(), RootPath::parent).collect();
        let inner = |above: Self, folder: &RootPath| {
            above.rules_for_child(roots, folder, |_| true, problems)
        };
        folders.iter().rev().fold(Self::default(), inner)
    }

    /// The rules of a subfolder; `has` returns whether it contains a name.
    pub(super) fn rules_for_child(
        &self,
        roots: &ServedRoots,
        folder: &RootPath,
        has: impl Fn(&str) -> bool,
        problems: &mut Vec<ReadProblem>,
    ) -> Self {
        let mut rules = |text: Result<Option<String>, ReadProblem>| match text {
            Ok(Some(text)) => patterns(folder, &text),
            Ok(None) => Gitignore::empty(),
            Err(problem) => {
                problems.push(problem);
                Gitignore::empty()
            }
        };
        let mut of = |name: &str| match has(name) {
            true if name == GIT => rules(exclude(roots, folder)),
            true => rules(text(roots, &folder.child(name))),
            false => Gitignore::empty(),
        };
        let [first, second, third] = IGNORE_FILES.map(&mut of);
        let own = [first, second, third, of(GIT)];
        if own.iter().all(Gitignore::is_empty) {
            return self.clone();
        }
        Self(Some(Arc::new(IgnoreLevel { own, parent: self.clone() })))
    }

    /// Applies the rules to a path inside the root; the innermost match wins, file by file.
    pub(super) fn verdict(&self, path: &Path, is_folder: bool) -> IgnoreVerdict {
        let levels = || std::iter::successors(self.0.as_deref(), |level| level.parent.0.as_deref());
        for file in 0..=IGNORE_FILES.len() {
            for level in levels() {
                let found = level.own.get(file).map(|rules| rules.matched(path, is_folder));
                match found {
                    Some(ignore::Match::Ignore(_)) => return IgnoreVerdict::Ignored,
                    Some(ignore::Match::Whitelist(_)) => return IgnoreVerdict::Kept,
                    _ => {}
                }
            }
        }
        IgnoreVerdict::NoRule
    }
}

fn patterns(folder: &RootPath, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(if folder.is_top() { "" } else { folder.relative() });
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is not a pattern ignores nothing.
        drop(builder.add_line(None, line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The text of a file; `None` if it does not exist.
fn text(roots: &ServedRoots, file: &RootPath) -> Result<Option<String>, ReadProblem> {
    match roots.read_rules(file, MAX_IGNORE_FILE_BYTES) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(ReadProblem::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The rules of git's own folder, which may be elsewhere in the roots if this is one of several work trees.
fn exclude(roots: &ServedRoots, folder: &RootPath) -> Result<Option<String>, ReadProblem> {
    let of = |git: &RootPath| match text(roots, &git.child("info").child("exclude")) {
        // Git's folder is often a link to another disk, which may not be read.
        Err(ReadProblem::Io { source, .. }) if source.kind() != io::ErrorKind::NotADirectory => {
            Ok(None)
        }
        found => found,
    };
    let git = folder.child(GIT);
    match of(&git) {
        Err(ReadProblem::Io { .. }) => {}
        found => return found,
    }
    let first_line = |text: Option<String>| text?.lines().next().map(str::to_owned);
    let lead = |from: &RootPath, path: &str| match Path::new(path) {
        path if path.is_absolute() => roots.locate(path),
        _ => from.join(path),
    };
    let line = first_line(text(roots, &git)?).unwrap_or_default();
    let Some(tree) = line.strip_prefix("gitdir: ").and_then(|path| lead(folder, path)) else {
        return Ok(None);
    };
    let common = first_line(text(roots, &tree.child("commondir"))?);
    let common = common.and_then(|path| lead(&tree, &path));
    common.map_or(Ok(None), |common| of(&common))
}
