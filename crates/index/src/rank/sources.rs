//! Not everything out of one source.

use super::fold::FoldedHit;
use crate::store::CandidateUnit;
use std::collections::HashMap;

/// A hit of another source comes before one too many of the same if it is at least this share as similar as the best.
const MIN_SIMILARITY_SHARE: f32 = 0.5;

/// Puts at most `most` hits of one source before the acceptable hits of others; the rest follow after these in their own
/// order. What moves back is shown with the similarity of what it follows, so that similarities never rise down the list.
pub(super) fn limit_per_source(
    candidates: &[CandidateUnit],
    folded: Vec<FoldedHit>,
    most: usize,
    threshold: f32,
) -> Vec<FoldedHit> {
    let best = folded.first().map_or(0.0, |one| one.ranked.similarity);
    let bar = threshold.max(best * MIN_SIMILARITY_SHARE);
    let mut taken: HashMap<u64, usize> = HashMap::new();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for one in folded {
        let source = candidates.get(one.ranked.at).map_or(0, |candidate| candidate.source);
        let count = taken.entry(source).or_default();
        if one.ranked.similarity >= bar && *count < most {
            *count += 1;
            first.push(one);
        } else {
            rest.push(one);
        }
    }
    let lowest = first.last().map_or(f32::INFINITY, |one| one.ranked.similarity);
    for mut one in rest {
        one.ranked.similarity = one.ranked.similarity.min(lowest);
        first.push(one);
    }
    first
}
