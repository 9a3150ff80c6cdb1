//! Why the index found something, as answers tell it.

use docent_index::IndexHit;
use schemars::JsonSchema;
use serde::Serialize;

/// What a score is made of.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct HitExplanation {
    /// The share of the question's words that it has, 0 to 1.
    pub words: f64,
    /// How close its meaning is, up to 1.
    pub meaning: f64,
    /// The question's words that it has.
    pub matched: Vec<MatchedWord>,
}

/// A word of the question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MatchedWord {
    /// Without its ending.
    pub word: String,
    /// Where it stands: name, path, signature, doc or body.
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

/// A score with as many digits as mean something.
pub(crate) fn score(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}
