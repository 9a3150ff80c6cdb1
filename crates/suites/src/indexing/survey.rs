//! What there is to index: the files that can be read as units, and what the store knows of them.

use super::{CODE, DOCS};
use crate::{
    code::{self, Language, code_units},
    docs::{self, Format, prose_units},
    files::{Kind, Place, Problem, Roots},
};
use docent_index::{Change, Digest, Genre, Source, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Goes up whenever the same text gives other units than before, so that every file is read anew.
const UNITS_VERSION: &[u8] = b"1";

/// How a file becomes units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Code(Language),
    Prose(Format),
}

impl Reader {
    fn of(path: &str) -> Option<Self> {
        let prose = || Format::of(path).map(Self::Prose);
        Language::of(path).map(Self::Code).or_else(prose)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Code(language) => language.name(),
            Self::Prose(Format::Html) => "HTML",
            Self::Prose(Format::Markdown) => "Markdown",
            Self::Prose(Format::Plain) => "text",
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
            Self::Code(_) => code::LARGEST_FILE,
            Self::Prose(_) => docs::LARGEST_FILE,
        }
    }
}

/// A file that belongs into the index.
#[derive(Debug)]
pub(super) struct File {
    place: Place,
    /// As answers name it.
    path: String,
    reader: Reader,
}

/// What a look at a file tells.
pub(super) enum Seen {
    /// The store has it as it is.
    Same,
    /// The store has nothing of it, or something else.
    Changed { bytes: Vec<u8>, digest: Digest },
}

impl File {
    /// Reads the file, and holds it against what the store knows.
    pub(super) fn look(&self, roots: &Roots, known: &Known) -> Result<Seen, Problem> {
        let problem = |reason: String| Problem { path: self.path.clone(), reason };
        let read = roots.read(&self.place, self.reader.largest());
        let bytes = read.map_err(|found| problem(Problem::from(&found).reason))?;
        if bytes.contains(&0) {
            return Err(problem("not text: it holds NUL bytes".into()));
        }
        let digest = Digest::of(&[&bytes, self.reader.name().as_bytes(), UNITS_VERSION]);
        if known.digest(self) == Some(digest) {
            return Ok(Seen::Same);
        }
        Ok(Seen::Changed { bytes, digest })
    }

    /// The file as the store wants it; `None` where it is the same as before.
    pub(super) fn read(&self, roots: &Roots, known: &Known) -> Result<Option<Source>, Problem> {
        let Seen::Changed { bytes, digest } = self.look(roots, known)? else { return Ok(None) };
        let (genre, units) = match self.reader {
            Reader::Code(_) => {
                let text = String::from_utf8_lossy(&bytes);
                (Genre::Code, code_units(&self.path, &self.path, &text))
            }
            Reader::Prose(_) => (Genre::Prose, prose_units(&self.path, &bytes).unwrap_or_default()),
        };
        let (collection, path) = (self.reader.collection().to_owned(), self.path.clone());
        Ok(Some(Source { collection, path, genre, digest, units }))
    }

    /// Takes the file out of the store.
    pub(super) fn removal(&self) -> Change {
        removal(self.reader.collection(), &self.path)
    }
}

fn removal(collection: &str, path: &str) -> Change {
    Change::Remove { collection: collection.to_owned(), path: path.to_owned() }
}

/// What the store has, by collection and path.
#[derive(Debug)]
pub(super) struct Known(BTreeMap<&'static str, BTreeMap<String, Digest>>);

impl Known {
    pub(super) fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let of = |collection| Ok((collection, store.digests(collection)?));
        [CODE, DOCS].into_iter().map(of).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn digest(&self, file: &File) -> Option<Digest> {
        self.0.get(file.reader.collection())?.get(&file.path).copied()
    }

    /// Takes out whatever is not among these files.
    pub(super) fn gone(&self, files: &[File]) -> Vec<Change> {
        let named = |file: &File| (file.reader.collection(), file.path.clone());
        let there: HashSet<(&str, String)> = files.iter().map(named).collect();
        let all = self.0.iter().flat_map(|(collection, known)| {
            known.keys().map(move |path| (*collection, path.clone()))
        });
        let gone = all.filter(|one| !there.contains(one));
        gone.map(|(collection, path)| removal(collection, &path)).collect()
    }
}

/// What lies in the roots.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The files to index, root by root in order.
    pub(super) files: Vec<File>,
    /// What could not be looked at.
    pub(super) problems: Vec<Problem>,
    /// Whether there may be more.
    pub(super) stopped: bool,
}

/// Lists the files of every root, each once, however the roots lie in each other.
pub(super) fn survey(roots: &Roots, stopped: &dyn Fn() -> bool) -> Survey {
    let mut survey = Survey::default();
    let tops: BTreeSet<Place> = roots.paths().filter_map(|path| roots.locate(path)).collect();
    let nested = tops.len() > 1;
    for top in &tops {
        for found in roots.walk(top) {
            if stopped() {
                survey.stopped = true;
                return survey;
            }
            let entry = match found {
                Ok(entry) => entry,
                Err(problem) => {
                    let place = top.join(&problem.path);
                    let path = place.map_or(problem.path, |place| roots.name(&place));
                    survey.problems.push(Problem { path, reason: problem.reason });
                    continue;
                }
            };
            let Some(reader) = Reader::of(entry.place.name()) else { continue };
            // The innermost root has the file.
            let elsewhere = || {
                let owner = roots.locate(&roots.absolute(&entry.place));
                owner.as_ref() != Some(&entry.place)
            };
            if entry.kind == Kind::File && !(nested && elsewhere()) {
                let path = roots.name(&entry.place);
                survey.files.push(File { place: entry.place, path, reader });
            }
        }
    }
    survey
}
