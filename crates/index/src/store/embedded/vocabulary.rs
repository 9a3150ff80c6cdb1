//! The vocabulary: whether a term exists, and which terms are similar to a missing one.

use super::{
    super::{IndexStoreError, NearbyTerms},
    lexical::{LexicalFields, classify_error},
};
use std::collections::HashMap;
use tantivy::{
    DocSet as _, Searcher, TERMINATED, Term, columnar::Column, query::FuzzyTermQuery,
    schema::IndexRecordOption,
};

/// Maximum number of units checked per segment; a more common term is assumed to be in every collection.
const MAX_CHECKED_UNITS: u32 = 4096;

/// Whether a kept unit has a term.
pub(super) fn has(
    searcher: &Searcher,
    fields: LexicalFields,
    term: &str,
    keep: &dyn Fn(u32) -> bool,
) -> Result<bool, IndexStoreError> {
    let term = Term::from_field_text(fields.terms, term);
    for reader in searcher.segment_readers() {
        let lists = reader.inverted_index(fields.terms).map_err(classify_error)?;
        let list = lists.read_postings(&term, IndexRecordOption::Basic);
        let Some(mut list) = list.map_err(|error| classify_error(error.into()))? else { continue };
        if list.doc_freq() > MAX_CHECKED_UNITS {
            return Ok(true);
        }
        let rows: Column<u64> = reader.fast_fields().u64("row").map_err(classify_error)?;
        while list.doc() != TERMINATED {
            let row = rows.first(list.doc()).and_then(|row| u32::try_from(row).ok());
            if row.is_some_and(keep) {
                return Ok(true);
            }
            list.advance();
        }
    }
    Ok(false)
}

/// Terms of only letters similar to a term, with the number of units that have each.
pub(super) fn near(
    searcher: &Searcher,
    fields: LexicalFields,
    near: &NearbyTerms<'_>,
) -> Result<Vec<(String, u64)>, IndexStoreError> {
    let mut found: HashMap<String, u64> = HashMap::new();
    let NearbyTerms { term, distance, same_first, most } = *near;
    let query = FuzzyTermQuery::new(Term::from_field_text(fields.terms, term), distance, true);
    let first = term.bytes().next().filter(|_| same_first);
    for reader in searcher.segment_readers() {
        let lists = reader.inverted_index(fields.terms).map_err(classify_error)?;
        let mut search = lists.terms().search(query.automaton().map_err(classify_error)?);
        if let Some(first) = first {
            search = search.ge([first]).lt([first.saturating_add(1)]);
        }
        let mut stream = search.into_stream().map_err(|error| classify_error(error.into()))?;
        while let Some((term, info)) = stream.next() {
            let plain = term.iter().all(u8::is_ascii_lowercase);
            let Some(term) = std::str::from_utf8(term).ok().filter(|_| plain) else { continue };
            if found.len() == most && !found.contains_key(term) {
                break;
            }
            *found.entry(term.to_owned()).or_default() += u64::from(info.doc_freq);
        }
    }
    Ok(found.into_iter().collect())
}
