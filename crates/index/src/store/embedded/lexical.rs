//! The lexical index: which rows have which terms. All other data of a unit is in the parts.

use super::{
    super::IndexStoreError,
    directory::SealedDirectory,
    file::{corrupt, failed},
    manifest::IndexManifest,
};
use crate::{
    analysis::written_term,
    query::AnalyzedQuery,
    scan::{NearestRows, ScoredRow},
    synonyms::SynonymForm,
};
use docent_files::{FileAccess, FileIdentity, FileStatus, ManagedFolder};
use std::{
    collections::HashSet,
    io::ErrorKind,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use tantivy::{
    Directory as _, DocSet as _, Index, IndexReader, IndexSettings, ReloadPolicy, Searcher,
    TERMINATED, TantivyError, Term,
    columnar::Column,
    query::{BooleanQuery, BoostQuery, EnableScoring, Occur, TermQuery},
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing,
        TextOptions,
    },
    tokenizer::{TextAnalyzer, TokenizerManager, WhitespaceTokenizer},
};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of terms used to find candidates, the rarest first; others are in half of all units.
const MAX_CANDIDATE_TERMS: usize = 24;
/// Units per segment above which a term is common.
const MAX_COUNTED_UNITS: u32 = 256;
/// Name of our tokenizer, which splits terms at spaces.
const TOKENIZER: &str = "terms";

/// The fields of the lexical index.
#[derive(Debug, Clone, Copy)]
pub(super) struct LexicalFields {
    /// The terms, repeated by the weight of their field.
    pub(super) terms: Field,
    /// Hash of the source's name, to remove all of its units at once.
    pub(super) source: Field,
    /// The unit's row.
    pub(super) row: Field,
}

fn schema() -> (Schema, LexicalFields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs);
    let terms =
        builder.add_text_field("terms", TextOptions::default().set_indexing_options(indexing));
    let source = builder.add_u64_field("source", INDEXED);
    let row = builder.add_u64_field("row", NumericOptions::default() | FAST);
    (builder.build(), LexicalFields { terms, source, row })
}

/// The lexical index of a store.
pub(super) struct LexicalIndex {
    pub(super) index: Index,
    pub(super) fields: LexicalFields,
    reader: IndexReader,
    directory: SealedDirectory,
    folder: ManagedFolder,
    /// Files with verified checksums.
    whole: Mutex<HashSet<PathBuf>>,
}

impl std::fmt::Debug for LexicalIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LexicalIndex").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Distinguishes a corrupt index from other failures.
pub(super) fn classify_error(error: TantivyError) -> IndexStoreError {
    let broken = match &error {
        TantivyError::DataCorruption(_)
        | TantivyError::OpenReadError(_)
        | TantivyError::SchemaError(_)
        | TantivyError::InternalError(_)
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::SystemError(_) => true,
        TantivyError::IoError(error) => matches!(
            error.kind(),
            ErrorKind::InvalidData
                | ErrorKind::UnexpectedEof
                | ErrorKind::Other
                | ErrorKind::NotFound
        ),
        _ => false,
    };
    if broken { corrupt("lexical", error.to_string()) } else { IndexStoreError::Lexical(error) }
}

/// Opens unchecked files. Tantivy trusts their lengths and offsets, and panics if they are wrong.
fn unharmed<T>(open: impl FnOnce() -> tantivy::Result<T>) -> Result<T, IndexStoreError> {
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(opened) => opened.map_err(classify_error),
        Err(_) => Err(corrupt("lexical", "one of its files can't be read")),
    }
}

impl LexicalIndex {
    /// Opens the index in a folder, or creates an empty one.
    pub(super) fn open(folder: &ManagedFolder) -> Result<Self, IndexStoreError> {
        if folder.path().is_symlink() {
            return Err(corrupt("lexical", "it is a symbolic link"));
        }
        folder.make(FileAccess::Private).map_err(failed(folder.path()))?;
        let directory =
            SealedDirectory::open(folder).map_err(|error| classify_error(error.into()))?;
        let (schema, fields) = schema();
        let tokenizers = TokenizerManager::default();
        tokenizers.register(TOKENIZER, TextAnalyzer::from(WhitespaceTokenizer::default()));
        let index = if Index::exists(&directory).map_err(|error| classify_error(error.into()))? {
            let mut index = Index::open(directory.clone()).map_err(classify_error)?;
            index.set_tokenizers(tokenizers);
            index
        } else {
            Index::builder()
                .schema(schema.clone())
                .settings(IndexSettings::default())
                .tokenizers(tokenizers)
                .open_or_create(directory.clone())
                .map_err(classify_error)?
        };
        if index.schema() != schema {
            return Err(corrupt("lexical", "it was written by another version of docent"));
        }
        let mut whole = HashSet::new();
        check(&index, &mut whole, is_opened_blindly)?;
        let builder = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader = unharmed(|| builder.try_into())?;
        let (folder, whole) = (folder.clone(), Mutex::new(whole));
        Ok(Self { index, fields, reader, directory, folder, whole })
    }

    /// The newest generation: its manifest, empty before the first write, and a matching searcher.
    pub(super) fn newest(
        &self,
        empty: IndexManifest,
    ) -> Result<(IndexManifest, Searcher), IndexStoreError> {
        loop {
            let metas = self.index.load_metas().map_err(classify_error)?;
            self.check(is_opened_blindly)?;
            unharmed(|| self.reader.reload())?;
            self.directory.forget_closed();
            let searcher = self.reader.searcher();
            let named: HashSet<_> =
                metas.segments.iter().map(|meta| (meta.id(), meta.delete_opstamp())).collect();
            let opened: HashSet<_> = searcher
                .segment_readers()
                .iter()
                .map(|reader| (reader.segment_id(), reader.delete_opstamp()))
                .collect();
            // Another process may have committed between the two.
            if named == opened {
                let manifest = match metas.payload.as_deref() {
                    None if named.is_empty() => empty,
                    payload => IndexManifest::decode(payload.unwrap_or_default())?,
                };
                return Ok((manifest, searcher));
            }
        }
    }

    /// Identifies the generation without reading it.
    pub(super) fn stamp(&self) -> Option<ManifestStamp> {
        let there = self.folder.status("meta.json").ok()??;
        there.is_file().then(|| ManifestStamp::of(&there))
    }

    /// Checks the files of the lexical index that are not verified yet.
    pub(super) fn verify(&self) -> Result<(), IndexStoreError> {
        self.check(is_needed)
    }

    fn check(&self, wanted: fn(&Path) -> bool) -> Result<(), IndexStoreError> {
        check(&self.index, &mut self.whole.lock().unwrap_or_else(PoisonError::into_inner), wanted)
    }
}

/// Checks files that are not verified yet.
fn check(
    index: &Index,
    whole: &mut HashSet<PathBuf>,
    wanted: fn(&Path) -> bool,
) -> Result<(), IndexStoreError> {
    let directory = index.directory();
    let listed = index.load_metas().map_err(classify_error)?.list_segment_files();
    // Otherwise, a long-running store would remember every file it ever had.
    whole.retain(|file| listed.contains(file));
    for file in listed {
        if whole.contains(&file) || !wanted(&file) {
            continue;
        }
        if !directory.exists(&file).unwrap_or(false) {
            // Another process may have just merged it.
            if index.load_metas().map_err(classify_error)?.list_segment_files().contains(&file) {
                return Err(corrupt(&file.to_string_lossy(), "it is missing"));
            }
            continue;
        }
        if !unharmed(|| Ok(directory.validate_checksum(&file)?))? {
            return Err(corrupt(&file.to_string_lossy(), "its checksum is wrong"));
        }
        whole.insert(file);
    }
    Ok(())
}

/// Whether a file has no content, as no field is stored, but is parsed when a segment is opened: wrong numbers in it would
/// cause huge allocations without a panic.
fn is_opened_blindly(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "store")
}

/// Whether a listed file may be missing: temporary files, and those that exist only after removals.
fn is_needed(file: &Path) -> bool {
    let name = file.to_string_lossy();
    !name.ends_with(".temp") && !name.ends_with(".0.del")
}

/// Memory of a writer for a few units: the minimum of tantivy.
pub(super) const SMALL_WRITER_BYTES: usize = 15_000_000;
/// Memory of a writer for many units.
pub(super) const LARGE_WRITER_BYTES: usize = 200_000_000;

/// Identity of a file, from its metadata. A list is always replaced by a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ManifestStamp {
    modified: (i64, i64),
    length: i64,
    identity: FileIdentity,
}

impl ManifestStamp {
    fn of(file: &FileStatus) -> Self {
        Self { modified: file.modified, length: file.length, identity: file.identity }
    }
}

/// The key of a source in the lexical index.
pub(super) fn source_key(collection: &str, path: &str) -> u64 {
    xxh3_64(format!("{collection}\0{path}").as_bytes())
}

/// Lexical search in one generation.
#[derive(Debug, Clone, Copy)]
pub(super) struct LexicalLookup<'a> {
    pub(super) searcher: &'a Searcher,
    pub(super) fields: LexicalFields,
    pub(super) question: &'a AnalyzedQuery,
}

impl LexicalLookup<'_> {
    /// Number of units with each of some terms.
    pub(super) fn holders(&self, terms: &[String]) -> Result<Vec<u64>, IndexStoreError> {
        let count = |text: &String| self.searcher.doc_freq(&self.term(text));
        terms.iter().map(count).collect::<Result<_, _>>().map_err(classify_error)
    }

    /// Number of units with each of the query's terms, or with an alternative if more have that.
    pub(super) fn holders_of_forms(
        &self,
        mut holders: Vec<u64>,
    ) -> Result<Vec<u64>, IndexStoreError> {
        for (holders, forms) in holders.iter_mut().zip(&self.question.forms) {
            for form in forms {
                // A unit with a phrase has each of its terms.
                let least = self.holders(&form.terms)?.into_iter().min().unwrap_or_default();
                *holders = least.max(*holders);
            }
        }
        Ok(holders)
    }

    fn term(&self, text: &str) -> Term {
        Term::from_field_text(self.fields.terms, text)
    }

    fn clause(&self, text: &str) -> Box<dyn tantivy::query::Query> {
        Box::new(TermQuery::new(self.term(text), IndexRecordOption::WithFreqs))
    }

    /// Query for an alternative of a term: another term, or all terms of a phrase.
    fn form_clause(&self, form: &SynonymForm) -> Box<dyn tantivy::query::Query> {
        let each = form.terms.iter().map(|term| (Occur::Must, self.clause(term)));
        Box::new(BoostQuery::new(Box::new(BooleanQuery::new(each.collect())), form.share))
    }

    /// Kept rows whose headings contain an exact name of the query: at most `most` per name.
    pub(super) fn rows_with_exact_names(
        &self,
        most: usize,
        keep: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<ScoredRow>, IndexStoreError> {
        let mut rows = Vec::new();
        for name in &self.question.exact {
            rows.extend(self.nearest(self.clause(&written_term(name)).as_ref(), most, keep)?);
        }
        Ok(rows)
    }

    /// The same counts among kept units, which make up this share: a term rare in code may be common in prose. Common terms
    /// are common everywhere, and are estimated instead of counted.
    pub(super) fn holders_among(
        &self,
        all: &[u64],
        share: f64,
        keep: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<u64>, IndexStoreError> {
        let mut kept = all.to_vec();
        for reader in self.searcher.segment_readers() {
            let rows: Column<u64> = reader.fast_fields().u64("row").map_err(classify_error)?;
            let lists = reader.inverted_index(self.fields.terms).map_err(classify_error)?;
            for (text, count) in self.question.terms.iter().zip(&mut kept) {
                let term = Term::from_field_text(self.fields.terms, text);
                let list = lists.read_postings(&term, IndexRecordOption::Basic);
                let Some(mut list) = list.map_err(|error| classify_error(error.into()))? else {
                    continue;
                };
                if list.doc_freq() > MAX_COUNTED_UNITS {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a share of a count"
                    )]
                    let elsewhere = (f64::from(list.doc_freq()) * (1.0 - share)) as u64;
                    // Some unit may still have it.
                    *count -= elsewhere.min(count.saturating_sub(1));
                    continue;
                }
                while list.doc() != TERMINATED {
                    let row = rows.first(list.doc()).and_then(|row| u32::try_from(row).ok());
                    *count -= u64::from(!row.is_some_and(keep)).min(*count);
                    list.advance();
                }
            }
        }
        Ok(kept)
    }

    /// Kept rows with most of the query's terms, best first.
    pub(super) fn best(
        &self,
        holders: &[u64],
        most: usize,
        keep: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<ScoredRow>, IndexStoreError> {
        let question = self.question;
        let mut terms: Vec<(u64, &String)> = holders.iter().copied().zip(&question.terms).collect();
        terms.retain(|(holders, _)| *holders > 0);
        terms.sort();
        terms.truncate(MAX_CANDIDATE_TERMS);
        let own = terms.into_iter().map(|(_, term)| self.clause(term));
        let others = question.forms.iter().flatten().take(MAX_CANDIDATE_TERMS);
        let clauses = own.chain(others.map(|form| self.form_clause(form)));
        let clauses = clauses.map(|clause| (Occur::Should, clause)).collect();
        self.nearest(&BooleanQuery::new(clauses), most, keep)
    }

    /// Kept rows that match a query best.
    fn nearest(
        &self,
        query: &dyn tantivy::query::Query,
        most: usize,
        keep: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<ScoredRow>, IndexStoreError> {
        let searcher = self.searcher;
        let weight =
            query.weight(EnableScoring::enabled_from_searcher(searcher)).map_err(classify_error)?;
        let mut nearest = NearestRows::new(most);
        for reader in searcher.segment_readers() {
            let rows: Column<u64> = reader.fast_fields().u64("row").map_err(classify_error)?;
            let bar = nearest.bar();
            let mut each = |doc, score| {
                let row = rows.first(doc).and_then(|row| u32::try_from(row).ok());
                if let Some(row) = row.filter(|row| !reader.is_deleted(doc) && keep(*row)) {
                    nearest.offer(ScoredRow { row, score });
                }
                nearest.bar()
            };
            weight.for_each_pruning(bar, reader, &mut each).map_err(classify_error)?;
        }
        Ok(nearest.into_sorted())
    }
}
