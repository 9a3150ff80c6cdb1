//! Writes changes as the next generation.

use super::{
    super::{IndexStoreError, StoreChange},
    EmbeddedStore, SourceMap, WriteLock,
    file::{SealedFileWriter, crash_point, failed, sync_folder},
    lexical::{LARGE_WRITER_BYTES, LexicalIndex, SMALL_WRITER_BYTES, classify_error, source_key},
    manifest::IndexManifest,
    part::{PartWriter, SourceEntry, StoredUnit, vectors_name},
    record,
    snapshot::{DeletedRows, Snapshot, source_number},
};
use crate::{
    analysis::UnitTerms,
    embed::{EmbeddingInput, Vector},
    unit::{IndexUnit, IndexedSource},
};
use docent_files::ManagedFolder;
use rayon::prelude::*;
use std::{collections::HashMap, sync::PoisonError};
use tantivy::{IndexWriter, TantivyDocument, Term, merge_policy::NoMergePolicy};

/// Units analyzed at a time.
const UNITS_PER_CHUNK: usize = 4096;
/// Units analyzed per task, as many as a remote model gets per request.
const UNITS_PER_TASK: usize = 64;
/// Maximum number of searchable terms per field.
const MAX_FIELD_TERMS: usize = 2_000;

/// A unit prepared for storage.
struct PreparedUnit {
    record: Vec<u8>,
    /// Its terms for the lexical index.
    weighted: String,
    lengths: [u16; 5],
    vector: Vector,
}

/// Applies the changes and commits them as one generation.
pub(super) fn write(
    store: &EmbeddedStore,
    lock: &WriteLock<'_>,
    changes: &mut dyn Iterator<Item = StoreChange>,
) -> Result<(), IndexStoreError> {
    let mut chunk = next_chunk(changes);
    if chunk.is_empty() {
        return Ok(());
    }
    if store.snapshot()?.manifest.identity != *store.embedder.identity() {
        reembed(store, lock)?;
    }
    let few = chunk_units(&chunk) < UNITS_PER_CHUNK;
    let mut batch = GenerationWriter::new(store, few)?;
    while !chunk.is_empty() {
        batch.apply(chunk)?;
        chunk = next_chunk(changes);
    }
    batch.commit()
}

fn next_chunk(changes: &mut dyn Iterator<Item = StoreChange>) -> Vec<StoreChange> {
    let mut chunk = Vec::new();
    let mut units = 0;
    while units < UNITS_PER_CHUNK
        && let Some(change) = changes.next()
    {
        // A source without units counts as work too.
        units += 1 + units_of(&change).len();
        chunk.push(change);
    }
    chunk
}

fn units_of(change: &StoreChange) -> &[IndexUnit] {
    match change {
        StoreChange::Put(source) => &source.units,
        StoreChange::Remove { .. } => &[],
    }
}

fn chunk_units(chunk: &[StoreChange]) -> usize {
    chunk.iter().map(|change| 1 + units_of(change).len()).sum()
}

/// Creates a writer of the lexical index without automatic merges, which compaction does.
pub(super) fn lexical_writer(
    lexical: &LexicalIndex,
    few: bool,
) -> Result<IndexWriter<TantivyDocument>, IndexStoreError> {
    let (threads, memory) = if few { (1, SMALL_WRITER_BYTES) } else { (2, LARGE_WRITER_BYTES) };
    let writer = lexical.index.writer_with_num_threads(threads, memory).map_err(classify_error)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}

/// Makes a manifest the newest one.
pub(super) fn publish(
    store: &EmbeddedStore,
    writer: &mut IndexWriter<TantivyDocument>,
    manifest: &IndexManifest,
) -> Result<(), IndexStoreError> {
    sync_folder(&store.folder)?;
    crash_point!("index-prepare");
    let mut commit = writer.prepare_commit().map_err(classify_error)?;
    commit.set_payload(&manifest.encode());
    crash_point!("index-commit");
    commit.commit().map_err(classify_error)?;
    crash_point!("index-committed");
    let named: Vec<&str> = manifest.files().map(|file| file.name.as_str()).collect();
    store.discard_all_but(&named)
}

/// Writes the deleted rows and sources.
pub(super) fn write_dead(
    folder: &ManagedFolder,
    manifest: &mut IndexManifest,
    dead: &DeletedRows,
) -> Result<(), IndexStoreError> {
    if dead.rows.is_empty() && dead.sources.is_empty() {
        manifest.dead = None;
        return Ok(());
    }
    let mut file = SealedFileWriter::create(folder, format!("dead-{}", manifest.generation))?;
    file.write(&dead.encode().map_err(failed(folder.path()))?)?;
    manifest.dead = Some(file.finish()?);
    Ok(())
}

/// The generation being written.
struct GenerationWriter<'a> {
    store: &'a EmbeddedStore,
    snapshot: std::sync::Arc<Snapshot>,
    lexical: LexicalIndex,
    writer: IndexWriter<TantivyDocument>,
    manifest: IndexManifest,
    dead: DeletedRows,
    sources: SourceMap,
    part: PartWriter,
    part_id: u64,
    /// The first row and the units of each source in the new part.
    fresh: Vec<(u32, u32)>,
}

impl<'a> GenerationWriter<'a> {
    fn new(store: &'a EmbeddedStore, few: bool) -> Result<Self, IndexStoreError> {
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
            _ => EmbeddedStore::source_map(&snapshot)?,
        };
        let part = PartWriter::create(&store.folder, part_id, &manifest.identity.model)?;
        let dead = (*snapshot.dead).clone();
        let fresh = Vec::new();
        Ok(Self { store, snapshot, lexical, writer, manifest, dead, sources, part, part_id, fresh })
    }

    fn apply(&mut self, chunk: Vec<StoreChange>) -> Result<(), IndexStoreError> {
        let mut ready = self.analyse(&chunk)?.into_iter();
        for change in chunk {
            match change {
                StoreChange::Put(source) => {
                    let units = ready.by_ref().take(source.units.len()).collect();
                    self.put(source, units)?;
                }
                StoreChange::Remove { collection, path } => self.remove(&collection, &path)?,
            }
        }
        Ok(())
    }

    fn analyse(&self, chunk: &[StoreChange]) -> Result<Vec<PreparedUnit>, IndexStoreError> {
        let documents: Vec<EmbeddingInput<'_>> = chunk
            .iter()
            .filter_map(|change| match change {
                StoreChange::Put(source) => Some(source),
                StoreChange::Remove { .. } => None,
            })
            .flat_map(|IndexedSource { path, genre, units, .. }| {
                units.iter().map(move |unit| EmbeddingInput { unit, path, genre: *genre })
            })
            .collect();
        let embedder = &self.store.embedder;
        let tasks = documents.par_chunks(UNITS_PER_TASK).map(|documents| {
            let vectors = embedder.documents(documents)?;
            Ok(documents
                .iter()
                .zip(vectors)
                .map(|(document, vector)| ready(document, vector))
                .collect())
        });
        let tasks: Vec<Vec<PreparedUnit>> = tasks.collect::<Result<_, IndexStoreError>>()?;
        Ok(tasks.into_iter().flatten().collect())
    }

    fn put(
        &mut self,
        source: IndexedSource,
        units: Vec<PreparedUnit>,
    ) -> Result<(), IndexStoreError> {
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
            let stored = StoredUnit {
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
            self.writer.add_document(document).map_err(classify_error)?;
        }
        self.sources.insert((source.collection, source.path), (self.part_id, slot));
        Ok(())
    }

    fn remove(&mut self, collection: &str, path: &str) -> Result<(), IndexStoreError> {
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

    fn commit(mut self) -> Result<(), IndexStoreError> {
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

fn ready(document: &EmbeddingInput<'_>, vector: Vector) -> PreparedUnit {
    let mut weighted = String::new();
    let EmbeddingInput { unit, path, genre } = *document;
    let terms = UnitTerms::of(unit, path, genre, MAX_FIELD_TERMS, &mut weighted);
    let record = record::encode(unit, &terms);
    PreparedUnit { record, weighted, lengths: terms.lengths, vector }
}

/// Recomputes the vectors of every part with the configured model.
pub(super) fn reembed(store: &EmbeddedStore, _lock: &WriteLock<'_>) -> Result<(), IndexStoreError> {
    let snapshot = store.snapshot()?;
    let identity = store.embedder.identity();
    tracing::info!(before = %snapshot.manifest.identity, now = %identity, "recomputing vectors with another model");
    let mut manifest = snapshot.manifest.clone();
    manifest.generation += 1;
    manifest.identity = identity.clone();
    manifest.graph = None;
    for (part, meta) in snapshot.parts.iter().zip(&mut manifest.parts) {
        let name = vectors_name(meta.id, &identity.model);
        let mut file = SealedFileWriter::create(&store.folder, name)?;
        let mut scales = Vec::with_capacity(part.len() * 4);
        let places: Vec<usize> = (0..part.len()).collect();
        for places in places.chunks(UNITS_PER_CHUNK) {
            let tasks =
                places.par_chunks(UNITS_PER_TASK).map(|places| embedded(store, part, places));
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
    store: &EmbeddedStore,
    part: &super::part::OpenPart,
    places: &[usize],
) -> Result<Vec<Vector>, IndexStoreError> {
    let units: Vec<(IndexUnit, u32)> = places
        .iter()
        .map(|&n| Ok((part.record(n)?.unit()?, part.slot(n))))
        .collect::<Result<_, IndexStoreError>>()?;
    let mut entries = HashMap::new();
    for (_, slot) in &units {
        entries.insert(*slot, part.source(*slot)?);
    }
    let documents: Vec<EmbeddingInput<'_>> = units
        .iter()
        .filter_map(|(unit, slot)| {
            let source = entries.get(slot)?;
            Some(EmbeddingInput { unit, path: source.path, genre: source.genre })
        })
        .collect();
    Ok(store.embedder.documents(&documents)?)
}
