//! The files of the analysed folder, as the walk saw them: looked up by path, read through the guard alone.

use crate::files::{RootPath, ReadFailure, ServedRoots};
use std::collections::{HashMap, HashSet};
use tokei::LanguageType;

/// Larger text files are listed among the problems.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// The same for files that are read to understand what they say: people don't write longer ones.
const MAX_TEXT_BYTES: u64 = 2 << 20;

/// Asked in every loop that may run long: whether to stop with what there is.
pub(super) type HaltCheck<'a> = &'a (dyn Fn() -> bool + Sync);

/// One file.
#[derive(Debug)]
pub(super) struct ProjectFile {
    /// Inside the analysed folder, with `/`.
    pub(super) path: Box<str>,
    /// Its size when it was seen.
    pub(super) bytes: u64,
    /// By its name, or by its first line.
    pub(super) language: Option<LanguageType>,
}

impl ProjectFile {
    /// The last part of its path.
    pub(super) fn name(&self) -> &str {
        name_of(&self.path)
    }

    /// The folder it lies in; empty at the top.
    pub(super) fn folder(&self) -> &str {
        folder_of(&self.path)
    }
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The folder that a path lies in; empty at the top.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The path that a relative one leads to from a folder, `.` and `..` included; `None` where that is outside.
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

/// The files and folders of the project: not what it ignores, not installed packages, no secrets.
#[derive(Debug)]
pub(super) struct ProjectTree {
    pub(super) roots: ServedRoots,
    /// The analysed folder.
    pub(super) top: RootPath,
    files: Vec<ProjectFile>,
    index: HashMap<Box<str>, usize>,
    folders: HashSet<Box<str>>,
}

impl ProjectTree {
    /// Of an analysed folder of which nothing has been seen.
    pub(super) fn new(roots: ServedRoots, top: RootPath) -> Self {
        let (files, index, folders) = (Vec::new(), HashMap::new(), HashSet::new());
        Self { roots, top, files, index, folders }
    }

    /// Takes in a file that the walk saw.
    pub(super) fn add_file(&mut self, path: &str, bytes: u64, language: Option<LanguageType>) {
        self.index.insert(path.into(), self.files.len());
        self.files.push(ProjectFile { path: path.into(), bytes, language });
    }

    /// Takes in a folder that the walk saw.
    pub(super) fn add_folder(&mut self, path: &str) {
        self.folders.insert(path.into());
    }

    /// Every file, in the order of the walk: by path.
    pub(super) fn files(&self) -> &[ProjectFile] {
        &self.files
    }

    /// The file with this path.
    pub(super) fn file(&self, path: &str) -> Option<&ProjectFile> {
        self.index.get(path).and_then(|at| self.files.get(*at))
    }

    /// Whether there is such a folder; the empty path is the analysed folder itself.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        path.is_empty() || self.folders.contains(path)
    }

    /// Every folder, in no order.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(AsRef::as_ref)
    }

    /// Whether something is on disk at this path that the walk may have left out: ignored, hidden, installed.
    pub(super) fn is_on_disk(&self, path: &str) -> bool {
        self.top.join(path).is_some_and(|place| self.roots.kind(&place).is_ok())
    }

    /// The whole of a file.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, ReadFailure> {
        self.read_within(path, MAX_FILE_BYTES)
    }

    /// The whole of a file of at most so many bytes.
    pub(super) fn read_within(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadFailure> {
        self.roots.read(&self.place(path)?, limit).map_err(|problem| ReadFailure::from(&problem))
    }

    /// The whole of a file as text; bytes that are not UTF-8 become replacement characters.
    pub(super) fn text(&self, path: &str) -> Result<String, ReadFailure> {
        let bytes = self.read_within(path, MAX_TEXT_BYTES)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The start of a file.
    pub(super) fn head(&self, path: &str, bytes: u64) -> Result<Vec<u8>, ReadFailure> {
        let read = self.roots.read_start(&self.place(path)?, bytes);
        read.map(|(bytes, _)| bytes).map_err(|problem| ReadFailure::from(&problem))
    }

    /// As problems name it: inside the root, not inside the analysed folder.
    pub(super) fn shown(&self, path: &str) -> String {
        self.top.join(path).map_or_else(|| path.to_owned(), |place| place.to_string())
    }

    fn place(&self, path: &str) -> Result<RootPath, ReadFailure> {
        let outside = || ReadFailure { path: path.to_owned(), reason: "leads out of its root".into() };
        self.top.join(path).ok_or_else(outside)
    }
}

#[cfg(test)]
impl ProjectTree {
    /// Everything under a folder, for tests of one module.
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
