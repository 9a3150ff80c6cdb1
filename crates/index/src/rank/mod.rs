//! Ranks candidates: features, learned weights, a meaningful similarity, and its explanation.
//!
//! Knows no store: it works on [`CandidateUnits`].

mod contents;
mod exact;
mod features;
mod fold;
mod snippet;
mod sources;
mod spelling;
mod weights;

pub use features::{FEATURE_COUNT, FEATURE_NAMES, Features, features};
pub use weights::{Calibration, Weights};

use self::exact::ExactMatch;
use crate::{
    analysis::UnitField,
    embed::{Embedder, Vector},
    query::{
        AnalyzedQuery, IndexHit, IndexQuery, IndexSearchResults, MatchedTerm, ScoreParts, Snippet,
        UnitFilter,
    },
    store::{
        CandidateUnit, CandidateUnits, CorpusStatistics, FoundUnit, IndexStore, IndexStoreError,
        StoreView,
    },
    unit::Genre,
};
use std::sync::Arc;

/// Number of candidates of each kind; more improve little.
const MAX_CANDIDATES: usize = 200;
/// Minimum share of a heading that an exact name must make up.
const MIN_NAME_SHARE: f32 = 0.2;
/// Minimum similarity of such a section, which most likely answers the query.
const MIN_ANSWER_SIMILARITY: f32 = 0.7;
/// Number of hits shown if none reaches the threshold.
const MAX_HITS_BELOW_THRESHOLD: usize = 3;
/// Maximum length of a query in bytes: each word is compared with each candidate.
const MAX_QUERY_BYTES: usize = 8 << 10;

/// Answers a query from the newest generation of a store.
pub fn search(
    store: &dyn IndexStore,
    embedder: &dyn Embedder,
    query: &IndexQuery,
) -> Result<IndexSearchResults, IndexStoreError> {
    let view = store.view()?;
    let mut notes = Vec::new();
    let question = analyze_query(view.as_ref(), embedder, query, &mut notes)?;
    let most = MAX_CANDIDATES.max(query.offset + query.limit);
    let candidates = view.candidates(&question, &query.filter, most)?;
    let mut ranked = rank(&question, &candidates, embedder);
    contents::demote_contents(view.as_ref(), &candidates.units, &mut ranked)?;
    let mut folded = fold::fold(&candidates.units, ranked, query.copies);
    if let Some(most) = query.per_source {
        folded = sources::limit_per_source(&candidates.units, folded, most, query.threshold);
    }
    let generation = view.status().generation;
    let hit =
        |one: &fold::FoldedHit| hit(view.as_ref(), &question, &candidates, one, query.snippets);
    let passing = folded.iter().take_while(|one| one.ranked.similarity >= query.threshold);
    let hits: Vec<IndexHit> =
        passing.clone().skip(query.offset).take(query.limit).map(hit).collect::<Result<_, _>>()?;
    let mut below = Vec::new();
    if passing.count() == 0 {
        below = folded.iter().take(MAX_HITS_BELOW_THRESHOLD).map(hit).collect::<Result<_, _>>()?;
    }
    Ok(IndexSearchResults { hits, below, generation, notes })
}

/// The units with exactly this name, among at most `most` candidates.
pub fn units_named(
    view: &dyn StoreView,
    name: &str,
    filter: &UnitFilter,
    most: usize,
) -> Result<Vec<FoundUnit>, IndexStoreError> {
    let candidates = view.candidates(&AnalyzedQuery::new(name, None), filter, most)?;
    let same = candidates.units.iter().filter(|unit| unit.name == name);
    same.map(|unit| view.unit(unit.row)).collect()
}

/// Analyzes a query: corrects spelling and adds synonyms.
fn analyze_query(
    view: &dyn StoreView,
    embedder: &dyn Embedder,
    query: &IndexQuery,
    notes: &mut Vec<String>,
) -> Result<AnalyzedQuery, IndexStoreError> {
    let text = truncate_query(&query.text);
    if text.len() < query.text.len() {
        notes.push(format!("Only the first {} bytes of the query were used.", text.len()));
    }
    let spelled = spelling::spell(view, text, &query.filter, &query.synonyms, notes)?;
    let vector = vector(view, embedder, &spelled.text, notes);
    let mut question = AnalyzedQuery::with(&spelled.text, vector, &query.synonyms);
    for (term, others) in &spelled.others {
        question.add_spellings(term, others);
    }
    Ok(question)
}

/// Truncates a query after a whole word.
fn truncate_query(text: &str) -> &str {
    let Some(start) = text.get(..text.floor_char_boundary(MAX_QUERY_BYTES)) else { return text };
    if start.len() == text.len() {
        return text;
    }
    start.rsplit_once(char::is_whitespace).map_or(start, |(whole, _)| whole)
}

/// Analyzes a query. Without a vector, it searches by words only and notes that.
pub fn question(
    view: &dyn StoreView,
    embedder: &dyn Embedder,
    text: &str,
    notes: &mut Vec<String>,
) -> AnalyzedQuery {
    let vector = vector(view, embedder, text, notes);
    AnalyzedQuery::new(text, vector)
}

fn vector(
    view: &dyn StoreView,
    embedder: &dyn Embedder,
    text: &str,
    notes: &mut Vec<String>,
) -> Option<Vector> {
    let stored = view.status().identity;
    if stored != *embedder.identity() {
        notes.push(format!(
            "Searched by words only: the index has vectors of {stored}, but {} is configured. They are recomputed with the next change.",
            embedder.identity()
        ));
        return None;
    }
    let vector = embedder.query(text);
    vector.inspect_err(|error| notes.push(format!("Searched by words only: {error}."))).ok()
}

/// A candidate with its score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankedCandidate {
    /// Its index among the candidates.
    pub(crate) at: usize,
    pub(crate) score: f32,
    /// Number of names of the query in its headings.
    pub(crate) names: f32,
    pub(crate) similarity: f32,
    pub(crate) parts: ScoreParts,
}

/// Scores the candidates, best first.
fn rank(
    question: &AnalyzedQuery,
    candidates: &CandidateUnits,
    embedder: &dyn Embedder,
) -> Vec<RankedCandidate> {
    let all = features(question, candidates, embedder);
    let mut ranked: Vec<RankedCandidate> = Vec::with_capacity(all.len());
    for genre in [Genre::Code, Genre::Prose] {
        let weights = Weights::of(genre);
        let of_genre: Vec<(usize, &Features, f32)> = all
            .iter()
            .enumerate()
            .filter(|(at, _)| candidates.units[*at].genre == genre)
            .map(|(at, features)| (at, features, weights.score(features)))
            .collect();
        let best = of_genre.iter().map(|(_, _, score)| *score).fold(f32::NEG_INFINITY, f32::max);
        ranked.extend(of_genre.into_iter().map(|(at, features, score)| {
            let mut similarity = weights.similarity(score, best);
            let ExactMatch { names, nearness } = features.exact();
            if nearness >= MIN_NAME_SHARE {
                similarity = similarity.max(MIN_ANSWER_SIMILARITY);
            }
            RankedCandidate { at, score, names, similarity, parts: features.parts() }
        }));
    }
    ranked.sort_by(|a, b| {
        let by_names = b.names.total_cmp(&a.names);
        let by_similarity = b.similarity.total_cmp(&a.similarity);
        by_names.then(by_similarity).then(b.score.total_cmp(&a.score)).then(a.at.cmp(&b.at))
    });
    // Similarities must not rise down the list.
    let mut highest = 0.0_f32;
    for one in ranked.iter_mut().rev() {
        highest = highest.max(one.similarity);
        one.similarity = highest;
    }
    ranked
}

fn hit(
    view: &dyn StoreView,
    question: &AnalyzedQuery,
    candidates: &CandidateUnits,
    folded: &fold::FoldedHit,
    snippets: bool,
) -> Result<IndexHit, IndexStoreError> {
    let candidate = &candidates.units[folded.ranked.at];
    let found = view.unit(candidate.row)?;
    let snippet = if snippets {
        snippet::best(&found.unit, question, &rarity(&candidates.statistics))
    } else {
        Snippet::default()
    };
    let alike = folded
        .alike
        .iter()
        .map(|at| {
            let other = view.unit(candidates.units[*at].row)?;
            let (collection, path) = (other.collection, other.path);
            Ok(crate::UnitLocation { collection, path, id: other.unit.id })
        })
        .collect::<Result<_, IndexStoreError>>()?;
    let matched = matched(question, candidate);
    let RankedCandidate { similarity, parts, .. } = folded.ranked;
    Ok(IndexHit { found, similarity, parts, matched, snippet, alike })
}

fn matched(question: &AnalyzedQuery, candidate: &CandidateUnit) -> Vec<MatchedTerm> {
    let terms = question.terms.iter().zip(&candidate.counts);
    let matched = terms.filter(|(_, counts)| counts.iter().any(|count| *count > 0));
    let matched = matched.map(|(term, counts)| {
        let fields = UnitField::ALL.into_iter().zip(counts).filter(|(_, count)| **count > 0);
        MatchedTerm { word: term.clone(), fields: fields.map(|(field, _)| field.name()).collect() }
    });
    matched.collect()
}

/// Rarity of each term of the query: the fewer units have it, the higher.
pub(crate) fn rarity(statistics: &CorpusStatistics) -> Vec<f32> {
    #[expect(clippy::cast_precision_loss, reason = "a logarithm is taken of it")]
    let of = |holders: u64| {
        let (all, holders) = (statistics.units as f32, holders as f32);
        (1.0 + (all - holders + 0.5).max(0.5) / (holders + 0.5)).ln()
    };
    statistics.holders.iter().map(|holders| of(*holders)).collect()
}

/// The candidates of a query, for benchmarks.
pub fn candidates(
    view: &Arc<dyn StoreView>,
    embedder: &dyn Embedder,
    query: &IndexQuery,
) -> Result<(AnalyzedQuery, CandidateUnits), IndexStoreError> {
    let question = analyze_query(view.as_ref(), embedder, query, &mut Vec::new())?;
    let candidates = view.candidates(&question, &query.filter, MAX_CANDIDATES)?;
    Ok((question, candidates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_query_is_cut_between_words() {
        assert_eq!(truncate_query("how to retry"), "how to retry");
        let words = "word ".repeat(20_000);
        let kept = truncate_query(&words);
        assert!(kept.len() <= MAX_QUERY_BYTES && kept.ends_with("word"), "{}", kept.len());
        assert_eq!(truncate_query(&"é".repeat(20_000)).len(), MAX_QUERY_BYTES);
    }
}
