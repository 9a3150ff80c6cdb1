//! What lies under a place: sorted, without what the project itself ignores, without secrets.

use super::{
    PathKind, RootPath, ReadProblem, ServedRoots, SpecialFile,
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

/// One thing found by a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkEntry {
    /// Where it is.
    pub place: RootPath,
    /// What it is.
    pub kind: PathKind,
    /// Its size; 0 for anything but a file.
    pub bytes: u64,
    /// When it was last written, where the file system says.
    pub modified: Option<SystemTime>,
}

/// Something that a walk could not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadFailure {
    /// Inside the root, as far as it is known; empty for the root itself.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// What is told of one thing.
type Item = Result<WalkEntry, ReadFailure>;

/// Goes through everything under a place, folders before what they hold. Reads as it goes.
#[derive(Debug)]
pub struct FolderWalk {
    course: WalkContext,
    /// What is still to be told of each folder on the way, the innermost last.
    pending: Vec<(vec::IntoIter<Item>, IgnoreRules)>,
}

/// Where a walk goes.
#[derive(Debug)]
struct WalkContext {
    roots: ServedRoots,
    options: WalkOptions,
    /// Everything is an entry: what is denied too, and pipes, sockets and devices, which are problems otherwise.
    special: bool,
}

/// What a folder shows, and the rules that hold in it.
struct FolderListing {
    items: Vec<Item>,
    ignored: IgnoreRules,
}

impl FolderWalk {
    pub(super) fn start(roots: &ServedRoots, place: &RootPath, options: WalkOptions, special: bool) -> Self {
        let course = WalkContext { roots: roots.clone(), options, special };
        let FolderListing { items, ignored } = course.start(place);
        Self { course, pending: vec![(items.into_iter(), ignored)] }
    }

    /// Everything at once, on all cores, in the same order; `stopped` ends it early.
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
            let (items, ignored) = self.waiting.last_mut()?;
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
    /// What lies directly in the place, or the place itself where it is no folder.
    fn start(&self, place: &RootPath) -> FolderListing {
        let alone = |item| FolderListing { items: vec![item], ignored: IgnoreRules::default() };
        let found = self.roots.dir(place).symlink_metadata(place.relative());
        match found.and_then(|found| self.roots.check_there(place, &found).map(|()| found)) {
            Err(error) => alone(Err(failure(place, &error))),
            Ok(metadata) if !metadata.is_dir() => alone(self.entry_or_problem(place.clone(), &metadata)),
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

    /// Lists the folders of a listing, and theirs in turn, as cores come free.
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

    /// The folder that the walk goes on to.
    fn leads_into<'i>(&self, item: &'i Item) -> Option<&'i RootPath> {
        let entry = item.as_ref().ok()?;
        (entry.kind == PathKind::Folder && !self.options.flat).then_some(&entry.place)
    }

    /// Everything in a folder that is shown, sorted.
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
            entries.iter().filter_map(|(name, entry)| self.entry_for(folder, name, entry, &ignored)),
        );
        FolderListing { items, ignored }
    }

    /// What is told of something in a folder, if it is shown.
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
            // What lies in a folder with such a name is left out with it: one problem, not a thousand.
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

    /// The entry of something, whatever it is called.
    fn entry_of_any_name(folder: &RootPath, name: &OsStr, found: &DirEntry) -> Item {
        let place = folder.child(&name.to_string_lossy());
        let mut entry = match found.metadata() {
            Ok(metadata) => entry(place, &metadata),
            Err(error) => return Err(failure(&place, &error)),
        };
        // The walk can't go into a folder, or follow a link, whose name is not UTF-8.
        if name.to_str().is_none() && entry.kind != PathKind::File {
            entry.kind = match entry.kind {
                special @ PathKind::Special(_) => special,
                _ => PathKind::Special(SpecialFile::Unknown),
            };
        }
        Ok(entry)
    }

    /// The entry of something, or the problem that a special file is to readers.
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

/// A file of rules that counts for nothing.
fn unused(problem: &ReadProblem) -> Item {
    let ReadFailure { path, reason } = ReadFailure::from(problem);
    Err(ReadFailure { path, reason: format!("its rules are not used: {reason}") })
}

impl From<&ReadProblem> for ReadFailure {
    fn from(problem: &ReadProblem) -> Self {
        use ReadProblem as R;
        let (path, reason) = match problem {
            R::Denied { path, rule } => (path, format!("not served, because {rule}")),
            R::NotAFile { path, found } => (path, super::not_a_file(*found)),
            R::TooLarge { path, bytes, limit } => {
                (path, format!("{bytes} bytes are more than the limit of {limit}"))
            }
            R::Io { path, source } => (path, super::reason(source)),
        };
        Self { path: path.clone(), reason }
    }
}
