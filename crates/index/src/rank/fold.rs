//! Folds copies into one result.

use super::RankedCandidate;
use crate::store::CandidateUnit;

/// Minimum similarity of copies; their vectors differ slightly because they include the path.
const MIN_COPY_SIMILARITY: f32 = 0.85;
/// Number of best candidates compared.
const MAX_COMPARED_HITS: usize = 100;

/// A candidate with the copies folded into it.
#[derive(Debug, Clone)]
pub(super) struct FoldedHit {
    pub(super) ranked: RankedCandidate,
    pub(super) alike: Vec<usize>,
}

/// Folds copies into the best candidate, unless copies are requested.
pub(super) fn fold(
    candidates: &[CandidateUnit],
    ranked: Vec<RankedCandidate>,
    copies: bool,
) -> Vec<FoldedHit> {
    if copies {
        return ranked.into_iter().map(|ranked| FoldedHit { ranked, alike: Vec::new() }).collect();
    }
    let mut kept: Vec<FoldedHit> = Vec::with_capacity(ranked.len());
    for one in ranked {
        let this = &candidates[one.at];
        let same = kept
            .iter_mut()
            .take(MAX_COMPARED_HITS)
            .find(|kept| is_copy(&candidates[kept.ranked.at], this));
        match same {
            Some(kept) => kept.alike.push(one.at),
            None => kept.push(FoldedHit { ranked: one, alike: Vec::new() }),
        }
    }
    kept
}

/// Whether two candidates are copies: same name and text in different sources, never in one file.
fn is_copy(a: &CandidateUnit, b: &CandidateUnit) -> bool {
    if a.source == b.source || a.name != b.name || a.kind != b.kind {
        return false;
    }
    // Everything but the path, in which copies differ.
    let lengths = |candidate: &CandidateUnit| {
        let [name, _, signature, doc, body] = candidate.lengths;
        (name, signature, doc, body)
    };
    let counts = |candidate: &CandidateUnit| -> Vec<[u8; 4]> {
        candidate
            .counts
            .iter()
            .map(|[name, _, signature, doc, body]| [*name, *signature, *doc, *body])
            .collect()
    };
    lengths(a) == lengths(b)
        && counts(a) == counts(b)
        && match (&a.vector, &b.vector) {
            (Some(a), Some(b)) => a.cosine(b) >= MIN_COPY_SIMILARITY,
            _ => true,
        }
}
