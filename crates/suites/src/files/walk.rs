//! What lies under a place: sorted, without what the project itself ignores, without secrets.

use super::{Place, Rules, place::with_slashes};
use ignore::{
    DirEntry, WalkBuilder, WalkState,
    gitignore::{Gitignore, GitignoreBuilder},
};
use serde::Serialize;
use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

/// Rules for docent alone, written as `.gitignore` is.
pub(crate) const OWN_RULES: &str = ".docentignore";

/// What a walk shows beyond the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalkOptions {
    /// Names that start with a dot as well.
    pub hidden: bool,
    /// What `.gitignore`, `.ignore` and `.docentignore` leave out as well.
    pub ignored: bool,
    /// Only what lies directly there.
    pub flat: bool,
}

/// What kind of thing an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; walks don't follow it.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// One thing found by a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub kind: Kind,
    /// Its size; 0 for anything but a file.
    pub bytes: u64,
    /// When it was last written, where the file system says.
    pub modified: Option<SystemTime>,
}

/// Something that a walk could not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Inside the root, as far as it is known.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// Goes through everything under a place, folders before what they hold. Reads as it goes.
pub struct Walk {
    /// `None` for a walk that is done at once.
    entries: Option<ignore::Walk>,
    root: PathBuf,
    top: Place,
}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk")
            .field("root", &self.root)
            .field("top", &self.top)
            .finish_non_exhaustive()
    }
}

impl Walk {
    pub(super) fn start(
        (root, rules): (&Path, &Arc<Rules>),
        place: &Place,
        options: WalkOptions,
    ) -> Self {
        let entries = Self::builder((root, rules), place, options).build();
        Self { entries: Some(entries), root: root.to_owned(), top: place.clone() }
    }

    /// Everything at once, on all cores, in the same order; `stopped` ends it early.
    pub(super) fn all(
        (root, rules): (&Path, &Arc<Rules>),
        place: &Place,
        options: WalkOptions,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Result<Entry, Problem>> {
        let walk = Self { entries: None, root: root.to_owned(), top: place.clone() };
        let all = Mutex::new(Vec::new());
        Self::builder((root, rules), place, options).build_parallel().run(|| {
            Box::new(|found| {
                if let Some(item) = walk.item(found) {
                    all.lock().unwrap_or_else(PoisonError::into_inner).push(item);
                }
                if stopped() { WalkState::Quit } else { WalkState::Continue }
            })
        });
        let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let key = |item: &Result<Entry, Problem>| match item {
            Ok(entry) => entry.place.relative().replace('/', "\0"),
            Err(problem) => problem.path.replace('/', "\0"),
        };
        all.sort_by_cached_key(key);
        all
    }

    fn builder(
        (root, rules): (&Path, &Arc<Rules>),
        place: &Place,
        options: WalkOptions,
    ) -> WalkBuilder {
        let start = if place.is_top() { root.to_owned() } else { root.join(place.relative()) };
        let above = if options.ignored { Vec::new() } else { ignored_above(root, place) };
        let (base, rules) = (root.to_owned(), Arc::clone(rules));
        let mut builder = WalkBuilder::new(start);
        builder
            .hidden(!options.hidden)
            .follow_links(false)
            .parents(false)
            .require_git(false)
            .git_global(false)
            .git_ignore(!options.ignored)
            .git_exclude(!options.ignored)
            .ignore(!options.ignored)
            .max_depth(options.flat.then_some(1))
            .sort_by_file_name(OsStr::cmp)
            .filter_entry(move |entry| shown(entry, (&base, &rules), &above));
        if !options.ignored {
            builder.add_custom_ignore_filename(OWN_RULES);
        }
        builder
    }

    /// What is worth telling of something found.
    fn item(&self, found: Result<DirEntry, ignore::Error>) -> Option<Result<Entry, Problem>> {
        let found = match found {
            Ok(found) => self.entry(&found),
            Err(error) => Some(Err(self.failure(&error))),
        };
        let is_top = |entry: &Entry| entry.place == self.top && entry.kind == Kind::Folder;
        found.filter(|item| !item.as_ref().is_ok_and(is_top))
    }

    fn entry(&self, found: &DirEntry) -> Option<Result<Entry, Problem>> {
        let place = match relative(&self.root, found.path()) {
            Some(path) => Place::top(self.top.root()).join(&path)?,
            // What lies in a folder with such a name is left out with it: one problem, not a thousand.
            None if found.file_name().to_str().is_some() => return None,
            None => return Some(Err(self.problem(found.path(), "its name is not UTF-8"))),
        };
        Some(match found.metadata() {
            Ok(metadata) => {
                let kind = kind_of_std(metadata.file_type());
                let bytes = if kind == Kind::File { metadata.len() } else { 0 };
                Ok(Entry { place, kind, bytes, modified: metadata.modified().ok() })
            }
            Err(error) => Err(self.failure(&error)),
        })
    }

    fn problem(&self, path: &Path, reason: impl Into<String>) -> Problem {
        let path = path.strip_prefix(&self.root).unwrap_or(Path::new("?"));
        Problem { path: path.to_string_lossy().into_owned(), reason: reason.into() }
    }

    fn failure(&self, error: &ignore::Error) -> Problem {
        let reason = error
            .io_error()
            .map_or_else(|| "its ignore rules can't be read".to_owned(), super::reason);
        self.problem(path_of(error).unwrap_or(Path::new("?")), reason)
    }
}

impl Iterator for Walk {
    type Item = Result<Entry, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let found = self.entries.as_mut()?.next()?;
            if let Some(item) = self.item(found) {
                return Some(item);
            }
        }
    }
}

fn shown(entry: &DirEntry, (root, rules): (&Path, &Rules), above: &[Gitignore]) -> bool {
    if entry.depth() == 0 {
        return true;
    }
    if entry.file_name() == ".git" || entry.file_name() == ".docent" {
        return false;
    }
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    if relative(root, entry.path()).is_some_and(|path| rules.denied(&path, is_folder).is_some()) {
        return false;
    }
    let verdict = above
        .iter()
        .map(|rules| rules.matched(entry.path(), is_folder))
        .find(|found| !found.is_none());
    !verdict.is_some_and(|found| found.is_ignore())
}

/// The ignore rules of the folders between the root and the start, innermost first. Those above the root are not ours to read.
fn ignored_above(root: &Path, place: &Place) -> Vec<Gitignore> {
    let mut rules = Vec::new();
    let mut folder = place.parent();
    while let Some(at) = folder {
        let path = if at.is_top() { root.to_owned() } else { root.join(at.relative()) };
        let mut builder = GitignoreBuilder::new(&path);
        // A file of rules that can't be read leaves nothing out.
        drop(builder.add(path.join(".gitignore")));
        drop(builder.add(path.join(OWN_RULES)));
        rules.extend(builder.build().ok().filter(|found| !found.is_empty()));
        folder = at.parent();
    }
    rules
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    path.strip_prefix(root).ok()?.to_str().map(|path| with_slashes(path).into_owned())
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
}

fn kind_of_std(kind: std::fs::FileType) -> Kind {
    match kind {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}

pub(super) fn kind_of(metadata: &cap_std::fs::Metadata) -> Kind {
    match metadata {
        found if found.is_file() => Kind::File,
        found if found.is_dir() => Kind::Folder,
        found if found.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}

impl From<&super::ReadProblem> for Problem {
    fn from(problem: &super::ReadProblem) -> Self {
        use super::ReadProblem as R;
        let (path, reason) = match problem {
            R::Denied { path, rule } => (path, format!("not served, because {rule}")),
            R::NotAFile { path } => (path, "not a regular file".to_owned()),
            R::TooLarge { path, bytes, limit } => {
                (path, format!("{bytes} bytes are more than the limit of {limit}"))
            }
            R::Io { path, source } => (path, super::reason(source)),
        };
        Self { path: path.clone(), reason }
    }
}
