//! Walks everything under a place: sorted, without ignored files or secrets.

use super::{
    PathKind, ReadProblem, RootPath, ServedRoots, SpecialFile,
    ignored::{IgnoreRules, IgnoreVerdict},
};
use crate::worker_pools;
use cap_std::fs::{DirEntry, Metadata};
use rayon::Scope;
use serde::Serialize;
use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::SystemTime,
    vec,
};

/// What a walk includes beyond the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalkOptions {
    /// Include names that start with a dot.
    pub hidden: bool,
    /// Include files ignored by `.gitignore`, `.ignore` and `.docentignore`.
    pub ignored: bool,
    /// Only direct entries.
    pub flat: bool,
}

/// An entry found by a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkEntry {
    /// Its place.
    pub place: RootPath,
    /// Kind of entry.
    pub kind: PathKind,
    /// Size in bytes; 0 for anything but a file.
    pub bytes: u64,
    /// Modification time, if the file system provides it.
    pub modified: Option<SystemTime>,
}

/// An entry that a walk could not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadFailure {
    /// Path inside the root, as far as known; empty for the root itself.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// An entry, or why it could not be read.
type Item = Result<WalkEntry, ReadFailure>;

/// Iterates over everything under a place, folders before their contents. Reads lazily.
#[derive(Debug)]
pub struct FolderWalk {
    course: WalkContext,
    /// Pending entries of each open folder, the innermost last.
    pending: Vec<(vec::IntoIter<Item>, IgnoreRules)>,
}

/// Parameters of a walk.
#[derive(Debug)]
struct WalkContext {
    roots: ServedRoots,
    options: WalkOptions,
    /// Return everything as an entry, including denied files, pipes, sockets and devices.
    special: bool,
}

/// Entries of a folder, and its ignore rules.
struct FolderListing {
    items: Vec<Item>,
    ignored: IgnoreRules,
}

impl FolderWalk {
    pub(super) fn start(
        roots: &ServedRoots,
        place: &RootPath,
        options: WalkOptions,
        special: bool,
    ) -> Self {
        let course = WalkContext { roots: roots.clone(), options, special };
        let FolderListing { items, ignored } = course.start(place);
        Self { course, pending: vec![(items.into_iter(), ignored)] }
    }

    /// Walks everything at once, on all cores, in the same order; `stopped` ends it early.
    pub(super) fn all(
        roots: &ServedRoots,
        place: &RootPath,
        options: WalkOptions,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Item> {
        let course = WalkContext { roots: roots.clone(), options, special: false };
        let all = Mutex::new(Vec::new());
        let first = course.start(place);
        worker_pools::run(|| rayon::scope(|scope| course.spread(scope, first, &all, stopped)));
        let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let key = |item: &Item| match item {
            Ok(entry) => entry.place.relative().replace('/', "\0"),
            Err(problem) => problem.path.replace('/', "\0"),
        };
        all.sort_by_cached_key(key);
        all
    }
}

impl Iterator for FolderWalk {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let (items, ignored) = self.pending.last_mut()?;
            let Some(item) = items.next() else {
                self.pending.pop();
                continue;
            };
            if let Some(folder) = self.course.leads_into(&item) {
                let FolderListing { items, ignored } = self.course.list(folder, ignored);
                self.pending.push((items.into_iter(), ignored));
            }
            return Some(item);
        }
    }
}

impl WalkContext {
    /// Direct entries of the place, or the place itself if it is not a folder.
    fn start(&self, place: &RootPath) -> FolderListing {
        let alone = |item| FolderListing { items: vec![item], ignored: IgnoreRules::default() };
        let found = self.roots.dir(place).symlink_metadata(place.relative());
        match found.and_then(|found| self.roots.check_there(place, &found).map(|()| found)) {
            Err(error) => alone(Err(failure(place, &error))),
            Ok(metadata) if !metadata.is_dir() => {
                alone(self.entry_or_problem(place.clone(), &metadata))
            }
            Ok(_) => {
                let mut problems = Vec::new();
                let above = if self.options.ignored {
                    IgnoreRules::default()
                } else {
                    IgnoreRules::rules_for_folder(&self.roots, place, &mut problems)
                };
                let mut listing = self.list(place, &above);
                listing.items.splice(0..0, problems.iter().map(unused));
                listing
            }
        }
    }

    /// Lists the folders of a listing recursively, as cores become free.
    fn spread<'a>(
        &'a self,
        scope: &Scope<'a>,
        listing: FolderListing,
        all: &'a Mutex<Vec<Item>>,
        stopped: &'a (dyn Fn() -> bool + Sync),
    ) {
        for folder in listing.items.iter().filter_map(|item| self.leads_into(item)) {
            let (folder, ignored) = (folder.clone(), listing.ignored.clone());
            scope.spawn(move |scope| {
                if !stopped() {
                    self.spread(scope, self.list(&folder, &ignored), all, stopped);
                }
            });
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).extend(listing.items);
    }

    /// The folder that the walk enters next.
    fn leads_into<'i>(&self, item: &'i Item) -> Option<&'i RootPath> {
        let entry = item.as_ref().ok()?;
        (entry.kind == PathKind::Folder && !self.options.flat).then_some(&entry.place)
    }

    /// The visible entries of a folder, sorted.
    fn list(&self, folder: &RootPath, above: &IgnoreRules) -> FolderListing {
        let mut items = Vec::new();
        let mut entries: Vec<(OsString, DirEntry)> = Vec::new();
        match self.roots.dir(folder).read_dir(folder.relative()) {
            Err(error) => items.push(Err(failure(folder, &error))),
            Ok(found) => {
                for entry in found {
                    match entry {
                        Ok(entry) => entries.push((entry.file_name(), entry)),
                        Err(error) => items.push(Err(failure(folder, &error))),
                    }
                }
            }
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let ignored = if self.options.ignored {
            IgnoreRules::default()
        } else {
            let has = |name: &str| {
                let name = OsStr::new(name);
                entries.binary_search_by(|(other, _)| other.as_os_str().cmp(name)).is_ok()
            };
            let mut problems = Vec::new();
            let ignored = above.rules_for_child(&self.roots, folder, has, &mut problems);
            items.extend(problems.iter().map(unused));
            ignored
        };
        items.extend(
            entries
                .iter()
                .filter_map(|(name, entry)| self.entry_for(folder, name, entry, &ignored)),
        );
        FolderListing { items, ignored }
    }

    /// The entry of a directory item, if it is visible.
    fn entry_for(
        &self,
        folder: &RootPath,
        name: &OsStr,
        found: &DirEntry,
        ignored: &IgnoreRules,
    ) -> Option<Item> {
        if self.special {
            return Some(Self::entry_of_any_name(folder, name, found));
        }
        if name == ".git" || name == ".docent" {
            return None;
        }
        let is_folder = found.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = !self.options.hidden && name.as_encoded_bytes().starts_with(b".");
        let is_left_out = |path: &Path| match ignored.verdict(path, is_folder) {
            IgnoreVerdict::Ignored => true,
            IgnoreVerdict::NoRule => is_hidden,
            IgnoreVerdict::Kept => false,
        };
        let Some(text) = name.to_str() else {
            // The contents of such a folder are skipped with it: one problem, not a thousand.
            let path = Path::new(if folder.is_top() { "" } else { folder.relative() }).join(name);
            let path = (!is_left_out(&path)).then(|| path.to_string_lossy().into_owned())?;
            return Some(Err(ReadFailure { path, reason: "its name is not UTF-8".to_owned() }));
        };
        let place = folder.child(text);
        let is_denied = self.roots.denied(&place, is_folder).is_some();
        if is_denied || is_left_out(Path::new(place.relative())) {
            return None;
        }
        Some(match found.metadata() {
            Ok(metadata) => self.entry_or_problem(place, &metadata),
            Err(error) => Err(failure(&place, &error)),
        })
    }

    /// The entry of an item with any name.
    fn entry_of_any_name(folder: &RootPath, name: &OsStr, found: &DirEntry) -> Item {
        let place = folder.child(&name.to_string_lossy());
        let mut entry = match found.metadata() {
            Ok(metadata) => entry(place, &metadata),
            Err(error) => return Err(failure(&place, &error)),
        };
        // The walk can't enter a folder, or follow a link, whose name is not UTF-8.
        if name.to_str().is_none() && entry.kind != PathKind::File {
            entry.kind = match entry.kind {
                special @ PathKind::Special(_) => special,
                _ => PathKind::Special(SpecialFile::Unknown),
            };
        }
        Ok(entry)
    }

    /// The entry of an item; a special file is a problem.
    fn entry_or_problem(&self, place: RootPath, metadata: &Metadata) -> Item {
        let entry = entry(place, metadata);
        match entry.kind {
            PathKind::Special(_) if !self.special => {
                let path = entry.place.to_string();
                Err(ReadFailure { path, reason: super::not_a_file(entry.kind) })
            }
            _ => Ok(entry),
        }
    }
}

fn entry(place: RootPath, metadata: &Metadata) -> WalkEntry {
    let kind = PathKind::of(metadata);
    let bytes = if kind == PathKind::File { metadata.len() } else { 0 };
    let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    WalkEntry { place, kind, bytes, modified }
}

fn failure(place: &RootPath, error: &io::Error) -> ReadFailure {
    let path = if place.is_top() { String::new() } else { place.to_string() };
    ReadFailure { path, reason: super::reason(error) }
}

/// The problem of an unusable ignore file.
fn unused(problem: &ReadProblem) -> Item {
    let ReadFailure { path, reason } = ReadFailure::from(problem);
    Err(ReadFailure { path, reason: format!("its rules are ignored: {reason}") })
}

impl From<&ReadProblem> for ReadFailure {
    fn from(problem: &ReadProblem) -> Self {
        use ReadProblem as R;
        let (path, reason) = match problem {
            R::Denied { path, rule } => (path, format!("not served, because {rule}")),
            R::NotAFile { path, found } => (path, super::not_a_file(*found)),
            R::TooLarge { path, bytes, limit } => {
                (path, format!("{bytes} bytes exceed the limit of {limit}"))
            }
            R::Io { path, source } => (path, super::reason(source)),
        };
        Self { path: path.clone(), reason }
    }
}
