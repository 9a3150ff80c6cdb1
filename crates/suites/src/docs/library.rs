//! The documents of all collections: found, read, searchable, and compared with the disk before every use.

use super::{
    Collection, address,
    document::{Document, pieces},
    ingest::Format,
};
use crate::{
    files::{Entry, Kind, Place, Problem, Roots, WalkOptions},
    rank::{DocumentId, Index},
    watch::{Batch, Watch},
};
use docent_tool::{CallContext, Change, Stop, ToolError};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak},
    time::SystemTime,
};
use tokio::sync::broadcast;

/// A larger page is data.
pub(crate) const LARGEST_FILE: u64 = 8 << 20;
/// Title, headings, text, source: how much a word counts where it stands.
const WEIGHTS: [f64; 4] = [2.0, 3.0, 1.0, 1.0];
/// Changes that a slow listener may fall behind.
const CHANGES: usize = 256;
/// A collection's own folder is meant to be read, whatever the project ignores.
const EVERYTHING: WalkOptions = WalkOptions { hidden: false, ignored: true, flat: false };

/// Names a document: which collection, and its path there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Source {
    /// Which collection, in configured order.
    pub(crate) collection: usize,
    /// Inside its folder.
    pub(crate) path: String,
}

/// A piece of a section that matches.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    /// Which document.
    pub(crate) source: Source,
    /// The document.
    pub(crate) document: Arc<Document>,
    /// Which of its sections.
    pub(crate) section: usize,
    /// The piece.
    pub(crate) text: String,
    /// 0 to 1.
    pub(crate) score: f64,
}

#[derive(Debug)]
struct Held {
    stamp: (u64, Option<SystemTime>),
    document: Arc<Document>,
    pieces: Vec<DocumentId>,
}

#[derive(Debug)]
struct Piece {
    source: Source,
    section: usize,
    text: String,
}

#[derive(Debug)]
struct State {
    documents: BTreeMap<Source, Held>,
    index: Index<4>,
    pieces: HashMap<DocumentId, Piece>,
    problems: Vec<Problem>,
}

/// What comparing with the disk gave.
#[derive(Debug, Default)]
pub(crate) struct Synced {
    /// Documents that came, went or changed.
    pub(crate) changed: BTreeSet<Source>,
    /// Time was up before everything was seen.
    pub(crate) partial: bool,
}

/// The documents of all collections.
#[derive(Debug)]
pub(crate) struct Library {
    roots: Roots,
    /// In configured order.
    pub(crate) collections: Vec<Collection>,
    state: RwLock<State>,
    /// Two comparisons at once would read everything twice.
    syncing: Mutex<()>,
    changes: broadcast::Sender<Change>,
    watch: OnceLock<Option<Watch>>,
}

impl Library {
    /// Nothing is read yet.
    pub(crate) fn new(roots: Roots, collections: Vec<Collection>) -> Arc<Self> {
        let state = State {
            documents: BTreeMap::new(),
            index: Index::new(WEIGHTS),
            pieces: HashMap::new(),
            problems: Vec::new(),
        };
        let changes = broadcast::Sender::new(CHANGES);
        let (state, syncing, watch) = (RwLock::new(state), Mutex::default(), OnceLock::new());
        Arc::new(Self { roots, collections, state, syncing, changes, watch })
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of documents that change.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// `postgresql/indexes.html`.
    pub(crate) fn id(&self, source: &Source) -> String {
        format!("{}/{}", self.collections[source.collection].name, source.path)
    }

    /// The collection with this name.
    pub(crate) fn collection(&self, name: &str) -> Option<usize> {
        self.collections.iter().position(|collection| collection.name == name)
    }

    /// Reads what is new or changed, drops what is gone.
    pub(crate) fn sync(&self, context: &CallContext) -> Result<Synced, ToolError> {
        let _one_at_a_time = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut synced = Synced::default();
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        let mut work = Vec::new();
        for (n, collection) in self.collections.iter().enumerate() {
            let folder = match self.folder(collection) {
                Ok(folder) => folder,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            for entry in self.roots.walk_with(&folder, EVERYTHING) {
                match entry {
                    Ok(entry) => work.extend(self.wanted(n, &folder, entry, &mut seen)),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        let total = work.len() as u64;
        for (done, (source, entry)) in (0_u64..).zip(work) {
            match context.stop() {
                Some(Stop::Cancelled) => return Err(ToolError::Stopped(Stop::Cancelled)),
                Some(Stop::Deadline) => {
                    synced.partial = true;
                    break;
                }
                None => {
                    context.progress(done, Some(total), format!("reading {}", self.id(&source)));
                }
            }
            match self.take_in(&source, &entry) {
                Ok(()) => drop(synced.changed.insert(source)),
                Err(problem) => problems.push(problem),
            }
        }
        let mut state = self.state_mut();
        let gone: Vec<Source> =
            state.documents.keys().filter(|source| !seen.contains(*source)).cloned().collect();
        for source in gone {
            state.forget(&source);
            synced.changed.insert(source);
        }
        state.problems = problems;
        Ok(synced)
    }

    /// The folder of a collection; a problem where it is none.
    fn folder(&self, collection: &Collection) -> Result<Place, Problem> {
        let problem = |reason: String| Problem { path: collection.path.clone(), reason };
        let place =
            self.roots.resolve(&collection.path).map_err(|error| problem(error.to_string()))?;
        match self.roots.kind(&place) {
            Ok(Kind::Folder) => Ok(place),
            Ok(_) => Err(problem(format!("collection {}: not a folder", collection.name))),
            Err(error) => Err(Problem::from(&error)),
        }
    }

    /// A file in a known format that is not known as it is now.
    fn wanted(
        &self,
        n: usize,
        folder: &Place,
        entry: Entry,
        seen: &mut BTreeSet<Source>,
    ) -> Option<(Source, Entry)> {
        let path = entry.place.below(folder)?;
        if entry.kind != Kind::File || Format::of(path).is_none() {
            return None;
        }
        let source = Source { collection: n, path: path.to_owned() };
        seen.insert(source.clone());
        let known = self.state().documents.get(&source).map(|held| held.stamp);
        (known != Some((entry.bytes, entry.modified))).then_some((source, entry))
    }

    fn take_in(&self, source: &Source, entry: &Entry) -> Result<(), Problem> {
        let read = self.roots.read(&entry.place, LARGEST_FILE);
        let bytes = read.map_err(|problem| {
            // What was known of it is no longer what is there.
            self.state_mut().forget(source);
            Problem::from(&problem)
        })?;
        let Some(format) = Format::of(&source.path) else { return Ok(()) };
        let document = Arc::new(format.read(&source.path, &bytes));
        let id = self.id(source);
        self.state_mut().put(source, &id, &document, (entry.bytes, entry.modified));
        Ok(())
    }

    /// What could not be read when last compared with the disk.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.state().problems.clone()
    }

    /// How many documents there are.
    pub(crate) fn len(&self) -> usize {
        self.state().documents.len()
    }

    /// Every document of a collection, or of all, in order.
    pub(crate) fn documents(&self, collection: Option<usize>) -> Vec<(Source, Arc<Document>)> {
        let state = self.state();
        let wanted = |source: &Source| collection.is_none_or(|wanted| wanted == source.collection);
        let found = state.documents.iter().filter(|(source, _)| wanted(source));
        found.map(|(source, held)| (source.clone(), Arc::clone(&held.document))).collect()
    }

    /// One document.
    pub(crate) fn document(&self, source: &Source) -> Option<Arc<Document>> {
        self.state().documents.get(source).map(|held| Arc::clone(&held.document))
    }

    /// The best pieces for a query, best first.
    pub(crate) fn search(&self, query: &str, limit: usize, collection: Option<usize>) -> Vec<Hit> {
        let state = self.state();
        let wanted = |id: DocumentId| {
            collection.is_none_or(|wanted| {
                state.pieces.get(&id).is_some_and(|piece| piece.source.collection == wanted)
            })
        };
        let hits = state.index.search(query, limit, wanted);
        let found = hits.into_iter().filter_map(|hit| {
            let piece = state.pieces.get(&hit.document)?;
            Some(Hit {
                source: piece.source.clone(),
                document: Arc::clone(&state.documents.get(&piece.source)?.document),
                section: piece.section,
                text: piece.text.clone(),
                score: hit.similarity,
            })
        });
        found.collect()
    }

    /// Starts to listen to every folder of every collection. Those that can't be watched are still served.
    pub(crate) fn listen(self: &Arc<Self>) {
        let start = || {
            let library: Weak<Self> = Arc::downgrade(self);
            let heard = move |batch: Batch| {
                if let Some(library) = library.upgrade() {
                    library.refresh(&batch);
                }
            };
            Watch::start(heard)
                .inspect_err(|error| tracing::warn!(%error, "documents are not watched"))
                .ok()
        };
        let Some(watch) = self.watch.get_or_init(start) else { return };
        for folder in self.collections.iter().filter_map(|collection| self.folder(collection).ok())
        {
            let inner = self
                .roots
                .walk_with(&folder, EVERYTHING)
                .flatten()
                .filter(|entry| entry.kind == Kind::Folder);
            let folders = inner.map(|entry| entry.place).chain(std::iter::once(folder.clone()));
            for folder in folders {
                if let Err(error) = watch.add(&self.roots.absolute(&folder)) {
                    tracing::warn!(%error, "a folder is not watched");
                }
            }
        }
    }

    fn refresh(self: &Arc<Self>, batch: &Batch) {
        self.listen();
        let loaded = self.len() > 0;
        let synced = self.sync(&docent_tool::nobody()).unwrap_or_default();
        // Before the first load everything is new, and only what the batch names has changed.
        let mut changed = if loaded { synced.changed } else { BTreeSet::new() };
        changed.extend(
            batch.paths.iter().filter_map(|path| self.source_of(&self.roots.locate(path)?)),
        );
        let collections: BTreeSet<usize> = changed.iter().map(|source| source.collection).collect();
        let contents =
            collections.into_iter().map(|n| address::contents(&self.collections[n].name));
        let documents = changed.iter().map(|source| {
            address::document(&self.collections[source.collection].name, &source.path)
        });
        for uri in contents.chain(documents) {
            // Nobody listening is no failure.
            drop(self.changes.send(Change::Updated(uri)));
        }
    }

    /// The document that a place is the file of.
    fn source_of(&self, place: &Place) -> Option<Source> {
        let of = |(n, collection): (usize, &Collection)| {
            let path = place.below(&self.folder(collection).ok()?)?.to_owned();
            Format::of(&path).map(|_| Source { collection: n, path })
        };
        self.collections.iter().enumerate().find_map(of)
    }
}

impl State {
    fn put(
        &mut self,
        source: &Source,
        id: &str,
        document: &Arc<Document>,
        stamp: (u64, Option<SystemTime>),
    ) {
        self.forget(source);
        let mut held = Held { stamp, document: Arc::clone(document), pieces: Vec::new() };
        for (n, section) in document.sections.iter().enumerate() {
            let headings = section.path.join(" ");
            for text in pieces(&section.text) {
                let piece = self.index.insert([&document.title, &headings, &text, id]);
                self.pieces.insert(piece, Piece { source: source.clone(), section: n, text });
                held.pieces.push(piece);
            }
        }
        self.documents.insert(source.clone(), held);
    }

    fn forget(&mut self, source: &Source) {
        let Some(held) = self.documents.remove(source) else { return };
        for piece in held.pieces {
            self.index.remove(piece);
            self.pieces.remove(&piece);
        }
    }
}
