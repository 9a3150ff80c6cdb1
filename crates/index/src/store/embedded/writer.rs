//! Writes changes as the next generation.

use super::{
    super::{Change, StoreError},
    Embedded, SourceMap, WriteLock,
    file::{Writing, crash_point, failed, sync_folder},
    lexical::{LARGE, Lexical, SMALL, judged, source_key},
    manifest::Manifest,
    part::{PartWriter, SourceEntry, Stored, vectors_name},
    record,
    snapshot::{Dead, Snapshot, source_number},
};
use crate::{
    analysis::Terms,
    embed::{Document, Vector},
    unit::{Source, Unit},
};
use docent_files::Folder;
use rayon::prelude::*;
use std::{collections::HashMap, sync::PoisonError};
use tantivy::{IndexWriter, TantivyDocument, Term, merge_policy::NoMergePolicy};

/// Units analyzed at a time.
const CHUNK: usize = 4096;
/// Units analyzed per task, as many as a remote model gets per request.
const TASK: usize = 64;
/// Maximum number of searchable terms per field.
const MOST_TERMS: usize = 2_000;

/// A unit prepared for storage.
struct Ready {
    record: Vec<u8>,
    /// Its terms for the lexical index.
    weighted: String,
    lengths: [u16; 5],
    vector: Vector,
}

/// Applies the changes and commits them as one generation.
pub(super) fn write(
    store: &Embedded,
    lock: &WriteLock<'_>,
    changes: &mut dyn Iterator<Item = Change>,
) -> Result<(), StoreError> {
    let mut chunk = next_chunk(changes);
    if chunk.is_empty() {
        return Ok(());
    }
    if store.snapshot()?.manifest.identity != *store.embedder.identity() {
        embed_anew(store, lock)?;
    }
    let few = chunk_units(&chunk) < CHUNK;
    let mut batch = Batch::new(store, few)?;
    while !chunk.is_empty() {
        batch.apply(chunk)?;
        chunk = next_chunk(changes);
    }
    batch.commit()
}

fn next_chunk(changes: &mut dyn Iterator<Item = Change>) -> Vec<Change> {
    let mut chunk = Vec::new();
    let mut units = 0;
    while units < CHUNK
        && let Some(change) = changes.next()
    {
        // A source without units counts as work too.
        units += 1 + units_of(&change).len();
        chunk.push(change);
    }
    chunk
}

fn units_of(change: &Change) -> &[Unit] {
    match change {
        Change::Put(source) => &source.units,
        Change::Remove { .. } => &[],
    }
}

fn chunk_units(chunk: &[Change]) -> usize {
    chunk.iter().map(|change| 1 + units_of(change).len()).sum()
}

/// Creates a writer of the lexical index without automatic merges, which compaction does.
pub(super) fn lexical_writer(
    lexical: &Lexical,
    few: bool,
) -> Result<IndexWriter<TantivyDocument>, StoreError> {
    let (threads, memory) = if few { (1, SMALL) } else { (2, LARGE) };
    let writer = lexical.index.writer_with_num_threads(threads, memory).map_err(judged)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}

/// Makes a manifest the newest one.
pub(super) fn publish(
    store: &Embedded,
    writer: &mut IndexWriter<TantivyDocument>,
    manifest: &Manifest,
) -> Result<(), StoreError> {
    sync_folder(&store.folder)?;
    crash_point!("index-prepare");
    let mut commit = writer.prepare_commit().map_err(judged)?;
    commit.set_payload(&manifest.encode());
    crash_point!("index-commit");
    commit.commit().map_err(judged)?;
    crash_point!("index-committed");
    let named: Vec<&str> = manifest.files().map(|file| file.name.as_str()).collect();
    store.discard_all_but(&named)
}

/// Writes the deleted rows and sources.
pub(super) fn write_dead(
    folder: &Folder,
    manifest: &mut Manifest,
    dead: &Dead,
) -> Result<(), StoreError> {
    if dead.rows.is_empty() && dead.sources.is_empty() {
        manifest.dead = None;
        return Ok(());
    }
    let mut file = Writing::create(folder, format!("dead-{}", manifest.generation))?;
    file.write(&dead.encode().map_err(failed(folder.path()))?)?;
    manifest.dead = Some(file.finish()?);
    Ok(())
}

/// The generation being written.
struct Batch<'a> {
    store: &'a Embedded,
    snapshot: std::sync::Arc<Snapshot>,
    lexical: Lexical,
    writer: IndexWriter<TantivyDocument>,
    manifest: Manifest,
    dead: Dead,
    sources: SourceMap,
    part: PartWriter,
    part_id: u64,
    /// The first row and the units of each source in the new part.
    fresh: Vec<(u32, u32)>,
}

impl<'a> Batch<'a> {
    fn new(store: &'a Embedded, few: bool) -> Result<Self, StoreError> {
        let snapshot = store.snapshot()?;
        // Another process may have written, so the file list of the open index may be outdated.
        let lexical = store.open_lexical()?;
        let writer = lexical_writer(&lexical, few)?;
        let mut manifest = snapshot.manifest.clone();
        manifest.generation += 1;
        let part_id = manifest.next_part;
        manifest.next_part += 1;
        let known = store.sources.lock().unwrap_or_else(PoisonError::into_inner).take();
        let sources = match known {
            Some((generation, map)) if generation == snapshot.manifest.generation => map,
            _ => Embedded::source_map(&snapshot)?,
        };
        let part = PartWriter::create(&store.folder, part_id, &manifest.identity.model)?;
        let dead = (*snapshot.dead).clone();
        let fresh = Vec::new();
        Ok(Self { store, snapshot, lexical, writer, manifest, dead, sources, part, part_id, fresh })
    }

    fn apply(&mut self, chunk: Vec<Change>) -> Result<(), StoreError> {
        let mut ready = self.analyse(&chunk)?.into_iter();
        for change in chunk {
            match change {
                Change::Put(source) => {
                    let units = ready.by_ref().take(source.units.len()).collect();
                    self.put(source, units)?;
                }
                Change::Remove { collection, path } => self.remove(&collection, &path)?,
            }
        }
        Ok(())
    }

    fn analyse(&self, chunk: &[Change]) -> Result<Vec<Ready>, StoreError> {
        let documents: Vec<Document<'_>> = chunk
            .iter()
            .filter_map(|change| match change {
                Change::Put(source) => Some(source),
                Change::Remove { .. } => None,
            })
            .flat_map(|Source { path, genre, units, .. }| {
                units.iter().map(move |unit| Document { unit, path, genre: *genre })
            })
            .collect();
        let embedder = &self.store.embedder;
        let tasks = documents.par_chunks(TASK).map(|documents| {
            let vectors = embedder.documents(documents)?;
            Ok(documents
                .iter()
                .zip(vectors)
                .map(|(document, vector)| ready(document, vector))
                .collect())
        });
        let tasks: Vec<Vec<Ready>> = tasks.collect::<Result<_, StoreError>>()?;
        Ok(tasks.into_iter().flatten().collect())
    }

    fn put(&mut self, source: Source, units: Vec<Ready>) -> Result<(), StoreError> {
        self.remove(&source.collection, &source.path)?;
        let key = source_key(&source.collection, &source.path);
        let count = u32::try_from(units.len()).unwrap_or(u32::MAX);
        let slot = u32::try_from(self.fresh.len()).unwrap_or(u32::MAX);
        self.part.source(&SourceEntry {
            collection: &source.collection,
            path: &source.path,
            genre: source.genre,
            digest: source.digest,
            first: 0,
            units: count,
        });
        self.fresh.push((self.manifest.next_row, count));
        for (unit, ready) in source.units.iter().zip(units) {
            let row = self.manifest.next_row;
            self.manifest.next_row += 1;
            let codes: Vec<u8> =
                ready.vector.codes().iter().map(|code| code.cast_unsigned()).collect();
            let stored = Stored {
                kind: &unit.kind,
                language: &unit.language,
                lengths: ready.lengths,
                record: &ready.record,
                codes: &codes,
                scale: ready.vector.scale(),
            };
            self.part.unit(row, &stored)?;
            let mut document = TantivyDocument::new();
            document.add_text(self.lexical.fields.terms, ready.weighted);
            document.add_u64(self.lexical.fields.source, key);
            document.add_u64(self.lexical.fields.row, u64::from(row));
            self.writer.add_document(document).map_err(judged)?;
        }
        self.sources.insert((source.collection, source.path), (self.part_id, slot));
        Ok(())
    }

    fn remove(&mut self, collection: &str, path: &str) -> Result<(), StoreError> {
        let name = (collection.to_owned(), path.to_owned());
        let Some((part_id, slot)) = self.sources.remove(&name) else { return Ok(()) };
        self.dead.sources.insert(source_number(part_id, slot));
        if part_id == self.part_id {
            let (first, units) = self.fresh.get(slot as usize).copied().unwrap_or_default();
            self.dead.rows.insert_range(first..first + units);
        } else if let Some(part) = self.snapshot.parts.iter().find(|part| part.meta.id == part_id) {
            let entry = part.source(slot)?;
            let rows = (entry.first..entry.first + entry.units).map(|n| part.row(n as usize));
            self.dead.rows.extend(rows);
        }
        let key = Term::from_field_u64(self.lexical.fields.source, source_key(collection, path));
        self.writer.delete_term(key);
        Ok(())
    }

    fn commit(mut self) -> Result<(), StoreError> {
        // A batch of only removals has an empty part, which is dropped.
        if self.part.units() > 0 || !self.fresh.is_empty() {
            self.manifest.parts.push(self.part.finish()?);
        }
        if self.dead != *self.snapshot.dead {
            write_dead(&self.store.folder, &mut self.manifest, &self.dead)?;
        }
        publish(self.store, &mut self.writer, &self.manifest)?;
        let known = (self.manifest.generation, self.sources);
        *self.store.sources.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        Ok(())
    }
}

fn ready(document: &Document<'_>, vector: Vector) -> Ready {
    let mut weighted = String::new();
    let Document { unit, path, genre } = *document;
    let terms = Terms::of(unit, path, genre, MOST_TERMS, &mut weighted);
    let record = record::encode(unit, &terms);
    Ready { record, weighted, lengths: terms.lengths, vector }
}

/// Recomputes the vectors of every part with the configured model.
pub(super) fn embed_anew(store: &Embedded, _lock: &WriteLock<'_>) -> Result<(), StoreError> {
    let snapshot = store.snapshot()?;
    let identity = store.embedder.identity();
    tracing::info!(before = %snapshot.manifest.identity, now = %identity, "recomputing vectors with another model");
    let mut manifest = snapshot.manifest.clone();
    manifest.generation += 1;
    manifest.identity = identity.clone();
    manifest.graph = None;
    for (part, meta) in snapshot.parts.iter().zip(&mut manifest.parts) {
        let name = vectors_name(meta.id, &identity.model);
        let mut file = Writing::create(&store.folder, name)?;
        let mut scales = Vec::with_capacity(part.len() * 4);
        let places: Vec<usize> = (0..part.len()).collect();
        for places in places.chunks(CHUNK) {
            let tasks = places.par_chunks(TASK).map(|places| embedded(store, part, places));
            for vector in tasks.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
                let codes: Vec<u8> =
                    vector.codes().iter().map(|code| code.cast_unsigned()).collect();
                file.write(&codes)?;
                scales.extend_from_slice(&vector.scale().to_le_bytes());
            }
        }
        file.write(&scales)?;
        meta.vectors = file.finish()?;
    }
    let mut writer = lexical_writer(&store.open_lexical()?, true)?;
    publish(store, &mut writer, &manifest)
}

fn embedded(
    store: &Embedded,
    part: &super::part::Part,
    places: &[usize],
) -> Result<Vec<Vector>, StoreError> {
    let units: Vec<(Unit, u32)> = places
        .iter()
        .map(|&n| Ok((part.record(n)?.unit()?, part.slot(n))))
        .collect::<Result<_, StoreError>>()?;
    let mut entries = HashMap::new();
    for (_, slot) in &units {
        entries.insert(*slot, part.source(*slot)?);
    }
    let documents: Vec<Document<'_>> = units
        .iter()
        .filter_map(|(unit, slot)| {
            let source = entries.get(slot)?;
            Some(Document { unit, path: source.path, genre: source.genre })
        })
        .collect();
    Ok(store.embedder.documents(&documents)?)
}
