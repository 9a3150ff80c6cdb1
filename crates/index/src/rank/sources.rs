//! Limits the hits per source.

use super::fold::FoldedHit;
use crate::store::CandidateUnit;
use std::collections::HashMap;

/// Minimum similarity, relative to the best, of a hit that precedes excess hits of another source.
const MIN_SIMILARITY_SHARE: f32 = 0.5;

/// Puts at most `most` hits of a source before the acceptable hits of others; the rest follow in order. A hit that moves
/// back gets the similarity of its predecessor, so that similarities never rise down the list.
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
