//! Headings that contain exactly the name in the query. Such units rank first.

use crate::{
    analysis::for_each_verbatim_word, query::AnalyzedQuery, store::CandidateUnit, unit::Genre,
};

/// Separator of the headings that lead to a section.
const HEADING_SEPARATOR: &str = " > ";
/// Weight of a name in the page title or a parent heading, relative to the own heading.
const HEADING_ABOVE_WEIGHT: f32 = 0.5;

/// How well a unit's headings match the names in a query.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ExactMatch {
    /// Number of names in the headings.
    pub(super) names: f32,
    /// How much of the headings the names make up: 0 to 1.
    pub(super) nearness: f32,
}

/// Matches the headings of a unit with a query. Code has no headings.
pub(super) fn exact(question: &AnalyzedQuery, candidate: &CandidateUnit) -> ExactMatch {
    if question.exact.is_empty() || candidate.genre == Genre::Code {
        return ExactMatch::default();
    }
    let mut above: Vec<&str> = candidate.signature.split(HEADING_SEPARATOR).collect();
    let own = above.pop().filter(|own| !own.is_empty()).unwrap_or(&candidate.name);
    above.push(&candidate.name);
    let own = words(own);
    let above: Vec<Vec<String>> = above.into_iter().map(words).collect();
    let mut exact = ExactMatch::default();
    for name in &question.exact {
        let highest =
            above.iter().map(|words| HEADING_ABOVE_WEIGHT * share(name, words)).fold(0.0, f32::max);
        let best = highest.max(share(name, &own));
        exact.names += f32::from(u8::from(best > 0.0));
        exact.nearness += best;
    }
    #[expect(clippy::cast_precision_loss, reason = "questions are short")]
    let count = question.exact.len() as f32;
    exact.nearness /= count;
    exact
}

fn words(heading: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_verbatim_word(heading, |word| words.push(word.to_owned()));
    words
}

/// Share of a heading that a name makes up.
fn share(name: &str, heading: &[String]) -> f32 {
    if !heading.iter().any(|word| word == name) {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "headings are short")]
    let words = heading.len() as f32;
    1.0 / words
}
