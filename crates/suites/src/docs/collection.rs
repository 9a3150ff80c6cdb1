//! Collections of documents: what is configured, and where their files are.

use crate::files::{WalkEntry, PathKind, RootPath, ReadFailure, ReadProblem, ServedRoots, WalkOptions, not_a_file};
use docent_prose::{Archive, ProseFormat};
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A collection's own folder is meant to be read, whatever the project ignores.
const EVERYTHING: WalkOptions = WalkOptions { hidden: false, ignored: true, flat: false };

/// What may be a document and is larger is data.
const MAX_GUESSED_FILE_BYTES: u64 = 16 << 20;
/// A larger archive is better unpacked into a folder.
const MAX_ARCHIVE_BYTES: u64 = 512 << 20;

/// Documents with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionSettings {
    /// What callers call it: a value of `doc_type`, and the first part of a document's id.
    pub name: String,
    /// What people call it, such as `PostgreSQL Documentation`.
    pub title: Option<String>,
    /// What the documents are about, where several collections are about the same.
    pub kind: Option<String>,
    /// The version that they describe.
    pub version: Option<String>,
    /// What is in it, for people and models.
    pub description: String,
    /// Where its files are.
    pub origin: CollectionOrigin,
    /// Where the same documents are on the web, without the path of each.
    pub url: Option<String>,
    /// Where single documents are on the web, by path, where that can't be told from the path.
    pub addresses: BTreeMap<String, String>,
    /// Patterns of the files to take; all of them where there is none.
    pub include: Vec<String>,
    /// Patterns of the files to leave out.
    pub exclude: Vec<String>,
}

/// Where the files of a collection are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionOrigin {
    /// A folder or a file of the roots: relative to the first one, or absolute inside one.
    Roots(String),
    /// A folder or a file anywhere, named by the user and not by a project.
    Anywhere(PathBuf),
}

impl CollectionSettings {
    /// A collection in a folder of the roots.
    pub fn new(
        name: impl Into<String>,
        path: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            kind: None,
            version: None,
            description: description.into(),
            origin: CollectionOrigin::Roots(path.into()),
            url: None,
            addresses: BTreeMap::new(),
            include: Vec::new(),
            exclude: Vec::new(),
        }
    }

    /// What `doc_type` calls it, unless it is asked for by its name.
    pub fn doc_type(&self) -> &str {
        self.kind.as_deref().unwrap_or(&self.name)
    }

    /// What the index calls it.
    pub fn key(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    /// Why it can't be called so.
    pub fn name_problem(name: &str) -> Option<&'static str> {
        match name {
            "" => Some("a collection needs a name"),
            "all" => Some("`all` stands for every collection; choose another name"),
            _ if name.contains(['/', '\\', '#', '?']) || name.chars().any(char::is_control) => {
                Some("a name is the first part of ids and addresses, without / \\ # ? in it")
            }
            _ => None,
        }
    }
}

/// The places of the roots whose documents belong to collections.
pub fn collection_places(roots: &ServedRoots, collections: &[CollectionSettings]) -> Vec<RootPath> {
    let place = |one: &CollectionSettings| match &one.origin {
        CollectionOrigin::Roots(path) => roots.resolve(path).ok(),
        CollectionOrigin::Anywhere(_) => None,
    };
    collections.iter().filter_map(place).collect()
}

/// What the index's names of collections begin with.
pub(crate) const COLLECTION_KEY_PREFIX: &str = "docs:";

/// A collection, and the patterns of its files.
#[derive(Debug, Clone)]
pub(crate) struct DocumentCollection {
    pub(crate) collection: CollectionSettings,
    pub(crate) key: String,
    roots: ServedRoots,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    /// Why nothing is taken from it.
    problem: Option<ReadFailure>,
}

/// Where a shelf's files are right now.
#[derive(Debug, Clone)]
pub(crate) struct CollectionFolder {
    roots: ServedRoots,
    top: RootPath,
    /// The one file that it is made of.
    only_file: Option<String>,
}

/// A file of a shelf.
#[derive(Debug, Clone)]
pub(crate) struct CollectionFile {
    /// In the collection.
    pub(crate) path: String,
    pub(crate) place: RootPath,
    pub(crate) reader: DocumentReader,
    /// Tells whether it was written since.
    pub(crate) stamp: FileStamp,
}

/// Size and time of the last change.
pub(crate) type FileStamp = (u64, Option<std::time::SystemTime>);

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentReader {
    /// As this format, unless it begins like something else.
    Format(ProseFormat),
    /// As what it begins like; not at all where that is nothing known.
    Guess,
    /// As a folder of files.
    Archive(Archive),
}

impl DocumentReader {
    pub(crate) fn of(path: &str) -> Option<Self> {
        if let Some(archive) = Archive::from_path(path) {
            return Some(Self::Archive(archive));
        }
        let format = ProseFormat::from_path(path).map(Self::Format);
        format.or_else(|| ProseFormat::may_be(path).then_some(Self::Guess))
    }

    /// How a file is read that begins so.
    pub(crate) fn format(self, path: &str, bytes: &[u8]) -> Option<ProseFormat> {
        match self {
            Self::Format(_) | Self::Guess => ProseFormat::guess(path, bytes),
            Self::Archive(_) => None,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Format(format) => format.name(),
            Self::Guess => "a guess",
            Self::Archive(archive) => archive.name(),
        }
    }

    pub(crate) const fn largest(self) -> u64 {
        match self {
            Self::Format(format) => format.largest(),
            Self::Guess => MAX_GUESSED_FILE_BYTES,
            Self::Archive(_) => MAX_ARCHIVE_BYTES,
        }
    }
}

/// What lies on a shelf.
#[derive(Debug, Default)]
pub(crate) struct CollectionScan {
    pub(crate) items: Vec<CollectionFile>,
    /// Folders to listen to.
    pub(crate) folders: Vec<PathBuf>,
    /// Files that no format reads, or that the patterns leave out.
    pub(crate) skipped: usize,
    pub(crate) problems: Vec<ReadFailure>,
}

impl DocumentCollection {
    /// A shelf for a collection. Whatever is wrong with it is told when it is looked at.
    pub(crate) fn new(collection: CollectionSettings, roots: &ServedRoots) -> Self {
        let mut problem = None;
        let mut patterns = |patterns: &[String]| match globs(patterns) {
            Ok(set) => set,
            Err(error) => {
                let reason = format!("a pattern of the collection can't be used: {error}");
                problem = Some(ReadFailure { path: collection.name.clone(), reason });
                None
            }
        };
        let (include, exclude) = (patterns(&collection.include), patterns(&collection.exclude));
        let key = collection.key();
        Self { collection, key, roots: roots.clone(), include, exclude, problem }
    }

    /// Where its files are; a problem where there are none.
    #[expect(clippy::disallowed_methods, reason = "roots are opened from what is found out here")]
    pub(crate) fn site(&self) -> Result<CollectionFolder, ReadFailure> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        match &self.collection.origin {
            CollectionOrigin::Roots(path) => {
                let problem = |reason: String| ReadFailure { path: path.clone(), reason };
                let place = self.roots.resolve(path).map_err(|error| problem(error.to_string()))?;
                let kind = self.roots.kind(&place).map_err(|error| ReadFailure::from(&error))?;
                site(self.roots.clone(), place, kind)
                    .ok_or_else(|| problem("is neither a file nor a folder".into()))
            }
            CollectionOrigin::Anywhere(path) => {
                let problem = |reason: String| ReadFailure { path: path.display().to_string(), reason };
                let found = path.metadata().map(|found| PathKind::of_open(&found));
                if let Ok(found @ PathKind::Special(_)) = found {
                    return Err(problem(not_a_file(found)));
                }
                let is_file = matches!(found, Ok(Kind::File));
                let folder = if is_file { path.parent().unwrap_or(path) } else { path };
                let roots = self
                    .roots
                    .beside(&[folder.to_owned()])
                    .map_err(|error| problem(error.to_string()))?;
                let top = roots.top();
                let name = path.file_name().filter(|_| is_file);
                let only = name.map(|name| name.to_string_lossy().into_owned());
                Ok(CollectionFolder { roots, top, only_file: only })
            }
        }
    }

    /// Everything that lies there now.
    pub(crate) fn scan(&self, stopped: &(dyn Fn() -> bool + Sync)) -> CollectionScan {
        let mut found = CollectionScan::default();
        let site = match self.site() {
            Ok(site) => site,
            Err(problem) => {
                found.problems.push(problem);
                return found;
            }
        };
        found.folders.push(site.roots.absolute(&site.top));
        let options = WalkOptions { flat: site.only.is_some(), ..EVERYTHING };
        for entry in site.roots.walk_all(&site.top, options, stopped) {
            match entry {
                Ok(entry) => self.take(&site, entry, &mut found),
                Err(problem) => found.problems.push(problem),
            }
        }
        found
    }

    fn add(&self, site: &CollectionFolder, entry: WalkEntry, found: &mut CollectionScan) {
        match entry.kind {
            PathKind::Folder if site.only_file.is_none() => {
                found.folders.push(site.roots.absolute(&entry.place));
            }
            PathKind::File => {
                let Some(path) = entry.place.below(&site.top).map(str::to_owned) else { return };
                match self.reader(site, &path) {
                    Some(reader) => {
                        let stamp = (entry.bytes, entry.modified);
                        found.items.push(CollectionFile { path, place: entry.place, reader, stamp });
                    }
                    None => found.skipped += 1,
                }
            }
            _ => {}
        }
    }

    /// How a file of this name is read; `None` where it is none of the collection's.
    fn reader(&self, site: &CollectionFolder, path: &str) -> Option<DocumentReader> {
        let reader = DocumentReader::of(path)?;
        // What an archive holds is held against the patterns, and not the archive.
        let is_archive = matches!(reader, Reader::Archive(_));
        let is_own = site.only_file.as_deref().is_none_or(|only| only == path);
        let is_hidden = path.split('/').any(|part| part.starts_with('.'));
        (is_own && !is_hidden && (is_archive || self.includes(path))).then_some(reader)
    }

    /// Whether the patterns take a document of this path.
    pub(crate) fn includes(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|globs| globs.is_match(path))
            && !self.exclude.as_ref().is_some_and(|globs| globs.is_match(path))
            && !path.split('/').any(|part| part.starts_with('.'))
    }

    /// The document that a file on disk is, or was, by its path in the collection.
    pub(crate) fn locate(&self, file: &Path) -> Option<String> {
        let site = self.site().ok()?;
        let path = site.roots.locate(file)?.below(&site.top)?.to_owned();
        self.reader(&site, &path).map(|_| path)
    }

    /// Whether something on disk belongs to it, whatever it is.
    pub(crate) fn contains(&self, file: &Path) -> bool {
        let Ok(site) = self.site() else { return true };
        let top = site.roots.absolute(&site.top);
        file.starts_with(&top) || top.starts_with(file)
    }

    /// The file of a document by its path in the collection: its own, or the archive that it is in. What lies behind a
    /// symbolic link is none.
    pub(crate) fn find(&self, path: &str) -> Option<(CollectionFolder, CollectionFile)> {
        let site = self.site().ok()?;
        let archive = folders(path)
            .filter(|folder| Archive::from_path(folder).is_some())
            .find_map(|folder| self.file(&site, folder));
        let item = match archive {
            Some(item) if item.path != path => {
                // Whether it is in there is told by whoever opens it.
                (self.takes(path) && ProseFormat::may_be(path))
                    .then(|| CollectionFile { path: path.to_owned(), ..item })?
            }
            _ => {
                self.file(&site, path).filter(|item| !matches!(item.reader, Reader::Archive(_)))?
            }
        };
        Some((site, item))
    }

    fn file(&self, site: &CollectionFolder, path: &str) -> Option<CollectionFile> {
        let reader = self.reader(site, path)?;
        let place = site.top.join(path).filter(|place| place.below(&site.top) == Some(path))?;
        let full = site.roots.absolute(&place);
        let canonical = site.roots.resolve(full.to_str()?).ok()?;
        let is_file = matches!(site.roots.kind(&place), Ok(Kind::File));
        if canonical != place || !is_file {
            return None;
        }
        Some(CollectionFile { path: path.to_owned(), place, reader, stamp: (0, None) })
    }
}

/// The folders above a path, outermost first.
pub(crate) fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

impl CollectionFolder {
    /// The whole of a file.
    pub(crate) fn read(&self, item: &CollectionFile) -> Result<Vec<u8>, ReadProblem> {
        self.roots.read(&item.place, item.reader.largest())
    }

    /// The path of a document within its archive.
    pub(crate) fn path_in<'a>(&self, item: &'a CollectionFile) -> Option<&'a str> {
        item.path.strip_prefix(item.place.below(&self.top)?)?.strip_prefix('/')
    }

    /// Size and time of the last change, as they are now.
    pub(crate) fn stamp(&self, place: &RootPath) -> Option<FileStamp> {
        self.roots.stamp(place)
    }

    /// Where the file of a document is, or was: its own, or the archive that it is in.
    pub(crate) fn place_of(&self, path: &str) -> Option<RootPath> {
        let is_file = |place: &RootPath| matches!(self.roots.kind(place), Ok(Kind::File));
        let mut archives = folders(path).filter(|folder| Archive::from_path(folder).is_some());
        let place = |folder: &str| self.top.join(folder).filter(is_file);
        archives.find_map(place).or_else(|| self.top.join(path))
    }

    /// Where a file is on disk.
    pub(crate) fn absolute(&self, place: &RootPath) -> PathBuf {
        self.roots.absolute(place)
    }
}

fn site(roots: ServedRoots, place: RootPath, kind: PathKind) -> Option<CollectionFolder> {
    match kind {
        PathKind::Folder => Some(CollectionFolder { roots, top: place, only_file: None }),
        PathKind::File => {
            let only = Some(place.name().to_owned());
            Some(CollectionFolder { roots, top: place.parent()?, only_file: only })
        }
        _ => None,
    }
}

fn globs(patterns: &[String]) -> Result<Option<GlobSet>, globset::Error> {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(Glob::new(pattern)?);
    }
    Ok(if patterns.is_empty() { None } else { Some(builder.build()?) })
}
