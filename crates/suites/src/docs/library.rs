//! Access to the documents: searches them in the index and reads them from disk.

use super::{
    CollectionSettings, DocumentProblem, Metadata, address,
    collection::{CollectionFile, CollectionFolder, DocumentCollection, DocumentReader, FileStamp},
    collections::DocumentCollections,
    units::DocumentUnitMetadata,
    versions::{self, Scored, Versioned},
};
use crate::{
    indexing::{BackgroundIndex, HitExplanation, IndexPhase, score},
    watch::ChangeBatch,
};
use docent_index::{IndexHit, IndexQuery, Synonyms, UnitFilter};
use docent_prose::{ArchiveEntry, ArchiveLimits, ProseDocument, ProseFormat, Unreadable};
use docent_tool::{CallContext, DisabledTool, ToolError};
use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// Number of cached documents: the reader of one page of a book often reads the next.
const CACHED_DOCUMENTS: usize = 4;
/// Maximum number of chunks per document before other documents get their turn.
const CHUNKS_PER_DOCUMENT: usize = 2;
/// Minimum similarity of meaning for a hit without any word of the query.
const MIN_SIMILARITY: f32 = 0.3;
/// How to add the first collection.
pub(crate) const HOW_TO_ADD: &str =
    "run `docent docs add NAME FOLDER`, or add a collection under docs.collections in docent.toml";

/// The documents of all collections.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) live: Arc<BackgroundIndex<DocumentCollections>>,
    synonyms: Arc<Synonyms>,
    at_hand: Mutex<VecDeque<CachedDocument>>,
}

#[derive(Debug)]
struct CachedDocument {
    key: String,
    path: String,
    stamp: FileStamp,
    document: Arc<ProseDocument>,
}

/// A chunk that matches a query.
#[derive(Debug, Clone)]
pub(crate) struct Passage {
    pub(crate) text: String,
    pub(crate) metadata: Metadata,
    pub(crate) score: f64,
    pub(crate) why: HitExplanation,
}

/// Result of a search.
#[derive(Debug)]
pub(crate) struct Passages {
    pub(crate) all: Vec<Passage>,
    pub(crate) phase: IndexPhase,
    pub(crate) generation: u64,
    pub(crate) notes: Vec<String>,
}

/// The collections selected by `doc_type`.
#[derive(Debug)]
pub(crate) struct RequestedCollections {
    pub(crate) collections: Vec<DocumentCollection>,
    /// Whether one was requested by its own name, which fixes the version.
    by_name: bool,
}

impl Library {
    /// Creates the library. Reads nothing yet.
    pub(crate) fn new(live: Arc<BackgroundIndex<DocumentCollections>>) -> Self {
        Self { live, synonyms: Arc::default(), at_hand: Mutex::default() }
    }

    /// Returns the library with these synonyms.
    pub(crate) fn with_synonyms(&self, synonyms: Arc<Synonyms>) -> Self {
        Self { live: Arc::clone(&self.live), synonyms, at_hand: Mutex::default() }
    }

    /// All collections, in configured order.
    pub(crate) fn shelves(&self) -> Arc<[DocumentCollection]> {
        self.live.source().all()
    }

    /// Why its tools are off; `None` if there is a collection.
    pub(crate) fn off(&self) -> Option<DisabledTool> {
        self.shelves().is_empty().then(|| DisabledTool {
            reason: "no documentation is configured".to_owned(),
            remedy: format!("no documentation is configured: {HOW_TO_ADD}"),
        })
    }

    /// Valid values of `doc_type`, without duplicates, in configured order.
    pub(crate) fn doc_types(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for shelf in self.shelves().iter() {
            for name in [shelf.collection.doc_type(), &shelf.collection.name] {
                if !all.iter().any(|known| known == name) {
                    all.push(name.to_owned());
                }
            }
        }
        all
    }

    /// The collections of a type, or the one with that name; `None` if there is none.
    pub(crate) fn requested(&self, doc_type: &str) -> Option<RequestedCollections> {
        let shelves = self.shelves();
        let of = |wanted: &dyn Fn(&CollectionSettings) -> bool| -> Vec<DocumentCollection> {
            shelves.iter().filter(|shelf| wanted(&shelf.collection)).cloned().collect()
        };
        if doc_type == super::search_documentation::ALL_COLLECTIONS {
            return Some(RequestedCollections { collections: shelves.to_vec(), by_name: false });
        }
        let typed = of(&|one| one.doc_type() == doc_type);
        if !typed.is_empty() {
            return Some(RequestedCollections { by_name: typed.len() == 1, collections: typed });
        }
        let named = of(&|one| one.name == doc_type);
        (!named.is_empty()).then_some(RequestedCollections { collections: named, by_name: true })
    }

    /// Finds the best chunks for a query, best first.
    pub(crate) fn search(
        &self,
        text: &str,
        limit: usize,
        asked: &RequestedCollections,
        context: &CallContext,
    ) -> Result<Passages, ToolError> {
        let mut query = IndexQuery::new(text);
        // Some hits are copies, or other versions of the same page.
        query.limit = if asked.collections.len() > 1 { limit * 2 + 10 } else { limit + 5 };
        query.copies = true;
        query.snippets = false;
        query.per_source = Some(CHUNKS_PER_DOCUMENT);
        query.synonyms = Arc::clone(&self.synonyms);
        query.filter = UnitFilter {
            collections: asked.collections.iter().map(|shelf| shelf.key.clone()).collect(),
            ..UnitFilter::default()
        };
        let mut found = self.live.search(&query, context)?;
        let mut stale = self.stale(&found.answer.hits, asked);
        if !stale.is_empty() {
            let batch = ChangeBatch { paths: stale.into_values().collect(), lost: false };
            self.live.rescan(batch, found.answer.generation, context);
            found = self.live.search(&query, context)?;
            stale = self.stale(&found.answer.hits, asked);
        }
        // Drop hits whose file has changed since.
        let is_stale = |hit: &IndexHit| {
            stale.contains_key(&(hit.found.collection.clone(), hit.found.path.clone()))
        };
        found.answer.hits.retain(|hit| !is_stale(hit));
        if !stale.is_empty() {
            found.answer.notes.push(format!(
                "{} just changed and will be searchable again in a moment.",
                stale.keys().map(|(_, path)| path.as_str()).collect::<Vec<_>>().join(", ")
            ));
        }
        let likely =
            |hit: &IndexHit| hit.parts.meaning >= MIN_SIMILARITY || !hit.matched.is_empty();
        let hits = found.answer.hits.into_iter().filter(likely);
        let passages = hits.filter_map(|hit| passage(hit, asked));
        let mut all: Vec<Versioned<Passage>> = passages.collect();
        if !asked.by_name {
            all = versions::newest(all, text);
        }
        let mut seen = HashSet::new();
        all.retain(|one| seen.insert((one.of.metadata.title.clone(), one.of.text.clone())));
        all.truncate(limit);
        let (generation, notes) = (found.answer.generation, found.answer.notes);
        let all = all.into_iter().map(|versioned| versioned.of).collect();
        Ok(Passages { all, phase: found.phase, generation, notes })
    }

    /// Documents of hits whose files changed since they were indexed, by collection and path.
    fn stale(
        &self,
        hits: &[IndexHit],
        asked: &RequestedCollections,
    ) -> BTreeMap<(String, String), PathBuf> {
        let mut stale = BTreeMap::new();
        let mut seen = HashSet::new();
        for shelf in &asked.collections {
            let Ok(site) = shelf.site() else { continue };
            for hit in hits.iter().filter(|hit| hit.found.collection == shelf.key) {
                let path = hit.found.path.as_str();
                if !seen.insert((shelf.key.as_str(), path)) {
                    continue;
                }
                let known = self.live.source().stamps.get(&shelf.key, path);
                let Some(place) = site.place_of(path) else { continue };
                let now = site.stamp(&place);
                // Documents that are not indexed yet, or are being removed, have no known stamp.
                if now.is_none() || known.is_some() && now != known {
                    stale.insert((shelf.key.clone(), path.to_owned()), site.absolute(&place));
                }
            }
        }
        stale
    }

    /// Returns a document by collection and path; rereads it if its file changed.
    pub(crate) fn document(
        &self,
        on: &DocumentCollection,
        path: &str,
        context: &CallContext,
    ) -> Option<Result<Arc<ProseDocument>, ToolError>> {
        let (site, item) = on.find(path)?;
        let stamp = site.stamp(&item.place)?;
        let at_hand = || self.at_hand.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |held: &&CachedDocument| held.key == on.key && held.path == path && held.stamp == stamp;
        let held = at_hand().iter().find(is_it).map(|held| Arc::clone(&held.document));
        if let Some(document) = held {
            return Some(Ok(document));
        }
        // A book may take seconds to read; other calls must not wait for it.
        let document = match read(&site, &item, context) {
            Ok(document) => Arc::new(document),
            Err(error) => return Some(Err(error)),
        };
        let (key, path) = (on.key.clone(), path.to_owned());
        let held = CachedDocument { key, path, stamp, document: Arc::clone(&document) };
        let mut at_hand = at_hand();
        at_hand.truncate(CACHED_DOCUMENTS - 1);
        at_hand.push_front(held);
        Some(Ok(document))
    }

    /// Replaces the collections. Returns whether anything changed.
    pub(crate) fn replace(&self, collections: Vec<CollectionSettings>) -> bool {
        let is_other = self.live.source().replace(collections);
        if is_other {
            self.live.request_full_scan();
        }
        is_other
    }

    /// Problems of these collections in their last scan.
    pub(crate) fn problems(&self, asked: &RequestedCollections) -> Vec<DocumentProblem> {
        let of = |shelf: &DocumentCollection| self.problems_of(&shelf.collection.name);
        asked.collections.iter().flat_map(of).collect()
    }

    /// Problems of one collection.
    pub(crate) fn problems_of(&self, name: &str) -> Vec<DocumentProblem> {
        let kept = self.live.source().problems.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(name).cloned().unwrap_or_default()
    }

    /// Path and title of every indexed document, sorted by path.
    pub(crate) fn titles(
        &self,
        on: &DocumentCollection,
        context: &CallContext,
    ) -> Result<Vec<(String, String)>, ToolError> {
        self.live.ready(context)?;
        let sources = self.live.sources(&on.key, context)?;
        let with_text = sources.into_iter().filter(|source| !source.kinds.is_empty());
        let mut all: Vec<(String, String)> =
            with_text.map(|source| (source.path, source.title)).collect();
        all.sort();
        Ok(all)
    }
}

fn read(
    site: &CollectionFolder,
    item: &CollectionFile,
    context: &CallContext,
) -> Result<ProseDocument, ToolError> {
    let stopped = || context.stop().is_some();
    let mut bytes = site.read(item).map_err(|problem| problem.into_tool_error("document_id"))?;
    if let DocumentReader::Archive(archive) = item.reader {
        let mut found = None;
        let within = site.path_in(item);
        // Once stopped, nothing more is unpacked.
        let wanted = |path: &str| Some(path) == within && !stopped();
        let mut each = |entry: ArchiveEntry<'_>| {
            if wanted(entry.path) {
                found = Some(entry.bytes.to_vec());
            }
        };
        // Entries before the damaged part of an archive are still read.
        drop(archive.entries(&bytes, &ArchiveLimits::default(), &wanted, &mut each));
        bytes = found.ok_or_else(|| ToolError::not_found("Document not found"))?;
    }
    let format = ProseFormat::guess(&item.path, &bytes)
        .ok_or_else(|| ToolError::failed(format!("{} is not a document", item.path)))?;
    format.read_until(&item.path, &bytes, &stopped).map_err(|error| match context.stop() {
        Some(stop) if error == Unreadable::Stopped => ToolError::Stopped(stop),
        _ => ToolError::failed(format!("{} can't be read: {error}", item.path)),
    })
}

fn passage(hit: IndexHit, asked: &RequestedCollections) -> Option<Versioned<Passage>> {
    let shelf = asked.collections.iter().find(|shelf| shelf.key == hit.found.collection)?;
    let (why, extra) = (HitExplanation::of(&hit), DocumentUnitMetadata::from_unit(&hit.found.unit));
    let section = (hit.found.unit.signature.clone(), hit.found.unit.name.clone());
    let metadata =
        Metadata::of_unit(&shelf.collection, &hit.found.path, hit.found.unit.name, extra);
    let version = metadata.version.clone();
    let doc_type = shelf.collection.doc_type().to_owned();
    let path = hit.found.path;
    let score = score(hit.similarity);
    let of = Passage { text: hit.found.unit.body, metadata, score, why };
    Some(Versioned::new(of, doc_type, &path, section, version))
}

impl Scored for Passage {
    fn take_score(&mut self, other: &Self) {
        self.score = other.score;
    }
}

/// Resolves the links of one document. Looks up each target on disk once, and none after the call was stopped.
pub(crate) struct DocumentLinks<'a> {
    collection: &'a DocumentCollection,
    from: &'a str,
    context: &'a CallContext,
    known: RefCell<HashMap<String, Option<String>>>,
}

impl<'a> DocumentLinks<'a> {
    pub(crate) fn new(
        collection: &'a DocumentCollection,
        from: &'a str,
        context: &'a CallContext,
    ) -> Self {
        Self { collection, from, context, known: RefCell::default() }
    }

    /// The URI of a link target; `None` if it can't be resolved.
    pub(crate) fn resolve(&self, target: &str) -> Option<String> {
        if let Some(found) = self.known.borrow().get(target) {
            return found.clone();
        }
        if self.context.stop().is_some() {
            return None;
        }
        let found = resolve(self.collection, self.from, target);
        self.known.borrow_mut().insert(target.to_owned(), found.clone());
        found
    }
}

/// Resolves a link: to the URI of a document in the same collection, or unchanged to the web.
fn resolve(shelf: &DocumentCollection, from: &str, target: &str) -> Option<String> {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    if path.is_empty() {
        return anchor.map(|anchor| address::document(&shelf.collection, from, Some(anchor)));
    }
    if path.contains("://") || path.starts_with("mailto:") {
        let is_open = ["https://", "http://", "mailto:", "ftp://"];
        return is_open.iter().any(|scheme| path.starts_with(scheme)).then(|| target.to_owned());
    }
    let path = path.split(['?']).next().unwrap_or(path);
    let inside = join_path(from, &percent_encoding::percent_decode_str(path).decode_utf8_lossy())?;
    let candidates = [
        inside.clone(),
        format!("{inside}/index.html"),
        format!("{inside}.html"),
        format!("{inside}.md"),
    ];
    let found = candidates.iter().find(|path| shelf.find(path).is_some());
    match (found, &shelf.collection.url) {
        (Some(path), _) => Some(address::document(&shelf.collection, path, anchor)),
        (None, Some(base)) => {
            let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
            Some(format!("{}/{inside}{anchor}", base.trim_end_matches('/')))
        }
        (None, None) => None,
    }
}

/// Joins a relative path to the path of a document; `None` if it leaves the collection.
fn join_path(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = match path.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_stay_in_the_collection() {
        let cases = [
            ("a/b.html", "c.html", Some("a/c.html")),
            ("a/b.html", "../c.html", Some("c.html")),
            ("a/b.html", "./d/../c.html", Some("a/c.html")),
            ("a/b.html", "/c.html", Some("c.html")),
            ("a/b.html", "../../c.html", None),
            ("b.html", "", Some("")),
        ];
        for (from, path, want) in cases {
            assert_eq!(join_path(from, path).as_deref(), want, "{from} {path}");
        }
    }
}
