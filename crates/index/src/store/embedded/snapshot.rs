//! An open generation.

use super::{
    super::{
        CandidateUnit, CandidateUnits, CorpusStatistics, FoundUnit, IndexStoreError, NearbyTerms,
        SourceSummary, StoreStatus, StoreView, UnitRow,
    },
    file::{MappedFile, corrupt},
    lexical::{LexicalFields, LexicalIndex, LexicalLookup},
    manifest::IndexManifest,
    part::OpenPart,
    record::UnitRecord,
    vocabulary,
};
use crate::{
    analysis::TermCounts,
    embed::Vector,
    query::{AnalyzedQuery, UnitFilter},
    scan::{DotProduct, NearestRows, NeighborGraph, ScoredRow},
    unit::Genre,
};
use docent_files::ManagedFolder;
use rayon::prelude::*;
use roaring::{RoaringBitmap, RoaringTreemap};
use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU8, Ordering},
    },
};
use tantivy::Searcher;

/// Units scanned per task.
const UNITS_PER_SCAN_TASK: usize = 4096;
/// Candidates read per task.
const CANDIDATES_PER_TASK: usize = 64;
/// Sample size for the average similarity.
const SIMILARITY_SAMPLE_UNITS: usize = 4096;

/// Deleted rows and sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DeletedRows {
    pub(super) rows: RoaringBitmap,
    /// Part id in the upper half, source position in the lower.
    pub(super) sources: RoaringTreemap,
}

pub(super) fn source_number(part: u64, slot: u32) -> u64 {
    part << 32 | u64::from(slot)
}

impl DeletedRows {
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.rows.serialize_into(&mut bytes)?;
        self.sources.serialize_into(&mut bytes)?;
        Ok(bytes)
    }

    fn decode(mut bytes: &[u8]) -> io::Result<Self> {
        let rows = RoaringBitmap::deserialize_from(&mut bytes)?;
        Ok(Self { rows, sources: RoaringTreemap::deserialize_from(&mut bytes)? })
    }
}

/// A generation with its files open.
pub(super) struct Snapshot {
    pub(super) manifest: IndexManifest,
    pub(super) parts: Vec<Arc<OpenPart>>,
    pub(super) dead: Arc<DeletedRows>,
    pub(super) searcher: Searcher,
    fields: LexicalFields,
    lexical: Arc<LexicalIndex>,
    graph: Option<OpenGraph>,
    /// Set once the files that are read as a whole are verified.
    whole: OnceLock<()>,
    /// Number of units by collection and genre, counted on first use.
    collections: OnceLock<BTreeMap<(String, Genre), u64>>,
    dot: DotProduct,
}

struct OpenGraph {
    below: u32,
    graph: NeighborGraph,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("generation", &self.manifest.generation)
            .field("parts", &self.parts.len())
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    /// Opens the files of a generation; reuses those that `before` has open.
    pub(super) fn open(
        folder: &ManagedFolder,
        lexical: &Arc<LexicalIndex>,
        empty: IndexManifest,
        before: Option<&Self>,
    ) -> Result<Self, IndexStoreError> {
        let (manifest, searcher) = lexical.newest(empty)?;
        let dimensions = manifest.identity.dimensions;
        let known = |meta: &super::manifest::ManifestPart| {
            before?.parts.iter().find(|part| part.meta == *meta).map(Arc::clone)
        };
        let open = |meta| match known(meta) {
            Some(part) => Ok(part),
            None => OpenPart::open(folder, meta, dimensions).map(Arc::new),
        };
        let parts = manifest.parts.iter().map(open).collect::<Result<_, _>>()?;
        let dead = match &manifest.dead {
            None => Arc::default(),
            Some(sealed) => {
                let mapped = MappedFile::open(folder, sealed)?;
                mapped.verify(sealed)?;
                let dead = DeletedRows::decode(mapped.bytes());
                Arc::new(dead.map_err(|error| corrupt(&sealed.name, error.to_string()))?)
            }
        };
        let graph = match &manifest.graph {
            None => None,
            Some(meta) => {
                MappedFile::open(folder, &meta.file)?.verify(&meta.file)?;
                let graph = NeighborGraph::open(&folder.path().join(&meta.file.name), dimensions);
                let graph = graph.map_err(|error| corrupt(&meta.file.name, error.to_string()))?;
                Some(OpenGraph { below: meta.below, graph })
            }
        };
        let (fields, lexical) = (lexical.fields, Arc::clone(lexical));
        let (whole, collections, dot) = (OnceLock::new(), OnceLock::new(), DotProduct::detect());
        Ok(Self {
            manifest,
            parts,
            dead,
            searcher,
            fields,
            lexical,
            graph,
            whole,
            collections,
            dot,
        })
    }

    /// Before the first query, checks every file that queries read as a whole.
    pub(super) fn verify(&self) -> Result<(), IndexStoreError> {
        if self.whole.get().is_none() {
            self.lexical.verify()?;
            self.parts.par_iter().try_for_each(|part| part.vectors.verify())?;
            // Another thread may have been faster.
            self.whole.get_or_init(|| ());
        }
        Ok(())
    }

    /// The part with a row, and its position there.
    fn find(&self, row: u32) -> Option<(&OpenPart, usize)> {
        let after = self.parts.partition_point(|part| part.len() > 0 && part.row(0) <= row);
        let part = self.parts.get(after.checked_sub(1)?)?;
        part.find(row).map(|n| (part.as_ref(), n))
    }

    /// The kept rows nearest to a vector; also the mean and deviation of the similarity of kept rows.
    fn nearest(
        &self,
        vector: &Vector,
        most: usize,
        keep: &(dyn Fn(u32) -> bool + Sync),
        there: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<(Vec<ScoredRow>, (f32, f32)), IndexStoreError> {
        let question: Vec<i16> = vector.codes().iter().map(|&code| i16::from(code)).collect();
        if question.len() != self.manifest.identity.dimensions {
            return Ok((Vec::new(), (0.0, 0.0)));
        }
        let covered = self.graph.as_ref().map_or(0, |graph| graph.below);
        let blocks: Vec<(&OpenPart, usize)> = self
            .parts
            .iter()
            .filter(|part| part.len() > 0 && part.row(part.len() - 1) >= covered)
            .flat_map(|part| {
                (0..part.len()).step_by(UNITS_PER_SCAN_TASK).map(|from| (part.as_ref(), from))
            })
            .collect();
        // Rows in the graph are searched there.
        let keep_here = |row: u32| row >= covered && keep(row);
        let scan = |mut scan: VectorScan, &(part, from): &(&OpenPart, usize)| {
            let to = (from + UNITS_PER_SCAN_TASK).min(part.len());
            self.dot.each(&question, part.vectors.codes(from, to), &mut scan.products);
            scan.block(part, from, vector.scale(), &keep_here);
            scan
        };
        let scan = blocks
            .par_iter()
            .fold(|| VectorScan::new(most), scan)
            .reduce(|| VectorScan::new(most), VectorScan::merge);
        let mut best = scan.nearest;
        if let Some(OpenGraph { graph, .. }) = &self.graph {
            let rows = graph.nearest(vector.codes(), most, keep);
            for row in rows.map_err(|error| IndexStoreError::Graph(error.to_string()))? {
                if let Some((part, n)) = self.find(row) {
                    best.offer(ScoredRow { row, score: vector.cosine(&part.vectors.vector(n)) });
                }
            }
        }
        Ok((best.into_sorted(), self.nearness(&question, vector.scale(), there)))
    }

    /// Mean and standard deviation of the similarity to a query, over a sample of kept units.
    fn nearness(
        &self,
        question: &[i16],
        scale: f32,
        keep: &(dyn Fn(u32) -> bool + Sync),
    ) -> (f32, f32) {
        let units: usize = self.parts.iter().map(|part| part.len()).sum();
        let step = (units / SIMILARITY_SAMPLE_UNITS).max(1);
        let mut products = Vec::new();
        let (mut count, mut sum, mut squares) = (0.0_f32, 0.0, 0.0);
        for part in &self.parts {
            for n in (0..part.len()).step_by(step).filter(|n| keep(part.row(*n))) {
                self.dot.each(question, part.vectors.codes(n, n + 1), &mut products);
                for product in &products {
                    #[expect(clippy::cast_precision_loss, reason = "far below what is kept")]
                    let score = *product as f32 * part.vectors.scale(n) * scale;
                    count += 1.0;
                    sum += score;
                    squares += score * score;
                }
            }
        }
        let mean = sum / count.max(1.0);
        (mean, (squares / count.max(1.0) - mean * mean).max(0.0).sqrt())
    }

    fn candidate(
        &self,
        row: u32,
        question: &AnalyzedQuery,
    ) -> Result<Option<CandidateUnit>, IndexStoreError> {
        let Some((part, n)) = self.find(row) else { return Ok(None) };
        let record = part.record(n)?;
        let slot = part.slot(n);
        let (name, kind, signature) = record.title()?;
        let (counts, shares) = term_counts(&record, question);
        Ok(Some(CandidateUnit {
            row: UnitRow(row),
            genre: part.source(slot)?.genre,
            source: source_number(part.meta.id, slot),
            kind: kind.to_owned(),
            name: name.to_owned(),
            signature: signature.to_owned(),
            counts,
            shares,
            pairs: question.pairs.iter().map(|key| record.counts(*key)).collect(),
            lengths: record.lengths(),
            vector: question.vector.as_ref().map(|_| part.vectors.vector(n)),
        }))
    }

    /// Number of units in the named collections, or in all.
    fn units_of(&self, collections: &[String]) -> u64 {
        if collections.is_empty() {
            return self.status().units;
        }
        let counts = self.counts();
        let asked = counts.iter().filter(|((name, _), _)| collections.contains(name));
        asked.map(|(_, units)| units).sum()
    }

    fn counts(&self) -> &BTreeMap<(String, Genre), u64> {
        self.collections.get_or_init(|| {
            let mut counts = BTreeMap::new();
            for part in &self.parts {
                let alive =
                    |slot: &u32| !self.dead.sources.contains(source_number(part.meta.id, *slot));
                let sources = (0..part.meta.sources).filter(alive);
                for source in sources.filter_map(|slot| part.source(slot).ok()) {
                    let of = (source.collection.to_owned(), source.genre);
                    *counts.entry(of).or_default() += u64::from(source.units);
                }
            }
            counts
        })
    }

    /// Share of all units that are in the named collections.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn share_of(&self, collections: &[String]) -> f64 {
        self.units_of(collections) as f64 / self.status().units.max(1) as f64
    }

    fn statistics(
        &self,
        holders: Vec<u64>,
        filter: &UnitFilter,
        nearness: (f32, f32),
    ) -> CorpusStatistics {
        let units: u64 = self.parts.iter().map(|part| part.len() as u64).sum();
        #[expect(clippy::cast_precision_loss, reason = "an average")]
        let lengths = std::array::from_fn(|n| {
            let sum: u64 = self.parts.iter().map(|part| part.meta.lengths[n]).sum();
            sum as f32 / units.max(1) as f32
        });
        let units = self.units_of(&filter.collections);
        CorpusStatistics { units, holders, lengths, nearness }
    }
}

impl StoreView for Snapshot {
    fn status(&self) -> StoreStatus {
        let units: u64 = self.parts.iter().map(|part| u64::from(part.meta.units)).sum();
        let sources: u64 = self.parts.iter().map(|part| u64::from(part.meta.sources)).sum();
        StoreStatus {
            generation: self.manifest.generation,
            units: units - self.dead.rows.len(),
            sources: sources - self.dead.sources.len(),
            identity: self.manifest.identity.clone(),
        }
    }

    fn candidates(
        &self,
        question: &AnalyzedQuery,
        filter: &UnitFilter,
        most: usize,
    ) -> Result<CandidateUnits, IndexStoreError> {
        self.verify()?;
        let sieve = RowFilter::new(self, filter);
        let keep = |row: u32| !self.dead.rows.contains(row) && sieve.keeps(row);
        let lookup = LexicalLookup { searcher: &self.searcher, fields: self.fields, question };
        let holders = lookup.holders(&question.terms)?;
        // Rarity and average similarity are computed over the filtered collections, ignoring other filters.
        let collections =
            UnitFilter { collections: filter.collections.clone(), ..UnitFilter::default() };
        let around = RowFilter::new(self, &collections);
        let there = |row: u32| !self.dead.rows.contains(row) && around.keeps(row);
        let counted = if collections.is_open() {
            holders.clone()
        } else {
            lookup.holders_among(&holders, self.share_of(&filter.collections), &there)?
        };
        let counted = lookup.holders_of_forms(counted)?;
        let (best, near) = rayon::join(
            || lookup.best(&holders, most, &keep),
            || match &question.vector {
                Some(vector) => self.nearest(vector, most, &keep, &there),
                None => Ok((Vec::new(), (0.0, 0.0))),
            },
        );
        let (near, nearness) = near?;
        let exact = lookup.rows_with_exact_names(most, &keep)?;
        let all = best?.into_iter().chain(near).chain(exact);
        let mut rows: Vec<u32> = all.map(|near| near.row).collect();
        rows.sort_unstable();
        rows.dedup();
        let units: Vec<Option<CandidateUnit>> = rows
            .par_iter()
            .with_min_len(CANDIDATES_PER_TASK)
            .map(|row| self.candidate(*row, question))
            .collect::<Result<_, _>>()?;
        let units = units.into_iter().flatten().collect();
        Ok(CandidateUnits { units, statistics: self.statistics(counted, filter, nearness) })
    }

    fn has_genre(&self, genre: Genre, filter: &UnitFilter) -> bool {
        let is_asked =
            |name: &String| filter.collections.is_empty() || filter.collections.contains(name);
        let mut counts = self.counts().iter();
        counts.any(|((name, of), units)| *of == genre && *units > 0 && is_asked(name))
    }

    fn has(
        &self,
        term: &str,
        genre: Option<Genre>,
        filter: &UnitFilter,
    ) -> Result<bool, IndexStoreError> {
        self.verify()?;
        let collections =
            UnitFilter { collections: filter.collections.clone(), ..UnitFilter::default() };
        let sieve = RowFilter::new(self, &collections);
        let is_of = |row: u32, genre| {
            let source = self.find(row).map(|(part, n)| part.source(part.slot(n)));
            source.and_then(Result::ok).is_some_and(|source| source.genre == genre)
        };
        let keep = |row: u32| {
            !self.dead.rows.contains(row)
                && sieve.keeps(row)
                && genre.is_none_or(|genre| is_of(row, genre))
        };
        vocabulary::has(&self.searcher, self.fields, term, &keep)
    }

    fn vocabulary(&self, near: &NearbyTerms<'_>) -> Result<Vec<(String, u64)>, IndexStoreError> {
        self.verify()?;
        vocabulary::near(&self.searcher, self.fields, near)
    }

    fn unit(&self, row: UnitRow) -> Result<FoundUnit, IndexStoreError> {
        let found = self.find(row.0);
        let (part, n) = found.ok_or_else(|| corrupt("units", "a row is not in any part"))?;
        let unit = part.record(n)?.unit()?;
        let source = part.source(part.slot(n))?;
        let (collection, path) = (source.collection.to_owned(), source.path.to_owned());
        Ok(FoundUnit { collection, path, genre: source.genre, digest: source.digest, unit })
    }

    fn sources(&self, collection: &str) -> Result<Vec<SourceSummary>, IndexStoreError> {
        let mut all = Vec::new();
        for part in &self.parts {
            for slot in 0..part.meta.sources {
                let source = part.source(slot)?;
                let gone = self.dead.sources.contains(source_number(part.meta.id, slot));
                if source.collection != collection || gone {
                    continue;
                }
                let units = source.first as usize..(source.first + source.units) as usize;
                let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
                for n in units.clone() {
                    *kinds.entry(part.kind(n)).or_default() += 1;
                }
                let language = units.clone().next().map_or("", |n| part.language(n)).to_owned();
                let kinds = kinds.into_iter().map(|(kind, count)| (kind.to_owned(), count));
                let title = match units.clone().next() {
                    Some(n) => part.record(n)?.title()?.0.to_owned(),
                    None => String::new(),
                };
                let path = source.path.to_owned();
                all.push(SourceSummary { path, title, language, kinds: kinds.collect() });
            }
        }
        Ok(all)
    }
}

/// Occurrences of each of a query's terms, or its first matching alternative, in each field; and its weight.
fn term_counts(record: &UnitRecord<'_>, question: &AnalyzedQuery) -> (Vec<TermCounts>, Vec<f32>) {
    let is_there = |counts: &TermCounts| counts.iter().any(|count| *count > 0);
    let each = question.keys.iter().zip(&question.forms).map(|(key, forms)| {
        let own = record.counts(*key);
        if is_there(&own) {
            return (own, 1.0);
        }
        let mut others = forms.iter().map(|form| (joint_counts(record, &form.keys), form.share));
        others.find(|(counts, _)| is_there(counts)).unwrap_or((own, 1.0))
    });
    each.unzip()
}

/// Occurrences of all of these terms in each field.
fn joint_counts(record: &UnitRecord<'_>, keys: &[u32]) -> TermCounts {
    let each = keys.iter().map(|key| record.counts(*key));
    let least = each.reduce(|a, b| std::array::from_fn(|n| a[n].min(b[n])));
    least.unwrap_or_default()
}

/// One thread's part of a vector scan.
struct VectorScan {
    nearest: NearestRows,
    products: Vec<i32>,
}

impl VectorScan {
    fn new(most: usize) -> Self {
        Self { nearest: NearestRows::new(most), products: Vec::new() }
    }

    /// Adds the products of the units of a part from `from` on.
    fn block(&mut self, part: &OpenPart, from: usize, scale: f32, keep: &dyn Fn(u32) -> bool) {
        let mut bar = self.nearest.bar();
        for (n, product) in (from..).zip(&self.products) {
            #[expect(clippy::cast_precision_loss, reason = "rounding is far below what is kept")]
            let score = *product as f32 * part.vectors.scale(n) * scale;
            if score > bar {
                let row = part.row(n);
                if keep(row) {
                    self.nearest.offer(ScoredRow { row, score });
                    bar = self.nearest.bar();
                }
            }
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.nearest = self.nearest.merge(other.nearest);
        self
    }
}

/// A filter that caches its result per source.
struct RowFilter<'a> {
    snapshot: &'a Snapshot,
    filter: &'a UnitFilter,
    /// Per part and source: 0 unknown, 1 included, 2 excluded.
    sources: Vec<Vec<AtomicU8>>,
}

impl<'a> RowFilter<'a> {
    fn new(snapshot: &'a Snapshot, filter: &'a UnitFilter) -> Self {
        let unasked = |count: u32| (0..count).map(|_| AtomicU8::new(0)).collect();
        let parts = if filter.is_open() { &[] } else { snapshot.parts.as_slice() };
        let sources = parts.iter().map(|part| unasked(part.meta.sources)).collect();
        Self { snapshot, filter, sources }
    }

    fn keeps(&self, row: u32) -> bool {
        if self.filter.is_open() {
            return true;
        }
        let parts = &self.snapshot.parts;
        let after = parts.partition_point(|part| part.len() > 0 && part.row(0) <= row);
        let Some(at) = after.checked_sub(1) else { return false };
        let part = &parts[at];
        let Some(n) = part.find(row) else { return false };
        self.filter.takes_unit(part.kind(n), part.language(n))
            && self.takes_source(at, part.slot(n))
    }

    fn takes_source(&self, at: usize, slot: u32) -> bool {
        let Some(known) = self.sources.get(at).and_then(|part| part.get(slot as usize)) else {
            return false;
        };
        match known.load(Ordering::Relaxed) {
            0 => {
                let source = self.snapshot.parts[at].source(slot);
                let takes = source
                    .is_ok_and(|source| self.filter.takes_source(source.collection, source.path));
                known.store(if takes { 1 } else { 2 }, Ordering::Relaxed);
                takes
            }
            said => said == 1,
        }
    }
}
