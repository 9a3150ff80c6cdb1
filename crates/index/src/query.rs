//! Queries and their results.

use crate::{
    analysis::{exact_names, key, pair_key},
    embed::Vector,
    store::{FoundUnit, IndexStoreError},
    synonyms::{SynonymForm, Synonyms, question_terms},
};
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// Filter for units. An empty field matches everything.
#[derive(Debug, Clone, Default)]
pub struct UnitFilter {
    /// Kinds of units.
    pub kinds: Vec<String>,
    /// Collections.
    pub collections: Vec<String>,
    /// Languages.
    pub languages: Vec<String>,
    /// Paths.
    pub paths: PathPatterns,
}

/// Path patterns, such as `src/**/*.rs`. Without any, every path matches.
#[derive(Debug, Clone, Default)]
pub struct PathPatterns(Option<GlobSet>);

impl PathPatterns {
    /// Compiles patterns.
    pub fn parse(patterns: &[String]) -> Result<Self, IndexStoreError> {
        let wrong = |pattern: &str| {
            let pattern = pattern.to_owned();
            move |source| IndexStoreError::Pattern { pattern, source }
        };
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            builder.add(Glob::new(pattern).map_err(wrong(pattern))?);
        }
        let built = builder.build().map_err(wrong(&patterns.join(", ")))?;
        Ok(Self((!patterns.is_empty()).then_some(built)))
    }
}

impl UnitFilter {
    /// Whether it matches everything.
    pub(crate) fn is_open(&self) -> bool {
        self.kinds.is_empty()
            && self.collections.is_empty()
            && self.languages.is_empty()
            && self.paths.0.is_none()
    }

    pub(crate) fn takes_source(&self, collection: &str, path: &str) -> bool {
        listed(&self.collections, collection)
            && self.paths.0.as_ref().is_none_or(|paths| paths.is_match(path))
    }

    pub(crate) fn takes_unit(&self, kind: &str, language: &str) -> bool {
        listed(&self.kinds, kind) && listed(&self.languages, language)
    }
}

fn listed(wanted: &[String], one: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| wanted == one)
}

/// A search query.
#[derive(Debug, Clone)]
pub struct IndexQuery {
    /// A sentence, some words, or a name.
    pub text: String,
    /// Maximum number of hits.
    pub limit: usize,
    /// Number of hits to skip.
    pub offset: usize,
    /// Minimum similarity of a hit.
    pub threshold: f32,
    /// Filter for units.
    pub filter: UnitFilter,
    /// Synonyms.
    pub synonyms: Arc<Synonyms>,
    /// Maximum number of hits per source before acceptable hits of others: those above the threshold and at least half
    /// as similar as the best. The rest follow, with their similarity capped.
    pub per_source: Option<usize>,
    /// Whether to list copies separately.
    pub copies: bool,
    /// Whether to include the best lines of each hit.
    pub snippets: bool,
}

impl IndexQuery {
    /// A query for the ten best hits, without a threshold.
    pub fn new(text: impl Into<String>) -> Self {
        let filter = UnitFilter::default();
        Self {
            text: text.into(),
            limit: 10,
            offset: 0,
            threshold: 0.0,
            filter,
            synonyms: Arc::default(),
            per_source: None,
            copies: false,
            snippets: true,
        }
    }
}

/// An analyzed query, as used by stores.
#[derive(Debug, Clone)]
pub struct AnalyzedQuery {
    /// The text, in lower case.
    pub(crate) text: String,
    /// Its terms without duplicates, in order.
    pub(crate) terms: Vec<String>,
    /// Which terms are compound names.
    pub(crate) whole: Vec<bool>,
    /// Keys of the terms.
    pub(crate) keys: Vec<u32>,
    /// Alternatives for each term.
    pub(crate) forms: Vec<Vec<SynonymForm>>,
    /// Its exact names, as in headings.
    pub(crate) exact: Vec<String>,
    /// Keys of consecutive terms.
    pub(crate) pairs: Vec<u32>,
    /// Its vector, if a model is available.
    pub(crate) vector: Option<Vector>,
}

/// Weight of a less likely spelling correction.
const UNLIKELY_SPELLING_WEIGHT: f32 = 0.8;

impl AnalyzedQuery {
    pub(crate) fn new(text: &str, vector: Option<Vector>) -> Self {
        Self::with(text, vector, &Synonyms::default())
    }

    /// Analyzes a text, with synonyms.
    pub(crate) fn with(text: &str, vector: Option<Vector>, synonyms: &Synonyms) -> Self {
        let (mut terms, mut whole, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: HashMap<String, usize> = HashMap::new();
        let (mut order, mut slots, mut before) = (Vec::new(), Vec::new(), None);
        for (term, is_whole) in question_terms(text) {
            if !is_whole {
                let this = key(&term);
                pairs.extend(before.replace(this).map(|before| pair_key(before, this)));
            }
            let slot = *places.entry(term.clone()).or_insert(terms.len());
            if slot == terms.len() {
                terms.push(term.clone());
                whole.push(is_whole);
            }
            slots.push(slot);
            order.push(term);
        }
        let keys = terms.iter().map(|term| key(term)).collect();
        let forms = vec![Vec::new(); terms.len()];
        let (text, exact) = (text.to_lowercase(), exact_names(text));
        let mut question = Self { text, terms, whole, keys, forms, exact, pairs, vector };
        for (at, count, forms) in synonyms.find_entries(&order) {
            question.add_forms(slots.get(at..at + count).unwrap_or_default(), &forms);
        }
        question
    }

    fn add_forms(&mut self, slots: &[usize], forms: &[SynonymForm]) {
        for slot in slots {
            let Some(known) = self.forms.get_mut(*slot) else { continue };
            for form in forms {
                if !known.contains(form) {
                    known.push(form.clone());
                }
            }
        }
    }

    /// Adds likely spellings for one of its terms.
    pub(crate) fn add_spellings(&mut self, term: &str, others: &[String]) {
        let slot = self.terms.iter().position(|known| known == term);
        let one = |other: &String| SynonymForm {
            terms: vec![other.clone()],
            keys: vec![key(other)],
            share: UNLIKELY_SPELLING_WEIGHT,
        };
        let forms: Vec<SynonymForm> = others.iter().map(one).collect();
        self.add_forms(slot.as_slice(), &forms);
    }

    /// The terms that a term equals or is an alternative for.
    pub(crate) fn slots_of(&self, term: u32) -> impl Iterator<Item = usize> {
        let places: Range<usize> = 0..self.keys.len();
        places.filter(move |slot| {
            let stands = |form: &SynonymForm| form.terms.iter().any(|other| key(other) == term);
            self.keys.get(*slot) == Some(&term)
                || self.forms.get(*slot).is_some_and(|forms| forms.iter().any(stands))
        })
    }
}

/// Result of a query.
#[derive(Debug, Clone, Default)]
pub struct IndexSearchResults {
    /// Hits above the threshold, best first.
    pub hits: Vec<IndexHit>,
    /// If there are none, the best below it.
    pub below: Vec<IndexHit>,
    /// Generation searched.
    pub generation: u64,
    /// Remarks, such as that meaning was not used.
    pub notes: Vec<String>,
}

/// A hit with its score.
#[derive(Debug, Clone)]
pub struct IndexHit {
    /// The unit and its source.
    pub found: FoundUnit,
    /// Similarity from 0 to 1; from 0.7 on it most likely answers the query.
    pub similarity: f32,
    /// Components of the score.
    pub parts: ScoreParts,
    /// Matching words of the query.
    pub matched: Vec<MatchedTerm>,
    /// Best matching lines of its body.
    pub snippet: Snippet,
    /// Omitted copies.
    pub alike: Vec<UnitLocation>,
}

/// The components of a score.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScoreParts {
    /// Share of the query's words that match, weighted by rarity.
    pub words: f32,
    /// Cosine similarity to the query.
    pub meaning: f32,
}

/// A word of the query that a hit contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedTerm {
    /// The word, without its ending.
    pub word: String,
    /// The fields that contain it.
    pub fields: Vec<&'static str>,
}

/// Some lines of a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// Line number of the first one, from 1.
    pub first: u32,
    /// The lines.
    pub text: String,
}

/// Identifies a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitLocation {
    /// Its collection.
    pub collection: String,
    /// Its path there.
    pub path: String,
    /// Its id there.
    pub id: String,
}
