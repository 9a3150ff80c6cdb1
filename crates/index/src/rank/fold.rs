//! Copies of one thing take one place in an answer.

use super::RankedCandidate;
use crate::store::CandidateUnit;

/// Vectors nearer than this may say the same; the path, which is in them, keeps copies from being equal.
const MIN_COPY_SIMILARITY: f32 = 0.85;
/// Only the best are held against each other: nobody pages further.
const MAX_COMPARED_HITS: usize = 100;

/// A candidate, and those that are left out because of it.
#[derive(Debug, Clone)]
pub(super) struct FoldedHit {
    pub(super) ranked: RankedCandidate,
    pub(super) alike: Vec<usize>,
}

/// Folds candidates that are copies of a better one into it, unless copies are wanted.
pub(super) fn fold(candidates: &[CandidateUnit], ranked: Vec<RankedCandidate>, copies: bool) -> Vec<FoldedHit> {
    if copies {
        return ranked.into_iter().map(|ranked| FoldedHit { ranked, alike: Vec::new() }).collect();
    }
    let mut kept: Vec<FoldedHit> = Vec::with_capacity(ranked.len());
    for one in ranked {
        let this = &candidates[one.at];
        let same =
            kept.iter_mut().take(MAX_COMPARED_HITS).find(|kept| is_copy(&candidates[kept.ranked.at], this));
        match same {
            Some(kept) => kept.alike.push(one.at),
            None => kept.push(FoldedHit { ranked: one, alike: Vec::new() }),
        }
    }
    kept
}

/// Copies have one name and one text, and lie in different sources: two methods of one file are never copies.
fn is_copy(a: &CandidateUnit, b: &CandidateUnit) -> bool {
    if a.source == b.source || a.name != b.name || a.kind != b.kind {
        return false;
    }
    // Everything but the path, which is what differs between copies.
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
