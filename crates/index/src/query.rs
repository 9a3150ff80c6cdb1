//! Questions and their answers.

use crate::{
    analysis::{exact_names, key, pair_key},
    embed::Vector,
    store::{FoundUnit, IndexStoreError},
    synonyms::{SynonymForm, Synonyms, question_terms},
};
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// Which units may be found. Whatever is empty leaves everything in.
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

/// Patterns of paths, such as `src/**/*.rs`. Without any, every path fits.
#[derive(Debug, Clone, Default)]
pub struct PathPatterns(Option<GlobSet>);

impl PathPatterns {
    /// The paths that one of these patterns fits.
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
    /// Whether it leaves everything in.
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

/// What is asked for.
#[derive(Debug, Clone)]
pub struct IndexQuery {
    /// A sentence, some words, or a name.
    pub text: String,
    /// Hits wanted.
    pub limit: usize,
    /// Hits to pass over first.
    pub offset: usize,
    /// The least similarity of a hit.
    pub threshold: f32,
    /// Which units may be found.
    pub filter: UnitFilter,
    /// Words that mean the same to whoever asks.
    pub synonyms: Arc<Synonyms>,
    /// At most so many hits of one source come before the acceptable hits of others: those that pass the threshold and are
    /// at least half as similar as the best. The rest follow after these, shown as no more similar than they are.
    pub per_source: Option<usize>,
    /// Whether copies of one thing each have a place of their own.
    pub copies: bool,
    /// Whether the best lines of each hit are wanted.
    pub snippets: bool,
}

impl IndexQuery {
    /// The ten best of everything, however like they are.
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

/// A query as stores see it.
#[derive(Debug, Clone)]
pub struct AnalyzedQuery {
    /// As it was asked, in lower case.
    pub(crate) text: String,
    /// Each of its terms once, in order.
    pub(crate) terms: Vec<String>,
    /// Which of them are names of several parts.
    pub(crate) whole: Vec<bool>,
    /// What stores keep of them.
    pub(crate) keys: Vec<u32>,
    /// What else may stand for each of them.
    pub(crate) forms: Vec<Vec<SynonymForm>>,
    /// Its words that name something exactly, as a heading would have them.
    pub(crate) exact: Vec<String>,
    /// The same of each two that follow one another.
    pub(crate) pairs: Vec<u32>,
    /// Where it points, unless there is no model to ask.
    pub(crate) vector: Option<Vector>,
}

/// What a word counts that may have been meant beside the likeliest.
const UNLIKELY_SPELLING_WEIGHT: f32 = 0.8;

impl AnalyzedQuery {
    pub(crate) fn new(text: &str, vector: Option<Vector>) -> Self {
        Self::with(text, vector, &Synonyms::default())
    }

    /// With what else its words may stand for.
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
        for (at, count, forms) in synonyms.within(&order) {
            question.stand_for(slots.get(at..at + count).unwrap_or_default(), &forms);
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

    /// Adds terms that one of its own may have been meant to be.
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

    /// Which of its terms a term is, or stands for.
    pub(crate) fn slots_of(&self, term: u32) -> impl Iterator<Item = usize> {
        let places: Range<usize> = 0..self.keys.len();
        places.filter(move |slot| {
            let stands = |form: &SynonymForm| form.terms.iter().any(|other| key(other) == term);
            self.keys.get(*slot) == Some(&term)
                || self.forms.get(*slot).is_some_and(|forms| forms.iter().any(stands))
        })
    }
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct IndexSearchResults {
    /// The hits that pass the threshold, best first.
    pub hits: Vec<IndexHit>,
    /// Where none passes: the nearest below it.
    pub below: Vec<IndexHit>,
    /// The generation that was searched.
    pub generation: u64,
    /// What the reader should know, such as that meaning was not looked at.
    pub notes: Vec<String>,
}

/// A unit that was found, and why.
#[derive(Debug, Clone)]
pub struct IndexHit {
    /// The unit and where it is.
    pub found: FoundUnit,
    /// How well it answers: 0 to 1. At 0.7 and above it most likely does.
    pub similarity: f32,
    /// What that is made of.
    pub parts: ScoreParts,
    /// The question's words that it has.
    pub matched: Vec<MatchedTerm>,
    /// The lines of its body that answer best.
    pub snippet: Snippet,
    /// Others that say the same, and were left out.
    pub alike: Vec<UnitLocation>,
}

/// The two halves of a score.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScoreParts {
    /// The share of the question's words that it has, the rare ones counting more.
    pub words: f32,
    /// The cosine between it and the question.
    pub meaning: f32,
}

/// A word of the question that a hit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedTerm {
    /// The word, without its ending.
    pub word: String,
    /// The fields that have it.
    pub fields: Vec<&'static str>,
}

/// Some lines of a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// The number of the first one in the source, counted from 1.
    pub first: u32,
    /// The lines.
    pub text: String,
}

/// A unit by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitLocation {
    /// Its collection.
    pub collection: String,
    /// Its path there.
    pub path: String,
    /// Its id there.
    pub id: String,
}
