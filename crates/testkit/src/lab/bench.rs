//! Measures the speed and size of the index, compared with tantivy alone and usearch alone.
//!
//! Each size is written and queried in separate processes, so that memory is counted from zero.

use crate::corpus::{JudgedCollection, JudgedQuestion};
use docent_index::{
    Digest, EmbeddedStore, EmbeddedStoreSettings, IndexQuery, IndexStore, IndexStoreError,
    IndexedSource, StoreChange,
    embed::{Embedder as _, EmbeddingInput, EmbeddingTable},
    search,
};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

/// The number of timed questions.
const QUESTION_COUNT: usize = 200;
/// The number of timed changes of one file.
const EDIT_COUNT: usize = 20;

/// The measurements of one size.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SizeMeasurements {
    /// Units embedded and stored per second.
    pub rate: f64,
    /// Milliseconds to open and count.
    pub open: f64,
    /// Milliseconds of the first question, which checks every file.
    pub first: f64,
    /// p50 of the questions, in milliseconds.
    pub median: f64,
    /// p95 of the questions, in milliseconds.
    pub slow: f64,
    /// Bytes of private memory per unit after all questions, beyond that of an empty store.
    pub own: f64,
    /// Bytes of file-backed memory per unit then; the system drops them when it needs the space.
    pub mapped: f64,
    /// Bytes on disk per unit.
    pub disk: f64,
    /// Bytes of text per unit.
    pub text: f64,
    /// Milliseconds from writing a changed file to finding its new content.
    pub edit: f64,
    /// The recall of the exact ten nearest, if not complete.
    pub recall: Option<f64>,
}

/// Creates this many units: the real ones, then copies of them under other folders.
pub fn sources(judged: &[JudgedCollection], units: usize) -> Vec<IndexedSource> {
    let mut left = units;
    let mut all = Vec::new();
    for copy in 0.. {
        for source in judged.iter().flat_map(|judged| &judged.sources) {
            if left == 0 {
                return all;
            }
            let mut source = source.clone();
            source.units.truncate(left);
            left -= source.units.len();
            source.path = format!("copy{copy}/{}", source.path);
            all.push(source);
        }
    }
    all
}

/// Picks questions from every collection.
pub fn questions(judged: &[JudgedCollection]) -> Vec<String> {
    let all: Vec<&JudgedQuestion> = judged.iter().flat_map(|judged| &judged.questions).collect();
    let step = (all.len() / QUESTION_COUNT).max(1);
    all.iter().step_by(step).take(QUESTION_COUNT).map(|question| question.text.clone()).collect()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The p50 and the p95.
fn spread(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    (at(50), at(95))
}

#[expect(clippy::cast_precision_loss, reason = "a displayed figure")]
fn per_unit(bytes: u64, units: usize) -> f64 {
    bytes as f64 / units.max(1) as f64
}

/// The total size of a folder's files.
pub fn disk(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        sum += if meta.is_dir() { disk(&entry.path())? } else { meta.len() };
    }
    Ok(sum)
}

/// The current memory of this process: private or file-backed.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes =
        line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// Writes a store.
pub fn write(
    folder: &Path,
    sources: Vec<IndexedSource>,
) -> Result<SizeMeasurements, IndexStoreError> {
    let units: usize = sources.iter().map(|source| source.units.len()).sum();
    let text: u64 = sources
        .iter()
        .flat_map(|source| &source.units)
        .map(|unit| {
            (unit.name.len() + unit.signature.len() + unit.doc.len() + unit.body.len()) as u64
        })
        .sum();
    let store =
        EmbeddedStore::open(folder, EmbeddingTable::built_in(), EmbeddedStoreSettings::default())?;
    let start = Instant::now();
    store.write(&mut sources.into_iter().map(StoreChange::Put))?;
    let rate = per_unit(units as u64, 1) / start.elapsed().as_secs_f64();
    let bytes =
        disk(folder).map_err(|source| IndexStoreError::File { path: folder.to_owned(), source })?;
    Ok(SizeMeasurements {
        rate,
        disk: per_unit(bytes, units),
        text: per_unit(text, units),
        ..SizeMeasurements::default()
    })
}

/// Queries a store that another process wrote.
pub fn ask(folder: &Path, questions: &[String]) -> Result<SizeMeasurements, IndexStoreError> {
    let table = EmbeddingTable::built_in();
    let start = Instant::now();
    let store = EmbeddedStore::open(folder, table.clone(), EmbeddedStoreSettings::default())?;
    let units = usize::try_from(store.status()?.units).unwrap_or(usize::MAX);
    let open = milliseconds(start.elapsed());
    let before = [memory("RssAnon:"), memory("RssFile:")];
    let one = |text: &String| {
        let start = Instant::now();
        search(&store, table.as_ref(), &IndexQuery::new(text))
            .map(|_| milliseconds(start.elapsed()))
    };
    let first = one(&questions[0])?;
    let times = questions.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let (median, slow) = spread(times);
    let own = per_unit(memory("RssAnon:").saturating_sub(before[0]), units);
    let mapped = per_unit(memory("RssFile:").saturating_sub(before[1]), units);
    let edits = (0..EDIT_COUNT).map(|n| edit(&store, n)).collect::<Result<Vec<_>, _>>()?;
    Ok(SizeMeasurements {
        open,
        first,
        median,
        slow,
        own,
        mapped,
        edit: spread(edits).0,
        ..SizeMeasurements::default()
    })
}

/// Changes one file of ten units and searches for the change.
fn edit(store: &EmbeddedStore, n: usize) -> Result<f64, IndexStoreError> {
    let view = store.view()?;
    let (_, candidates) = docent_index::rank::candidates(
        &view,
        EmbeddingTable::built_in().as_ref(),
        &IndexQuery::new("read a file"),
    )?;
    let found = candidates.rows().next().map(|row| view.unit(row)).transpose()?;
    let Some(found) = found else { return Ok(0.0) };
    let name = format!("zanzibar_quokka_{n}");
    let units = (0..10)
        .map(|m| docent_index::IndexUnit {
            id: format!("{name}_{m}"),
            name: name.clone(),
            ..found.unit.clone()
        })
        .collect();
    let source = IndexedSource {
        collection: "bench".into(),
        path: "edited.rs".into(),
        genre: found.genre,
        digest: Digest::of(&[name.as_bytes()]),
        units,
    };
    let start = Instant::now();
    store.write(&mut std::iter::once(StoreChange::Put(source)))?;
    let hits = search(store, EmbeddingTable::built_in().as_ref(), &IndexQuery::new(&name))?.hits;
    let took = milliseconds(start.elapsed());
    assert!(hits.first().is_some_and(|hit| hit.found.unit.name == name), "the change is found");
    Ok(took)
}

/// Tantivy with one field and its own tokenizer.
pub fn tantivy_alone(
    folder: &Path,
    sources: &[IndexedSource],
    questions: &[String],
) -> tantivy::Result<SizeMeasurements> {
    use tantivy::{
        Index, TantivyDocument,
        collector::TopDocs,
        query::QueryParser,
        schema::{STORED, Schema, TEXT},
    };
    let mut schema = Schema::builder();
    let (name, text) =
        (schema.add_text_field("name", TEXT | STORED), schema.add_text_field("text", TEXT));
    let index = Index::create_in_dir(folder, schema.build())?;
    let mut writer = index.writer_with_num_threads::<TantivyDocument>(2, 200_000_000)?;
    let mut units = 0;
    let start = Instant::now();
    for source in sources {
        for unit in &source.units {
            let mut document = TantivyDocument::new();
            document.add_text(name, &unit.name);
            document.add_text(text, format!("{} {} {}", source.path, unit.signature, unit.body));
            writer.add_document(document)?;
            units += 1;
        }
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    let rate = per_unit(units, 1) / start.elapsed().as_secs_f64();
    let start = Instant::now();
    let index = Index::open_in_dir(folder)?;
    let searcher = index.reader()?.searcher();
    let open = milliseconds(start.elapsed());
    let parser = QueryParser::for_index(&index, vec![name, text]);
    let mut times = Vec::new();
    for question in questions {
        let start = Instant::now();
        let (query, _) = parser.parse_query_lenient(question);
        for (_, address) in searcher.search(&query, &TopDocs::with_limit(10).order_by_score())? {
            searcher.doc::<TantivyDocument>(address)?;
        }
        times.push(milliseconds(start.elapsed()));
    }
    let (median, slow) = spread(times);
    let disk = per_unit(disk(folder)?, usize::try_from(units).unwrap_or(1));
    Ok(SizeMeasurements { rate, open, median, slow, disk, ..SizeMeasurements::default() })
}

/// usearch with our vectors, one byte per dimension.
pub fn usearch_alone(
    sources: &[IndexedSource],
    questions: &[String],
) -> Result<SizeMeasurements, UsearchError> {
    use usearch::{Index, IndexOptions, MetricKind, ScalarKind};
    let table = EmbeddingTable::built_in();
    let documents = sources.iter().flat_map(|source| {
        let of = |unit| EmbeddingInput { unit, path: &source.path, genre: source.genre };
        source.units.iter().map(of)
    });
    let vectors: Vec<_> =
        documents.flat_map(|document| table.documents(&[document]).unwrap_or_default()).collect();
    let options = IndexOptions {
        dimensions: table.identity().dimensions,
        metric: MetricKind::Cos,
        quantization: ScalarKind::I8,
        ..IndexOptions::default()
    };
    let index = Index::new(&options).map_err(UsearchError::new)?;
    index.reserve(vectors.len()).map_err(UsearchError::new)?;
    let start = Instant::now();
    for (key, vector) in (0..).zip(&vectors) {
        index.add(key, vector.codes()).map_err(UsearchError::new)?;
    }
    let rate = per_unit(vectors.len() as u64, 1) / start.elapsed().as_secs_f64();
    let (mut times, mut found, mut all) = (Vec::new(), 0_u32, 0_u32);
    for question in questions {
        let Ok(question) = table.query(question) else { continue };
        let start = Instant::now();
        let near = index.search(question.codes(), 10).map_err(UsearchError::new)?;
        times.push(milliseconds(start.elapsed()));
        let exact = index.exact_search(question.codes(), 10).map_err(UsearchError::new)?;
        all += u32::try_from(exact.keys.len()).unwrap_or(0);
        let both = exact.keys.iter().filter(|key| near.keys.contains(key));
        found += u32::try_from(both.count()).unwrap_or(0);
    }
    let (median, slow) = spread(times);
    let recall = Some(f64::from(found) / f64::from(all.max(1)));
    Ok(SizeMeasurements { rate, median, slow, recall, ..SizeMeasurements::default() })
}

/// An error of usearch.
#[derive(Debug, thiserror::Error)]
#[error("usearch failed: {0}")]
pub struct UsearchError(String);

impl UsearchError {
    fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}
