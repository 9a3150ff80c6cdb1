//! Compaction: merges small parts and segments, drops deleted units, and builds the graph.

use super::{
    super::IndexStoreError,
    EmbeddedStore, WriteLock,
    file::{ManifestFile, failed},
    lexical::classify_error,
    manifest::{GraphFile, IndexManifest},
    part::{OpenPart, PartWriter, SourceEntry, StoredUnit},
    snapshot::{DeletedRows, Snapshot, source_number},
    writer::{lexical_writer, publish, write_dead},
};
use crate::scan::NeighborGraph;
use docent_files::{DataFile, FileAccess};
use std::{
    io::Read,
    path::Path,
    sync::{Arc, PoisonError},
};
use tantivy::index::SegmentId;
use xxhash_rust::xxh3::Xxh3Default;

/// Maximum number of parts or segments before merging.
const MAX_PARTS: usize = 8;
/// Maximum percentage of deleted units.
const DEAD_PERCENT: u64 = 25;
/// Maximum percentage of units missing from the graph before it is rebuilt.
const UNLINKED_PERCENT: u64 = 10;

/// Runs the compaction due after a write.
pub(super) fn tidy(store: &EmbeddedStore, _lock: &WriteLock<'_>) -> Result<(), IndexStoreError> {
    let snapshot = store.snapshot()?;
    let from = first_to_join(&snapshot);
    let segments = segments_to_join(&snapshot);
    let graph = wants_graph(store, &snapshot);
    if from.is_none() && segments.len() < 2 && !graph {
        return Ok(());
    }
    let mut manifest = snapshot.manifest.clone();
    manifest.generation += 1;
    let mut dead = (*snapshot.dead).clone();
    if let Some(from) = from {
        join(store, &snapshot, from, &mut manifest, &mut dead)?;
        write_dead(&store.folder, &mut manifest, &dead)?;
        *store.sources.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
    if graph {
        manifest.graph = Some(build_graph(store, &snapshot, &manifest)?);
    }
    let mut writer = lexical_writer(&store.open_lexical()?, true)?;
    if segments.len() >= 2 {
        writer.merge(&segments).wait().map_err(classify_error)?;
    }
    publish(store, &mut writer, &manifest)?;
    // The source map of the previous generation is still valid.
    let mut sources = store.sources.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((generation, _)) = sources.as_mut() {
        *generation = manifest.generation;
    }
    Ok(())
}

/// Index of the first part to merge, up to the last.
fn first_to_join(snapshot: &Snapshot) -> Option<usize> {
    let sizes: Vec<u64> = snapshot.parts.iter().map(|part| part.len() as u64).collect();
    let all: u64 = sizes.iter().sum();
    if snapshot.dead.rows.len() * 100 > all * DEAD_PERCENT && all > 1_000 {
        return Some(0);
    }
    if sizes.len() <= MAX_PARTS {
        return None;
    }
    // A large part is merged only after enough small ones, so each unit is copied only a few times.
    let (mut from, mut sum) = (sizes.len() - 1, *sizes.last()?);
    while from > 0 && (sizes[from - 1] <= 2 * sum || sizes.len() - from < MAX_PARTS / 2) {
        from -= 1;
        sum += sizes[from];
    }
    Some(from)
}

fn segments_to_join(snapshot: &Snapshot) -> Vec<SegmentId> {
    let mut sizes: Vec<(u32, SegmentId)> = snapshot
        .searcher
        .segment_readers()
        .iter()
        .map(|reader| (reader.max_doc(), reader.segment_id()))
        .collect();
    if sizes.len() <= MAX_PARTS {
        return Vec::new();
    }
    sizes.sort();
    let (mut joined, mut sum) = (Vec::new(), 0_u64);
    for (size, id) in sizes {
        let size = u64::from(size);
        if joined.len() >= 2 && (size > 2 * sum && joined.len() >= MAX_PARTS / 2) {
            break;
        }
        sum += size;
        joined.push(id);
    }
    joined
}

fn join(
    store: &EmbeddedStore,
    snapshot: &Snapshot,
    from: usize,
    manifest: &mut IndexManifest,
    dead: &mut DeletedRows,
) -> Result<(), IndexStoreError> {
    let id = manifest.next_part;
    manifest.next_part += 1;
    let mut writer = PartWriter::create(&store.folder, id, &manifest.identity.model)?;
    for part in &snapshot.parts[from..] {
        copy(part, &mut writer, dead)?;
    }
    manifest.parts.truncate(from);
    manifest.parts.push(writer.finish()?);
    Ok(())
}

/// Copies live units, and drops deleted ones.
fn copy(
    part: &Arc<OpenPart>,
    writer: &mut PartWriter,
    dead: &mut DeletedRows,
) -> Result<(), IndexStoreError> {
    for slot in 0..part.meta.sources {
        let number = source_number(part.meta.id, slot);
        let source = part.source(slot)?;
        let units = source.first as usize..(source.first + source.units) as usize;
        if dead.sources.remove(number) {
            for n in units {
                dead.rows.remove(part.row(n));
            }
            continue;
        }
        writer.source(&SourceEntry { first: 0, ..source });
        for n in units {
            let stored = StoredUnit {
                kind: part.kind(n),
                language: part.language(n),
                lengths: part.record(n)?.lengths(),
                record: part.raw(n),
                codes: part.vectors.codes(n, n + 1),
                scale: part.vectors.scale(n),
            };
            writer.unit(part.row(n), &stored)?;
        }
    }
    Ok(())
}

fn wants_graph(store: &EmbeddedStore, snapshot: &Snapshot) -> bool {
    let units: u64 = snapshot.parts.iter().map(|part| part.len() as u64).sum();
    if units <= store.settings.graph_above {
        return false;
    }
    let Some(graph) = &snapshot.manifest.graph else { return true };
    let behind = u64::from(snapshot.manifest.next_row - graph.below);
    behind * 100 > units * UNLINKED_PERCENT
}

fn build_graph(
    store: &EmbeddedStore,
    snapshot: &Snapshot,
    manifest: &IndexManifest,
) -> Result<GraphFile, IndexStoreError> {
    let mut vectors = Vec::new();
    for part in &snapshot.parts {
        part.vectors.verify()?;
        for n in 0..part.len() {
            let row = part.row(n);
            if !snapshot.dead.rows.contains(row) {
                vectors.push((row, part.vectors.codes(n, n + 1)));
            }
        }
    }
    let name = format!("graph-{}", manifest.generation);
    let path = store.folder.path().join(&name);
    let created = store.folder.create_over(&name, FileAccess::Private).map_err(failed(&path))?;
    // It can only be written by path: use the path of the open file, whatever has its name by then.
    let built =
        NeighborGraph::build(&created.path_by_handle(), manifest.identity.dimensions, &vectors);
    built.map_err(|error| IndexStoreError::Graph(error.to_string()))?;
    created.sync_all().map_err(failed(&path))?;
    let written = store.folder.read(&name).map_err(failed(&path))?;
    Ok(GraphFile { below: manifest.next_row, file: seal(written, &path, name)? })
}

/// Seals a file written by a library.
fn seal(mut file: DataFile, path: &Path, name: String) -> Result<ManifestFile, IndexStoreError> {
    let (mut hash, mut bytes) = (Xxh3Default::new(), 0);
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut piece).map_err(failed(path))?;
        if read == 0 {
            break;
        }
        hash.update(piece.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
    Ok(ManifestFile { name, bytes, hash: format!("{:016x}", hash.digest()) })
}
