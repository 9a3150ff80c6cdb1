//! Finds the files to index and compares them with the store.

use super::{
    CODE, DOCS,
    batches::Written,
    exclusions::{self, ExcludedFiles, ExclusionReason},
};
use crate::{
    code::{self, try_code_units},
    docs::prose_units,
    files::{PathKind, ReadFailure, RootPath, ServedRoots, WalkEntry, WalkOptions},
};
use docent_index::{Digest, Genre, IndexStore, IndexStoreError, IndexedSource, StoreChange};
use docent_prose::{ProseFormat, Unreadable};
use docent_syntax::Language;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Increment when the same text yields different units, so that every file is reindexed.
const UNITS_VERSION: &[u8] = b"2";

/// How to convert a file into units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitReader {
    Code(Language),
    Prose(ProseFormat),
}

impl UnitReader {
    /// Prose takes precedence for documents that also have an outline.
    fn of(path: &str) -> Option<Self> {
        let code =
            || Language::from_path(path).filter(|one| one.settings().searched).map(Self::Code);
        ProseFormat::from_path(path).map(Self::Prose).or_else(code)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Code(language) => language.name(),
            Self::Prose(format) => format.name(),
        }
    }

    fn collection(self) -> &'static str {
        match self {
            Self::Code(_) => CODE,
            Self::Prose(_) => DOCS,
        }
    }

    fn largest(self) -> u64 {
        match self {
            Self::Code(_) => code::MAX_FILE_BYTES,
            Self::Prose(format) => format.largest(),
        }
    }
}

/// A file to index.
#[derive(Debug)]
pub(super) struct SurveyedFile {
    place: RootPath,
    /// Path as shown in answers.
    path: String,
    reader: UnitReader,
    /// Whether the file was requested by name, so that no rule excludes it.
    wanted: bool,
}

/// Result of comparing a file with the store.
pub(super) enum FileCheck {
    /// Unchanged in the store.
    Same,
    /// Missing from the store, or different.
    Changed { bytes: Vec<u8>, digest: Digest },
    /// Excluded from the index.
    LeftOut(ExclusionReason),
}

/// Result of reading a file.
pub(super) enum FileRead {
    Same,
    Changed(IndexedSource),
    LeftOut(ExclusionReason),
}

impl SurveyedFile {
    /// Reads the file and compares it with the store.
    pub(super) fn check(
        &self,
        roots: &ServedRoots,
        known: &KnownDigests,
    ) -> Result<FileCheck, ReadFailure> {
        let problem = |reason: String| ReadFailure { path: self.path.clone(), reason };
        let read = roots.read(&self.place, self.reader.largest());
        let bytes = read.map_err(|found| problem(ReadFailure::from(&found).reason))?;
        let digest = self.digest(&bytes);
        if known.digest(self) == Some(digest) {
            return Ok(FileCheck::Same);
        }
        let is_code = matches!(self.reader, UnitReader::Code(_));
        let is_text = match self.reader {
            UnitReader::Code(_) => true,
            UnitReader::Prose(format) => {
                format.is_text()
                    && !bytes.starts_with(b"\xff\xfe")
                    && !bytes.starts_with(b"\xfe\xff")
            }
        };
        if is_text && memchr::memchr(0, &bytes).is_some() {
            return Err(problem("not text: it contains NUL bytes".into()));
        }
        match exclusions::by_text(&bytes).filter(|_| is_code && !self.wanted) {
            Some(reason) => Ok(FileCheck::LeftOut(reason)),
            None => Ok(FileCheck::Changed { bytes, digest }),
        }
    }

    fn digest(&self, bytes: &[u8]) -> Digest {
        Digest::of(&[bytes, self.reader.name().as_bytes(), UNITS_VERSION])
    }

    /// Converts the file into a source for the store.
    pub(super) fn read(
        &self,
        roots: &ServedRoots,
        known: &KnownDigests,
    ) -> Result<FileRead, ReadFailure> {
        let (bytes, digest) = match self.check(roots, known)? {
            FileCheck::Same => return Ok(FileRead::Same),
            FileCheck::LeftOut(reason) => return Ok(FileRead::LeftOut(reason)),
            FileCheck::Changed { bytes, digest } => (bytes, digest),
        };
        let (genre, units) = match self.reader {
            UnitReader::Code(language) => {
                let text = String::from_utf8_lossy(&bytes);
                let detected = Language::of_text(&self.path, &text).filter(|_| !self.wanted);
                let language = detected.unwrap_or(language);
                let units = try_code_units(language, &self.path, &text).map_err(|error| {
                    ReadFailure { path: self.path.clone(), reason: error.to_string() }
                })?;
                (Genre::Code, units)
            }
            UnitReader::Prose(_) => match prose_units(&self.path, &bytes) {
                // An empty file has no units, and is not a problem.
                Some(Err(error)) if error != Unreadable::Empty => {
                    return Err(ReadFailure { path: self.path.clone(), reason: error.to_string() });
                }
                units => (Genre::Prose, units.and_then(Result::ok).unwrap_or_default()),
            },
        };
        let (collection, path) = (self.reader.collection().to_owned(), self.path.clone());
        Ok(FileRead::Changed(IndexedSource { collection, path, genre, digest, units }))
    }

    /// Removes the file from the store.
    pub(super) fn removal(&self) -> StoreChange {
        removal(self.reader.collection(), &self.path)
    }
}

/// The current digest of a file, to compare with the store; `None` if it can't be read.
pub(crate) fn digest_now(
    roots: &ServedRoots,
    path: &str,
    language: Option<Language>,
) -> Option<Digest> {
    let place = roots.parse(path).ok()?;
    let reader = language.map(UnitReader::Code).or_else(|| UnitReader::of(path))?;
    let bytes = roots.read(&place, reader.largest()).ok()?;
    let file = SurveyedFile { place, path: path.to_owned(), reader, wanted: true };
    Some(file.digest(&bytes))
}

/// Paths of the source files that belong in the index. Reads no file.
pub(super) fn code_files(
    roots: &ServedRoots,
    wanted: &Wanted,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Vec<String> {
    let files = FileSurvey::survey_all(roots, wanted, stopped).files.into_iter();
    files.filter(|file| matches!(file.reader, UnitReader::Code(_))).map(|file| file.path).collect()
}

fn removal(collection: &str, path: &str) -> StoreChange {
    StoreChange::Remove { collection: collection.to_owned(), path: path.to_owned() }
}

/// Digests in the store, by collection and path.
#[derive(Debug, Default)]
pub(super) struct KnownDigests(BTreeMap<&'static str, BTreeMap<String, Digest>>);

impl KnownDigests {
    pub(super) fn load(store: &dyn IndexStore) -> Result<Self, IndexStoreError> {
        let of = |collection| Ok((collection, store.digests(collection)?));
        [CODE, DOCS].into_iter().map(of).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn digest(&self, file: &SurveyedFile) -> Option<Digest> {
        self.0.get(file.reader.collection())?.get(&file.path).copied()
    }

    /// Removes everything that is not among these files.
    pub(super) fn removals(&self, files: &[SurveyedFile]) -> Vec<StoreChange> {
        let named = |file: &SurveyedFile| (file.reader.collection(), file.path.clone());
        let there: HashSet<(&str, String)> = files.iter().map(named).collect();
        let all = self.0.iter().flat_map(|(collection, known)| {
            known.keys().map(move |path| (*collection, path.clone()))
        });
        let gone = all.filter(|one| !there.contains(one));
        gone.map(|(collection, path)| removal(collection, &path)).collect()
    }

    /// Removes what the store has at or under these places and is not among these files.
    pub(super) fn removals_under(
        &self,
        roots: &ServedRoots,
        places: &BTreeSet<RootPath>,
        files: &[SurveyedFile],
    ) -> Vec<StoreChange> {
        let named = |file: &SurveyedFile| (file.reader.collection(), file.path.clone());
        let there: HashSet<(&str, String)> = files.iter().map(named).collect();
        let known: BTreeSet<(&str, String)> =
            places.iter().flat_map(|place| self.under(&roots.name(place))).collect();
        let gone = known.into_iter().filter(|one| !there.contains(one));
        gone.map(|(collection, path)| removal(collection, &path)).collect()
    }

    /// The file with this path, or the files under the folder with this path.
    fn under(&self, path: &str) -> Vec<(&'static str, String)> {
        let folder = format!("{path}/");
        let mut all = Vec::new();
        for (collection, known) in &self.0 {
            let inside = known.range(folder.clone()..).map(|(path, _)| path);
            let inside = inside.take_while(|path| path.starts_with(&folder));
            let itself = known.get_key_value(path).map(|(path, _)| path);
            all.extend(itself.into_iter().chain(inside).map(|path| (*collection, path.clone())));
        }
        all
    }

    /// Records what was written.
    pub(super) fn apply(&mut self, written: Vec<Written>) {
        for (collection, path, digest) in written {
            let Some(known) = self.0.get_mut(collection.as_str()) else { continue };
            match digest {
                Some(digest) => drop(known.insert(path, digest)),
                None => drop(known.remove(&path)),
            }
        }
    }
}

/// Result of walking the roots.
#[derive(Debug, Default)]
pub(super) struct FileSurvey {
    /// Files to index, by root, in order.
    pub(super) files: Vec<SurveyedFile>,
    /// Folders that contain them.
    pub(super) folders: Vec<RootPath>,
    /// Files excluded by name.
    pub(super) left_out: ExcludedFiles,
    /// Unreadable entries.
    pub(super) problems: Vec<ReadFailure>,
    /// Whether the walk was stopped early.
    pub(super) stopped: bool,
}

/// Files requested by name that would otherwise be excluded, with their languages.
pub(crate) type Wanted = BTreeMap<RootPath, Language>;

impl FileSurvey {
    /// Every file of every root, once, even if roots are nested.
    pub(super) fn survey_all(
        roots: &ServedRoots,
        wanted: &Wanted,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Self {
        let mut survey = Self::default();
        let tops: BTreeSet<RootPath> =
            roots.paths().filter_map(|path| roots.locate(path)).collect();
        for top in &tops {
            survey.folders.push(top.clone());
            survey.walk(roots, top, wanted, stopped);
        }
        survey.add_requested(roots, wanted);
        survey
    }

    /// Adds the files under a folder.
    pub(super) fn walk(
        &mut self,
        roots: &ServedRoots,
        top: &RootPath,
        wanted: &Wanted,
        stopped: &(dyn Fn() -> bool + Sync),
    ) {
        let found = roots.walk_all(top, WalkOptions::default(), stopped);
        if stopped() {
            self.stopped = true;
            return;
        }
        for found in found {
            match found {
                Ok(entry) => self.add_entry(roots, entry, wanted),
                Err(problem) => self.note(roots, top, problem),
            }
        }
    }

    /// Adds a problem, with its path relative to the root.
    fn note(&mut self, roots: &ServedRoots, top: &RootPath, problem: ReadFailure) {
        let place = RootPath::top(top.root()).join(&problem.path);
        let path = place.map_or(problem.path, |place| roots.name(&place));
        self.problems.push(ReadFailure { path, reason: problem.reason });
    }

    /// Adds those of these places in one folder that are not ignored, and the contents of new folders.
    pub(super) fn add_changed(
        &mut self,
        roots: &ServedRoots,
        folder: &RootPath,
        places: &BTreeSet<RootPath>,
        wanted: &Wanted,
    ) {
        let flat = WalkOptions { flat: true, ..WalkOptions::default() };
        let is_asked = |path: &str| places.iter().any(|place| place.relative() == path);
        for entry in roots.walk_with(folder, flat) {
            let entry = match entry {
                Ok(entry) if places.contains(&entry.place) => entry,
                Err(problem) if is_asked(&problem.path) => {
                    self.note(roots, folder, problem);
                    continue;
                }
                _ => continue,
            };
            let is_folder = entry.kind == PathKind::Folder;
            let place = entry.place.clone();
            self.add_entry(roots, entry, wanted);
            if is_folder {
                self.walk(roots, &place, wanted, &|| false);
            }
        }
    }

    /// Adds the files requested by name.
    pub(super) fn add_requested(&mut self, roots: &ServedRoots, wanted: &Wanted) {
        for (place, language) in wanted {
            let file = roots.kind(place).is_ok_and(|kind| kind == PathKind::File);
            if file {
                let path = roots.name(place);
                let reader = UnitReader::Code(*language);
                self.files.push(SurveyedFile { place: place.clone(), path, reader, wanted: true });
            }
        }
    }

    fn add_entry(&mut self, roots: &ServedRoots, entry: WalkEntry, wanted: &Wanted) {
        // A file belongs to the innermost root.
        let nested = roots.paths().count() > 1;
        if nested && roots.locate(&roots.absolute(&entry.place)).as_ref() != Some(&entry.place) {
            return;
        }
        if entry.kind == PathKind::Folder {
            self.folders.push(entry.place);
            return;
        }
        let reader = UnitReader::of(entry.place.name());
        let Some(reader) = reader.filter(|_| entry.kind == PathKind::File) else { return };
        let is_shelved =
            matches!(reader, UnitReader::Prose(_)) && roots.belongs_to_collection(&entry.place);
        if is_shelved || wanted.contains_key(&entry.place) {
            return;
        }
        let relative = entry.place.relative();
        if let Some(reason) = exclusions::by_name(relative, entry.bytes, reader.largest()) {
            self.left_out.count(reason);
            return;
        }
        let path = roots.name(&entry.place);
        self.files.push(SurveyedFile { place: entry.place, path, reader, wanted: false });
    }
}
