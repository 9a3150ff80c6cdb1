//! What has been parsed so far: annotations by file, searchable, kept in step with the disk.

use super::{
    address,
    annotation::{Annotation, Counts, Kind},
    language::Language,
    parse::{self, Definition, ParseError},
};
use crate::{
    files::{Kind as EntryKind, Place, Problem, Roots},
    rank::{DocumentId, Index},
    watch::{Batch, Watch},
};
use docent_tool::Change;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak},
};
use tokio::sync::broadcast;

/// A larger source file is generated, or data.
pub(crate) const LARGEST_FILE: u64 = 2 << 20;
/// Of a long definition, its beginning is searched.
const SEARCHED_BYTES: usize = 4000;
/// Name, description, path, text, kind: how much a word counts where it stands.
const WEIGHTS: [f64; 5] = [4.0, 2.0, 1.0, 1.0, 1.0];
/// Changes that a slow listener may fall behind.
const CHANGES: usize = 256;

/// A definition that matches a query.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    /// Where it is.
    pub(crate) path: String,
    /// What it is.
    pub(crate) annotation: Annotation,
    /// Its first lines.
    pub(crate) snippet: String,
    /// 0 to 1.
    pub(crate) similarity: f64,
}

/// What parsing one file gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Which file.
    pub(crate) path: String,
    /// What was found.
    pub(crate) counts: Counts,
    /// The line of its first syntax error.
    pub(crate) broken_at: Option<u32>,
}

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// As this language, whatever its name says.
    pub(crate) language: Option<Language>,
    /// With descriptions from its comments.
    pub(crate) comments: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self { language: None, comments: true }
    }
}

/// A folder that was parsed as a whole, so that a new file in it belongs to what is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Scope {
    folder: Place,
    recursive: bool,
    reading: Reading,
}

#[derive(Debug)]
struct ParsedFile {
    place: Place,
    reading: Reading,
    language: Language,
    digest: u64,
    definitions: Vec<Definition>,
    documents: Vec<DocumentId>,
    broken_at: Option<u32>,
}

#[derive(Debug)]
struct State {
    files: BTreeMap<String, ParsedFile>,
    scopes: Vec<Scope>,
    index: Index<5>,
    owners: HashMap<DocumentId, (String, usize)>,
    generation: u64,
}

/// What has been parsed so far.
#[derive(Debug)]
pub(crate) struct Project {
    /// Where files are read.
    pub(crate) roots: Roots,
    state: RwLock<State>,
    changes: broadcast::Sender<Change>,
    watch: OnceLock<Option<Watch>>,
}

impl Project {
    /// Nothing is parsed yet.
    pub(crate) fn new(roots: Roots) -> Arc<Self> {
        let state = State {
            files: BTreeMap::new(),
            scopes: Vec::new(),
            index: Index::new(WEIGHTS),
            owners: HashMap::new(),
            generation: 0,
        };
        let changes = broadcast::Sender::new(CHANGES);
        Arc::new(Self { roots, state: RwLock::new(state), changes, watch: OnceLock::new() })
    }

    /// Tells of files that change.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a place is called in answers and addresses.
    pub(crate) fn path_of(&self, place: &Place) -> String {
        self.roots.name(place)
    }

    /// Reads and parses one file, unless it is known and the same. Counts as one more generation where it is not.
    pub(crate) fn parse(
        &self,
        place: &Place,
        reading: Reading,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Report>, Problem> {
        let path = self.path_of(place);
        let problem = |reason: String| Problem { path: path.clone(), reason };
        let language = reading
            .language
            .or_else(|| Language::of(&path))
            .ok_or_else(|| problem(unknown_language()))?;
        let bytes = self.roots.read(place, LARGEST_FILE).map_err(|found| Problem::from(&found))?;
        if bytes.contains(&0) {
            return Err(problem("not text: it holds NUL bytes".into()));
        }
        let digest = digest(&bytes, language);
        if let Some(known) = self.state().files.get(&path)
            && known.digest == digest
            && known.reading == reading
        {
            return Ok(Some(known.report(&path)));
        }
        let text = String::from_utf8_lossy(&bytes);
        let tree = match parse::tree(language, &text, stopped) {
            Ok(tree) => tree,
            Err(ParseError::Stopped) => return Ok(None),
            Err(error @ ParseError::Grammar(_)) => return Err(problem(error.to_string())),
        };
        let mut definitions = parse::definitions(language, &path, &text, &tree);
        if !reading.comments {
            for one in &mut definitions {
                one.annotation.description = None;
            }
        }
        let broken_at = parse::first_error(&tree);
        let documents = Vec::new();
        let file = ParsedFile {
            place: place.clone(),
            reading,
            language,
            digest,
            definitions,
            documents,
            broken_at,
        };
        let report = file.report(&path);
        let replaced = self.state_mut().put(path.clone(), file, &text);
        // Whoever reads a changed file first must not keep its subscribers from hearing of it.
        if replaced.is_some_and(|before| before != digest) {
            self.tell(Change::Updated(address::of(&path)));
        }
        Ok(Some(report))
    }

    /// Remembers that a folder was parsed as a whole.
    pub(crate) fn keep_scope(&self, folder: Place, recursive: bool, reading: Reading) {
        let scope = Scope { folder, recursive, reading };
        let mut state = self.state_mut();
        if !state.scopes.contains(&scope) {
            state.scopes.push(scope);
        }
    }

    /// How often anything changed here.
    pub(crate) fn generation(&self) -> u64 {
        self.state().generation
    }

    /// How many files are known.
    pub(crate) fn len(&self) -> usize {
        self.state().files.len()
    }

    /// Every known file with its counts, in order.
    pub(crate) fn reports(&self) -> Vec<(Report, Language)> {
        self.state().files.iter().map(|(path, file)| (file.report(path), file.language)).collect()
    }

    /// What is known of a file.
    pub(crate) fn annotations(&self, path: &str) -> Option<Vec<Annotation>> {
        let state = self.state();
        Some(state.files.get(path)?.definitions.iter().map(|one| one.annotation.clone()).collect())
    }

    /// How a known file was read.
    pub(crate) fn reading(&self, path: &str) -> Option<Reading> {
        self.state().files.get(path).map(|file| file.reading)
    }

    /// The definitions that answer a query best, best first.
    pub(crate) fn find(&self, query: &str, limit: usize, kind: Option<Kind>) -> Vec<Match> {
        let state = self.state();
        let of_kind = |id: DocumentId| {
            kind.is_none_or(|kind| state.definition(id).is_some_and(|d| d.annotation.kind == kind))
        };
        let hits = state.index.search(query, limit, of_kind);
        let found = hits.into_iter().filter_map(|hit| {
            let (path, _) = state.owners.get(&hit.document)?;
            let one = state.definition(hit.document)?;
            let (annotation, snippet) = (one.annotation.clone(), one.snippet.clone());
            Some(Match { path: path.clone(), annotation, snippet, similarity: hit.similarity })
        });
        found.collect()
    }

    /// Starts to listen to the folder of a file. A folder that can't be watched is still served, only less freshly.
    pub(crate) fn watch_beside(self: &Arc<Self>, place: &Place) {
        if let Some(parent) = place.parent() {
            self.watch_folder(&parent);
        }
    }

    /// Starts to listen to a folder.
    pub(crate) fn watch_folder(self: &Arc<Self>, folder: &Place) {
        let start = || {
            let project: Weak<Self> = Arc::downgrade(self);
            let heard = move |batch: Batch| {
                if let Some(project) = project.upgrade() {
                    project.refresh(&batch);
                }
            };
            Watch::start(heard)
                .inspect_err(|error| tracing::warn!(%error, "files are not watched"))
                .ok()
        };
        let Some(watch) = self.watch.get_or_init(start) else { return };
        if let Err(error) = watch.add(&self.roots.absolute(folder)) {
            tracing::warn!(%error, "a folder is not watched");
        }
    }

    /// Brings what is known in step with the disk after a batch of changes, and tells whoever listens.
    fn refresh(self: &Arc<Self>, batch: &Batch) {
        let mut told = Told::default();
        let places: Vec<Place> =
            batch.paths.iter().filter_map(|path| self.roots.locate(path)).collect();
        for path in self.known_under(&places, batch.lost) {
            self.reread(&path, &mut told);
        }
        let scopes = self.state().scopes.clone();
        for scope in &scopes {
            let inside: Vec<&Place> = places.iter().filter(|place| scope.holds(place)).collect();
            if batch.lost {
                self.take_in(&scope.folder, scope, None, &mut told);
            }
            let folders: BTreeSet<Place> =
                inside.iter().filter_map(|place| place.parent()).collect();
            for folder in folders {
                let fresh: BTreeSet<&Place> = inside
                    .iter()
                    .copied()
                    .filter(|p| p.parent().as_ref() == Some(&folder))
                    .collect();
                if !fresh.iter().all(|place| self.reading(&self.path_of(place)).is_some()) {
                    self.take_in(&folder, scope, Some(&fresh), &mut told);
                }
            }
        }
        self.announce(told);
    }

    /// Reads these files again where they changed; says whether any had.
    pub(crate) fn bring_up_to_date(&self, paths: &BTreeSet<String>) -> bool {
        let before = self.generation();
        let mut told = Told::default();
        for path in paths {
            self.reread(path, &mut told);
        }
        self.announce(told);
        self.generation() != before
    }

    /// Tells that the set of files is another one.
    pub(crate) fn announce_set(&self) {
        self.tell(Change::Resources);
    }

    fn announce(&self, told: Told) {
        if told.set {
            self.tell(Change::Resources);
        }
        for path in told.updated {
            self.tell(Change::Updated(address::of(&path)));
        }
    }

    fn tell(&self, change: Change) {
        // Nobody listening is no failure.
        drop(self.changes.send(change));
    }

    /// Known files that are, or lie under, what changed.
    fn known_under(&self, places: &[Place], all: bool) -> Vec<String> {
        let state = self.state();
        let touched =
            |file: &ParsedFile| all || places.iter().any(|place| file.place.below(place).is_some());
        state.files.iter().filter(|(_, file)| touched(file)).map(|(path, _)| path.clone()).collect()
    }

    fn reread(&self, path: &str, told: &mut Told) {
        let known = self.state().files.get(path).map(|file| (file.place.clone(), file.reading));
        let Some((place, reading)) = known else { return };
        if self.parse(&place, reading, &|| false).is_err() {
            self.state_mut().forget(path);
            self.forget_folder(&place);
            told.set = true;
            told.updated.insert(path.to_owned());
        }
    }

    fn forget_folder(&self, place: &Place) {
        let folder = place.parent().map(|parent| self.roots.absolute(&parent));
        if let (Some(Some(watch)), Some(folder)) = (self.watch.get(), folder)
            && !Path::exists(&folder)
        {
            watch.forget(&folder);
        }
    }

    /// Parses what is new in a folder of a scope; of `only`, and what lies under them, where that is given.
    fn take_in(
        self: &Arc<Self>,
        folder: &Place,
        scope: &Scope,
        only: Option<&BTreeSet<&Place>>,
        told: &mut Told,
    ) {
        // The walk starts at the folder, because what a project ignores is told there.
        for entry in self.roots.walk(folder).flatten() {
            let wanted =
                only.is_none_or(|only| only.iter().any(|place| entry.place.below(place).is_some()));
            if !wanted || !scope.holds(&entry.place) {
                continue;
            }
            let path = self.path_of(&entry.place);
            match entry.kind {
                EntryKind::Folder => self.watch_folder(&entry.place),
                EntryKind::File if scope.takes(&path) && self.reading(&path).is_none() => {
                    if let Ok(Some(_)) = self.parse(&entry.place, scope.reading, &|| false) {
                        told.set = true;
                        told.updated.insert(path);
                    }
                }
                _ => {}
            }
        }
    }
}

/// What listeners hear of files that came or went.
#[derive(Debug, Default)]
struct Told {
    set: bool,
    updated: BTreeSet<String>,
}

impl Scope {
    fn holds(&self, place: &Place) -> bool {
        match place.below(&self.folder) {
            Some(rest) => rest != "." && (self.recursive || !rest.contains('/')),
            None => false,
        }
    }

    fn takes(&self, path: &str) -> bool {
        takes(self.reading, path)
    }
}

/// Whether a file found in a folder is one to read.
pub(crate) fn takes(reading: Reading, path: &str) -> bool {
    Language::of(path)
        .is_some_and(|language| reading.language.is_none_or(|wanted| wanted == language))
}

/// Says which languages are read.
pub(crate) fn unknown_language() -> String {
    let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
    format!("its language is not known by its name; known are {}", known.join(", "))
}

impl ParsedFile {
    fn report(&self, path: &str) -> Report {
        let counts = self.definitions.iter().map(|one| &one.annotation).collect();
        Report { path: path.to_owned(), counts, broken_at: self.broken_at }
    }
}

impl State {
    fn definition(&self, id: DocumentId) -> Option<&Definition> {
        let (path, n) = self.owners.get(&id)?;
        self.files.get(path)?.definitions.get(*n)
    }

    /// Takes a file in, and gives back the digest of what it replaces.
    fn put(&mut self, path: String, mut file: ParsedFile, text: &str) -> Option<u64> {
        let before = self.files.get(&path).map(|file| file.digest);
        self.forget(&path);
        for (n, one) in file.definitions.iter().enumerate() {
            let start = one.range.start;
            let end = one.range.end.min(start + SEARCHED_BYTES);
            let end = (end..=one.range.end)
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(one.range.end);
            let said = one.annotation.description.as_deref().unwrap_or_default();
            // Who asks for functions means methods as well.
            let kind = if one.annotation.kind == Kind::Method {
                "method function"
            } else {
                one.annotation.kind.singular()
            };
            let body = text.get(start..end).unwrap_or_default();
            let id = self.index.insert([&one.annotation.qualified_name, said, &path, body, kind]);
            self.owners.insert(id, (path.clone(), n));
            file.documents.push(id);
        }
        self.files.insert(path, file);
        self.generation += 1;
        before
    }

    fn forget(&mut self, path: &str) {
        let Some(file) = self.files.remove(path) else { return };
        for id in file.documents {
            self.index.remove(id);
            self.owners.remove(&id);
        }
        self.generation += 1;
    }
}

fn digest(bytes: &[u8], language: Language) -> u64 {
    let mut hasher = DefaultHasher::new();
    (bytes, language).hash(&mut hasher);
    hasher.finish()
}
