//! Explains scores in answers.

use docent_index::IndexHit;
use schemars::JsonSchema;
use serde::Serialize;

/// How a score was computed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct HitExplanation {
    /// Share of the query's words that match, 0 to 1.
    pub words: f64,
    /// Similarity of meaning, up to 1.
    pub meaning: f64,
    /// Words of the query that match.
    pub matched: Vec<MatchedWord>,
}

/// A matching word of the query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MatchedWord {
    /// The word, without its ending.
    pub word: String,
    /// Fields that contain it: name, path, signature, doc or body.
    pub fields: Vec<String>,
}

impl HitExplanation {
    pub(crate) fn of(hit: &IndexHit) -> Self {
        let matched = hit.matched.iter().map(|one| MatchedWord {
            word: one.word.clone(),
            fields: one.fields.iter().map(ToString::to_string).collect(),
        });
        Self {
            words: score(hit.parts.words),
            meaning: score(hit.parts.meaning),
            matched: matched.collect(),
        }
    }
}

/// Rounds a score to its significant digits.
pub(crate) fn score(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}
