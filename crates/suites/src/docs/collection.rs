//! Document collections: their settings and their files.

use crate::files::{
    PathKind, ReadFailure, ReadProblem, RootPath, ServedRoots, WalkEntry, WalkOptions, not_a_file,
};
use docent_prose::{Archive, ProseFormat};
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Walk options: a collection's folder is read even if the project ignores it.
const EVERYTHING: WalkOptions = WalkOptions { hidden: false, ignored: true, flat: false };

/// Maximum size of a file whose format is guessed; larger ones are data.
const MAX_GUESSED_FILE_BYTES: u64 = 16 << 20;
/// Maximum size of an archive; larger ones should be unpacked into a folder.
const MAX_ARCHIVE_BYTES: u64 = 512 << 20;

/// Settings of a document collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionSettings {
    /// Name: a value of `doc_type`, and the first part of its document ids.
    pub name: String,
    /// Display title, such as `PostgreSQL Documentation`.
    pub title: Option<String>,
    /// Topic, if several collections share one.
    pub kind: Option<String>,
    /// Version that the documents describe.
    pub version: Option<String>,
    /// Description for people and models.
    pub description: String,
    /// Location of its files.
    pub origin: CollectionOrigin,
    /// Base URL of the same documents on the web.
    pub url: Option<String>,
    /// URLs of single documents by path, where they do not follow from the base URL.
    pub addresses: BTreeMap<String, String>,
    /// Patterns of files to include; empty includes all.
    pub include: Vec<String>,
    /// Patterns of files to exclude.
    pub exclude: Vec<String>,
}

/// Location of the files of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionOrigin {
    /// A folder or file in the roots: relative to the first root, or absolute inside one.
    Roots(String),
    /// A folder or file anywhere, set by the user and not by a project.
    Anywhere(PathBuf),
}

impl CollectionSettings {
    /// Creates a collection in a folder of the roots.
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

    /// Its topic as a value of `doc_type`; defaults to its name.
    pub fn doc_type(&self) -> &str {
        self.kind.as_deref().unwrap_or(&self.name)
    }

    /// Its key in the index.
    pub fn key(&self) -> String {
        format!("{COLLECTION_KEY_PREFIX}{}", self.name)
    }

    /// Why a name is invalid; `None` if it is valid.
    pub fn name_problem(name: &str) -> Option<&'static str> {
        match name {
            "" => Some("a collection needs a name"),
            "all" => Some("`all` means every collection; choose another name"),
            _ if name.contains(['/', '\\', '#', '?']) || name.chars().any(char::is_control) => {
                Some("a name must not contain / \\ # ?: it is the first part of ids and URIs")
            }
            _ => None,
        }
    }
}

/// Places in the roots whose documents belong to collections.
pub fn collection_places(roots: &ServedRoots, collections: &[CollectionSettings]) -> Vec<RootPath> {
    let place = |one: &CollectionSettings| match &one.origin {
        CollectionOrigin::Roots(path) => roots.resolve(path).ok(),
        CollectionOrigin::Anywhere(_) => None,
    };
    collections.iter().filter_map(place).collect()
}

/// Prefix of collection keys in the index.
pub(crate) const COLLECTION_KEY_PREFIX: &str = "docs:";

/// A collection with its compiled file patterns.
#[derive(Debug, Clone)]
pub(crate) struct DocumentCollection {
    pub(crate) collection: CollectionSettings,
    pub(crate) key: String,
    roots: ServedRoots,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    /// Why the collection is unusable.
    problem: Option<ReadFailure>,
}

/// The current location of a collection's files.
#[derive(Debug, Clone)]
pub(crate) struct CollectionFolder {
    roots: ServedRoots,
    top: RootPath,
    /// The only file, if the collection is a single file.
    only_file: Option<String>,
}

/// A file of a collection.
#[derive(Debug, Clone)]
pub(crate) struct CollectionFile {
    /// Path in the collection.
    pub(crate) path: String,
    pub(crate) place: RootPath,
    pub(crate) reader: DocumentReader,
    /// Shows whether the file has changed.
    pub(crate) stamp: FileStamp,
}

/// Size and time of the last change.
pub(crate) type FileStamp = (u64, Option<std::time::SystemTime>);

/// How to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentReader {
    /// As this format, unless its first bytes show another one.
    Format(ProseFormat),
    /// As the format guessed from its first bytes; not read if that fails.
    Guess,
    /// As an archive of files.
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

    /// The format of a file with these first bytes.
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

/// Result of scanning a collection.
#[derive(Debug, Default)]
pub(crate) struct CollectionScan {
    pub(crate) items: Vec<CollectionFile>,
    /// Folders to watch.
    pub(crate) folders: Vec<PathBuf>,
    /// Number of files with an unsupported format or excluded by patterns.
    pub(crate) skipped: usize,
    pub(crate) problems: Vec<ReadFailure>,
}

impl DocumentCollection {
    /// Compiles the patterns of a collection. Errors are reported when it is scanned.
    pub(crate) fn new(collection: CollectionSettings, roots: &ServedRoots) -> Self {
        let mut problem = None;
        let mut patterns = |patterns: &[String]| match globs(patterns) {
            Ok(set) => set,
            Err(error) => {
                let reason = format!("the collection has an invalid pattern: {error}");
                problem = Some(ReadFailure { path: collection.name.clone(), reason });
                None
            }
        };
        let (include, exclude) = (patterns(&collection.include), patterns(&collection.exclude));
        let key = collection.key();
        Self { collection, key, roots: roots.clone(), include, exclude, problem }
    }

    /// Locates its files; a problem if they are missing.
    #[expect(clippy::disallowed_methods, reason = "roots are opened from the result")]
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
                let problem =
                    |reason: String| ReadFailure { path: path.display().to_string(), reason };
                let found = path.metadata().map(|found| PathKind::of_open(&found));
                if let Ok(found @ PathKind::Special(_)) = found {
                    return Err(problem(not_a_file(found)));
                }
                let is_file = matches!(found, Ok(PathKind::File));
                let folder = if is_file { path.parent().unwrap_or(path) } else { path };
                let roots = self
                    .roots
                    .with_same_rules(&[folder.to_owned()])
                    .map_err(|error| problem(error.to_string()))?;
                let top = roots.top();
                let name = path.file_name().filter(|_| is_file);
                let only = name.map(|name| name.to_string_lossy().into_owned());
                Ok(CollectionFolder { roots, top, only_file: only })
            }
        }
    }

    /// Lists the current files.
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
        let options = WalkOptions { flat: site.only_file.is_some(), ..EVERYTHING };
        for entry in site.roots.walk_all(&site.top, options, stopped) {
            match entry {
                Ok(entry) => self.add(&site, entry, &mut found),
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
                        found.items.push(CollectionFile {
                            path,
                            place: entry.place,
                            reader,
                            stamp,
                        });
                    }
                    None => found.skipped += 1,
                }
            }
            _ => {}
        }
    }

    /// How to read a file with this name; `None` if it is not part of the collection.
    fn reader(&self, site: &CollectionFolder, path: &str) -> Option<DocumentReader> {
        let reader = DocumentReader::of(path)?;
        // Patterns apply to the contents of an archive, not to the archive.
        let is_archive = matches!(reader, DocumentReader::Archive(_));
        let is_own = site.only_file.as_deref().is_none_or(|only| only == path);
        let is_hidden = path.split('/').any(|part| part.starts_with('.'));
        (is_own && !is_hidden && (is_archive || self.includes(path))).then_some(reader)
    }

    /// Whether the patterns include a document with this path.
    pub(crate) fn includes(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|globs| globs.is_match(path))
            && !self.exclude.as_ref().is_some_and(|globs| globs.is_match(path))
            && !path.split('/').any(|part| part.starts_with('.'))
    }

    /// The path in the collection of a file on disk, whether or not it still exists.
    pub(crate) fn locate(&self, file: &Path) -> Option<String> {
        let site = self.site().ok()?;
        let path = site.roots.locate(file)?.below(&site.top)?.to_owned();
        self.reader(&site, &path).map(|_| path)
    }

    /// Whether a path on disk is in the collection.
    pub(crate) fn contains(&self, file: &Path) -> bool {
        let Ok(site) = self.site() else { return true };
        let top = site.roots.absolute(&site.top);
        file.starts_with(&top) || top.starts_with(file)
    }

    /// Finds the file of a document by its path in the collection: its own, or the archive that contains it. Ignores
    /// symbolic links.
    pub(crate) fn find(&self, path: &str) -> Option<(CollectionFolder, CollectionFile)> {
        let site = self.site().ok()?;
        let archive = folders(path)
            .filter(|folder| Archive::from_path(folder).is_some())
            .find_map(|folder| self.file(&site, folder));
        let item = match archive {
            Some(item) if item.path != path => {
                // Whether the archive contains it is known only after opening it.
                (self.includes(path) && ProseFormat::may_be(path))
                    .then(|| CollectionFile { path: path.to_owned(), ..item })?
            }
            _ => self
                .file(&site, path)
                .filter(|item| !matches!(item.reader, DocumentReader::Archive(_)))?,
        };
        Some((site, item))
    }

    fn file(&self, site: &CollectionFolder, path: &str) -> Option<CollectionFile> {
        let reader = self.reader(site, path)?;
        let place = site.top.join(path).filter(|place| place.below(&site.top) == Some(path))?;
        let full = site.roots.absolute(&place);
        let canonical = site.roots.resolve(full.to_str()?).ok()?;
        let is_file = matches!(site.roots.kind(&place), Ok(PathKind::File));
        if canonical != place || !is_file {
            return None;
        }
        Some(CollectionFile { path: path.to_owned(), place, reader, stamp: (0, None) })
    }
}

/// Folders above a path, outermost first.
pub(crate) fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

impl CollectionFolder {
    /// Reads the whole file.
    pub(crate) fn read(&self, item: &CollectionFile) -> Result<Vec<u8>, ReadProblem> {
        self.roots.read(&item.place, item.reader.largest())
    }

    /// The path of a document within its archive.
    pub(crate) fn path_in<'a>(&self, item: &'a CollectionFile) -> Option<&'a str> {
        item.path.strip_prefix(item.place.below(&self.top)?)?.strip_prefix('/')
    }

    /// Current size and modification time.
    pub(crate) fn stamp(&self, place: &RootPath) -> Option<FileStamp> {
        self.roots.stamp(place)
    }

    /// Place of the file of a document, or of the archive that contains it, whether or not it exists.
    pub(crate) fn place_of(&self, path: &str) -> Option<RootPath> {
        let is_file = |place: &RootPath| matches!(self.roots.kind(place), Ok(PathKind::File));
        let mut archives = folders(path).filter(|folder| Archive::from_path(folder).is_some());
        let place = |folder: &str| self.top.join(folder).filter(is_file);
        archives.find_map(place).or_else(|| self.top.join(path))
    }

    /// Path of a file on disk.
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
