//! Ranking features of candidates. Each is between about 0 and 1, so that weights can be compared.

use super::{
    exact::{ExactMatch, exact},
    rarity,
};
use crate::{
    analysis::UnitField,
    embed::Embedder,
    query::{AnalyzedQuery, ScoreParts},
    store::{CandidateUnit, CandidateUnits},
};
use rayon::prelude::*;
use std::collections::HashMap;

/// Candidates per task.
const CANDIDATES_PER_TASK: usize = 64;
/// Saturation of repeated occurrences of a word.
const TERM_SATURATION: f32 = 1.2;
/// Weight of an occurrence in each field.
const FIELD_WEIGHTS: [f32; 5] = [4.0, 1.0, 1.5, 2.0, 1.0];
/// Length normalization of each field.
const FIELD_LENGTH_NORMALIZATION: [f32; 5] = [0.4, 0.4, 0.6, 0.75, 0.75];

/// Number of features.
pub const FEATURE_COUNT: usize = 29;

/// Names of the features, in order.
pub const FEATURE_NAMES: [&str; FEATURE_COUNT] = [
    "words",
    "meaning",
    "words_standing_out",
    "meaning_standing_out",
    "in_name",
    "in_path",
    "in_signature",
    "in_doc",
    "in_body",
    "anywhere",
    "name_meaning",
    "name_asked_for",
    "whole_names",
    "length",
    "is_type",
    "is_function",
    "source_words",
    "source_meaning",
    "source_others",
    "meaning_rank",
    "pairs_in_signature",
    "pairs_anywhere",
    "signature_said",
    "signature_meaning",
    "source_anywhere",
    "source_sum",
    "is_hidden",
    "exact_names",
    "exact_nearness",
];

const MEANING_FEATURE: usize = 1;
const ANYWHERE_FEATURE: usize = 9;
const EXACT_NAMES_FEATURE: usize = 27;
const EXACT_NEARNESS_FEATURE: usize = 28;

/// The features of one candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Features(pub [f32; FEATURE_COUNT]);

impl Features {
    /// A feature by name; 0 if unknown.
    pub fn get(&self, name: &str) -> f32 {
        let at = FEATURE_NAMES.iter().position(|known| *known == name);
        at.map_or(0.0, |at| self.0[at])
    }

    pub(super) fn parts(&self) -> ScoreParts {
        ScoreParts { words: self.0[ANYWHERE_FEATURE], meaning: self.0[MEANING_FEATURE] }
    }

    pub(super) fn exact(&self) -> ExactMatch {
        ExactMatch { names: self.0[EXACT_NAMES_FEATURE], nearness: self.0[EXACT_NEARNESS_FEATURE] }
    }
}

/// Features of one candidate by itself, before comparison with others.
struct CandidateFeatures {
    words: f32,
    meaning: f32,
    cover: [f32; 5],
    anywhere: f32,
    whole: f32,
    name_meaning: f32,
    name_asked_for: f32,
    pairs: [f32; 2],
    signature_said: f32,
    signature_meaning: f32,
    exact: ExactMatch,
}

/// The features of every candidate, in order.
pub fn features(
    question: &AnalyzedQuery,
    candidates: &CandidateUnits,
    embedder: &dyn Embedder,
) -> Vec<Features> {
    let weights = term_weights(question, candidates);
    let own: Vec<CandidateFeatures> = candidates
        .units
        .par_iter()
        .with_min_len(CANDIDATES_PER_TASK)
        .map(|candidate| candidate_features(question, candidate, candidates, &weights, embedder))
        .collect();
    let words_spread = mean_and_deviation(own.iter().map(|own| own.words));
    let (near, far) = candidates.statistics.nearness;
    let mut sources: HashMap<u64, SourceFeatures> = HashMap::new();
    for (own, candidate) in own.iter().zip(&candidates.units) {
        sources.entry(candidate.source).or_default().add(own, candidate, &weights);
    }
    let mut order: Vec<usize> = (0..own.len()).collect();
    order.sort_by(|a, b| own[*b].meaning.total_cmp(&own[*a].meaning));
    let mut ranks = vec![0.0; own.len()];
    for (rank, at) in (0_u16..).zip(order) {
        ranks[at] = 1.0 / (1.0 + f32::from(rank) / 10.0);
    }
    let each = own.iter().zip(&candidates.units).zip(ranks);
    each.map(|((own, candidate), rank)| {
        let source = sources.get(&candidate.source).cloned().unwrap_or_default();
        let [name, path, signature, doc, body] = own.cover;
        let is_type = matches!(
            candidate.kind.as_str(),
            "class" | "struct" | "enum" | "trait" | "interface" | "type"
        );
        let is_function = matches!(candidate.kind.as_str(), "function" | "method");
        Features([
            own.words,
            own.meaning,
            (own.words - words_spread.0) / words_spread.1.max(0.01) / 4.0,
            (own.meaning - near) / far.max(0.01) / 8.0,
            name,
            path,
            signature,
            doc,
            body,
            own.anywhere,
            own.name_meaning,
            own.name_asked_for,
            own.whole,
            f32::from(candidate.lengths[4]).ln_1p() / 8.0,
            f32::from(u8::from(is_type)),
            f32::from(u8::from(is_function)),
            source.words,
            source.meaning,
            source.count.ln() / 5.0,
            rank,
            own.pairs[0],
            own.pairs[1],
            own.signature_said,
            own.signature_meaning,
            source.anywhere,
            source.sum.ln_1p() / 2.0,
            f32::from(u8::from(candidate.name.starts_with('_'))),
            own.exact.names,
            own.exact.nearness,
        ])
    })
    .collect()
}

/// Combined features of the candidates of one source.
#[derive(Debug, Clone, Default)]
struct SourceFeatures {
    words: f32,
    meaning: f32,
    count: f32,
    sum: f32,
    anywhere: f32,
    held: Vec<bool>,
}

impl SourceFeatures {
    fn add(&mut self, own: &CandidateFeatures, candidate: &CandidateUnit, weights: &[f32]) {
        self.words = self.words.max(own.words);
        self.meaning = self.meaning.max(own.meaning);
        self.count += 1.0;
        self.sum += own.words;
        self.held.resize(weights.len(), false);
        for ((held, counts), weight) in self.held.iter_mut().zip(&candidate.counts).zip(weights) {
            if !*held && counts.iter().any(|count| *count > 0) {
                *held = true;
                self.anywhere += weight;
            }
        }
    }
}

/// Weight of each term of the query; the sum is 1.
fn term_weights(question: &AnalyzedQuery, candidates: &CandidateUnits) -> Vec<f32> {
    let mut weights = rarity(&candidates.statistics);
    for (n, weight) in weights.iter_mut().enumerate() {
        // A compound name without a match of its own still matches by its parts.
        if question.whole[n] && candidates.statistics.holders[n] == 0 {
            *weight = 0.0;
        }
    }
    let sum: f32 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum.max(f32::MIN_POSITIVE)).collect()
}

fn candidate_features(
    question: &AnalyzedQuery,
    candidate: &CandidateUnit,
    candidates: &CandidateUnits,
    weights: &[f32],
    embedder: &dyn Embedder,
) -> CandidateFeatures {
    let average = candidates.statistics.lengths;
    let norms: [f32; 5] = std::array::from_fn(|n| {
        let share = f32::from(candidate.lengths[n]) / average[n].max(1.0);
        1.0 - FIELD_LENGTH_NORMALIZATION[n] + FIELD_LENGTH_NORMALIZATION[n] * share
    });
    let (mut words, mut anywhere, mut whole) = (0.0, 0.0, 0.0);
    let mut cover = [0.0; 5];
    let terms = candidate.counts.iter().zip(&candidate.shares).zip(weights).zip(&question.whole);
    for (((counts, share), weight), is_whole) in terms {
        let weight = &(share * weight);
        let mut frequency = 0.0;
        for n in 0..5 {
            if counts[n] > 0 {
                frequency += FIELD_WEIGHTS[n] * f32::from(counts[n]) / norms[n];
                cover[n] += weight;
            }
        }
        words += weight * frequency / (frequency + TERM_SATURATION);
        if frequency > 0.0 {
            anywhere += weight;
            whole += if *is_whole { *weight } else { 0.0 };
        }
    }
    let meaning = match (&question.vector, &candidate.vector) {
        (Some(question), Some(vector)) => question.cosine(vector),
        _ => 0.0,
    };
    let name_meaning = match (&question.vector, embedder.phrase(&candidate.name)) {
        (Some(question), Some(name)) => question.cosine(&name),
        _ => 0.0,
    };
    let signature_meaning = match (&question.vector, embedder.phrase(&candidate.signature)) {
        (Some(question), Some(signature)) => question.cosine(&signature),
        _ => 0.0,
    };
    let signed = candidate.counts.iter().filter(|counts| counts[UnitField::Signature as usize] > 0);
    #[expect(clippy::cast_precision_loss, reason = "questions are short")]
    let signed = signed.count() as f32;
    let signature_length = f32::from(candidate.lengths[UnitField::Signature as usize]).max(1.0);
    CandidateFeatures {
        words,
        meaning,
        cover,
        anywhere,
        whole,
        name_meaning,
        name_asked_for: name_share(&question.text, &candidate.name),
        pairs: pairs(candidate),
        signature_said: (signed / signature_length).min(1.0),
        signature_meaning,
        exact: exact(question, candidate),
    }
}

/// Share of the query's consecutive terms that are consecutive in the unit: in the signature, and anywhere.
fn pairs(candidate: &CandidateUnit) -> [f32; 2] {
    #[expect(clippy::cast_precision_loss, reason = "questions are short")]
    let share = |held: &dyn Fn(&[u8; 5]) -> bool| {
        let count = candidate.pairs.iter().filter(|counts| held(counts)).count();
        count as f32 / candidate.pairs.len().max(1) as f32
    };
    [
        share(&|counts| counts[UnitField::Signature as usize] > 0),
        share(&|counts| counts.iter().any(|count| *count > 0)),
    ]
}

/// Share of the query that the literal name makes up; 0 if the query does not contain it.
fn name_share(question: &str, name: &str) -> f32 {
    if name.is_empty() || !question.contains(&name.to_lowercase()) {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "texts are short")]
    let share = name.len() as f32 / question.trim().len().max(1) as f32;
    share.clamp(0.0, 1.0)
}

/// The mean and the standard deviation.
fn mean_and_deviation(numbers: impl Iterator<Item = f32> + Clone) -> (f32, f32) {
    let (count, sum) =
        numbers.clone().fold((0.0_f32, 0.0), |(count, sum), x| (count + 1.0, sum + x));
    let mean = sum / count.max(1.0);
    let squares: f32 = numbers.map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / count.max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_where_they_are_looked_for() {
        let places =
            [MEANING_FEATURE, ANYWHERE_FEATURE, EXACT_NAMES_FEATURE, EXACT_NEARNESS_FEATURE];
        let names = places.map(|at| FEATURE_NAMES[at]);
        assert_eq!(names, ["meaning", "anywhere", "exact_names", "exact_nearness"]);
    }
}
