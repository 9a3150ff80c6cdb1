//! The files of the analyzed folder from the walk: looked up by path, read only through the file access guard.

use crate::files::{ReadFailure, RootPath, ServedRoots};
use std::collections::{HashMap, HashSet};
use tokei::LanguageType;

/// Maximum file size; larger text files are listed as problems.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Maximum size of files that are interpreted: people do not write longer ones.
const MAX_TEXT_BYTES: u64 = 2 << 20;

/// Callback in long loops: returns whether to stop with partial results.
pub(super) type HaltCheck<'a> = &'a (dyn Fn() -> bool + Sync);

/// One file.
#[derive(Debug)]
pub(super) struct ProjectFile {
    /// Path relative to the analyzed folder, with `/`.
    pub(super) path: Box<str>,
    /// Size during the walk.
    pub(super) bytes: u64,
    /// Language by name or first line.
    pub(super) language: Option<LanguageType>,
}

impl ProjectFile {
    /// The last part of its path.
    pub(super) fn name(&self) -> &str {
        name_of(&self.path)
    }

    /// Returns the parent folder; empty at the root.
    pub(super) fn folder(&self) -> &str {
        folder_of(&self.path)
    }
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns the parent folder of a path; empty at the root.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Resolves a relative path from a folder, including `.` and `..`; `None` if it is outside.
pub(super) fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The files and folders of the project, without ignored files, installed packages and secrets.
#[derive(Debug)]
pub(super) struct ProjectTree {
    pub(super) roots: ServedRoots,
    /// The analyzed folder.
    pub(super) top: RootPath,
    files: Vec<ProjectFile>,
    index: HashMap<Box<str>, usize>,
    folders: HashSet<Box<str>>,
}

impl ProjectTree {
    /// Creates an empty tree for an analyzed folder.
    pub(super) fn new(roots: ServedRoots, top: RootPath) -> Self {
        let (files, index, folders) = (Vec::new(), HashMap::new(), HashSet::new());
        Self { roots, top, files, index, folders }
    }

    /// Adds a file from the walk.
    pub(super) fn add_file(&mut self, path: &str, bytes: u64, language: Option<LanguageType>) {
        self.index.insert(path.into(), self.files.len());
        self.files.push(ProjectFile { path: path.into(), bytes, language });
    }

    /// Adds a folder from the walk.
    pub(super) fn add_folder(&mut self, path: &str) {
        self.folders.insert(path.into());
    }

    /// Returns all files in walk order: by path.
    pub(super) fn files(&self) -> &[ProjectFile] {
        &self.files
    }

    /// Returns the file with this path.
    pub(super) fn file(&self, path: &str) -> Option<&ProjectFile> {
        self.index.get(path).and_then(|at| self.files.get(*at))
    }

    /// Whether a folder exists; the empty path is the analyzed folder itself.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        path.is_empty() || self.folders.contains(path)
    }

    /// Returns all folders, unordered.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(AsRef::as_ref)
    }

    /// Whether a path exists on disk that the walk may have skipped: ignored, hidden, installed.
    pub(super) fn is_on_disk(&self, path: &str) -> bool {
        self.top.join(path).is_some_and(|place| self.roots.kind(&place).is_ok())
    }

    /// Reads a whole file.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, ReadFailure> {
        self.read_within(path, MAX_FILE_BYTES)
    }

    /// Reads a whole file of at most this many bytes.
    pub(super) fn read_within(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadFailure> {
        self.roots.read(&self.place(path)?, limit).map_err(|problem| ReadFailure::from(&problem))
    }

    /// Reads a whole file as text; invalid UTF-8 becomes replacement characters.
    pub(super) fn text(&self, path: &str) -> Result<String, ReadFailure> {
        let bytes = self.read_within(path, MAX_TEXT_BYTES)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Reads the start of a file.
    pub(super) fn head(&self, path: &str, bytes: u64) -> Result<Vec<u8>, ReadFailure> {
        let read = self.roots.read_start(&self.place(path)?, bytes);
        read.map(|(bytes, _)| bytes).map_err(|problem| ReadFailure::from(&problem))
    }

    /// Returns the path for problem messages: relative to the root, not to the analyzed folder.
    pub(super) fn shown(&self, path: &str) -> String {
        self.top.join(path).map_or_else(|| path.to_owned(), |place| place.to_string())
    }

    fn place(&self, path: &str) -> Result<RootPath, ReadFailure> {
        let outside =
            || ReadFailure { path: path.to_owned(), reason: "is outside its root".into() };
        self.top.join(path).ok_or_else(outside)
    }
}

#[cfg(test)]
impl ProjectTree {
    /// Builds a tree of everything in a folder, for unit tests.
    pub(super) fn of(root: &std::path::Path) -> Self {
        use crate::files::{PathKind, WalkOptions};
        let roots = ServedRoots::open(&[root.to_owned()]).unwrap();
        let top = roots.top();
        let mut tree = Self::new(roots.clone(), top.clone());
        for entry in
            roots.walk_with(&top, WalkOptions { hidden: true, ..WalkOptions::default() }).flatten()
        {
            match entry.kind {
                PathKind::Folder => tree.add_folder(entry.place.relative()),
                PathKind::File => {
                    let path = entry.place.relative();
                    let language = super::languages::by_name(name_of(path));
                    tree.add_file(path, entry.bytes, language);
                }
                _ => {}
            }
        }
        tree
    }
}
